//! Claims against numbers that are known.

use crate::testbed::{example, plan, run, small, with_loads};
use guestright_experiment::{Judged, Outcome, Plan, Platform, Results, Row, Verdict, evaluate};
use std::fmt::Write;

fn one(rest: &str, load: impl Fn(usize, usize) -> Option<f64>) -> Verdict {
    with_loads(rest, load).claims.remove(0)
}

const LARGEST: &str = "[[measure]]\nid = \"capacity\"\nkind = \"largest\"\nof = \"load\"\nat_most = 1.0\n";

fn claim(rest: &str) -> String {
    format!("[[claim]]\nid = \"c\"\ntext = \"It is so\"\n{rest}\n")
}

/// One tenth for each call, and a seed's own share.
fn plain(calls: usize, seed: usize) -> Option<f64> {
    Some(calls as f64 / 10.0 + seed as f64 / 1_000.0)
}

#[test]
fn a_claim_is_held_against_its_band() {
    // The mean at 5 calls is 0.5015, 0.5 to 0.503; the interval 0.4994 to 0.5036.
    #[rustfmt::skip]
    let cases = [
        ("published = 0.5\nwithin = 0.01",              Judged::Reproduces, false, ""),
        ("published = 0.6\nwithin = 0.01",              Judged::DoesNotReproduce, false, "measured 0.502, expected 0.59 to 0.61: 0.0885 too low"),
        ("published = 0.4\nwithin_percent = 10",        Judged::DoesNotReproduce, false, "measured 0.502, expected 0.36 to 0.44: 0.0615 too high"),
        ("published = 0.5\nwithin = 0.003",             Judged::Reproduces, true, "the 95 % interval, 0.499 to 0.504, reaches across the edge of 0.497 to 0.503"),
        ("published = 0.5\nwithin = 0.001",             Judged::DoesNotReproduce, true, "measured 0.502, expected 0.499 to 0.501: 0.0005 too high; the 95 % interval, 0.499 to 0.504, reaches across the edge of 0.499 to 0.501"),
        ("at_least = 0.4",                              Judged::Reproduces, false, ""),
        ("at_most = 0.4",                               Judged::DoesNotReproduce, false, "measured 0.502, expected at most 0.4: 0.102 too high"),
        ("above = 0.4\nbelow = 0.6",                    Judged::Reproduces, false, ""),
        ("between = [0.5, 0.6]",                        Judged::Reproduces, true, "the 95 % interval, 0.499 to 0.504, reaches across the edge of 0.5 to 0.6"),
        ("between = [0.5, 0.6]\nby = \"every\"",        Judged::Reproduces, false, ""),
        ("above = 0.5\nby = \"every\"",                 Judged::DoesNotReproduce, false, "1 of 4 seeds are outside, expected above 0.5: the farthest is on the edge"),
        ("between = [0.5, 0.6]\nby = \"mode\"",         Judged::CannotBeComputed, false, "no value is more frequent than the others"),
        ("published = 0.5015\nwithin = 0\nby = \"median\"", Judged::Reproduces, true, "the 95 % interval, 0.499 to 0.504, reaches across the edge of 0.501 to 0.502"),
        ("prediction = true",                           Judged::Prediction, false, ""),
    ];
    for (test, judged, unclear, reason) in cases {
        let verdict = one(&claim(&format!("of = \"load\"\nat = {{ calls = 5 }}\n{test}")), plain);
        assert_eq!(
            (verdict.judged, verdict.unclear, verdict.reason.as_str()),
            (judged, unclear, reason),
            "{test}"
        );
    }
}

#[test]
fn what_cannot_be_computed_says_why() {
    let capacity = |test: &str| format!("{LARGEST}{}", claim(&format!("of = \"capacity\"\n{test}")));
    // 8 calls have a load of 0.8: the sweep ends first.
    let verdict = one(&capacity("published = 7\nwithin = 1"), plain);
    assert_eq!(
        (verdict.judged, verdict.reason.as_str()),
        (Judged::CannotBeComputed, "the sweep ends before the condition fails; make it longer")
    );
    let verdict = one(&capacity("at_least = 8"), plain);
    assert_eq!(verdict.judged, Judged::Reproduces, "a bound is enough");
    assert_eq!(verdict.reason, "a bound: the sweep ends before the condition fails");
    let verdict = one(&capacity("at_least = 9"), plain);
    assert_eq!(verdict.judged, Judged::CannotBeComputed, "it may be 9, or not");
    // The smallest number of calls from which on it is so: all of them, and perhaps fewer.
    let smallest = LARGEST.replace("largest", "smallest");
    let from = |test: &str| format!("{smallest}{}", claim(&format!("of = \"capacity\"\n{test}")));
    assert_eq!(one(&from("at_most = 1"), plain).judged, Judged::Reproduces);
    assert_eq!(one(&from("at_least = 1"), plain).judged, Judged::CannotBeComputed);
    let verdict = one(&capacity("published = 7\nwithin = 1"), |_, _| Some(2.0));
    assert_eq!(verdict.reason, "the condition fails already at 1");
    let verdict = one(&capacity("published = 7\nwithin = 1"), |calls, _| (calls < 6).then_some(0.1));
    assert_eq!(verdict.reason, "it was not measured at 6");
    let gap = |calls: usize, seed: usize| plain(calls, seed).filter(|_| seed != 2);
    let verdict = one(&claim("of = \"load\"\nat = { calls = 5 }\nat_least = 0"), gap);
    assert_eq!(
        (verdict.judged, verdict.reason.as_str()),
        (Judged::Reproduces, "1 of 4 seeds have no number")
    );
    let verdict = one(&claim("of = \"load\"\nat = { calls = 5 }\nat_least = 0\nby = \"every\""), gap);
    assert_eq!(
        (verdict.judged, verdict.reason.as_str()),
        (Judged::CannotBeComputed, "only 3 of 4 seeds have a number")
    );
    let text = small(&claim("of = \"load\"\nat = { calls = 5 }\nat_least = 0"));
    let plan = plan(&text);
    let verdict = evaluate(&plan, &Results::new(&plan), Platform::Sim).claims.remove(0);
    assert_eq!((verdict.judged, verdict.reason.as_str()), (Judged::CannotBeComputed, "4 runs are missing"));
}

#[test]
fn a_sweep_that_begins_too_late_gives_a_bound() {
    let sweep = |test: &str, calls: &str| {
        let largest = LARGEST.replace("at_most", "otherwise = 0\nat_most");
        let claim = claim(&format!("of = \"capacity\"\n{test}"));
        let plan = plan(&small(&format!("{largest}{claim}")).replace("[1, 2, 5, 6, 7, 8]", calls));
        let mut results = Results::new(&plan);
        for run in plan.runs() {
            results.record(&plan, &run, &Outcome::default().with("load", 2.0)).unwrap();
        }
        let evaluation = evaluate(&plan, &results, Platform::Sim);
        (evaluation.claims[0].clone(), evaluation.text())
    };
    let (verdict, _) = sweep("published = 0\nwithin = 0", "[1, 2, 3]");
    assert_eq!((verdict.judged, verdict.parts[0].bound.as_str()), (Judged::Reproduces, ""));
    #[rustfmt::skip]
    let cases = [
        ("published = 5\nwithin = 0", Judged::CannotBeComputed),
        ("published = 0\nwithin = 0", Judged::CannotBeComputed),
        ("at_least = 3",              Judged::CannotBeComputed),
        ("at_most = 5",               Judged::Reproduces),
        ("at_most = 4",               Judged::CannotBeComputed),
        ("at_least = 6",              Judged::DoesNotReproduce),
        ("published = 7\nwithin = 1", Judged::DoesNotReproduce),
        ("prediction = true",         Judged::Prediction),
    ];
    for (test, judged) in cases {
        let (verdict, text) = sweep(test, "[6, 7, 8]");
        assert_eq!(verdict.judged, judged, "{test}");
        assert_eq!((verdict.parts[0].ours, verdict.parts[0].bound.as_str()), (Some(5.0), "at most"));
        assert!(verdict.reason.contains("the condition fails at the edge of the sweep already"), "{test}");
        assert!(text.contains("ours: at most 5,"), "{text}");
    }
}

#[test]
fn a_coarse_sweep_says_where_it_fails() {
    let load = |calls: usize, _| Some(if calls > 2 { 2.0 } else { 0.5 });
    let text = with_loads(&format!("{LARGEST}{}", claim("of = \"capacity\"\nat_least = 1")), load).text();
    assert!(text.contains("ours: 2 (5 fails),"), "{text}");
    let load = |calls: usize, _| Some(if calls > 5 { 2.0 } else { 0.5 });
    let text = with_loads(&format!("{LARGEST}{}", claim("of = \"capacity\"\nat_least = 1")), load).text();
    assert!(text.contains("ours: 5,"), "{text}");
}

#[test]
fn a_capacity_is_judged_by_the_mean_curve_and_its_spread_is_shown() {
    // Seeds 0 and 1 carry 6 calls, 2 and 3 carry 7; the mean curve is at 0.95 with 6 and at 1.05 with 7.
    let load = |calls: usize, seed: usize| Some(calls as f64 / 10.0 + if seed < 2 { 0.4 } else { 0.3 });
    let claims = format!("{LARGEST}{}", claim("of = \"capacity\"\npublished = 6\nwithin = 0"));
    let verdict = one(&claims, load);
    assert_eq!((verdict.judged, verdict.unclear), (Judged::Reproduces, true));
    let part = &verdict.parts[0];
    assert_eq!(
        (part.ours, part.estimate.mean, part.estimate.range),
        (Some(6.0), Some(6.5), Some((6.0, 7.0)))
    );
    assert_eq!((part.estimate.mode, part.estimate.beyond), (Some(6.0), 0));
}

#[test]
fn an_order_is_checked_pair_by_pair() {
    let order = |order: &str| claim(&format!("of = \"load\"\nalong = \"calls\"\norder = \"{order}\""));
    assert_eq!(one(&order("increasing"), plain).judged, Judged::Reproduces);
    assert_eq!(one(&order("non-decreasing"), |_, _| Some(1.0)).judged, Judged::Reproduces);
    assert_eq!(one(&order("increasing"), |_, _| Some(1.0)).judged, Judged::DoesNotReproduce);
    let dip = |calls: usize, seed: usize| plain(if calls == 6 { 1 } else { calls }, seed);
    let verdict = one(&order("non-decreasing"), dip);
    assert_eq!(
        verdict.reason,
        "ours, calls = 5 and ours, calls = 6: measured 0.502, then 0.102; expected non-decreasing"
    );
    // Paired: what a seed adds to both does not blur the order.
    let shared = |calls: usize, seed: usize| Some(calls as f64 / 1_000.0 + seed as f64);
    let verdict = one(&order("increasing"), shared);
    assert_eq!((verdict.judged, verdict.unclear), (Judged::Reproduces, false));
    // Not the same for every seed: in the mean it rises, but it might not.
    let unsure = |calls: usize, seed: usize| Some(calls as f64 / 100.0 + ((calls * 7 + seed * 3) % 5) as f64);
    assert!(one(&order("increasing"), unsure).unclear);
    let slack =
        claim("of = \"load\"\nalong = \"calls\"\nfrom = 2\nto = 5\norder = \"decreasing\"\nslack = 0.4");
    assert_eq!(one(&slack, plain).judged, Judged::Reproduces);
}

#[test]
fn relations_are_taken_seed_by_seed() {
    let cases = "[[case]]\nname = \"a\"\n[[case]]\nname = \"b\"\n[[measure]]\nid = \"more\"\nkind = \"change\"\nof = \"load\"\nto = \"load\"\nto_case = \"a\"\n";
    let text = format!(
        "{cases}{}",
        claim("of = \"more\"\ncase = \"b\"\nalong = \"calls\"\nbetween = [9.99, 10.01]")
    );
    let plan = plan(&small(&text));
    let mut results = Results::new(&plan);
    for run in plan.runs() {
        // Seeds differ by far more than cases; 10 % more in every seed.
        let load = (1.0 + f64::from(run.replication) * 5.0) * if run.case == "b" { 1.1 } else { 1.0 };
        results.record(&plan, &run, &Outcome::default().with("load", load)).unwrap();
    }
    let verdict = evaluate(&plan, &results, Platform::Sim).claims.remove(0);
    assert_eq!((verdict.judged, verdict.unclear, verdict.parts.len()), (Judged::Reproduces, false, 6));
    assert_eq!(verdict.parts[0].unit, "%");
}

#[test]
fn the_examples_verdicts() {
    let plan = plan(example());
    let evaluation = evaluate(&plan, &run(&plan), Platform::Sim);
    assert!(evaluation.is_complete());
    let mut all = String::new();
    for claim in &evaluation.claims {
        writeln!(
            all,
            "{}: {}{}",
            claim.id,
            claim.judged.words(),
            if claim.fitted { " (fitted)" } else { "" }
        )
        .unwrap();
    }
    insta::assert_snapshot!("example_verdicts", all);
    let quick = plan.quick();
    let quickly = evaluate(&quick, &run(&quick), Platform::Sim);
    assert!(quickly.is_complete() && quickly.quick);
}

#[test]
fn a_metric_that_is_not_declared_is_refused() {
    let plan: Plan = plan(&small(""));
    let error = Row::new(&plan, &Outcome::default().with("lod", 1.0)).unwrap_err();
    assert_eq!(error.to_string(), "the testbed `voice` gave the metric `lod`, which it does not declare");
}
