//! Selective acknowledgements, marks of congestion, waves, and what controllers are told: by hand.

use crate::harness::by_hand::{SEGMENT, at, fixed, losing, receiver, sender, trace};
use crate::harness::wire::Wire;
use guestright_congestion::{
    Ack, Controller, Fixed, Flight, InitialWindow, RateSample, RecoveryKind, Reno, RenoSettings, Sent,
    WaveReport,
};
use guestright_engine::{Instant, Queue};
use guestright_transport::{
    Flags, Flow, Receiver, ReceiverSettings, Report, Sack, Segment, Sender, SenderSettings, SenderState,
    TcpEvent,
};
use guestright_units::{Micros, Time};
use proptest::prelude::*;

const FLOW: Flow = Flow(0);

#[test]
fn selective_acknowledgements_repair_a_window_in_one_round_trip() {
    // A window of ten, of which the second, fifth and ninth are lost; NewReno takes three round trips.
    let mut wire = Wire::new(sender(RecoveryKind::Sack), receiver(), fixed(10), losing(&[1, 4, 8])).unwrap();
    wire.write(at(0), 10_000, true);
    wire.run(Instant::NEVER, |_, _| {});
    assert_eq!(trace(&wire.sent)[10..], [(100, 1), (100, 4), (100, 8)]);
    assert_eq!(wire.sender.state(), SenderState::Finished);
    let stats = wire.sender.stats();
    assert_eq!((stats.losses, stats.timeouts, stats.again), (1, 0, 3));
}

#[test]
fn what_has_arrived_is_not_sent_again_after_a_timeout() {
    // The first five of ten are lost, and the first again: duplicates tell of five losses, the timer of the sixth.
    let mut wire =
        Wire::new(sender(RecoveryKind::Sack), receiver(), fixed(10), losing(&[0, 1, 2, 3, 4, 10])).unwrap();
    wire.write(at(0), 10_000, true);
    wire.run(Instant::NEVER, |_, _| {});
    // Found lost by the third duplicate: 0 and 1 (two and more behind them have arrived, as of all five). The timeout runs
    // from the loss at 100 ms: 1 s at first.
    assert_eq!(trace(&wire.sent)[10..], [(100, 0), (100, 1), (100, 2), (100, 3), (100, 4), (1_100, 0)]);
    assert_eq!((wire.sender.stats().timeouts, wire.receiver.stats().duplicates), (1, 0));
}

/// RFC 6675, section 5, step 4.3. Of ten the first is lost, and all behind the fourth: so more is on its way than the halved
/// window holds, and no further duplicate will make room for what is to be sent again.
#[test]
fn the_first_lost_segment_is_sent_again_whatever_is_on_its_way() {
    let settings =
        RenoSettings { initial_window: InitialWindow::Segments(10), ..RenoSettings::rfc5681(SEGMENT) };
    let lost = losing(&[0, 4, 5, 6, 7, 8, 9, 10, 11]);
    let mut wire =
        Wire::new(sender(RecoveryKind::Sack), receiver(), Reno::new(settings).unwrap(), lost).unwrap();
    wire.write(at(0), 12_000, true);
    wire.run(at(150), |_, _| {});
    assert_eq!(
        trace(&wire.sent)[10..],
        [(100, 10), (100, 11), (100, 0)],
        "limited transmit, and then the loss"
    );
    assert_eq!((wire.sender.stats().losses, wire.sender.stats().timeouts), (1, 0));
    // Segments that are smaller than a full one: what is behind the lost one has arrived and is not sent with it.
    let mut wire = Wire::new(sender(RecoveryKind::Sack), receiver(), fixed(10), losing(&[0])).unwrap();
    (0..8).for_each(|ms| wire.write(at(ms), 200, false));
    wire.run(at(150), |_, _| {});
    let again = wire.sent.iter().skip(8).map(|(_, segment)| (segment.seq, segment.len)).collect::<Vec<_>>();
    assert_eq!(again, [(0, 200)]);
}

#[test]
fn three_duplicates_are_a_loss_and_two_are_none() {
    for (segments, repaired_at) in [(3, 1_000), (4, 100)] {
        let mut wire = Wire::new(sender(RecoveryKind::Sack), receiver(), fixed(10), losing(&[0])).unwrap();
        wire.write(at(0), segments * 1_000, false);
        wire.run(Instant::NEVER, |_, _| {});
        let again = trace(&wire.sent).split_off(usize::try_from(segments).unwrap());
        assert_eq!(again, [(repaired_at, 0)], "{segments} segments");
    }
}

fn segment(seq: u64) -> Segment {
    Segment { seq, flow: FLOW, len: 1_000, ..Segment::default() }
}

/// What is acknowledged at once after `segment`.
fn acks_after(receiver: &mut Receiver, segment: &Segment, queue: &mut Queue<TcpEvent>) -> Vec<Segment> {
    receiver.handle_segment(segment, queue);
    std::iter::from_fn(|| receiver.poll_segment(queue)).collect()
}

#[test]
fn blocks_tell_of_what_came_last_first() {
    let mut receiver = Receiver::new(FLOW, receiver()).unwrap();
    let mut queue = Queue::new();
    let mut blocks = |seq| {
        let ack = acks_after(&mut receiver, &segment(seq), &mut queue)[0];
        (ack.ack, ack.sack.blocks(ack.ack).collect::<Vec<_>>(), ack.sack.option_bytes())
    };
    assert_eq!(blocks(0), (1_000, vec![], 0));
    assert_eq!(blocks(2_000), (1_000, vec![(2_000, 3_000)], 12));
    assert_eq!(blocks(4_000), (1_000, vec![(4_000, 5_000), (2_000, 3_000)], 20));
    assert_eq!(blocks(6_000), (1_000, vec![(6_000, 7_000), (4_000, 5_000), (2_000, 3_000)], 28));
    // No room for a fourth: that which was told of the longest ago.
    assert_eq!(blocks(8_000), (1_000, vec![(8_000, 9_000), (6_000, 7_000), (4_000, 5_000)], 28));
    // Two grow together.
    assert_eq!(blocks(5_000), (1_000, vec![(4_000, 7_000), (8_000, 9_000)], 20));
    // A gap is filled; the rest stays.
    let (ack, reported, _) = blocks(1_000);
    assert_eq!(ack, 3_000);
    assert!(reported.contains(&(4_000, 7_000)) && reported.contains(&(8_000, 9_000)), "{reported:?}");
}

proptest! {
    #[test]
    fn blocks_come_out_as_they_went_in(
        ack in 0_u64..1 << 50,
        blocks in proptest::collection::vec((0_u64..1 << 31, 1_u64..1 << 30), 0..6),
    ) {
        let mut sack = Sack::default();
        let want: Vec<(u64, u64)> = blocks.iter().map(|(from, len)| (ack + from, ack + from + len)).collect();
        for (first, end) in &want {
            sack.push(ack, *first, *end);
        }
        let reported: Vec<(u64, u64)> = sack.blocks(ack).collect();
        prop_assert_eq!(&reported[..], &want[..want.len().min(Sack::MAX)]);
        // RFC 2018, section 3: 8 bytes for each and 2; 2 of padding.
        prop_assert_eq!(sack.option_bytes() as usize, if reported.is_empty() { 0 } else { 4 + 8 * reported.len() });
    }

    #[test]
    fn reports_come_out_as_they_went_in(number in 0_u32..u32::MAX, bytes: u32, interval: u32) {
        let report = WaveReport { number, bytes: bytes.into(), interval: Micros(interval.into()) };
        prop_assert_eq!(Report::new(report).read(), report);
    }
}

#[test]
fn a_mark_is_echoed_until_the_sender_says_that_it_has_slowed_down() {
    let mut queue = Queue::new();
    let marked = |seq, marked, reduced| Segment {
        flags: Flags { marked, reduced, ..Flags::default() },
        ..segment(seq)
    };
    for (each, want) in [(false, [false, true, true, false]), (true, [false, true, false, false])] {
        let settings = ReceiverSettings { echo_each_mark: each, ..receiver() };
        let mut receiver = Receiver::new(FLOW, settings).unwrap();
        let echoes = [
            marked(0, false, false),
            marked(1_000, true, false),
            marked(2_000, false, false),
            marked(3_000, false, true),
        ]
        .map(|segment| acks_after(&mut receiver, &segment, &mut queue)[0].flags.echo);
        assert_eq!(echoes, want, "each {each}");
    }
}

#[test]
fn a_window_is_halved_once_for_its_marks() {
    let settings = RenoSettings { initial_threshold: 8_000, ..RenoSettings::rfc5681(SEGMENT) };
    let mut reno = Reno::new(settings).unwrap();
    for _ in 0..8 {
        reno.on_ack(&Ack { bytes: 1_000, window_limited: true, ..Ack::default() });
    }
    assert_eq!(reno.window(), 8_488);
    let mut sender =
        Sender::new(FLOW, SenderSettings { ecn: true, ..sender(RecoveryKind::NewReno) }, reno).unwrap();
    let mut queue: Queue<TcpEvent> = Queue::new();
    sender.write(100_000);
    let mut drain = |sender: &mut Sender<Reno>| -> Vec<Segment> {
        std::iter::from_fn(|| sender.poll_segment(&mut queue)).collect()
    };
    let first = drain(&mut sender);
    assert!(first.len() == 8 && first.iter().all(|sent| sent.flags.capable && !sent.flags.reduced));
    let echo = |ack| Segment {
        ack,
        flow: FLOW,
        window: 65_535,
        flags: Flags { ack: true, echo: true, ..Flags::default() },
        ..Segment::default()
    };
    let mut agenda: Queue<TcpEvent> = Queue::new();
    for ack in 1..=8 {
        sender.handle_segment(&echo(ack * 1_000), &mut agenda);
    }
    // FlightSize was eight segments. The first acknowledgement behind the mark makes no second one of it.
    assert_eq!((sender.stats().marks, sender.controller().slow_start_threshold()), (1, 4_000));
    let second = drain(&mut sender);
    assert!(second[0].flags.reduced && second[1..].iter().all(|sent| !sent.flags.reduced));
    // What was sent before the next window is acknowledged: a new mark counts.
    sender.handle_segment(&echo(9_000), &mut agenda);
    assert_eq!(sender.stats().marks, 2);
}

/// Writes down what it is told; its waves are of four segments.
#[derive(Debug)]
struct Recorder {
    window: Fixed,
    acks: Vec<Ack>,
    sent: Vec<Sent>,
    losses: Vec<Flight>,
    timeouts: Vec<Flight>,
}

impl Recorder {
    fn new(segments: u64) -> Self {
        Self {
            window: fixed(segments),
            acks: Vec::new(),
            sent: Vec::new(),
            losses: Vec::new(),
            timeouts: Vec::new(),
        }
    }
}

impl Controller for Recorder {
    fn window(&self) -> u64 {
        self.window.window()
    }
    fn on_sent(&mut self, sent: &Sent) {
        self.sent.push(*sent);
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.acks.push(*ack);
    }
    fn on_loss(&mut self, flight: &Flight) {
        self.losses.push(*flight);
    }
    fn on_recovered(&mut self, ack: &Ack) {
        self.acks.push(*ack);
    }
    fn on_timeout(&mut self, flight: &Flight) {
        self.timeouts.push(*flight);
    }
    fn on_idle(&mut self, _: Micros) {}
    fn wants_rate(&self) -> bool {
        true
    }
    fn wave(&self) -> Option<u32> {
        self.sent.last().map(|sent| u32::try_from(sent.offset / 4_000).expect("a small number"))
    }
}

#[test]
fn waves_are_reported_with_their_bytes_and_their_time() {
    // Four segments for each round trip of 100 ms: a wave.
    let mut wire =
        Wire::new(sender(RecoveryKind::NewReno), receiver(), Recorder::new(4), losing(&[])).unwrap();
    wire.write(at(0), 12_000, false);
    wire.run(Instant::NEVER, |_, _| {});
    let waves: Vec<u32> = wire.sent.iter().filter_map(|(_, sent)| Some(sent.wave?.get())).collect();
    assert_eq!(waves, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
    let reports: Vec<Option<WaveReport>> = wire.sender.controller().acks.iter().map(|ack| ack.wave).collect();
    let report = |number| Some(WaveReport { number, bytes: 4_000, interval: Micros(100_000) });
    let mut want = vec![None; 4];
    want.extend([report(0); 4]);
    want.extend([report(1); 4]);
    assert_eq!(reports, want);
}

#[test]
fn rates_are_those_of_a_window_for_each_round_trip() {
    let mut wire =
        Wire::new(sender(RecoveryKind::NewReno), receiver(), Recorder::new(10), losing(&[])).unwrap();
    wire.write(at(0), 35_000, false);
    wire.run(Instant::NEVER, |_, _| {});
    let rates: Vec<RateSample> = wire.sender.controller().acks.iter().filter_map(|ack| ack.rate).collect();
    assert_eq!(rates.len(), 35);
    // The tenth acknowledgement of the second round trip: ten segments in 100 ms.
    let sample = rates[19];
    assert_eq!((sample.bytes, sample.interval), (10_000, Micros(100_000)));
    assert_eq!((sample.prior_delivered, sample.delivered), (10_000, 20_000));
    // The last segments of the stream leave nothing for the window: only what is sent after them is the application's pace.
    assert!(rates.iter().all(|sample| !sample.application_limited));
}

#[test]
fn an_application_that_speaks_now_and_then_sets_the_pace() {
    let mut wire =
        Wire::new(sender(RecoveryKind::NewReno), receiver(), Recorder::new(10), losing(&[])).unwrap();
    for write in 0..5 {
        wire.write(at(20 * write), 1_000, false);
    }
    wire.run(Instant::NEVER, |_, _| {});
    let controller = wire.sender.controller();
    let limited: Vec<bool> =
        controller.acks.iter().filter_map(|ack| ack.rate).map(|rate| rate.application_limited).collect();
    assert_eq!(limited, [false, true, true, true, true]);
    assert!(controller.sent.iter().all(|sent| sent.last && !sent.again));
    assert!(controller.acks.iter().all(|ack| !ack.window_limited));
    let round_trips: Vec<Option<Micros>> = controller.acks.iter().map(|ack| ack.round_trip).collect();
    assert_eq!(round_trips, [Some(Micros(100_000)); 5], "each segment is timed");
}

#[test]
fn controllers_are_told_what_was_lost() {
    // The second of six is lost, and lost again.
    let mut wire =
        Wire::new(sender(RecoveryKind::NewReno), receiver(), Recorder::new(6), losing(&[1, 6])).unwrap();
    wire.write(at(0), 6_000, false);
    wire.run(Instant::NEVER, |_, _| {});
    let controller = wire.sender.controller();
    let [loss] = controller.losses[..] else { panic!("{:?}", controller.losses) };
    assert_eq!(
        (loss.now, loss.first_sent, loss.transmissions, loss.duplicates),
        (Time(100_000), Time(0), 1, 3)
    );
    let [timeout] = controller.timeouts[..] else { panic!("{:?}", controller.timeouts) };
    assert_eq!((timeout.first_sent, timeout.transmissions), (Time(100_000), 2));
    let again: Vec<u64> = controller.sent.iter().filter(|sent| sent.again).map(|sent| sent.offset).collect();
    // After the timeout everything again, as far as nobody knows that it has arrived.
    assert_eq!(again, [1_000, 1_000, 2_000, 3_000, 4_000, 5_000]);
    // What was sent twice gives no round-trip time, nor what waited behind it.
    assert_eq!(controller.acks.last().map(|ack| (ack.round_trip, ack.segments)), Some((None, 5)));
}
