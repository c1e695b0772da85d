//! Memory that a query needs, kept between queries.
//!
//! Every array is as long as the graph, but none is cleared as a whole: levels count from a base that grows with each
//! phase, records carry the number of the query or phase that wrote them, and what carried flow is listed. So a query
//! pays for what it touched.

use crate::graph::NONE;

/// Reusable memory for flow queries, on any graph; it holds nothing that an answer depends on.
#[derive(Debug, Default)]
pub struct Scratch {
    /// By node: distance from the source and to the target, each plus `base` of the phase that wrote it.
    pub(super) levels: Vec<[u32; 2]>,
    pub(super) base: u32,
    /// The largest level ever written.
    pub(super) level_max: u32,
    pub(super) states: Vec<NodeState>,
    pub(super) query: u32,
    pub(super) phase: u32,
    /// By arc that is listed: its number in `carried`.
    slots: Vec<u32>,
    /// By arc, one bit: the arc has a slot. Where most have none, this is small enough to stay near the processor.
    listed: Vec<u64>,
    /// By arc, one bit: the arc carries all it can.
    full: Vec<u64>,
    /// The arcs that carried flow in this query, in the order in which they first did.
    pub(super) carried: Vec<Carried>,
    pub(super) frontiers: [Vec<u32>; 2],
    pub(super) next: Vec<u32>,
    pub(super) path: Vec<Step>,
}

/// What a query notes at a node that it visited.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NodeState {
    /// The query in which the two lists are valid.
    query: u32,
    /// Newest entry of `carried` that leaves, and that enters, this node.
    out: u32,
    into: u32,
    /// The phase in which the cursor is valid.
    phase: u32,
    cursor: Cursor,
}

/// The arc that a depth-first search follows, or tries next, at a node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cursor {
    /// An arc of the node's row.
    Row(u32),
    /// An arc of its list of extra ones.
    Extra(u32),
    /// An arc into the node that carries flow, by its number in `carried`; it is walked backwards.
    Back(u32),
}

impl Default for Cursor {
    fn default() -> Self {
        Self::Back(NONE)
    }
}

/// An arc that carries flow, or did earlier in this query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried {
    pub(super) arc: u32,
    pub(super) tail: u32,
    pub(super) head: u32,
    pub(super) next_out: u32,
    pub(super) next_in: u32,
    pub(super) bytes: u64,
}

/// One arc of the path under construction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) arc: u32,
    pub(super) backwards: bool,
    pub(super) residual: u64,
}

impl Scratch {
    /// Empty memory; it grows to the size of the graphs that it serves.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes ready for a query on a network of that size.
    pub(super) fn begin(&mut self, nodes: usize, arcs: usize) {
        for entry in self.carried.drain(..) {
            self.listed[entry.arc as usize / 64] = 0;
            self.full[entry.arc as usize / 64] = 0;
        }
        if self.levels.len() < nodes {
            self.levels.resize(nodes, [0; 2]);
            self.states.resize(nodes, NodeState::default());
        }
        if self.slots.len() < arcs {
            self.slots.resize(arcs, 0);
            self.listed.resize(arcs.div_ceil(64), 0);
            self.full.resize(arcs.div_ceil(64), 0);
        }
        if self.query == u32::MAX || self.phase > u32::MAX / 2 {
            self.states.fill(NodeState::default());
            (self.query, self.phase) = (0, 0);
        }
        self.query += 1;
    }

    /// Forgets all levels and cursors.
    pub(super) fn begin_phase(&mut self) {
        let longest = u32::try_from(self.levels.len()).expect("nodes are numbered in 32 bits");
        if self.level_max.checked_add(longest).is_none_or(|end| end > u32::MAX - 2) {
            self.levels.fill([0; 2]);
            self.level_max = 0;
        }
        self.level_max += 1;
        self.base = self.level_max;
        self.phase += 1;
    }

    pub(super) fn flow(&self, arc: u32) -> u64 {
        if self.is_listed(arc) { self.carried[self.slots[arc as usize] as usize].bytes } else { 0 }
    }

    fn is_listed(&self, arc: u32) -> bool {
        self.listed[arc as usize / 64] >> (arc % 64) & 1 == 1
    }

    pub(super) fn is_full(&self, arc: u32) -> bool {
        self.full[arc as usize / 64] >> (arc % 64) & 1 == 1
    }

    /// The newest entry of `carried` out of the node, or [`NONE`].
    pub(super) fn first_out(&self, node: u32) -> u32 {
        let state = &self.states[node as usize];
        if state.query == self.query { state.out } else { NONE }
    }

    /// The newest entry of `carried` into the node, or [`NONE`].
    pub(super) fn first_in(&self, node: u32) -> u32 {
        let state = &self.states[node as usize];
        if state.query == self.query { state.into } else { NONE }
    }

    pub(super) fn cursor(&self, node: u32) -> Option<Cursor> {
        let state = &self.states[node as usize];
        (state.phase == self.phase).then_some(state.cursor)
    }

    pub(super) fn set_cursor(&mut self, node: u32, cursor: Cursor) {
        let state = &mut self.states[node as usize];
        state.phase = self.phase;
        state.cursor = cursor;
    }

    /// Puts `bytes` more on the arc from `tail` to `head`, which has room for `capacity` in all.
    pub(super) fn push(&mut self, arc: u32, tail: u32, head: u32, bytes: u64, capacity: u64) {
        let at =
            if self.is_listed(arc) { self.slots[arc as usize] as usize } else { self.list(arc, tail, head) };
        let carried = &mut self.carried[at].bytes;
        *carried += bytes;
        if *carried == capacity {
            self.full[arc as usize / 64] |= 1 << (arc % 64);
        }
    }

    /// Takes `bytes` off an arc that carries at least as many.
    pub(super) fn pull(&mut self, arc: u32, bytes: u64) {
        let slot = self.slots[arc as usize] as usize;
        self.carried[slot].bytes -= bytes;
        self.full[arc as usize / 64] &= !(1 << (arc % 64));
    }

    fn list(&mut self, arc: u32, tail: u32, head: u32) -> usize {
        let at = self.carried.len();
        let number = u32::try_from(at).expect("there are no more of them than arcs");
        let (next_out, next_in) = (self.first_out(tail), self.first_in(head));
        self.carried.push(Carried { arc, tail, head, next_out, next_in, bytes: 0 });
        self.slots[arc as usize] = number;
        self.listed[arc as usize / 64] |= 1 << (arc % 64);
        self.state_of(tail).out = number;
        self.state_of(head).into = number;
        at
    }

    /// The node's record, its lists emptied if another query left them.
    fn state_of(&mut self, node: u32) -> &mut NodeState {
        let state = &mut self.states[node as usize];
        if state.query != self.query {
            (state.query, state.out, state.into) = (self.query, NONE, NONE);
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Graph, Query};
    use guestright_units::{Bytes, TeamId};

    fn team(number: u8) -> TeamId {
        TeamId([number; 24])
    }

    #[test]
    fn an_arc_is_full_only_while_it_carries_all_it_can() {
        let mut scratch = Scratch::new();
        scratch.begin(3, 130);
        for arc in [0, 1, 63, 64, 129] {
            scratch.push(arc, 0, 1, 4, 4);
        }
        scratch.pull(1, 1);
        scratch.pull(129, 4);
        let full: Vec<_> = (0..130).filter(|arc| scratch.is_full(*arc)).collect();
        assert_eq!(full, [0, 63, 64]);
        assert_eq!([scratch.flow(1), scratch.flow(64), scratch.flow(129)], [3, 4, 0]);
    }

    #[test]
    fn a_scratch_whose_numbers_run_out_begins_anew_and_errs_in_nothing() {
        // The short way from 0 to 3 blocks both long ones until it is taken back, so a query takes two phases.
        let ways = [(0, 1), (1, 2), (2, 3), (0, 4), (4, 5), (5, 2), (1, 6), (6, 7), (7, 3)];
        let graph = Graph::from_edges(ways.map(|(c, p)| (team(c), team(p), Bytes(1))));
        let ask = |scratch: &mut Scratch, number: u8| {
            let query = Query::new(team(number % 3), team(3 + number % 5));
            query.run_with_paths(&graph, scratch)
        };
        type Wear = fn(&mut Scratch);
        let worn: [Wear; 3] = [
            |scratch| scratch.query = u32::MAX - 5,
            |scratch| scratch.phase = u32::MAX - 9,
            |scratch| scratch.level_max = u32::MAX - 30,
        ];
        for wear in worn {
            let mut scratch = Scratch::new();
            // What these leave behind is what the first numbers after the last would be taken for.
            for number in 0..8 {
                ask(&mut scratch, number);
            }
            wear(&mut scratch);
            for number in 0..60 {
                assert_eq!(ask(&mut scratch, number), ask(&mut Scratch::new(), number), "query {number}");
            }
        }
    }
}
