use crate::{Edge, Outcome, PutReport};
use guestright_units::{Bytes, TeamId};
use std::collections::BTreeMap;

/// What a batch did, while it is being done.
#[derive(Default)]
pub(super) struct Ledger {
    pub(super) outcomes: Vec<Outcome>,
    added: Vec<Edge>,
    removed: Vec<Edge>,
}

impl Ledger {
    pub(super) fn add(&mut self, consumer: TeamId, provider: TeamId, weight: Bytes) {
        self.added.push(Edge { consumer, provider, weight });
    }

    pub(super) fn remove(&mut self, consumer: TeamId, provider: TeamId, weight: Bytes) {
        self.removed.push(Edge { consumer, provider, weight });
    }

    pub(super) fn report(self) -> PutReport {
        PutReport { outcomes: self.outcomes, added: sum(self.added), evicted: sum(self.removed) }
    }
}

/// One edge for each pair of teams, sorted, without those of nothing.
fn sum(mut edges: Vec<Edge>) -> Vec<Edge> {
    edges.sort_unstable();
    let pairs = edges.chunk_by(|one, next| (one.consumer, one.provider) == (next.consumer, next.provider));
    let sums = pairs.map(|pair| {
        let sum = pair.iter().map(|edge| u128::from(edge.weight.0)).sum();
        Edge { weight: saturating(sum), ..pair[0] }
    });
    sums.filter(|edge| edge.weight > Bytes(0)).collect()
}

/// Sums as edges, sorted, without those of nothing.
pub(crate) fn edges(sums: BTreeMap<(TeamId, TeamId), u128>) -> Vec<Edge> {
    let edge = |((consumer, provider), sum)| Edge { consumer, provider, weight: saturating(sum) };
    sums.into_iter().filter(|(_, sum)| *sum > 0).map(edge).collect()
}

/// An edge may be larger than 64 bits.
fn saturating(sum: u128) -> Bytes {
    Bytes(u64::try_from(sum).unwrap_or(u64::MAX))
}
