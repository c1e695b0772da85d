//! Maximum flow: the most that one team owes another, directly and through others.

mod augment;
mod network;
mod paths;
mod scratch;
mod search;
mod short;

use crate::PerMille;
use crate::graph::Graph;
use guestright_units::{Bytes, TeamId};
use network::{Cap, Capped, Network};
use search::Search;
use short::Short;
use std::collections::BTreeMap;

pub use scratch::Scratch;

/// How far a query may look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest path, in arcs, counted where flow already found may be rerouted too.
    pub hops_max: u32,
    /// How many arcs may be looked at before the query stops with what it has.
    ///
    /// A level of the search is begun only if the rows of its vertices fit in what is left; arcs that carry flow
    /// already, and those that wait in the overlay, may exceed it once.
    pub arcs_max: u64,
}

impl Limits {
    /// Neither limit: the answer is exact, whatever it costs.
    pub const NONE: Self = Self { hops_max: u32::MAX, arcs_max: u64::MAX };
}

impl Default for Limits {
    /// Paths of any length and a million arcs: enough for nearly every exact answer at ten million receipts, and
    /// some 20 ms of a server's time at the most (`benches/decision.rs`).
    fn default() -> Self {
        Self { arcs_max: 1_000_000, ..Self::NONE }
    }
}

/// Why a query stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// No more can flow.
    Maximum,
    /// The caller's cutoff was reached; the maximum may be larger.
    Cutoff,
    /// Whatever may be left is longer than [`Limits::hops_max`].
    HopLimit,
    /// [`Limits::arcs_max`] was spent.
    ArcBudget,
}

/// The answer to one flow query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The flow, at most the cutoff; under a gain below one, what it counts.
    pub value: Bytes,
    /// The flow before any discount: the sum of the bytes of its paths.
    pub carried: Bytes,
    /// Why it is no more.
    pub ended: Ended,
    /// How many arcs the query looked at, repeats included.
    pub arcs_scanned: u64,
    /// How many path lengths it went through.
    pub phases: u32,
}

impl Flow {
    /// Whether the value is the smaller of maximum and cutoff; otherwise it is a lower bound of it.
    pub const fn exact(&self) -> bool {
        matches!(self.ended, Ended::Maximum | Ended::Cutoff)
    }

    /// No flow, because one of the ends is unknown or both are the same team.
    const NOTHING: Self =
        Self { value: Bytes(0), carried: Bytes(0), ended: Ended::Maximum, arcs_scanned: 0, phases: 0 };
}

/// One chain of debts and how much of the flow runs along it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPath {
    /// Who owes whom: each team owes the next.
    pub teams: Vec<TeamId>,
    /// How much of the flow takes this path.
    pub bytes: Bytes,
}

/// What to measure: how much `from` owes `to`, up to `cutoff`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// Who owes.
    pub from: TeamId,
    /// Who is owed.
    pub to: TeamId,
    /// More than this need not be found; `Bytes(u64::MAX)` for the maximum.
    pub cutoff: Bytes,
    /// How far to look.
    pub limits: Limits,
    /// What a byte keeps per team that it passes through on the way; 1000 or more for a plain maximum flow.
    pub gain: PerMille,
}

impl Query {
    /// The exact maximum flow.
    pub const fn new(from: TeamId, to: TeamId) -> Self {
        Self { from, to, cutoff: Bytes(u64::MAX), limits: Limits::NONE, gain: PerMille(1_000) }
    }

    /// Answers the question.
    pub fn run(&self, graph: &Graph, scratch: &mut Scratch) -> Flow {
        self.on(graph, graph, scratch)
    }

    /// Answers the question alike, and at less cost where all that can flow passes through one team at most: then fewer arcs
    /// are looked at, and a budget that would have ended the search may be enough.
    pub(crate) fn value(&self, graph: &Graph, scratch: &mut Scratch) -> Flow {
        let short = self.short(graph).and_then(|short| short.flow(self.cutoff));
        short.unwrap_or_else(|| self.run(graph, scratch))
    }

    /// The same, and which way the flow runs.
    pub(crate) fn value_with_paths(&self, graph: &Graph, scratch: &mut Scratch) -> (Flow, Vec<FlowPath>) {
        let (flow, paths) = self.uncapped(graph, scratch);
        (flow, self.name(graph, paths))
    }

    /// The same by vertex number.
    pub(crate) fn uncapped(&self, graph: &Graph, scratch: &mut Scratch) -> (Flow, Vec<VertexPath>) {
        let short = self.short(graph).and_then(|short| short.paths(self.cutoff));
        short.unwrap_or_else(|| self.capped(graph, scratch, &BTreeMap::new()))
    }

    /// Answers the question and says which way the flow runs.
    ///
    /// The paths are simple and add up to [`Flow::carried`]; the largest comes first.
    pub fn run_with_paths(&self, graph: &Graph, scratch: &mut Scratch) -> (Flow, Vec<FlowPath>) {
        let flow = self.run(graph, scratch);
        (flow, self.name(graph, self.paths(graph, graph, scratch)))
    }

    /// Like [`Query::run_with_paths`] where each team named in `caps` lets no more than that pass through it.
    ///
    /// Limits on the two ends of the query have no effect.
    pub fn run_capped(
        &self,
        graph: &Graph,
        scratch: &mut Scratch,
        caps: &BTreeMap<TeamId, Bytes>,
    ) -> (Flow, Vec<FlowPath>) {
        let caps = caps.iter().filter_map(|(team, cap)| Some((graph.vertex(*team)?, cap.0))).collect();
        let (flow, paths) = self.capped(graph, scratch, &caps);
        (flow, self.name(graph, paths))
    }

    /// The same by vertex number.
    pub(crate) fn capped(
        &self,
        graph: &Graph,
        scratch: &mut Scratch,
        caps: &BTreeMap<u32, u64>,
    ) -> (Flow, Vec<VertexPath>) {
        let inner = |&vertex: &u32| ![self.from, self.to].contains(&graph.team(vertex));
        let caps = caps.iter().filter(|(vertex, _)| inner(vertex));
        let caps: Vec<_> = caps.map(|(&vertex, &bytes)| Cap { vertex, bytes }).collect();
        if caps.is_empty() {
            let flow = self.run(graph, scratch);
            return (flow, self.paths(graph, graph, scratch));
        }
        let network = Capped::new(graph, caps);
        let flow = self.on(&network, graph, scratch);
        (flow, self.paths(&network, graph, scratch))
    }

    fn on<N: Network>(&self, network: &N, graph: &Graph, scratch: &mut Scratch) -> Flow {
        let Some(Ends { source, target }) = self.ends(graph) else {
            return Flow::NOTHING;
        };
        let Limits { hops_max, arcs_max } = self.limits;
        let search = Search { network, scratch, source, target, hops_max, arcs_max, scanned: 0 };
        search.run(self.cutoff.0, self.gain)
    }

    /// The paths of the flow that the last query left in `scratch`.
    fn paths<N: Network>(&self, network: &N, graph: &Graph, scratch: &Scratch) -> Vec<VertexPath> {
        let Some(Ends { source, target }) = self.ends(graph) else {
            return Vec::new();
        };
        let arcs_of_graph = graph.arc_count();
        let inner = scratch.carried.iter().filter(|entry| (entry.arc as usize) < arcs_of_graph);
        let arcs = inner.map(|entry| paths::FlowArc {
            tail: network.vertex_of(entry.tail),
            head: network.vertex_of(entry.head),
            bytes: entry.bytes,
        });
        paths::decompose(arcs.filter(|arc| arc.bytes > 0).collect(), source, target)
    }

    fn short<'a>(&self, graph: &'a Graph) -> Option<Short<'a>> {
        #[cfg(test)]
        if tests::walks() {
            return None;
        }
        Short::new(self, graph, self.ends(graph)?)
    }

    /// Nothing if one of the ends is unknown or both are the same team.
    fn ends(&self, graph: &Graph) -> Option<Ends> {
        let ends = Ends { source: graph.vertex(self.from)?, target: graph.vertex(self.to)? };
        (ends.source != ends.target).then_some(ends)
    }

    pub(crate) fn name(&self, graph: &Graph, paths: Vec<VertexPath>) -> Vec<FlowPath> {
        let name = |path: VertexPath| FlowPath {
            teams: path.vertices.iter().map(|&vertex| graph.team(vertex)).collect(),
            bytes: Bytes(path.bytes),
        };
        let mut named: Vec<_> = paths.into_iter().map(name).collect();
        named.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.teams.cmp(&b.teams)));
        named
    }
}

/// The debtor and the creditor of a query, by vertex number.
#[derive(Clone, Copy, Debug)]
struct Ends {
    source: u32,
    target: u32,
}

/// A [`FlowPath`] by vertex number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VertexPath {
    pub(crate) vertices: Vec<u32>,
    pub(crate) bytes: u64,
}

impl VertexPath {
    /// The vertices between the ends.
    pub(crate) fn inner(&self) -> &[u32] {
        &self.vertices[1..self.vertices.len() - 1]
    }
}

#[cfg(test)]
mod tests;
