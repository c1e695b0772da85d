//! A home, its authority, and the way between them and a phone.

use crate::phone::Phone;
use guestright_eap::{Authority, Config, Credential, Label, Limits, Outcome, Realm, Reason, Server};
use guestright_units::{Micros, Time, UnixSeconds};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use std::collections::VecDeque;

pub(crate) const NOW: UnixSeconds = UnixSeconds(1_800_000_000);
pub(crate) const REALM: &str = "0123abcd.guestright.alt";

/// A household.
pub(crate) struct Household {
    pub(crate) authority: Authority,
    pub(crate) home: Credential,
    pub(crate) rng: StdRng,
}

impl Household {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let authority = Authority::found(realm(), NOW, &mut rng);
        let home = authority.issue_server(NOW, &mut rng);
        Self { authority, home, rng }
    }

    pub(crate) fn config(&self) -> Config {
        self.config_with(Limits::default())
    }

    pub(crate) fn config_with(&self, limits: Limits) -> Config {
        let authority = self.authority.certificate();
        Config::new(authority, realm(), &self.home, [].into(), limits).unwrap()
    }

    pub(crate) fn phone(&mut self) -> (Label, Credential) {
        self.authority.issue_client(NOW, &mut self.rng)
    }
}

pub(crate) fn realm() -> Realm {
    REALM.parse().unwrap()
}

/// What the way does to a packet, out of 100.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) lost: u8,
    pub(crate) repeated: u8,
    pub(crate) reordered: u8,
}

impl Way {
    pub(crate) const GOOD: Self = Self { lost: 0, repeated: 0, reordered: 0 };
}

/// One conversation on a way, as RADIUS carries it: the access point asks again when nothing comes.
pub(crate) struct Talk {
    pub(crate) server: Server,
    pub(crate) phone: Phone,
    pub(crate) now: Time,
    /// Requests that the home has answered with something new or old.
    pub(crate) answers: u32,
    pub(crate) longest: usize,
}

impl Talk {
    pub(crate) fn new(config: &Config, mtu: Option<u16>, phone: Phone) -> Self {
        let now = NOW.time();
        Self { server: Server::new(config, mtu, now), phone, now, answers: 0, longest: 0 }
    }

    /// Talks until the home has decided and the phone knows, or nothing happens any more.
    pub(crate) fn run(&mut self, way: Way, seed: u64) {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut old: VecDeque<Vec<u8>> = VecDeque::new();
        let mut response = self.phone.identify();
        for _ in 0..2_000 {
            let mut hits = |percent: u8| rng.random_range(0..100) < percent;
            self.now = self.now + Micros::from_millis(1);
            if hits(way.reordered)
                && let Some(late) = old.pop_front()
            {
                let _ = self.server.handle(&late, self.now);
                let _ = self.server.poll_transmit(); // The access point has given up on that one.
            }
            if hits(way.lost) {
                continue;
            }
            for _ in 0..1 + u8::from(hits(way.repeated)) {
                let _ = self.server.handle(&response, self.now);
            }
            old.push_back(response.clone());
            let Some(request) = self.server.poll_transmit() else {
                if way.lost == 0 {
                    return;
                }
                continue;
            };
            self.answers += 1;
            self.longest = self.longest.max(request.len());
            if hits(way.lost) {
                continue;
            }
            let mut next = None;
            for _ in 0..1 + u8::from(hits(way.repeated)) {
                next = self.phone.handle(&request).or(next);
            }
            match next {
                Some(next) => response = next,
                None => return,
            }
        }
    }

    pub(crate) fn reason(&self) -> Option<&Reason> {
        match self.server.outcome()? {
            Outcome::Refused { reason } => Some(reason),
            Outcome::Accepted { .. } => None,
        }
    }
}
