//! The receipt graph: who owes whom how many bytes.
//!
//! A vertex is a team. An arc runs from a consumer to a provider; its capacity is the sum of what the consumer's
//! members signed for, so an arc reads "owes". Most arcs sit in a compressed sparse row, forward and reverse; pairs
//! seen since the last merge sit in an overlay of linked lists. Both are walked alike, so a maximum flow has the same
//! value wherever an arc sits. The capacity of a known pair changes in place.

mod build;

use crate::PerMille;
use guestright_units::{Bytes, TeamId};
use std::collections::BTreeMap;
use std::ops::Range;

/// Set on a row entry whose arc has lost all its capacity, so that a search need not load the capacity.
pub(crate) const DEAD: u32 = 1 << 31;
/// "No arc": the end of a linked list.
pub(crate) const NONE: u32 = u32::MAX;

/// When new pairs move from the overlay into the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphConfig {
    /// The overlay may always hold this many arcs.
    pub overlay_arcs_max: u32,
    /// Beyond that it may hold this share of the arcs in the rows, so that merging costs a constant per new pair.
    pub overlay_share_max: PerMille,
}

impl Default for GraphConfig {
    fn default() -> Self {
        Self { overlay_arcs_max: 4_096, overlay_share_max: PerMille(125) }
    }
}

/// One arc of the receipt graph: what one team owes another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The team whose members signed.
    pub consumer: TeamId,
    /// The team that carried the traffic.
    pub provider: TeamId,
    /// The sum of the live receipts between the two.
    pub bytes: Bytes,
}

/// Teams and what they owe each other. See the module's text for the layout.
#[derive(Clone, Debug)]
pub struct Graph {
    config: GraphConfig,
    teams: Vec<TeamId>,
    index: BTreeMap<TeamId, u32>,
    /// One more than there are teams: a row ends where the next begins.
    vertices: Vec<Vertex>,
    totals: Vec<Totals>,
    /// By arc: where it leads, perhaps [`DEAD`].
    heads: Vec<u32>,
    /// By arc: bytes.
    capacities: Vec<u64>,
    /// By position in the reverse rows: where the arc comes from (perhaps [`DEAD`]), and the arc.
    tails: Vec<u32>,
    tail_arcs: Vec<u32>,
    /// Arcs since the last merge; they are numbered after those of the rows.
    overlay: Vec<OverlayArc>,
    overlay_pairs: BTreeMap<(u32, u32), u32>,
    edges_live: usize,
}

/// Where a vertex's arcs are: together in one record, for one cache miss.
#[derive(Clone, Copy, Debug)]
struct Vertex {
    out_start: u32,
    in_start: u32,
    extra_out: u32,
    extra_in: u32,
}

/// Sums over a vertex's arcs; wide, because each arc alone may hold the largest `u64`.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    gave: u128,
    took: u128,
}

#[derive(Clone, Copy, Debug)]
struct OverlayArc {
    tail: u32,
    head: u32,
    next_out: u32,
    next_in: u32,
    capacity: u64,
}

impl Default for Graph {
    fn default() -> Self {
        Self::new()
    }
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Self {
        Self::with_config(GraphConfig::default())
    }

    /// An empty graph that merges its overlay by `config`.
    pub fn with_config(config: GraphConfig) -> Self {
        build::build(config, &BTreeMap::new(), Vec::new())
    }

    /// The graph of `(consumer, provider, bytes)`: repeated pairs are summed, a team's trade with itself is ignored.
    pub fn from_edges(edges: impl IntoIterator<Item = (TeamId, TeamId, Bytes)>) -> Self {
        build::from_edges(GraphConfig::default(), edges)
    }

    /// Adds to what `consumer` owes `provider`. The sum stops at the largest `u64`. Trade with oneself is ignored.
    pub fn add(&mut self, consumer: TeamId, provider: TeamId, bytes: Bytes) {
        if consumer == provider || bytes.0 == 0 {
            return;
        }
        let (tail, head) = (self.vertex_or_new(consumer), self.vertex_or_new(provider));
        match self.find(tail, head) {
            Some(arc) => self.set_capacity(arc, tail, head, self.capacity_of(arc).saturating_add(bytes.0)),
            None => self.push_overlay(tail, head, bytes.0),
        }
    }

    /// Takes from what `consumer` owes `provider`, for receipts that were evicted or replaced.
    ///
    /// Stops at zero: a caller that subtracts more than it added loses the difference, and an unknown pair is left
    /// alone.
    pub fn subtract(&mut self, consumer: TeamId, provider: TeamId, bytes: Bytes) {
        if let (Some(tail), Some(head)) = (self.vertex(consumer), self.vertex(provider))
            && let Some(arc) = self.find(tail, head)
        {
            self.set_capacity(arc, tail, head, self.capacity_of(arc).saturating_sub(bytes.0));
        }
    }

    /// Merges the overlay into the rows, and forgets teams and pairs without any bytes left.
    ///
    /// What results is what [`Graph::from_edges`] makes of [`Graph::edges`], so it no longer depends on the order in
    /// which the edges came. Costs a pass over the whole graph.
    pub fn compact(&mut self) {
        let mut triples = Vec::with_capacity(self.edges_live);
        for tail in 0..u32::try_from(self.teams.len()).expect("vertices are numbered in 31 bits") {
            for (head, arc) in self.out_arcs(tail) {
                let capacity = self.capacity_of(arc);
                if capacity > 0 {
                    triples.push((build::pair_key(tail, head), capacity));
                }
            }
        }
        *self = build::build(self.config, &self.index, triples);
    }

    /// What the team gave to others: all that others owe it. Stops at the largest `u64`.
    pub fn in_capacity(&self, team: TeamId) -> Bytes {
        self.vertex(team).map_or(Bytes(0), |vertex| Bytes(self.gave(vertex)))
    }

    /// What the team took from others: all that it owes. Stops at the largest `u64`.
    pub fn out_capacity(&self, team: TeamId) -> Bytes {
        self.vertex(team).map_or(Bytes(0), |vertex| Bytes(self.took(vertex)))
    }

    /// What `consumer` owes `provider` directly.
    pub fn capacity(&self, consumer: TeamId, provider: TeamId) -> Bytes {
        let found = self.vertex(consumer).zip(self.vertex(provider));
        let arc = found.and_then(|(tail, head)| self.find(tail, head));
        Bytes(arc.map_or(0, |arc| self.capacity_of(arc)))
    }

    /// Whether the team gave or took anything.
    pub fn knows(&self, team: TeamId) -> bool {
        self.vertex(team).is_some_and(|vertex| self.gave(vertex) > 0 || self.took(vertex) > 0)
    }

    /// How many teams have a vertex; teams that lost all their bytes count until [`Graph::compact`].
    pub fn team_count(&self) -> usize {
        self.teams.len()
    }

    /// How many pairs of teams have bytes between them.
    pub fn edge_count(&self) -> usize {
        self.edges_live
    }

    /// The teams, in the order of their ids.
    pub fn teams(&self) -> impl Iterator<Item = TeamId> + '_ {
        self.index.keys().copied()
    }

    /// The edges with bytes on them, in the order of consumer and then provider.
    pub fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        self.index.iter().flat_map(|(&consumer, &tail)| {
            let edge = |(head, arc)| Edge {
                consumer,
                provider: self.team(head),
                bytes: Bytes(self.capacity_of(arc)),
            };
            let mut row: Vec<_> = self.out_arcs(tail).map(edge).filter(|edge| edge.bytes.0 > 0).collect();
            row.sort_unstable();
            row
        })
    }

    fn vertex_or_new(&mut self, team: TeamId) -> u32 {
        if let Some(vertex) = self.vertex(team) {
            return vertex;
        }
        let vertex = u32::try_from(self.teams.len()).expect("memory ends before 2^31 teams");
        assert!(vertex < DEAD - 1, "vertices are numbered in 31 bits");
        self.index.insert(team, vertex);
        self.teams.push(team);
        self.totals.push(Totals::default());
        let end = self.vertices[self.vertices.len() - 1];
        self.vertices.push(end);
        vertex
    }

    fn push_overlay(&mut self, tail: u32, head: u32, capacity: u64) {
        let arc = u32::try_from(self.arc_count()).expect("memory ends before 2^32 arcs");
        let next_out = std::mem::replace(&mut self.vertices[tail as usize].extra_out, arc);
        let next_in = std::mem::replace(&mut self.vertices[head as usize].extra_in, arc);
        self.overlay.push(OverlayArc { tail, head, next_out, next_in, capacity: 0 });
        self.overlay_pairs.insert((tail, head), arc);
        self.set_capacity(arc, tail, head, capacity);
        let share = self.heads.len() / 1_000 * usize::from(self.config.overlay_share_max.0);
        if self.overlay.len() > share.max(self.config.overlay_arcs_max as usize) {
            self.compact();
        }
    }

    /// Changes an arc's capacity, and with it the sums, the count and the [`DEAD`] marks.
    fn set_capacity(&mut self, arc: u32, tail: u32, head: u32, capacity: u64) {
        let (row_arcs, at) = (self.heads.len(), arc as usize);
        let slot = match at.checked_sub(row_arcs) {
            None => &mut self.capacities[at],
            Some(at) => &mut self.overlay[at].capacity,
        };
        let before = std::mem::replace(slot, capacity);
        let took = &mut self.totals[tail as usize].took;
        *took = *took - u128::from(before) + u128::from(capacity);
        let gave = &mut self.totals[head as usize].gave;
        *gave = *gave - u128::from(before) + u128::from(capacity);
        self.edges_live = self.edges_live - usize::from(before > 0) + usize::from(capacity > 0);
        if at < row_arcs && (before == 0) != (capacity == 0) {
            self.heads[at] ^= DEAD;
            let row = self.in_row(head);
            let position = find_in_row(&self.tails, row, tail).expect("every forward arc has its reverse");
            self.tails[position as usize] ^= DEAD;
        }
    }

    fn find(&self, tail: u32, head: u32) -> Option<u32> {
        find_in_row(&self.heads, self.out_row(tail), head).or_else(|| {
            let extra = (self.first_extra_out(tail) != NONE).then_some(&self.overlay_pairs)?;
            extra.get(&(tail, head)).copied()
        })
    }
}

/// What the flow kernel sees: vertices and arcs by number.
impl Graph {
    /// All arcs out of `tail` as (head, arc), those of the rows first.
    pub(crate) fn out_arcs(&self, tail: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let row = self.out_row(tail).map(|arc| (self.heads[arc as usize] & !DEAD, arc));
        let first = self.first_extra_out(tail);
        let extra = std::iter::successors((first != NONE).then_some(first), |&arc| {
            let next = self.next_extra_out(arc);
            (next != NONE).then_some(next)
        });
        row.chain(extra.map(|arc| (self.extra_ends(arc).1, arc)))
    }

    /// All arcs into `head` as (tail, arc), those of the rows first.
    pub(crate) fn in_arcs(&self, head: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let (tails, arcs) = self.tails(self.in_row(head));
        let row = tails.iter().zip(arcs).map(|(tail, arc)| (tail & !DEAD, *arc));
        let first = self.first_extra_in(head);
        let extra = std::iter::successors((first != NONE).then_some(first), |&arc| {
            let next = self.next_extra_in(arc);
            (next != NONE).then_some(next)
        });
        row.chain(extra.map(|arc| (self.extra_ends(arc).0, arc)))
    }

    pub(crate) fn arc(&self, tail: u32, head: u32) -> Option<u32> {
        self.find(tail, head)
    }

    /// The same arc, found among those that enter `head`.
    pub(crate) fn arc_into(&self, tail: u32, head: u32) -> Option<u32> {
        let position = find_in_row(&self.tails, self.in_row(head), tail);
        position.map(|position| self.tail_arcs[position as usize]).or_else(|| {
            let extra = (self.first_extra_in(head) != NONE).then_some(&self.overlay_pairs)?;
            extra.get(&(tail, head)).copied()
        })
    }

    pub(crate) fn vertex(&self, team: TeamId) -> Option<u32> {
        self.index.get(&team).copied()
    }

    pub(crate) fn team(&self, vertex: u32) -> TeamId {
        self.teams[vertex as usize]
    }

    pub(crate) fn gave(&self, vertex: u32) -> u64 {
        u64::try_from(self.totals[vertex as usize].gave).unwrap_or(u64::MAX)
    }

    pub(crate) fn took(&self, vertex: u32) -> u64 {
        u64::try_from(self.totals[vertex as usize].took).unwrap_or(u64::MAX)
    }

    pub(crate) fn arc_count(&self) -> usize {
        self.heads.len() + self.overlay.len()
    }

    pub(crate) fn capacity_of(&self, arc: u32) -> u64 {
        let at = arc as usize;
        match self.capacities.get(at) {
            Some(capacity) => *capacity,
            None => self.overlay[at - self.heads.len()].capacity,
        }
    }

    /// The arcs out of `vertex` that sit in the rows.
    pub(crate) fn out_row(&self, vertex: u32) -> Range<u32> {
        let at = vertex as usize;
        self.vertices[at].out_start..self.vertices[at + 1].out_start
    }

    /// The positions in the reverse rows of the arcs into `vertex`.
    pub(crate) fn in_row(&self, vertex: u32) -> Range<u32> {
        let at = vertex as usize;
        self.vertices[at].in_start..self.vertices[at + 1].in_start
    }

    pub(crate) fn heads(&self, row: Range<u32>) -> &[u32] {
        &self.heads[row.start as usize..row.end as usize]
    }

    /// The arc in a part of a row that leads to `head`, even if nothing is left on it.
    pub(crate) fn find_head(&self, row: Range<u32>, head: u32) -> Option<u32> {
        find_in_row(&self.heads, row, head)
    }

    pub(crate) fn tails(&self, row: Range<u32>) -> (&[u32], &[u32]) {
        let row = row.start as usize..row.end as usize;
        (&self.tails[row.clone()], &self.tail_arcs[row])
    }

    pub(crate) fn first_extra_out(&self, vertex: u32) -> u32 {
        self.vertices[vertex as usize].extra_out
    }

    pub(crate) fn first_extra_in(&self, vertex: u32) -> u32 {
        self.vertices[vertex as usize].extra_in
    }

    pub(crate) fn next_extra_out(&self, arc: u32) -> u32 {
        self.overlay[arc as usize - self.heads.len()].next_out
    }

    pub(crate) fn next_extra_in(&self, arc: u32) -> u32 {
        self.overlay[arc as usize - self.heads.len()].next_in
    }

    /// Tail and head of an overlay arc.
    pub(crate) fn extra_ends(&self, arc: u32) -> (u32, u32) {
        let arc = &self.overlay[arc as usize - self.heads.len()];
        (arc.tail, arc.head)
    }
}

/// The position of `wanted` in a row that is sorted without regard to [`DEAD`].
fn find_in_row(entries: &[u32], row: Range<u32>, wanted: u32) -> Option<u32> {
    let slice = &entries[row.start as usize..row.end as usize];
    let found = slice.binary_search_by_key(&wanted, |entry| entry & !DEAD).ok()?;
    Some(row.start + u32::try_from(found).expect("a row is shorter than all rows"))
}

#[cfg(test)]
mod tests;
