//! The plans as they are in `experiments`, those of paper B run where their claims are decided.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use guestright_experiment::{Judged, Outcome, Plan, Platform, Results, Value, evaluate};
use guestright_world::testbeds;

const BOUND: &str = include_str!("../../../../../experiments/paper-b/bound.toml");
const CAPACITY: &str = include_str!("../../../../../experiments/paper-b/capacity.toml");
const LATENCY: &str = include_str!("../../../../../experiments/paper-b/latency.toml");
const JITTER: &str = include_str!("../../../../../experiments/paper-b/jitter.toml");
const GAP: &str = include_str!("../../../../../experiments/paper-b/gap.toml");
const FIGURE_3: &str = include_str!("../../../../../experiments/paper-a/figure-3.toml");
const OVERHEAD: &str = include_str!("../../../../../experiments/paper-a/overhead.toml");
const BIANCHI: &str = include_str!("../../../../../experiments/checks/bianchi.toml");

fn plan(text: &str) -> Plan {
    Plan::parse(text, testbeds()).unwrap_or_else(|error| panic!("{error}"))
}

/// The outcomes of one point, of the first `seeds` seeds.
fn outcomes(plan: &Plan, case: &str, streams: i64, seeds: u32) -> Vec<Outcome> {
    let here = plan
        .runs()
        .into_iter()
        .filter(|run| run.case == case && run.point == [Value::Integer(streams)] && run.replication < seeds);
    let outcomes: Vec<_> = here.map(|run| plan.testbed().run(&run.settings, run.seed).unwrap()).collect();
    assert_eq!(outcomes.len(), seeds as usize, "{case} with {streams}");
    outcomes
}

fn mean(outcomes: &[Outcome], metric: &str) -> f64 {
    outcomes.iter().map(|outcome| outcome.metrics[metric].unwrap()).sum::<f64>() / outcomes.len() as f64
}

#[test]
fn every_plan_is_one_that_can_be_run() {
    for text in [BOUND, CAPACITY, LATENCY, JITTER, GAP, FIGURE_3, OVERHEAD, BIANCHI] {
        let plan = plan(text);
        assert!(plan.run_count() > 0 && plan.quick().run_count() <= plan.run_count(), "{}", plan.name());
    }
}

#[test]
fn the_bounds_are_as_printed_with_8_bytes_too_few_and_only_then() {
    for text in [BOUND, OVERHEAD] {
        let plan = plan(text);
        let mut results = Results::new(&plan);
        for run in plan.runs() {
            results
                .record(&plan, &run, &plan.testbed().run(&run.settings, run.seed.clone()).unwrap())
                .unwrap();
        }
        let evaluation = evaluate(&plan, &results, Platform::Sim);
        assert!(evaluation.is_complete());
        for claim in &evaluation.claims {
            let want = match claim.id.as_str() {
                "rfc-sizes" => Judged::DoesNotReproduce,
                "length-field" | "through-nat" => Judged::Prediction,
                _ => Judged::Reproduces,
            };
            assert_eq!(claim.judged, want, "{}", claim.id);
        }
    }
}

/// Table 2's measured capacities with less than 1 % loss, and 10 % loss at the crossings of Figure 2a, between two points.
#[test]
fn streams_are_carried_up_to_the_published_capacities() {
    let plan = plan(CAPACITY);
    // Case, capacity, crossing cut off, crossing.
    let cases = [
        ("g729", 20, 21, 21.86),
        ("g729-esp", 19, 21, 21.13),
        ("g711", 18, 20, 20.02),
        ("g711-esp", 17, 19, 19.15),
    ];
    for (case, capacity, whole, at_10) in cases {
        assert!(mean(&outcomes(&plan, case, capacity, 4), "loss") < 0.01, "{case}");
        assert!(mean(&outcomes(&plan, case, capacity + 1, 4), "loss") > 0.01, "{case}");
        let (below, above) = (whole - 1, whole + 1);
        let loss = |streams| mean(&outcomes(&plan, case, streams, 4), "loss");
        let (below, above) = ((below as f64, loss(below)), (above as f64, loss(above)));
        let crossing = below.0 + (0.1 - below.1) / (above.1 - below.1) * (above.0 - below.0);
        assert!((crossing / at_10 - 1.0).abs() < 0.02, "{case}: {crossing}, not {at_10}");
    }
}

#[test]
fn saturated_packets_wait_as_long_as_published_and_vary_as_published_in_one_meaning_only() {
    let latency = plan(LATENCY);
    for (case, ms) in [("g729", 134.95), ("g711", 149.23)] {
        let got = mean(&outcomes(&latency, case, 30, 3), "latency_ms");
        assert!((got / ms - 1.0).abs() < 0.03, "{case}: {got} ms, not {ms}");
    }
    let jitter = outcomes(&plan(JITTER), "g711-esp", 30, 3);
    let gaps = mean(&jitter, "interarrival_deviation_by_stream_ms");
    assert!((gaps / 14.55 - 1.0).abs() < 0.1, "{gaps}");
    assert!(mean(&jitter, "delay_variation_ms") < 2.0);
}
