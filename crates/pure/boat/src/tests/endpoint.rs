use super::direction::millis;
use crate::testing::{NullSeal, Ready, Schedule, run};
use crate::{Boat, Config, Introduced, Masking, Opening, Timing};
use guestright_units::{Micros, Seed, Time};
use guestright_voice::playout::{Fixed, Sound};
use guestright_voice::session::Frame;
use guestright_voice::tool::{Ending, Event, Side, Tool as _, ToolError, Transmit};
use std::net::SocketAddr;

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], 17_447))
}

const PACKET: Micros = Micros::from_millis(20);

fn side_at(number: u8, config: Config, timing: Timing) -> Boat {
    let seal = Box::new(NullSeal::new(number == 1));
    let opening = Ready::new(seal, Side::Callee, address(3 - number));
    Boat::new(config, timing, Box::new(opening), &Seed::from_number(u64::from(number)), Time(0))
}

fn sides(config: &Config) -> [Boat; 2] {
    [1, 2].map(|number| side_at(number, config.clone(), Timing::Boat))
}

/// Everything that waits goes to the other side at once; gives how many datagrams there were.
fn exchange(sides: &mut [Boat; 2], at: u64) -> usize {
    let mut count = 0;
    loop {
        let mut is_quiet = true;
        for from in 0..2 {
            while let Some(transmit) = sides[from].poll_transmit() {
                let source = address(u8::try_from(from).unwrap() + 1);
                let _ = sides[1 - from].handle_datagram(&transmit.bytes, source, millis(at));
                (is_quiet, count) = (false, count + 1);
            }
        }
        if is_quiet {
            return count;
        }
    }
}

fn frame(is_speech: bool) -> Frame<'static> {
    Frame { payload: &[7; 34], duration: PACKET, is_speech, noise_level: 60 }
}

fn events(boat: &mut Boat) -> Vec<Event> {
    std::iter::from_fn(|| boat.poll_event()).collect()
}

#[test]
fn sound_flows_once_the_first_phase_was_completed() {
    let mut sides = sides(&Config::modern(PACKET));
    assert!(matches!(events(&mut sides[0])[..], [Event::Connected(_)]));
    assert!(!sides[0].is_ready());
    sides[0].handle_frame(&frame(true), millis(1));
    assert_eq!(sides[0].summary().withheld, 1);
    exchange(&mut sides, 2);
    assert!(sides[0].is_ready() && sides[1].is_ready());
    sides[0].handle_frame(&frame(true), millis(20));
    exchange(&mut sides, 20);
    // PROBE took 2 ms, so Delta is that and 20 ms, which is what computers are given to be punctual.
    for (at, lasts) in [(20, 20), (40, 2)] {
        let silence = sides[1].poll_sound(millis(at));
        assert_eq!(
            (silence.sound, silence.duration),
            (Sound::Silence, Micros::from_millis(lasts)),
            "at {at} ms"
        );
    }
    assert!(matches!(sides[1].poll_sound(millis(42)).sound, Sound::Play { .. }));
    let received = sides[1].poll_received().expect("an analyser hears it too");
    assert_eq!((received.payload_bytes, received.marker, received.is_duplicate), (34, true, false));
    let summary = sides[0].summary();
    assert_eq!((summary.sent, summary.sent_codec_bytes, summary.refused), (1, 34, 0));
    assert_eq!(summary.datagrams_sent, 5, "PROBE, INSTALL, RESPONSE, ACK, sound");
}

#[test]
fn with_a_policy_sound_flows_at_once_and_the_policy_hears_of_phases() {
    let policy = || Timing::Policy(Box::new(Fixed::new(Micros::from_millis(30))));
    let mut sides = [1, 2].map(|number| side_at(number, Config::modern(PACKET), policy()));
    assert!(sides[0].is_ready());
    sides[0].handle_frame(&frame(true), millis(1));
    exchange(&mut sides, 5);
    assert_eq!(sides[1].poll_sound(millis(6)).sound, Sound::Silence);
    assert!(matches!(sides[1].poll_sound(millis(35)).sound, Sound::Play { .. }));
}

#[test]
fn the_address_follows_the_newest_datagram_that_opens_and_nothing_else() {
    let mut sides = sides(&Config::modern(PACKET));
    exchange(&mut sides, 0);
    let moved = address(99);
    let sound = |boat: &mut Boat, at: u64| {
        boat.handle_frame(&frame(true), millis(at));
        std::iter::from_fn(|| boat.poll_transmit()).last().expect("sound was sent")
    };
    let (older, newer) = (sound(&mut sides[0], 20), sound(&mut sides[0], 40));
    assert!(sides[1].handle_datagram(b"nonsense", moved, millis(41)).is_err());
    assert_eq!(sound(&mut sides[1], 41).to, address(1), "nonsense moves nobody");
    sides[1].handle_datagram(&newer.bytes, moved, millis(42)).expect("it opens");
    assert_eq!(sound(&mut sides[1], 61).to, moved);
    sides[1].handle_datagram(&older.bytes, address(1), millis(62)).expect("it opens");
    assert_eq!(sound(&mut sides[1], 81).to, moved, "it was sent from the old address before");
    let replayed = sides[1].handle_datagram(&newer.bytes, address(77), millis(82));
    assert_eq!(replayed, Err(ToolError::Replayed));
    assert_eq!(sound(&mut sides[1], 101).to, moved, "a copy moves nobody");
    assert_eq!(sides[1].summary().refused, 2);
}

#[test]
fn goodbye_ends_the_call_on_the_other_side() {
    let mut sides = sides(&Config::modern(PACKET));
    exchange(&mut sides, 0);
    sides[0].leave(millis(5));
    exchange(&mut sides, 5);
    assert_eq!(events(&mut sides[1]).last(), Some(&Event::Ended(Ending::PeerLeft)));
    for boat in &mut sides {
        boat.handle_frame(&frame(true), millis(20));
        boat.handle_timeout(millis(9_000_000));
        assert_eq!(boat.poll_transmit(), None, "nothing is sent after the end");
        assert_eq!(boat.poll_sound(millis(20)).sound, Sound::Silence);
        assert!(!boat.is_ready() && boat.poll_timeout().is_none());
    }
}

/// Lets one side run alone; gives how it ended and when.
fn alone(config: Config, frames: bool) -> (Ending, u64) {
    let mut sides = sides(&config);
    for at in 0..40 {
        if at % 20 == 0 && frames {
            sides.iter_mut().for_each(|boat| boat.handle_frame(&frame(false), millis(at)));
        }
        exchange(&mut sides, at);
    }
    let [mut boat, _] = sides;
    for at in 40..300_000 {
        if at % 20 == 0 && frames {
            boat.handle_frame(&frame(true), millis(at));
        }
        if boat.poll_timeout().is_some_and(|timeout| timeout <= millis(at)) {
            boat.handle_timeout(millis(at));
        }
        if let Some(Event::Ended(ending)) = events(&mut boat).pop() {
            return (ending, at);
        }
    }
    panic!("it never ended");
}

#[test]
fn a_peer_that_falls_silent_ends_the_call() {
    let (ending, at) = alone(Config::modern(PACKET), true);
    assert_eq!(ending, Ending::Silence);
    assert!((15_000..15_100).contains(&at), "{at}");
    // Five phases in a row were lost before that.
    let (ending, at) = alone(Config { masking: Masking::None, ..Config::printed() }, true);
    assert!(matches!(&ending, Ending::Failed(reason) if reason.starts_with("5 handshakes")), "{ending:?}");
    assert!((3_000..8_000).contains(&at), "{at}");
}

#[test]
fn messages_wait_for_places_of_sound_where_they_are_hidden() {
    let config = Config { masking: Masking::Slots, ..Config::modern(PACKET) };
    let mut sides = sides(&config);
    for at in 1..20 {
        sides.iter_mut().for_each(|boat| boat.handle_timeout(millis(at)));
        assert_eq!(exchange(&mut sides, at), 0, "no frame, no datagram");
    }
    let mut ready_at = None;
    for at in (20..400).step_by(20) {
        sides.iter_mut().for_each(|boat| boat.handle_frame(&frame(false), millis(at)));
        assert!(exchange(&mut sides, at) <= 2, "one from each side at a place");
        if sides[0].is_ready() {
            ready_at.get_or_insert(at);
        }
    }
    assert_eq!(ready_at, Some(80), "PROBE, RESPONSE, INSTALL, ACK: a place for each");
    let round_trip = sides[0].summary().round_trip.expect("it was measured");
    // The answer waited for 20 ms, and says so; what the question waited is not in its time.
    assert!(round_trip <= Micros::from_millis(1), "{round_trip:?}");
}

#[test]
fn covers_hide_pauses_and_a_constant_stream_hides_everything() {
    for masking in [Masking::Cover, Masking::Constant] {
        let config = Config { masking, ..Config::modern(PACKET) };
        let mut sides = sides(&config);
        let mut sizes = Vec::new();
        let mut counts = Vec::new();
        for slot in 1..=500_u64 {
            let at = slot * 20;
            let is_speech = slot / 40 % 2 == 0;
            sides[1].handle_frame(&frame(is_speech), millis(at));
            sides[0].handle_frame(&frame(is_speech), millis(at));
            let sent: Vec<Transmit> = std::iter::from_fn(|| sides[0].poll_transmit()).collect();
            if slot > 50 {
                counts.push(sent.len());
                sizes.extend(sent.iter().map(|transmit| transmit.bytes.len()));
            }
            for transmit in sent {
                let _ = sides[1].handle_datagram(&transmit.bytes, address(1), millis(at));
            }
            exchange(&mut sides, at);
            sides.iter_mut().for_each(|boat| boat.handle_timeout(millis(at)));
        }
        assert!(counts.iter().all(|count| (1..=2).contains(count)), "{masking:?}: no place is empty");
        if masking == Masking::Constant {
            // Places 55, 60 and so on have two, whatever is said.
            let doubles: Vec<bool> = (51..=500).map(|slot| slot % 5 == 0).collect();
            let got: Vec<bool> = counts.iter().map(|count| *count == 2).collect();
            assert_eq!(got, doubles);
        }
        assert!(sizes.iter().all(|size| *size >= 34), "{masking:?}: padded like sound");
        assert!(
            sides[0].summary().others.iter().any(|(name, count)| *name == "phases completed" && *count > 5.0)
        );
    }
}

/// An opening that answers a question again after it was done, as one must whose last answer was lost.
#[derive(Debug)]
struct Repeats {
    introduced: Option<Introduced>,
    answers: Vec<Transmit>,
}

impl Opening for Repeats {
    fn handle_datagram(&mut self, datagram: &[u8], from: SocketAddr, _: Time) -> Result<(), ToolError> {
        if datagram != b"again" {
            return Err(ToolError::Malformed("not again"));
        }
        self.answers.push(Transmit { to: from, bytes: b"answer".to_vec() });
        Ok(())
    }
    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.answers.pop()
    }
    fn poll_outcome(&mut self) -> Option<Result<Introduced, String>> {
        self.introduced.take().map(Ok)
    }
}

#[test]
fn the_opening_answers_until_the_peer_was_heard_with_the_seal() {
    let mut ready = Ready::new(Box::new(NullSeal::new(true)), Side::Callee, address(2));
    let introduced = ready.poll_outcome().and_then(Result::ok);
    let opening = Box::new(Repeats { introduced, answers: Vec::new() });
    let mut boat = Boat::new(Config::modern(PACKET), Timing::Boat, opening, &Seed::from_number(1), Time(0));
    let mut other = side_at(2, Config::modern(PACKET), Timing::Boat);
    let ask = |boat: &mut Boat| {
        let outcome = boat.handle_datagram(b"again", address(2), millis(1));
        let answered =
            std::iter::from_fn(|| boat.poll_transmit()).any(|transmit| transmit.bytes == b"answer");
        (outcome.is_ok(), answered)
    };
    assert_eq!(ask(&mut boat), (true, true));
    let first = other.poll_transmit().expect("PROBE");
    boat.handle_datagram(&first.bytes, address(2), millis(2)).expect("it opens");
    assert_eq!(ask(&mut boat), (false, false), "the opening is over");
}

#[test]
fn an_opening_that_fails_ends_the_call() {
    #[derive(Debug)]
    struct Fails;
    impl Opening for Fails {
        fn handle_datagram(&mut self, _: &[u8], _: SocketAddr, _: Time) -> Result<(), ToolError> {
            Ok(())
        }
        fn poll_transmit(&mut self) -> Option<Transmit> {
            None
        }
        fn poll_outcome(&mut self) -> Option<Result<Introduced, String>> {
            Some(Err("nobody is there".to_owned()))
        }
    }
    let seed = Seed::from_number(1);
    let mut boat = Boat::new(Config::modern(PACKET), Timing::Boat, Box::new(Fails), &seed, Time(0));
    let failed = Event::Ended(Ending::Failed("nobody is there".to_owned()));
    assert_eq!(events(&mut boat), [failed], "and it says so once");
}

/// Two sides an hour long, whose clocks drift apart by 400 parts of a million: 1.4 s in all.
#[test]
fn clocks_that_drift_stay_together_for_an_hour() {
    for drift_ppm in [[200, -200], [-200, 200]] {
        let schedule = Schedule {
            seed: 5,
            rough: Micros(0),
            calm: Micros::from_seconds(3_600),
            loss_permille: 0,
            duplicate_permille: 0,
            delay: [Micros::from_millis(25), Micros::from_millis(35)],
            jitter: Micros(0),
            jump: Micros(0),
            jump_every: 1,
            drift_ppm,
            start: [Time(0), Time(1 << 40)],
            talk_max: 50,
            packet: Micros::from_millis(40),
        };
        let make = |side: usize, _: SocketAddr, peer: SocketAddr, now: Time| {
            let opening = Ready::new(Box::new(NullSeal::new(side == 0)), Side::Callee, peer);
            let config = Config::modern(Micros::from_millis(40));
            Boat::new(config, Timing::Boat, Box::new(opening), &Seed::from_number(side as u64), now)
        };
        let outcome = run(&schedule, make);
        outcome.check(&schedule).expect("the call goes on");
        for (side, played) in outcome.played.iter().enumerate() {
            assert!(played.len() > 30_000, "side {side} heard {} packets", played.len());
            // A packet is made when its number says, by the clock of the other side.
            let first = if side == 0 { 18_000 } else { 7_000 };
            let made = |number: u32| {
                let local = i64::from(number - 1) * 40_000;
                first + local - local * drift_ppm[1 - side] / 1_000_000
            };
            let delays = played.iter().map(|it| it.at.0.cast_signed() - made(it.number));
            let (least, most) = (delays.clone().min().unwrap(), delays.max().unwrap());
            // One way and a round trip, at most a packet for the card, and what a second or two of drift add.
            let way = if side == 0 { 35_000 } else { 25_000 };
            assert!(least >= way + 60_000 - 3_000, "side {side}: {least} µs");
            assert!(most <= way + 60_000 + 40_000 + 3_000, "side {side}: {most} µs");
            let counts = outcome.summaries[side].playout;
            assert_eq!((counts.late, counts.overflow, counts.skipped), (0, 0, 0), "side {side}: {counts:?}");
        }
    }
}
