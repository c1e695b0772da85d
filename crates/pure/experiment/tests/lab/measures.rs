//! Every kind of measure, from rows that are given.

use crate::testbed::{plan, small, with_loads};
use guestright_experiment::{Bound, Estimate, Evaluation, Judged, Outcome, Platform, Results, evaluate};

const CALLS: [usize; 6] = [1, 2, 5, 6, 7, 8];

fn index_of(calls: usize) -> usize {
    CALLS.iter().position(|other| *other == calls).unwrap()
}

/// The measure of a curve that all seeds share.
fn measure(rest: &str, loads: [f64; 6]) -> Estimate {
    let text = format!("[[measure]]\nid = \"m\"\nof = \"load\"\n{rest}\n");
    let evaluation = with_loads(&text, |calls, _| Some(loads[index_of(calls)]));
    evaluation.measures[0].numbers[0].estimate.clone()
}

const CURVE: [f64; 6] = [4.0, 3.0, 1.0, 2.0, 5.0, 0.5];

#[test]
fn each_kind_gives_the_number_that_is_reckoned_by_hand() {
    #[rustfmt::skip]
    let cases = [
        ("kind = \"at\"\nx = 5",                            1.0),
        ("kind = \"max\"",                                  5.0),
        ("kind = \"max\"\nto = 6",                          4.0),
        ("kind = \"min\"",                                  0.5),
        ("kind = \"min\"\nto = 7",                          1.0),
        ("kind = \"argmax\"",                               7.0),
        ("kind = \"argmax\"\nfrom = 2\nto = 6",             2.0),
        ("kind = \"argmin\"",                               8.0),
        ("kind = \"argmin\"\nfrom = 6\nto = 7",             6.0),
        ("kind = \"mean\"",                                 15.5 / 6.0),
        ("kind = \"mean\"\nfrom = 2\nto = 6",               2.0),
        ("kind = \"mean\"\nfrom = 5\nto = 5",               1.0),
        // From 3 with 2 calls to 1 with 5: half way.
        ("kind = \"crossing\"\nlevel = 2.0",                3.5),
        // From 3 with 2 calls: a quarter of the way, twice 0.75.
        ("kind = \"crossing\"\nlevel = 2.5",                2.75),
        ("kind = \"crossing\"\nlevel = 4.0",                1.0),
        ("kind = \"crossing\"\nlevel = 1.0",                5.0),
        ("kind = \"crossing\"\nlevel = 5.0",                7.0),
        ("kind = \"crossing\"\nlevel = 0.5",                8.0),
        ("kind = \"largest\"\nat_least = 3.0",              2.0),
        ("kind = \"largest\"\nat_most = 4.0",               6.0),
        ("kind = \"smallest\"\nat_most = 0.5",              8.0),
        ("kind = \"smallest\"\nat_least = 0.5",             1.0),
        ("kind = \"largest\"\nat_least = 0.5",              8.0),
        ("kind = \"largest\"\nat_least = 5.0\notherwise = 0", 0.0),
    ];
    for (rest, want) in cases {
        let estimate = measure(rest, CURVE);
        for got in [estimate.curve, estimate.mean] {
            assert!(got.is_some_and(|got| (got - want).abs() < 1e-12), "{rest}: {got:?}, not {want}");
        }
        assert_eq!((estimate.missing, estimate.why), (0, None), "{rest}");
    }
}

#[test]
fn where_there_is_no_number_the_reason_is_said() {
    let nan = f64::NAN;
    let gap = [4.0, nan, 1.0, 2.0, 5.0, 0.5];
    #[rustfmt::skip]
    let cases = [
        ("kind = \"crossing\"\nlevel = 9.0",                CURVE, "it does not cross 9"),
        ("kind = \"crossing\"\nlevel = 0.25",               CURVE, "it does not cross 0.25"),
        ("kind = \"crossing\"\nlevel = 2.0",                gap,   "it was not measured at 2"),
        ("kind = \"largest\"\nat_least = 5.0",              CURVE, "the condition fails already at 1"),
        ("kind = \"smallest\"\nat_least = 5.0",             CURVE, "the condition fails already at 8"),
        ("kind = \"largest\"\nat_least = 3.0",              gap,   "it was not measured at 2"),
        ("kind = \"mean\"",                                 gap,   "it was not measured at 2"),
        ("kind = \"at\"\nx = 2",                            gap,   "it was not measured"),
    ];
    for (rest, loads, why) in cases {
        let estimate = measure(rest, loads);
        assert_eq!(
            (estimate.curve, estimate.mean, estimate.why.as_deref()),
            (None, None, Some(why)),
            "{rest}"
        );
    }
    // What lies outside of the ends does not matter.
    assert_eq!(measure("kind = \"mean\"\nfrom = 5\nto = 6", gap).curve, Some(1.5));
    // Nor does what comes behind the number.
    assert_eq!(measure("kind = \"smallest\"\nat_most = 0.5", gap).curve, Some(8.0));
}

#[test]
fn a_prefix_says_its_bound_and_where_it_fails() {
    let (most, least) = (Some(Bound::AtMost), Some(Bound::AtLeast));
    #[rustfmt::skip]
    let cases = [
        // Held at 2, fails at 5: 3 and 4 were not tried.
        ("kind = \"largest\"\nat_least = 3.0",    2.0, None,  Some(5.0)),
        ("kind = \"largest\"\nat_least = 4.0",    1.0, None,  None),
        ("kind = \"largest\"\nat_most = 4.0",     6.0, None,  None),
        ("kind = \"smallest\"\nat_most = 0.5",    8.0, None,  None),
        ("kind = \"largest\"\nat_least = 0.5",    8.0, least, None),
        ("kind = \"smallest\"\nat_most = 5.0",    1.0, most,  None),
    ];
    for (rest, want, bound, fails_at) in cases {
        let estimate = measure(rest, CURVE);
        assert_eq!((estimate.curve, estimate.fails_at), (Some(want), fails_at), "{rest}");
        assert_eq!((estimate.curve_bound, estimate.bound), (bound, bound), "{rest}");
        let beyond = bound.is_some();
        assert_eq!((estimate.curve_beyond, estimate.beyond), (beyond, if beyond { 4 } else { 0 }), "{rest}");
    }
}

#[test]
fn bounds_of_some_seeds_are_counted_and_have_a_direction_if_all_agree() {
    // Seed 0 carries 6 calls; the others' sweeps end at 8; so does the mean's.
    let text = "[[measure]]\nid = \"m\"\nof = \"load\"\nkind = \"largest\"\nat_most = 1.0\n";
    let load = |calls: usize, seed: usize| Some(if seed == 0 && calls > 6 { 1.2 } else { 0.5 });
    let estimate = with_loads(text, load).measures[0].numbers[0].estimate.clone();
    assert_eq!(estimate.values, [Some(6.0), Some(8.0), Some(8.0), Some(8.0)]);
    assert_eq!((estimate.mean, estimate.mode, estimate.median), (Some(7.5), Some(8.0), Some(8.0)));
    assert_eq!((estimate.beyond, estimate.bound), (3, Some(Bound::AtLeast)));
    assert_eq!((estimate.curve, estimate.curve_beyond), (Some(8.0), true));
    // The sweep begins too late for seed 0 and ends too early for the others: no direction.
    let late = text.replace("at_most", "otherwise = -5\nat_most");
    let load = |_, seed: usize| Some(if seed == 0 { 1.2 } else { 0.5 });
    let estimate = with_loads(&late, load).measures[0].numbers[0].estimate.clone();
    assert_eq!(estimate.values, [Some(0.0), Some(8.0), Some(8.0), Some(8.0)]);
    assert_eq!((estimate.beyond, estimate.bound), (4, None));
    assert_eq!(estimate.curve_bound, Some(Bound::AtLeast));
}

fn relation(kind: &str, to_at: &str, load: impl Fn(usize, usize) -> Option<f64>) -> Vec<Estimate> {
    let text = format!(
        "[[measure]]\nid = \"m\"\nkind = \"{kind}\"\nof = \"load\"\nto = \"load\"\nto_at = {{ calls = {to_at} }}\n"
    );
    with_loads(&text, load).measures[0].numbers.iter().map(|number| number.estimate.clone()).collect()
}

#[test]
fn a_relation_is_of_each_point_to_the_point_that_is_named() {
    let load = |calls: usize, _| Some(CURVE[index_of(calls)]);
    let curve = |kind: &str| -> Vec<f64> {
        relation(kind, "1", load).into_iter().map(|estimate| estimate.curve.unwrap()).collect()
    };
    assert_eq!(curve("ratio"), [1.0, 0.75, 0.25, 0.5, 1.25, 0.125]);
    assert_eq!(curve("difference"), [0.0, -1.0, -3.0, -2.0, 1.0, -3.5]);
    assert_eq!(curve("change"), [0.0, -25.0, -75.0, -50.0, 25.0, -87.5]);
}

#[test]
fn a_ratio_of_means_is_not_the_mean_of_the_ratios() {
    let load = |calls: usize, seed: usize| {
        Some(if calls == 1 { [1.0, 1.0, 2.0, 2.0][seed] } else { (seed + 1) as f64 })
    };
    let estimate = relation("ratio", "1", load).swap_remove(1);
    assert_eq!(estimate.values, [1.0, 2.0, 1.5, 2.0].map(Some));
    assert_eq!((estimate.mean, estimate.curve), (Some(1.625), Some(2.5 / 1.5)));
}

#[test]
fn nothing_is_a_ratio_to_zero() {
    let load = |calls: usize, _| Some(if calls == 1 { 0.0 } else { 2.0 });
    for kind in ["ratio", "change"] {
        for estimate in relation(kind, "1", load) {
            assert_eq!((estimate.mean, estimate.curve), (None, None), "{kind}");
            assert_eq!(estimate.why.as_deref(), Some("what it is compared with is 0"), "{kind}");
        }
    }
    assert_eq!(relation("difference", "1", load)[1].curve, Some(2.0));
    // What was not measured says so, on either side.
    let no_base = relation("ratio", "1", |calls, _| (calls != 1).then_some(2.0));
    assert_eq!(no_base[1].why.as_deref(), Some("it was not measured"));
    let no_point = relation("ratio", "1", |calls, _| (calls != 2).then_some(2.0));
    assert_eq!(no_point[1].why.as_deref(), Some("it was not measured"));
    assert_eq!((no_point[2].curve, no_point[2].why.as_deref()), (Some(1.0), None));
}

/// Some runs are recorded, the others are missing.
fn partly(rest: &str, load: impl Fn(usize, usize) -> Option<f64>) -> Evaluation {
    let plan = plan(&small(rest));
    let mut results = Results::new(&plan);
    for run in plan.runs() {
        let calls = run.settings.whole::<usize>("calls").unwrap();
        if let Some(load) = load(calls, run.replication as usize) {
            results.record(&plan, &run, &Outcome::default().with("load", load)).unwrap();
        }
    }
    evaluate(&plan, &results, Platform::Sim)
}

#[test]
fn missing_runs_are_counted_where_they_are_needed() {
    let text = "[[measure]]\nid = \"m\"\nof = \"load\"\nkind = \"max\"\n\
        [[measure]]\nid = \"r\"\nkind = \"ratio\"\nof = \"load\"\nto = \"load\"\nto_at = { calls = 1 }\n\
        [[claim]]\nid = \"c\"\ntext = \"t\"\nof = \"m\"\nat_least = 0\n\
        [[claim]]\nid = \"d\"\ntext = \"t\"\nof = \"load\"\nat = { calls = 5 }\nat_least = 0\n\
        [[claim]]\nid = \"e\"\ntext = \"t\"\nof = \"r\"\nat = { calls = 2 }\nat_least = 0\n\
        [[claim]]\nid = \"f\"\ntext = \"t\"\nof = \"r\"\nat = { calls = 5 }\nat_least = 0\n";
    // Two runs with 1 call and one with 2.
    let missing = |calls: usize, seed: usize| (calls == 1 && seed < 2) || (calls == 2 && seed == 3);
    let evaluation = partly(text, |calls, seed| (!missing(calls, seed)).then_some(0.5));
    assert_eq!((evaluation.runs, evaluation.missing, evaluation.is_complete()), (24, 3, false));
    assert_eq!(evaluation.measures[0].numbers[0].estimate.missing, 3);
    let ratios: Vec<usize> = evaluation.measures[1].numbers.iter().map(|one| one.estimate.missing).collect();
    assert_eq!(ratios, [4, 3, 2, 2, 2, 2], "those of the point and those of what it is compared with");
    let verdict = |index: usize| (evaluation.claims[index].judged, evaluation.claims[index].reason.as_str());
    assert_eq!(verdict(0), (Judged::CannotBeComputed, "3 runs are missing"));
    assert_eq!(verdict(1), (Judged::Reproduces, ""));
    assert_eq!(verdict(2), (Judged::CannotBeComputed, "3 runs are missing"));
    assert_eq!(verdict(3), (Judged::CannotBeComputed, "2 runs are missing"));
}

#[test]
fn a_note_has_its_numbers_filled_in_with_their_bounds() {
    let text = "[[measure]]\nid = \"m\"\nof = \"load\"\nkind = \"largest\"\nat_most = 1.0\n\
        [[measure]]\nid = \"s\"\nof = \"load\"\nkind = \"smallest\"\nat_most = 1.0\n\
        [[measure]]\nid = \"x\"\nof = \"load\"\nkind = \"crossing\"\nlevel = 9.0\n\
        [[note]]\ntitle = \"N\"\ntext = \"A {m}, b {s}; c {x}, d {load calls=5}.\"\n";
    let evaluation = with_loads(text, |calls, seed| Some(calls as f64 / 100.0 + seed as f64 / 1_000.0));
    // With 5 calls 0.05 and the mean of 0, 1, 2 and 3 thousandths.
    assert_eq!(evaluation.notes[0].text, "A at least 8, b at most 1; c (not computed), d 0.0515.");
    let evaluation = with_loads(text, |calls, _| Some(if calls > 2 { 2.0 } else { 0.5 }));
    assert_eq!(evaluation.notes[0].text, "A 2, b (not computed); c (not computed), d 2.");
}

/// With a bound as its number, a claim is judged only where every number that it may be gives the same verdict.
#[test]
fn a_bound_decides_a_claim_where_it_says_enough() {
    use Judged::{CannotBeComputed as Open, DoesNotReproduce as No, Prediction, Reproduces as Yes};
    let judge = |kind: &str, test: &str| {
        let text = format!(
            "[[measure]]\nid = \"m\"\nof = \"load\"\nkind = \"{kind}\"\nat_most = 1.0\n\
             [[claim]]\nid = \"c\"\ntext = \"t\"\nof = \"m\"\n{test}\n"
        );
        with_loads(&text, |_, _| Some(0.5)).claims.remove(0)
    };
    #[rustfmt::skip]
    let cases = [
        // 8 or more.
        ("largest", "at_least = 8", Yes), ("largest", "at_least = 7", Yes), ("largest", "at_least = 9", Open),
        ("largest", "above = 8", Open),   ("largest", "above = 7", Yes),    ("largest", "at_most = 8", Open),
        ("largest", "at_most = 7", No),   ("largest", "below = 8", No),     ("largest", "below = 9", Open),
        ("largest", "between = [3, 7]", No), ("largest", "between = [3, 9]", Open), ("largest", "prediction = true", Prediction),
        ("largest", "above = 3\nbelow = 8", No), ("largest", "above = 8\nbelow = 9", Open),
        // 1 or less.
        ("smallest", "at_most = 1", Yes), ("smallest", "at_most = 2", Yes), ("smallest", "at_most = 0", Open),
        ("smallest", "below = 1", Open),  ("smallest", "below = 2", Yes),   ("smallest", "at_least = 1", Open),
        ("smallest", "at_least = 2", No), ("smallest", "above = 1", No),    ("smallest", "above = 0", Open),
        ("smallest", "between = [2, 3]", No), ("smallest", "between = [0, 3]", Open),
        // The most frequent of bounds may be another number altogether.
        ("largest", "at_most = 7\nby = \"mode\"", Open), ("smallest", "at_least = 2\nby = \"mode\"", Open),
    ];
    for (kind, test, judged) in cases {
        let verdict = judge(kind, test);
        assert_eq!(verdict.judged, judged, "{kind} {test}: {}", verdict.reason);
        let bound = if kind == "largest" { "at least" } else { "at most" };
        assert_eq!(verdict.parts[0].bound, bound, "{kind} {test}");
        let words = if judged == Open {
            "the sweep ends before the condition fails; make it longer"
        } else {
            "a bound: the sweep ends before the condition fails"
        };
        assert!(verdict.reason.ends_with(words), "{kind} {test}: {}", verdict.reason);
    }
}

/// Where every seed counts, one that is outside for certain decides, whatever the bounds of the others may be.
#[test]
fn a_seed_that_is_outside_for_certain_decides_among_bounds() {
    use Judged::{CannotBeComputed as Open, DoesNotReproduce as No, Reproduces as Yes};
    let judge = |kind: &str, test: &str| {
        let text = format!(
            "[[measure]]\nid = \"m\"\nof = \"load\"\nkind = \"{kind}\"\nat_most = 1.0\n\
             [[claim]]\nid = \"c\"\ntext = \"t\"\nof = \"m\"\n{test}\nby = \"every\"\n"
        );
        // Of the first seed all points hold, of the others the one at the end where the measure begins.
        let first = if kind == "largest" { 1 } else { 8 };
        with_loads(&text, |calls, seed| Some(if seed == 0 || calls == first { 0.5 } else { 2.0 }))
            .claims
            .remove(0)
    };
    #[rustfmt::skip]
    let cases = [
        // 8 or more, and three times 1: 2.75 in the mean.
        ("largest", "at_least = 3", No), ("largest", "at_least = 2", No), ("largest", "at_least = 1", Yes),
        ("largest", "at_most = 9", Open), ("largest", "at_most = 7", No), ("largest", "between = [1, 9]", Open),
        ("largest", "between = [2, 9]", No),
        // 1 or less, and three times 8.
        ("smallest", "at_most = 7", No), ("smallest", "at_most = 8", Yes), ("smallest", "at_least = 0", Open),
        ("smallest", "at_least = 2", No), ("smallest", "between = [0, 8]", Open), ("smallest", "between = [0, 7]", No),
    ];
    for (kind, test, judged) in cases {
        let verdict = judge(kind, test);
        assert_eq!(verdict.judged, judged, "{kind} {test}: {}", verdict.reason);
    }
    // Only those are counted.
    assert!(judge("largest", "between = [9, 10]").reason.starts_with("3 of 4 seeds are outside"));
}
