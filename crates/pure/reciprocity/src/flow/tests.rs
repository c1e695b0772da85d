//! Passing over a row's arcs is the same as looking at each of them, and so is a short flow.

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

/// A household that deals with everybody, and little between the others: most flows are short ones.
fn star(dealings: &[(u8, bool, u64)], others: &[(u8, u8, u64)]) -> Vec<(u8, u8, u64)> {
    let household = dealings
        .iter()
        .map(|&(other, gives, bytes)| if gives { (0, other, bytes) } else { (other, 0, bytes) });
    household.chain(others.iter().copied()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn a_short_flow_is_what_the_search_finds(
        dealings in prop::collection::vec((1_u8..12, any::<bool>(), 1_u64..1_000), 0..30),
        others in prop::collection::vec((1_u8..12, 1_u8..12, 1_u64..60), 0..40),
        in_rows in 0_usize..70,
        (one, is_source) in (1_u8..12, any::<bool>()),
        cutoff in prop_oneof![0_u64..300, Just(u64::MAX)],
        hops_max in prop_oneof![1_u32..4, Just(u32::MAX)],
        gain in prop_oneof![Just(1_000_u16), 0_u16..1_000],
    ) {
        let graph = graph(&star(&dealings, &others), in_rows);
        let (from, to) = if is_source { (one, 0) } else { (0, one) };
        let limits = Limits { hops_max, arcs_max: u64::MAX };
        let plain = Query { cutoff: Bytes(cutoff), limits, ..Query::new(team(from), team(to)) };
        let discounted = Query { gain: PerMille(gain), ..plain };
        let run = || {
            let mut scratch = Scratch::new();
            [plain, discounted].map(|query| {
                let (flow, paths) = query.uncapped(&graph, &mut scratch);
                let values = [flow, query.value(&graph, &mut scratch)];
                // What was looked at is what differs.
                (values.map(|flow| Flow { arcs_scanned: 0, ..flow }), paths)
            })
        };
        let short = run();
        WALKS.set(true);
        let searched = run();
        WALKS.set(false);
        prop_assert_eq!(short, searched);
    }
}

#[test]
fn most_flows_around_a_household_are_short() {
    let everybody = (1..12).flat_map(|other| [(other, true, 500), (other, false, 500)]).collect::<Vec<_>>();
    let others: Vec<_> =
        (1..12).flat_map(|who| (1..4).map(move |step| (who, (who + step) % 11 + 1, 40))).collect();
    let graph = compact(&star(&everybody, &others));
    for other in 1..12 {
        for (from, to) in [(0, other), (other, 0)] {
            let query = Query::new(team(from), team(to));
            let (short, searched) =
                (query.value(&graph, &mut Scratch::new()), query.run(&graph, &mut Scratch::new()));
            assert_eq!((short.value, short.ended), (searched.value, searched.ended));
            assert!(short.arcs_scanned < searched.arcs_scanned, "{short:?} {searched:?}");
        }
    }
}

#[test]
fn a_short_flow_ends_with_its_budget() {
    let everybody: Vec<_> = (1..12).flat_map(|other| [(other, true, 500), (other, false, 500)]).collect();
    let others: Vec<_> = (2..12).map(|who| (who, 1, 40)).collect();
    let graph = compact(&star(&everybody, &others));
    let query =
        |arcs_max| Query { limits: Limits { arcs_max, ..Limits::NONE }, ..Query::new(team(0), team(1)) };
    let cost = query(u64::MAX).value(&graph, &mut Scratch::new()).arcs_scanned;
    for arcs_max in [0, 1, cost - 1] {
        let cut = query(arcs_max);
        assert_eq!(
            cut.value(&graph, &mut Scratch::new()),
            cut.run(&graph, &mut Scratch::new()),
            "{arcs_max}"
        );
    }
    assert_eq!(query(cost).value(&graph, &mut Scratch::new()).ended, Ended::Maximum);
}

fn compact(edges: &[(u8, u8, u64)]) -> Graph {
    Graph::from_edges(edges.iter().map(|&(who, whom, bytes)| (team(who), team(whom), Bytes(bytes))))
}
