//! One run of the testbed `transports`, from settings to a row: arrivals drawn, flows set up, calls rated. The target is
//! 50 ms for 60 s with 120 calls.

use divan::Bencher;
use guestright_experiment::{Settings, Testbed};
use guestright_units::Seed;
use guestright_world::Transports;

fn main() {
    divan::main();
}

fn run(bencher: Bencher, settings: Settings) {
    let settings = settings.complete(Transports.settings()).expect("the settings are known");
    bencher.bench_local(|| Transports.run(&settings, Seed::from_number(1)).expect("the settings fit"));
}

const TRANSPORTS: [&str; 9] =
    ["udp", "newreno", "vegas", "westwood", "real", "cubic", "bbr", "tfrc", "quic-datagram"];

/// The first scenario of the paper, with most calls.
#[divan::bench(args = TRANSPORTS, sample_count = 10, sample_size = 1)]
fn calls_120(bencher: Bencher, transport: &str) {
    run(bencher, Settings::new().with("profile", "ns2-2006").with("transport", transport).with("flows", 120));
}

/// Beside 60 file transfers.
#[divan::bench(args = ["udp", "newreno", "vegas"], sample_count = 10, sample_size = 1)]
fn calls_120_bulk_60(bencher: Bencher, transport: &str) {
    let settings = Settings::new().with("profile", "ns2-2006").with("transport", transport);
    run(bencher, settings.with("flows", 120).with("bulk.flows", 60));
}
