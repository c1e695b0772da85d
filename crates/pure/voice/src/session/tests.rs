use super::*;
use crate::agreement::{Call, Prepared, Role};
use crate::playout::{Fixed, Sound};
use crate::srtp::Profile;
use guestright_identity::{Certificate, Role as CertifiedRole, SecretKey, Suite};
use guestright_units::{Micros, UnixSeconds};
use guestright_wire::rtp::{Header, Packet};
use proptest::prelude::*;
use std::collections::BTreeMap;

const START: u64 = 1_700_000_000_000_000;
const PACKET: Micros = Micros::from_millis(20);

fn address(number: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, number], 4_000))
}

/// What a link does with the n-th datagram of that direction: the delay, or nothing for a loss.
type Link = Box<dyn FnMut(usize, u64, &[u8]) -> Vec<u64>>;

fn good(delay: u64) -> Link {
    Box::new(move |_, _, _| vec![delay])
}

/// Two sessions, a link, and what was played at both ends.
struct Town {
    sides: [Session; 2],
    /// How far each clock is ahead of the true time, in µs.
    ahead: [u64; 2],
    addresses: [SocketAddr; 2],
    link: Link,
    flying: BTreeMap<(u64, usize), (usize, SocketAddr, Vec<u8>)>,
    sent: [Vec<(u64, Kind, Vec<u8>)>; 2],
    played: [Vec<Vec<u8>>; 2],
    concealed: [usize; 2],
    noise: [usize; 2],
    events: [Vec<Event>; 2],
    rows: [Vec<Row>; 2],
    errors: [Vec<SessionError>; 2],
    speaks: Box<dyn FnMut(usize, u64) -> bool>,
    now: u64,
    frame: u64,
}

impl Town {
    fn new(sides: [Session; 2], link: Link) -> Self {
        Self {
            sides,
            ahead: [0; 2],
            addresses: [address(1), address(2)],
            link,
            flying: BTreeMap::new(),
            sent: Default::default(),
            played: Default::default(),
            concealed: [0; 2],
            noise: [0; 2],
            events: Default::default(),
            rows: Default::default(),
            errors: Default::default(),
            speaks: Box::new(|_, _| true),
            now: START,
            frame: 0,
        }
    }

    /// A call goes on for so many packets of 20 ms.
    fn talk(&mut self, packets: u64) {
        for _ in 0..packets {
            self.frame += 1;
            for side in 0..2 {
                let payload = payload(side, self.frame);
                let is_speech = (self.speaks)(side, self.frame);
                let frame = Frame { payload: &payload, duration: PACKET, is_speech, noise_level: 60 };
                self.sides[side].handle_frame(&frame, self.clock(side));
            }
            self.step();
            let end = self.now + PACKET.0;
            while let Some(next) = self.next().filter(|next| *next < end) {
                self.now = self.now.max(next);
                self.step();
            }
            self.now = end;
            self.step();
            for side in 0..2 {
                match self.sides[side].poll_sound(self.clock(side)).sound {
                    Sound::Play { payload, .. } => self.played[side].push(payload),
                    Sound::Conceal { .. } => self.concealed[side] += 1,
                    Sound::ComfortNoise { .. } => self.noise[side] += 1,
                    Sound::Silence => {}
                }
            }
        }
    }

    fn clock(&self, side: usize) -> Time {
        Time(self.now + self.ahead[side])
    }

    fn next(&self) -> Option<u64> {
        let timeout = |side: usize| self.sides[side].poll_timeout().map(|at| at.0 - self.ahead[side]);
        [self.flying.keys().next().map(|(at, _)| *at), timeout(0), timeout(1)].into_iter().flatten().min()
    }

    fn step(&mut self) {
        while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (to, from, bytes) = entry.remove();
            let now = self.clock(to);
            if let Err(error) = self.sides[to].handle_datagram(&bytes, from, now) {
                self.errors[to].push(error);
            }
        }
        for side in 0..2 {
            let now = self.clock(side);
            self.sides[side].handle_timeout(now);
            while let Some(transmit) = self.sides[side].poll_transmit() {
                let number = self.sent[side].len();
                let copies = (self.link)(side, number as u64, &transmit.bytes);
                let key = 2 * self.sent.iter().map(Vec::len).sum::<usize>();
                for (copy, delay) in copies.into_iter().enumerate() {
                    let flying = (1 - side, self.addresses[side], transmit.bytes.clone());
                    self.flying.insert((self.now + delay, key + copy), flying);
                }
                self.sent[side].push((self.now, transmit.kind, transmit.bytes));
            }
            while let Some(event) = self.sides[side].poll_event() {
                self.events[side].push(event);
            }
            while let Some(row) = self.sides[side].poll_row() {
                self.rows[side].push(row);
            }
        }
    }

    fn media(&self, side: usize) -> impl Iterator<Item = Packet<'_>> {
        let media = self.sent[side].iter().filter(|(_, kind, _)| *kind == Kind::Rtp);
        media.map(|(_, _, bytes)| Packet::parse_protected(bytes).unwrap())
    }
}

fn payload(side: usize, frame: u64) -> Vec<u8> {
    let mut payload = vec![0xd0 + u8::try_from(side).unwrap(); 160];
    payload[..8].copy_from_slice(&frame.to_be_bytes());
    payload
}

fn config(peer: u8) -> Config {
    Config { peer: Some(address(peer)), ..Config::g711(8, "somebody@example") }
}

fn session(config: Config, protection: Protection, seed: u64) -> Session {
    let policy = Box::new(Fixed::new(Micros::from_millis(60)));
    Session::new(config, protection, policy, &Seed::from_number(seed), Time(START))
}

fn key(fill: u8) -> MasterKey {
    MasterKey::new(Profile::AeadAes128Gcm, &[fill; 16], &[fill; 12]).unwrap()
}

fn with_keys(own: u8) -> Protection {
    Protection::Keys { send: key(own), receive: key(3 - own) }
}

fn plain(link: Link) -> Town {
    let sides = [session(config(2), Protection::None, 1), session(config(1), Protection::None, 2)];
    Town::new(sides, link)
}

fn protected(link: Link) -> Town {
    Town::new([session(config(2), with_keys(1), 1), session(config(1), with_keys(2), 2)], link)
}

fn member(number: u64) -> Prepared {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(number);
    let team = SecretKey::generate(Suite::Ed25519, &mut rng);
    let key = SecretKey::generate(Suite::Ed25519, &mut rng);
    let until = UnixSeconds(4_000_000_000);
    let certificate = Certificate::issue(&team, key.public(), CertifiedRole::Member, UnixSeconds(0), until);
    Prepared::new(key, certificate, &Seed::from_number(number)).unwrap()
}

fn end_to_end(link: Link) -> Town {
    let (one, other) = (member(1), member(2));
    let profile = Profile::AeadAes128Gcm;
    let call = |role, peer: &Prepared| Call { role, profile, peer: peer.fingerprint(), expected: None };
    let (calling, called) = (call(Role::Caller, &other), call(Role::Callee, &one));
    let sides = [
        session(config(2), Protection::EndToEnd { prepared: Box::new(one), call: calling }, 1),
        session(config(1), Protection::EndToEnd { prepared: Box::new(other), call: called }, 2),
    ];
    Town::new(sides, link)
}

#[test]
fn what_is_said_is_heard_in_order_and_whole() {
    for make in [plain, protected] {
        let mut town = make(good(40_000));
        town.talk(1_000);
        for side in 0..2 {
            let sent: Vec<Vec<u8>> = (1..=1_000).map(|frame| payload(1 - side, frame)).collect();
            let played = &town.played[side];
            assert!(played.len() > 990, "{}", played.len());
            assert_eq!(played[..], sent[..played.len()]);
            assert_eq!((town.concealed[side], town.errors[side].len()), (0, 0));
            let summary = town.sides[side].summary();
            assert_eq!((summary.sent, summary.talkspurts, summary.playout.lost), (1_000, 1, 0));
            assert_eq!(summary.jitter, Some(Micros(0)));
            assert_eq!(summary.peer_lost, Some(0));
        }
        let markers: Vec<bool> = town.media(0).map(|packet| packet.header().marker).collect();
        assert!(markers[0] && !markers[1..].contains(&true));
    }
}

/// Nothing leaves before there are keys, and nothing leaves in the clear.
#[test]
fn end_to_end_is_encrypted_from_the_first_packet() {
    let mut town = end_to_end(good(40_000));
    town.talk(500);
    let agreed = |side: usize| match &town.events[side][..] {
        [Event::Agreed(agreed)] => agreed.words,
        other => panic!("{other:?}"),
    };
    assert_eq!(agreed(0), agreed(1));
    for side in 0..2 {
        let first_media = town.sent[side].iter().position(|(_, kind, _)| kind.is_media()).unwrap();
        assert!(town.sent[side][..first_media].iter().all(|(_, kind, _)| *kind == Kind::Agreement));
        assert!(first_media >= 2, "the agreement comes first");
        for (_, kind, bytes) in &town.sent[side] {
            let fill = 0xd0 + u8::try_from(side).unwrap();
            assert!(!bytes.windows(8).any(|part| part == [fill; 8]), "{kind:?} in the clear");
        }
        let summary = town.sides[side].summary();
        assert!((5..20).contains(&summary.withheld), "{summary:?}");
        assert!(town.played[side].len() > 470, "{}", town.played[side].len());
    }
}

#[test]
fn without_an_agreement_there_is_no_media() {
    let mut town = end_to_end(Box::new(|_, _, bytes| if bytes[2] == 4 { vec![] } else { vec![10_000] }));
    town.talk(1_500);
    let want = [Event::NotAgreed(AgreementError::Timeout { seconds: 20 })];
    assert_eq!((&town.events[0][..], &town.events[1][..]), (&want[..], &want[..]));
    for side in 0..2 {
        assert!(town.sent[side].iter().all(|(_, kind, _)| *kind == Kind::Agreement));
        assert!(town.played[side].is_empty());
    }
}

#[test]
fn keys_survive_a_wrap_during_hold_and_losses_around_it() {
    // Begins close to the middle of the cycle, which is as far as a sender begins, so that the wrap is not so long to come.
    let first = |seed| {
        let mut side = session(config(2), with_keys(1), seed);
        side.handle_frame(
            &Frame { payload: &[0; 160], duration: PACKET, is_speech: true, noise_level: 60 },
            Time(START),
        );
        Packet::parse_protected(&side.poll_transmit().unwrap().bytes).unwrap().header().sequence
    };
    let seed = (1..2_000).find(|seed| first(*seed) > 32_000).unwrap();
    let until_wrap = 65_536 - u64::from(first(seed));
    // A third of everything is lost around it.
    let link: Link = Box::new(move |_, number, _| {
        let is_lost = number.abs_diff(until_wrap) < 2_000 && number % 3 == 0;
        if is_lost { vec![] } else { vec![30_000] }
    });
    let sides = [session(config(2), with_keys(1), seed), session(config(1), with_keys(2), 2)];
    let mut town = Town::new(sides, link);
    town.talk(until_wrap - 1_000);
    town.sides[0].set_direction(Direction::NONE);
    town.talk(500);
    let (played, sent) = (town.played[1].len(), town.sides[0].summary().sent);
    town.talk(500);
    assert_eq!(town.played[1].len(), played, "on hold nothing is played");
    assert_eq!(town.sides[0].summary().sent, sent);
    assert!(town.errors[0].iter().all(|error| *error == SessionError::OnHold));
    town.sides[0].set_direction(Direction::BOTH);
    town.talk(2_000);
    // After the wrap comes another re-INVITE, with the same keys as before.
    town.sides[0].set_keys(&key(1), &key(2));
    town.talk(1_500);
    town.sides[1].set_keys(&key(2), &key(1));
    town.talk(1_500);
    assert!(town.played[1].len() > played + 3_900, "{} after {played}", town.played[1].len());
    assert!(town.errors[1].is_empty(), "{:?}", town.errors[1].first());
    let sequences: Vec<u16> = town.media(0).map(|packet| packet.header().sequence).collect();
    assert!(sequences.windows(2).any(|pair| pair == [65_535, 0]), "it wrapped");
}

#[test]
fn a_minute_of_silence_keeps_the_way_open() {
    for comfort_noise in [Some(13), None] {
        let quiet = |peer| Config { discontinuous: true, comfort_noise, ..config(peer) };
        let sides = [session(quiet(2), with_keys(1), 1), session(quiet(1), with_keys(2), 2)];
        let mut town = Town::new(sides, good(30_000));
        town.speaks = Box::new(|side, frame| side == 1 || !(200..3_200).contains(&frame));
        town.talk(3_600);
        let times: Vec<u64> =
            town.sent[0].iter().filter(|(_, kind, _)| *kind == Kind::Rtp).map(|(at, _, _)| *at).collect();
        let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        assert!((900_000..=1_020_000).contains(&longest), "{longest} µs");
        assert!((600..700).contains(&times.len()), "{} packets", times.len());
        let markers = town.media(0).filter(|packet| packet.header().marker).count();
        assert_eq!((markers, town.sides[0].summary().talkspurts), (2, 2));
        // The first word after the silence, and all that follow, are heard.
        let after: Vec<Vec<u8>> = (3_200..3_590).map(|frame| payload(0, frame)).collect();
        let index = town.played[1].iter().position(|played| *played == after[0]).unwrap();
        assert_eq!(town.played[1][index..index + after.len()], after[..]);
        assert_eq!(town.noise[1] > 2_900, comfort_noise.is_some(), "{}", town.noise[1]);
        assert!(town.rows[1].iter().all(|row| row.lost == 0 && row.late == 0));
    }
}

#[test]
fn the_delay_is_an_interval_that_holds_the_truth() {
    let ms = Micros::from_millis;
    #[rustfmt::skip]
    let cases = [
        // (stated errors, how far the callee's clock is ahead in µs, what is wanted)
        (Some(ms(5)), 4_000,   DelaySource::Clocks),
        (None,        4_000,   DelaySource::RoundTrip),
        (Some(ms(1)), 500_000, DelaySource::Contradiction),
    ];
    for (clock_error, ahead, want) in cases {
        let with = |peer| Config { clock_error, ..config(peer) };
        let sides = [session(with(2), with_keys(1), 1), session(with(1), with_keys(2), 2)];
        // 60 ms there, 20 ms back.
        let mut town = Town::new(sides, Box::new(|side, _, _| vec![if side == 0 { 60_000 } else { 20_000 }]));
        town.ahead = [0, ahead];
        town.talk(1_000);
        for (side, truth) in [(1, 60_000), (0, 20_000)] {
            let row = town.rows[side].last().unwrap();
            let delay = row.delay.unwrap();
            assert_eq!(delay.source, want, "{row:?}");
            assert!(delay.low.0 <= truth && truth <= delay.high.0, "{delay:?} has {truth}");
            let round_trip = row.round_trip.unwrap();
            assert!(round_trip.0.abs_diff(80_000) < 100, "{round_trip:?}");
            let width = delay.high.0 - delay.low.0;
            assert!(width <= if want == DelaySource::Clocks { 20_000 } else { 80_100 }, "{delay:?}");
            let contradictions = town.sides[side].summary().contradictions;
            assert_eq!(contradictions > 0, want == DelaySource::Contradiction);
            assert!(town.sides[side].poll_received().is_some_and(|packet| packet.payload_bytes == 160));
        }
    }
}

#[test]
fn each_second_counts_what_happened_in_it() {
    // Of packets 200 to 299: each tenth lost, each tenth repeated, each tenth 45 ms late.
    let mut town = protected(Box::new(|side, number, _| match (side, number) {
        (0, 200..300) => match number % 10 {
            3 => vec![],
            5 => vec![30_000, 31_000],
            7 => vec![75_000],
            _ => vec![30_000],
        },
        _ => vec![30_000],
    }));
    town.talk(600);
    let rows = &town.rows[1];
    let sum = |of: fn(&Row) -> u64, rows: &[Row]| rows.iter().map(of).sum::<u64>();
    let (before, during, after) = (&rows[..3], &rows[3..7], &rows[7..]);
    for quiet in [before, after] {
        for of in [|row: &Row| row.lost, |row: &Row| row.duplicates, |row: &Row| row.reordered + row.late] {
            assert_eq!(sum(of, quiet), 0, "{quiet:?}");
        }
    }
    assert_eq!(sum(|row| row.duplicates, during), 10, "{during:?}");
    assert_eq!(sum(|row| row.reordered, during), 10);
    let lost = sum(|row| row.expected, rows) - sum(|row| row.received, rows);
    assert_eq!((lost, town.sides[1].summary().playout.lost), (10, 10));
    assert!(rows[1..].iter().all(|row| row.end.since(row.start) == Micros::from_seconds(1)));
    assert!(rows[1..11].iter().all(|row| (48..=52).contains(&row.expected)), "{rows:?}");
}

#[test]
fn the_address_follows_who_has_the_key_and_nobody_else() {
    let mut town = protected(good(30_000));
    town.talk(100);
    // Somebody who saw packets sends them again, and changed ones, from elsewhere.
    let came = town.now - 40_000;
    let seen = town.sent[0].iter().filter(|(at, _, _)| *at < came).map(|(_, _, bytes)| bytes.clone());
    let (seen, now): (Vec<Vec<u8>>, _) = (seen.collect(), town.clock(1));
    for mut bytes in seen {
        assert!(town.sides[1].handle_datagram(&bytes, address(66), now).is_err());
        *bytes.last_mut().unwrap() ^= 1;
        assert!(town.sides[1].handle_datagram(&bytes, address(66), now).is_err());
    }
    assert_eq!(town.sides[1].peer(), Some(address(1)));
    assert!(town.events[1].is_empty());
    // The peer itself moves from one access point to another.
    town.addresses[0] = address(7);
    town.talk(100);
    assert_eq!(town.events[1], [Event::PeerMoved { to: address(7) }]);
    assert_eq!(town.sides[1].peer(), Some(address(7)));
    assert!(town.played[1].len() > 190);

    let mut town = plain(good(30_000));
    town.talk(100);
    town.addresses[0] = address(7);
    town.talk(100);
    assert_eq!(town.sides[1].peer(), Some(address(1)));
    assert!(town.errors[1].contains(&SessionError::Stranger));
    assert!(town.played[1].len() < 105);
}

/// The peer hangs up its telephone and takes another: new source, new codec, same key.
#[test]
fn another_source_and_another_codec_are_followed() {
    let both = |peer| {
        let mut config = config(peer);
        config.receive.push(Accepted { payload_type: 0, ..config.send });
        config
    };
    let sides = [session(both(2), Protection::None, 1), session(both(1), Protection::None, 2)];
    let mut town = Town::new(sides, good(30_000));
    town.talk(200);
    let mut changed = both(2);
    changed.send.payload_type = 0;
    town.sides[0].set_config(changed.clone());
    town.talk(100);
    assert_eq!(town.events[1], [Event::PayloadTypeChanged { payload_type: 0 }]);
    let before = town.played[1].len();
    town.sides[0] = session(changed, Protection::None, 99);
    town.talk(200);
    let ssrc = town.sides[0].ssrc();
    assert_eq!(town.events[1][1..], [Event::SourceChanged { ssrc }]);
    assert!(town.played[1].len() > before + 185, "{} after {before}", town.played[1].len());
    assert_eq!(town.errors[1], [SessionError::OtherSource(ssrc)], "the first packet alone is not believed");
}

/// The peer learns of another codec a little later than we: what it has sent before is expected, and nothing strange.
#[test]
fn packets_of_the_codec_before_are_expected_until_the_peer_knows_the_new_one() {
    let mut town = protected(good(30_000));
    town.talk(50);
    let with = |peer, payload_type| {
        let mut config = config(peer);
        config.send.payload_type = payload_type;
        config.receive = vec![config.send];
        config
    };
    town.sides[1].set_config(with(1, 0));
    town.talk(10);
    town.sides[0].set_config(with(2, 0));
    town.talk(40);
    assert_eq!(town.errors[1], []);
    // One is on its way.
    let summary = town.sides[1].summary();
    assert_eq!((summary.refused, summary.expected), (0, town.media(0).count() as u64 - 1), "{summary:?}");
    assert_eq!(summary.playout.received, 100 - 1 - 11, "what nothing decodes is not played: {summary:?}");
    assert_eq!(town.events[1], [Event::PayloadTypeChanged { payload_type: 0 }]);
    // One that was overtaken is expected too; one that comes much later is not.
    town.sides[0].config.send.payload_type = 8;
    town.talk(1);
    town.sides[0].config.send.payload_type = 0;
    town.talk(50);
    assert_eq!(town.errors[1], []);
    town.sides[0].config.send.payload_type = 8;
    town.talk(3);
    assert_eq!(town.errors[1], [SessionError::PayloadType(8), SessionError::PayloadType(8)]);
    assert_eq!(town.sides[1].summary().refused, 2);
}

#[test]
fn a_single_strange_source_changes_nothing() {
    let mut town = plain(good(30_000));
    town.talk(50);
    for sequence in 0..50 {
        let mut bytes = Vec::new();
        Header { marker: false, payload_type: 8, sequence, timestamp: 0, ssrc: 5 + u32::from(sequence) }
            .emit(&mut bytes);
        bytes.extend([0; 160]);
        let now = town.clock(1);
        assert!(matches!(
            town.sides[1].handle_datagram(&bytes, address(1), now),
            Err(SessionError::OtherSource(_))
        ));
        town.talk(1);
    }
    assert!(town.events[1].is_empty() && town.played[1].len() > 90);
    let mut bytes = Vec::new();
    Header { payload_type: 99, ..Header::default() }.emit(&mut bytes);
    let now = town.clock(1);
    assert_eq!(town.sides[1].handle_datagram(&bytes, address(1), now), Err(SessionError::PayloadType(99)));
}

#[test]
fn on_a_collision_we_take_another_number_and_say_so() {
    let mut town = plain(good(30_000));
    town.talk(100);
    let first = town.sides[0].ssrc();
    let mut bytes = Vec::new();
    Header { payload_type: 8, ssrc: first, ..Header::default() }.emit(&mut bytes);
    let now = town.clock(0);
    let refused = town.sides[0].handle_datagram(&bytes, address(2), now);
    assert_eq!(refused, Err(SessionError::OtherSource(first)));
    town.talk(200);
    let ssrc = town.sides[0].ssrc();
    assert_eq!(town.events[0], [Event::Collision { ssrc }]);
    assert_eq!(town.events[1], [Event::PeerLeft, Event::SourceChanged { ssrc }]);
    assert_ne!(town.sides[0].ssrc(), first);
    let sent_goodbye = town.sent[0].iter().any(|(_, kind, bytes)| {
        let parts = if *kind == Kind::Rtcp { guestright_wire::rtcp::parse(bytes).unwrap() } else { vec![] };
        parts.contains(&guestright_wire::rtcp::Part::Goodbye(vec![first]))
    });
    assert!(sent_goodbye);
    assert!(town.played[1].len() > 285, "{}", town.played[1].len());
    for _ in 0..10 {
        let ssrc = town.sides[0].ssrc();
        guestright_wire::rtp::set_ssrc(&mut bytes, ssrc).unwrap();
        let _ = town.sides[0].handle_datagram(&bytes, address(2), now);
    }
    town.step();
    assert_eq!(town.events[0].len(), 3, "whoever goes on is not followed for ever");
}

#[test]
fn a_farewell_is_heard_and_the_last_second_is_counted() {
    let mut town = protected(good(30_000));
    town.talk(275);
    let now = town.clock(0);
    town.sides[0].finish(now);
    town.step();
    assert_eq!(town.rows[0].len(), 6, "five whole seconds and a half");
    town.talk(5);
    assert_eq!(town.events[1], [Event::PeerLeft]);
}

#[test]
fn key_presses_and_strange_types_are_not_sound() {
    let with = |peer| Config { ignored: vec![101], ..config(peer) };
    let sides = [session(with(2), Protection::None, 1), session(with(1), Protection::None, 2)];
    let mut town = Town::new(sides, good(30_000));
    town.talk(100);
    // A key is pressed: the same numbers, as a softphone sends them.
    let last = town.media(0).last().unwrap().header();
    let (now, before) = (town.clock(1), town.sides[1].summary().playout.received);
    let press = Header { payload_type: 101, sequence: last.sequence.wrapping_add(1), ..last };
    let mut bytes = Vec::new();
    press.emit(&mut bytes);
    bytes.extend([5, 10, 0, 160]);
    assert_eq!(town.sides[1].handle_datagram(&bytes, address(1), now), Ok(()));
    assert_eq!(town.sides[1].summary().playout.received, before, "a key is no sound");
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>, first in 0_u8.., kind in 0_usize..3) {
        let mut town = match kind {
            0 => plain(good(1)),
            1 => protected(good(1)),
            _ => end_to_end(good(1)),
        };
        town.talk(2);
        let bytes = [&[first][..], &bytes].concat();
        let now = town.clock(0);
        let _ = town.sides[0].handle_datagram(&bytes, address(2), now);
        let rtcp = [&[0x80 | first & 0x1f, 200, 0, 6][..], &bytes].concat();
        let _ = town.sides[0].handle_datagram(&rtcp, address(2), now);
        town.talk(2);
    }
}
