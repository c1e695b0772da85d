//! A transfer without end through a bottleneck, with each congestion control in real QUIC endpoints.
#![expect(clippy::unwrap_used, reason = "a test that fails says where")]

#[path = "wire/pipe.rs"]
mod pipe;

use guestright_engine::{Instant, Nanos, Streams};
use guestright_quic::{Algorithm, Carriage, Congestion, QuicEnds, QuicSettings};
use guestright_units::Seed;
use pipe::{Call, Pipe};

const BITS_PER_SECOND: u64 = 4_000_000;
const PACKET_BYTES: u32 = 1_000;

/// 30 s of a greedy flow over 4 Mbit/s and 40 ms, with a buffer of 20 packets: as much as the product of both.
fn greedy(algorithm: Algorithm, lost: Vec<u64>, lost_per_million: u32) -> Call {
    let delay = Nanos::from_millis(20);
    let mut there = Pipe::new(BITS_PER_SECOND, delay, 20, "there");
    there.lost = lost;
    there.lost_per_million = lost_per_million;
    let back = Pipe::new(BITS_PER_SECOND, delay, 20, "back");
    let named = Congestion::Named(algorithm);
    // Vegas sees the wait for a second packet as a queue: see the last test.
    let ack_every = if algorithm == Algorithm::Vegas { 1 } else { 2 };
    let settings =
        QuicSettings { send_buffer: 100_000, ack_every, ..QuicSettings::call(Carriage::Stream, named) };
    let ends = QuicEnds::new(&settings, &Streams::new(Seed::from_number(1)), 0).unwrap();
    let mut call = Call::new(ends, there, back);
    for number in 0..20_000 {
        call.speak(Instant(1), number, PACKET_BYTES);
    }
    call.run(Instant::START + Nanos::from_seconds(30));
    call
}

/// Bytes of payload heard from `from` to `to`, in seconds, as a share of what the link carries of IP packets.
fn share(call: &Call, from: u64, to: u64) -> f64 {
    let second = |second| Instant::START + Nanos::from_seconds(second);
    let received = call.received.iter().filter(|(at, _)| (second(from)..second(to)).contains(at)).count();
    let bits = u64::try_from(received).unwrap() * u64::from(PACKET_BYTES) * 8;
    f64::from(u32::try_from(bits / (to - from)).unwrap()) / f64::from(u32::try_from(BITS_PER_SECOND).unwrap())
}

#[test]
fn every_congestion_control_fills_the_link() {
    for algorithm in Algorithm::ALL {
        let call = greedy(algorithm, Vec::new(), 0);
        let share = share(&call, 10, 30);
        let stats = call.ends.stats();
        println!("{algorithm:?}: {share:.3}, {stats:?}");
        // Without congestion control most of what is sent is dropped, and some of what arrives had arrived before.
        let least = if algorithm == Algorithm::None { 0.3 } else { 0.85 };
        assert!(share > least && share < 0.98, "{algorithm:?}: {share}");
        assert!(call.numbers().is_sorted(), "{algorithm:?}: in order");
        assert!(!stats.is_lost);
    }
}

#[test]
fn every_congestion_control_recovers_from_a_burst_of_losses() {
    for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| *algorithm != Algorithm::None) {
        let call = greedy(algorithm, (1_500..1_520).collect(), 0);
        assert!(call.there.dropped >= 20);
        let share = share(&call, 15, 30);
        println!("{algorithm:?}: {share:.3}");
        assert!(share > 0.85, "{algorithm:?}: {share}");
    }
}

#[test]
fn random_loss_costs_those_most_that_take_it_for_congestion() {
    let share = |algorithm| share(&greedy(algorithm, Vec::new(), 10_000), 5, 30);
    let [reno, quinn, vegas, westwood, real, bbr] = [
        Algorithm::Reno,
        Algorithm::QuinnNewReno,
        Algorithm::Vegas,
        Algorithm::WestwoodPlus,
        Algorithm::Real,
        Algorithm::Bbr,
    ]
    .map(share);
    println!(
        "reno {reno:.3} quinn {quinn:.3} vegas {vegas:.3} westwood+ {westwood:.3} real {real:.3} bbr {bbr:.3}"
    );
    // The square root law (Mathis): 12 packets of a kilobyte each 40 ms are some 0.6 of 4 Mbit/s.
    assert!((0.3..0.8).contains(&reno), "{reno}");
    assert!((0.7..1.4).contains(&(reno / quinn)), "{reno} and {quinn}: the same algorithm twice");
    assert!(bbr > 0.8, "{bbr}: loss is no signal to it");
    assert!(westwood > reno, "{westwood} > {reno}: the window after a loss is what the path carries");
}

#[test]
fn vegas_keeps_the_queue_short() {
    let drops = |algorithm| greedy(algorithm, Vec::new(), 0).there.dropped;
    assert!(drops(Algorithm::Reno) > 0, "a window that grows until something is dropped");
    assert_eq!(drops(Algorithm::Vegas), 0, "one to three packets in the queue, of 20");
}
