use super::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const MB: u64 = 1_000_000;
/// The provider in all of these.
const HOST: u8 = 0;

fn team(number: u8) -> TeamId {
    TeamId([number; 24])
}

/// (consumer, provider, megabytes)
fn graph_of(edges: &[(u8, u8, u64)]) -> Graph {
    Graph::from_edges(edges.iter().map(|&(c, p, megabytes)| (team(c), team(p), Bytes(megabytes * MB))))
}

fn judge(policy: Policy) -> Judge {
    let strangers = StrangerConfig { bootstrap_target: Bytes(MB), ..StrangerConfig::default() };
    Judge::new(JudgeConfig { policy, strangers, ..JudgeConfig::default() }, StrangerCounters::default())
}

fn decide(judge: &Judge, graph: &Graph, consumer: u8, megabytes: u64) -> Decision {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    judge.decide(graph, &mut Scratch::new(), from_host(consumer, Bytes(megabytes * MB)), &mut rng)
}

fn from_host(consumer: u8, bytes: Bytes) -> Request {
    Request { provider: team(HOST), consumer: team(consumer), bytes }
}

/// A village: 1 gave much, 2 gave a little, 3 only took. All of it with the host or next door to it.
fn village() -> Graph {
    graph_of(&[
        (HOST, 1, 80),
        (4, 1, 40),
        (2, HOST, 60),
        (HOST, 2, 20),
        (3, HOST, 30),
        (3, 4, 12),
        (4, HOST, 10),
    ])
}

#[test]
fn an_own_member_is_always_served_first() {
    let decision = decide(&judge(Policy::Srm), &Graph::new(), HOST, 10);
    assert_eq!(decision.verdict, Verdict::Granted(ServiceClass::Own));
    assert_eq!(decision.reason(), "Served first of all, as a member of this household.");
}

#[test]
fn a_contributor_is_served_well() {
    let decision = decide(&judge(Policy::Srm), &village(), 1, 10);
    assert_eq!(decision.verdict, Verdict::Granted(ServiceClass::High));
    assert_eq!(
        decision.reason(),
        "Served in the high class: directly and through others this household owes the team at least 10.0 MB and \
         the team owes 0 B here, before the 10.0 MB it asks for; in all it gave 120 MB and took 0 B (ratio 1.000)."
    );
}

#[test]
fn who_gave_a_third_is_served_in_the_second_class() {
    let decision = decide(&judge(Policy::Srm), &village(), 2, 0);
    assert_eq!(decision.ind, Some(Ind::ratio(1, 3)));
    assert_eq!(decision.verdict, Verdict::Granted(ServiceClass::Low));
}

#[test]
fn a_free_rider_is_refused_and_told_why() {
    let decision = decide(&judge(Policy::Srm), &village(), 3, 10);
    assert_eq!(decision.verdict, Verdict::Refused);
    assert_eq!(decision.basis, Basis::GaveNothing { took: Bytes(42 * MB) });
    assert_eq!(
        decision.reason(),
        "Refused: this team took 42.0 MB from others, and no receipt says that it ever gave anything (ratio 0.000); \
         it earns service by serving others at home, or by showing receipts not yet seen here."
    );
}

#[test]
fn free_riders_who_vouch_for_each_other_are_refused() {
    // 3 and its friends 5 and 6 sign for each other as much as they like: nobody honest owes them anything.
    let mut graph = village();
    for (consumer, provider) in [(5, 3), (6, 3), (3, 5), (5, 6), (6, 5)] {
        graph.add(team(consumer), team(provider), Bytes(1_000_000 * MB));
    }
    for policy in [Policy::Srm, net_flow(), Policy::Gmf { gain: PerMille(800) }] {
        let decision = decide(&judge(policy), &graph, 3, 10);
        assert_eq!((decision.verdict, decision.ind), (Verdict::Refused, Some(Ind::ZERO)), "{policy}");
    }
    let quota = decide(&judge(Policy::Quota { bytes: Bytes(100 * MB) }), &graph, 3, 10);
    assert_eq!(quota.verdict, Verdict::Granted(ServiceClass::High), "a quota alone is easily cheated");
}

#[test]
fn a_newcomer_serves_everyone_until_it_has_credit() {
    let judge = judge(Policy::Srm);
    let decision = decide(&judge, &Graph::new(), 7, 10);
    assert_eq!(decision.verdict, Verdict::Granted(ServiceClass::Lowest));
    let unknown =
        Basis::Stranger { owed_to_consumer: Bytes(0), probability: PerMille::WHOLE, bootstrap: true };
    assert_eq!(decision.basis, unknown);
    // A known consumer is a stranger to a host that nobody knows.
    let elsewhere = graph_of(&[(3, 4, 50), (4, 5, 9)]);
    assert!(matches!(decide(&judge, &elsewhere, 3, 10).basis, Basis::Stranger { bootstrap: true, .. }));
    assert!(matches!(decide(&judge, &elsewhere, 4, 10).basis, Basis::Stranger { bootstrap: true, .. }));
}

#[test]
fn an_established_host_serves_some_strangers() {
    let (mut judge, graph) = (judge(Policy::Srm), village());
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut share = |judge: &Judge| {
        let mut scratch = Scratch::new();
        let mut ask = || judge.decide(&graph, &mut scratch, from_host(99, Bytes(MB)), &mut rng);
        (0..2_000).filter(|_| ask().verdict == Verdict::Granted(ServiceClass::Lowest)).count()
    };
    assert!((900..1_100).contains(&share(&judge)), "half of them at first");
    judge.stranger_served(Bytes(1_000 * MB));
    assert!((10..80).contains(&share(&judge)), "few when none gives back");
    judge.stranger_returned(Bytes(400 * MB));
    assert!((720..920).contains(&share(&judge)), "more when some do");
    judge.decay_strangers();
    assert_eq!(judge.stranger_counters().given, Bytes(900 * MB));
}

fn net_flow() -> Policy {
    Policy::NetFlow { sigma: PerMille(1_000), kappa: Bytes(0) }
}

/// How many megabytes fresh names of one contributor get out of the host when each asks once for ten.
///
/// The contributor gave the host sixty, and signs for each name as if the name had given it a lot.
fn taken_by_names(policy: Policy, request_weight: RequestWeight) -> u64 {
    let mut graph = graph_of(&[(HOST, 1, 60), (2, HOST, 500)]);
    let mut judge = judge(policy);
    judge.config.request_weight = request_weight;
    let mut taken = 0;
    for name in 100..120 {
        graph.add(team(1), team(name), Bytes(1_000 * MB));
        while taken < 1_000 {
            let decision = decide(&judge, &graph, name, 10);
            if decision.verdict != Verdict::Granted(ServiceClass::High) {
                break;
            }
            graph.add(team(name), team(HOST), Bytes(10 * MB));
            taken += 10;
        }
    }
    taken
}

#[test]
fn many_names_share_one_credit_only_under_net_flow() {
    let plain = taken_by_names(Policy::Srm, RequestWeight::Added);
    let net = taken_by_names(net_flow(), RequestWeight::Added);
    assert!(net <= 60, "{net} MB for 60 MB given");
    assert!(plain > 5 * net, "{plain} MB under plain flow");
}

#[test]
fn a_request_that_counts_takes_the_free_session_from_fresh_names() {
    // The host owes name 7 one megabyte; it asks for a hundred.
    let graph = graph_of(&[(HOST, 7, 1), (2, HOST, 500)]);
    let mut judge = judge(Policy::Srm);
    assert_eq!(decide(&judge, &graph, 7, 99).ind, Some(Ind::ratio(1, 99)));
    judge.config.request_weight = RequestWeight::Ignored;
    assert_eq!(decide(&judge, &graph, 7, 99).ind, Some(Ind::ONE), "as in the papers");
}

#[test]
fn in_paper_mode_the_ratio_is_a_probability() {
    let graph = village();
    let mut judge = judge(Policy::Srm);
    judge.config.rule = GrantRule::ByProbability;
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut scratch = Scratch::new();
    let mut ask = || judge.decide(&graph, &mut scratch, from_host(2, Bytes(0)), &mut rng).verdict;
    let granted = (0..3_000).filter(|_| ask() == Verdict::Granted(ServiceClass::Low)).count();
    assert!((900..1_100).contains(&granted), "{granted} of 3000 at a ratio of one third");
}

#[test]
fn who_is_owed_too_little_is_met_as_a_stranger() {
    // The host owes 7 five hundred bytes, and 7 owes nobody anything. It asks for a megabyte: a ratio below 0.001.
    let mut graph = village();
    graph.add(team(HOST), team(7), Bytes(500));
    let judge = judge(Policy::Srm);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut ask =
        |consumer| judge.decide(&graph, &mut Scratch::new(), from_host(consumer, Bytes(MB)), &mut rng);
    let decisions: Vec<Decision> = (0..400).map(|_| ask(7)).collect();
    let served =
        decisions.iter().filter(|decision| decision.verdict == Verdict::Granted(ServiceClass::Lowest));
    assert!((150..250).contains(&served.count()), "as often as one in two strangers");
    let stranger =
        Basis::Stranger { owed_to_consumer: Bytes(500), probability: PerMille(500), bootstrap: false };
    assert!(decisions.iter().all(|decision| (decision.basis, decision.ind) == (stranger, Some(Ind::ZERO))));
    let refused = decisions.iter().find(|decision| decision.verdict == Verdict::Refused).unwrap();
    assert_eq!(
        refused.reason(),
        "Refused: no more than 500 B is owed to this team here yet, and strangers are served here with probability \
         0.500 (ratio 0.000); try again later, or show receipts for service that the team gave."
    );
    // With a debt of one byte it is no stranger, and with a thousandth of what it asks for it has a class.
    graph.add(team(7), team(HOST), Bytes(1));
    assert_eq!(decide(&judge, &graph, 7, 1).verdict, Verdict::Refused);
    let mut graph = village();
    graph.add(team(HOST), team(7), Bytes(1_000));
    assert_eq!(decide(&judge, &graph, 7, 1).ind, Some(Ind::ratio(1, 1_000)));
    assert_eq!(decide(&judge, &graph, 7, 1).verdict, Verdict::Granted(ServiceClass::Lowest));
}

/// The cascade of design note 0002, step by step, for each policy.
#[test]
fn each_policy_takes_the_steps_of_the_cascade_that_are_its_own() {
    // 8 took from 4 and owes the host through it, 9 took from 5, which nobody owes anything; neither gave a byte. 2 and 1
    // are weighed.
    let mut graph = village();
    graph.add(team(8), team(4), Bytes(5 * MB));
    graph.add(team(9), team(5), Bytes(5 * MB));
    let by_flow = [Policy::Srm, net_flow(), Policy::Gmf { gain: PerMille(800) }];
    for policy in by_flow.into_iter().chain([Policy::Quota { bytes: Bytes(40 * MB) }]) {
        let basis = |consumer| decide(&judge(policy), &graph, consumer, 1).basis;
        let quota = matches!(policy, Policy::Quota { .. });
        assert_eq!(basis(HOST), Basis::OwnMember, "{policy}: 1. the own team");
        assert!(matches!(basis(99), Basis::Stranger { .. }), "{policy}: 2. nobody knows it");
        if quota {
            for consumer in [1, 2, 8, 9] {
                assert!(matches!(basis(consumer), Basis::Quota { .. }), "{policy}: all who are known");
            }
            assert_eq!(decide(&judge(policy), &graph, 9, 1).verdict, Verdict::Refused);
            continue;
        }
        assert_eq!(
            basis(8),
            Basis::GaveNothing { took: Bytes(5 * MB) },
            "{policy}: 3. gave nothing, owes us"
        );
        assert!(matches!(basis(9), Basis::Stranger { .. }), "{policy}: 3. gave nothing, owes us nothing");
        assert!(matches!(basis(5), Basis::Stranger { .. }), "{policy}: 4. nothing connects us");
        assert!(matches!(basis(1), Basis::Flow { .. }), "{policy}: 5. the ratio");
    }
}

#[test]
fn a_quota_asks_only_what_was_given() {
    let judge = judge(Policy::Quota { bytes: Bytes(80 * MB) });
    let decision = decide(&judge, &village(), 2, 10);
    assert_eq!(decision.ind, Some(Ind::ratio(1, 4)));
    assert_eq!(
        decision.reason(),
        "Served in the lowest class: this team gave 20.0 MB of the 80.0 MB asked for (ratio 0.250)."
    );
    assert_eq!(decide(&judge, &village(), 3, 10).verdict, Verdict::Refused);
}

#[test]
fn an_explanation_shows_both_ways_and_agrees_with_the_decision() {
    let (judge, graph) = (judge(Policy::Srm), village());
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for consumer in 0..6 {
        let mut scratch = Scratch::new();
        let why = judge.explain(&graph, &mut scratch, from_host(consumer, Bytes(50 * MB)), &mut rng);
        let decision = decide(&judge, &graph, consumer, 50);
        assert_eq!((why.decision.ind, why.decision.basis), (decision.ind, decision.basis));
    }
    let mut scratch = Scratch::new();
    let why = judge.explain(&graph, &mut scratch, from_host(3, Bytes(MB)), &mut rng);
    let lines = why.lines(|id| format!("T{}", id.0[0]));
    assert_eq!(
        lines[1..],
        [
            "T0 owes T3 nothing that counted.",
            "T3 owes T0:",
            "    30.0 MB  T3 -> T0",
            "    10.0 MB  T3 -> T4 -> T0"
        ]
    );
}

#[test]
fn a_judge_keeps_what_it_was_given() {
    let counters = StrangerCounters { given: Bytes(3), returned: Bytes(2) };
    let config = JudgeConfig { policy: net_flow(), ..JudgeConfig::default() };
    let judge = Judge::new(config, counters);
    assert_eq!((judge.config(), judge.stranger_counters()), (&config, counters));
}
