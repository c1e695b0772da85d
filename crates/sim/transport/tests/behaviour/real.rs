//! TCP-Real over a channel without a bottleneck: what a timeout that is taken for a random error sends again.

use crate::harness::by_hand::{DELAY, SEGMENT, receiver, sender};
use crate::harness::wire::{Way, Wire};
use guestright_congestion::{
    Controller, InitialWindow, Millionths, Real, RealSettings, RecoveryKind, RenoSettings,
};
use guestright_engine::Instant;
use guestright_transport::{Receiver, Segment, Sender, SenderState};
use guestright_units::Micros;

const KINDS: [RecoveryKind; 3] = [RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack];

/// A window of eight segments that hardly grows: each wave is as fast as the one before.
fn real(go_back: bool) -> Real {
    let reno = RenoSettings {
        initial_window: InitialWindow::Segments(8),
        initial_threshold: 8_000,
        ..RenoSettings::linux_2_6_8(SEGMENT)
    };
    let settings = RealSettings { alpha: Millionths(1), go_back, ..RealSettings::new(reno) };
    Real::new(settings).expect("the settings can be")
}

/// Window and threshold, untouched.
const KEPT: (u64, u64) = (8_000, 8_000);

/// Both ends when all is over, what was sent, and window and threshold after each timeout.
struct Outcome {
    sender: Sender<Real>,
    receiver: Receiver,
    sent: Vec<(Instant, Segment)>,
    windows: Vec<(u64, u64)>,
}

/// Sends 60 segments; `lost` says which are lost.
fn transfer(
    kind: RecoveryKind,
    go_back: bool,
    mut lost: impl FnMut(Way, usize, &Segment) -> bool,
) -> Outcome {
    let fate = move |way, number, segment: &Segment| {
        if lost(way, number, segment) { Vec::new() } else { vec![DELAY] }
    };
    let mut wire = Wire::new(sender(kind), receiver(), real(go_back), fate).expect("the settings can be");
    wire.write(Instant::START, 60_000, true);
    let mut windows = Vec::new();
    wire.run(Instant::NEVER, |sender, _| {
        if sender.stats().timeouts > windows.len() as u64 {
            let controller = sender.controller();
            windows.push((controller.window(), controller.slow_start_threshold()));
        }
    });
    assert_eq!(wire.sender.state(), SenderState::Finished, "{kind:?}");
    Outcome { sender: wire.sender, receiver: wire.receiver, sent: wire.sent, windows }
}

/// When each segment was sent again in ms, and which.
fn again(sent: &[(Instant, Segment)]) -> Vec<(u64, u64)> {
    let again = sent.iter().filter(|(_, segment)| segment.flags.again);
    again.map(|(at, segment)| (at.0 / 1_000_000, segment.seq / u64::from(SEGMENT))).collect()
}

#[test]
fn one_forgiven_timeout_is_one_retransmission() {
    // Eight segments at 0, 100 and 200 ms. The acknowledgements of the last eight are lost.
    let lost = |way, number: usize, _: &Segment| way == Way::Back && (16..24).contains(&number);
    for kind in KINDS {
        let end = transfer(kind, false, lost);
        assert_eq!(end.windows, [KEPT], "{kind:?}");
        // 300 ms after the last acknowledgement.
        assert_eq!(again(&end.sent), [(500, 16)], "{kind:?}");
        let stats = end.sender.stats();
        assert_eq!((stats.timeouts, stats.losses, stats.segments), (1, 0, 61), "{kind:?}");
        assert_eq!(end.receiver.stats().duplicates, 1, "{kind:?}");
        assert_eq!(end.sender.timeout().smoothed(), Some(Micros(100_000)), "what waited is not timed");
        // Going back, with a window that was kept, all eight.
        let end = transfer(kind, true, lost);
        assert_eq!(end.windows, [KEPT], "{kind:?}");
        let all: Vec<_> = (16..24).map(|segment| (500, segment)).collect();
        assert_eq!(again(&end.sent), all, "{kind:?}");
    }
}

#[test]
fn a_second_timeout_comes_as_soon_and_goes_back() {
    // As above, and what is sent again is lost too.
    let lost = |way, number: usize, _: &Segment| match way {
        Way::There => number == 24,
        Way::Back => (16..24).contains(&number),
    };
    for kind in KINDS {
        let end = transfer(kind, false, lost);
        assert_eq!(end.windows, [KEPT, (1_000, 4_000)], "{kind:?}");
        // The first was not doubled. The second is congestion: everything again, one segment at first.
        let again = again(&end.sent);
        assert_eq!(again, [(500, 16), (800, 16)], "{kind:?}");
    }
}

#[test]
fn a_recovery_goes_on_after_a_forgiven_timeout() {
    // Segments 17 and 20 are lost, and 17 again when it is sent again.
    for kind in KINDS {
        let mut times = 0;
        let lost = move |way, number: usize, segment: &Segment| {
            let first = way == Way::There && segment.seq == 17_000;
            times += u32::from(first);
            first && times <= 2 || way == Way::There && number == 20
        };
        let end = transfer(kind, false, lost);
        assert_eq!(end.windows, [KEPT], "{kind:?}");
        // A loss at 300 ms, a timeout 300 ms later. What was known of 20 is still known: by selective acknowledgements from
        // the loss on, by a partial one after the timeout (Reno: by duplicates, a second loss).
        let want = match kind {
            RecoveryKind::Sack => [(300, 17), (300, 20), (600, 17)],
            RecoveryKind::Reno | RecoveryKind::NewReno | RecoveryKind::Vegas => {
                [(300, 17), (600, 17), (700, 20)]
            }
        };
        assert_eq!(again(&end.sent), want, "{kind:?}");
        let stats = end.sender.stats();
        let losses = if kind == RecoveryKind::Reno { 2 } else { 1 };
        assert_eq!((stats.timeouts, stats.losses, stats.segments), (1, losses, 63), "{kind:?}");
        assert_eq!(end.receiver.stats().duplicates, 0, "{kind:?}: nothing that had arrived");
    }
}
