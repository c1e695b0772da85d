//! Who has come through a door with a link, and for how long.

use crate::Peer;
use crate::token::{self, TOKEN_BYTES, TokenDigest};
use guestright_units::{Micros, Time};

#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// One more ends the one that was used longest ago.
    pub sessions_max: usize,
    /// A session that was not used for so long is over.
    pub idle_max: Micros,
}

/// A session, by a number that no other one ever has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionId(u64);

/// From where a session was begun, and can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The door's number.
    pub door: u64,
    pub peer: Peer,
}

#[derive(Debug)]
struct Session {
    id: SessionId,
    digest: TokenDigest,
    origin: Origin,
    used: Time,
}

/// All sessions.
///
/// [`Sessions::begin`] makes one and gives the cookie's text, [`Sessions::resume`] finds it again and counts as a use,
/// [`Sessions::is_open`] does not. A cookie is good only at the door and for the peer that it was made for: browsers send cookies
/// to every port of a host, and what is sent in the clear can be read.
#[derive(Debug)]
pub struct Sessions {
    config: Config,
    /// The one that was used longest ago first.
    sessions: Vec<Session>,
    next_id: u64,
}

impl Sessions {
    pub fn new(config: Config) -> Self {
        Self { config, sessions: Vec::new(), next_id: 0 }
    }

    /// Begins a session. `chance` is what its cookie is made of.
    pub fn begin(&mut self, chance: &[u8; TOKEN_BYTES], origin: Origin, now: Time) -> String {
        self.forget(now);
        if self.sessions.len() >= self.config.sessions_max {
            self.sessions.remove(0);
        }
        let id = SessionId(self.next_id);
        self.next_id += 1;
        self.sessions.push(Session { id, digest: TokenDigest::of(chance), origin, used: now });
        token::write(chance)
    }

    /// The session of a cookie, which is used by that.
    pub fn resume(&mut self, cookie: &str, origin: Origin, now: Time) -> Option<SessionId> {
        self.forget(now);
        let token = token::parse(cookie)?;
        // All are compared, so that the time says nothing of which one it was.
        let found = self.sessions.iter().enumerate().fold(None, |found, (index, session)| {
            if session.digest.is_of(&token) && session.origin == origin { Some(index) } else { found }
        });
        let mut session = self.sessions.remove(found?);
        session.used = now;
        let id = session.id;
        self.sessions.push(session);
        Some(id)
    }

    /// Whether a session still is one. This is no use.
    pub fn is_open(&self, id: SessionId, now: Time) -> bool {
        self.sessions.iter().any(|session| session.id == id && self.is_current(session, now))
    }

    fn is_current(&self, session: &Session, now: Time) -> bool {
        now.since(session.used) < self.config.idle_max
    }

    fn forget(&mut self, now: Time) {
        let idle_max = self.config.idle_max;
        self.sessions.retain(|session| now.since(session.used) < idle_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{IpAddr, Ipv4Addr};

    const CONFIG: Config = Config { sessions_max: 16, idle_max: Micros(1_800_000_000) };

    fn origin(door: u64, address: u8) -> Origin {
        Origin { door, peer: Peer::from(IpAddr::from(Ipv4Addr::new(192, 0, 2, address))) }
    }

    fn minutes(minutes: u64) -> Time {
        Time(minutes * 60_000_000)
    }

    #[test]
    fn a_session_ends_half_an_hour_after_it_was_used() {
        let mut sessions = Sessions::new(CONFIG);
        let cookie = sessions.begin(&[7; 16], origin(1, 1), minutes(0));
        let id = sessions.resume(&cookie, origin(1, 1), minutes(29)).unwrap();
        assert!(sessions.is_open(id, minutes(58)), "used at 29");
        assert!(!sessions.is_open(id, minutes(59)), "to look whether it is open is no use");
        assert_eq!(sessions.resume(&cookie, origin(1, 1), minutes(59)), None);
    }

    #[test]
    fn a_cookie_is_good_where_it_was_made() {
        let mut sessions = Sessions::new(CONFIG);
        let cookie = sessions.begin(&[7; 16], origin(1, 1), minutes(0));
        assert_eq!(sessions.resume(&cookie, origin(2, 1), minutes(1)), None, "another door");
        assert_eq!(sessions.resume(&cookie, origin(1, 2), minutes(1)), None, "another address");
        assert_eq!(sessions.resume(&"0".repeat(32), origin(1, 1), minutes(1)), None, "another cookie");
        assert!(sessions.resume(&cookie, origin(1, 1), minutes(1)).is_some());
    }

    #[test]
    fn the_seventeenth_ends_the_one_that_was_used_longest_ago() {
        let mut sessions = Sessions::new(CONFIG);
        let cookies: Vec<_> = (0..16)
            .map(|number| sessions.begin(&[number; 16], origin(1, 1), minutes(number.into())))
            .collect();
        assert!(sessions.resume(&cookies[0], origin(1, 1), minutes(16)).is_some());
        sessions.begin(&[99; 16], origin(1, 1), minutes(17));
        let open: Vec<_> = cookies
            .iter()
            .map(|cookie| sessions.resume(cookie, origin(1, 1), minutes(17)).is_some())
            .collect();
        assert_eq!(open.iter().filter(|open| !**open).count(), 1);
        assert!(!open[1], "the first one was used since");
    }

    proptest! {
        #[test]
        fn there_are_never_more_than_may_be(steps in prop::collection::vec((any::<u8>(), 0_u64..20), 0..200)) {
            let mut sessions = Sessions::new(CONFIG);
            let mut now = 0;
            for (number, later) in steps {
                now += later;
                let cookie = sessions.begin(&[number; 16], origin(1, 1), minutes(now));
                prop_assert!(sessions.resume(&cookie, origin(1, 1), minutes(now)).is_some());
                prop_assert!(sessions.sessions.len() <= 16);
                prop_assert!(sessions.sessions.is_sorted_by_key(|session| session.used));
            }
        }
    }
}
