//! Whatever the channel does, the application gets each byte once and in order.

use crate::harness::wire::{Way, Wire};
use guestright_congestion::{
    Controller, Increase, InitialWindow, RecoveryKind, RecoverySettings, Reno, RenoSettings, TimeoutSettings,
    Vegas, VegasSettings,
};
use guestright_engine::{Instant, Nanos, Stream, Streams};
use guestright_transport::{ReceiverSettings, Segment, SenderSettings, SenderState};
use guestright_units::Seed;
use proptest::prelude::*;
use rand::RngExt;

const SEGMENT: u32 = 1_000;

/// A channel that loses, doubles and mixes up, each in so many of a hundred.
#[derive(Clone, Copy, Debug)]
struct Channel {
    lost: u32,
    doubled: u32,
    mixed: u32,
}

fn fate(channel: Channel, mut chance: Stream) -> impl FnMut(Way, usize, &Segment) -> Vec<Nanos> {
    move |_, _, _| {
        let mut delay = || {
            let more =
                if chance.random_range(0..100) < channel.mixed { chance.random_range(0..40) } else { 0 };
            Nanos::from_millis(20 + more)
        };
        let (first, second) = (delay(), delay());
        if chance.random_range(0..100) < channel.lost {
            vec![]
        } else if chance.random_range(0..100) < channel.doubled {
            vec![first, second]
        } else {
            vec![first]
        }
    }
}

/// What both ends are, and their controller.
#[derive(Clone, Copy, Debug)]
struct Ends {
    sender: SenderSettings,
    receiver: ReceiverSettings,
    reno: RenoSettings,
    vegas: bool,
}

impl Ends {
    fn controller(&self) -> Box<dyn Controller> {
        let own_inflation = self.sender.recovery.kind == RecoveryKind::Vegas;
        if self.vegas || own_inflation {
            let settings = VegasSettings { own_inflation, ..VegasSettings::paper(SEGMENT) };
            Box::new(Vegas::new(settings).expect("the settings can be"))
        } else {
            Box::new(Reno::new(self.reno).expect("the settings can be"))
        }
    }
}

fn ends() -> impl Strategy<Value = Ends> {
    use RecoveryKind::{NewReno, Reno, Sack, Vegas};
    let kind = prop_oneof![Just(Reno), Just(NewReno), Just(Sack), Just(Vegas)];
    let increase = prop_oneof![
        Just(Increase::PerAck),
        Just(Increase::Rfc5681),
        Just(Increase::ByteCounting { limit: 2 })
    ];
    (kind, increase, any::<[bool; 10]>(), 1_u32..4, 1_000_u32..40_000, 0_u32..20).prop_map(
        |(kind, increase, flags, every, window, quick)| {
            let [
                timestamps,
                handshake,
                limited_transmit,
                impatient,
                nagle,
                ns2,
                idle_timer,
                syn_packet,
                sack,
                vegas,
            ] = flags;
            let base =
                if ns2 { RecoverySettings::ns2(kind, SEGMENT) } else { RecoverySettings::new(kind, SEGMENT) };
            let sender = SenderSettings {
                recovery: RecoverySettings { limited_transmit, impatient, ..base },
                timeout: if ns2 { TimeoutSettings::ns2() } else { TimeoutSettings::linux() },
                timestamps,
                handshake,
                syn_packet,
                idle_timer,
                nagle,
                window,
                retries_max: 1_000,
                ..SenderSettings::rfc(SEGMENT)
            };
            let receiver = ReceiverSettings {
                window,
                acknowledge_every: every,
                // With 200 ms, which is Linux's least timeout too, one may come as late as the timer: that sends again
                // what was never lost.
                delay: Nanos::from_millis(100),
                quick,
                timestamps,
                syn_packet,
                sack: sack || kind == Sack,
                ..ReceiverSettings::rfc5681()
            };
            let reno = RenoSettings {
                increase,
                initial_window: InitialWindow::Segments(2),
                ..if ns2 { RenoSettings::ns2(SEGMENT, 20) } else { RenoSettings::rfc5681(SEGMENT) }
            };
            Ends { sender, receiver, reno, vegas }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn every_byte_arrives_once_and_in_order(
        ends in ends(),
        seed: u64,
        lost in 0_u32..40,
        doubled in 0_u32..30,
        mixed in 0_u32..60,
        writes in proptest::collection::vec((0_u64..3_000, 1_u64..40_000), 1..6),
    ) {
        let chance = Streams::new(Seed::from_number(seed)).stream("channel", 0);
        let channel = Channel { lost, doubled, mixed };
        let Ends { sender, receiver, .. } = ends;
        let mut wire = Wire::new(sender, receiver, ends.controller(), fate(channel, chance)).unwrap();
        let mut total = 0;
        let mut at = Instant::START;
        for (pause, bytes) in writes {
            at += Nanos::from_millis(pause);
            wire.write(at, bytes, false);
            total += bytes;
        }
        wire.write(at, 0, true);
        let (mut acknowledged, mut delivered, mut window) = (0, 0, 0);
        // 2^60 ns are 36 years.
        wire.run(Instant(1 << 60), |sender, receiver| {
            assert!(sender.acknowledged() >= acknowledged && receiver.delivered() >= delivered);
            assert!(sender.acknowledged() <= receiver.delivered(), "nothing is acknowledged that has not arrived");
            acknowledged = sender.acknowledged();
            delivered = receiver.delivered();
            window = window.max(sender.in_flight());
        });
        prop_assert_eq!(wire.sender.state(), SenderState::Finished);
        prop_assert_eq!(wire.receiver.delivered(), total);
        prop_assert_eq!(wire.sender.acknowledged(), total);
        prop_assert!(wire.receiver.finished_at() <= wire.sender.finished_at());
        // One more for FIN.
        prop_assert!(window <= u64::from(receiver.window) + 1, "{} on their way", window);
        let first: u64 = wire.sent.iter().filter(|(_, sent)| !sent.flags.again).map(|(_, sent)| u64::from(sent.len)).sum();
        prop_assert!(first <= total);
        if lost + doubled + mixed == 0 {
            prop_assert_eq!(wire.sender.stats().again, 0);
            prop_assert_eq!(first, total);
        }
    }
}

#[test]
fn a_window_that_the_last_segment_fills_has_room_for_fin() {
    let mut sender =
        SenderSettings { nagle: true, window: 1_000, retries_max: 1_000, ..SenderSettings::rfc(SEGMENT) };
    sender.timeout = TimeoutSettings::linux();
    sender.recovery = RecoverySettings::new(RecoveryKind::Reno, SEGMENT);
    let receiver =
        ReceiverSettings { window: 1_000, acknowledge_every: 2, quick: 1, ..ReceiverSettings::rfc5681() };
    let reno = RenoSettings { initial_window: InitialWindow::Segments(2), ..RenoSettings::rfc5681(SEGMENT) };
    let ends = Ends { sender, receiver, reno, vegas: false };
    let chance = Streams::new(Seed::from_number(0)).stream("channel", 0);
    let channel = Channel { lost: 0, doubled: 0, mixed: 0 };
    let mut wire = Wire::new(ends.sender, ends.receiver, ends.controller(), fate(channel, chance)).unwrap();
    wire.write(Instant::START, 2_000, false);
    wire.write(Instant::START, 0, true);
    wire.run(Instant(1 << 60), |_, _| {});
    assert_eq!(wire.sender.state(), SenderState::Finished, "FIN comes with the byte that fills the window");
    assert_eq!((wire.receiver.delivered(), wire.sender.stats().again), (2_000, 0));
}

/// Doubles look like a loss to Vegas when everything has arrived, and more is written only then.
#[test]
fn what_never_left_is_not_sent_again() {
    let sender = SenderSettings {
        recovery: RecoverySettings::new(RecoveryKind::Vegas, SEGMENT),
        timeout: TimeoutSettings::linux(),
        timestamps: true,
        handshake: false,
        syn_packet: false,
        idle_timer: true,
        nagle: false,
        window: 5_000,
        retries_max: 1_000,
        ..SenderSettings::rfc(SEGMENT)
    };
    let receiver = ReceiverSettings {
        window: 5_000,
        acknowledge_every: 1,
        delay: Nanos::from_millis(100),
        quick: 0,
        timestamps: true,
        syn_packet: false,
        sack: false,
        ..ReceiverSettings::rfc5681()
    };
    let ends = Ends { sender, receiver, reno: RenoSettings::rfc5681(SEGMENT), vegas: false };
    let chance = Streams::new(Seed::from_number(5_462_141_944_481_028_868)).stream("channel", 0);
    let channel = Channel { lost: 2, doubled: 21, mixed: 48 };
    let mut wire = Wire::new(sender, receiver, ends.controller(), fate(channel, chance)).unwrap();
    let (mut at, mut total) = (Instant::START, 0);
    for (pause, bytes) in [(0, 9_001), (260, 26_709), (0, 13_292), (1_478, 22_001), (440, 1)] {
        at += Nanos::from_millis(pause);
        wire.write(at, bytes, false);
        total += bytes;
    }
    wire.write(at, 0, true);
    wire.run(Instant(1 << 60), |_, _| {});
    assert_eq!(wire.receiver.delivered(), total);
}
