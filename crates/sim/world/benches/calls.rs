//! What a run of the `voice` testbed costs: calls of 90 s as in paper A.

use divan::Bencher;
use divan::counter::ItemsCount;
use guestright_experiment::{Settings, Testbed};
use guestright_units::Seed;
use guestright_world::Voice;

fn main() {
    divan::main();
}

/// Calls of 90 s, without receipts.
#[divan::bench(args = [1, 7, 8], sample_count = 10)]
fn plain(bencher: Bencher<'_, '_>, calls: i64) {
    run(bencher, &Settings::new().with("calls", calls));
}

/// Seven calls of 90 s with the dearest of the paper's receipts.
#[divan::bench(sample_count = 10)]
fn receipts(bencher: Bencher<'_, '_>) {
    run(bencher, &Settings::new().with("calls", 7).with("receipts.suite", "ecdsa-224"));
}

/// Two calls of 90 s with the protocol's own machines.
#[divan::bench(sample_count = 10)]
fn protocol(bencher: Bencher<'_, '_>) {
    let settings = Settings::new().with("calls", 2).with("receipts.suite", "ed25519");
    run(bencher, &settings.with("receipts.mode", "protocol").with("warmup_s", 6.0));
}

fn run(bencher: Bencher<'_, '_>, settings: &Settings) {
    let settings = settings.complete(Voice.settings()).expect("the settings are the testbed's");
    let once = || Voice.run(&settings, Seed::from_number(1)).expect("the settings fit");
    bencher.counter(ItemsCount::new(once().packets)).bench(once);
}
