//! Two sides and the network between them, in virtual time.

use crate::diffie_hellman::Prime;
use crate::pgpfone::{Codec, Config, PgpFone};
use guestright_units::{Micros, Seed, Time};
use guestright_voice::playout::Sound;
use guestright_voice::session::Frame;
use guestright_voice::tool::{Connected, Event, Side, Tool as _, ToolError};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha20Rng;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// What the network does; chances in 1/1000.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    pub(super) delay: Micros,
    /// On top, evenly spread: above the time between two datagrams it reorders them.
    pub(super) jitter: Micros,
    pub(super) loss: u32,
    pub(super) doubled: u32,
}

impl Path {
    pub(super) const GOOD: Self =
        Self { delay: Micros::from_millis(30), jitter: Micros(0), loss: 0, doubled: 0 };
}

/// Changes a datagram of a side on its way, or drops it.
pub(super) type Tamper = Box<dyn FnMut(usize, &mut Vec<u8>) -> bool>;

pub(super) struct World {
    pub(super) sides: [PgpFone; 2],
    pub(super) path: Path,
    pub(super) now: Time,
    pub(super) tamper: Tamper,
    pub(super) is_talking: [bool; 2],
    /// What each side said, what each side played, and each datagram that it sent.
    pub(super) spoken: [Vec<Vec<u8>>; 2],
    pub(super) played: [Vec<Vec<u8>>; 2],
    pub(super) sent: [Vec<Vec<u8>>; 2],
    pub(super) events: [Vec<Event>; 2],
    pub(super) errors: Vec<ToolError>,
    way: BTreeMap<(Time, u64), (usize, Vec<u8>)>,
    count: u64,
    rng: ChaCha20Rng,
    next_frame: [Time; 2],
    next_sound: [Time; 2],
}

pub(super) fn address(side: usize) -> SocketAddr {
    ([192, 0, 2, if side == 0 { 1 } else { 2 }], super::super::PORT).into()
}

/// A side with a short prime: the tests are about everything else.
pub(super) fn config(side: usize) -> Config {
    let who = if side == 0 { Side::Caller { to: address(1) } } else { Side::Callee };
    let name = Some(if side == 0 { "Alice" } else { "Bob" }.to_owned());
    Config { primes: vec![Prime::PgpFone768], name, ..Config::new(who) }
}

impl World {
    pub(super) fn new(path: Path, seed: u64) -> Self {
        Self::with([config(0), config(1)], path, seed)
    }

    pub(super) fn with(configs: [Config; 2], path: Path, seed: u64) -> Self {
        let mut number = seed * 2;
        let sides = configs.map(|config| {
            number += 1;
            PgpFone::new(config, &Seed::from_number(number), Time(0)).unwrap()
        });
        Self {
            sides,
            path,
            now: Time(0),
            tamper: Box::new(|_, _| true),
            is_talking: [false; 2],
            spoken: [vec![], vec![]],
            played: [vec![], vec![]],
            sent: [vec![], vec![]],
            events: [vec![], vec![]],
            errors: vec![],
            way: BTreeMap::new(),
            count: 0,
            rng: ChaCha20Rng::seed_from_u64(seed),
            next_frame: [Time(0); 2],
            next_sound: [Time(0); 2],
        }
    }

    /// A call that has come about.
    pub(super) fn connected(path: Path, seed: u64) -> Self {
        let mut world = Self::new(path, seed);
        world.run(1_000);
        assert!(world.sides.iter().all(PgpFone::is_ready), "{:?}", world.events);
        world
    }

    pub(super) fn connection(&self, side: usize) -> Option<&Connected> {
        self.events[side].iter().find_map(|event| match event {
            Event::Connected(connected) => Some(connected),
            Event::Trouble(_) | Event::Ended(_) => None,
        })
    }

    pub(super) fn has_ended(&self, side: usize) -> bool {
        self.events[side].iter().any(|event| matches!(event, Event::Ended(_)))
    }

    /// Lets time pass, in ms.
    pub(super) fn run(&mut self, millis: u64) {
        let end = self.now + Micros::from_millis(millis);
        loop {
            (0..2).for_each(|side| self.send(side));
            let timeouts = self.sides.iter().filter_map(PgpFone::poll_timeout);
            let frames = (0..2).filter(|side| self.is_talking[*side]).map(|side| self.next_frame[side]);
            let sounds = (0..2).filter(|side| self.sides[*side].is_ready()).map(|side| self.next_sound[side]);
            let arrivals = self.way.keys().next().map(|(at, _)| *at);
            let next = timeouts.chain(frames).chain(sounds).chain(arrivals).min();
            let Some(next) = next.filter(|at| *at <= end) else { break };
            self.now = self.now.max(next);
            while let Some(entry) = self.way.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let (to, bytes) = entry.remove();
                self.give(to, &bytes);
            }
            (0..2).for_each(|side| self.speak(side));
        }
        self.now = end;
    }

    fn give(&mut self, to: usize, bytes: &[u8]) {
        if let Err(error) = self.sides[to].handle_datagram(bytes, address(1 - to), self.now) {
            self.errors.push(error);
        }
        self.send(to);
    }

    fn speak(&mut self, side: usize) {
        let now = self.now;
        let codec = self.sides[side].config.codec;
        let tool = &mut self.sides[side];
        if tool.poll_timeout().is_some_and(|at| at <= now) {
            tool.handle_timeout(now);
            assert!(tool.poll_timeout().is_none_or(|at| at > now), "it wants to be called for ever");
        }
        if self.is_talking[side] && self.next_frame[side] <= now {
            let payload = sound(side, self.spoken[side].len(), codec);
            let frame =
                Frame { payload: &payload, duration: codec.packet(), is_speech: true, noise_level: 60 };
            let was_ready = tool.is_ready();
            tool.handle_frame(&frame, now);
            if was_ready {
                self.spoken[side].push(payload);
            }
            self.next_frame[side] = now + codec.packet();
        }
        if tool.is_ready() && self.next_sound[side] <= now {
            let output = tool.poll_sound(now);
            if let Sound::Play { payload, .. } = output.sound {
                self.played[side].push(payload);
            }
            self.next_sound[side] = now + output.duration;
        }
        self.send(side);
    }

    /// What a side has to say goes on its way.
    pub(super) fn send(&mut self, side: usize) {
        while let Some(transmit) = self.sides[side].poll_transmit() {
            assert_eq!(transmit.to, address(1 - side));
            self.sent[side].push(transmit.bytes.clone());
            let mut bytes = transmit.bytes;
            if !(self.tamper)(side, &mut bytes) {
                continue;
            }
            let copies = 1 + u32::from(self.rng.random_range(0..1_000) < self.path.doubled);
            for _ in 0..copies {
                let is_lost = self.rng.random_range(0..1_000) < self.path.loss;
                let jitter = Micros(self.rng.random_range(0..=self.path.jitter.0));
                if !is_lost {
                    self.count += 1;
                    self.way
                        .insert((self.now + self.path.delay + jitter, self.count), (1 - side, bytes.clone()));
                }
            }
        }
        while let Some(event) = self.sides[side].poll_event() {
            self.events[side].push(event);
        }
        while self.sides[side].poll_received().is_some() {}
    }
}

/// The sound of a packet: no two are alike.
pub(super) fn sound(side: usize, number: usize, codec: Codec) -> Vec<u8> {
    let mut rng = ChaCha20Rng::seed_from_u64(number as u64 * 2 + side as u64);
    (0..codec.payload_bytes()).map(|_| rng.random()).collect()
}
