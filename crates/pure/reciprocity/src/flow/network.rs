//! What the kernel walks: the graph as it is, or the graph with limits on what may pass through some teams.

use crate::graph::{DEAD, Graph, NONE};
use std::ops::Range;

/// Nodes and arcs by number. A node's arcs are a row (consecutive numbers) and then a linked list of extra ones.
///
/// Rows name the far node's team; [`Network::out_node`] turns a tail's team into the node that its arcs leave from.
/// Arcs always enter a team at the node that has the team's own number.
pub(super) trait Network {
    fn node_count(&self) -> usize;
    fn arc_count(&self) -> usize;
    fn graph(&self) -> &Graph;
    fn capacity(&self, arc: u32) -> u64;
    fn out_node(&self, vertex: u32) -> u32;
    fn vertex_of(&self, node: u32) -> u32;
    fn out_row(&self, node: u32) -> Range<u32>;
    fn in_row(&self, node: u32) -> Range<u32>;
    fn first_extra_out(&self, node: u32) -> u32;
    fn first_extra_in(&self, node: u32) -> u32;
    fn next_extra_out(&self, arc: u32) -> u32;
    fn next_extra_in(&self, arc: u32) -> u32;
    /// Tail and head of an extra arc, as nodes.
    fn extra_ends(&self, arc: u32) -> (u32, u32);
}

impl Network for Graph {
    fn node_count(&self) -> usize {
        self.team_count()
    }

    fn arc_count(&self) -> usize {
        Graph::arc_count(self)
    }

    fn graph(&self) -> &Graph {
        self
    }

    fn capacity(&self, arc: u32) -> u64 {
        self.capacity_of(arc)
    }

    fn out_node(&self, vertex: u32) -> u32 {
        vertex
    }

    fn vertex_of(&self, node: u32) -> u32 {
        node
    }

    fn out_row(&self, node: u32) -> Range<u32> {
        Graph::out_row(self, node)
    }

    fn in_row(&self, node: u32) -> Range<u32> {
        Graph::in_row(self, node)
    }

    fn first_extra_out(&self, node: u32) -> u32 {
        Graph::first_extra_out(self, node)
    }

    fn first_extra_in(&self, node: u32) -> u32 {
        Graph::first_extra_in(self, node)
    }

    fn next_extra_out(&self, arc: u32) -> u32 {
        Graph::next_extra_out(self, arc)
    }

    fn next_extra_in(&self, arc: u32) -> u32 {
        Graph::next_extra_in(self, arc)
    }

    fn extra_ends(&self, arc: u32) -> (u32, u32) {
        Graph::extra_ends(self, arc)
    }
}

/// The graph with a limit on what may pass through each of some vertices.
///
/// A limited vertex is split in two: arcs enter at its own number, leave from a node numbered after all vertices,
/// and an inner arc, numbered after all arcs, joins the two with the limit as its capacity.
#[derive(Debug)]
pub(super) struct Capped<'a> {
    graph: &'a Graph,
    caps: Vec<Cap>,
    /// A bit per vertex number modulo its size: clear means "not limited" without a look at `caps`.
    filter: [u64; 64],
}

/// The most that may pass through a vertex.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cap {
    pub(super) vertex: u32,
    pub(super) bytes: u64,
}

impl<'a> Capped<'a> {
    /// `caps` are in the order of their vertices, each named once.
    pub(super) fn new(graph: &'a Graph, caps: Vec<Cap>) -> Self {
        debug_assert!(caps.is_sorted_by(|a, b| a.vertex < b.vertex), "sorted, each once");
        let mut filter = [0; 64];
        for Cap { vertex, .. } in &caps {
            filter[(vertex / 64 % 64) as usize] |= 1 << (vertex % 64);
        }
        Self { graph, caps, filter }
    }

    fn cap_at(&self, vertex: u32) -> Option<usize> {
        if self.filter[(vertex / 64 % 64) as usize] & 1 << (vertex % 64) == 0 {
            return None;
        }
        self.caps.binary_search_by_key(&vertex, |cap| cap.vertex).ok()
    }

    /// The number of a node or arc that lies beyond the graph's own.
    fn beyond(count: usize, at: usize) -> u32 {
        u32::try_from(count + at).expect("limits are far fewer than numbers")
    }

    /// Which limit a node beyond the graph's own belongs to.
    fn split(&self, node: u32) -> Option<usize> {
        (node as usize).checked_sub(self.graph.team_count())
    }

    fn inner_arc(&self, at: usize) -> u32 {
        Self::beyond(self.graph.arc_count(), at)
    }
}

impl Network for Capped<'_> {
    fn node_count(&self) -> usize {
        self.graph.team_count() + self.caps.len()
    }

    fn arc_count(&self) -> usize {
        self.graph.arc_count() + self.caps.len()
    }

    fn graph(&self) -> &Graph {
        self.graph
    }

    fn capacity(&self, arc: u32) -> u64 {
        match (arc as usize).checked_sub(self.graph.arc_count()) {
            Some(at) => self.caps[at].bytes,
            None => self.graph.capacity_of(arc),
        }
    }

    fn out_node(&self, vertex: u32) -> u32 {
        self.cap_at(vertex).map_or(vertex, |at| Self::beyond(self.graph.team_count(), at))
    }

    fn vertex_of(&self, node: u32) -> u32 {
        self.split(node).map_or(node, |at| self.caps[at].vertex)
    }

    fn out_row(&self, node: u32) -> Range<u32> {
        if self.split(node).is_none() && self.cap_at(node).is_some() {
            return 0..0;
        }
        self.graph.out_row(self.vertex_of(node))
    }

    fn in_row(&self, node: u32) -> Range<u32> {
        if self.split(node).is_some() { 0..0 } else { self.graph.in_row(node) }
    }

    fn first_extra_out(&self, node: u32) -> u32 {
        match self.split(node) {
            Some(at) => self.graph.first_extra_out(self.caps[at].vertex),
            None => {
                self.cap_at(node).map_or_else(|| self.graph.first_extra_out(node), |at| self.inner_arc(at))
            }
        }
    }

    fn first_extra_in(&self, node: u32) -> u32 {
        match self.split(node) {
            Some(at) => self.inner_arc(at),
            None => self.graph.first_extra_in(node),
        }
    }

    fn next_extra_out(&self, arc: u32) -> u32 {
        if arc as usize >= self.graph.arc_count() { NONE } else { self.graph.next_extra_out(arc) }
    }

    fn next_extra_in(&self, arc: u32) -> u32 {
        if arc as usize >= self.graph.arc_count() { NONE } else { self.graph.next_extra_in(arc) }
    }

    fn extra_ends(&self, arc: u32) -> (u32, u32) {
        if let Some(at) = (arc as usize).checked_sub(self.graph.arc_count()) {
            return (self.caps[at].vertex, Self::beyond(self.graph.team_count(), at));
        }
        let (tail, head) = self.graph.extra_ends(arc);
        (self.out_node(tail), head)
    }
}

/// Whether a row's entry may be followed at all.
pub(super) const fn is_live(entry: u32) -> bool {
    entry & DEAD == 0
}
