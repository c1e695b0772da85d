//! What one decision costs on a synthetic community, beside petgraph's maximum flow in the same run.
//!
//! `cargo bench -p guestright-reciprocity --bench decision -- [--quick | RECEIPTS...] [--petgraph]`
//!
//! petgraph takes minutes at ten million receipts, so there it runs only if `--petgraph` asks for it.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark reads the clock and prints"
)]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "synthetic numbers need not be exact"
)]

use guestright_reciprocity::{
    Basis, ChainLimits, ChainQuery, Ended, Graph, Judge, JudgeConfig, Limits, PerMille, Policy, Query,
    Request, Scratch, StrangerCounters,
};
use guestright_units::{Bytes, TeamId};
use petgraph::graph::{DiGraph, NodeIndex};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::time::{Duration, Instant};

const QUERIES: usize = 1_000;
const PETGRAPH_QUERIES: usize = 5;
const ARC_BUDGETS: [u64; 2] = [200_000, 1_000_000];
const REQUEST: Bytes = Bytes(10_000_000);

fn main() {
    // The harness's own flags, such as `--bench`, are not numbers and pass by.
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    let mut sizes: Vec<usize> = args.iter().filter_map(|arg| arg.replace('_', "").parse().ok()).collect();
    if sizes.is_empty() {
        sizes = if has("--quick") { vec![100_000] } else { vec![100_000, 1_000_000, 10_000_000] };
    }
    for receipts in sizes {
        measure(receipts, receipts <= 1_000_000 || has("--petgraph"));
    }
}

/// Where teams live and how they move: 80 % of visits near home at a power-law distance, 20 % to popular places.
struct Town {
    teams: usize,
    side: usize,
    /// Cumulated lognormal activity by team.
    activity: Vec<f64>,
    /// Cumulated Zipf(0.9) weights by rank.
    popular: Vec<f64>,
    rng: ChaCha8Rng,
}

impl Town {
    fn new(teams: usize, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let cumulate = |sum: &mut f64, weight: f64| {
            *sum += weight;
            Some(*sum)
        };
        let activity = (0..teams).map(|_| normal(&mut rng).exp()).collect::<Vec<_>>();
        let activity = activity.into_iter().scan(0.0, cumulate).collect();
        let popular = (1..=teams).map(|rank| (rank as f64).powf(-0.9)).scan(0.0, cumulate).collect();
        Self { teams, side: (teams as f64).sqrt() as usize, activity, popular, rng }
    }

    /// A consumer and the provider that it visits.
    fn visit(&mut self) -> (usize, usize) {
        loop {
            let consumer = draw(&self.activity, &mut self.rng);
            let provider = if uniform(&mut self.rng) < 0.8 {
                self.near(consumer)
            } else {
                // Popular places are spread over the town.
                draw(&self.popular, &mut self.rng) * 7_919 % self.teams
            };
            if provider != consumer && provider < self.teams {
                return (consumer, provider);
            }
        }
    }

    fn near(&mut self, home: usize) -> usize {
        let distance = uniform(&mut self.rng).powf(-1.0 / 1.5);
        let angle = uniform(&mut self.rng) * std::f64::consts::TAU;
        let move_by = |from: usize, by: f64| (from as f64 + by.round()).rem_euclid(self.side as f64) as usize;
        let x = move_by(home % self.side, distance * angle.cos());
        let y = move_by(home / self.side, distance * angle.sin());
        y * self.side + x
    }

    fn bytes(&mut self) -> u64 {
        (5e6 * normal(&mut self.rng).exp()) as u64 + 1
    }
}

fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
}

/// A standard normal number, by Box and Muller.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    (-2.0 * uniform(rng).ln()).sqrt() * (std::f64::consts::TAU * uniform(rng)).cos()
}

fn draw(cumulated: &[f64], rng: &mut ChaCha8Rng) -> usize {
    let point = uniform(rng) * cumulated[cumulated.len() - 1];
    cumulated.partition_point(|&sum| sum < point).min(cumulated.len() - 1)
}

/// An id as a digest has it: nothing about the neighbourhood.
fn team(number: usize) -> TeamId {
    let mut rng = ChaCha8Rng::seed_from_u64(number as u64);
    let mut id = [0; 24];
    rng.fill_bytes(&mut id);
    TeamId(id)
}

fn measure(receipts: usize, with_petgraph: bool) {
    let mut town = Town::new(receipts / 10, 7);
    let ids: Vec<_> = (0..town.teams).map(team).collect();
    let receipts_made: Vec<_> = (0..receipts)
        .map(|_| {
            let (consumer, provider) = town.visit();
            (ids[consumer], ids[provider], Bytes(town.bytes()))
        })
        .collect();
    let started = Instant::now();
    let graph = Graph::from_edges(receipts_made);
    println!(
        "\n{receipts} receipts: {} teams, {} edges, built in {:.2?}",
        graph.team_count(),
        graph.edge_count(),
        started.elapsed()
    );
    println!(
        "{:<36} {:>10} {:>10} {:>10} {:>10} {:>9}",
        "decision (two flows)", "p50", "p99", "max", "p99 best", "cut short"
    );
    let visits: Vec<_> = (0..QUERIES).map(|_| town.visit()).map(|(c, p)| (ids[p], ids[c])).collect();
    let anyone = |rng: &mut ChaCha8Rng| ids[rng.next_u64() as usize % ids.len()];
    let pairs: Vec<_> = (0..QUERIES).map(|_| (anyone(&mut town.rng), anyone(&mut town.rng))).collect();
    let mut scratch = Scratch::new();
    let mut exact_median = Duration::ZERO;
    for (name, questions) in [("visits", &visits), ("random pairs", &pairs)] {
        let exact = run(questions, |p, c| decide(&graph, &mut scratch, p, c, Limits::NONE));
        row(&format!("exact, {name}"), &exact);
        if name == "visits" {
            exact_median = percentile(&exact.first, 50);
        }
        for arcs_max in ARC_BUDGETS {
            let limits = Limits { arcs_max, ..Limits::NONE };
            let budgeted = run(questions, |p, c| decide(&graph, &mut scratch, p, c, limits));
            row(&format!("{arcs_max} arcs, {name}"), &budgeted);
        }
    }
    judge(&graph, &mut scratch, &visits);
    chains(&graph, &[("visits", &visits), ("random pairs", &pairs)]);
    if with_petgraph {
        compare(&graph, &visits, exact_median);
    }
}

/// Whole decisions under each policy that needs flows.
fn judge(graph: &Graph, scratch: &mut Scratch, visits: &[(TeamId, TeamId)]) {
    for (name, policy) in [
        ("judge srm", Policy::Srm),
        ("judge netflow", Policy::NetFlow { sigma: PerMille(750), kappa: REQUEST }),
        ("judge gmf", Policy::Gmf { gain: PerMille(800) }),
    ] {
        let judge = Judge::new(JudgeConfig { policy, ..JudgeConfig::default() }, StrangerCounters::default());
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        row(
            &format!("{name}, {} arcs, visits", Limits::default().arcs_max),
            &run(visits, |p, c| {
                let request = Request { provider: p, consumer: c, bytes: REQUEST };
                let decision = judge.decide(graph, scratch, request, &mut rng);
                !matches!(decision.basis, Basis::Flow { exact: false, .. })
            }),
        );
    }
}

/// What `credit` looks for: chains of debts over which to reserve. Cut short are those that found less than was asked for.
fn chains(graph: &Graph, questions: &[(&str, &Vec<(TeamId, TeamId)>)]) {
    for (name, questions) in questions {
        let limits = ChainLimits::default();
        let mut found = 0;
        let timings = run(questions, |provider, consumer| {
            let query = ChainQuery { provider, consumer, bytes: REQUEST, bytes_min: Bytes(128 * 1_024) };
            let chains = graph.chains(query, limits, |team| graph.capacity(provider, team));
            found += chains.len();
            chains.iter().map(|chain| chain.bytes.0).sum::<u64>() >= REQUEST.0 - query.bytes_min.0
        });
        row(&format!("credit, {} debts, {name}", limits.arcs_max), &timings);
        println!("{:<36} {:>10.2} chains a question", "", found as f64 / (3.0 * questions.len() as f64));
    }
}

/// The two flows of a decision, debt first. Tells whether both are exact.
fn decide(graph: &Graph, scratch: &mut Scratch, provider: TeamId, consumer: TeamId, limits: Limits) -> bool {
    let half = Limits { arcs_max: limits.arcs_max / 2, ..limits };
    let debt = Query { limits: half, ..Query::new(consumer, provider) }.run(graph, scratch);
    let rest = Limits { arcs_max: limits.arcs_max - debt.arcs_scanned.min(limits.arcs_max), ..limits };
    let cutoff = debt.value.saturating_add(REQUEST);
    let credit = Query { cutoff, limits: rest, ..Query::new(provider, consumer) }.run(graph, scratch);
    debt.ended != Ended::ArcBudget && credit.ended != Ended::ArcBudget
}

/// What each question took, sorted.
struct Timings {
    /// The first time that it was asked.
    first: Vec<Duration>,
    /// The best of three times, which other programs on the machine disturb less.
    best: Vec<Duration>,
    cut_short: usize,
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

fn run(questions: &[(TeamId, TeamId)], mut ask: impl FnMut(TeamId, TeamId) -> bool) -> Timings {
    let (mut first, mut best) = (Vec::new(), Vec::new());
    let mut cut_short = 0;
    for &(provider, consumer) in questions {
        let mut exact = true;
        let times: [Duration; 3] = std::array::from_fn(|_| {
            let started = Instant::now();
            exact = ask(provider, consumer);
            started.elapsed()
        });
        first.push(times[0]);
        best.push(times[0].min(times[1]).min(times[2]));
        cut_short += usize::from(!exact);
    }
    first.sort_unstable();
    best.sort_unstable();
    Timings { first, best, cut_short }
}

fn row(name: &str, timings: &Timings) {
    let [p50, p99, max] = [50, 99, 100].map(|percent| format!("{:.2?}", percentile(&timings.first, percent)));
    let best = format!("{:.2?}", percentile(&timings.best, 99));
    println!("{name:<36} {p50:>10} {p99:>10} {max:>10} {best:>10} {:>9}", timings.cut_short);
}

/// petgraph's `dinics` on the same graph, on the first questions: its median and how much longer it takes.
fn compare(graph: &Graph, questions: &[(TeamId, TeamId)], ours: Duration) {
    let names: Vec<_> = graph.teams().collect();
    let node = |id: TeamId| NodeIndex::new(names.binary_search(&id).expect("every edge's ends are teams"));
    let edges = graph.edges().map(|edge| (node(edge.consumer), node(edge.provider), edge.bytes.0));
    let theirs: DiGraph<(), u64> = DiGraph::from_edges(edges);
    let known = questions.iter().filter(|(p, c)| graph.knows(*p) && graph.knows(*c));
    let mut scratch = Scratch::new();
    let (mut single, mut both) = (Vec::new(), Vec::new());
    for &(provider, consumer) in known.take(PETGRAPH_QUERIES) {
        let started = Instant::now();
        let (debt, _) = petgraph::algo::dinics(&theirs, node(consumer), node(provider));
        single.push(started.elapsed());
        let (credit, _) = petgraph::algo::dinics(&theirs, node(provider), node(consumer));
        both.push(started.elapsed());
        assert_eq!(Query::new(consumer, provider).run(graph, &mut scratch).value, Bytes(debt));
        assert_eq!(Query::new(provider, consumer).run(graph, &mut scratch).value, Bytes(credit));
    }
    single.sort_unstable();
    both.sort_unstable();
    for (name, times) in [("petgraph dinics, one direction", single), ("petgraph dinics, both", both)] {
        let median = times[times.len() / 2];
        let ratio = median.as_secs_f64() / ours.as_secs_f64();
        println!("{name:<36} {:>10} = {ratio:.0} times our median exact decision", format!("{median:.2?}"));
    }
}
