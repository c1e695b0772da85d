//! Two sides of a call in virtual time, and everything between them in the hands of an attacker.

use guestright_boat::modern::{self, Introduction, Member};
use guestright_boat::{Boat, Config, Timing};
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_legacy::boat as legacy;
use guestright_units::{Micros, Seed, Time, UnixSeconds};
use guestright_voice::playout::{Fixed, Sound};
use guestright_voice::session::Frame;
use guestright_voice::tool::{Event, Side, Tool as _};
use rand::SeedableRng as _;
use rand_chacha::ChaCha20Rng;
use std::collections::BTreeMap;
use std::net::SocketAddr;

pub(crate) const START: Time = Time(1_000_000_000);
/// What both sides of a legacy call know.
pub(crate) const PASS_PHRASE: &str = "an honest pass phrase";
/// One way, as long as nobody meddles.
pub(crate) const ONE_WAY: Micros = Micros::from_millis(30);
/// What the codec makes of 40 ms.
pub(crate) const PAYLOAD: usize = 34;
const PACKET: Micros = Micros::from_millis(40);

pub(crate) fn address(side: usize) -> SocketAddr {
    let last = u8::try_from(side + 1).expect("there are few sides");
    SocketAddr::from(([192, 0, 2, last], 4_000))
}

pub(crate) fn attacker() -> SocketAddr {
    SocketAddr::from(([203, 0, 113, 9], 666))
}

/// A datagram that an attacker lets through, or sends.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// Which side gets it.
    pub(crate) to: usize,
    /// What it gives as its source.
    pub(crate) from: SocketAddr,
    pub(crate) bytes: Vec<u8>,
    /// How long it travels.
    pub(crate) after: Micros,
}

impl Sent {
    /// As if nobody had touched it.
    pub(crate) fn honest(from: usize, bytes: &[u8]) -> Self {
        Self { to: 1 - from, from: address(from), bytes: bytes.to_vec(), after: ONE_WAY }
    }
}

/// What was on the wire.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) at: Time,
    pub(crate) from: usize,
    pub(crate) to: SocketAddr,
    pub(crate) bytes: Vec<u8>,
}

/// A packet of sound that a side played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Played {
    pub(crate) payload: Vec<u8>,
    pub(crate) at: Time,
}

/// Decides about each datagram: from which side, what, when.
pub(crate) type Meddle = Box<dyn FnMut(usize, &[u8], Time) -> Vec<Sent>>;

/// The sides, the wire, and what has happened.
pub(crate) struct Wire {
    pub(crate) sides: Vec<Boat>,
    pub(crate) now: Time,
    pub(crate) meddle: Meddle,
    pub(crate) record: Vec<Recorded>,
    pub(crate) played: Vec<Vec<Played>>,
    pub(crate) events: Vec<Vec<Event>>,
    flight: BTreeMap<(Time, u64), Sent>,
    number: u64,
    next_frame: Time,
    frames: u32,
    sound_at: Vec<Time>,
}

impl Wire {
    /// Nobody meddles yet.
    pub(crate) fn new(sides: Vec<Boat>) -> Self {
        let count = sides.len();
        Self {
            sides,
            now: START,
            meddle: Box::new(|from, bytes, _| vec![Sent::honest(from, bytes)]),
            record: Vec::new(),
            played: vec![Vec::new(); count],
            events: vec![Vec::new(); count],
            flight: BTreeMap::new(),
            number: 0,
            next_frame: START,
            frames: 0,
            sound_at: vec![START; count],
        }
    }

    /// Sends a datagram of the attacker's.
    pub(crate) fn inject(&mut self, sent: Sent) {
        self.number += 1;
        self.flight.insert((self.now + sent.after, self.number), sent);
    }

    /// Lets time pass.
    pub(crate) fn run(&mut self, span: Micros) {
        let end = self.now + span;
        self.collect();
        while let Some(next) = self.next_time().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.step();
            self.collect();
        }
        self.now = end;
    }

    /// Whether a side says that somebody is there.
    pub(crate) fn is_connected(&self, side: usize) -> bool {
        self.events[side].iter().any(|event| matches!(event, Event::Connected(_)))
    }

    /// Why a side has ended, if it has.
    pub(crate) fn ending(&self, side: usize) -> Option<String> {
        self.events[side].iter().find_map(|event| match event {
            Event::Ended(ending) => Some(format!("{ending:?}")),
            Event::Connected(_) | Event::Trouble(_) => None,
        })
    }

    /// Packets that a side played in the last three seconds.
    pub(crate) fn played_lately(&self, side: usize) -> usize {
        self.played[side].iter().filter(|played| self.now - played.at < Micros::from_seconds(3)).count()
    }

    /// What a side counts alone.
    pub(crate) fn figure(&self, side: usize, name: &str) -> f64 {
        let others = self.sides[side].summary().others;
        others.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no figure {name}")).1
    }

    fn next_time(&self) -> Option<Time> {
        let timeouts = self.sides.iter().filter_map(|side| side.poll_timeout());
        // A machine that wants to be called in the past is called now, but not for ever.
        let timeouts = timeouts.map(|at| at.max(self.now + Micros(1)));
        let flight = self.flight.first_key_value().map(|((at, _), _)| *at);
        let sounds = self.sound_at.iter().copied();
        timeouts.chain(flight).chain(sounds).chain([self.next_frame]).min()
    }

    fn step(&mut self) {
        let now = self.now;
        while let Some(entry) = self.flight.first_entry().filter(|entry| entry.key().0 <= now) {
            let sent = entry.remove();
            if let Some(side) = self.sides.get_mut(sent.to) {
                let _refused = side.handle_datagram(&sent.bytes, sent.from, now);
            }
        }
        for side in &mut self.sides {
            if side.poll_timeout().is_some_and(|at| at <= now) {
                side.handle_timeout(now);
            }
        }
        if now >= self.next_frame {
            self.speak();
        }
        for (index, side) in self.sides.iter_mut().enumerate() {
            if now < self.sound_at[index] {
                continue;
            }
            let output = side.poll_sound(now);
            self.sound_at[index] = now + output.duration.max(Micros(1_000));
            if let Sound::Play { payload, .. } = output.sound {
                self.played[index].push(Played { payload, at: now });
            }
        }
    }

    /// One second of speech and then 400 ms of silence, from both sides, in packets that say when they were made.
    fn speak(&mut self) {
        let is_speech = self.frames % 35 < 25;
        for (index, side) in self.sides.iter_mut().enumerate() {
            let payload = payload(index, self.now);
            let frame = Frame { payload: &payload, duration: PACKET, is_speech, noise_level: 60 };
            side.handle_frame(&frame, self.now);
        }
        self.frames += 1;
        self.next_frame = self.next_frame + PACKET;
    }

    fn collect(&mut self) {
        for from in 0..self.sides.len() {
            while let Some(transmit) = self.sides[from].poll_transmit() {
                let to = transmit.to;
                self.record.push(Recorded { at: self.now, from, to, bytes: transmit.bytes.clone() });
                if to != address(1 - from) {
                    continue;
                }
                for sent in (self.meddle)(from, &transmit.bytes, self.now) {
                    self.inject(sent);
                }
            }
            while let Some(event) = self.sides[from].poll_event() {
                self.events[from].push(event);
            }
        }
    }
}

/// What a side says at a time.
pub(crate) fn payload(side: usize, made: Time) -> Vec<u8> {
    let mut payload = vec![u8::try_from(side).expect("there are few sides"); PAYLOAD];
    payload[1..9].copy_from_slice(&made.0.to_be_bytes());
    payload
}

/// When a packet was made that says so.
pub(crate) fn made(payload: &[u8]) -> Time {
    Time(u64::from_be_bytes(payload[1..9].try_into().expect("it is long enough")))
}

/// What anybody on the way can tell handshakes by, although they are encrypted and as long as sound: they are off the beat
/// of the sound, or go together with a packet of sound, or alone in a pause. (The first packet after a pause looks like one
/// of those, too.)
#[derive(Default)]
pub(crate) struct Watcher {
    last: [Time; 2],
}

impl Watcher {
    /// Whether it is one of those.
    pub(crate) fn is_message(&mut self, from: usize, now: Time) -> bool {
        let since = now - self.last[from];
        self.is_extra(from, now) || since > PACKET
    }

    /// Whether it is off the beat, or together with another: none of those are sound.
    pub(crate) fn is_extra(&mut self, from: usize, now: Time) -> bool {
        let is_on_beat = (now - START).0.is_multiple_of(PACKET.0);
        if !is_on_beat {
            return true;
        }
        std::mem::replace(&mut self.last[from], now) == now
    }
}

/// A side of a call with the printed protection.
pub(crate) fn legacy_side(config: legacy::Config, side: usize, seed: u64) -> Boat {
    let boat = Config { rate: None, ..Config::printed() };
    let role = if side == 0 { Side::Caller { to: address(1) } } else { Side::Callee };
    legacy::tool(config, boat, role, PASS_PHRASE, &Seed::from_number(seed * 2 + side as u64), START)
}

/// Both sides of one.
pub(crate) fn legacy_call(config: legacy::Config, seed: u64) -> Wire {
    Wire::new(vec![legacy_side(config, 0, seed), legacy_side(config, 1, seed)])
}

/// A member with a key of its own.
pub(crate) fn member(number: u64) -> Member {
    let mut rng = ChaCha20Rng::seed_from_u64(number);
    let team = SecretKey::generate(Suite::Ed25519, &mut rng);
    let key = SecretKey::generate(Suite::Ed25519, &mut rng);
    let until = UnixSeconds(2_000_000);
    let certificate = Certificate::issue(&team, key.public(), Role::Member, UnixSeconds(0), until);
    Member { key, certificate, expected: None }
}

/// A side of a call with today's protection.
fn modern_side_with(timing: Timing, side: usize, seed: u64) -> Boat {
    let role = if side == 0 { Side::Caller { to: address(1) } } else { Side::Callee };
    let chance = Seed::from_number(1_000 + seed * 2 + side as u64);
    let opening = Introduction::new(role, member(side as u64), modern::Config::default(), &chance)
        .expect("the certificate is short");
    Boat::new(Config::modern(PACKET), timing, Box::new(opening), &chance, START)
}

/// One that is timed by BoAT's clock, as the printed one is.
pub(crate) fn modern_side(side: usize, seed: u64) -> Boat {
    modern_side_with(Timing::Boat, side, seed)
}

/// Both sides of such a call.
pub(crate) fn modern_call(seed: u64) -> Wire {
    Wire::new(vec![modern_side(0, seed), modern_side(1, seed)])
}

/// Both sides of a call that is timed by when packets come.
pub(crate) fn modern_call_by_policy(seed: u64) -> Wire {
    let side = |side| {
        let policy = Box::new(Fixed::new(Micros::from_millis(60)));
        modern_side_with(Timing::Policy(policy), side, seed)
    };
    Wire::new(vec![side(0), side(1)])
}
