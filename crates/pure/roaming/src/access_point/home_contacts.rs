//! Connections to the homes of visitors that have nothing but a tunnel, and how few of them there may be.
//!
//! A flow that the firewall has learned becomes a contact: connect to the home, say RREQ with `Tunnel`, and from then on
//! the home speaks as the visitor would. The session's [`Address`] names the home, so it is never taken for a session
//! of the visitor itself. Once that has one of its own, the tunnel's is closed.

use crate::access_point::sessions::Sessions;
use crate::access_point::{Address, CONTACT, ContactLimits, Path};
use guestright_ordered::OrderedMap;
use guestright_units::{Micros, Time};
use std::net::Ipv4Addr;
use std::num::NonZeroU16;

/// What a finished contact leaves to the last words on its connection.
const LINGER: Micros = Micros::from_seconds(1);
/// How many visitors and homes are remembered; beyond that the one who may be contacted soonest is forgotten.
const REMEMBERED_MAX: usize = 4_096;
const MINUTE: Micros = Micros::from_seconds(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Connection {
    /// To be made again then: a session goes on, and its connection was lost.
    Waiting(Time),
    Connecting,
    Up,
}

#[derive(Debug)]
struct Contact {
    address: Address,
    /// Where the home sees the tunnel come from.
    port: NonZeroU16,
    connection: Connection,
    /// When it is given up, as long as there is no session.
    until: Time,
    /// Whether it has led to a session that ended well.
    good: bool,
    /// Whether its session is over.
    over: bool,
    /// Whether our own team server could not be asked: then it is not this home's fault that nothing came of it.
    undecided: bool,
}

/// Connections within the current minute.
#[derive(Debug)]
struct Minute {
    since: Time,
    contacts: u32,
}

/// How often a visitor's home was contacted in vain, and when it may be contacted again.
#[derive(Debug)]
struct Wait {
    until: Time,
    failures: u32,
    /// Whether it waits for our own team server only.
    undecided: bool,
}

/// What limits on connections in a minute are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Visitor(Ipv4Addr),
    Home(Ipv4Addr),
    All,
}

/// What is due, and left to the access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    Connect {
        path: Path,
        home: Ipv4Addr,
    },
    /// Disconnect: nothing came of it in time, or all was said. `silent`: not even an answer.
    Disconnect {
        path: Path,
        silent: bool,
    },
}

/// A home that has accepted a connection, and for which visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) address: Address,
    pub(super) port: NonZeroU16,
}

/// The connections to homes that are open, and the memory of those that were.
#[derive(Debug, Default)]
pub(super) struct HomeContacts {
    open: OrderedMap<Path, Contact>,
    next: Path,
    minutes: OrderedMap<Who, Minute>,
    waits: OrderedMap<Address, Wait>,
    /// Homes that were pardoned, and until when they are not again.
    pardoned: OrderedMap<Ipv4Addr, Time>,
}

impl Contact {
    /// It has done its work; what still waits to be said is said.
    fn finish(&mut self, now: Time) {
        if !self.over {
            (self.over, self.until) = (true, now + LINGER);
        }
    }
}

impl HomeContacts {
    /// Contacts the home of a visitor that has only its tunnel, if that may be now; by this path.
    pub(super) fn open(
        &mut self,
        address: Address,
        port: NonZeroU16,
        sessions: &Sessions,
        limits: &ContactLimits,
        now: Time,
    ) -> Option<Path> {
        let home = address.home?;
        let is_contacted = self.open.values().any(|contact| contact.address.ip == address.ip);
        let unserved = self.open.values().filter(|contact| !sessions.contains(contact.address)).count();
        if is_contacted || unserved >= limits.unserved_max || !self.may_contact(address, home, limits, now) {
            return None;
        }
        Some(self.add(address, port, Connection::Connecting, now + limits.timeout))
    }

    /// The home has accepted the connection.
    pub(super) fn connected(&mut self, path: Path) -> Option<Reached> {
        let contact = self.open.get_mut(&path)?;
        contact.connection = Connection::Up;
        Some(Reached { address: contact.address, port: contact.port })
    }

    /// For which visitor this connection is.
    pub(super) fn address(&self, path: Path) -> Option<Address> {
        self.open.get(&path).map(|contact| contact.address)
    }

    /// The connection of a session was lost: it is made again soon, by the path that this returns.
    pub(super) fn reconnect(&mut self, path: Path, limits: &ContactLimits, now: Time) -> Option<Path> {
        let contact = self.open.remove(&path)?;
        let connection = Connection::Waiting(now + limits.redial_after);
        Some(self.add(contact.address, contact.port, connection, now + limits.timeout))
    }

    /// A connection without a session is gone, or could not be made; whether that came too early.
    pub(super) fn disconnected(&mut self, path: Path, limits: &ContactLimits, now: Time) -> bool {
        let Some(contact) = self.open.remove(&path) else { return false };
        self.remember(&contact, limits, now);
        !contact.over
    }

    /// The home does not sign.
    pub(super) fn refused(&mut self, path: Path, now: Time) {
        if let Some(contact) = self.open.get_mut(&path) {
            contact.finish(now);
        }
    }

    /// The visitor has a session of its own: what has not become a session of its tunnel will not be needed.
    pub(super) fn not_needed(&mut self, visitor: Ipv4Addr, sessions: &Sessions, now: Time) {
        for contact in self.open.values_mut().filter(|contact| contact.address.ip == visitor) {
            if !sessions.contains(contact.address) {
                contact.finish(now);
            }
        }
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = Path> {
        self.open.keys().copied()
    }

    /// A session that was served by this path is over.
    pub(super) fn over(&mut self, path: Path, good: bool, now: Time) {
        if let Some(contact) = self.open.get_mut(&path) {
            contact.good = good;
            contact.finish(now);
        }
    }

    /// A session that was served by this path is over, and another one may begin on it.
    pub(super) fn stay(&mut self, path: Path, limits: &ContactLimits, now: Time) {
        if let Some(contact) = self.open.get_mut(&path) {
            (contact.good, contact.until) = (true, now + limits.timeout);
        }
    }

    /// It comes to nothing because the own team server could not be asked.
    pub(super) fn undecided(&mut self, path: Path) {
        if let Some(contact) = self.open.get_mut(&path) {
            contact.undecided = true;
        }
    }

    /// The own team server is there again: who only waited for it need not wait any longer.
    pub(super) fn home_found(&mut self, now: Time) {
        for wait in self.waits.values_mut().filter(|wait| wait.undecided) {
            (wait.undecided, wait.until) = (false, wait.until.min(now));
        }
    }

    /// Whether a home that lost its connection in a session, and then did not sign, is let off: a home that was started
    /// anew has forgotten the session. Once in a while only, because who means to cheat can disconnect too.
    pub(super) fn pardon(&mut self, home: Ipv4Addr, limits: &ContactLimits, now: Time) -> bool {
        self.pardoned.retain(|_, until| now < *until);
        if self.pardoned.contains_key(&home) || self.pardoned.len() >= REMEMBERED_MAX {
            return false;
        }
        self.pardoned.insert(home, now + limits.pardon_gap);
        true
    }

    /// What is due by now, in the order of the paths.
    pub(super) fn handle_timeout(
        &mut self,
        sessions: &Sessions,
        limits: &ContactLimits,
        now: Time,
    ) -> Vec<Due> {
        let mut due = Vec::new();
        let paths: Vec<_> = self.paths().collect();
        for path in paths {
            let Some(contact) = self.open.get_mut(&path) else { continue };
            let home = contact.address.home;
            match (contact.connection, sessions.contains(contact.address)) {
                (Connection::Waiting(at), true) if now >= at => {
                    if let Some(home) = home {
                        contact.connection = Connection::Connecting;
                        due.push(Due::Connect { path, home });
                    }
                }
                (_, false) if now >= contact.until => {
                    let silent = self.disconnected(path, limits, now);
                    due.push(Due::Disconnect { path, silent });
                }
                _ => {}
            }
        }
        due
    }

    pub(super) fn timeout(&self, sessions: &Sessions) -> Option<Time> {
        let due = |contact: &Contact| match (contact.connection, sessions.contains(contact.address)) {
            (Connection::Waiting(at), true) => Some(at),
            (Connection::Connecting | Connection::Up, true) => None,
            (_, false) => Some(contact.until),
        };
        self.open.values().filter_map(due).min()
    }

    fn add(&mut self, address: Address, port: NonZeroU16, connection: Connection, until: Time) -> Path {
        self.next += 1;
        let path = CONTACT | self.next;
        let contact =
            Contact { address, port, connection, until, good: false, over: false, undecided: false };
        self.open.insert(path, contact);
        path
    }

    /// Whether this flow may lead to a connection now; if so, it is counted.
    fn may_contact(&mut self, address: Address, home: Ipv4Addr, limits: &ContactLimits, now: Time) -> bool {
        if self.waits.get(&address).is_some_and(|wait| now < wait.until) {
            return false;
        }
        let who = [
            (Who::Visitor(address.ip), limits.visitor_per_minute_max),
            (Who::Home(home), limits.home_per_minute_max),
            (Who::All, limits.per_minute_max),
        ];
        self.minutes.retain(|_, minute| now - minute.since < MINUTE);
        let used = |who| self.minutes.get(&who).map_or(0, |minute: &Minute| minute.contacts);
        if who.iter().any(|(who, most)| used(*who) >= *most)
            || self.minutes.len() + who.len() > REMEMBERED_MAX
        {
            return false;
        }
        for (who, _) in who {
            self.minutes.entry(who).or_insert(Minute { since: now, contacts: 0 }).contacts += 1;
        }
        true
    }

    /// The next connection for this flow has to wait: longer each time, if it was in vain.
    fn remember(&mut self, contact: &Contact, limits: &ContactLimits, now: Time) {
        let Contact { address, good, undecided, .. } = *contact;
        let before = self.waits.get(&address).map_or(0, |wait| wait.failures);
        let failures = match (good, undecided) {
            (true, _) => 0,
            (false, true) => before,
            (false, false) => before + 1,
        };
        let doubled = limits.again_after.0.saturating_mul(1 << failures.saturating_sub(1).min(32));
        let until = now + Micros(doubled).min(limits.again_after_max);
        self.waits.insert(address, Wait { until, failures, undecided });
        // What could have been contacted for long is forgotten, its failures too.
        self.waits.retain(|_, wait| now < wait.until + limits.again_after_max);
        while self.waits.len() > REMEMBERED_MAX {
            let soonest = self.waits.iter().min_by_key(|(_, wait)| wait.until).map(|(&address, _)| address);
            let Some(soonest) = soonest else { return };
            self.waits.remove(&soonest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(1_000_000_000);
    const HOME: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

    fn tunnel(visitor: u8, home: Ipv4Addr) -> Address {
        Address { home: Some(home), ..Address::new([2, 0, 0, 0, 0, visitor], [10, 0, 0, visitor].into()) }
    }

    fn seconds(seconds: u64) -> Micros {
        Micros::from_seconds(seconds)
    }

    /// A moment earlier.
    fn before(time: Time) -> Time {
        Time(time.0 - 1)
    }

    struct Homes {
        contacts: HomeContacts,
        sessions: Sessions,
        limits: ContactLimits,
    }

    impl Homes {
        fn new() -> Self {
            let (contacts, sessions) = (HomeContacts::default(), Sessions::default());
            Self { contacts, sessions, limits: ContactLimits::default() }
        }

        fn open(&mut self, address: Address, now: Time) -> Option<Path> {
            let port = NonZeroU16::MIN;
            self.contacts.open(address, port, &self.sessions, &self.limits, now)
        }

        fn due(&mut self, now: Time) -> Vec<Due> {
            self.contacts.handle_timeout(&self.sessions, &self.limits, now)
        }
    }

    #[test]
    fn a_home_that_is_called_in_vain_is_called_half_as_often_each_time() {
        let mut homes = Homes::new();
        let address = tunnel(1, HOME);
        let mut now = NOW;
        for wait in [5, 10, 20, 40, 80, 160, 320, 320] {
            let path = homes.open(address, now).expect("the wait is over");
            assert!(homes.contacts.disconnected(path, &homes.limits, now), "too early");
            assert_eq!(homes.open(address, before(now + seconds(wait))), None, "{wait} s");
            now = now + seconds(wait);
        }
        let path = homes.open(address, now).unwrap();
        homes.contacts.over(path, true, now);
        assert!(!homes.contacts.disconnected(path, &homes.limits, now), "it had done its work");
        assert!(homes.open(address, before(now + seconds(5))).is_none());
        assert!(homes.open(address, now + seconds(5)).is_some(), "who signed is not in disgrace");
    }

    #[test]
    fn failures_of_long_ago_are_forgotten() {
        let mut homes = Homes::new();
        let (first, second) = (tunnel(1, HOME), tunnel(2, HOME));
        let mut fail = |address, now| {
            let path = homes.open(address, now).unwrap();
            homes.contacts.disconnected(path, &homes.limits, now);
            homes.contacts.waits.get(&first).map(|wait| wait.failures)
        };
        assert_eq!(fail(first, NOW), Some(1));
        let end = NOW + seconds(5) + seconds(320);
        assert_eq!(fail(second, before(end)), Some(1));
        assert_eq!(fail(second, end + seconds(20)), None);
    }

    #[test]
    fn so_many_connections_a_minute_and_no_more() {
        let mut homes = Homes::new();
        // A visitor that names one home after the other; each connection does its work at once.
        let mut visit = |visitor: u8, home: u8, now| {
            let address = tunnel(visitor, Ipv4Addr::new(192, 0, 2, home));
            let path = homes.open(address, now);
            let gone = |path| homes.contacts.disconnected(path, &homes.limits, now);
            path.map(gone).is_some()
        };
        for home in 0..6 {
            assert!(visit(1, home, NOW));
        }
        assert!(!visit(1, 6, NOW) && !visit(1, 6, before(NOW + MINUTE)), "6 for one visitor");
        for visitor in 2..13 {
            assert!(visit(visitor, 0, NOW));
        }
        assert!(!visit(13, 0, NOW), "12 to one home");
        for visitor in 13..56 {
            assert!(visit(visitor, visitor, NOW), "{visitor}");
        }
        assert!(!visit(56, 56, NOW), "60 in all");
        assert!(visit(1, 6, NOW + MINUTE), "a new minute");
    }

    #[test]
    fn a_visitor_has_one_contact_and_strangers_sixteen_together() {
        let mut homes = Homes::new();
        let elsewhere = Ipv4Addr::new(192, 0, 2, 99);
        for visitor in 0..16 {
            let home = Ipv4Addr::new(192, 0, 2, visitor);
            assert!(homes.open(tunnel(visitor, home), NOW).is_some());
            assert_eq!(homes.open(tunnel(visitor, elsewhere), NOW), None, "one is open");
        }
        assert_eq!(homes.open(tunnel(16, elsewhere), NOW), None);
        let path = homes.contacts.paths().next().unwrap();
        homes.contacts.disconnected(path, &homes.limits, NOW);
        assert!(homes.open(tunnel(16, elsewhere), NOW).is_some());
    }

    #[test]
    fn a_contact_is_given_up_in_time_and_a_refused_one_a_second_later() {
        let mut homes = Homes::new();
        let silent = homes.open(tunnel(1, HOME), NOW).unwrap();
        let refused = homes.open(tunnel(2, HOME), NOW).unwrap();
        assert_ne!(silent, refused);
        assert!(silent & CONTACT != 0 && refused & CONTACT != 0);
        let (at, end) = (NOW + seconds(2), NOW + seconds(15));
        homes.contacts.refused(refused, at);
        homes.contacts.refused(refused, at + Micros::from_millis(500)); // It does not linger longer for that.
        assert_eq!(homes.contacts.timeout(&homes.sessions), Some(at + LINGER));
        assert_eq!(homes.due(before(at + LINGER)), []);
        assert_eq!(homes.due(at + LINGER), [Due::Disconnect { path: refused, silent: false }]);
        assert_eq!(homes.contacts.timeout(&homes.sessions), Some(end));
        assert_eq!(homes.due(before(end)), []);
        assert_eq!(homes.due(end), [Due::Disconnect { path: silent, silent: true }]);
        assert_eq!((homes.contacts.timeout(&homes.sessions), homes.contacts.paths().count()), (None, 0));
    }

    #[test]
    fn a_home_is_pardoned_once_an_hour() {
        let mut homes = Homes::new();
        let limits = ContactLimits::default();
        let mut pardon = |home: u8, now| homes.contacts.pardon([192, 0, 2, home].into(), &limits, now);
        let later = NOW + seconds(3_600);
        assert!(pardon(1, NOW) && pardon(2, NOW + seconds(1)));
        assert!(!pardon(1, NOW) && !pardon(1, before(later)));
        assert!(pardon(1, later) && !pardon(2, later));
    }

    #[test]
    fn who_waits_for_our_own_home_only_is_called_once_that_is_there() {
        let mut homes = Homes::new();
        let (undecided, vain) = (tunnel(1, HOME), tunnel(2, HOME));
        for address in [undecided, vain] {
            let path = homes.open(address, NOW).unwrap();
            if address == undecided {
                homes.contacts.undecided(path);
            }
            homes.contacts.disconnected(path, &homes.limits, NOW);
        }
        let soon = NOW + seconds(1);
        assert_eq!((homes.open(undecided, soon), homes.open(vain, soon)), (None, None));
        homes.contacts.home_found(soon);
        assert!(homes.open(undecided, soon).is_some() && homes.open(vain, soon).is_none());
    }
}
