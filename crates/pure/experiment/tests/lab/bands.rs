//! Bands and orders, at their ends.

use crate::testbed::with_loads;
use guestright_experiment::{Evaluation, Judged, Verdict};
use proptest::prelude::*;

use Judged::{CannotBeComputed as Open, DoesNotReproduce as No, Prediction, Reproduces as Yes};

fn load_at_5(test: &str) -> String {
    format!("[[claim]]\nid = \"c\"\ntext = \"t\"\nof = \"load\"\nat = {{ calls = 5 }}\n{test}\n")
}

/// The verdict on the load with 5 calls, whose seeds are given.
fn judge(test: &str, seeds: [f64; 4]) -> Verdict {
    with_loads(&load_at_5(test), |_, seed| Some(seeds[seed])).claims.remove(0)
}

#[test]
fn an_end_is_inside_if_it_is_closed_and_outside_if_it_is_open() {
    let edge = |number: u8, word: &str| format!("measured {number}, expected {word}: on the edge");
    #[rustfmt::skip]
    let cases: [(&str, f64, Judged, String); 21] = [
        ("at_least = 2",            2.0,  Yes, String::new()),
        ("at_least = 2",            1.75, No,  "measured 1.75, expected at least 2: 0.25 too low".into()),
        ("above = 2",               2.0,  No,  edge(2, "above 2")),
        ("above = 2",               2.25, Yes, String::new()),
        ("at_most = 2",             2.0,  Yes, String::new()),
        ("at_most = 2",             2.25, No,  "measured 2.25, expected at most 2: 0.25 too high".into()),
        ("below = 2",               2.0,  No,  edge(2, "below 2")),
        ("below = 2",               1.75, Yes, String::new()),
        ("between = [1, 3]",        1.0,  Yes, String::new()),
        ("between = [1, 3]",        3.0,  Yes, String::new()),
        ("between = [1, 3]",        0.5,  No,  "measured 0.5, expected 1 to 3: 0.5 too low".into()),
        ("between = [1, 3]",        3.5,  No,  "measured 3.5, expected 1 to 3: 0.5 too high".into()),
        ("between = [2, 2]",        2.0,  Yes, String::new()),
        ("above = 1\nat_most = 3",  1.0,  No,  edge(1, "above 1 and at most 3")),
        ("above = 1\nat_most = 3",  3.0,  Yes, String::new()),
        ("at_least = 1\nbelow = 3", 1.0,  Yes, String::new()),
        ("at_least = 1\nbelow = 3", 3.0,  No,  edge(3, "at least 1 and below 3")),
        ("above = 2",               -4.0, No,  "measured -4, expected above 2: 6 too low".into()),
        ("published = -4\nwithin_percent = 50", -6.0, Yes, String::new()),
        ("published = -4\nwithin_percent = 50", -2.0, Yes, String::new()),
        ("published = -4\nwithin_percent = 50", -6.5, No, "measured -6.5, expected -6 to -2: 0.5 too low".into()),
    ];
    for (test, load, judged, reason) in cases {
        let verdict = judge(test, [load; 4]);
        assert_eq!((verdict.judged, verdict.reason), (judged, reason), "{test} {load}");
        assert!(!verdict.unclear, "equal seeds are sure: {test} {load}");
    }
}

/// 0.3 is 0.1 more than 0.2 in a paper; in binary it is a little more.
#[test]
fn a_tolerance_is_decimal() {
    for (published, within, load) in [(0.2, 0.1, 0.3), (0.3, 0.1, 0.4), (0.7, 0.1, 0.6), (1.1, 2.2, 3.3)] {
        let verdict = judge(&format!("published = {published}\nwithin = {within}"), [load; 4]);
        assert_eq!(verdict.judged, Yes, "{published} {within} {load}");
        // A millionth more is too much.
        let beyond = published + (load - published) * (1.0 + 1e-6);
        let verdict = judge(&format!("published = {published}\nwithin = {within}"), [beyond; 4]);
        assert_eq!(verdict.judged, No, "{published} {within} {beyond}");
    }
}

#[test]
fn each_way_to_choose_our_number_gives_its_own() {
    // Mean 4, median 2.5, most frequent 1; sorted 1, 1, 4, 10.
    let seeds = [10.0, 1.0, 4.0, 1.0];
    for (by, ours, words) in [
        ("mean", 4.0, "the mean of the seeds"),
        ("curve", 4.0, "taken from the mean curve"),
        ("median", 2.5, "the median of the seeds"),
        ("mode", 1.0, "the most frequent of the seeds"),
        ("every", 4.0, "every seed"),
    ] {
        let verdict = judge(&format!("prediction = true\nby = \"{by}\""), seeds);
        assert_eq!((verdict.parts[0].ours, verdict.by.as_str()), (Some(ours), words), "{by}");
        assert_eq!((verdict.judged, verdict.wanted.as_str()), (Prediction, "nothing is published"));
    }
    // Every seed is asked, and the farthest is said: 10 is 5 above, 1 is 2 below.
    let verdict = judge("between = [3, 5]\nby = \"every\"", seeds);
    assert_eq!(verdict.judged, No);
    assert_eq!(verdict.reason, "3 of 4 seeds are outside, expected 3 to 5: the farthest is 5 too high");
    let verdict = judge("between = [1, 10]\nby = \"every\"", seeds);
    assert_eq!((verdict.judged, verdict.unclear, verdict.reason.as_str()), (Yes, false, ""));
}

/// Seeds 1 and 3 twice: mean 2, deviation √(4/3), half an interval 3.182 · 0.57735 = 1.8374.
#[test]
fn a_verdict_is_unclear_if_the_interval_crosses_an_end() {
    let seeds = [1.0, 3.0, 1.0, 3.0];
    #[rustfmt::skip]
    let cases = [
        ("at_least = 0.162", Yes, false),
        ("at_least = 0.163", Yes, true),
        ("at_most = 3.838",  Yes, false),
        ("at_most = 3.837",  Yes, true),
        ("at_least = 3.837", No,  true),
        ("at_least = 3.838", No,  false),
        ("at_most = 0.163",  No,  true),
        ("at_most = 0.162",  No,  false),
        // Both ends of the interval are outside and the mean is inside.
        ("between = [1.9, 2.1]", Yes, true),
    ];
    for (test, judged, unclear) in cases {
        let verdict = judge(test, seeds);
        assert_eq!((verdict.judged, verdict.unclear), (judged, unclear), "{test}: {}", verdict.reason);
        assert_eq!(verdict.reason.contains("reaches across the edge"), unclear, "{test}");
    }
}

#[test]
fn the_bands_words_are_those_of_the_plan() {
    #[rustfmt::skip]
    let cases = [
        ("published = 1\nwithin = 0.5",          "within ±0.5 of what is published"),
        ("published = 1\nwithin_percent = 12.5", "within ±12.5 % of what is published"),
        ("at_least = 1",                         "at least 1"),
        ("above = 1",                            "above 1"),
        ("at_most = 1",                          "at most 1"),
        ("below = 1",                            "below 1"),
        ("between = [1, 2]",                     "1 to 2"),
        ("at_least = 1\nat_most = 2",            "1 to 2"),
        ("above = 1\nbelow = 2",                 "above 1 and below 2"),
        ("above = 1\nat_most = 2",               "above 1 and at most 2"),
        ("prediction = true",                    "nothing is published"),
    ];
    for (test, wanted) in cases {
        assert_eq!(judge(test, [1.0; 4]).wanted, wanted, "{test}");
    }
}

/// The loads with 1, 2, 5, 6, 7 and 8 calls, the same for all seeds.
fn along(rest: &str, loads: [f64; 6]) -> Verdict {
    let index_of = |calls: usize| [1, 2, 5, 6, 7, 8].iter().position(|other| *other == calls).unwrap();
    let claim = format!("[[claim]]\nid = \"c\"\ntext = \"t\"\nof = \"load\"\nalong = \"calls\"\n{rest}\n");
    with_loads(&claim, |calls, _| Some(loads[index_of(calls)])).claims.remove(0)
}

#[test]
fn an_order_holds_up_to_its_slack() {
    let up = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let flat = [2.0; 6];
    let mut down = up;
    down.reverse();
    // Falls by a half once.
    let dip = [1.0, 2.0, 1.5, 4.0, 5.0, 6.0];
    #[rustfmt::skip]
    let cases = [
        ("increasing",     up,   "0",   Yes), ("increasing",     flat, "0",   No),  ("increasing",     down, "0", No),
        ("non-decreasing", up,   "0",   Yes), ("non-decreasing", flat, "0",   Yes), ("non-decreasing", down, "0", No),
        ("decreasing",     up,   "0",   No),  ("decreasing",     flat, "0",   No),  ("decreasing",     down, "0", Yes),
        ("non-increasing", up,   "0",   No),  ("non-increasing", flat, "0",   Yes), ("non-increasing", down, "0", Yes),
        ("increasing",     dip,  "0.5", No),  ("non-decreasing", dip,  "0.5", Yes), ("increasing",     dip,  "0.75", Yes),
        ("non-decreasing", dip,  "0.25", No), ("increasing",     flat, "0.1", Yes), ("decreasing",     flat, "0.1", Yes),
        ("non-increasing", up,   "1",   Yes), ("decreasing",     up,   "1",   No),
    ];
    for (order, loads, slack, judged) in cases {
        let verdict = along(&format!("order = \"{order}\"\nslack = {slack}"), loads);
        assert_eq!(verdict.judged, judged, "{order} {loads:?} {slack}: {}", verdict.reason);
        assert!(!verdict.unclear, "{order} {loads:?}");
    }
    let verdict = along("order = \"increasing\"\nslack = 0.25", dip);
    assert_eq!(verdict.wanted, "increasing, give or take 0.25");
    assert_eq!(
        verdict.reason,
        "ours, calls = 2 and ours, calls = 5: measured 2, then 1.5; expected increasing"
    );
    let judged: Vec<Judged> = verdict.parts.iter().map(|part| part.judged).collect();
    assert_eq!(judged, [Yes, Yes, No, Yes, Yes, Yes], "the second of a pair is the one that fails");
}

#[test]
fn along_takes_the_points_between_its_ends_with_the_ends() {
    let up = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let count = |rest: &str| along(&format!("{rest}\nat_least = 0"), up).parts.len();
    assert_eq!(count(""), 6);
    assert_eq!(count("from = 2\nto = 7"), 4);
    assert_eq!(count("from = 3\nto = 7"), 3);
    assert_eq!(count("from = 6"), 3);
    assert_eq!(count("to = 2"), 2);
    // One point is in any order.
    let verdict = along("from = 6\nto = 6\norder = \"decreasing\"", up);
    assert_eq!((verdict.judged, verdict.parts.len(), verdict.reason.as_str()), (Yes, 1, ""));
    assert_eq!(verdict.parts[0].point, "calls = 6");
    // The worst point decides, and each that fails is said.
    let verdict = along("from = 5\nat_most = 4", up);
    assert_eq!(verdict.judged, No);
    assert_eq!(
        verdict.reason,
        "ours, calls = 7: measured 5, expected at most 4: 1 too high\nours, calls = 8: measured 6, expected at most 4: 2 too high"
    );
}

#[test]
fn an_order_of_every_seed_asks_every_pair() {
    // In the mean it rises by 1; seed 3 falls by 2.
    let load = |calls: usize, seed: usize| Some(if calls == 5 { 1.0 } else { [3.0, 3.0, 3.0, -1.0][seed] });
    let claim = |by: &str| {
        format!(
            "[[claim]]\nid = \"c\"\ntext = \"t\"\nof = \"load\"\nalong = \"calls\"\nfrom = 5\nto = 6\norder = \"increasing\"\nby = \"{by}\"\n"
        )
    };
    let of = |by: &str| with_loads(&claim(by), load).claims.remove(0);
    let mean = of("mean");
    // Differences 2, 2, 2, -2: mean 1, deviation 2, half an interval 3.182.
    assert_eq!((mean.judged, mean.unclear), (Yes, true));
    assert_eq!(
        mean.reason,
        "ours, calls = 5 and ours, calls = 6: the 95 % interval of the paired difference, -2.18 to 4.18, allows both orders"
    );
    let every = of("every");
    assert_eq!((every.judged, every.unclear), (No, false));
    assert_eq!(every.reason, "ours, calls = 5 and ours, calls = 6: measured 1, then 2; expected increasing");
    // Falling, the interval is said in the same sense: second less first.
    let falling = with_loads(&claim("mean").replace("increasing", "decreasing"), load).claims.remove(0);
    assert_eq!((falling.judged, falling.unclear), (No, true));
    assert!(falling.reason.ends_with("difference, -2.18 to 4.18, allows both orders"), "{}", falling.reason);
}

#[test]
fn what_is_missing_in_an_order_cannot_be_computed_and_compares_with_nothing() {
    let load = |calls: usize, _| (calls != 5).then_some(10.0 - calls as f64);
    let claim =
        "[[claim]]\nid = \"c\"\ntext = \"t\"\nof = \"load\"\nalong = \"calls\"\norder = \"increasing\"\n";
    let verdict = with_loads(claim, load).claims.remove(0);
    let judged: Vec<Judged> = verdict.parts.iter().map(|part| part.judged).collect();
    assert_eq!(judged, [Yes, No, Open, Yes, No, No]);
    assert_eq!(verdict.judged, Open, "nobody can say is worse than no");
    assert!(verdict.reason.ends_with("\nours, calls = 5: it was not measured"), "{}", verdict.reason);
}

#[test]
fn numbers_that_are_none_are_not_measured() {
    for none in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let verdict = judge("at_least = 0", [none; 4]);
        assert_eq!((verdict.judged, verdict.reason.as_str()), (Open, "it was not measured"), "{none}");
        let verdict = judge("at_least = 0", [none, 2.0, 4.0, 6.0]);
        assert_eq!((verdict.judged, verdict.parts[0].ours), (Yes, Some(4.0)), "{none}");
        assert!(verdict.reason.contains("1 of 4 seeds have no number"), "{}", verdict.reason);
    }
}

fn counts(evaluation: &Evaluation) -> [usize; 4] {
    [Yes, No, Open, Prediction].map(|judged| evaluation.count(judged))
}

#[test]
fn verdicts_are_counted_and_one_that_is_open_is_not_complete() {
    let claim = |id: &str, test: &str| {
        format!("[[claim]]\nid = \"{id}\"\ntext = \"t\"\nof = \"load\"\nat = {{ calls = 5 }}\n{test}\n")
    };
    let some =
        [claim("a", "at_least = 1"), claim("b", "at_most = 1"), claim("c", "prediction = true")].concat();
    let all = with_loads(&some, |_, _| Some(2.0));
    assert_eq!((counts(&all), all.is_complete()), ([1, 1, 0, 1], true));
    let none = with_loads(&some, |_, _| None);
    assert_eq!((counts(&none), none.is_complete()), ([0, 0, 3, 0], false));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_claim_reproduces_exactly_if_its_number_is_in_the_band(
        (low, width) in (-50_i32..50, 0_i32..20),
        (low_open, high_open) in (any::<bool>(), any::<bool>()),
        load in -80_i32..80,
    ) {
        let high = low + width;
        let test = format!(
            "{} = {low}\n{} = {high}",
            if low_open { "above" } else { "at_least" },
            if high_open { "below" } else { "at_most" },
        );
        let inside = (if low_open { load > low } else { load >= low }) && (if high_open { load < high } else { load <= high });
        let verdict = judge(&test, [f64::from(load); 4]);
        prop_assert_eq!(verdict.judged, if inside { Yes } else { No });
        prop_assert_eq!(verdict.reason.is_empty(), inside);
        let by_every = judge(&format!("{test}\nby = \"every\""), [f64::from(load); 4]);
        prop_assert_eq!(by_every.judged, verdict.judged);
    }

    #[test]
    fn the_order_of_the_seeds_changes_no_verdict(
        seeds in proptest::array::uniform4(0_i32..8), turn in 1_usize..4, limit in 0_i32..8,
    ) {
        let seeds = seeds.map(f64::from);
        let mut turned = seeds;
        turned.rotate_left(turn);
        for by in ["mean", "median", "mode", "every"] {
            let test = format!("at_least = {limit}\nby = \"{by}\"");
            let (one, other) = (judge(&test, seeds), judge(&test, turned));
            prop_assert_eq!((one.judged, one.unclear), (other.judged, other.unclear));
        }
    }

    #[test]
    fn shifting_every_load_and_the_band_changes_no_verdict(
        seeds in proptest::array::uniform4(0_i32..8), limit in 0_i32..8, shift in -100_i32..100,
    ) {
        // Whole numbers and quarters of them are exact.
        let seeds = seeds.map(f64::from);
        let moved = seeds.map(|load| load + f64::from(shift));
        let one = judge(&format!("at_least = {limit}"), seeds);
        let other = judge(&format!("at_least = {}", limit + shift), moved);
        prop_assert_eq!(one.judged, other.judged);
        let (ours, shifted) = (one.parts[0].ours.unwrap(), other.parts[0].ours.unwrap());
        prop_assert!((ours + f64::from(shift) - shifted).abs() < 1e-12);
    }
}
