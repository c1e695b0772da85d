//! Claims alone, and under other settings than the plan's.

use crate::testbed::{plan, run};
use guestright_experiment::{
    ClaimError, Judged, Plan, Results, Row, SettingError, Settings, claim_infos, judge_claims, runs_of_claims,
};
use std::collections::BTreeSet;

/// Five calls have a load of 0.67 with packets of 100 µs.
const TEXT: &str = r#"
name = "small"
title = "t"
question = "q"
testbed = "voice"
seeds = 2

[settings]
cpu.spread = 0.0

[sweep]
calls = [1, 5, 10]
"cpu.nat_us" = [100.0, 200.0]

[[case]]
name = "plain"

[[case]]
name = "signed"
settings = { receipts.suite = "rsa-1024" }

[[measure]]
id = "more"
title = "more"
kind = "difference"
of = "load"
to = "load"
to_at = { calls = 1 }

[[claim]]
id = "low"
text = "few calls are easy"
source = "Section 1"
of = "load"
case = "plain"
at = { calls = 5, "cpu.nat_us" = 100.0 }
at_most = 0.7

[[claim]]
id = "rises"
text = "more calls cost more"
of = "more"
case = "plain"
at = { calls = [5, 10], "cpu.nat_us" = 100.0 }
order = "increasing"

[[claim]]
id = "compares"
text = "a slower processor is busier"
of = "load"
case = "plain"
at = { calls = 1, "cpu.nat_us" = [100.0, 200.0] }
order = "increasing"

[[claim]]
id = "open"
text = "nothing is printed"
of = "load"
case = "signed"
at = { calls = 1, "cpu.nat_us" = 100.0 }
prediction = true
"#;

fn ids(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Rows of some runs only.
fn run_some(plan: &Plan, wanted: &[usize]) -> Results {
    let mut results = Results::new(plan);
    for run in plan.runs().iter().filter(|run| wanted.contains(&run.index)) {
        let outcome = plan.testbed().run(&run.settings, run.seed.clone()).unwrap();
        results.insert(run.index, Row::new(plan, &outcome).unwrap()).unwrap();
    }
    results
}

#[test]
fn the_runs_of_claims_are_enough_and_none_is_too_many() {
    let plan = plan(TEXT);
    let whole = run(&plan);
    for names in [&["low"] as &[&str], &["rises"], &["low", "rises", "compares", "open"]] {
        let wanted = runs_of_claims(&plan, &ids(names)).unwrap();
        let judged = judge_claims(&plan, &run_some(&plan, &wanted), &ids(names)).unwrap();
        assert_eq!(judged, judge_claims(&plan, &whole, &ids(names)).unwrap(), "{names:?}");
        for left_out in &wanted {
            let fewer: Vec<usize> = wanted.iter().copied().filter(|run| run != left_out).collect();
            let judged = judge_claims(&plan, &run_some(&plan, &fewer), &ids(names)).unwrap();
            let open = judged.iter().any(|one| one.verdict.judged == Judged::CannotBeComputed);
            assert!(open, "nobody asked for run {left_out} of {names:?}");
        }
    }
}

#[test]
fn a_setting_given_from_outside_is_that_of_every_run_and_changes_its_key() {
    let plan = plan(TEXT);
    let other =
        plan.with_settings(&Settings::new().with("cpu.nat_us", 4_000.0).with("cpu.spread", 0)).unwrap();
    assert_eq!(other.run_count(), plan.run_count());
    for (before, after) in plan.runs().iter().zip(other.runs()) {
        assert_eq!(after.settings.float("cpu.nat_us"), Ok(4_000.0));
        assert_eq!((&after.case, &after.point, &after.seed), (&before.case, &before.point, &before.seed));
        assert_ne!(plan.key(before), other.key(&after));
    }
    assert_ne!(other.digest(), plan.digest());
    let low = |plan: &Plan| judge_claims(plan, &run(plan), &ids(&["low"])).unwrap().remove(0);
    assert_eq!((low(&plan).verdict.judged, low(&plan).outside), (Judged::Reproduces, 0.0));
    assert_eq!((low(&other).verdict.judged, low(&other).outside), (Judged::DoesNotReproduce, 1.0));
    let distinct: BTreeSet<usize> =
        runs_of_claims(&other, &ids(&["low", "rises"])).unwrap().into_iter().collect();
    assert_eq!(distinct.len(), 6, "three points, two seeds");
}

#[test]
fn a_claim_is_as_far_as_the_share_of_its_numbers_that_are_outside() {
    let text = TEXT.replace(
        r#"at = { calls = 5, "cpu.nat_us" = 100.0 }"#,
        r#"at = { calls = [1, 5, 10], "cpu.nat_us" = 100.0 }"#,
    );
    let plan = plan(&text);
    let results = run(&plan);
    let loads: Vec<f64> = {
        let all = judge_claims(&plan, &results, &ids(&["low"])).unwrap();
        all[0].verdict.parts.iter().map(|part| part.ours.unwrap()).collect()
    };
    let outside = loads.iter().filter(|load| **load > 0.7).count();
    assert!((1..loads.len()).contains(&outside), "{loads:?}");
    let scored = judge_claims(&plan, &results, &ids(&["low", "rises", "open"])).unwrap();
    let want = outside as f64 / loads.len() as f64;
    assert_eq!(scored.iter().map(|one| one.outside).collect::<Vec<_>>(), [want, 0.0, 0.0]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let plan = plan(TEXT);
    let with = |name: &str, value: f64| plan.with_settings(&Settings::new().with(name, value));
    assert!(
        matches!(with("cpu.nat_uss", 1.0), Err(SettingError::Unknown { meant: Some(name), .. }) if name == "cpu.nat_us")
    );
    assert!(matches!(with("cpu.nat_us", -1.0), Err(SettingError::Wrong { .. })));
    assert!(
        matches!(with("cpu.nat_us", 99_999.5), Err(SettingError::Unfit { .. })),
        "the testbed asks for that"
    );
    let suite = plan.with_settings(&Settings::new().with("receipts.suite", "none"));
    assert!(matches!(suite, Err(SettingError::Unfit { .. })), "the cases differ in it");

    let slower = with("cpu.nat_us", 150.0).unwrap();
    let compares = runs_of_claims(&slower, &ids(&["low", "compares"]));
    assert!(
        matches!(compares, Err(ClaimError::Compared { id, setting, .. }) if id == "compares" && setting == "cpu.nat_us")
    );
    let slip = judge_claims(&plan, &Results::new(&plan), &ids(&["rise"]));
    assert!(matches!(slip, Err(ClaimError::Unknown { meant: Some(id), .. }) if id == "rises"));
    assert!(runs_of_claims(&plan, &ids(&["banana"])).is_err());
}

#[test]
fn claims_can_be_listed() {
    let infos = claim_infos(&plan(TEXT));
    let names: Vec<(&str, bool)> = infos.iter().map(|info| (info.id.as_str(), info.is_prediction)).collect();
    assert_eq!(names, [("low", false), ("rises", false), ("compares", false), ("open", true)]);
    assert_eq!((infos[0].text.as_str(), infos[0].source.as_str()), ("few calls are easy", "Section 1"));
}
