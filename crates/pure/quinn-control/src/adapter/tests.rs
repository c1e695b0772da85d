use super::*;
use guestright_congestion::{Fixed, RateSample, Reno, RenoSettings, WaveReport};
use guestright_units::Micros;
use quinn_proto::congestion::Controller as _;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// Some point: only differences to it matter.
#[expect(clippy::disallowed_methods, reason = "there is no other way to an instant of std's")]
pub(crate) fn start() -> Instant {
    Instant::now()
}

/// What a controller was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Sent(Sent),
    Ack(Ack),
    Loss(Flight),
    RecoveryAck(Ack),
    Recovered(Ack),
    Timeout(Flight),
    Mark(Flight),
    Idle(Micros),
}

/// Writes down what it is told, and says that the window is one segment.
#[derive(Clone, Debug, Default)]
struct Witness {
    events: Rc<RefCell<Vec<Event>>>,
    wave: u32,
}

impl Witness {
    fn note(&self, event: Event) {
        self.events.borrow_mut().push(event);
    }
}

impl Controller for Witness {
    fn window(&self) -> u64 {
        1_200
    }
    fn wave(&self) -> Option<u32> {
        Some(self.wave)
    }
    fn on_sent(&mut self, sent: &Sent) {
        self.wave = u32::try_from(sent.offset / 2_400).unwrap();
        self.note(Event::Sent(*sent));
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.note(Event::Ack(*ack));
    }
    fn on_loss(&mut self, flight: &Flight) {
        self.note(Event::Loss(*flight));
    }
    fn on_recovery_ack(&mut self, ack: &Ack) {
        self.note(Event::RecoveryAck(*ack));
    }
    fn on_recovered(&mut self, ack: &Ack) {
        self.note(Event::Recovered(*ack));
    }
    fn on_timeout(&mut self, flight: &Flight) {
        self.note(Event::Timeout(*flight));
    }
    fn on_mark(&mut self, flight: &Flight) {
        self.note(Event::Mark(*flight));
    }
    fn on_idle(&mut self, idle: Micros) {
        self.note(Event::Idle(idle));
    }
}

/// A connection of which the controller is a witness. Times are in milliseconds since its start.
struct Trace {
    start: Instant,
    adapter: Adapter<Witness>,
}

impl Trace {
    fn new() -> Self {
        Self::of(AckGranularity::Frames)
    }

    fn of(granularity: AckGranularity) -> Self {
        let start = start();
        Self { start, adapter: Adapter::new(Witness::default(), granularity, start, 1_200) }
    }

    fn at(&self, millis: u64) -> Instant {
        self.start + Duration::from_millis(millis)
    }

    fn send(&mut self, millis: u64, bytes: u64) {
        self.adapter.send(self.at(millis), bytes);
    }

    /// An ACK frame for packets of 1000 bytes that were sent at `sent`.
    fn ack(&mut self, millis: u64, sent: &[u64], in_flight: u64) {
        let now = self.at(millis);
        for sent in sent {
            self.adapter.gather(now, self.start + Duration::from_millis(*sent), 1_000);
        }
        self.adapter.end_gathering(now, in_flight, false);
    }

    fn lose(&mut self, millis: u64, sent: u64, is_persistent: bool, bytes: u64) {
        self.adapter.react(self.at(millis), self.at(sent), is_persistent, bytes);
    }

    /// What was told since the last time, sending left out.
    fn events(&self) -> Vec<Event> {
        let events = std::mem::take(&mut *self.adapter.controller.events.borrow_mut());
        events.into_iter().filter(|event| !matches!(event, Event::Sent(_))).collect()
    }
}

const fn millis(millis: u64) -> Time {
    Time(millis * 1_000)
}

#[test]
fn one_frame_is_one_acknowledgement() {
    let mut trace = Trace::new();
    trace.send(0, 1_000);
    trace.send(0, 1_000);
    trace.send(5, 1_000);
    trace.ack(40, &[0, 0], 1_000);
    let want = Ack {
        now: millis(40),
        bytes: 2_000,
        acknowledged: 2_000,
        next: 3_000,
        in_flight: 1_000,
        round_trip: Some(Micros(40_000)),
        window_limited: true,
        segments: 2,
        // Both in the 40 ms since the first left; nothing had been delivered then.
        rate: Some(RateSample {
            bytes: 2_000,
            interval: Micros(40_000),
            prior_delivered: 0,
            delivered: 2_000,
            application_limited: false,
        }),
        ..Ack::default()
    };
    assert_eq!(trace.events(), [Event::Ack(want)]);
    // A frame that acknowledges nothing new is none.
    trace.ack(41, &[], 1_000);
    assert_eq!(trace.events(), []);
}

#[test]
fn or_one_for_each_packet() {
    let mut trace = Trace::of(AckGranularity::Packets);
    for at in [0, 0, 5] {
        trace.send(at, 1_000);
    }
    trace.ack(40, &[0, 5], 1_000);
    let events = trace.events();
    let [Event::Ack(first), Event::Ack(second)] = events[..] else { panic!("{events:?}") };
    assert_eq!((first.acknowledged, first.in_flight, first.segments), (1_000, 2_000, 1));
    assert_eq!((second.acknowledged, second.in_flight, second.segments), (2_000, 1_000, 1));
    assert_eq!((first.round_trip, second.round_trip), (None, Some(Micros(35_000))));
    assert!(first.rate.is_none() && second.rate.is_some());
    // The first of them ends a recovery.
    trace.lose(41, 0, false, 1_000);
    trace.send(42, 1_000);
    trace.send(43, 1_000);
    trace.ack(90, &[42, 43], 0);
    let events = trace.events();
    assert!(matches!(events[..], [Event::Loss(_), Event::Recovered(_), Event::Ack(_)]), "{events:?}");
}

#[test]
fn offsets_count_what_was_sent() {
    let mut trace = Trace::new();
    trace.send(3, 1_000);
    trace.send(4, 200);
    let events = trace.adapter.controller.events.borrow().clone();
    let sent = |now, offset, bytes, in_flight| {
        Event::Sent(Sent { now, offset, bytes, in_flight, again: false, last: false })
    };
    assert_eq!(events, [sent(millis(3), 0, 1_000, 1_000), sent(millis(4), 1_000, 200, 1_200)]);
}

#[test]
fn losses_of_one_flight_are_one_loss() {
    let mut trace = Trace::new();
    for at in [0, 1, 2, 3, 10] {
        trace.send(at, 1_000);
    }
    trace.ack(43, &[3], 4_000);
    trace.events();
    trace.lose(43, 0, false, 1_000);
    let flight = Flight {
        now: millis(43),
        in_flight: 4_000,
        next: 5_000,
        first_sent: millis(0),
        transmissions: 1,
        ..Flight::default()
    };
    assert_eq!(trace.events(), [Event::Loss(flight)]);
    // Another packet of the same flight.
    trace.lose(44, 2, false, 1_000);
    assert_eq!(trace.events(), []);
    // What was sent before the reaction is a part of the recovery, what was sent after it ends it.
    trace.send(45, 1_000);
    trace.ack(50, &[10], 1_000);
    trace.ack(85, &[45], 0);
    let events = trace.events();
    assert!(matches!(events[..], [Event::RecoveryAck(_), Event::Recovered(_)]), "{events:?}");
    // And a loss among what was sent after it is another.
    trace.send(86, 1_000);
    trace.lose(130, 86, false, 1_000);
    let events = trace.events();
    assert!(matches!(events[..], [Event::Loss(_)]), "{events:?}");
}

#[test]
fn persistent_congestion_is_a_timeout_and_repeats_until_something_is_acknowledged() {
    let mut trace = Trace::new();
    for at in 0..4 {
        trace.send(at * 100, 1_000);
    }
    trace.lose(1_000, 200, true, 3_000);
    trace.lose(2_000, 300, true, 1_000);
    let events = trace.events();
    let [Event::Timeout(first), Event::Timeout(second)] = events[..] else { panic!("{events:?}") };
    assert_eq!((first.in_flight, first.repeated), (4_000, false));
    assert_eq!((second.in_flight, second.repeated), (1_000, true));
    // An older loss tells nothing new, and there is no recovery to be ended.
    trace.lose(2_001, 300, false, 1_000);
    trace.send(2_002, 1_000);
    trace.ack(2_050, &[2_002], 0);
    let events = trace.events();
    assert!(matches!(events[..], [Event::Idle(_), Event::Ack(_)]), "{events:?}");
    trace.lose(2_100, 2_002, true, 1_000);
    let events = trace.events();
    assert!(matches!(events[..], [Event::Timeout(Flight { repeated: false, .. })]), "{events:?}");
}

#[test]
fn a_mark_is_told_once_for_a_flight_and_begins_no_recovery() {
    let mut trace = Trace::new();
    trace.send(0, 1_000);
    trace.send(1, 1_000);
    trace.lose(40, 0, false, 0);
    trace.lose(41, 1, false, 0);
    trace.ack(41, &[0, 1], 0);
    let events = trace.events();
    assert!(matches!(events[..], [Event::Mark(_), Event::Ack(_)]), "{events:?}");
}

#[test]
fn a_pause_is_told_if_nothing_was_on_its_way() {
    let mut trace = Trace::new();
    trace.send(0, 1_000);
    // The timeout is a second, until a round trip was measured and after (RFC 6298).
    trace.ack(40, &[0], 0);
    trace.events();
    trace.send(1_000, 1_000);
    assert_eq!(trace.events(), []);
    trace.ack(1_040, &[1_000], 0);
    trace.events();
    trace.send(2_100, 1_000);
    assert_eq!(trace.events(), [Event::Idle(Micros(1_100_000))]);
    // Something is on its way.
    trace.send(9_000, 1_000);
    assert_eq!(trace.events(), []);
}

#[test]
fn waves_are_measured_from_their_acknowledgements() {
    let mut trace = Trace::new();
    // The witness calls 2400 bytes a wave: packets 0 to 2 are of wave 0, 3 and 4 of wave 1, 5 of wave 2.
    for at in 0..6 {
        trace.send(at, 1_000);
    }
    let wave = |trace: &Trace| match trace.events()[..] {
        [Event::Ack(ack)] => ack.wave,
        ref other => panic!("{other:?}"),
    };
    trace.ack(40, &[0, 1], 4_000);
    assert_eq!(wave(&trace), None);
    trace.ack(44, &[2, 3], 2_000);
    let report = WaveReport { number: 0, bytes: 3_000, interval: Micros(4_000) };
    assert_eq!(wave(&trace), Some(report));
    trace.ack(50, &[4], 1_000);
    assert_eq!(wave(&trace), Some(report));
    trace.ack(51, &[5], 0);
    let report = WaveReport { number: 1, bytes: 2_000, interval: Micros(7_000) };
    assert_eq!(wave(&trace), Some(report));
}

#[test]
fn quinn_is_never_left_without_a_window() {
    let start = start();
    let mut adapter = Adapter::new(Fixed::new(1_200, 1_200).unwrap(), AckGranularity::Frames, start, 1_200);
    assert_eq!((adapter.window(), adapter.initial_window()), (2_400, 2_400));
    adapter.on_mtu_update(1_452);
    assert_eq!(adapter.window(), 2_904);
}

#[test]
fn reno_behaves_as_its_own_trace() {
    let start = start();
    let at = |millis| start + Duration::from_millis(millis);
    let mut adapter =
        Adapter::new(Reno::new(RenoSettings::modern(1_000)).unwrap(), AckGranularity::Frames, start, 1_200);
    assert_eq!(adapter.window(), 10_000);
    // Slow start: by what was acknowledged, two segments at most.
    for _ in 0..10 {
        adapter.send(at(0), 1_000);
    }
    adapter.gather(at(40), at(0), 1_000);
    adapter.gather(at(40), at(0), 1_000);
    adapter.end_gathering(at(40), 8_000, false);
    assert_eq!(adapter.window(), 12_000);
    // Half of it after a loss; not again for the same flight.
    adapter.react(at(41), at(0), false, 1_000);
    assert_eq!(adapter.metrics().ssthresh, Some(6_000));
    assert_eq!(adapter.window(), 6_000);
    adapter.react(at(42), at(0), false, 1_000);
    assert_eq!(adapter.window(), 6_000);
    // Persistent congestion: one segment, of which quinn sees two of the MTU.
    adapter.react(at(500), at(0), true, 5_000);
    assert_eq!(adapter.controller().window(), 1_000);
    assert_eq!(adapter.window(), 2_400);
}

#[test]
fn a_copy_for_another_path_is_independent() {
    let start = start();
    let mut adapter =
        Adapter::new(Reno::new(RenoSettings::modern(1_000)).unwrap(), AckGranularity::Frames, start, 1_200);
    let copy = adapter.clone_box();
    adapter.send(start, 1_000);
    adapter.react(start + Duration::from_millis(9), start, false, 1_000);
    assert_eq!((adapter.window(), copy.window()), (5_000, 10_000));
    let copy = copy.into_any().downcast::<Adapter<Reno>>().expect("it is the same kind");
    assert_eq!(copy.controller().window(), 10_000);
}
