//! The plans of calls as they are in `experiments`: all can be run, and Table 2 of paper A is where it is said to be.

use guestright_experiment::{Plan, Value};
use guestright_world::testbeds;

const TABLE_2: &str = include_str!("../../../../../experiments/paper-a/table-2.toml");
const PLANS: [&str; 8] = [
    TABLE_2,
    include_str!("../../../../../experiments/paper-a/table-1.toml"),
    include_str!("../../../../../experiments/paper-a/channel.toml"),
    include_str!("../../../../../experiments/paper-a/scheduler.toml"),
    include_str!("../../../../../experiments/paper-a/quantum.toml"),
    include_str!("../../../../../experiments/operator/capacity.toml"),
    include_str!("../../../../../experiments/operator/calls-beside-downloads.toml"),
    include_str!("../../../../../experiments/operator/receipt-interval.toml"),
];

fn plan(text: &str) -> Plan {
    Plan::parse(text, testbeds()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_plan_is_one_that_can_be_run() {
    for text in PLANS {
        let plan = plan(text);
        assert!(plan.run_count() > 0 && plan.quick().run_count() <= plan.run_count(), "{}", plan.name());
    }
}

/// The calls that the paper has are good on average, and one more is not: one set of processor times for all rows. The
/// plan itself has more seeds.
#[test]
fn the_rows_of_table_2_end_where_the_paper_has_them() {
    let plan = plan(TABLE_2);
    let runs = plan.runs();
    let mos = |case: &str, calls: i64| {
        let here = runs
            .iter()
            .filter(|run| run.case == case && run.point == [Value::Integer(calls)] && run.replication < 8);
        let all: Vec<f64> = here
            .map(|run| {
                plan.testbed().run(&run.settings, run.seed.clone()).unwrap().metrics["mos_mean"].unwrap()
            })
            .collect();
        assert_eq!(all.len(), 8, "{case} with {calls}");
        all.iter().sum::<f64>() / 8.0
    };
    let rows = [("plain", 7), ("rsa-1024", 7), ("ecdsa-160", 6), ("vpn-rsa-1024", 5), ("vpn-ecdsa-160", 2)];
    for (case, calls) in rows {
        let (last, next) = (mos(case, calls), mos(case, calls + 1));
        assert!(last >= 3.6 && next < 3.6, "{case}: {last} with {calls}, {next} with one more");
    }
}
