//! What answers cost, and what a budget leaves of them.

use guestright_reciprocity::{
    Basis, Decision, Ended, Flow, GrantRule, Graph, GraphConfig, Judge, JudgeConfig, Limits, PerMille,
    Policy, Query, Request, RequestWeight, Scratch, ServiceClass, StrangerConfig, StrangerCounters, Verdict,
};
use guestright_units::{Bytes, TeamId};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn team(number: u16) -> TeamId {
    let mut id = [0; 24];
    id[..2].copy_from_slice(&number.to_be_bytes());
    TeamId(id)
}

fn graph_of(edges: &[(u16, u16, u64)]) -> Graph {
    Graph::from_edges(edges.iter().map(|&(c, p, bytes)| (team(c), team(p), Bytes(bytes))))
}

/// The same graph with nothing in its rows.
fn overlaid(edges: &[(u16, u16, u64)]) -> Graph {
    let config = GraphConfig { overlay_arcs_max: u32::MAX, overlay_share_max: PerMille(0) };
    let mut graph = Graph::with_config(config);
    edges.iter().for_each(|&(c, p, bytes)| graph.add(team(c), team(p), Bytes(bytes)));
    graph
}

fn ask(graph: &Graph, from: u16, to: u16, arcs_max: u64) -> Flow {
    let limits = Limits { arcs_max, ..Limits::NONE };
    Query { limits, ..Query::new(team(from), team(to)) }.run(graph, &mut Scratch::new())
}

/// From 0 to 3: the short way over 1 and 2 blocks both long ones until it is taken back.
const DETOUR: [(u16, u16, u64); 9] =
    [(0, 1, 1), (1, 2, 1), (2, 3, 1), (0, 4, 1), (4, 5, 1), (5, 2, 1), (1, 6, 1), (6, 7, 1), (7, 3, 1)];

#[test]
fn an_answer_costs_every_arc_that_was_looked_at() {
    // A chain: three arcs until the ends meet, three on the way and four on the way back, three to find nothing more.
    let chain = [(0, 1, 9), (1, 2, 4), (2, 3, 7)];
    // From the end of fewer arcs: one that the row of 3 does not hold yet, then the row of 1. Then both on the way, and
    // both again to find the source cut off: it is the sum of what it gave that ends the search here.
    let mut mixed = graph_of(&[(0, 1, 9), (0, 5, 9), (0, 6, 9)]);
    mixed.add(team(1), team(3), Bytes(4));
    #[rustfmt::skip]
    let cases = [
        ("one arc",             graph_of(&[(0, 1, 5)]), 0, 1, 2),
        ("a chain",             graph_of(&chain),       0, 3, 13),
        ("a chain, overlaid",   overlaid(&chain),       0, 3, 13),
        ("a detour",            graph_of(&DETOUR),      0, 3, 36),
        ("a detour, overlaid",  overlaid(&DETOUR),      0, 3, 40),
        ("rows and overlay",    mixed,                  0, 3, 4),
        ("nothing to be found", graph_of(&chain),       3, 0, 0),
    ];
    for (what, graph, from, to, want) in cases {
        assert_eq!(ask(&graph, from, to, u64::MAX).arcs_scanned, want, "{what}");
    }
}

#[test]
fn a_hub_is_not_walked_when_the_other_end_is_cheaper() {
    // Team 1000 has traded with a thousand others, 1001 with one of them.
    let mut edges: Vec<(u16, u16, u64)> = (0..1_000).map(|other| (1_000, other, 5)).collect();
    edges.push((7, 1_001, 3));
    let there = ask(&graph_of(&edges), 1_000, 1_001, u64::MAX);
    assert_eq!((there.value, there.ended), (Bytes(3), Ended::Maximum));
    let back: Vec<_> = edges.iter().map(|&(consumer, provider, bytes)| (provider, consumer, bytes)).collect();
    let back = ask(&graph_of(&back), 1_001, 1_000, u64::MAX);
    assert_eq!((back.value, back.ended), (Bytes(3), Ended::Maximum));
    assert!(back.arcs_scanned < 20, "{} arcs", back.arcs_scanned);
    assert!(there.arcs_scanned < 20, "{} arcs", there.arcs_scanned);
}

#[test]
fn a_level_is_not_begun_that_does_not_fit_in_the_budget() {
    let star: Vec<(u16, u16, u64)> = (1..=10).flat_map(|via| [(0, via, 1), (via, 11, 1)]).collect();
    let graph = graph_of(&star);
    let flow = ask(&graph, 0, 11, 9);
    assert_eq!((flow.value, flow.ended, flow.arcs_scanned), (Bytes(0), Ended::ArcBudget, 0));
    let flow = ask(&graph, 0, 11, 10);
    assert_eq!((flow.value, flow.ended, flow.arcs_scanned), (Bytes(0), Ended::ArcBudget, 10));
}

fn judge(arcs_max: u64, policy: Policy) -> Judge {
    let strangers = StrangerConfig { bootstrap_target: Bytes(0), ..StrangerConfig::default() };
    let limits = Limits { arcs_max, ..Limits::NONE };
    let config = JudgeConfig { limits, policy, strangers, ..JudgeConfig::default() };
    Judge::new(config, StrangerCounters::default())
}

fn decide(judge: &Judge, graph: &Graph, provider: u16, consumer: u16, request: u64) -> Decision {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let request = Request { provider: team(provider), consumer: team(consumer), bytes: Bytes(request) };
    judge.decide(graph, &mut Scratch::new(), request, &mut rng)
}

#[test]
fn who_gave_nothing_is_a_debtor_when_the_budget_is_too_small_to_tell() {
    // Team 3 owes team 1 and nobody else; nothing connects it with team 2, which others owe.
    let graph = graph_of(&[(3, 1, 5), (4, 2, 5), (5, 2, 5)]);
    let basis = |arcs_max| decide(&judge(arcs_max, Policy::Srm), &graph, 2, 3, 1).basis;
    assert_eq!(basis(0), Basis::GaveNothing { took: Bytes(5) });
    assert!(matches!(basis(u64::MAX), Basis::Stranger { .. }));
    let probe = ask(&graph, 3, 2, u64::MAX).arcs_scanned;
    assert!(matches!(basis(2 * probe), Basis::Stranger { .. }), "half of the budget is for the debt");
    assert_eq!(basis(2 * probe - 1), Basis::GaveNothing { took: Bytes(5) });
}

#[test]
fn a_decision_on_a_small_budget_says_at_least_and_at_most() {
    let graph = graph_of(&[(1, 2, 50), (2, 0, 10), (3, 0, 90), (0, 1, 30)]);
    let cut = decide(&judge(1, Policy::Srm), &graph, 0, 1, 0);
    let Basis::Flow { exact, owed_by_consumer, .. } = cut.basis else { panic!("{cut:?}") };
    assert_eq!((exact, owed_by_consumer, cut.verdict), (false, Bytes(50), Verdict::Refused));
    assert_eq!(
        cut.reason(),
        "Refused: directly and through others this household owes the team at least 0 B and the team owes at most \
         50 B here; in all it gave 30 B and took 50 B (ratio 0.000); it earns service by serving others at home, or \
         by showing receipts not yet seen here."
    );
    let whole = decide(&judge(u64::MAX, Policy::Srm), &graph, 0, 1, 40);
    assert_eq!(
        whole.reason(),
        "Served in the middle class: directly and through others this household owes the team 30 B and the team owes \
         10 B here, before the 40 B it asks for; in all it gave 30 B and took 50 B (ratio 0.600)."
    );
    // Debt and credit share the budget: with the first exact and the second not, the whole is not.
    let budgets = (1..60).map(|arcs_max| decide(&judge(arcs_max, Policy::Srm), &graph, 0, 1, 40));
    for decision in budgets {
        let Basis::Flow { exact, owed_to_consumer, owed_by_consumer, .. } = decision.basis else { continue };
        let right = (owed_to_consumer, owed_by_consumer) == (Bytes(30), Bytes(10));
        assert!(right || !exact, "{decision:?}");
    }
}

/// Larger is better for who asks.
fn rank(decision: &Decision) -> Option<ServiceClass> {
    match decision.verdict {
        Verdict::Granted(class) => Some(class),
        Verdict::Refused => None,
    }
}

#[test]
fn a_cut_does_not_make_a_stranger_of_who_is_owed_too_little() {
    // 1 owes nobody anything; the provider owes it 500 bytes, along a path that a small budget does not find.
    let graph = graph_of(&[(0, 2, 900), (2, 1, 500), (3, 0, 700)]);
    let chances = |arcs_max| {
        let basis = decide(&judge(arcs_max, Policy::Srm), &graph, 0, 1, 1_000_000).basis;
        let Basis::Stranger { owed_to_consumer, probability, .. } = basis else { panic!("{basis:?}") };
        (owed_to_consumer, probability)
    };
    assert_eq!(chances(u64::MAX), (Bytes(500), PerMille(500)));
    assert_eq!(chances(1), (Bytes(0), PerMille(500)));
}

/// Everything about a decision that a test varies besides the graph.
#[derive(Clone, Copy, Debug)]
struct Question {
    config: JudgeConfig,
    request: u64,
    /// Of the chance in the decision.
    seed: u64,
}

impl Question {
    fn judge(&self, arcs_max: u64) -> Judge {
        let limits = Limits { arcs_max, ..self.config.limits };
        Judge::new(JudgeConfig { limits, ..self.config }, StrangerCounters::default())
    }

    /// The decision on `consumer`'s request to 0, and whether the explanation is another one.
    fn decide(&self, graph: &Graph, consumer: u16, arcs_max: u64) -> (Decision, bool) {
        let (judge, mut scratch) = (self.judge(arcs_max), Scratch::new());
        let chance = || ChaCha8Rng::seed_from_u64(self.seed);
        let request = Request { provider: team(0), consumer: team(consumer), bytes: Bytes(self.request) };
        let decision = judge.decide(graph, &mut scratch, request, &mut chance());
        let explained = judge.explain(graph, &mut scratch, request, &mut chance()).decision;
        (decision, decision != explained)
    }
}

fn questions() -> impl Strategy<Value = Question> {
    let net_flow = Policy::NetFlow { sigma: PerMille(750), kappa: Bytes(20) };
    let policies = vec![Policy::Srm, Policy::Gmf { gain: PerMille(700) }, net_flow];
    let requests = vec![0, 1, 100, 100_000, 1_000_000, u64::MAX];
    let choices =
        (any::<bool>(), any::<bool>(), any::<bool>(), prop::sample::select(vec![1, 2, 3, u32::MAX]));
    (prop::sample::select(policies), prop::sample::select(requests), choices, any::<u64>()).prop_map(
        |(policy, request, (by_class, added, bootstraps, hops_max), seed)| {
            let bootstrap_target = Bytes(if bootstraps { u64::MAX } else { 0 });
            let config = JudgeConfig {
                policy,
                limits: Limits { hops_max, ..Limits::NONE },
                rule: if by_class { GrantRule::ByClass } else { GrantRule::ByProbability },
                request_weight: if added { RequestWeight::Added } else { RequestWeight::Ignored },
                strangers: StrangerConfig { bootstrap_target, ..StrangerConfig::default() },
                ..JudgeConfig::default()
            };
            Question { config, request, seed }
        },
    )
}

/// Who took what from whom: few teams, so that many questions are about nothing, a little and a lot.
fn trades() -> impl Strategy<Value = Vec<(u16, u16, u64)>> {
    let bytes = prop_oneof![1u64..1_000, Just(1), 90_000u64..2_000_000];
    prop::collection::vec((0u16..7, 0u16..7, bytes), 0..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn a_cut_decision_is_never_better_for_who_asks(
        edges in trades(), question in questions(), arcs_max in 0u64..80,
    ) {
        let graph = graph_of(&edges);
        let (exact, differs) = question.decide(&graph, 1, u64::MAX);
        prop_assert!(!differs, "{:?}", exact);
        let (cut, differs) = question.decide(&graph, 1, arcs_max);
        prop_assert!(!differs, "{:?}", cut);
        // What a trimmed net flow amounts to depends on which flow was found, so only maxima compare.
        let is_maximum = matches!(exact.basis, Basis::Flow { exact: true, .. });
        let comparable = is_maximum || !matches!(question.config.policy, Policy::NetFlow { .. });
        prop_assert!(!comparable || rank(&cut) <= rank(&exact), "{:?} after all, {:?} when cut", exact, cut);
    }

    #[test]
    fn who_owes_nothing_is_never_met_worse_than_who_is_unknown(edges in trades(), question in questions()) {
        let graph = graph_of(&edges);
        let limits = question.config.limits;
        let debt = Query { limits, ..Query::new(team(1), team(0)) }.run(&graph, &mut Scratch::new());
        if debt.value > Bytes(0) {
            return Ok(());
        }
        let (known, _) = question.decide(&graph, 1, u64::MAX);
        let (unknown, _) = question.decide(&graph, 99, u64::MAX);
        prop_assert!(rank(&known) >= rank(&unknown), "{:?} known, {:?} unknown", known, unknown);
    }
}

proptest! {
    #[test]
    fn a_budget_above_the_cost_changes_nothing_and_one_below_is_kept(
        edges in prop::collection::vec((0u16..12, 0u16..12, 1u64..1_000), 0..70),
        share in 0u64..1_000,
    ) {
        for graph in [graph_of(&edges), overlaid(&edges)] {
            let whole = ask(&graph, 0, 1, u64::MAX);
            prop_assert_eq!(ask(&graph, 0, 1, whole.arcs_scanned + 1), whole);
            let cut = ask(&graph, 0, 1, whole.arcs_scanned * share / 1_000);
            prop_assert!(cut.value <= whole.value && cut.arcs_scanned <= whole.arcs_scanned);
            prop_assert!(cut.ended == Ended::ArcBudget || cut == whole);
        }
    }
}
