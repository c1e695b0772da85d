//! Takes a flow apart into simple paths.

use super::VertexPath;
use std::collections::BTreeMap;

/// An arc and what it carries; more than zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FlowArc {
    pub(super) tail: u32,
    pub(super) head: u32,
    pub(super) bytes: u64,
}

/// Paths from `source` to `target` that add up to the flow. Flow that runs in circles is dropped.
///
/// At each vertex the arc to the smallest vertex number is taken first, so the answer depends on the flow alone.
pub(super) fn decompose(mut arcs: Vec<FlowArc>, source: u32, target: u32) -> Vec<VertexPath> {
    arcs.sort_unstable();
    // By vertex: its first arc that may still carry something.
    let mut nexts: BTreeMap<u32, usize> = BTreeMap::new();
    for (at, arc) in arcs.iter().enumerate() {
        nexts.entry(arc.tail).or_insert(at);
    }
    let mut paths = Vec::new();
    // The arcs walked since the source, and at which of them each vertex was left.
    let mut walked: Vec<usize> = Vec::new();
    let mut left_at: BTreeMap<u32, usize> = BTreeMap::new();
    let mut vertex = source;
    while let Some(arc) = next_arc(&arcs, &mut nexts, vertex) {
        left_at.insert(vertex, walked.len());
        walked.push(arc);
        vertex = arcs[arc].head;
        let circle_start = left_at.get(&vertex).copied();
        if vertex != target && circle_start.is_none() {
            continue;
        }
        let start = circle_start.unwrap_or(0);
        let bytes = walked[start..].iter().map(|&arc| arcs[arc].bytes).min().unwrap_or(0);
        for &arc in &walked[start..] {
            arcs[arc].bytes -= bytes;
        }
        if circle_start.is_none() {
            let heads = walked.iter().map(|&arc| arcs[arc].head);
            paths.push(VertexPath { vertices: std::iter::once(source).chain(heads).collect(), bytes });
            vertex = source;
        }
        for arc in walked.drain(start..) {
            left_at.remove(&arcs[arc].tail);
        }
    }
    debug_assert!(walked.is_empty(), "what enters a vertex leaves it");
    paths
}

/// The vertex's first arc with anything left on it.
fn next_arc(arcs: &[FlowArc], nexts: &mut BTreeMap<u32, usize>, vertex: u32) -> Option<usize> {
    let next = nexts.get_mut(&vertex)?;
    while let Some(arc) = arcs.get(*next).filter(|arc| arc.tail == vertex) {
        if arc.bytes > 0 {
            return Some(*next);
        }
        *next += 1;
    }
    None
}
