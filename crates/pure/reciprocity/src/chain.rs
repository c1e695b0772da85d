//! Chains of debts from a provider to a consumer, for credit that is reserved along them (design note 0010).
//!
//! The provider knows by itself what it can spend at the teams that it owes. Of all others it knows what it was shown: a
//! debt that is none costs a refusal and nothing else. So short chains are looked for, and not a maximum.

use crate::Graph;
use guestright_units::{Bytes, TeamId};
use std::collections::BTreeMap;

/// How far chains are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainLimits {
    /// How many chains.
    pub chains_max: usize,
    /// How many teams between provider and consumer: three make four arcs.
    pub between_max: usize,
    /// How many debts are looked at. A search that ends here has found what it has found.
    pub arcs_max: usize,
}

impl Default for ChainLimits {
    /// 8 chains of 4 arcs, 20,000 debts.
    fn default() -> Self {
        Self { chains_max: 8, between_max: 3, arcs_max: 20_000 }
    }
}

/// The provider owes the first team between, that one the next, and the last one the consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The teams between provider and consumer, in order; none if the one owes the other itself.
    pub between: Vec<TeamId>,
    /// The smallest debt of the chain, as far as earlier chains leave it.
    pub bytes: Bytes,
}

/// Which chains are wanted.
#[derive(Clone, Copy, Debug)]
pub struct ChainQuery {
    /// Whose debts begin the chains.
    pub provider: TeamId,
    /// Who is owed at their ends.
    pub consumer: TeamId,
    /// How much all chains together should carry.
    pub bytes: Bytes,
    /// A chain that carries less is left out.
    pub bytes_min: Bytes,
}

impl Graph {
    /// Chains of debts, the shortest first. `spendable` says how much of what the provider owes a team can be used;
    /// nothing for a team that cannot be asked.
    pub fn chains(
        &self,
        query: ChainQuery,
        limits: ChainLimits,
        spendable: impl Fn(TeamId) -> Bytes,
    ) -> Vec<Chain> {
        let direct = spendable(query.consumer).min(query.bytes);
        let mut search = Search {
            graph: self,
            query,
            limits,
            spendable,
            looked_at: 0,
            left: query.bytes.saturating_sub(direct),
            used: BTreeMap::new(),
            spent: BTreeMap::new(),
            found: Vec::new(),
        };
        if direct >= query.bytes_min {
            search.found.push(Chain { between: Vec::new(), bytes: direct });
        } else {
            search.left = query.bytes;
        }
        let Some(consumer) = self.vertex(query.consumer) else { return search.found };
        for length in 1..=limits.between_max {
            search.extend(&mut vec![consumer], length);
        }
        search.found
    }
}

struct Search<'a, F> {
    graph: &'a Graph,
    query: ChainQuery,
    limits: ChainLimits,
    spendable: F,
    looked_at: usize,
    left: Bytes,
    /// What the chains that were found use of a debt, and of what the provider owes a team.
    used: BTreeMap<u32, u64>,
    spent: BTreeMap<TeamId, u64>,
    found: Vec<Chain>,
}

impl<F: Fn(TeamId) -> Bytes> Search<'_, F> {
    fn is_over(&self) -> bool {
        self.left < self.query.bytes_min
            || self.found.len() >= self.limits.chains_max
            || self.looked_at >= self.limits.arcs_max
    }

    /// Looks for teams that owe the last one of `path` (which begins with the consumer), until `length` are between.
    fn extend(&mut self, path: &mut Vec<u32>, length: usize) {
        let graph = self.graph;
        let Some(&head) = path.last() else { return };
        for (tail, arc) in graph.in_arcs(head) {
            if self.is_over() {
                return;
            }
            self.looked_at += 1;
            let is_new = !path.contains(&tail) && graph.team(tail) != self.query.provider;
            if !is_new || self.left_of(arc) < self.query.bytes_min.0 {
                continue;
            }
            path.push(tail);
            if path.len() > length {
                self.close(path);
            } else {
                self.extend(path, length);
            }
            path.pop();
        }
    }

    /// What the chains that were found leave of a debt.
    fn left_of(&self, arc: u32) -> u64 {
        self.graph.capacity_of(arc).saturating_sub(self.used.get(&arc).copied().unwrap_or(0))
    }

    /// Whether the provider owes the last team of the path: then that is a chain.
    fn close(&mut self, path: &[u32]) {
        let graph = self.graph;
        let arcs: Vec<_> = path.windows(2).filter_map(|pair| graph.arc(pair[1], pair[0])).collect();
        let Some(first) = path.last().map(|&vertex| graph.team(vertex)) else { return };
        let spent = self.spent.get(&first).copied().unwrap_or(0);
        let bytes = (self.spendable)(first).0.saturating_sub(spent).min(self.left.0);
        let bytes = arcs.iter().map(|&arc| self.left_of(arc)).fold(bytes, u64::min);
        if bytes < self.query.bytes_min.0 {
            return;
        }
        for arc in arcs {
            *self.used.entry(arc).or_default() += bytes;
        }
        *self.spent.entry(first).or_default() += bytes;
        self.left = self.left.saturating_sub(Bytes(bytes));
        let between = path.iter().skip(1).rev().map(|&vertex| graph.team(vertex)).collect();
        self.found.push(Chain { between, bytes: Bytes(bytes) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn team(number: u8) -> TeamId {
        TeamId([number; 24])
    }

    fn graph(debts: &[(u8, u8, u64)]) -> Graph {
        Graph::from_edges(debts.iter().map(|&(who, whom, bytes)| (team(who), team(whom), Bytes(bytes))))
    }

    fn query(bytes: u64) -> ChainQuery {
        ChainQuery { provider: team(1), consumer: team(9), bytes: Bytes(bytes), bytes_min: Bytes(10) }
    }

    fn owed(debts: &[(u8, u64)]) -> impl Fn(TeamId) -> Bytes + Copy + '_ {
        move |to| Bytes(debts.iter().find(|(number, _)| team(*number) == to).map_or(0, |(_, bytes)| *bytes))
    }

    fn found(graph: &Graph, wanted: u64, debts: &[(u8, u64)]) -> Vec<(Vec<u8>, u64)> {
        let chains = graph.chains(query(wanted), ChainLimits::default(), owed(debts));
        chains
            .iter()
            .map(|chain| (chain.between.iter().map(|team| team.0[0]).collect(), chain.bytes.0))
            .collect()
    }

    #[test]
    fn the_shortest_chains_come_first_and_share_what_there_is() {
        let graph = graph(&[(2, 9, 50), (3, 2, 40), (4, 3, 100), (5, 9, 5)]);
        assert_eq!(found(&graph, 100, &[(9, 30)]), [(vec![], 30)]);
        assert_eq!(found(&graph, 100, &[(9, 30), (2, 20)]), [(vec![], 30), (vec![2], 20)]);
        assert_eq!(found(&graph, 100, &[(2, 20), (3, 90)]), [(vec![2], 20), (vec![3, 2], 30)]);
        assert_eq!(found(&graph, 100, &[(4, 90)]), [(vec![4, 3, 2], 40)]);
        assert_eq!(found(&graph, 35, &[(9, 30), (2, 20)]), [(vec![], 30)], "what is left is too little");
        assert_eq!(found(&graph, 100, &[(5, 90)]), [], "its debt is too small");
    }

    #[test]
    fn a_chain_has_four_arcs_at_most_and_meets_nobody_twice() {
        let graph =
            graph(&[(2, 9, 50), (3, 2, 50), (4, 3, 50), (5, 4, 50), (9, 2, 50), (2, 3, 50), (1, 2, 50)]);
        assert_eq!(found(&graph, 100, &[(5, 90)]), []);
        assert_eq!(found(&graph, 100, &[(9, 5)]), []);
        let limits = ChainLimits { between_max: 4, ..ChainLimits::default() };
        assert_eq!(graph.chains(query(100), limits, owed(&[(5, 90)])).len(), 1);
    }

    #[test]
    fn a_search_that_is_cut_short_keeps_what_it_found() {
        let debts: Vec<_> = (10..200).map(|number| (number, 9, 50)).collect();
        let graph = graph(&debts);
        let limits = ChainLimits { arcs_max: 3, ..ChainLimits::default() };
        let chains = graph.chains(query(1_000), limits, |_| Bytes(100));
        assert_eq!(chains.len(), 4, "{chains:?}");
        let all = graph.chains(query(1_000), ChainLimits::default(), |_| Bytes(100));
        assert_eq!(all.len(), 8);
    }

    proptest! {
        #[test]
        fn no_debt_is_used_twice(
            debts in prop::collection::vec((1_u8..10, 1_u8..10, 0_u64..200), 0..60),
            own in prop::collection::vec((2_u8..10, 0_u64..200), 0..9),
            wanted in 0_u64..500,
        ) {
            let graph = graph(&debts);
            let chains = graph.chains(query(wanted), ChainLimits::default(), owed(&own));
            let mut used = BTreeMap::<(TeamId, TeamId), u64>::new();
            let mut spent = BTreeMap::<TeamId, u64>::new();
            for chain in &chains {
                prop_assert!(chain.bytes >= Bytes(10) && chain.between.len() <= 3);
                let path: Vec<_> = chain.between.iter().copied().chain([team(9)]).collect();
                *spent.entry(path[0]).or_default() += chain.bytes.0;
                for pair in path.windows(2) {
                    *used.entry((pair[0], pair[1])).or_default() += chain.bytes.0;
                }
            }
            prop_assert!(used.iter().all(|((who, whom), bytes)| *bytes <= graph.capacity(*who, *whom).0));
            prop_assert!(spent.iter().all(|(whom, bytes)| *bytes <= owed(&own)(*whom).0));
            prop_assert!(chains.iter().map(|chain| chain.bytes.0).sum::<u64>() <= wanted);
        }
    }
}
