//! Flow over at most one team in between, where nothing more can flow: found by one walk along the arcs of one end.
//!
//! Of every byte that a team took, or gave, one of its arcs says with whom. If the arcs of one end and their partners at the other end
//! carry all that is asked for, or all that an end ever took or gave, no longer path can add to it, and each of these paths
//! carries the smaller of its two arcs. That is what [`Search`](super::search::Search) finds too, in its phases of one arc and of two;
//! among members of a community who all dealt with a household, it is most questions.

use super::search::{UNITS_PER_BYTE, worth_of};
use super::{Ended, Ends, Flow, Query, VertexPath};
use crate::Graph;
use crate::graph::NONE;
use guestright_units::Bytes;

/// A question whose answer may be that short.
#[derive(Debug)]
pub(super) struct Short<'a> {
    graph: &'a Graph,
    source: u32,
    target: u32,
    /// Over the arc from the source to the target.
    direct: u64,
    /// Over a team in between: so much is asked for.
    missing: u64,
    worth: u128,
    ended: Ended,
    arcs_max: u64,
}

/// What passes through one team in between.
#[derive(Clone, Copy, Debug)]
struct Via {
    vertex: u32,
    /// The arc from the source.
    arc: u32,
    bytes: u64,
}

/// How the walk goes on after a team in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walk {
    On,
    /// Enough was found; what else is looked at is not counted.
    OnUncounted,
    End,
}

impl<'a> Short<'a> {
    /// Nothing if the limits do not let both kinds of path be looked at.
    pub(super) fn new(query: &Query, graph: &'a Graph, ends: Ends) -> Option<Self> {
        let Ends { source, target } = ends;
        let worth = worth_of(query.gain, 2);
        if query.limits.hops_max < 2 || worth == 0 {
            return None;
        }
        let all = graph.took(source).min(graph.gave(target));
        let arc = graph.arc(source, target);
        let direct = arc.map_or(0, |arc| graph.capacity_of(arc)).min(all).min(query.cutoff.0);
        let counts = u128::from(query.cutoff.0 - direct) * UNITS_PER_BYTE;
        let until_cutoff = u64::try_from(counts.div_ceil(worth)).unwrap_or(u64::MAX);
        let missing = until_cutoff.min(all - direct);
        let ended = if missing == until_cutoff { Ended::Cutoff } else { Ended::Maximum };
        Some(Self { graph, source, target, direct, missing, worth, ended, arcs_max: query.limits.arcs_max })
    }

    /// The flow, if that is all of it.
    pub(super) fn flow(&self, cutoff: Bytes) -> Option<Flow> {
        let mut found = 0_u64;
        let arcs_scanned = self.walk(|via| {
            found = found.saturating_add(via.bytes);
            if found < self.missing { Walk::On } else { Walk::End }
        })?;
        (found >= self.missing).then(|| self.answer(cutoff, arcs_scanned))
    }

    /// The same with its paths, as [`decompose`](super::paths::decompose) sorts them. It counts as many arcs, though it has to look
    /// at all of them to know which are filled first.
    pub(super) fn paths(&self, cutoff: Bytes) -> Option<(Flow, Vec<VertexPath>)> {
        let (mut found, mut vias) = (0_u64, Vec::new());
        let arcs_scanned = self.walk(|via| {
            found = found.saturating_add(via.bytes);
            vias.push(via);
            if found < self.missing { Walk::On } else { Walk::OnUncounted }
        })?;
        if found < self.missing {
            return None;
        }
        if found > self.missing {
            self.fill_in_order(&mut vias);
        }
        vias.push(Via { vertex: self.target, arc: NONE, bytes: self.direct });
        vias.sort_unstable_by_key(|via| via.vertex);
        let vertices = |vertex| {
            if vertex == self.target {
                vec![self.source, self.target]
            } else {
                vec![self.source, vertex, self.target]
            }
        };
        let paths = vias.iter().filter(|via| via.bytes > 0);
        let paths =
            paths.map(|via| VertexPath { vertices: vertices(via.vertex), bytes: via.bytes }).collect();
        Some((self.answer(cutoff, arcs_scanned), paths))
    }

    /// Leaves no more than what is asked for: what a search fills first, which follows the source's row and then its overlay,
    /// the newest arc first.
    fn fill_in_order(&self, vias: &mut [Via]) {
        let row = self.graph.out_row(self.source);
        vias.sort_unstable_by_key(
            |via| if row.contains(&via.arc) { (false, via.arc) } else { (true, !via.arc) },
        );
        let mut left = self.missing;
        for via in vias {
            via.bytes = via.bytes.min(left);
            left -= via.bytes;
        }
    }

    fn answer(&self, cutoff: Bytes, arcs_scanned: u64) -> Flow {
        let counted = u128::from(self.direct) * UNITS_PER_BYTE + u128::from(self.missing) * self.worth;
        let value = u64::try_from(counted / UNITS_PER_BYTE).unwrap_or(u64::MAX).min(cutoff.0);
        let phases = u32::from(self.direct > 0) + u32::from(self.missing > 0);
        let (value, carried) = (Bytes(value), Bytes(self.direct + self.missing));
        Flow { value, carried, ended: self.ended, arcs_scanned, phases }
    }

    /// Walks along the arcs of the end that has fewer of them. Tells how many were looked at, or nothing if too much has no way on, or
    /// the budget is too small.
    fn walk(&self, mut found: impl FnMut(Via) -> Walk) -> Option<u64> {
        let mut scanned = 2; // The arc from end to end, on the way there and on the way back.
        if self.missing == 0 {
            return (scanned <= self.arcs_max).then_some(scanned);
        }
        let graph = self.graph;
        let from_source = self.source_has_fewer();
        let all = if from_source { graph.took(self.source) } else { graph.gave(self.target) };
        // What may go nowhere, so that what is missing is still found.
        let mut spare = all.saturating_sub(self.direct).saturating_sub(self.missing);
        let mut is_counted = true;
        let mut step = |vertex: u32, near: u32| {
            if is_counted {
                scanned += 2;
                (scanned <= self.arcs_max).then_some(())?;
            }
            if vertex == self.source || vertex == self.target {
                return Some(Walk::On);
            }
            let capacity = graph.capacity_of(near);
            let far = if from_source {
                graph.arc_into(vertex, self.target)
            } else {
                graph.arc(self.source, vertex)
            };
            let bytes = far.map_or(0, |far| graph.capacity_of(far)).min(capacity);
            if is_counted {
                spare = spare.checked_sub(capacity - bytes)?;
            }
            let via = far.filter(|_| bytes > 0);
            let via = via.map(|far| Via { vertex, arc: if from_source { near } else { far }, bytes });
            let walk = via.map_or(Walk::On, &mut found);
            is_counted &= walk != Walk::OnUncounted;
            Some(walk)
        };
        let mut walk = |arcs: &mut dyn Iterator<Item = (u32, u32)>| {
            for (vertex, arc) in arcs {
                if step(vertex, arc)? == Walk::End {
                    break;
                }
            }
            Some(())
        };
        if from_source {
            walk(&mut graph.out_arcs(self.source))?;
        } else {
            walk(&mut graph.in_arcs(self.target))?;
        }
        Some(scanned)
    }

    /// Whether fewer arcs leave the source than enter the target; the shorter list of those in the overlay is walked once.
    fn source_has_fewer(&self) -> bool {
        let graph = self.graph;
        let [mut out, mut into] = [graph.out_row(self.source).len(), graph.in_row(self.target).len()];
        let (mut extra_out, mut extra_in) =
            (graph.first_extra_out(self.source), graph.first_extra_in(self.target));
        while extra_out != NONE && extra_in != NONE {
            (out, into) = (out + 1, into + 1);
            (extra_out, extra_in) = (graph.next_extra_out(extra_out), graph.next_extra_in(extra_in));
        }
        // Of the longer list one arc is known to be left.
        (out + usize::from(extra_out != NONE)) <= (into + usize::from(extra_in != NONE))
    }
}
