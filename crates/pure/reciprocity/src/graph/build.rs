//! Making the rows.

use super::{Graph, GraphConfig, NONE, Totals, Vertex};
use guestright_units::{Bytes, TeamId};
use std::collections::BTreeMap;

/// Tail and head in one number that sorts by tail first.
pub(super) fn pair_key(tail: u32, head: u32) -> u64 {
    u64::from(tail) << 32 | u64::from(head)
}

fn pair_of(key: u64) -> (usize, usize) {
    let low = key & u64::from(u32::MAX);
    let number = |half: u64| usize::try_from(half).expect("half a key has 32 bits");
    (number(key >> 32), number(low))
}

pub(super) fn from_edges(
    config: GraphConfig,
    edges: impl IntoIterator<Item = (TeamId, TeamId, Bytes)>,
) -> Graph {
    let mut index = BTreeMap::new();
    let mut triples = Vec::new();
    let mut number = |team: TeamId| -> u32 {
        let next = u32::try_from(index.len()).expect("memory ends before 2^31 teams");
        *index.entry(team).or_insert(next)
    };
    for (consumer, provider, bytes) in edges {
        if consumer != provider && bytes.0 > 0 {
            triples.push((pair_key(number(consumer), number(provider)), bytes.0));
        }
    }
    build(config, &index, triples)
}

/// Numbers the teams that have arcs in the order of their ids, and lays the arcs out in rows.
///
/// `triples` are pair keys in the numbers of `index`, with their bytes; pairs may repeat.
pub(super) fn build(
    config: GraphConfig,
    index: &BTreeMap<TeamId, u32>,
    mut triples: Vec<(u64, u64)>,
) -> Graph {
    let (teams, renumbered) = renumber(index, &triples);
    for (key, _) in &mut triples {
        let (tail, head) = pair_of(*key);
        *key = pair_key(renumbered[tail], renumbered[head]);
    }
    triples.sort_unstable_by_key(|&(key, _)| key);
    triples.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(later.1);
        }
        same
    });
    let (vertices, totals) = rows(teams.len(), &triples);
    let (tails, tail_arcs) = reverse(&vertices, &triples);
    let vertex = |at: usize| u32::try_from(at).expect("fewer than 2^31 teams");
    Graph {
        config,
        index: teams.iter().enumerate().map(|(at, &team)| (team, vertex(at))).collect(),
        teams,
        vertices,
        totals,
        heads: triples.iter().map(|&(key, _)| vertex(pair_of(key).1)).collect(),
        capacities: triples.iter().map(|&(_, bytes)| bytes).collect(),
        tails,
        tail_arcs,
        overlay: Vec::new(),
        overlay_pairs: BTreeMap::new(),
        edges_live: triples.len(),
    }
}

/// The teams that some arc touches, sorted, and their new numbers by old number.
fn renumber(index: &BTreeMap<TeamId, u32>, triples: &[(u64, u64)]) -> (Vec<TeamId>, Vec<u32>) {
    let mut used = vec![false; index.len()];
    for &(key, _) in triples {
        let (tail, head) = pair_of(key);
        used[tail] = true;
        used[head] = true;
    }
    let mut teams = Vec::new();
    let mut renumbered = vec![NONE; index.len()];
    for (&team, &old) in index {
        if used[old as usize] {
            renumbered[old as usize] = u32::try_from(teams.len()).expect("fewer than 2^31 teams");
            teams.push(team);
        }
    }
    (teams, renumbered)
}

/// Where each row begins, forward and reverse, and the sums.
fn rows(teams: usize, triples: &[(u64, u64)]) -> (Vec<Vertex>, Vec<Totals>) {
    let mut vertices = vec![Vertex { out_start: 0, in_start: 0, extra_out: NONE, extra_in: NONE }; teams + 1];
    let mut totals = vec![Totals::default(); teams];
    u32::try_from(triples.len()).expect("memory ends before 2^32 arcs");
    for &(key, bytes) in triples {
        let (tail, head) = pair_of(key);
        vertices[tail + 1].out_start += 1;
        vertices[head + 1].in_start += 1;
        totals[tail].took += u128::from(bytes);
        totals[head].gave += u128::from(bytes);
    }
    for at in 0..teams {
        vertices[at + 1].out_start += vertices[at].out_start;
        vertices[at + 1].in_start += vertices[at].in_start;
    }
    (vertices, totals)
}

/// The reverse rows: tails and arc numbers, by head. Tails ascend in each row because the arcs do.
fn reverse(vertices: &[Vertex], triples: &[(u64, u64)]) -> (Vec<u32>, Vec<u32>) {
    let mut next: Vec<u32> = vertices.iter().map(|vertex| vertex.in_start).collect();
    let mut tails = vec![0; triples.len()];
    let mut arcs = vec![0; triples.len()];
    for (arc, &(key, _)) in triples.iter().enumerate() {
        let (tail, head) = pair_of(key);
        let position = next[head] as usize;
        next[head] += 1;
        tails[position] = u32::try_from(tail).expect("fewer than 2^31 teams");
        arcs[position] = u32::try_from(arc).expect("fewer than 2^32 arcs");
    }
    (tails, arcs)
}
