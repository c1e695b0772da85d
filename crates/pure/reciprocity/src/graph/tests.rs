use super::*;

fn team(number: u8) -> TeamId {
    TeamId([number; 24])
}

fn triangle() -> Graph {
    Graph::from_edges([
        (team(1), team(2), Bytes(10)),
        (team(2), team(3), Bytes(5)),
        (team(1), team(2), Bytes(1)),
        (team(3), team(3), Bytes(99)),
    ])
}

#[test]
fn sums_pairs_and_ignores_trade_with_oneself() {
    let graph = triangle();
    assert_eq!(graph.capacity(team(1), team(2)), Bytes(11));
    assert_eq!(graph.capacity(team(2), team(1)), Bytes(0));
    assert_eq!((graph.in_capacity(team(2)), graph.out_capacity(team(2))), (Bytes(11), Bytes(5)));
    assert_eq!((graph.team_count(), graph.edge_count()), (3, 2));
    assert!(graph.knows(team(3)) && !graph.knows(team(4)));
}

#[test]
fn a_pair_that_loses_all_can_come_back() {
    let mut graph = triangle();
    graph.subtract(team(1), team(2), Bytes(1_000));
    assert_eq!(graph.capacity(team(1), team(2)), Bytes(0));
    assert_eq!(graph.edge_count(), 1);
    assert!(!graph.knows(team(1)));
    graph.add(team(1), team(2), Bytes(3));
    assert_eq!(graph.capacity(team(1), team(2)), Bytes(3));
    assert_eq!(graph.edges().count(), 2);
    graph.subtract(team(3), team(1), Bytes(1));
    assert_eq!(graph.edge_count(), 2);
}

#[test]
fn compacting_forgets_teams_without_bytes() {
    let mut graph = triangle();
    graph.subtract(team(1), team(2), Bytes(11));
    assert_eq!(graph.team_count(), 3);
    graph.compact();
    assert_eq!(graph.teams().collect::<Vec<_>>(), [team(2), team(3)]);
    assert_eq!(graph.edge_count(), 1);
}

#[test]
fn a_full_overlay_moves_into_the_rows() {
    let config = GraphConfig { overlay_arcs_max: 3, overlay_share_max: PerMille(0) };
    let mut graph = Graph::with_config(config);
    for number in 1..=4 {
        assert_eq!(graph.overlay.len(), usize::from(number) - 1);
        graph.add(team(0), team(number), Bytes(1));
    }
    assert_eq!((graph.overlay.len(), graph.heads.len()), (0, 4));
    graph.add(team(9), team(0), Bytes(1));
    assert_eq!((graph.overlay.len(), graph.edge_count(), graph.team_count()), (1, 5, 6));
}

#[test]
fn an_overlay_grows_with_the_rows_and_is_merged_when_it_is_past_its_share() {
    let number = |number: u16| {
        let mut id = [0; 24];
        id[..2].copy_from_slice(&number.to_be_bytes());
        TeamId(id)
    };
    let mut graph = Graph::from_edges((0..4_000).map(|to| (number(9_000), number(to), Bytes(1))));
    graph.config = GraphConfig { overlay_arcs_max: 3, overlay_share_max: PerMille(5) };
    for more in 1..=20 {
        graph.add(number(9_001), number(more), Bytes(1));
        assert_eq!((graph.overlay.len(), graph.heads.len()), (usize::from(more), 4_000), "5 of a thousand");
    }
    graph.add(number(9_001), number(21), Bytes(1));
    assert_eq!((graph.overlay.len(), graph.heads.len()), (0, 4_021));
}

#[test]
fn a_graph_without_bytes_knows_nobody() {
    let nothing = Graph::from_edges([(team(1), team(2), Bytes(0))]);
    assert_eq!((nothing.team_count(), nothing.edge_count(), nothing.edges().count()), (0, 0, 0));
    let mut graph = Graph::new();
    graph.add(team(1), team(2), Bytes(0));
    graph.add(team(3), team(3), Bytes(7));
    assert_eq!((graph.team_count(), graph.edge_count()), (0, 0));
    graph.add(team(1), team(2), Bytes(4));
    // Who only gave and who only took are both known.
    assert!(graph.knows(team(1)) && graph.knows(team(2)));
    graph.subtract(team(1), team(2), Bytes(4));
    graph.add(team(3), team(4), Bytes(1));
    graph.compact();
    assert_eq!(graph.teams().collect::<Vec<_>>(), [team(3), team(4)]);
    assert_eq!(graph.edges().map(|edge| edge.bytes).collect::<Vec<_>>(), [Bytes(1)]);
}
