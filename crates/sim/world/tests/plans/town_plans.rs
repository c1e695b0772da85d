//! The plans of towns as they are in `experiments`: all can be run, and in the time that is promised.

use guestright_experiment::{Kind, Plan};
use guestright_world::testbeds;

const PLANS: [&str; 5] = [
    include_str!("../../../../../experiments/town/cheats.toml"),
    include_str!("../../../../../experiments/town/kindness.toml"),
    include_str!("../../../../../experiments/town/overdraft.toml"),
    include_str!("../../../../../experiments/town/policies.toml"),
    include_str!("../../../../../experiments/town/reach.toml"),
];
/// A run takes one to six seconds: a quarter of an hour on two cores, and a minute for the small towns of `--quick`.
const RUNS_MAX: usize = 800;
const QUICK_RUNS_MAX: usize = 300;

#[test]
fn the_plans_of_towns_can_be_run_in_the_time_that_is_promised() {
    let plans = PLANS.map(|text| Plan::parse(text, testbeds()).unwrap_or_else(|error| panic!("{error}")));
    let runs: usize = plans.iter().map(Plan::run_count).sum();
    let quick: usize = plans.iter().map(|plan| plan.quick().run_count()).sum();
    assert!(runs <= RUNS_MAX && quick <= QUICK_RUNS_MAX, "{runs} and {quick} runs");
}

/// Everything that a plan says of cheats is said of each of them.
#[test]
fn every_cheat_and_every_policy_is_in_a_plan() {
    let settings = testbeds().iter().find(|testbed| testbed.name() == "town").unwrap().settings();
    for (setting, plan) in [("cheat", PLANS[0]), ("cheat", PLANS[3]), ("policy", PLANS[3])] {
        let info = settings.iter().find(|info| info.name == setting).unwrap();
        let Kind::Choice { of, .. } = info.kind else { panic!("{setting} is no choice") };
        for word in of {
            assert!(plan.contains(&format!("\"{word}\"")), "no plan has {setting} {word}");
        }
    }
}
