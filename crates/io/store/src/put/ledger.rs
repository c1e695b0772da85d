use crate::{Edge, Outcome, PutReport};
use guestright_units::{Bytes, TeamId};
use std::collections::BTreeMap;

/// What a batch did, while it is being done. Sums are exact: an edge may be larger than 64 bits on the way.
#[derive(Default)]
pub(super) struct Ledger {
    pub(super) outcomes: Vec<Outcome>,
    added: BTreeMap<(TeamId, TeamId), u128>,
    removed: BTreeMap<(TeamId, TeamId), u128>,
}

impl Ledger {
    pub(super) fn add(&mut self, consumer: TeamId, provider: TeamId, weight: Bytes) {
        *self.added.entry((consumer, provider)).or_default() += u128::from(weight.0);
    }

    pub(super) fn remove(&mut self, consumer: TeamId, provider: TeamId, weight: Bytes) {
        *self.removed.entry((consumer, provider)).or_default() += u128::from(weight.0);
    }

    pub(super) fn report(self) -> PutReport {
        PutReport { outcomes: self.outcomes, added: edges(self.added), evicted: edges(self.removed) }
    }
}

/// Sums as edges, sorted, without those of nothing.
pub(crate) fn edges(sums: BTreeMap<(TeamId, TeamId), u128>) -> Vec<Edge> {
    let edge = |((consumer, provider), sum): ((TeamId, TeamId), u128)| Edge {
        consumer,
        provider,
        weight: Bytes(u64::try_from(sum).unwrap_or(u64::MAX)),
    };
    sums.into_iter().filter(|(_, sum)| *sum > 0).map(edge).collect()
}
