//! What a callee keeps of callers.

use super::datagram::{Answer, Ask, COOKIE_LEN};
use super::{ATTEMPTS_MAX, ATTEMPTS_PER_HOST_MAX, COOKIE_LIFE};
use super::{Attempt, Chance, Secret};
use guestright_units::Time;
use guestright_voice::tool::ToolError;
use std::net::{IpAddr, SocketAddr};
use subtle::ConstantTimeEq as _;

/// A callee that waits for callers.
#[derive(Debug)]
pub(super) struct Waiting {
    cookies: Cookies,
    pub(super) attempts: Vec<Attempt>,
}

impl Waiting {
    pub(super) fn new(chance: &mut Chance) -> Self {
        let cookies = Cookies { current: chance.draw(), before: chance.draw(), until: None };
        Self { cookies, attempts: Vec::new() }
    }

    /// The cookie for this caller, and whether `got` is one.
    pub(super) fn check(
        &mut self,
        ask: &Ask,
        got: &[u8; COOKIE_LEN],
        from: SocketAddr,
        chance: &mut Chance,
        now: Time,
    ) -> Result<(), [u8; COOKIE_LEN]> {
        self.cookies.roll(chance, now);
        let want = Cookies::cookie(&self.cookies.current, ask, from);
        let before = Cookies::cookie(&self.cookies.before, ask, from);
        if bool::from(want.ct_eq(got) | before.ct_eq(got)) { Ok(()) } else { Err(want) }
    }

    /// What was answered to the same before.
    pub(super) fn answered(&self, ask: &Ask, from: SocketAddr) -> Option<Answer> {
        let attempt = self.attempts.iter().find(|attempt| attempt.peer == from && attempt.ask == *ask)?;
        Some(attempt.answer)
    }

    /// Whether there is room for one more.
    pub(super) fn admit(&self, from: SocketAddr) -> Result<(), ToolError> {
        let of_host = self.attempts.iter().filter(|attempt| attempt.peer.ip() == from.ip()).count();
        if self.attempts.len() >= ATTEMPTS_MAX || of_host >= ATTEMPTS_PER_HOST_MAX {
            return Err(ToolError::OutOfTurn("too many callers at a time"));
        }
        Ok(())
    }
}

/// The keys of cookies.
#[derive(Debug)]
struct Cookies {
    current: Secret,
    before: Secret,
    /// When the current one becomes the one before; none before the first caller.
    until: Option<Time>,
}

impl Cookies {
    fn roll(&mut self, chance: &mut Chance, now: Time) {
        let Some(until) = self.until else {
            self.until = Some(now + COOKIE_LIFE);
            return;
        };
        if now < until {
            return;
        }
        let is_stale = now >= until + COOKIE_LIFE;
        let next = chance.draw();
        let before = std::mem::replace(&mut self.current, next);
        self.before = if is_stale { chance.draw() } else { before };
        self.until = Some(now + COOKIE_LIFE);
    }

    fn cookie(key: &Secret, ask: &Ask, from: SocketAddr) -> [u8; COOKIE_LEN] {
        let host = match from.ip() {
            IpAddr::V4(host) => host.to_ipv6_mapped(),
            IpAddr::V6(host) => host,
        };
        let label = [&host.octets()[..], &from.port().to_be_bytes(), &ask.to_bytes()].concat();
        let mut cookie = [0; COOKIE_LEN];
        key.expand(&label, &mut cookie);
        cookie
    }
}
