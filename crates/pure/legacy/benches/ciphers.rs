//! What protecting one second of conversation costs (Tables 10 to 14 of paper D).

use divan::Bencher;
use guestright_legacy::boat;
use guestright_legacy::cost::{End, Work};

fn main() {
    divan::main();
}

fn names(all: Vec<Work>, end: End) -> Vec<&'static str> {
    all.into_iter().filter(|work| work.end == end).map(|work| work.name).collect()
}

fn run(bencher: Bencher<'_, '_>, all: Vec<Work>, end: End, name: &str) {
    let mut work =
        all.into_iter().find(|work| work.end == end && work.name == name).expect("its name was just listed");
    bencher.bench_local(move || (work.run)());
}

/// BoAT's printed protection, at 850 bytes a second, where it is made.
#[divan::bench(args = names(boat::work(), End::Sender))]
fn boat_sender(bencher: Bencher<'_, '_>, name: &str) {
    run(bencher, boat::work(), End::Sender, name);
}

/// The same, where it is opened.
#[divan::bench(args = names(boat::work(), End::Receiver))]
fn boat_receiver(bencher: Bencher<'_, '_>, name: &str) {
    run(bencher, boat::work(), End::Receiver, name);
}
