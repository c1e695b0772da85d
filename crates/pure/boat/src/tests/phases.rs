use super::direction::millis;
use crate::testing::NullSeal;
use crate::{
    InstallRule, Listener, ListenerConfig, Message, SealError, Shutdown, Step, Talker, TalkerConfig, TickRate,
};
use guestright_units::{Micros, Time};
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

struct Pair {
    talker: Talker,
    listener: Listener,
    here: NullSeal,
    there: NullSeal,
    rng: ChaCha8Rng,
}

impl Pair {
    fn new(talker: TalkerConfig, listener: ListenerConfig) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        Self {
            talker: Talker::new(talker, Micros(0), &mut rng, Time(0)),
            listener: Listener::new(listener),
            here: NullSeal::new(true),
            there: NullSeal::new(false),
            rng,
        }
    }

    /// The talker's next message, at so many ms.
    fn next_message(&mut self, at: u64) -> Option<Message> {
        self.talker.handle_timeout(&mut self.here, millis(at));
        self.talker.poll_message(&mut self.here, &mut self.rng, millis(at))
    }

    /// The listener's answer to it.
    fn answer(&mut self, message: &Message, at: u64) -> Message {
        self.listener.handle_message(message, &mut self.there, millis(at)).expect("it is answered");
        self.listener.poll_message(millis(at)).expect("there is an answer")
    }

    fn handle_message(&mut self, message: &Message, at: u64) -> Result<(), SealError> {
        self.talker.handle_message(message, &mut self.here, millis(at))
    }

    /// A whole phase that begins at `at`; each way takes `way`.
    fn phase(&mut self, at: u64, way: u64) {
        let probe = self.next_message(at).expect("it begins");
        let response = self.answer(&probe, at + way);
        self.handle_message(&response, at + 2 * way).expect("it is awaited");
        if let Some(install) = self.next_message(at + 2 * way) {
            let ack = self.answer(&install, at + 3 * way);
            self.handle_message(&ack, at + 4 * way).expect("it is awaited");
        }
    }
}

const EVERY_SECOND: TalkerConfig =
    TalkerConfig { period_min: Micros::from_millis(1_000), ..TalkerConfig::PRINTED };

fn printed() -> Pair {
    Pair::new(EVERY_SECOND, ListenerConfig::PRINTED)
}

#[test]
fn a_phase_has_the_four_messages_of_table_2() {
    let mut pair = printed();
    let ts = pair.talker.clock(Time(0));
    let probe = pair.next_message(0).expect("the first phase begins at once");
    assert_eq!((probe.phase, probe.step), (1, Step::Probe { time: ts }));
    let response = pair.answer(&probe, 30);
    assert_eq!((response.phase, response.step), (1, Step::Response { time: ts, held: 0 }));
    pair.handle_message(&response, 80).unwrap();
    let install = pair.next_message(80).expect("nothing holds it back");
    assert_eq!((install.phase, install.step), (1, Step::Install { round_trip: 80 }));
    let ack = pair.answer(&install, 110);
    assert_eq!((ack.phase, ack.step), (1, Step::Ack { round_trip: 80 }));
    assert!(!pair.talker.is_synchronised());
    pair.handle_message(&ack, 160).unwrap();
    assert!(pair.talker.is_synchronised());
    assert_eq!(pair.here.keys().0, 1, "the new key is in use");
    assert_eq!(pair.next_message(999), None);
    assert_eq!(pair.next_message(1_000).map(|probe| probe.phase), Some(2));
}

#[test]
fn starts_are_drawn_between_half_a_second_and_one() {
    let mut pair =
        Pair::new(TalkerConfig { failures_max: 1_000, ..TalkerConfig::PRINTED }, ListenerConfig::PRINTED);
    let mut starts = Vec::new();
    for at in 0..30_000 {
        if let Some(probe) = pair.next_message(at) {
            starts.push(at);
            let response = pair.answer(&probe, at);
            pair.handle_message(&response, at).unwrap();
            let install = pair.next_message(at).unwrap();
            let ack = pair.answer(&install, at);
            pair.handle_message(&ack, at).unwrap();
        }
    }
    let gaps: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| (500..=1_001).contains(gap)), "{gaps:?}");
    let (short, long) = (gaps.iter().filter(|gap| **gap < 650), gaps.iter().filter(|gap| **gap > 850));
    assert!(short.count() > 3 && long.count() > 3, "{gaps:?}");
}

#[test]
fn how_long_an_answer_was_held_is_no_round_trip() {
    let mut pair = printed();
    let probe = pair.next_message(0).unwrap();
    pair.listener.handle_message(&probe, &mut pair.there, millis(20)).unwrap();
    let response = pair.listener.poll_message(millis(75)).unwrap();
    assert!(matches!(response.step, Step::Response { held: 55, .. }));
    pair.handle_message(&response, 95).unwrap();
    assert_eq!(pair.talker.round_trip(), Some(Micros::from_millis(40)));
}

#[test]
fn only_the_answer_that_is_waited_for_is_taken_and_only_once() {
    let mut pair = printed();
    let probe = pair.next_message(0).unwrap();
    let response = pair.answer(&probe, 20);
    let Step::Response { time, held } = response.step else { panic!("{response:?}") };
    #[rustfmt::skip]
    let others = [
        Message { phase: 2, ..response.clone() },
        Message { phase: 0, ..response.clone() },
        Message { step: Step::Response { time: time.wrapping_add(1), held }, ..response.clone() },
        Message { step: Step::Ack { round_trip: 0 }, ..response.clone() },
        Message { step: Step::Probe { time }, ..response.clone() },
        Message { key: vec![1], ..response.clone() },
    ];
    for other in others {
        assert!(pair.handle_message(&other, 40).is_err(), "{other:?}");
    }
    assert_eq!(pair.handle_message(&response, 40), Ok(()));
    assert!(pair.handle_message(&response, 41).is_err(), "it came before");
    let install = pair.next_message(41).unwrap();
    let ack = pair.answer(&install, 60);
    let other = Message { step: Step::Ack { round_trip: 39 }, ..ack.clone() };
    assert!(pair.handle_message(&other, 80).is_err());
    assert_eq!(pair.handle_message(&ack, 80), Ok(()));
    assert!(pair.handle_message(&ack, 81).is_err(), "it came before");
}

#[test]
fn a_listener_answers_no_phase_again_and_no_older_one() {
    let mut pair = printed();
    let first = pair.next_message(0).unwrap();
    let second = pair.next_message(1_000).expect("nobody has answered the first");
    pair.answer(&second, 1_020);
    for (name, old) in [("older", &first), ("same", &second)] {
        let before = pair.listener.look(millis(1_030));
        let outcome = pair.listener.handle_message(old, &mut pair.there, millis(1_030));
        assert_eq!(outcome, Err(SealError::Replayed), "{name}");
        assert_eq!(pair.listener.look(millis(1_030)), before, "{name}: the clock stands as it was");
    }
    let install =
        Message { phase: 1, step: Step::Install { round_trip: 4 }, key: 1_u32.to_be_bytes().to_vec() };
    assert!(pair.listener.handle_message(&install, &mut pair.there, millis(1_040)).is_err());
}

#[test]
fn an_install_is_acknowledged_once() {
    let mut pair = printed();
    let probe = pair.next_message(0).unwrap();
    let response = pair.answer(&probe, 20);
    pair.handle_message(&response, 40).unwrap();
    let install = pair.next_message(40).unwrap();
    pair.answer(&install, 60);
    let before = pair.listener.look(millis(70));
    assert!(pair.listener.handle_message(&install, &mut pair.there, millis(70)).is_err());
    assert_eq!(pair.listener.look(millis(70)), before);
    assert!(!pair.listener.has_message());
}

#[test]
fn phases_without_an_answer_shut_the_call_down_and_those_that_were_never_sent_do_not() {
    let mut pair = printed();
    let mut starts = Vec::new();
    for at in 0..20_000 {
        if pair.talker.shutdown().is_some() {
            break;
        }
        if let Some(probe) = pair.next_message(at) {
            starts.push((probe.phase, at));
        }
    }
    assert_eq!(pair.talker.shutdown(), Some(Shutdown::Failures(5)));
    // Nothing can be said before the first phase: each begins when the one before it has failed, after twice as long.
    assert_eq!(starts, [(1, 0), (2, 300), (3, 900), (4, 2_100), (5, 4_100)]);

    let mut silent = printed();
    silent.phase(0, 20);
    for at in 0..60_000 {
        silent.talker.handle_timeout(&mut silent.here, millis(at));
    }
    assert_eq!(
        (silent.talker.shutdown(), silent.talker.failures()),
        (None, 0),
        "no place, no message, no failure"
    );
    assert!(silent.talker.has_message(millis(60_000)));
}

#[test]
fn a_success_forgives_failures() {
    let mut pair = printed();
    pair.phase(0, 20);
    let mut at = 1_000;
    for _ in 0..4 {
        while pair.next_message(at).is_none() {
            at += 1;
        }
    }
    assert_eq!(pair.talker.shutdown(), None);
    while pair.talker.failures() < 4 {
        at += 1;
        pair.talker.handle_timeout(&mut pair.here, millis(at));
    }
    let probe = loop {
        at += 1;
        if let Some(probe) = pair.next_message(at) {
            break probe;
        }
    };
    let response = pair.answer(&probe, at + 20);
    pair.handle_message(&response, at + 40).unwrap();
    let install = pair.next_message(at + 40).unwrap();
    let ack = pair.answer(&install, at + 60);
    pair.handle_message(&ack, at + 80).unwrap();
    assert_eq!((pair.talker.failures(), pair.talker.counts().failed), (0, 4));
}

#[test]
fn a_round_trip_above_two_seconds_is_none() {
    for (way, want) in [(1_000, true), (1_001, false)] {
        let mut pair = printed();
        let probe = pair.next_message(0).unwrap();
        let response = pair.answer(&probe, way);
        pair.handle_message(&response, 2 * way).unwrap();
        assert_eq!(
            pair.next_message(2 * way).is_some_and(|it| matches!(it.step, Step::Install { .. })),
            want,
            "{way}"
        );
        assert_eq!(pair.talker.counts().failed, u64::from(!want));
    }
}

#[test]
fn a_round_trip_that_jumps_is_not_installed_until_it_stays() {
    let config = TalkerConfig { tick_rate: TickRate::MILLISECONDS, ..TalkerConfig::MODERN };
    let config = TalkerConfig { period_min: Micros::from_millis(1_000), ..config };
    let mut pair = Pair::new(config, ListenerConfig::PRINTED);
    let mut installed = Vec::new();
    for (second, way) in [10, 10, 10, 60, 10, 30, 60, 60, 60, 60].into_iter().enumerate() {
        pair.phase(second as u64 * 1_000, way);
        let clock = pair.listener.counts();
        installed.push((clock.acknowledged, pair.talker.counts().jumped));
    }
    // 120 ms are six times the median; 60 are below 100. The third of four that stay is no jump any more.
    let want = [(1, 0), (2, 0), (3, 0), (3, 1), (4, 1), (5, 1), (5, 2), (6, 2), (7, 2), (8, 2)];
    assert_eq!(installed, want);
    assert_eq!(pair.talker.shutdown(), None);
}

#[test]
fn the_printed_rule_waits_for_a_silence_as_long_as_the_improvement() {
    for (rule, after) in
        [(InstallRule::Printed, 60), (InstallRule::SenderOnly, 200), (InstallRule::ReceiverExact, 0)]
    {
        let config = TalkerConfig { install: rule, ..EVERY_SECOND };
        let mut pair = Pair::new(config, ListenerConfig { install: rule, ..ListenerConfig::PRINTED });
        pair.phase(0, 50);
        pair.talker.note_speech(true, millis(500));
        let probe = pair.next_message(1_000).unwrap();
        let response = pair.answer(&probe, 1_020);
        pair.handle_message(&response, 1_040).unwrap();
        if rule == InstallRule::ReceiverExact {
            assert!(pair.next_message(1_040).is_some(), "also while somebody speaks");
            continue;
        }
        assert_eq!(pair.next_message(1_100), None, "{rule:?}: somebody speaks");
        pair.talker.note_speech(false, millis(1_200));
        assert_eq!(pair.talker.poll_timeout(), Some(millis(1_200 + after)), "{rule:?}");
        assert_eq!(pair.next_message(1_200 + after - 1), None, "{rule:?}");
        assert!(pair.next_message(1_200 + after).is_some(), "{rule:?}");
    }
}

#[test]
fn an_install_that_finds_no_silence_makes_room_for_the_next_phase_and_is_no_failure() {
    let config = TalkerConfig { install: InstallRule::Printed, ..EVERY_SECOND };
    let mut pair = Pair::new(config, ListenerConfig::PRINTED);
    pair.phase(0, 50);
    pair.talker.note_speech(true, millis(500));
    let probe = pair.next_message(1_000).unwrap();
    let response = pair.answer(&probe, 1_020);
    pair.handle_message(&response, 1_040).unwrap();
    assert_eq!(pair.talker.poll_timeout(), Some(millis(2_000)));
    assert_eq!(pair.next_message(2_000).map(|probe| probe.phase), Some(3));
    let counts = pair.talker.counts();
    assert_eq!((counts.superseded, counts.failed, pair.talker.failures()), (1, 0, 0));
}

#[test]
fn a_key_wears_out_by_sound_and_by_bytes() {
    let mut pair = printed();
    pair.phase(0, 20);
    for _ in 0..250 {
        pair.talker.note_packet(Micros::from_millis(40));
    }
    assert_eq!(pair.talker.shutdown(), None);
    pair.talker.note_packet(Micros(1));
    assert_eq!(pair.talker.shutdown(), Some(Shutdown::KeyAge));
    assert_eq!(pair.next_message(1_000), None, "no phase begins any more");

    let mut pair = printed();
    pair.phase(0, 20);
    pair.talker.note_bytes(1 << 20);
    pair.phase(1_000, 20);
    pair.talker.note_bytes(1 << 20);
    assert_eq!(pair.talker.shutdown(), None, "a new key is new");
    pair.talker.note_bytes(1);
    assert_eq!(pair.talker.shutdown(), Some(Shutdown::KeyBytes));
}

#[test]
fn delta_has_bounds_of_its_own() {
    let bound = Some(Micros::from_millis(400));
    // Round trip, the least and the most of Delta.
    let cases = [(0, 20, 20), (10, 20, 30), (40, 40, 80), (200, 200, 400), (300, 100, 400), (320, 80, 400)];
    for (round_trip, least, most) in cases.into_iter().chain([(800, 200, 1_000)]) {
        let config = ListenerConfig { delta_max: bound, ..ListenerConfig::PRINTED };
        let mut pair = Pair::new(EVERY_SECOND, config);
        pair.phase(0, round_trip / 2);
        assert_eq!(pair.listener.bounds(), Some((least, most)), "{round_trip}");
        assert_eq!(pair.listener.reach(), most, "{round_trip}");
    }
}
