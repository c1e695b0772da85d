//! Teams that are being called because something is to be sent to them, and when they may be called again.

use crate::book::{AddressBook, KnownAddress};
use crate::config::Config;
use guestright_directory::Address;
use guestright_ordered::OrderedMap;
use guestright_units::{Micros, TeamId, Time};
use std::collections::VecDeque;

/// Teams that are being called at a time, and how many of them may be teams that nobody has reached yet.
const ROUNDS_MAX: usize = 16;
const UNPROVEN_MAX: usize = 12;
/// Teams that could not be reached and are remembered for that.
const FAILED_MAX: usize = 4_096;
/// A team that cannot be reached is tried again after [`Config::redial_after`], twice that, and so on; at most this.
const BACK_OFF_MAX: Micros = Micros::from_seconds(900);

/// All addresses of one team, to be tried one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    pub(crate) team: TeamId,
    pub(crate) number: u64,
    pub(crate) addresses: Vec<KnownAddress>,
}

/// What comes of the wish to reach a team.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Try these addresses, and say what came of it.
    Begin(Round),
    /// That is being done.
    UnderWay,
    /// Nobody knows where, or it was tried a moment ago, or too much is waiting.
    Refused,
}

/// Calls to teams.
#[derive(Debug)]
pub(crate) struct Dials {
    redial_after: Micros,
    held_max: usize,
    pub(crate) book: AddressBook,
    teams: OrderedMap<TeamId, Dial>,
    rounds: u64,
}

#[derive(Debug)]
struct Dial {
    /// The round that is under way.
    round: Option<u64>,
    /// Whether it goes where the team was reached before.
    is_proven: bool,
    held: VecDeque<Vec<u8>>,
    began: Time,
    failures: u32,
    retry_at: Time,
}

impl Dials {
    pub(crate) fn new(config: &Config) -> Self {
        let (redial_after, held_max) = (config.redial_after, config.held_max);
        let book = AddressBook::new(config.teams_max);
        Self { redial_after, held_max, book, teams: OrderedMap::new(), rounds: 0 }
    }

    /// A home of the team may be there. What is new makes it worth another try, though not at once.
    pub(crate) fn learn(&mut self, team: TeamId, address: Address) {
        if self.book.learn(team, address)
            && let Some(dial) = self.teams.get_mut(&team)
        {
            dial.retry_at = dial.retry_at.min(dial.began + self.redial_after);
        }
    }

    /// The team is to be reached, and perhaps a frame to be kept for it until then.
    pub(crate) fn reach(&mut self, team: TeamId, frame: Option<Vec<u8>>, now: Time) -> Wish {
        if let Some(dial) = self.teams.get_mut(&team) {
            if dial.round.is_some() {
                if frame.is_some() && dial.held.len() >= self.held_max {
                    return Wish::Refused;
                }
                dial.held.extend(frame);
                return Wish::UnderWay;
            }
            if dial.retry_at > now {
                return Wish::Refused;
            }
        }
        let addresses = self.book.of(team);
        let Some(is_proven) = addresses.first().map(|first| first.is_proven) else { return Wish::Refused };
        if !self.has_room(team, is_proven, now) {
            return Wish::Refused;
        }
        self.rounds += 1;
        let number = self.rounds;
        let fresh =
            Dial { round: None, is_proven, held: VecDeque::new(), began: now, failures: 0, retry_at: now };
        let dial = self.teams.entry(team).or_insert(fresh);
        (dial.round, dial.is_proven, dial.began) = (Some(number), is_proven, now);
        dial.held.extend(frame);
        Wish::Begin(Round { team, number, addresses })
    }

    /// There is a link to the team: what was kept for it.
    pub(crate) fn linked(&mut self, team: TeamId) -> VecDeque<Vec<u8>> {
        self.teams.remove(&team).map(|dial| dial.held).unwrap_or_default()
    }

    /// Nobody of the team was at any address, or none could be tried because too much was tried before: then the team
    /// has not failed. Whether somebody waited for that.
    pub(crate) fn failed(&mut self, team: TeamId, number: u64, was_tried: bool, now: Time) -> bool {
        let redial_after = self.redial_after;
        let Some(dial) = self.teams.get_mut(&team).filter(|dial| dial.round == Some(number)) else {
            return false;
        };
        dial.round = None;
        dial.held.clear();
        dial.failures += u32::from(was_tried);
        let doubled = redial_after.0.saturating_mul(1 << dial.failures.saturating_sub(1).min(16));
        dial.retry_at = now + Micros(doubled.min(BACK_OFF_MAX.0));
        true
    }

    fn has_room(&mut self, team: TeamId, is_proven: bool, now: Time) -> bool {
        let called = self.teams.values().filter(|dial| dial.round.is_some());
        let (proven, unproven): (Vec<_>, Vec<_>) = called.partition(|dial| dial.is_proven);
        if proven.len() + unproven.len() >= ROUNDS_MAX || (!is_proven && unproven.len() >= UNPROVEN_MAX) {
            return false;
        }
        if self.teams.len() >= FAILED_MAX && !self.teams.contains_key(&team) {
            self.teams.retain(|_, dial| dial.round.is_some() || dial.retry_at > now);
        }
        self.teams.len() < FAILED_MAX || self.teams.contains_key(&team)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEAM: TeamId = TeamId([1; 24]);
    const SECOND: u64 = 1_000_000;

    fn dials() -> Dials {
        let mut dials = Dials::new(&Config { held_max: 2, ..Config::default() });
        dials.learn(TEAM, "192.0.2.1".parse().unwrap());
        dials
    }

    fn begun(wish: Wish) -> u64 {
        let Wish::Begin(round) = wish else { panic!("{wish:?}") };
        round.number
    }

    #[test]
    fn frames_are_kept_until_there_is_a_link_or_none() {
        let mut dials = dials();
        assert_eq!(dials.reach(TeamId([2; 24]), Some(vec![1]), Time(0)), Wish::Refused, "nobody knows where");
        let round = begun(dials.reach(TEAM, Some(vec![1]), Time(0)));
        assert_eq!(dials.reach(TEAM, Some(vec![2]), Time(0)), Wish::UnderWay);
        assert_eq!(dials.reach(TEAM, Some(vec![3]), Time(0)), Wish::Refused, "there is room for two");
        assert_eq!(dials.reach(TEAM, None, Time(0)), Wish::UnderWay);
        assert_eq!(dials.linked(TEAM), [vec![1], vec![2]]);
        assert!(!dials.failed(TEAM, round, true, Time(1)), "it has come to us meanwhile");
        let round = begun(dials.reach(TEAM, Some(vec![4]), Time(2)));
        assert!(dials.failed(TEAM, round, true, Time(3)));
        assert!(dials.linked(TEAM).is_empty(), "what could not be sent is not sent later");
    }

    #[test]
    fn a_team_that_is_not_there_is_tried_less_and_less_often() {
        let mut dials = dials();
        let (mut now, mut waits) = (Time(0), Vec::new());
        let mut round = begun(dials.reach(TEAM, None, now));
        for _ in 0..7 {
            assert!(dials.failed(TEAM, round, true, now));
            let began = now;
            round = loop {
                match dials.reach(TEAM, None, now) {
                    Wish::Begin(next) => break next.number,
                    Wish::UnderWay | Wish::Refused => now = now + Micros(SECOND),
                }
            };
            waits.push(now.since(began).0 / SECOND);
        }
        assert_eq!(waits, [30, 60, 120, 240, 480, 900, 900]);
    }

    #[test]
    fn what_is_new_is_worth_a_try_but_not_more_often_than_everything() {
        let mut dials = dials();
        for number in 0..3_u64 {
            let at = Time(number * 2_000 * SECOND);
            let round = begun(dials.reach(TEAM, None, at));
            dials.failed(TEAM, round, true, at);
        }
        let last = 4_000 * SECOND;
        dials.learn(TEAM, "192.0.2.1".parse().unwrap());
        assert_eq!(dials.reach(TEAM, None, Time(last + 31 * SECOND)), Wish::Refused, "known since long");
        dials.learn(TEAM, "192.0.2.2".parse().unwrap());
        assert_eq!(dials.reach(TEAM, None, Time(last + 29 * SECOND)), Wish::Refused);
        begun(dials.reach(TEAM, None, Time(last + 30 * SECOND)));
    }

    #[test]
    fn so_many_are_called_at_a_time() {
        let mut dials = dials();
        let teams: Vec<TeamId> = (0..=u8::try_from(ROUNDS_MAX).unwrap()).map(|n| TeamId([n; 24])).collect();
        for team in &teams {
            dials.learn(*team, "192.0.2.1".parse().unwrap());
        }
        let begun = |dials: &mut Dials| {
            let wishes = teams.iter().map(|team| dials.reach(*team, None, Time(0)));
            wishes.filter(|wish| matches!(wish, Wish::Begin(_))).count()
        };
        assert_eq!(begun(&mut dials), UNPROVEN_MAX);
        for team in &teams {
            dials.book.prove(*team, "192.0.2.1".parse().unwrap());
        }
        assert_eq!(begun(&mut dials), ROUNDS_MAX - UNPROVEN_MAX, "some are kept for those that were reached");
    }

    #[test]
    fn what_was_not_even_tried_is_no_failure() {
        let mut dials = dials();
        for number in 0..5_u64 {
            let at = Time(number * 30 * SECOND);
            let round = begun(dials.reach(TEAM, Some(vec![1]), at));
            assert!(dials.failed(TEAM, round, false, at));
            assert_eq!(dials.reach(TEAM, None, Time(at.0 + 29 * SECOND)), Wish::Refused);
        }
    }
}
