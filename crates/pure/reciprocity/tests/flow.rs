//! Flows against petgraph and against definitions, on random graphs.

use guestright_reciprocity::{Ended, FlowPath, Graph, GraphConfig, Limits, PerMille, Query, Scratch};
use guestright_units::{Bytes, TeamId};
use petgraph::graph::{DiGraph, NodeIndex};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, VecDeque};

const TEAMS: u8 = 12;

type Edges = Vec<(u8, u8, u64)>;

fn team(number: u8) -> TeamId {
    let mut id = [0; 24];
    // Ids are not in the order of the numbers.
    id[0] = number.wrapping_mul(151);
    id[1] = number;
    TeamId(id)
}

fn edges() -> impl Strategy<Value = Edges> {
    let bytes = prop_oneof![1u64..10, 1u64..1_000_000, Just(u64::MAX)];
    prop::collection::vec((0..TEAMS, 0..TEAMS, bytes), 0..70)
}

/// Small numbers, where sums cannot overflow petgraph.
fn small_edges() -> impl Strategy<Value = Edges> {
    prop::collection::vec((0..TEAMS, 0..TEAMS, prop_oneof![1u64..6, 1u64..1_000_000]), 0..70)
}

fn graph_of(edges: &Edges) -> Graph {
    Graph::from_edges(edges.iter().map(|&(c, p, bytes)| (team(c), team(p), Bytes(bytes))))
}

/// The same graph with only a few pairs in the rows, some of them dead, and a stale past.
fn overlaid(edges: &Edges, in_rows: usize) -> Graph {
    let config = GraphConfig { overlay_arcs_max: 1_000, overlay_share_max: PerMille(0) };
    let mut graph = Graph::with_config(config);
    let add = |graph: &mut Graph, edges: &[(u8, u8, u64)]| {
        edges.iter().for_each(|&(c, p, bytes)| graph.add(team(c), team(p), Bytes(bytes)));
    };
    let first = &edges[..in_rows.min(edges.len())];
    add(&mut graph, first);
    graph.add(team(0), team(1), Bytes(77));
    graph.add(team(200), team(1), Bytes(5));
    graph.compact();
    first.iter().for_each(|&(c, p, bytes)| graph.subtract(team(c), team(p), Bytes(bytes)));
    graph.subtract(team(0), team(1), Bytes(77));
    graph.subtract(team(200), team(1), Bytes(6));
    add(&mut graph, edges);
    graph
}

/// petgraph's flow over split vertices, where `caps` limits what passes.
fn oracle(edges: &Edges, from: u8, to: u8, caps: &BTreeMap<u8, u64>) -> u64 {
    let mut graph = DiGraph::<(), u64>::new();
    let entries: Vec<NodeIndex> = (0..TEAMS).map(|_| graph.add_node(())).collect();
    let exits: Vec<NodeIndex> = (0..TEAMS).map(|_| graph.add_node(())).collect();
    for vertex in 0..TEAMS {
        let cap = if vertex == from || vertex == to { None } else { caps.get(&vertex) };
        graph.add_edge(
            entries[usize::from(vertex)],
            exits[usize::from(vertex)],
            cap.copied().unwrap_or(u64::MAX / 4),
        );
    }
    for &(c, p, bytes) in edges {
        if c != p {
            graph.add_edge(exits[usize::from(c)], entries[usize::from(p)], bytes);
        }
    }
    petgraph::algo::dinics(&graph, exits[usize::from(from)], entries[usize::from(to)]).0
}

fn exact(graph: &Graph, scratch: &mut Scratch, from: u8, to: u8) -> u64 {
    let flow = Query::new(team(from), team(to)).run(graph, scratch);
    assert_eq!(flow.ended, Ended::Maximum);
    flow.value.0
}

/// Panics unless the paths are simple, run along edges, respect capacities and add up to `value`.
fn check_paths(graph: &Graph, query: Query, paths: &[FlowPath], value: Bytes) {
    let mut carried: BTreeMap<(TeamId, TeamId), u64> = BTreeMap::new();
    for path in paths {
        assert!(path.bytes > Bytes(0));
        assert_eq!((path.teams[0], path.teams[path.teams.len() - 1]), (query.from, query.to));
        let mut distinct = path.teams.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), path.teams.len(), "a path visits no team twice");
        for pair in path.teams.windows(2) {
            *carried.entry((pair[0], pair[1])).or_insert(0) += path.bytes.0;
        }
    }
    for ((consumer, provider), bytes) in carried {
        assert!(Bytes(bytes) <= graph.capacity(consumer, provider), "an edge carries too much");
    }
    assert_eq!(Bytes(paths.iter().map(|path| path.bytes.0).sum()), value);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn values_are_those_of_petgraph(edges in small_edges(), in_rows in 0usize..70) {
        let (rows, mixed) = (graph_of(&edges), overlaid(&edges, in_rows));
        let mut scratch = Scratch::new();
        for from in 0..4 {
            for to in 4..8 {
                let want = oracle(&edges, from, to, &BTreeMap::new());
                prop_assert_eq!(exact(&rows, &mut scratch, from, to), want);
                prop_assert_eq!(exact(&mixed, &mut scratch, from, to), want, "overlay");
                prop_assert_eq!(exact(&rows, &mut Scratch::new(), from, to), want, "fresh scratch");
            }
        }
    }

    #[test]
    fn an_overlay_changes_no_figure(edges in edges(), in_rows in 0usize..70) {
        // Sums that stopped at the largest number do not come apart again.
        let edges: Edges = edges.into_iter().map(|(c, p, bytes)| (c, p, bytes.min(1 << 60))).collect();
        let (rows, mut mixed) = (graph_of(&edges), overlaid(&edges, in_rows));
        for _ in 0..2 {
            prop_assert_eq!(rows.edges().collect::<Vec<_>>(), mixed.edges().collect::<Vec<_>>());
            prop_assert_eq!(rows.edge_count(), mixed.edge_count());
            for vertex in (0..TEAMS).map(team) {
                prop_assert_eq!(rows.in_capacity(vertex), mixed.in_capacity(vertex));
                prop_assert_eq!(rows.out_capacity(vertex), mixed.out_capacity(vertex));
                prop_assert_eq!(rows.knows(vertex), mixed.knows(vertex));
            }
            mixed.compact();
        }
        prop_assert_eq!(rows.teams().collect::<Vec<_>>(), mixed.teams().collect::<Vec<_>>());
    }

    #[test]
    fn paths_add_up_and_are_the_same_each_time(edges in edges(), in_rows in 0usize..70) {
        let mut scratch = Scratch::new();
        for graph in [graph_of(&edges), overlaid(&edges, in_rows)] {
            for (from, to) in [(0, 5), (5, 0), (1, 2)] {
                let query = Query::new(team(from), team(to));
                let (flow, paths) = query.run_with_paths(&graph, &mut scratch);
                check_paths(&graph, query, &paths, flow.carried);
                prop_assert_eq!(flow.carried, flow.value);
                let again = query.run_with_paths(&graph.clone(), &mut Scratch::new());
                prop_assert_eq!(again, (flow, paths));
            }
        }
    }

    #[test]
    fn a_cutoff_is_reached_or_the_maximum_is(edges in small_edges(), cutoff in 0u64..2_000_000) {
        let graph = graph_of(&edges);
        let want = oracle(&edges, 0, 1, &BTreeMap::new());
        let query = Query { cutoff: Bytes(cutoff), ..Query::new(team(0), team(1)) };
        let (flow, paths) = query.run_with_paths(&graph, &mut Scratch::new());
        prop_assert_eq!(flow.value, Bytes(want.min(cutoff)));
        prop_assert!(flow.exact());
        prop_assert!(flow.ended == Ended::Cutoff || flow.value == Bytes(want));
        check_paths(&graph, query, &paths, flow.value);
    }

    #[test]
    fn a_budget_gives_a_lower_bound(edges in small_edges(), arcs_max in 0u64..200) {
        let graph = graph_of(&edges);
        let want = oracle(&edges, 0, 1, &BTreeMap::new());
        let limits = Limits { arcs_max, ..Limits::NONE };
        let query = Query { limits, ..Query::new(team(0), team(1)) };
        let (flow, paths) = query.run_with_paths(&graph, &mut Scratch::new());
        prop_assert!(flow.value <= Bytes(want));
        prop_assert!(flow.value == Bytes(want) || flow.ended == Ended::ArcBudget);
        let carrying = edges.len() as u64;
        prop_assert!(flow.arcs_scanned <= arcs_max + carrying, "{} of {arcs_max}", flow.arcs_scanned);
        check_paths(&graph, query, &paths, flow.value);
    }

    #[test]
    fn a_hop_limit_leaves_only_longer_paths(edges in small_edges(), hops_max in 0u32..7) {
        let graph = graph_of(&edges);
        let limits = Limits { hops_max, ..Limits::NONE };
        let query = Query { limits, ..Query::new(team(0), team(1)) };
        let (flow, paths) = query.run_with_paths(&graph, &mut Scratch::new());
        check_paths(&graph, query, &paths, flow.value);
        let left = shortest_residual(&graph, &paths, team(0), team(1));
        prop_assert!(left.is_none_or(|hops| hops > hops_max), "{left:?} hops are left");
        let direct = graph.capacity(team(0), team(1)).0;
        let through = |middle: u8| {
            graph.capacity(team(0), team(middle)).min(graph.capacity(team(middle), team(1))).0
        };
        let two: u64 = (2..TEAMS).map(through).sum();
        match hops_max {
            0 => prop_assert_eq!(flow.value.0, 0),
            1 => prop_assert_eq!(flow.value.0, direct),
            2 => prop_assert_eq!(flow.value.0, direct + two),
            _ => prop_assert!(flow.value.0 >= direct + two),
        }
        let want = oracle(&edges, 0, 1, &BTreeMap::new());
        prop_assert!(flow.value.0 == want || flow.ended == Ended::HopLimit);
    }

    #[test]
    fn limits_on_teams_are_those_of_split_vertices(
        edges in small_edges(),
        caps in prop::collection::btree_map(0..TEAMS, prop_oneof![0u64..8, 0u64..1_000_000], 0..12),
        in_rows in 0usize..70,
    ) {
        let mut scratch = Scratch::new();
        let named: BTreeMap<_, _> = caps.iter().map(|(&number, &cap)| (team(number), Bytes(cap))).collect();
        for graph in [graph_of(&edges), overlaid(&edges, in_rows)] {
            for (from, to) in [(0, 1), (1, 0), (2, 3)] {
                let query = Query::new(team(from), team(to));
                let (flow, paths) = query.run_capped(&graph, &mut scratch, &named);
                prop_assert_eq!(flow.value.0, oracle(&edges, from, to, &caps));
                check_paths(&graph, query, &paths, flow.value);
                let mut through: BTreeMap<TeamId, u64> = BTreeMap::new();
                for path in &paths {
                    for inner in &path.teams[1..path.teams.len() - 1] {
                        *through.entry(*inner).or_insert(0) += path.bytes.0;
                    }
                }
                prop_assert!(through.iter().all(|(id, bytes)| named.get(id).is_none_or(|cap| *bytes <= cap.0)));
            }
        }
    }

    #[test]
    fn a_gain_discounts_by_length(edges in small_edges(), gain in 0u16..1_200) {
        let graph = graph_of(&edges);
        let mut scratch = Scratch::new();
        let plain = exact(&graph, &mut scratch, 0, 1);
        let direct = graph.capacity(team(0), team(1)).0;
        let query = Query { gain: PerMille(gain), ..Query::new(team(0), team(1)) };
        let flow = query.run(&graph, &mut scratch);
        prop_assert!(flow.value.0 <= plain && flow.value.0 >= direct);
        if gain >= 1_000 {
            prop_assert_eq!(flow.value.0, plain);
        }
        if gain == 0 {
            prop_assert_eq!(flow.value.0, direct);
        }
        for cutoff in [Bytes(1), Bytes(flow.value.0 / 2), flow.value] {
            let cut = Query { cutoff, ..query }.run(&graph, &mut scratch);
            prop_assert_eq!(cut.value, cutoff.min(flow.value));
        }
    }
}

/// The shortest way that still has room, counting arcs walked backwards, by plain breadth-first search.
fn shortest_residual(graph: &Graph, paths: &[FlowPath], from: TeamId, to: TeamId) -> Option<u32> {
    let mut room: BTreeMap<(TeamId, TeamId), u64> = BTreeMap::new();
    for edge in graph.edges() {
        *room.entry((edge.consumer, edge.provider)).or_insert(0) += edge.bytes.0;
    }
    for path in paths {
        for pair in path.teams.windows(2) {
            *room.get_mut(&(pair[0], pair[1])).expect("paths run along edges") -= path.bytes.0;
            *room.entry((pair[1], pair[0])).or_insert(0) += path.bytes.0;
        }
    }
    let mut distance = BTreeMap::from([(from, 0)]);
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        for next in graph.teams() {
            if room.get(&(at, next)).is_some_and(|left| *left > 0) && !distance.contains_key(&next) {
                distance.insert(next, distance[&at] + 1);
                queue.push_back(next);
            }
        }
    }
    distance.get(&to).copied()
}

#[test]
fn a_chain_is_as_strong_as_its_weakest_link() {
    let links: Edges = vec![(0, 1, 9), (1, 2, 4), (2, 3, 7)];
    let graph = graph_of(&links);
    let query = Query::new(team(0), team(3));
    let (flow, paths) = query.run_with_paths(&graph, &mut Scratch::new());
    assert_eq!((flow.value, flow.ended, flow.phases), (Bytes(4), Ended::Maximum, 1));
    assert_eq!(paths, [FlowPath { teams: (0..4).map(team).collect(), bytes: Bytes(4) }]);
    let discounted = Query { gain: PerMille(500), ..query }.run(&graph, &mut Scratch::new());
    assert_eq!(
        (discounted.value, discounted.carried),
        (Bytes(1), Bytes(4)),
        "two teams in between: a quarter"
    );
}

#[test]
fn a_limit_holds_for_each_of_many_teams() {
    let links: Edges = (2..250).flat_map(|by| [(0, by, 10), (by, 1, 10)]).collect();
    let graph = graph_of(&links);
    let query = Query::new(team(0), team(1));
    let mut scratch = Scratch::new();
    for by in 2..250 {
        let (flow, _) = query.run_capped(&graph, &mut scratch, &BTreeMap::from([(team(by), Bytes(3))]));
        assert_eq!(flow.value, Bytes(248 * 10 - 7), "{by}");
    }
}

#[test]
fn a_flow_is_rerouted_backwards_where_that_helps() {
    // The short way 0 1 2 3 blocks both long ones until it is taken back.
    let links: Edges = vec![
        (0, 1, 1),
        (1, 2, 1),
        (2, 3, 1),
        (0, 4, 1),
        (4, 5, 1),
        (5, 2, 1),
        (1, 6, 1),
        (6, 7, 1),
        (7, 3, 1),
    ];
    assert_eq!(exact(&graph_of(&links), &mut Scratch::new(), 0, 3), 2);
}

#[test]
fn capacities_stop_at_the_largest_number() {
    let links: Edges = vec![(0, 1, u64::MAX), (0, 1, 5), (1, 2, u64::MAX), (0, 2, u64::MAX)];
    let graph = graph_of(&links);
    assert_eq!(graph.capacity(team(0), team(1)), Bytes(u64::MAX));
    assert_eq!(graph.out_capacity(team(0)), Bytes(u64::MAX));
    let flow = Query::new(team(0), team(2)).run(&graph, &mut Scratch::new());
    assert_eq!(flow.value, Bytes(u64::MAX));
}

#[test]
fn an_unknown_end_or_the_same_one_twice_gives_nothing() {
    let graph = graph_of(&vec![(0, 1, 3)]);
    for (from, to) in [(0, 9), (9, 1), (0, 0)] {
        assert_eq!(exact(&graph, &mut Scratch::new(), from, to), 0);
    }
}

#[test]
fn one_scratch_serves_graphs_of_all_sizes() {
    let mut scratch = Scratch::new();
    for size in [3, 200, 5, 90] {
        let chain: Edges = (0..size).map(|at| (at, at + 1, u64::from(at) + 2)).collect();
        assert_eq!(exact(&graph_of(&chain), &mut scratch, 0, size), 2, "{size}");
    }
}

#[test]
fn values_are_those_of_petgraph_on_a_town_with_hubs() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let mut below = |limit: u64| rng.next_u64() % limit;
    // Every second visit goes to one of a few popular teams; the rest is local.
    let edges: Vec<(u64, u64, u64)> = (0..4_000)
        .map(|_| {
            let consumer = below(600);
            let provider = if below(2) == 0 { below(8) * below(8) } else { (consumer + 1 + below(6)) % 600 };
            (consumer, provider, 1 + below(1_000))
        })
        .filter(|(consumer, provider, _)| consumer != provider)
        .collect();
    let id = |number: u64| {
        let mut id = [0; 24];
        id[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        TeamId(id)
    };
    let graph = Graph::from_edges(edges.iter().map(|&(c, p, bytes)| (id(c), id(p), Bytes(bytes))));
    let node = |number: u64| NodeIndex::new(usize::try_from(number).expect("below 600"));
    let theirs: DiGraph<(), u64> =
        DiGraph::from_edges(edges.iter().map(|&(c, p, bytes)| (node(c), node(p), bytes)));
    let mut scratch = Scratch::new();
    for _ in 0..60 {
        let (from, to) = (below(600), below(600));
        if from == to {
            continue;
        }
        let query = Query::new(id(from), id(to));
        let (flow, paths) = query.run_with_paths(&graph, &mut scratch);
        assert_eq!(flow.value.0, petgraph::algo::dinics(&theirs, node(from), node(to)).0);
        check_paths(&graph, query, &paths, flow.value);
    }
}
