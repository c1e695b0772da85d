//! The outer loop: levels from both ends, then all shortest paths at once, until no path is left.
//!
//! Dinitz's algorithm with a bidirectional, balanced search for the levels. That it explores far less than the graph
//! on networks with hubs is shown by Bläsius, Friedrich and Weyand, "Efficiently Computing Maximum Flows in Scale-Free
//! Networks", ESA 2021, <https://doi.org/10.4230/LIPIcs.ESA.2021.21>. The code is ours.

use super::network::{Network, is_live};
use super::scratch::Scratch;
use super::{Ended, Flow};
use crate::PerMille;
use crate::graph::NONE;
use guestright_units::Bytes;

/// Flow that counts is kept in units of 10⁻⁹ bytes, so that a product of gains keeps nine digits.
pub(super) const UNITS_PER_BYTE: u128 = 1_000_000_000;

/// One maximum-flow query under way.
#[derive(Debug)]
pub(super) struct Search<'a, N> {
    pub(super) network: &'a N,
    pub(super) scratch: &'a mut Scratch,
    pub(super) source: u32,
    pub(super) target: u32,
    pub(super) hops_max: u32,
    pub(super) arcs_max: u64,
    pub(super) scanned: u64,
}

/// How far the two searches went when they met: levels from the source and levels to the target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Met {
    pub(super) depths: [u32; 2],
}

/// Which end a search started from; also the index into a node's levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Source = 0,
    Target = 1,
}

impl<N: Network> Search<'_, N> {
    /// Runs until the flow that counts reaches `cutoff`, or nothing more can be found within the limits.
    ///
    /// A path of `n` arcs counts `gain` to the power of `n - 1` of what it carries.
    pub(super) fn run(mut self, cutoff: u64, gain: PerMille) -> Flow {
        self.scratch.begin(self.network.node_count(), self.network.arc_count());
        let graph = self.network.graph();
        let degree_bound = graph.took(self.source).min(graph.gave(self.target));
        let wanted = u128::from(cutoff) * UNITS_PER_BYTE;
        let (mut carried, mut counted) = (0, 0);
        let mut phases = 0;
        let ended = loop {
            if counted >= wanted {
                break Ended::Cutoff;
            }
            if carried == degree_bound {
                break Ended::Maximum;
            }
            self.scratch.begin_phase();
            let met = match self.meet() {
                Ok(met) => met,
                Err(ended) => break ended,
            };
            phases += 1;
            let worth = worth_of(gain, met.depths[0] + met.depths[1]);
            if worth == 0 {
                break Ended::Maximum;
            }
            let missing = u64::try_from((wanted - counted).div_ceil(worth)).unwrap_or(u64::MAX);
            let pushed = self.push_shortest(met, missing.min(degree_bound - carried));
            carried += pushed;
            counted += u128::from(pushed) * worth;
            if counted < wanted && carried < degree_bound && self.scanned >= self.arcs_max {
                break Ended::ArcBudget;
            }
        };
        let counted = u64::try_from(counted / UNITS_PER_BYTE).unwrap_or(u64::MAX).min(cutoff);
        let (value, arcs_scanned) = (Bytes(counted), self.scanned);
        Flow { value, carried: Bytes(carried), ended, arcs_scanned, phases }
    }

    /// Finds the length of the shortest paths with room, and the levels on the way.
    fn meet(&mut self) -> Result<Met, Ended> {
        let base = self.scratch.base;
        self.scratch.levels[self.source as usize][Side::Source as usize] = base;
        self.scratch.levels[self.target as usize][Side::Target as usize] = base;
        for (frontier, end) in self.scratch.frontiers.iter_mut().zip([self.source, self.target]) {
            frontier.clear();
            frontier.push(end);
        }
        let mut depths = [0, 0];
        let mut costs = [self.cost(Side::Source), self.cost(Side::Target)];
        loop {
            if self.scratch.frontiers.iter().any(Vec::is_empty) {
                return Err(Ended::Maximum);
            }
            if depths[0] + depths[1] == self.hops_max {
                return Err(Ended::HopLimit);
            }
            let side = if costs[0] <= costs[1] { Side::Source } else { Side::Target };
            if self.scanned + costs[side as usize] > self.arcs_max {
                return Err(Ended::ArcBudget);
            }
            depths[side as usize] += 1;
            let level = base + depths[side as usize];
            self.scratch.level_max = self.scratch.level_max.max(level);
            if self.expand(side, level) {
                return Ok(Met { depths });
            }
            costs[side as usize] = self.cost(side);
        }
    }

    /// How many arcs the rows of a frontier hold, which is what its expansion costs.
    fn cost(&self, side: Side) -> u64 {
        let row = |node: &u32| match side {
            Side::Source => self.network.out_row(*node),
            Side::Target => self.network.in_row(*node),
        };
        self.scratch.frontiers[side as usize].iter().map(|node| row(node).len() as u64).sum()
    }

    /// Moves one side's frontier a whole level on. Tells whether the two sides met.
    fn expand(&mut self, side: Side, level: u32) -> bool {
        let frontier = std::mem::take(&mut self.scratch.frontiers[side as usize]);
        let mut step = Expansion {
            base: self.scratch.base,
            level,
            side: side as usize,
            met: false,
            next: std::mem::take(&mut self.scratch.next),
            scanned: 0,
        };
        step.next.clear();
        for &node in &frontier {
            match side {
                Side::Source => self.expand_forward(node, &mut step),
                Side::Target => self.expand_backward(node, &mut step),
            }
        }
        self.scanned += step.scanned;
        self.scratch.next = frontier;
        self.scratch.frontiers[side as usize] = step.next;
        step.met
    }

    fn expand_forward(&mut self, node: u32, step: &mut Expansion) {
        let network = self.network;
        let row = network.out_row(node);
        let newest = self.scratch.first_out(node);
        step.scanned += row.len() as u64;
        for (&head, arc) in network.graph().heads(row.clone()).iter().zip(row) {
            if is_live(head)
                && step.gains(self.scratch, head)
                && (newest == NONE || !self.scratch.is_full(arc))
            {
                step.reach(self.scratch, head);
            }
        }
        let mut extra = network.first_extra_out(node);
        while extra != NONE {
            step.scanned += 1;
            if self.scratch.flow(extra) < network.capacity(extra) {
                step.reach(self.scratch, network.extra_ends(extra).1);
            }
            extra = network.next_extra_out(extra);
        }
        let mut back = self.scratch.first_in(node);
        while back != NONE {
            step.scanned += 1;
            let entry = self.scratch.carried[back as usize];
            if entry.bytes > 0 {
                step.reach(self.scratch, entry.tail);
            }
            back = entry.next_in;
        }
    }

    fn expand_backward(&mut self, node: u32, step: &mut Expansion) {
        let network = self.network;
        let row = network.in_row(node);
        let newest = self.scratch.first_in(node);
        step.scanned += row.len() as u64;
        let (tails, arcs) = network.graph().tails(row);
        for (&tail, &arc) in tails.iter().zip(arcs) {
            if !is_live(tail) {
                continue;
            }
            let node = network.out_node(tail);
            if step.gains(self.scratch, node) && (newest == NONE || !self.scratch.is_full(arc)) {
                step.reach(self.scratch, node);
            }
        }
        let mut extra = network.first_extra_in(node);
        while extra != NONE {
            step.scanned += 1;
            if self.scratch.flow(extra) < network.capacity(extra) {
                step.reach(self.scratch, network.extra_ends(extra).0);
            }
            extra = network.next_extra_in(extra);
        }
        let mut back = self.scratch.first_out(node);
        while back != NONE {
            step.scanned += 1;
            let entry = self.scratch.carried[back as usize];
            if entry.bytes > 0 {
                step.reach(self.scratch, entry.head);
            }
            back = entry.next_out;
        }
    }
}

/// One level of one side under way.
struct Expansion {
    base: u32,
    level: u32,
    side: usize,
    met: bool,
    next: Vec<u32>,
    scanned: u64,
}

impl Expansion {
    /// Whether it matters that the side reaches `node`: it has not been there. Once the sides met, only meeting points matter.
    fn gains(&self, scratch: &Scratch, node: u32) -> bool {
        let levels = scratch.levels[node as usize];
        levels[self.side] < self.base && (!self.met || levels[1 - self.side] >= self.base)
    }

    /// Notes that the side reaches `node`, if that matters.
    fn reach(&mut self, scratch: &mut Scratch, node: u32) {
        if self.gains(scratch, node) {
            let levels = &mut scratch.levels[node as usize];
            levels[self.side] = self.level;
            self.met |= levels[1 - self.side] >= self.base;
            self.next.push(node);
        }
    }
}

/// What one byte on a path of that many arcs counts, in units.
pub(super) fn worth_of(gain: PerMille, hops: u32) -> u128 {
    let mut worth = UNITS_PER_BYTE;
    if gain.0 < 1_000 {
        for _ in 1..hops {
            worth = worth * u128::from(gain.0) / 1_000;
            if worth == 0 {
                break;
            }
        }
    }
    worth
}
