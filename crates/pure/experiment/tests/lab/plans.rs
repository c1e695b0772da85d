//! What a plan's text becomes.

use crate::testbed::{TESTBEDS, example, plan, run, small, text};
use guestright_experiment::{Plan, Platform, Results, Value};

#[test]
fn the_documents_example_is_a_plan() {
    let plan = plan(example());
    assert_eq!((plan.name(), plan.seeds(), plan.on()), ("voice-capacity", 20, &[Platform::Sim][..]));
    assert_eq!(plan.cases().collect::<Vec<_>>(), ["plain", "rsa", "ecdsa"]);
    assert_eq!(plan.run_count(), (9 + 9 + 8) * 20);
    let quick = plan.quick();
    assert_eq!((quick.run_count(), quick.seeds(), quick.is_quick()), (3 * 6 * 5, 5, true));
    let run = &quick.runs()[0];
    assert_eq!(run.settings.float("duration_s"), Ok(30.0), "what [quick] says goes first");
    assert_eq!(plan.runs()[0].settings.float("cpu.nat_us"), Ok(100.0));
    assert_eq!(plan.runs()[0].settings.text("remark"), Ok(""), "the testbed's default");
}

#[test]
fn runs_are_in_the_order_of_the_text_and_share_their_seeds() {
    let plan = plan(&small(
        "cpu.nat_us = { from = 0.1, to = 0.3, step = 0.1 }\nreceipts.suite = [\"none\", \"rsa-1024\"]",
    ));
    let runs = plan.runs();
    assert_eq!(runs.len(), 6 * 3 * 2 * 4);
    assert_eq!(plan.axes().collect::<Vec<_>>(), ["calls", "cpu.nat_us", "receipts.suite"]);
    let points: Vec<_> = runs.iter().step_by(4).map(|run| run.point.clone()).take(3).collect();
    let point = |calls, us: f64, suite: &str| vec![Value::Integer(calls), Value::Float(us), text(suite)];
    assert_eq!(points, [point(1, 0.1, "none"), point(1, 0.1, "rsa-1024"), point(1, 0.2, "none")]);
    assert_eq!(runs[16].point[1], Value::Float(0.3), "not 0.30000000000000004");
    for run in &runs {
        assert_eq!(run.seed, runs[run.index % 4].seed);
        assert_eq!(run.index % 4, run.replication as usize);
    }
    assert_ne!(runs[0].seed, runs[1].seed);
}

#[test]
fn words_do_not_change_the_digest_and_numbers_do() {
    let first = small("");
    let digest = |text: &str| plan(text).digest();
    assert_eq!(digest(&first), digest(&first.replace("Does it?", "Does it indeed?")));
    assert_eq!(digest(&first), "4e6d541267039161aa320d5892ba3262", "the same in every version");
    for (from, to) in [
        ("seeds = 4", "seeds = 5"),
        ("[sweep]", "[settings]\ncpu.nat_us = 99\n[sweep]"),
        ("seeds = 4", "seeds = 4\nchance = 1"),
        ("\"small\"", "\"smaller\""),
        ("[1, 2,", "[2, 1,"),
    ] {
        assert_ne!(digest(&first), digest(&first.replacen(from, to, 1)), "{to}");
    }
    // A default that is written down is the same setting.
    assert_eq!(digest(&first), digest(&first.replace("[sweep]", "[settings]\ncpu.nat_us = 100\n[sweep]")));
}

#[test]
fn rows_are_read_as_they_were_written() {
    let plan = plan(&small("")).quick();
    let results = run(&plan);
    let csv = results.csv(&plan);
    assert_eq!(csv.lines().count(), 1 + 24);
    let adopted = Results::from_csv(&plan, &csv).unwrap();
    assert_eq!((&adopted.results, adopted.strangers), (&results, 0));
    assert_eq!(
        csv.lines().next(),
        Some("run,case,calls,replication,key,mos_mean,delay_ms,load,simulated_packets,simulated_events")
    );
    let lines: Vec<&str> = csv.lines().collect();
    let mixed: Vec<&str> = [&lines[..1], &lines[13..], &lines[1..13]].concat();
    assert_eq!(Results::from_csv(&plan, &format!("{}\r\n", mixed.join("\r\n"))).unwrap().results, results);
}

#[test]
fn an_interrupted_run_goes_on_where_it_was_and_a_longer_sweep_keeps_its_rows() {
    let short = plan(&small(""));
    let csv = run(&short).csv(&short);
    // Cut off in the middle of the last line.
    let adopted = Results::from_csv(&short, &csv[..csv.len() - 9]).unwrap();
    assert_eq!((adopted.results.missing(), adopted.strangers), (1, 0));
    let longer = plan(&small("").replace("7, 8]", "7, 9]"));
    let adopted = Results::from_csv(&longer, &csv).unwrap();
    assert_eq!((adopted.results.missing(), adopted.strangers), (4, 4));
    let other = plan(&small("").replace("calls =", "cpu.spread = [0.1, 0.2]\ncalls ="));
    assert!(Results::from_csv(&other, &csv).unwrap_err().to_string().starts_with("line 1: the columns are"));
    let wrong = csv.replacen(",9000,", ",many,", 1);
    assert_eq!(Results::from_csv(&short, &wrong).unwrap_err().to_string(), "line 2: `many` is not a count");
    let wrong = csv.replacen("\n4,", "\n4,4,", 1);
    assert_eq!(
        Results::from_csv(&short, &wrong).unwrap_err().to_string(),
        "line 6: 11 fields, but 10 columns"
    );
}

#[test]
fn a_testbed_that_is_not_there_is_the_only_complaint() {
    let error = Plan::parse(example(), &[]).unwrap_err();
    assert_eq!(error.to_string(), "line 6, column 11: there is no testbed `voice`");
    assert!(Plan::parse(example(), TESTBEDS).is_ok());
}
