//! Credit where each team on the way passes on no more than its own net standing: [`Policy::NetFlow`].
//!
//! [`Policy::NetFlow`]: super::Policy::NetFlow

use super::{Assessment, Side};
use crate::PerMille;
use crate::flow::{Ended, Query, VertexPath};
use guestright_units::{Bytes, TeamId};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How many times the flow is run anew under the limits found so far. Each round names new teams on the way; the
/// number is ours, three rounds settle nearly all questions.
const ROUNDS_MAX: u32 = 3;

impl Assessment<'_> {
    /// The provider's debt to the consumer under limits on every team that passes any of it on.
    ///
    /// Limits are worked out only for teams that carry more than kappa. If a round's flow keeps all limits, it is
    /// the maximum: teams without a limit could only have let more through. After the last round, or when the
    /// budget ends, it is cut down to the limits.
    pub(super) fn credit_net(&mut self, cutoff: Bytes, sigma: PerMille, kappa: Bytes) -> Side {
        let mut caps = BTreeMap::new();
        let mut paths = Vec::new();
        let mut exact = false;
        for _ in 0..ROUNDS_MAX {
            let query = Query { cutoff, limits: self.limits(), ..Query::new(self.provider, self.consumer) };
            let (flow, found) = if caps.is_empty() {
                query.uncapped(self.graph, self.scratch)
            } else {
                query.capped(self.graph, self.scratch, &caps)
            };
            self.arcs_left = self.arcs_left.saturating_sub(flow.arcs_scanned);
            paths = found;
            exact = flow.exact();
            if self.keeps_caps(&paths, &mut caps, cutoff, sigma, kappa) {
                exact &= self.arcs_left > 0;
                break;
            }
            exact = false;
            if self.arcs_left == 0 {
                break;
            }
        }
        trim(&mut paths, caps, kappa.0);
        let bytes = Bytes(paths.iter().map(|path| path.bytes).sum());
        let paths = if self.with_paths { self.named(paths) } else { Vec::new() };
        Side { bytes, exact, paths }
    }

    /// Works out the limits that are still missing, and tells whether the flow keeps all of them.
    fn keeps_caps(
        &mut self,
        paths: &[VertexPath],
        caps: &mut BTreeMap<u32, u64>,
        cutoff: Bytes,
        sigma: PerMille,
        kappa: Bytes,
    ) -> bool {
        let through = through(paths);
        // Whatever a team's standing, kappa may pass.
        let open = |&(vertex, bytes): &(&u32, &u64)| *bytes > kappa.0 && !caps.contains_key(vertex);
        let mut missing: Vec<_> = through.iter().filter(open).collect();
        // The budget, if it ends, ends with those that matter least.
        missing.sort_by_key(|&(&vertex, &bytes)| (Reverse(bytes), vertex));
        for (&vertex, _) in missing {
            caps.insert(vertex, self.cap(vertex, cutoff.0, sigma, kappa.0));
        }
        through.iter().all(|(vertex, bytes)| bytes <= caps.get(vertex).unwrap_or(&kappa.0))
    }

    /// `max(0, mf(P→j) − σ·mf(j→P)) + κ`, as far as it can matter, and less if the budget ends.
    fn cap(&mut self, vertex: u32, cutoff: u64, sigma: PerMille, kappa: u64) -> u64 {
        let useful = cutoff.min(self.graph.gave(vertex)).min(self.graph.took(vertex));
        if kappa >= useful {
            return useful;
        }
        let (provider, team) = (self.provider, self.graph.team(vertex));
        let owed_bound = self.graph.took(vertex).min(self.graph.in_capacity(provider).0);
        // With no larger charge than kappa the limit exceeds all that can reach the team, and is none.
        if sigma.of_rounded_up(owed_bound) <= kappa {
            return useful;
        }
        let credit_bound = self.graph.gave(vertex).min(self.graph.out_capacity(provider).0);
        let owed_max = owed_bound.min(debt_that_ends(credit_bound, sigma));
        let owed = match self.measure(team, provider, owed_max) {
            (_, Ended::ArcBudget) => owed_max,
            (owed, Ended::Maximum | Ended::Cutoff | Ended::HopLimit) => owed,
        };
        let charge = sigma.of_rounded_up(owed);
        if charge <= kappa {
            return useful;
        }
        let credit = self.measure(provider, team, charge.saturating_add(useful)).0;
        credit.saturating_sub(charge).saturating_add(kappa).min(useful)
    }

    fn measure(&mut self, from: TeamId, to: TeamId, cutoff: u64) -> (u64, Ended) {
        let query = Query { cutoff: Bytes(cutoff), limits: self.limits(), ..Query::new(from, to) };
        let flow = query.value(self.graph, self.scratch);
        self.arcs_left = match flow.ended {
            // What is left is too little for anything: a flow of the next round would find less than this one's.
            Ended::ArcBudget => 0,
            Ended::Maximum | Ended::Cutoff | Ended::HopLimit => {
                self.arcs_left.saturating_sub(flow.arcs_scanned)
            }
        };
        (flow.value.0, flow.ended)
    }

    fn named(&self, paths: Vec<VertexPath>) -> Vec<crate::FlowPath> {
        Query::new(self.provider, self.consumer).name(self.graph, paths)
    }
}

/// The debt at which a credit of that size is used up.
fn debt_that_ends(credit: u64, sigma: PerMille) -> u64 {
    let debt = (u128::from(credit) * 1_000).div_ceil(u128::from(sigma.0.max(1)));
    u64::try_from(debt).unwrap_or(u64::MAX)
}

/// What passes through each team between the ends.
fn through(paths: &[VertexPath]) -> BTreeMap<u32, u64> {
    let mut through = BTreeMap::new();
    for path in paths {
        for &vertex in path.inner() {
            *through.entry(vertex).or_insert(0) += path.bytes;
        }
    }
    through
}

/// Cuts the paths down, in their order, until every limit holds; teams without one may pass `kappa`.
fn trim(paths: &mut Vec<VertexPath>, mut left: BTreeMap<u32, u64>, kappa: u64) {
    for path in paths.iter_mut() {
        let room = path.inner().iter().map(|vertex| *left.entry(*vertex).or_insert(kappa)).min();
        path.bytes = path.bytes.min(room.unwrap_or(u64::MAX));
        for vertex in path.inner() {
            if let Some(left) = left.get_mut(vertex) {
                *left -= path.bytes;
            }
        }
    }
    paths.retain(|path| path.bytes > 0);
}
