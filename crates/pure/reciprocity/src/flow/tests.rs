//! Passing over a row's arcs is the same as looking at each of them.

use super::*;
use crate::GraphConfig;
use proptest::prelude::*;
use std::cell::Cell;

thread_local! {
    static WALKS: Cell<bool> = const { Cell::new(false) };
}

/// Whether a search is to look at every arc of a row, one after the other.
pub(super) fn walks() -> bool {
    WALKS.get()
}

fn team(number: u8) -> TeamId {
    TeamId([number.wrapping_mul(151); 24])
}

/// Some arcs in rows, a few of them dead, and the others in the overlay.
fn graph(edges: &[(u8, u8, u64)], in_rows: usize) -> Graph {
    let config = GraphConfig { overlay_arcs_max: 1_000, overlay_share_max: PerMille(0) };
    let mut graph = Graph::with_config(config);
    let (first, rest) = edges.split_at(in_rows.min(edges.len()));
    first.iter().for_each(|&(who, whom, bytes)| graph.add(team(who), team(whom), Bytes(bytes)));
    graph.compact();
    first.iter().step_by(5).for_each(|&(who, whom, _)| {
        graph.subtract(team(who), team(whom), Bytes(u64::MAX));
    });
    rest.iter().for_each(|&(who, whom, bytes)| graph.add(team(who), team(whom), Bytes(bytes)));
    graph
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn the_same_is_found_along_the_same_paths_and_counted_alike(
        edges in prop::collection::vec((0_u8..14, 0_u8..14, prop_oneof![1_u64..8, 1_u64..1_000]), 0..150),
        in_rows in 0_usize..160,
        (from, to) in (0_u8..14, 0_u8..14),
        cutoff in prop_oneof![1_u64..2_000, Just(u64::MAX)],
        arcs_max in prop_oneof![0_u64..400, Just(u64::MAX)],
        hops_max in prop_oneof![1_u32..6, Just(u32::MAX)],
        gain in prop_oneof![Just(1_000_u16), 1_u16..1_000],
        caps in prop::collection::btree_map(0_u8..14, 0_u64..500, 0..4),
    ) {
        let graph = graph(&edges, in_rows);
        let limits = Limits { hops_max, arcs_max };
        let query = Query {
            cutoff: Bytes(cutoff), limits, gain: PerMille(gain), ..Query::new(team(from), team(to))
        };
        let caps: BTreeMap<_, _> = caps.iter().map(|(&number, &bytes)| (team(number), Bytes(bytes))).collect();
        let run = || {
            let mut scratch = Scratch::new();
            (query.run_with_paths(&graph, &mut scratch), query.run_capped(&graph, &mut scratch, &caps))
        };
        let passing = run();
        WALKS.set(true);
        let walking = run();
        WALKS.set(false);
        prop_assert_eq!(passing, walking);
    }
}
