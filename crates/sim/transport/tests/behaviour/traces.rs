//! TCP against traces that were computed by hand: 1000-byte segments, 50 ms each way, no time to send.

use crate::harness::by_hand::{DELAY, SEGMENT, at, fixed, losing, trace};
use crate::harness::wire::{Way, Wire};
use guestright_congestion::{
    Controller, Fixed, Increase, InitialWindow, RecoveryKind, RecoverySettings, Reno, RenoSettings,
    TimeoutSettings,
};
use guestright_engine::{Instant, Nanos};
use guestright_transport::{ReceiverSettings, Segment, SenderSettings, SenderState};
use guestright_units::{BitsPerSecond, Micros};

fn sender() -> SenderSettings {
    SenderSettings { timeout: TimeoutSettings::linux(), ..SenderSettings::rfc(SEGMENT) }
}

/// Each segment acknowledged at once.
fn receiver() -> ReceiverSettings {
    ReceiverSettings { acknowledge_every: 1, ..ReceiverSettings::rfc5681() }
}

/// Two segments at first, and one more for each acknowledgement.
fn reno() -> Reno {
    let settings = RenoSettings {
        initial_window: InitialWindow::Segments(2),
        increase: Increase::Rfc5681,
        ..RenoSettings::rfc5681(SEGMENT)
    };
    Reno::new(settings).expect("the settings can be")
}

/// What one end has sent, and when.
type Sent = Vec<(Instant, Segment)>;

fn transfer<C: Controller>(
    settings: SenderSettings,
    receiver: ReceiverSettings,
    controller: C,
    bytes: u64,
    lost: &[usize],
) -> (Sent, Sent, SenderState) {
    let mut wire = Wire::new(settings, receiver, controller, losing(lost)).expect("the settings can be");
    wire.write(at(0), bytes, true);
    wire.run(Instant::NEVER, |_, _| {});
    if wire.sender.state() == SenderState::Finished {
        assert_eq!(wire.receiver.delivered(), bytes);
        assert_eq!(wire.sender.acknowledged(), bytes);
        assert_eq!(wire.sender.backlog(), 0);
    }
    (wire.sent, wire.acknowledged, wire.sender.state())
}

#[test]
fn slow_start_doubles_for_each_round_trip() {
    let (sent, _, state) = transfer(sender(), receiver(), reno(), 14_000, &[]);
    let mut want = vec![(0, 0), (0, 1)];
    want.extend((2..6).map(|segment| (100, segment)));
    want.extend((6..14).map(|segment| (200, segment)));
    assert_eq!((trace(&sent), state), (want, SenderState::Finished));
    assert!(sent.last().is_some_and(|(_, segment)| segment.flags.fin));
}

#[test]
fn delayed_acknowledgements_halve_the_growth() {
    // Every second segment: one acknowledgement and one more segment of window for two.
    let receiver = ReceiverSettings { acknowledge_every: 2, ..receiver() };
    let (sent, acknowledged, _) = transfer(sender(), receiver, reno(), 9_000, &[]);
    #[rustfmt::skip]
    let want = [(0, 0), (0, 1), (100, 2), (100, 3), (100, 4),
                // One acknowledgement for 2 and 3: window 4, of which 4 is on its way; 4 waits for its delay or for 5.
                (200, 5), (200, 6), (200, 7),
                // 4 and 5, then 6 and 7: window 5 and 6.
                (300, 8)];
    assert_eq!(trace(&sent), want);
    let acks: Vec<u64> = acknowledged.iter().map(|(_, segment)| segment.ack).collect();
    assert_eq!(acks, [2_000, 4_000, 6_000, 8_000, 9_001]);
}

#[test]
fn a_lone_segment_is_acknowledged_after_the_delay() {
    let settings = ReceiverSettings { acknowledge_every: 2, ..receiver() };
    let mut wire = Wire::new(sender(), settings, reno(), losing(&[])).expect("the settings can be");
    wire.write(at(0), 1_000, false);
    wire.run(Instant::NEVER, |_, _| {});
    assert_eq!(wire.acknowledged.len(), 1);
    assert_eq!(wire.acknowledged[0].0, at(250));
    // The first segments quickly, if told so.
    let settings = ReceiverSettings { quick: 1, delay: Nanos::from_millis(100), ..settings };
    let mut wire = Wire::new(sender(), settings, reno(), losing(&[])).expect("the settings can be");
    wire.write(at(0), 1_000, false);
    wire.write(at(1_000), 1_000, false);
    wire.run(Instant::NEVER, |_, _| {});
    let times: Vec<Instant> = wire.acknowledged.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [at(50), at(1_150)]);
}

#[test]
fn fast_retransmit_and_recovery() {
    // Window 2, 4, 8: segment 6, the first of eight, is lost.
    let (sent, _, _) = transfer(sender(), receiver(), reno(), 40_000, &[6]);
    let trace = trace(&sent);
    let mut want = vec![(0, 0), (0, 1)];
    want.extend((2..6).map(|segment| (100, segment)));
    want.extend((6..14).map(|segment| (200, segment)));
    // 300 ms: seven duplicates (7..14). Two of them let 14 and 15 go (limited transmit); the third retransmits 6, with
    // ssthresh = 8/2 = 4, window 4 + 3; the others bring it to 4 + 7 = 11, of which 10 (6..16) are on their way: 16.
    want.extend([(300, 14), (300, 15), (300, 6), (300, 16)]);
    // 400 ms: duplicates of 14, 15 and then 6 fills the gap: 14 and 15 came before it. Window 4 + 9 = 13 after them: 17
    // and 18. 6 acknowledges everything up to 16, which is `recover`: over. Window min(4, 3 + 1) = 4: three (16, 17, 18)
    // are on their way, one more.
    want.extend([(400, 17), (400, 18), (400, 19)]);
    assert_eq!(trace[..want.len()], want);
}

#[test]
fn newreno_repairs_one_loss_for_each_round_trip_without_a_timeout() {
    // A window of ten, of which the second, fifth and ninth are lost.
    let settings = sender();
    let (sent, _, state) = transfer(settings, receiver(), fixed(10), 10_000, &[1, 4, 8]);
    // 100 ms: 0 is acknowledged, then six duplicates. 200: 4 is missing. 300: 8.
    let repairs = &trace(&sent)[10..];
    assert_eq!(repairs, [(100, 1), (200, 4), (300, 8)]);
    assert_eq!(state, SenderState::Finished);
    assert!(sent[10..].iter().all(|(_, segment)| segment.flags.again));
}

#[test]
fn reno_waits_for_a_timeout_when_too_few_duplicates_are_left() {
    let settings =
        SenderSettings { recovery: RecoverySettings::new(RecoveryKind::Reno, SEGMENT), ..sender() };
    let (sent, _, state) = transfer(settings, receiver(), fixed(10), 10_000, &[1, 8]);
    // 100: six duplicates, 1 again. 200: everything up to 8 is acknowledged, the recovery is over; of 9 there was one
    // duplicate, and nothing more to send. The timer runs from the acknowledgement at 200 ms. Round trips were 100, so the
    // timeout is 100 + 200 (its least addition is 4 times the deviation of 50, then less).
    let trace = trace(&sent);
    assert_eq!(trace[10], (100, 1));
    assert_eq!(trace[11], (500, 8));
    assert_eq!(state, SenderState::Finished);
}

#[test]
fn timeouts_back_off_and_then_slow_start() {
    // Four segments and all repairs but the fourth are lost.
    let settings = SenderSettings {
        timeout: TimeoutSettings { initial: Micros(1_000_000), ..TimeoutSettings::rfc6298() },
        ..sender()
    };
    let (sent, _, state) = transfer(settings, receiver(), reno(), 6_000, &[0, 1, 2, 3, 4]);
    // Timeouts after 1, 2, 4, 8 s: only what is first is sent, with a window of one.
    #[rustfmt::skip]
    let want = [(0, 0), (0, 1), (1_000, 0), (3_000, 0), (7_000, 0), (15_000, 0),
                // Acknowledged at 15.1: window 2; ssthresh = 2 was set at the first timeout and kept.
                (15_100, 1), (15_100, 2),
                // Congestion avoidance: 2 + 1/2, then 2.5 + 1/2.5.
                (15_200, 3), (15_200, 4), (15_300, 5)];
    assert_eq!((trace(&sent), state), (want.to_vec(), SenderState::Finished));
}

#[test]
fn what_had_arrived_is_not_sent_again_after_a_timeout() {
    // The first of two is lost: one duplicate, a timeout at 1 s, and the acknowledgement of both.
    let settings = SenderSettings { timeout: TimeoutSettings::rfc6298(), ..sender() };
    let (sent, _, _) = transfer(settings, receiver(), reno(), 2_000, &[0]);
    assert_eq!(trace(&sent), [(0, 0), (0, 1), (1_000, 0)]);
}

#[test]
fn gives_up_after_the_last_attempt() {
    let settings = SenderSettings { retries_max: 3, ..sender() };
    let lost: Vec<usize> = (0..100).collect();
    let (sent, _, state) = transfer(settings, receiver(), reno(), 1_000, &lost);
    assert_eq!(trace(&sent), [(0, 0), (1_000, 0), (3_000, 0), (7_000, 0)]);
    assert_eq!(state, SenderState::Aborted);
}

#[test]
fn a_syn_goes_first_and_gives_the_first_round_trip() {
    let settings = SenderSettings { handshake: true, ..sender() };
    let (sent, acknowledged, _) = transfer(settings, receiver(), reno(), 2_000, &[]);
    assert_eq!(trace(&sent), [(0, 0), (100, 0), (100, 1)]);
    assert!(sent[0].1.flags.syn && sent[0].1.len == 0 && acknowledged[0].1.flags.syn);
    // Lost: again after the first timeout, one segment of window, and 3 s of timeout until there is a round trip.
    let (sent, _, state) = transfer(settings, receiver(), reno(), 2_000, &[0, 2]);
    assert_eq!(trace(&sent), [(0, 0), (1_000, 0), (1_100, 0), (4_100, 0), (4_200, 1)]);
    assert_eq!(state, SenderState::Finished);
}

#[test]
fn timestamps_time_segments_that_were_sent_twice() {
    // A window of one, the first lost: without timestamps its round trip is not known.
    for (timestamps, want) in [(false, Micros(2_000_000)), (true, Micros(1_000_000))] {
        let settings = SenderSettings { timestamps, timeout: TimeoutSettings::rfc6298(), ..sender() };
        let mut wire = Wire::new(settings, receiver(), fixed(1), losing(&[0])).expect("the settings can be");
        wire.write(at(0), 1_000, false);
        wire.run(at(1_500), |_, _| {});
        assert_eq!(wire.sender.acknowledged(), 1_000);
        assert_eq!(wire.sender.timeout().timeout(), want, "timestamps {timestamps}");
        let bytes = wire.sender.packet_bytes(&wire.sent[0].1);
        assert_eq!(bytes, if timestamps { 1_052 } else { 1_040 });
    }
}

#[test]
fn a_pause_ends_with_the_initial_window() {
    let mut wire = Wire::new(sender(), receiver(), reno(), losing(&[])).expect("the settings can be");
    wire.write(at(0), 14_000, false);
    wire.write(at(5_000), 6_000, false);
    wire.run(Instant::NEVER, |_, _| {});
    let after: Vec<(u64, u64)> = trace(&wire.sent).split_off(14);
    assert_eq!(after, [(5_000, 14), (5_000, 15), (5_100, 16), (5_100, 17), (5_100, 18), (5_100, 19)]);
}

#[test]
fn nagle_keeps_small_segments_back() {
    for (nagle, want) in [(false, vec![(0, 100), (1, 100), (2, 100)]), (true, vec![(0, 100), (100, 200)])] {
        let settings = SenderSettings { nagle, ..sender() };
        let mut wire = Wire::new(settings, receiver(), reno(), losing(&[])).expect("the settings can be");
        for write in 0..3 {
            wire.write(at(write), 100, false);
        }
        wire.run(Instant::NEVER, |_, _| {});
        let got: Vec<(u64, u16)> = wire.sent.iter().map(|(at, sent)| (at.0 / 1_000_000, sent.len)).collect();
        assert_eq!(got, want, "nagle {nagle}");
    }
}

#[test]
fn the_receive_window_bounds_the_flight() {
    let settings = ReceiverSettings { window: 3_500, ..receiver() };
    let mut wire = Wire::new(sender(), settings, reno(), losing(&[])).expect("the settings can be");
    wire.write(at(0), 100_000, false);
    let mut most = 0;
    wire.run(Instant::NEVER, |sender, _| most = most.max(sender.in_flight()));
    // No half segments to fill it up.
    assert_eq!((most, wire.receiver.delivered()), (3_000, 100_000));
}

#[test]
fn an_end_that_comes_late_is_a_segment_of_its_own() {
    let mut wire = Wire::new(sender(), receiver(), reno(), losing(&[1])).expect("the settings can be");
    wire.write(at(0), 1_000, false);
    wire.write(at(500), 0, true);
    wire.run(Instant::NEVER, |_, _| {});
    assert_eq!(wire.sender.state(), SenderState::Finished);
    assert_eq!((wire.receiver.delivered(), wire.sent.len()), (1_000, 3));
    assert!(wire.sent[1].1.flags.fin && wire.sent[2].1.flags.fin && wire.sent[2].1.flags.again);
    // The round trip was 100 ms: the second attempt comes 300 ms after the first.
    assert_eq!(wire.receiver.finished_at(), Some(at(850)));
}

#[test]
fn a_segment_that_times_out_again_does_not_lower_the_threshold() {
    let settings =
        RenoSettings { initial_window: InitialWindow::Segments(10), ..RenoSettings::rfc5681(SEGMENT) };
    let reno = Reno::new(settings).expect("the settings can be");
    let lost: Vec<usize> = (0..13).collect();
    let mut wire = Wire::new(sender(), receiver(), reno, losing(&lost)).expect("the settings can be");
    wire.write(at(0), 10_000, false);
    // Timeouts at 1, 3 and 7 s.
    wire.run(at(8_000), |_, _| {});
    assert_eq!(wire.sender.stats().timeouts, 3);
    assert_eq!(wire.sender.controller().slow_start_threshold(), 5_000);
    assert_eq!(wire.sender.controller().window(), 1_000);
}

#[test]
fn recoveries_do_not_stretch_the_round_trip() {
    // The first: what is timed is sent twice. Three losses take three round trips; a segment sent in the first is
    // acknowledged after the last.
    for lost in [&[0][..], &[1, 4, 8]] {
        let mut wire = Wire::new(sender(), receiver(), fixed(10), losing(lost)).expect("the settings can be");
        wire.write(at(0), 60_000, true);
        wire.run(Instant::NEVER, |_, _| {});
        assert_eq!((wire.sender.stats().losses, wire.sender.stats().timeouts), (1, 0));
        assert_eq!(wire.sender.timeout().smoothed(), Some(Micros(100_000)), "{lost:?}");
    }
}

#[test]
fn duplicates_after_a_timeout_are_not_taken_for_a_loss() {
    // All acknowledgements of the first window are lost, so it is sent twice, and what is acknowledged then are
    // duplicates.
    let fate = |way, number: usize, _: &Segment| {
        if way == Way::Back && number < 10 { Vec::new() } else { vec![DELAY] }
    };
    let mut wire = Wire::new(sender(), receiver(), fixed(10), fate).expect("the settings can be");
    wire.write(at(0), 40_000, true);
    wire.run(Instant::NEVER, |_, _| {});
    let stats = wire.sender.stats();
    assert_eq!((stats.timeouts, stats.losses, stats.again), (1, 0, 10));
    assert!(stats.duplicates >= 3, "{stats:?}");
}

/// A window that is paced.
#[derive(Debug)]
struct Paced(Fixed, BitsPerSecond);

impl Controller for Paced {
    fn window(&self) -> u64 {
        self.0.window()
    }
    fn pacing(&self) -> Option<BitsPerSecond> {
        Some(self.1)
    }
    fn on_ack(&mut self, _: &guestright_congestion::Ack) {}
    fn on_loss(&mut self, _: &guestright_congestion::Flight) {}
    fn on_recovered(&mut self, _: &guestright_congestion::Ack) {}
    fn on_timeout(&mut self, _: &guestright_congestion::Flight) {}
    fn on_idle(&mut self, _: Micros) {}
}

#[test]
fn pacing_spreads_a_window() {
    // 1040 bytes at 416 kbit/s: 20 ms.
    let rate = BitsPerSecond::new(416_000).expect("not zero");
    let (sent, _, _) = transfer(sender(), receiver(), Paced(fixed(4), rate), 6_000, &[]);
    assert_eq!(trace(&sent), [(0, 0), (20, 1), (40, 2), (60, 3), (100, 4), (120, 5)]);
}
