//! The receiver against a set of bytes.

use guestright_engine::{Instant, Nanos, Queue};
use guestright_transport::{Flags, Flow, Receiver, ReceiverSettings, Segment, SettingsError, TcpEvent};
use proptest::prelude::*;
use std::collections::BTreeSet;

const FLOW: Flow = Flow(7);

fn receiver(settings: ReceiverSettings) -> Receiver {
    Receiver::new(FLOW, settings).expect("the settings can be")
}

fn segment(seq: u64, len: u16, stamp: u32) -> Segment {
    Segment { seq, flow: FLOW, stamp, len, flags: Flags::default(), ..Segment::default() }
}

/// What is acknowledged at once after `segment`.
fn acks_after(receiver: &mut Receiver, segment: &Segment, queue: &mut Queue<TcpEvent>) -> Vec<Segment> {
    receiver.handle_segment(segment, queue);
    std::iter::from_fn(|| receiver.poll_segment(queue)).collect()
}

proptest! {
    /// Segments of any length anywhere, so that they overlap in every way.
    #[test]
    fn delivers_up_to_the_first_byte_that_is_missing(
        segments in proptest::collection::vec((0_u64..400, 1_u16..60), 1..120),
        window in 50_u32..300,
    ) {
        let settings = ReceiverSettings { window, acknowledge_every: 1, ..ReceiverSettings::rfc5681() };
        let mut receiver = receiver(settings);
        let mut queue = Queue::new();
        let mut there = BTreeSet::new();
        for (seq, len) in segments {
            let segment = segment(seq, len, 0);
            let before = receiver.delivered();
            if segment.end() <= before + u64::from(window) {
                there.extend(seq..segment.end());
            }
            let acks = acks_after(&mut receiver, &segment, &mut queue);
            let missing = (0..).find(|byte| !there.contains(byte)).unwrap();
            prop_assert_eq!(receiver.delivered(), missing);
            let acks: Vec<u64> = acks.iter().map(|ack| ack.ack).collect();
            prop_assert_eq!(acks, vec![missing], "one acknowledgement for each");
        }
    }
}

#[test]
fn counts_what_brought_nothing_new() {
    let mut receiver = receiver(ReceiverSettings { window: 1_000, ..ReceiverSettings::rfc5681() });
    let mut queue = Queue::new();
    for (seq, len) in [(0, 100), (200, 100), (200, 50), (0, 100), (950, 200), (100, 100)] {
        acks_after(&mut receiver, &segment(seq, len, 0), &mut queue);
    }
    let stats = receiver.stats();
    assert_eq!((stats.segments, stats.out_of_order, stats.duplicates, stats.refused), (6, 1, 2, 1));
    assert_eq!(receiver.delivered(), 300);
}

#[test]
fn puts_off_only_what_is_in_order() {
    let settings = ReceiverSettings { acknowledge_every: 3, ..ReceiverSettings::rfc5681() };
    let mut receiver = receiver(settings);
    let mut queue = Queue::new();
    let acks: Vec<usize> = [(0, 10), (10, 10), (20, 10), (40, 10), (30, 10), (50, 10), (0, 10)]
        .map(|(seq, len)| acks_after(&mut receiver, &segment(seq, len, 0), &mut queue).len())
        .to_vec();
    // The third; behind a gap; the gap filled; put off; there already.
    assert_eq!(acks, [0, 0, 1, 1, 1, 0, 1]);
}

#[test]
fn an_acknowledgement_is_put_off_no_longer_than_the_delay() {
    let mut receiver =
        receiver(ReceiverSettings { delay: Nanos::from_millis(40), ..ReceiverSettings::rfc5681() });
    let mut queue = Queue::new();
    assert!(acks_after(&mut receiver, &segment(0, 10, 0), &mut queue).is_empty());
    let (at, event) = queue.pop().expect("the timer is set");
    assert_eq!(at, Instant::START + Nanos::from_millis(40));
    receiver.handle(TcpEvent { flow: Flow(8), ..event }, &mut queue);
    assert!(receiver.poll_segment(&mut queue).is_none(), "another connection's timer");
    receiver.handle(event, &mut queue);
    assert_eq!(receiver.poll_segment(&mut queue).map(|ack| ack.ack), Some(10));
    assert!(receiver.poll_segment(&mut queue).is_none());
}

#[test]
fn echoes_the_stamp_of_the_earliest_segment_that_is_not_acknowledged() {
    let mut receiver = receiver(ReceiverSettings { timestamps: true, ..ReceiverSettings::rfc5681() });
    let mut queue = Queue::new();
    let mut echo = |seq, stamp| {
        let acks = acks_after(&mut receiver, &segment(seq, 10, stamp), &mut queue);
        acks.first().map(|ack| ack.echo)
    };
    // Two together: that of the first (RFC 7323, section 4.3, case A).
    assert_eq!((echo(0, 1_000), echo(10, 1_100)), (None, Some(1_000)));
    // Behind a gap: that of the last in order (case B); the gap filled: that of what fills it (case C).
    assert_eq!(echo(20, 1_200), None);
    assert_eq!(echo(40, 1_400), Some(1_200));
    assert_eq!(echo(30, 1_500), Some(1_500));
    // What was on its way for long does not turn the clock back.
    assert_eq!(echo(0, 900), Some(1_500));
    // The clock wraps.
    let mut wrapping =
        Receiver::new(FLOW, ReceiverSettings { acknowledge_every: 1, ..ReceiverSettings::rfc5681() })
            .expect("the settings can be");
    let mut last = |seq, stamp| acks_after(&mut wrapping, &segment(seq, 10, stamp), &mut queue)[0].echo;
    assert_eq!((last(0, u32::MAX), last(10, 3)), (u32::MAX, 3));
}

#[test]
fn refuses_settings_that_cannot_be() {
    let base = ReceiverSettings::rfc5681();
    let window = |got| SettingsError::Window { flow: 7, got, min: 1, max: 1 << 30 };
    let every = |got| SettingsError::AcknowledgeEvery { flow: 7, got };
    #[rustfmt::skip]
    let cases = [
        (ReceiverSettings { window: 0, ..base }, window(0)),
        (ReceiverSettings { window: (1 << 30) + 1, ..base }, window((1 << 30) + 1)),
        (ReceiverSettings { acknowledge_every: 0, ..base }, every(0)),
        (ReceiverSettings { acknowledge_every: 256, ..base }, every(256)),
    ];
    for (settings, want) in cases {
        assert_eq!(Receiver::new(FLOW, settings).err(), Some(want));
    }
}
