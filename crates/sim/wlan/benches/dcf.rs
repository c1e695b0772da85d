//! Delivered frames per second of one core: `cargo bench -p guestright-wlan --bench dcf`.

#[path = "../tests/behaviour/air/saturated.rs"]
mod saturated;

use divan::Bencher;
use divan::counter::ItemsCount;
use guestright_engine::Nanos;
use guestright_wlan::{Config, Phy, Rate};
use saturated::Saturated;

/// Simulated before each measurement, and in each.
const SPAN: Nanos = Nanos::from_seconds(10);

fn main() {
    divan::main();
}

/// One cell in which all stations always send to the access point.
#[divan::bench(args = [1, 2, 5, 10, 20, 50])]
fn saturated_stations(bencher: Bencher<'_, '_>, stations: u16) {
    let phy = Phy { ack_rate: Some(Rate::Cck11), ..Phy::b() };
    let config = Config { phy, ..Config::new(&[1], usize::from(stations)) };
    let flows: Vec<_> = (1..=stations).map(|station| (station, 0)).collect();
    let cell = Saturated::new(&config, &flows, 60, 1);
    measure(bencher, cell);
}

/// Two cells on one channel; stations and access points always send to each other.
#[divan::bench(args = [1, 7])]
fn two_cells_both_ways(bencher: Bencher<'_, '_>, stations: u16) {
    let phy = Phy { ack_rate: Some(Rate::Cck11), ..Phy::b() };
    let config = Config { phy, ..Config::new(&[1, 1], usize::from(stations)) };
    let mut flows = Vec::new();
    for point in [0, stations + 1] {
        flows.push((point, point + 1));
        flows.extend((1..=stations).map(|station| (point + station, point)));
    }
    let cell = Saturated::new(&config, &flows, 60, 1);
    measure(bencher, cell);
}

/// Counts the frames of one span; another has as many, but for chance.
fn measure(bencher: Bencher<'_, '_>, mut cell: Saturated) {
    cell.run(SPAN);
    let before = cell.delivered;
    cell.run(SPAN);
    bencher.counter(ItemsCount::new(cell.delivered - before)).bench_local(|| cell.run(SPAN));
}
