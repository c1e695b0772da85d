//! What one run of the papers' larger testbeds costs, in simulated packets per second.

use divan::Bencher;
use divan::counter::ItemsCount;
use guestright_experiment::{Outcome, Settings, Testbed};
use guestright_units::Seed;
use guestright_world::{Saturation, Streams, Tcp};

fn main() {
    divan::main();
}

/// Paper B's testbed with 20 streams of G.729, at its capacity: 10 s.
#[divan::bench]
fn streams_at_the_capacity(bencher: Bencher) {
    let settings = Settings::new()
        .with("streams", 20)
        .with("radio.overhead_bytes", 36)
        .with("radio.ack_rate_mbps", 1.0)
        .with("radio.gap_us", 85.0)
        .with("radio.queue_max", 132);
    measure(bencher, &Streams, &settings);
}

/// Paper A's Figure 3 with seven transfers of 10 MB through NAT, with ECDSA receipts.
#[divan::bench]
fn seven_transfers_through_nat(bencher: Bencher) {
    let settings = Settings::new().with("bytes", 10_000_000).with("receipts.suite", "ecdsa-160");
    measure(bencher, &Tcp, &settings);
}

/// The same in tunnels, where the processor's backlog overflows.
#[divan::bench]
fn seven_transfers_in_tunnels(bencher: Bencher) {
    let settings = Settings::new()
        .with("bytes", 10_000_000)
        .with("receipts.suite", "ecdsa-160")
        .with("tunnel", "esp")
        .with("esp.mode", "l2tp")
        .with("esp.suite", "aes-128-cbc+hmac-md5-96");
    measure(bencher, &Tcp, &settings);
}

/// Ten stations that always have a packet: 10 s.
#[divan::bench]
fn ten_saturated_stations(bencher: Bencher) {
    let settings = Settings::new().with("stations", 10).with("length_s", 10.0);
    measure(bencher, &Saturation, &settings);
}

fn measure(bencher: Bencher, testbed: &dyn Testbed, settings: &Settings) {
    let settings = settings.complete(testbed.settings()).expect("the settings are the testbed's");
    let run = || -> Outcome { testbed.run(&settings, Seed::from_number(1)).expect("the settings fit") };
    bencher.counter(ItemsCount::new(run().packets)).bench(run);
}
