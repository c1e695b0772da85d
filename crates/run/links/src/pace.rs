//! How often: frames of one team, and attempts to connect to what others say.

use guestright_ordered::OrderedMap;
use guestright_units::{Micros, TeamId, Time};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

/// How many teams' frames are counted; one that has sent nothing for a moment needs no entry.
const TEAMS_MAX: usize = 4_096;
/// Attempts to connect within a minute: to everybody, and to addresses at which nobody has proven to be.
const ATTEMPTS_MAX: usize = 60;
const UNPROVEN_MAX: usize = 40;
const MINUTE: Micros = Micros::from_seconds(60);
/// To one IP address at whatever port within [`Attempts::rest`].
const EACH_IP_MAX: usize = 4;

/// A token bucket for the frames of each team.
#[derive(Debug)]
pub(crate) struct FramePaces {
    /// One more after each.
    every: Micros,
    /// So many at once.
    burst: u64,
    /// When each bucket is full again.
    full_at: OrderedMap<TeamId, Time>,
}

impl FramePaces {
    /// So many a second, and two seconds' worth at once.
    pub(crate) fn new(per_second: u32) -> Self {
        let per_second = u64::from(per_second.max(1));
        Self { every: Micros(1_000_000 / per_second), burst: 2 * per_second, full_at: OrderedMap::new() }
    }

    pub(crate) fn try_acquire(&mut self, team: TeamId, now: Time) -> bool {
        if self.full_at.len() >= TEAMS_MAX && !self.full_at.contains_key(&team) {
            self.full_at.retain(|_, full_at| *full_at > now);
            if self.full_at.len() >= TEAMS_MAX {
                return false;
            }
        }
        let full_at = self.full_at.entry(team).or_insert(now);
        let next = Time(full_at.0.max(now.0)) + self.every;
        if next.since(now).0 > self.every.0.saturating_mul(self.burst) {
            return false;
        }
        *full_at = next;
        true
    }
}

/// What was tried within the last minute.
#[derive(Debug)]
pub(crate) struct Attempts {
    /// After so long the same address may be tried again.
    rest: Micros,
    last: VecDeque<Attempt>,
}

#[derive(Debug)]
struct Attempt {
    at: Time,
    /// None where a name was looked up.
    address: Option<SocketAddr>,
    is_proven: bool,
}

impl Attempts {
    pub(crate) fn new(rest: Micros) -> Self {
        Self { rest, last: VecDeque::new() }
    }

    /// Whether a name may be looked up now, and counts that.
    pub(crate) fn try_lookup(&mut self, is_proven: bool, now: Time) -> bool {
        self.has_room(is_proven, now) && self.push(None, is_proven, now)
    }

    /// Whether this address may be tried now, and counts that.
    pub(crate) fn try_connect(&mut self, address: SocketAddr, is_proven: bool, now: Time) -> bool {
        let has_room = self.has_room(is_proven, now);
        let recent = self.last.iter().filter(|attempt| now.since(attempt.at) < self.rest);
        let recent: Vec<SocketAddr> = recent.filter_map(|attempt| attempt.address).collect();
        let canonical = |address: &SocketAddr| -> IpAddr { address.ip().to_canonical() };
        let same_ip = recent.iter().filter(|tried| canonical(tried) == canonical(&address)).count();
        has_room
            && !recent.contains(&address)
            && same_ip < EACH_IP_MAX
            && self.push(Some(address), is_proven, now)
    }

    fn has_room(&mut self, is_proven: bool, now: Time) -> bool {
        self.last.retain(|attempt| now.since(attempt.at) < MINUTE);
        let unproven = self.last.iter().filter(|attempt| !attempt.is_proven).count();
        self.last.len() < ATTEMPTS_MAX && (is_proven || unproven < UNPROVEN_MAX)
    }

    fn push(&mut self, address: Option<SocketAddr>, is_proven: bool, now: Time) -> bool {
        self.last.push_back(Attempt { at: now, address, is_proven });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    #[test]
    fn a_team_sends_so_many_at_once_and_then_one_by_one() {
        let mut paces = FramePaces::new(50);
        let taken = |paces: &mut FramePaces, team: u8, now| {
            (0..1_000).filter(|_| paces.try_acquire(TeamId([team; 24]), now)).count()
        };
        assert_eq!(taken(&mut paces, 1, Time(SECOND)), 100);
        assert_eq!(taken(&mut paces, 2, Time(SECOND)), 100, "another team has its own");
        assert_eq!(taken(&mut paces, 1, Time(2 * SECOND)), 50);
        assert_eq!(taken(&mut paces, 1, Time(9 * SECOND)), 100);
    }

    #[test]
    fn one_address_rests_and_all_together_have_a_limit() {
        let address = |ip: u8, port| SocketAddr::from(([192, 0, 2, ip], port));
        let mut attempts = Attempts::new(Micros::from_seconds(30));
        let at = |seconds: u64| Time(seconds * SECOND);
        assert!(attempts.try_connect(address(1, 1), false, at(0)));
        assert!(!attempts.try_connect(address(1, 1), true, at(29)));
        assert!(attempts.try_connect(address(1, 1), true, at(30)));
        let ports = (2..99).filter(|port| attempts.try_connect(address(1, *port), false, at(30))).count();
        assert_eq!(ports, EACH_IP_MAX - 1, "other ports of it");

        let mut attempts = Attempts::new(Micros::from_seconds(30));
        let unproven = (0..=255).filter(|ip| attempts.try_connect(address(*ip, 1), false, at(0))).count();
        let proven = (0..=255).filter(|ip| attempts.try_connect(address(*ip, 2), true, at(1))).count();
        assert_eq!((unproven, proven), (UNPROVEN_MAX, ATTEMPTS_MAX - UNPROVEN_MAX));
        assert!(!attempts.try_lookup(true, at(59)) && attempts.try_lookup(false, at(60)));
    }
}
