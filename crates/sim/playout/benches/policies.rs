//! What the policies and the bound cost.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use guestright_engine::Streams;
use guestright_playout::{Algorithm, Call, Family, Handshakes, Rules, Trace, play};
use guestright_units::{Micros, Seed};

fn main() {
    divan::main();
}

fn trace(family: Family) -> Trace {
    Call::new(family, Micros::from_millis(80), Micros::from_millis(20)).trace(Seed::from_number(1))
}

/// A call of two minutes through each policy, packets per second.
#[divan::bench(args = Algorithm::ALL)]
fn plays(bencher: Bencher<'_, '_>, algorithm: Algorithm) {
    let trace = trace(Family::Gamma);
    let handshakes = Handshakes::over(&trace, &mut Streams::new(Seed::from_number(1)).stream("handshake", 0));
    let knob = algorithm.knob().usual;
    bencher.counter(ItemsCount::new(trace.packets.len())).bench(|| {
        play(black_box(&trace), algorithm.policy(knob).as_mut(), &handshakes.exchanges, &Rules::OURS)
    });
}

/// The bound of the same call for so many per cent of late packets.
#[divan::bench(args = [0, 1, 10, 100])]
fn bound(bencher: Bencher<'_, '_>, late_percent: usize) {
    let trace = trace(Family::Spikes);
    let late = trace.packets.len() * late_percent / 100;
    bencher.counter(ItemsCount::new(trace.packets.len())).bench(|| black_box(&trace).bound(late));
}

/// Making a trace.
#[divan::bench(args = [Family::Clean, Family::Gamma, Family::International])]
fn makes(bencher: Bencher<'_, '_>, family: Family) {
    bencher.bench(|| trace(black_box(family)));
}
