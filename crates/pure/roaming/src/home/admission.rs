//! Which shown receipts are worth keeping. Identities are free, so anybody can make valid receipts without end.

use guestright_receipt::Receipt;
use guestright_reciprocity::Graph;
use guestright_units::{Bytes, Micros, TeamId, Time};
use std::collections::{BTreeMap, BTreeSet};

/// How many sponsors are remembered for a day.
const SPONSORS_MAX: usize = 65_536;
/// Each doubling of what we owe a sponsor lets it introduce so many more receipts a day.
const PER_DOUBLING: u32 = 64;
const DAY: Micros = Micros::from_seconds(86_400);

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

    /// Keeps the receipts that hang together with what `own` knows, as many as `sponsor` may introduce; `credit` is
    /// what `own` owes the sponsor directly.
    ///
    /// What others took from `own` its access points know first-hand: shown by a visitor it is known or made up, and
    /// a made-up debt would end the start-up time in which `own` serves every stranger.
    pub(super) fn filter(
        &self,
        receipts: &mut Vec<Receipt>,
        sponsor: TeamId,
        own: TeamId,
        graph: &Graph,
        credit: Bytes,
    ) -> LeftOut {
        let shown = receipts.len();
        receipts.retain(|receipt| receipt.provider() != own);
        let mut joined = BTreeSet::from([own]);
        loop {
            let before = joined.len();
            for receipt in receipts.iter() {
                let (consumer, provider) = (receipt.consumer(), receipt.provider());
                let known = |team: TeamId| joined.contains(&team) || graph.knows(team);
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
        let earned = PER_DOUBLING * (1 + credit.0 / 1_000).ilog2();
        let free = if self.has_room(sponsor) { self.sponsored_max } else { 0 };
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
