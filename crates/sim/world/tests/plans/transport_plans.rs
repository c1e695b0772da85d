//! The plans of voice over transports as they are in `experiments`: all can be run, and none has more runs than fit the
//! time that is promised for them.

use guestright_experiment::Plan;
use guestright_world::testbeds;

const PAPER_C: [&str; 9] = [
    include_str!("../../../../../experiments/paper-c/1-udp-or-tcp.toml"),
    include_str!("../../../../../experiments/paper-c/2-packet-size.toml"),
    include_str!("../../../../../experiments/paper-c/3-ftp.toml"),
    include_str!("../../../../../experiments/paper-c/4-errors.toml"),
    include_str!("../../../../../experiments/paper-c/5-threshold.toml"),
    include_str!("../../../../../experiments/paper-c/6-real.toml"),
    include_str!("../../../../../experiments/paper-c/7-voice-map.toml"),
    include_str!("../../../../../experiments/paper-c/8-ftp-map.toml"),
    include_str!("../../../../../experiments/paper-c/9-assumptions.toml"),
];
const TODAY: [&str; 4] = [
    include_str!("../../../../../experiments/today/netns.toml"),
    include_str!("../../../../../experiments/today/queue.toml"),
    include_str!("../../../../../experiments/today/quic.toml"),
    include_str!("../../../../../experiments/today/transport.toml"),
];
/// Of all of paper C: what 15 minutes are for on two cores, and what a minute is for.
const RUNS_MAX: usize = 42_000;
const QUICK_RUNS_MAX: usize = 2_600;

fn plan(text: &str) -> Plan {
    let plan = Plan::parse(text, testbeds()).unwrap_or_else(|error| panic!("{error}"));
    assert!(plan.run_count() > 0 && plan.quick().run_count() <= plan.run_count(), "{}", plan.name());
    plan
}

#[test]
fn the_plans_of_paper_c_can_be_run_in_the_time_that_is_promised() {
    let runs =
        PAPER_C.map(plan).map(|plan| (plan.name().to_owned(), plan.run_count(), plan.quick().run_count()));
    let (all, quick) = runs.iter().fold((0, 0), |(all, quick), (_, a, q)| (all + a, quick + q));
    assert!(all <= RUNS_MAX && quick <= QUICK_RUNS_MAX, "{all} and {quick} runs: {runs:?}");
}

#[test]
fn the_plans_of_today_s_transports_can_be_run() {
    for text in TODAY {
        plan(text);
    }
}
