//! Calls to the homes of visitors that have nothing but a tunnel, and how few of them there may be.
//!
//! A flow that the firewall has learned becomes a call: connect to the home, say RREQ with `Tunnel`, and from then on
//! the home speaks as the visitor would. The session's [`Address`] names the home, so it is never taken for a session
//! of the visitor itself. Once that has one of its own, the tunnel's is closed.

use super::{AccessPoint, Address, CALL, Event, Path};
use crate::access_point::CallLimits;
use crate::access_point::session::Stage;
use crate::message::{Code, Message};
use guestright_units::{Micros, Time};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::num::NonZeroU16;

/// What a finished call leaves to the last words on its connection.
const LINGER: Micros = Micros::from_seconds(1);
/// How many visitors and homes are remembered; beyond that the one who may be called soonest is forgotten.
const REMEMBERED_MAX: usize = 4_096;
const MINUTE: Micros = Micros::from_seconds(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// To be dialled then: a session goes on, and its connection was lost.
    Waiting(Time),
    Dialling,
    Up,
}

#[derive(Debug)]
struct Call {
    address: Address,
    port: NonZeroU16,
    line: Line,
    /// When it is given up, as long as there is no session.
    until: Time,
    /// Whether it has led to a session that ended well.
    good: bool,
    /// Whether its session is over.
    over: bool,
    /// Whether our own team server could not be asked: then it is not this home's fault that nothing came of it.
    undecided: bool,
}

/// Calls within the current minute.
#[derive(Debug)]
struct Minute {
    since: Time,
    calls: u32,
}

/// How often a visitor's home was called in vain, and when it may be called again.
#[derive(Debug)]
struct Wait {
    until: Time,
    failures: u32,
    /// Whether it waits for our own team server only.
    undecided: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Visitor(Ipv4Addr),
    Home(Ipv4Addr),
    All,
}

/// The calls that are open, and the memory of those that were.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: BTreeMap<Path, Call>,
    next: Path,
    minutes: BTreeMap<Who, Minute>,
    waits: BTreeMap<Address, Wait>,
    /// Homes that were pardoned, and until when they are not again.
    pardoned: BTreeMap<Ipv4Addr, Time>,
}

impl Call {
    /// It has done its work; what still waits to be said is said.
    fn finish(&mut self, now: Time) {
        if !self.over {
            (self.over, self.until) = (true, now + LINGER);
        }
    }
}

impl Calls {
    pub(super) fn paths(&self) -> impl Iterator<Item = Path> {
        self.open.keys().copied()
    }

    /// A session that was served by this path is over.
    pub(super) fn over(&mut self, path: Path, good: bool, now: Time) {
        if let Some(call) = self.open.get_mut(&path) {
            call.good = good;
            call.finish(now);
        }
    }

    /// A session that was served by this path is over, and another one may begin on it.
    pub(super) fn stay(&mut self, path: Path, limits: &CallLimits, now: Time) {
        if let Some(call) = self.open.get_mut(&path) {
            (call.good, call.until) = (true, now + limits.timeout);
        }
    }

    /// It comes to nothing because the own team server could not be asked.
    pub(super) fn undecided(&mut self, path: Path) {
        if let Some(call) = self.open.get_mut(&path) {
            call.undecided = true;
        }
    }

    /// The own team server is there again: who only waited for it need not wait any longer.
    pub(super) fn home_found(&mut self, now: Time) {
        for wait in self.waits.values_mut().filter(|wait| wait.undecided) {
            (wait.undecided, wait.until) = (false, wait.until.min(now));
        }
    }

    /// Whether a home that lost its connection in a session, and then did not sign, is let off: a home that was started
    /// anew has forgotten the session. Once in a while only, because who means to cheat can hang up too.
    pub(super) fn pardon(&mut self, home: Ipv4Addr, limits: &CallLimits, now: Time) -> bool {
        self.pardoned.retain(|_, until| now < *until);
        if self.pardoned.contains_key(&home) || self.pardoned.len() >= REMEMBERED_MAX {
            return false;
        }
        self.pardoned.insert(home, now + limits.pardon_gap);
        true
    }

    fn add(&mut self, address: Address, port: NonZeroU16, line: Line, until: Time) -> Path {
        self.next += 1;
        let path = CALL | self.next;
        self.open
            .insert(path, Call { address, port, line, until, good: false, over: false, undecided: false });
        path
    }

    /// Whether this flow may lead to a call now; if so, it is counted.
    fn may_call(&mut self, address: Address, home: Ipv4Addr, limits: &CallLimits, now: Time) -> bool {
        if self.waits.get(&address).is_some_and(|wait| now < wait.until) {
            return false;
        }
        let who = [
            (Who::Visitor(address.ip), limits.visitor_per_minute_max),
            (Who::Home(home), limits.home_per_minute_max),
            (Who::All, limits.per_minute_max),
        ];
        self.minutes.retain(|_, minute| now - minute.since < MINUTE);
        let used = |who| self.minutes.get(&who).map_or(0, |minute: &Minute| minute.calls);
        if who.iter().any(|(who, most)| used(*who) >= *most)
            || self.minutes.len() + who.len() > REMEMBERED_MAX
        {
            return false;
        }
        for (who, _) in who {
            self.minutes.entry(who).or_insert(Minute { since: now, calls: 0 }).calls += 1;
        }
        true
    }

    /// The next call for this flow has to wait: longer each time, if it was in vain.
    fn remember(&mut self, call: &Call, limits: &CallLimits, now: Time) {
        let Call { address, good, undecided, .. } = *call;
        let before = self.waits.get(&address).map_or(0, |wait| wait.failures);
        let failures = match (good, undecided) {
            (true, _) => 0,
            (false, true) => before,
            (false, false) => before + 1,
        };
        let doubled = limits.again_after.0.saturating_mul(1 << failures.saturating_sub(1).min(32));
        let until = now + Micros(doubled).min(limits.again_after_max);
        self.waits.insert(address, Wait { until, failures, undecided });
        // What could be called for long is forgotten, its failures too.
        self.waits.retain(|_, wait| now < wait.until + limits.again_after_max);
        while self.waits.len() > REMEMBERED_MAX {
            let soonest = self.waits.iter().min_by_key(|(_, wait)| wait.until).map(|(&address, _)| address);
            let Some(soonest) = soonest else { return };
            self.waits.remove(&soonest);
        }
    }
}

impl AccessPoint {
    /// Takes in that a visitor without a session has a tunnel: the home at `home` has answered it. `port` is where the
    /// home sees it come from. Said as often as the flow is seen; the machine calls the home when it may.
    pub fn handle_flow(&mut self, visitor: Address, home: Ipv4Addr, port: NonZeroU16, now: Time) {
        let address = Address { home: Some(home), ..visitor };
        let called = self.calls.open.values().any(|call| call.address.ip == address.ip);
        let served = self.sessions.iter().any(|(other, session)| {
            other.ip == address.ip && (other.home.is_some() || session.stage != Stage::Opening)
        });
        let unserved =
            self.calls.open.values().filter(|call| !self.sessions.contains_key(&call.address)).count();
        if called || served || unserved >= self.config.calls.unserved_max || self.is_stopping {
            return;
        }
        if self.calls.may_call(address, home, &self.config.calls, now) {
            let path = self.calls.add(address, port, Line::Dialling, now + self.config.calls.timeout);
            self.events.push_back(Event::Call { path, home });
        }
    }

    /// Takes in that the home answers the telephone.
    pub fn handle_called(&mut self, path: Path) {
        let Some(call) = self.calls.open.get_mut(&path) else {
            return self.events.push_back(Event::HangUp(path));
        };
        call.line = Line::Up;
        let (address, port) = (call.address, call.port);
        let session = self.sessions.get_mut(&address);
        let started = session.map(|session| {
            (session.path, session.path_claimed) = (path, path);
            session.started
        });
        self.answer(path, &Message::RreqTunnel { port, started });
        if started.is_some() {
            self.send_request(address);
        }
    }

    /// Takes a message of a visitor's home in.
    pub fn handle_call(&mut self, path: Path, bytes: &[u8], now: Time) {
        let Some(call) = self.calls.open.get_mut(&path) else { return };
        let address = call.address;
        if !self.sessions.contains_key(&address)
            && let Ok(Message::Erro { code, reason, .. }) = Message::parse(bytes)
        {
            // The home does not sign: there is no such tunnel, or no delegation for it.
            call.finish(now);
            *self.refusals.entry("home-refused").or_default() += 1;
            let reason = format!("the home does not sign ({code}): {reason}");
            self.events.push_back(Event::Refused { address, kind: "home-refused", reason });
            return;
        }
        self.handle_visitor(address, path, bytes, now);
    }

    /// Takes in that a call's connection could not be made or is gone.
    pub fn handle_hung_up(&mut self, path: Path, now: Time) {
        let Some(call) = self.calls.open.remove(&path) else { return };
        let session = self.sessions.get_mut(&call.address);
        match session.filter(|session| session.path == path && session.stage != Stage::Opening) {
            Some(session) => {
                let line = Line::Waiting(now + self.config.calls.redial_after);
                let again = self.calls.add(call.address, call.port, line, now + self.config.calls.timeout);
                (session.path, session.path_claimed) = (again, again);
                session.line_lost = true;
            }
            None => {
                if !call.over {
                    *self.refusals.entry("home-away").or_default() += 1;
                }
                self.calls.remember(&call, &self.config.calls, now);
            }
        }
    }

    /// Takes in that a session was opened: its call has done its work, or a tunnel's session is no longer needed.
    pub(super) fn served(&mut self, address: Address, now: Time) {
        if address.home.is_some() {
            return;
        }
        let tunnel = |other: &&Address| other.ip == address.ip && other.home.is_some();
        let tunnels: Vec<_> = self.sessions.keys().filter(tunnel).copied().collect();
        for tunnel in tunnels {
            self.close(tunnel, Code::Closed, now);
        }
        for call in self.calls.open.values_mut().filter(|call| call.address.ip == address.ip) {
            if !self.sessions.contains_key(&call.address) {
                call.finish(now);
            }
        }
    }

    pub(super) fn calls_timeout(&mut self, now: Time) {
        let paths: Vec<_> = self.calls.paths().collect();
        for path in paths {
            let Some(call) = self.calls.open.get_mut(&path) else { continue };
            let session = self.sessions.contains_key(&call.address);
            if let Line::Waiting(at) = call.line
                && session
            {
                if now >= at
                    && let Some(home) = call.address.home
                {
                    call.line = Line::Dialling;
                    self.events.push_back(Event::Call { path, home });
                }
                continue;
            }
            if session {
                continue;
            }
            if now >= call.until {
                let Some(call) = self.calls.open.remove(&path) else { continue };
                if !call.over {
                    *self.refusals.entry("home-silent").or_default() += 1;
                }
                self.calls.remember(&call, &self.config.calls, now);
                self.events.push_back(Event::HangUp(path));
            }
        }
    }

    /// When the calls want [`AccessPoint::handle_timeout`] to be called.
    pub(super) fn calls_due(&self) -> Option<Time> {
        let due = |call: &Call| match (call.line, self.sessions.contains_key(&call.address)) {
            (Line::Waiting(at), true) => Some(at),
            (Line::Dialling | Line::Up, true) => None,
            (_, false) => Some(call.until),
        };
        self.calls.open.values().filter_map(due).min()
    }
}
