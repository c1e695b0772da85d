use super::*;
use guestright_units::BitsPerSecond;
use proptest::prelude::*;
use std::collections::VecDeque;

const SEGMENT: u32 = 1_000;

fn near(got: f64, want: f64, share: f64) {
    assert!((got - want).abs() <= share * want, "{got}, not {want}");
}

fn sender(now_ms: u64) -> TfrcSender {
    TfrcSender::new(TfrcSenderSettings::rfc5348(SEGMENT), time(now_ms)).expect("settings that can be")
}

fn receiver() -> TfrcReceiver {
    TfrcReceiver::new(TfrcReceiverSettings::rfc5348(SEGMENT)).expect("settings that can be")
}

fn time(ms: u64) -> Time {
    Time(1_000 * ms)
}

/// Bytes per second.
fn rate(sender: &TfrcSender) -> u64 {
    sender.rate().0.get() / 8
}

/// Feedback on what was sent 100 ms before `now_ms`.
fn feedback(now_ms: u64, received: f64, p: f64) -> TfrcFeedback {
    TfrcFeedback { echo: time(now_ms - 100), delay: Micros(0), received: Some(received), loss_event_rate: p }
}

/// A sender with a round trip of 100 ms that has just heard of its first packet, at 100 ms.
fn after_feedback() -> TfrcSender {
    let mut sender = sender(0);
    sender.send(SEGMENT, true, time(0));
    sender.on_feedback(&TfrcFeedback { received: None, ..feedback(100, 0.0, 0.0) }, time(100));
    sender
}

#[test]
fn the_equation_by_hand() {
    // sqrt(0.02 / 3) = 0.0816497; 4 * 3 sqrt(0.03 / 8) * 0.01 * 1.0032 = 0.00737198; 1000 / (0.1 * 0.0890217).
    near(equation(1_000, 0.1, 0.01).unwrap(), 112_332.2, 1e-5);
    // All lost: sqrt(2/3) = 0.8164966; 12 sqrt(3/8) * 33 = 242.4995.
    near(equation(1_000, 1.0, 1.0).unwrap(), 1_000.0 / 243.316, 1e-5);
    for (segment, round_trip_s, p) in [(1_000, 0.1, 0.0), (1_000, 0.1, 1.1), (1_000, 0.0, 0.1), (0, 0.1, 0.1)]
    {
        assert_eq!(equation(segment, round_trip_s, p), None);
    }
    assert_eq!(equation(1_000, f64::NAN, 0.1), None);
}

#[test]
fn the_equation_can_be_turned_round() {
    for p in [0.000_1, 0.003, 0.02, 0.3, 1.0] {
        let rate = equation(SEGMENT, 0.08, p).unwrap();
        near(loss_event_rate_for(SEGMENT, 0.08, rate), p, 1e-6);
    }
    assert_eq!(loss_event_rate_for(SEGMENT, 0.08, 0.0), 1.0);
}

/// Packets come 10 ms apart, but for those in `lost`.
fn history(lost: &[u64], packets: u64, round_trip_ms: u64) -> LossHistory {
    let mut history = LossHistory::new(false, false);
    for sequence in (0..packets).filter(|sequence| !lost.contains(sequence)) {
        history.on_packet(sequence, false, time(10 * sequence), Micros(1_000 * round_trip_ms), || 50.0);
    }
    history
}

#[test]
fn a_hole_is_a_loss_after_three_more() {
    let mut history = history(&[100], 103, 50);
    assert!(!history.has_losses());
    assert!(history.on_packet(103, false, time(1_030), Micros(50_000), || 50.0));
    // The interval before the first loss is what stands for it; the open one has 4 packets.
    near(history.mean_interval().unwrap(), 50.0, 1e-9);
    // An overtaken packet is none.
    let mut late = self::history(&[100], 103, 50);
    late.on_packet(100, false, time(1_025), Micros(50_000), || 50.0);
    late.on_packet(103, false, time(1_030), Micros(50_000), || 50.0);
    assert!(!late.has_losses());
}

#[test]
fn the_mean_interval_by_hand() {
    // Losses at 100, 140 and 240: intervals 50 (made up), 40, 100, open from 240.
    // At 303: closed (100 + 40 + 50) / 3 = 63.3; with the open one (64 + 100 + 40 + 50) / 4 = 63.5.
    let history = history(&[100, 140, 240], 304, 50);
    near(history.mean_interval().unwrap(), 63.5, 1e-9);
    near(history.loss_event_rate(), 1.0 / 63.5, 1e-9);
    // Nine losses: the last eight intervals of 20 each, weights 1 1 1 1 .8 .6 .4 .2, the made-up one forgotten.
    let many: Vec<u64> = (1..=9).map(|count| 20 * count).collect();
    near(self::history(&many, 184, 50).mean_interval().unwrap(), 20.0, 1e-9);
    // Eight: (7 * 20 by their weights + 50 * 0.2) / 6: (5.8 * 20 + 10) / 6 = 21.
    near(self::history(&many[..8], 164, 50).mean_interval().unwrap(), 21.0, 1e-9);
}

#[test]
fn losses_within_a_round_trip_are_one_event() {
    // 100, 102 and 104 within 50 ms, 106 is 60 ms after 100.
    for (lost, events) in
        [(&[100, 102, 104][..], 1), (&[100, 102, 104, 106], 2), (&[100, 105], 1), (&[100, 106], 2)]
    {
        let history = history(lost, 150, 50);
        let want = if events == 1 { 50.0 } else { (6.0 + 50.0) / 2.0 };
        // The open interval counts as well, if that makes the mean longer.
        let open = if events == 1 { (50.0 + 50.0) / 2.0 } else { (44.0 + 6.0 + 50.0) / 3.0 };
        near(history.mean_interval().unwrap(), f64::max(want, open), 1e-9);
    }
}

#[test]
fn a_long_hole_has_an_event_for_each_round_trip() {
    // 100 to 199 are lost, 1 s, with a round trip of 50 ms: an event each 6 packets (60 ms, the first that is later).
    let lost: Vec<u64> = (100..200).collect();
    let history = history(&lost, 204, 50);
    // The last event is at 196: closed intervals of 6, open 8; with it the weights are 1, 1 1 1 .8 .6 .4 .2.
    near(history.mean_interval().unwrap(), (8.0 + 6.0 * 5.0) / 6.0, 1e-9);
}

#[test]
fn discounting_forgets_old_losses_sooner() {
    let run = |discounting: bool| {
        let mut history = LossHistory::new(discounting, false);
        for sequence in (0..1_000).filter(|sequence| ![100, 140, 180].contains(sequence)) {
            history.on_packet(sequence, false, time(10 * sequence), Micros(50_000), || 40.0);
        }
        history.mean_interval().unwrap()
    };
    // Open 820, closed 40 40 40. Plain: (820 + 120) / 4. Discounted by 1/4 at least: (820 + 30) / 1.75.
    near(run(false), 235.0, 1e-9);
    near(run(true), 850.0 / 1.75, 1e-9);
}

#[test]
fn many_small_packets_lost_at_once_count_as_more_than_one() {
    let run = |short_intervals: bool| {
        let mut history = LossHistory::new(false, short_intervals);
        // 100 to 103 are lost, 50 ms are a round trip; 108 is 80 ms later; 200 is more than two round trips later.
        for sequence in (0..204).filter(|sequence| ![100, 101, 102, 103, 108, 200].contains(sequence)) {
            history.on_packet(sequence, false, time(10 * sequence), Micros(50_000), || 50.0);
        }
        history.mean_interval().unwrap()
    };
    // Closed: 92 (one loss, and long), 8 or 8 / 4, 50.
    near(run(false), (92.0 + 8.0 + 50.0) / 3.0, 1e-9);
    near(run(true), (92.0 + 2.0 + 50.0) / 3.0, 1e-9);
}

#[test]
fn small_packets_keep_their_distance() {
    let mut sender = TfrcSender::new(TfrcSenderSettings::rfc4828(), time(0)).unwrap();
    sender.send(200, true, time(0));
    sender.on_feedback(&TfrcFeedback { received: None, ..feedback(100, 0.0, 0.0) }, time(100));
    // 4380 bytes in 100 ms: 200 bytes take 4.6 ms, less than 10.
    assert_eq!(rate(&sender), 43_800);
    sender.send(200, true, time(2_000));
    assert_eq!(sender.next_at(), time(2_010));
    // 1000 take 22.8 ms.
    sender.send(1_000, true, time(2_010));
    assert_eq!(sender.next_at(), Time(2_032_831));
}

#[test]
fn a_mark_is_a_loss() {
    let mut history = LossHistory::new(false, false);
    assert!(!history.on_packet(0, false, time(0), Micros(50_000), || 50.0));
    assert!(history.on_packet(1, true, time(10), Micros(50_000), || 50.0));
    assert!(history.has_losses());
}

#[test]
fn the_first_rates_by_hand() {
    let mut sender = sender(0);
    // A segment a second.
    assert_eq!((rate(&sender), sender.next_at(), sender.poll_timeout()), (1_000, time(0), None));
    sender.send(SEGMENT, true, time(0));
    assert_eq!((sender.next_at(), sender.poll_timeout()), (time(1_000), Some(time(2_000))));
    // 4 segments (4380 bytes allow four of 1000) in 100 ms.
    sender.on_feedback(&TfrcFeedback { received: None, ..feedback(100, 0.0, 0.0) }, time(100));
    assert_eq!((rate(&sender), sender.round_trip()), (40_000, Some(Micros(100_000))));
    // Doubled each round trip, up to twice what comes in.
    for (now_ms, received, want) in
        [(200, 40_000.0, 80_000), (250, 60_000.0, 80_000), (300, 80_000.0, 160_000)]
    {
        sender.send(SEGMENT, true, time(now_ms - 100));
        sender.on_feedback(&feedback(now_ms, received, 0.0), time(now_ms));
        assert_eq!(rate(&sender), want, "at {now_ms} ms");
    }
    // The nofeedback timer: four round trips.
    assert_eq!(sender.poll_timeout(), Some(time(700)));
}

#[test]
fn losses_bring_the_equation() {
    let mut sender = after_feedback();
    for now_ms in [200, 300, 400] {
        sender.send(SEGMENT, true, time(now_ms - 100));
        sender.on_feedback(&feedback(now_ms, 200_000.0, 0.0), time(now_ms));
    }
    sender.send(SEGMENT, true, time(400));
    sender.on_feedback(&feedback(500, 200_000.0, 0.01), time(500));
    near(rate(&sender) as f64, 112_332.0, 1e-4);
    // Twice what comes in is the bound; what came in within two round trips counts.
    for now_ms in [600, 700, 800, 900] {
        sender.send(SEGMENT, true, time(now_ms - 100));
        sender.on_feedback(&feedback(now_ms, 20_000.0, 0.01), time(now_ms));
    }
    assert_eq!(rate(&sender), 40_000);
}

#[test]
fn a_slow_application_keeps_its_rate_while_nothing_is_lost() {
    let mut sender = after_feedback();
    for now_ms in [200, 300] {
        sender.send(SEGMENT, true, time(now_ms - 100));
        sender.on_feedback(&feedback(now_ms, 60_000.0, 0.01), time(now_ms));
    }
    near(rate(&sender) as f64, 112_332.0, 1e-4);
    // Then a tenth of that is spoken: the largest of before stays the measure.
    for now_ms in (600..3_000).step_by(100) {
        sender.send(100, false, time(now_ms - 100));
        sender.on_feedback(&feedback(now_ms, 1_000.0, 0.01), time(now_ms));
    }
    near(rate(&sender) as f64, 112_332.0, 1e-4);
    // A loss more: half of 60,000 is the bound now.
    sender.on_feedback(&feedback(3_000, 1_000.0, 0.011), time(3_000));
    assert_eq!(rate(&sender), 30_000);
}

#[test]
fn without_feedback_the_rate_halves() {
    let mut sender = sender(0);
    sender.send(SEGMENT, true, time(0));
    sender.on_timeout(time(1_999));
    assert_eq!(rate(&sender), 1_000, "not yet");
    sender.on_timeout(time(2_000));
    assert_eq!((rate(&sender), sender.poll_timeout()), (500, Some(time(6_000))));
    // Nothing was sent since: nothing could have come back.
    sender.on_timeout(time(6_000));
    assert_eq!(rate(&sender), 500);

    let mut slow_start = after_feedback();
    slow_start.send(SEGMENT, true, time(100));
    slow_start.on_timeout(time(500));
    assert_eq!(rate(&slow_start), 20_000);
    // Idle, and below twice the initial rate: it stays.
    slow_start.on_timeout(slow_start.poll_timeout().unwrap());
    assert_eq!(rate(&slow_start), 20_000);

    // By the equation: 20,000 came in, so it was the bound: 20,000 / 2 is what came in now, by definition.
    let mut bounded = after_feedback();
    for now_ms in (200..700).step_by(100) {
        bounded.send(SEGMENT, true, time(now_ms - 100));
        bounded.on_feedback(&feedback(now_ms, 20_000.0, 0.01), time(now_ms));
    }
    assert_eq!(rate(&bounded), 40_000);
    bounded.send(SEGMENT, true, time(700));
    bounded.on_timeout(bounded.poll_timeout().unwrap());
    assert_eq!(rate(&bounded), 20_000);
}

#[test]
fn silence_earns_no_credit() {
    let mut sender = after_feedback();
    sender.send(SEGMENT, false, time(1_000));
    // 1000 bytes at 40,000: 25 ms from now, not from long ago.
    assert_eq!(sender.next_at(), time(1_025));
    sender.send(SEGMENT / 2, false, time(1_025));
    assert_eq!(sender.next_at(), Time(1_037_500));
}

#[test]
fn damping_slows_down_as_soon_as_the_queue_grows() {
    let run = |damping: bool| {
        let settings = TfrcSenderSettings { damping, ..TfrcSenderSettings::rfc5348(SEGMENT) };
        let mut sender = TfrcSender::new(settings, time(0)).unwrap();
        sender.on_feedback(&TfrcFeedback { received: None, ..feedback(100, 0.0, 0.0) }, time(100));
        // 400 ms instead of 100: R = 130 ms.
        sender.on_feedback(&TfrcFeedback { echo: time(100), ..feedback(500, 30_000.0, 0.0) }, time(500));
        let rate = rate(&sender);
        sender.send(SEGMENT, true, time(1_000));
        (rate, sender.next_at().since(time(1_000)).0)
    };
    let (rate, pause) = run(false);
    near(pause as f64, 1e9 / rate as f64, 1e-3);
    // sqrt(R) was 0.31623, is 0.63246; its mean is 0.9 * 0.31623 + 0.1 * 0.63246 = 0.34785: 0.55 of the rate.
    let (same, damped) = run(true);
    assert_eq!(same, rate);
    near(damped as f64, 1e9 / (0.55 * rate as f64), 1e-3);
}

#[test]
fn the_receiver_reports_once_a_round_trip_and_at_once_on_a_loss() {
    let mut receiver = receiver();
    let data = |sequence: u64, round_trip: Option<u64>| TfrcData {
        sequence,
        sent: time(10 * sequence),
        round_trip: round_trip.map(|ms| Micros(1_000 * ms)),
        bytes: SEGMENT,
    };
    let first = receiver.on_data(&data(0, None), false, time(50)).expect("the first packet gets a report");
    assert_eq!(
        (first.echo, first.delay, first.received, first.loss_event_rate),
        (time(0), Micros(0), None, 0.0)
    );
    assert_eq!(receiver.poll_timeout(), None);
    // Then one for each 100 ms: ten packets of 1000 bytes.
    let mut reports = Vec::new();
    for sequence in 1..40 {
        let now = time(50 + 10 * sequence);
        while receiver.poll_timeout().is_some_and(|at| at <= now) {
            let at = receiver.poll_timeout().unwrap();
            reports.extend(receiver.on_timeout(at).map(|report| (at, report)));
        }
        // 31 is lost.
        if sequence != 31
            && let Some(report) = receiver.on_data(&data(sequence, Some(100)), false, now)
        {
            reports.push((now, report));
        }
    }
    let times: Vec<u64> = reports.iter().map(|(at, _)| at.0 / 1_000).collect();
    // 60 + 100, 260, 360; 34 is the third after the hole, at 390.
    assert_eq!(times, [160, 260, 360, 390]);
    near(reports[1].1.received.unwrap(), 100_000.0, 0.01);
    // Since the report before the last, since a round trip is not over: 360 - 260 and 30 ms, 12 packets.
    near(reports[3].1.received.unwrap(), 12_000.0 / 0.13, 0.1);
    // The first interval is by the equation: 92,000 bytes per second with 100 ms is a loss rate of 1.4 % or so.
    let p = reports[3].1.loss_event_rate;
    near(equation(SEGMENT, 0.1, p).unwrap(), 92_000.0, 0.1);
    assert_eq!(p, receiver.loss_event_rate());
    // Nothing comes any more: the timer is silent, and stops.
    let at = receiver.poll_timeout().unwrap();
    assert!(receiver.on_timeout(at).is_some(), "35 to 39 are news");
    let at = receiver.poll_timeout().unwrap();
    assert_eq!((receiver.on_timeout(at), receiver.poll_timeout()), (None, None));
}

/// Both machines, 50 ms apart, each `lost_every`th packet lost; how many bytes were sent in the last half of `until_ms`.
fn run(lost_every: u64, until_ms: u64) -> (f64, f64) {
    let (mut sender, mut receiver) = (sender(0), receiver());
    let mut there: VecDeque<(Time, TfrcData)> = VecDeque::new();
    let mut back: VecDeque<(Time, TfrcFeedback)> = VecDeque::new();
    let mut sent = 0_u64;
    let way = Micros(50_000);
    let mut now = time(0);
    while now < time(until_ms) {
        let next = [
            Some(sender.next_at().max(now)),
            sender.poll_timeout(),
            receiver.poll_timeout(),
            there.front().map(|(at, _)| *at),
            back.front().map(|(at, _)| *at),
        ];
        now = next.into_iter().flatten().min().expect("there is always a next packet");
        let report = |report: Option<TfrcFeedback>, back: &mut VecDeque<_>| {
            back.extend(report.map(|report| (now + way, report)));
        };
        if let Some((_, data)) = there.pop_front_if(|(at, _)| *at <= now) {
            report(receiver.on_data(&data, false, now), &mut back);
        } else if let Some((_, feedback)) = back.pop_front_if(|(at, _)| *at <= now) {
            sender.on_feedback(&feedback, now);
        } else if receiver.poll_timeout().is_some_and(|at| at <= now) {
            report(receiver.on_timeout(now), &mut back);
        } else if sender.poll_timeout().is_some_and(|at| at <= now) {
            sender.on_timeout(now);
        } else {
            let data = sender.send(SEGMENT, true, now);
            sent += u64::from(now >= time(until_ms / 2)) * u64::from(SEGMENT);
            if lost_every == 0 || data.sequence % lost_every != lost_every - 1 {
                there.push_back((now + way, data));
            }
        }
    }
    let seconds = (until_ms - until_ms / 2) as f64 / 1e3;
    (sent as f64 / seconds, sender.loss_event_rate())
}

#[test]
fn the_pair_settles_at_what_the_equation_says() {
    for lost_every in [50, 100, 400] {
        let (rate, p) = run(lost_every, 120_000);
        near(p, 1.0 / lost_every as f64, 0.05);
        near(rate, equation(SEGMENT, 0.1, 1.0 / lost_every as f64).unwrap(), 0.05);
    }
}

#[test]
fn without_losses_it_doubles_in_every_other_round_trip() {
    // 40,000 bytes per second after 100 ms. Twice what came in is the bound, and that was sent a round trip ago: so it takes
    // two to double. In the second half of 1 s that is 160,000 to 640,000 at most, in that of 2 s 32 times as much.
    let ((first, none), (second, _)) = (run(0, 1_000), run(0, 2_000));
    assert_eq!(none, 0.0);
    assert!((160_000.0..=640_000.0).contains(&first), "{first}");
    assert!((16.0..=64.0).contains(&(second / first)), "{second}");
}

#[test]
fn same_losses_same_rate() {
    assert_eq!(run(37, 20_000), run(37, 20_000));
}

fn any_rate() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(f64::NAN), Just(f64::INFINITY), Just(-1.0), 0.0..1e12_f64]
}

proptest! {
    #[test]
    fn the_rate_stays_within_its_bounds(
        damping: bool,
        segment in 1_u32..=65_495,
        steps in proptest::collection::vec(
            (0_u8..4, 0_u64..10_000_000, any::<u64>(), any_rate(), any_rate(), any::<bool>()),
            1..200,
        ),
    ) {
        let settings = TfrcSenderSettings { damping, ..TfrcSenderSettings::rfc5348(segment) };
        let mut sender = TfrcSender::new(settings, Time(0)).unwrap();
        let mut now = Time(0);
        for (step, wait, odd, received, p, flag) in steps {
            now = now + Micros(wait);
            match step {
                0 | 1 => {
                    let data = sender.send(segment, flag, now);
                    prop_assert_eq!(data.sent, now);
                    prop_assert!(sender.next_at() >= now);
                }
                2 => sender.on_timeout(now),
                _ => {
                    let echo = if flag { Time(odd) } else { Time(now.0.saturating_sub(odd % 1_000_000)) };
                    let delay = Micros(if flag { odd } else { odd % 1_000 });
                    sender.on_feedback(&TfrcFeedback { echo, delay, received: flag.then_some(received), loss_event_rate: p }, now);
                }
            }
            // A segment in 64 s at least, 2^40 bit/s at most.
            let least = BitsPerSecond::new((u64::from(segment) * 8 / 64).max(1)).unwrap();
            prop_assert!(sender.rate() >= least && sender.rate().0.get() <= 1 << 40, "{:?}", sender.rate());
        }
    }

    #[test]
    fn the_loss_event_rate_is_a_rate_whatever_comes(
        discounting: bool,
        short_intervals: bool,
        packets in proptest::collection::vec(
            (prop_oneof![0_u64..200, any::<u64>()], 0_u64..1_000_000, any::<bool>(), proptest::option::of(any::<u64>())),
            1..300,
        ),
    ) {
        let mut receiver = TfrcReceiver::new(TfrcReceiverSettings { segment: SEGMENT, discounting, short_intervals }).unwrap();
        let mut now = Time(0);
        for (sequence, wait, marked, round_trip) in packets {
            now = now + Micros(wait);
            if receiver.poll_timeout().is_some_and(|at| at <= now) {
                receiver.on_timeout(now);
            }
            let data = TfrcData { sequence, sent: now, round_trip: round_trip.map(Micros), bytes: SEGMENT };
            if let Some(report) = receiver.on_data(&data, marked, now) {
                prop_assert!((0.0..=1.0).contains(&report.loss_event_rate), "{report:?}");
                prop_assert!(report.received.is_none_or(|rate| rate >= 0.0 && rate.is_finite()), "{report:?}");
            }
        }
    }
}
