//! How many ratings a second one core computes, and how many packets it analyses.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use guestright_quality::{
    Analyser, AnalyserConfig, Codec, Inputs, Interval, Packet, ReducedInputs, rate, rate_reduced,
};
use guestright_units::Time;

fn main() {
    divan::main();
}

#[divan::bench]
fn e_model_whole(bencher: Bencher) {
    let inputs = Inputs::voip(170.0, 0.02, 11.0, 19.0, 1.4);
    bencher.counter(ItemsCount::new(1_u32)).bench(|| rate(black_box(inputs)));
}

#[divan::bench]
fn reduction_of_paper_a(bencher: Bencher) {
    let inputs = ReducedInputs { network_delay_ms: 50.0, network_loss: 0.01, dejitter_loss: 0.01 };
    bencher.counter(ItemsCount::new(1_u32)).bench(|| rate_reduced(black_box(inputs)));
}

/// One minute of a call, 2 % of it lost.
#[divan::bench]
fn analyser_packets(bencher: Bencher) {
    let packets: Vec<Packet> = (0..3_000_u16)
        .filter(|n| n % 50 != 7)
        .map(|n| Packet {
            sequence: n,
            timestamp: u32::from(n) * 160,
            marker: n == 0,
            payload_bytes: 20,
            arrival: Time(u64::from(n) * 20_000 + u64::from(n % 13) * 700),
            delay_ms: Some(Interval::around(30.0, 1.0)),
        })
        .collect();
    bencher.counter(ItemsCount::new(packets.len())).bench(|| {
        let mut analyser = Analyser::new(AnalyserConfig::new(Codec::G729a));
        for packet in &packets {
            black_box(analyser.handle_packet(packet));
        }
        analyser.finish();
        analyser.summary()
    });
}
