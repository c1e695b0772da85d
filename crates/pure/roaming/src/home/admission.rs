//! Which shown receipts are worth keeping. Identities are free, so anybody can make valid receipts without end.

use std::collections::{BTreeMap, BTreeSet};

use guestright_receipt::Receipt;
use guestright_units::{Bytes, Micros, TeamId, Time};

/// How many sponsors are remembered for a day.
const SPONSORS_MAX: usize = 65_536;
/// Each doubling of what we owe a sponsor lets it introduce so many more receipts a day.
const PER_DOUBLING: u32 = 64;
const DAY: Micros = Micros::from_seconds(86_400);

/// With credit a team that never gave anything may introduce so many receipts a day: they are hints and nothing more.
const HINTS_FREE: u32 = 16;

/// By what it is reckoned how many receipts a sponsor may introduce in a day.
#[derive(Clone, Copy, Debug)]
pub(super) enum Quota {
    /// By what we owe it, as the papers' policies need many receipts.
    Owed(Bytes),
    /// By what it ever gave: one for each megabyte.
    Given(Bytes),
}

/// What each sponsor has introduced today.
#[derive(Debug)]
pub(super) struct Admission {
    sponsored_max: u32,
    introduced: BTreeMap<TeamId, u32>,
    since: Time,
}

/// How many of the shown receipts were left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) irrelevant: u64,
    pub(super) over_quota: u64,
}

impl Admission {
    pub(super) fn new(sponsored_max: u32) -> Self {
        Self { sponsored_max, introduced: BTreeMap::new(), since: Time(0) }
    }

    /// Forgets yesterday.
    pub(super) fn fade(&mut self, now: Time) {
        if now - self.since >= DAY {
            self.since = now;
            self.introduced.clear();
        }
    }

    /// Keeps the receipts that hang together with what `own` knows, as many as `sponsor` may introduce.
    ///
    /// What others took from `own` its access points know first-hand: shown by a visitor it is known or made up, and
    /// a made-up debt would end the start-up time in which `own` serves every stranger.
    pub(super) fn filter(
        &self,
        receipts: &mut Vec<Receipt>,
        sponsor: TeamId,
        own: TeamId,
        knows: impl Fn(TeamId) -> bool,
        quota: Quota,
    ) -> LeftOut {
        let shown = receipts.len();
        receipts.retain(|receipt| receipt.provider() != own);
        let mut joined = BTreeSet::from([own]);
        loop {
            let before = joined.len();
            for receipt in receipts.iter() {
                let (consumer, provider) = (receipt.consumer(), receipt.provider());
                let known = |team: TeamId| joined.contains(&team) || knows(team);
                if known(consumer) || known(provider) {
                    joined.extend([consumer, provider]);
                }
            }
            if joined.len() == before {
                break;
            }
        }
        receipts.retain(|receipt| joined.contains(&receipt.provider()));
        let relevant = receipts.len();
        let introduced = self.introduced.get(&sponsor).copied().unwrap_or(0);
        let (free, earned) = match quota {
            Quota::Owed(credit) => (self.sponsored_max, PER_DOUBLING * (1 + credit.0 / 1_000).ilog2()),
            Quota::Given(given) => (HINTS_FREE, u32::try_from(given.0 / 1_000_000).unwrap_or(u32::MAX)),
        };
        let free = if self.has_room(sponsor) { free } else { 0 };
        let allowed = free.saturating_add(earned).saturating_sub(introduced);
        receipts.truncate(usize::try_from(allowed).unwrap_or(usize::MAX));
        let count = |from: usize, to: usize| u64::try_from(from - to).unwrap_or(u64::MAX);
        LeftOut { irrelevant: count(shown, relevant), over_quota: count(relevant, receipts.len()) }
    }

    /// `sponsor` has shown so many receipts that were new.
    pub(super) fn introduced(&mut self, sponsor: TeamId, count: u32) {
        if self.has_room(sponsor) {
            *self.introduced.entry(sponsor).or_default() += count;
        }
    }

    /// Whether what this sponsor introduces can be counted.
    fn has_room(&self, sponsor: TeamId) -> bool {
        self.introduced.len() < SPONSORS_MAX || self.introduced.contains_key(&sponsor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_identity::{Certificate, Role, SecretKey, Suite};
    use guestright_units::UnixSeconds;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    const NOW: Time = UnixSeconds(1_800_000_000).time();
    const SPONSOR: TeamId = TeamId([7; 24]);

    /// A team, and so many receipts of a member of its over sessions with another team.
    fn receipts(count: u64) -> (TeamId, Vec<Receipt>) {
        let mut rng = StdRng::seed_from_u64(1);
        let team = SecretKey::generate(Suite::Ed25519, &mut rng);
        let now = NOW.unix_seconds();
        let certificate = Certificate::issue(&team, team.public(), Role::Member, now, now.plus(count));
        let sign = |number| Receipt::sign(&team, &certificate, TeamId([9; 24]), now.plus(number), Bytes(1));
        (team.public().team_id(), (0..count).map(sign).collect())
    }

    #[test]
    fn each_doubling_of_what_a_sponsor_gave_lets_it_introduce_sixty_four_more() {
        let (own, shown) = receipts(210);
        for (free, introduced, credit, want) in [
            (0, 0, 0, 0),
            (0, 0, 999, 0),
            (0, 0, 1_000, 64),
            (0, 0, 2_999, 64),
            (0, 0, 3_000, 128),
            (0, 28, 3_000, 100),
            (5, 0, 0, 5),
            (5, 4, 1_000, 65),
            (5, 80, 1_000, 0),
            (5, 0, 7_000, 197),
            (500, 0, 0, 210),
        ] {
            let mut admission = Admission::new(free);
            admission.introduced(SPONSOR, introduced);
            let mut receipts = shown.clone();
            let left_out =
                admission.filter(&mut receipts, SPONSOR, own, |_| false, Quota::Owed(Bytes(credit)));
            let over_quota = u64::try_from(210 - want).unwrap();
            assert_eq!((receipts.len(), left_out), (want, LeftOut { irrelevant: 0, over_quota }), "{credit}");
        }
    }

    #[test]
    fn yesterday_is_over_after_a_day() {
        let (own, shown) = receipts(3);
        let mut admission = Admission::new(3);
        admission.fade(NOW);
        admission.introduced(SPONSOR, 1);
        admission.introduced(SPONSOR, 1);
        let mut kept = |now| {
            admission.fade(now);
            let mut receipts = shown.clone();
            admission.filter(&mut receipts, SPONSOR, own, |_| false, Quota::Owed(Bytes(0)));
            receipts.len()
        };
        assert_eq!(kept(NOW + Micros(DAY.0 - 1)), 1);
        assert_eq!(kept(NOW + DAY), 3);
    }

    #[test]
    fn a_sponsor_that_cannot_be_counted_introduces_only_what_it_has_earned() {
        let (own, shown) = receipts(70);
        let mut admission = Admission::new(70);
        let team = |number: u32| {
            let mut id = [0; 24];
            id[..4].copy_from_slice(&number.to_be_bytes());
            TeamId(id)
        };
        let count = u32::try_from(SPONSORS_MAX).unwrap();
        let kept = |admission: &Admission, sponsor, credit| {
            let mut receipts = shown.clone();
            admission.filter(&mut receipts, sponsor, own, |_| false, Quota::Owed(Bytes(credit)));
            receipts.len()
        };
        for number in 0..count - 1 {
            admission.introduced(team(number), 1);
        }
        assert_eq!(kept(&admission, team(count), 0), 70, "the last one that is counted");
        admission.introduced(team(count - 1), 1);
        assert_eq!(kept(&admission, team(count), 0), 0);
        assert_eq!(kept(&admission, team(count), 1_000), 64);
        assert_eq!(kept(&admission, team(3), 0), 69, "who was counted before still is");
    }
}
