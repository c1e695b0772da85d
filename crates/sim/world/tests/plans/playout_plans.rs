//! The plans about playout as they are in `experiments`: all can be run in the time that is promised for them, and their
//! quick versions hold what they claim.

use guestright_experiment::{Evaluation, Judged, Plan, Platform, Results, evaluate};
use guestright_world::testbeds;

const PLANS: [&str; 4] = [
    include_str!("../../../../../experiments/paper-d/playout-curves.toml"),
    include_str!("../../../../../experiments/paper-d/playout-families.toml"),
    include_str!("../../../../../experiments/paper-d/playout-round-trip.toml"),
    include_str!("../../../../../experiments/paper-d/playout-default.toml"),
];
/// Of all of them: what a minute is for on two cores, and what 20 s are for.
const RUNS_MAX: usize = 6_000;
const QUICK_RUNS_MAX: usize = 1_500;

fn plan(text: &str) -> Plan {
    Plan::parse(text, testbeds()).unwrap_or_else(|error| panic!("{error}"))
}

fn quickly(plan: &Plan) -> Evaluation {
    let plan = plan.quick();
    let mut results = Results::new(&plan);
    for run in plan.runs() {
        let outcome = plan.testbed().run(&run.settings, run.seed.clone()).expect("the plan was checked");
        results.record(&plan, &run, &outcome).expect("a row of this plan");
    }
    evaluate(&plan, &results, Platform::Sim)
}

#[test]
fn the_plans_can_be_run_in_the_time_that_is_promised() {
    let counts =
        PLANS.map(plan).map(|plan| (plan.name().to_owned(), plan.run_count(), plan.quick().run_count()));
    let (all, quick) = counts.iter().fold((0, 0), |(all, quick), (_, a, q)| (all + a, quick + q));
    assert!(all <= RUNS_MAX && quick <= QUICK_RUNS_MAX, "{all} and {quick} runs: {counts:?}");
}

#[test]
fn a_few_runs_hold_what_is_claimed() {
    for plan in PLANS.map(plan) {
        let evaluation = quickly(&plan);
        let failed = evaluation.count(Judged::DoesNotReproduce) + evaluation.count(Judged::CannotBeComputed);
        assert_eq!(failed, 0, "{}", evaluation.text());
    }
}
