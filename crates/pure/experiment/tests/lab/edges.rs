//! Verdicts where two reasons meet: bounds beside numbers, nothing beside zero, one number of several.

use crate::testbed::{plan, small, with_loads};
use guestright_experiment::{Effect, Judged, Outcome, Platform, Results, Verdict, evaluate};

use Judged::{CannotBeComputed as Open, DoesNotReproduce as No, Reproduces as Yes};

fn one(rest: &str, load: impl Fn(usize, usize) -> Option<f64>) -> Verdict {
    with_loads(&format!("{rest}\n"), load).claims.remove(0)
}

const LARGEST: &str = "[[measure]]\nid = \"room\"\nkind = \"largest\"\nof = \"load\"\nat_most = 1.0\n\
    [[claim]]\nid = \"c\"\ntext = \"t\"\nof = \"room\"\n";

const AT_5: &str = "[[claim]]\nid = \"c\"\ntext = \"t\"\nof = \"load\"\nat = { calls = 5 }\n";

#[test]
fn near_nothing_is_nothing_and_not_everything() {
    let judged = |load: f64| one(&format!("{AT_5}published = 0\nwithin = 0"), |_, _| Some(load)).judged;
    assert_eq!([judged(0.0), judged(-0.0), judged(0.5), judged(-1e-6)], [Yes, Yes, No, No]);
    let percent =
        |load: f64| one(&format!("{AT_5}published = 0\nwithin_percent = 50"), |_, _| Some(load)).judged;
    assert_eq!([percent(0.0), percent(0.01)], [Yes, No], "half of nothing");
    // A billionth of what is published is the rounding of decimals; more is outside.
    let large = |load: f64| one(&format!("{AT_5}published = 1e6\nwithin = 1"), |_, _| Some(load)).judged;
    assert_eq!([large(1_000_001.0), large(1_000_001.000_5), large(1_000_001.01)], [Yes, Yes, No]);
    assert_eq!([large(999_999.0), large(999_998.99)], [Yes, No]);
}

#[test]
fn what_was_not_measured_has_no_most_frequent_number_for_that_reason() {
    let reason = |by: &str, load: fn(usize, usize) -> Option<f64>| {
        let verdict = one(&format!("{AT_5}at_least = 0\nby = \"{by}\""), load);
        assert_eq!(verdict.judged, Open);
        verdict.reason
    };
    assert_eq!(reason("mode", |_, _| None), "it was not measured");
    assert_eq!(reason("mean", |_, _| None), "it was not measured");
    assert_eq!(reason("mode", |_, seed| Some(seed as f64)), "no value is more frequent than the others");
    // Each seed crosses 1; the mean of two that rise and two that fall does not.
    let crossing = "[[measure]]\nid = \"x\"\nkind = \"crossing\"\nof = \"load\"\nlevel = 1.0\n\
        [[claim]]\nid = \"c\"\ntext = \"t\"\nof = \"x\"\nat_least = 0";
    let load = |calls: usize, seed: usize| {
        let rises = (calls as f64 - 4.0) / 4.0;
        Some(if seed < 2 { 1.0 + rises } else { 1.5 - rises })
    };
    let by = |by: &str| one(&format!("{crossing}\nby = \"{by}\""), load);
    assert_eq!((by("curve").judged, by("curve").reason), (Open, "it does not cross 1".to_owned()));
    assert_eq!(by("mean").judged, Yes);
}

#[test]
fn a_number_from_the_mean_curve_says_that_seeds_end_at_a_bound() {
    // Seed 0 alone fails with 8 calls, by so much that the mean does; the sweeps of the others end.
    let load = |calls: usize, seed: usize| Some(if calls == 8 && seed == 0 { 3.0 } else { 0.9 });
    let verdict = one(&format!("{LARGEST}published = 7\nwithin = 0"), load);
    let estimate = &verdict.parts[0].estimate;
    assert_eq!((estimate.beyond, estimate.curve_beyond, estimate.curve), (3, false, Some(7.0)));
    assert_eq!((verdict.judged, verdict.parts[0].bound.as_str()), (Yes, ""));
    assert!(
        verdict.reason.ends_with("a bound: the sweep ends before the condition fails"),
        "{}",
        verdict.reason
    );
    // By the seeds it is a bound, and 7.75 or more is not within 7.
    let verdict = one(&format!("{LARGEST}published = 7\nwithin = 0.5\nby = \"mean\""), load);
    assert_eq!((verdict.judged, verdict.parts[0].bound.as_str()), (No, "at least"));
    let verdict = one(&format!("{LARGEST}published = 8\nwithin = 0.5\nby = \"mean\""), load);
    assert_eq!(
        (verdict.judged, verdict.reason.as_str()),
        (Open, "the sweep ends before the condition fails; make it longer")
    );
    // A metric has no bounds, whatever else is there.
    assert_eq!(one(&format!("{AT_5}at_least = 0"), load).reason, "");
}

/// A prediction along the calls, whose loads are given with either value of what is assumed.
fn effect(load: impl Fn(u32, bool) -> Option<f64>) -> Effect {
    let text = small(
        "cpu.nat_us = [1.0, 2.0]\n[base]\nat = { calls = 5, cpu.nat_us = 1.0 }\n\
         [[claim]]\nid = \"c\"\ntext = \"t\"\nof = \"load\"\nalong = \"calls\"\nprediction = true\n\
         [[assumption]]\ntext = \"a\"\nwhy = \"b\"\nvaried = \"cpu.nat_us\"\n",
    );
    let plan = plan(&text);
    let mut results = Results::new(&plan);
    for run in plan.runs() {
        let (calls, other) = (run.settings.whole::<u32>("calls").unwrap(), run.index / 4 % 2 == 1);
        results.record(&plan, &run, &Outcome::default().with("load", load(calls, other))).unwrap();
    }
    evaluate(&plan, &results, Platform::Sim).assumptions.remove(0).effects.remove(0)
}

#[test]
fn of_a_prediction_the_number_is_told_that_moves_most() {
    // With 1 call it moves by 2; with 8 by 1, but the numbers are larger.
    let moved = effect(|calls, other| match calls {
        1 => Some(if other { 2.0 } else { 0.0 }),
        8 => Some(if other { 101.0 } else { 100.0 }),
        _ => Some(50.0),
    });
    assert!(moved.of.iter().all(|of| of.contains("calls = 1")), "{:?}", moved.of);
    assert_eq!((moved.numbers, moved.range), (vec![Some(0.0), Some(2.0)], Some((0.0, 2.0))));
    // What has no number moves less than anything: less than what stays where it is.
    let moved = effect(|calls, _| (calls > 1).then_some(3.0));
    assert!(moved.of[0].contains("calls = 2"), "{:?}", moved.of);
    let moved = effect(|calls, other| (calls > 1).then_some(if other && calls == 6 { 3.5 } else { 3.0 }));
    assert!(moved.of[0].contains("calls = 6"), "{:?}", moved.of);
    assert_eq!((moved.numbers, moved.range), (vec![Some(3.0), Some(3.5)], Some((3.0, 3.5))));
    // Of several that move alike it is the first.
    let moved = effect(|_, other| Some(if other { 1.0 } else { 0.0 }));
    assert!(moved.of[0].contains("calls = 1"), "{:?}", moved.of);
}

/// What becomes of a claim at places that are assumed: the number that decides, and where it is.
fn deciding(claim: &str, loads: [f64; 6]) -> (String, Option<f64>) {
    let text = small(&format!(
        "cpu.nat_us = [1.0, 2.0]\n[base]\nat = {{ cpu.nat_us = 1.0 }}\n[[claim]]\nid = \"c\"\ntext = \"t\"\nof = \"load\"\n{claim}\n\
         [[assumption]]\ntext = \"a\"\nwhy = \"b\"\nvaried = \"cpu.nat_us\"\n"
    ));
    let plan = plan(&text);
    let mut results = Results::new(&plan);
    for run in plan.runs() {
        let load = loads[run.index / 8];
        results.record(&plan, &run, &Outcome::default().with("load", load)).unwrap();
    }
    let effect = evaluate(&plan, &results, Platform::Sim).assumptions.remove(0).effects.remove(0);
    // What is assumed changes nothing here, so that both say the same but for where they are.
    let located = |index: usize| effect.of[index].replace(&format!(", cpu.nat_us = {}", index + 1), "");
    assert_eq!((located(0), effect.numbers[0]), (located(1), effect.numbers[1]));
    (located(0), effect.numbers[0])
}

#[test]
fn of_several_numbers_the_one_with_the_least_room_decides() {
    let of = |first: f64, second: f64| {
        deciding("at = { calls = [5, 6] }\nbetween = [2, 10]", [0.0, 0.0, first, second, 0.0, 0.0])
    };
    let (five, six) = ("ours, calls = 5".to_owned(), "ours, calls = 6".to_owned());
    #[rustfmt::skip]
    let cases = [
        // 1 above the lower end, 2 below the upper one.
        (3.0, 8.0, &five, 3.0),
        (6.0, 7.0, &six,  7.0),
        (9.0, 4.0, &five, 9.0),
        (4.0, 9.0, &six,  9.0),
        // Half below the upper end, 0.8 above the lower one.
        (9.5, 2.8, &five, 9.5),
        (2.8, 9.5, &six,  9.5),
        // Outside is less than any room.
        (2.0, 1.0, &six,  1.0),
        (11.0, 1.5, &five, 11.0),
    ];
    for (first, second, located, number) in cases {
        assert_eq!(of(first, second), (located.clone(), Some(number)), "{first} {second}");
    }
}

#[test]
fn of_an_order_the_least_step_decides() {
    let of = |order: &str, loads: [f64; 6]| {
        let (located, number) = deciding(&format!("at = {{ calls = [1, 2, 5] }}\norder = {order}"), loads);
        let steps = located.matches("calls = ").count();
        assert!(located.starts_with("from ours, calls = ") && steps == 2, "{located}");
        (located.contains("calls = 5"), number)
    };
    let up = [1.0, 4.0, 6.0, 0.0, 0.0, 0.0];
    assert_eq!(of("\"increasing\"", up), (true, Some(2.0)), "from 4 to 6");
    assert_eq!(of("\"non-decreasing\"\nslack = 1", up), (true, Some(2.0)));
    assert_eq!(of("\"decreasing\"", up), (false, Some(3.0)), "it rises most from 1 to 4");
    let down = [6.0, 4.0, 1.0, 0.0, 0.0, 0.0];
    assert_eq!(of("\"non-increasing\"\nslack = 2", down), (false, Some(-2.0)));
    assert_eq!(of("\"increasing\"", down), (true, Some(-3.0)));
}

#[test]
fn a_table_shows_the_mean_of_what_is_no_place_and_a_dash_without_the_case() {
    // Each seed's most is 10, at another place; the mean curve's is 5.
    let text = "[[case]]\nname = \"a\"\n[[case]]\nname = \"b\"\n\
        [[measure]]\nid = \"m\"\nof = \"load\"\nkind = \"max\"\ncases = [\"a\"]\n\
        [[table]]\nid = \"t\"\ntitle = \"T\"\nrows = \"case\"\n[[table.column]]\nof = \"m\"\n\
        [[note]]\ntitle = \"N\"\ntext = \"{m case=a}\"\n";
    let load = |calls: usize, seed: usize| {
        Some(if (calls == 5) == (seed < 2) && (5..7).contains(&calls) { 10.0 } else { 0.0 })
    };
    let evaluation = with_loads(text, load);
    let estimate = &evaluation.measures[0].numbers[0].estimate;
    assert_eq!(
        (estimate.mean, estimate.curve, evaluation.measures[0].numbers.len()),
        (Some(10.0), Some(5.0), 1)
    );
    let [a, b] = evaluation.tables[0].rows.as_slice() else { panic!("two rows") };
    assert_eq!((a[1].text.as_str(), a[1].number), ("10", Some(10.0)));
    assert_eq!((b[1].text.as_str(), b[1].number, b[1].estimate.is_none()), ("–", None, true));
    assert_eq!(evaluation.notes[0].text, "10");
}

#[test]
fn a_relation_to_a_bound_is_a_bound_that_nobody_knows_the_way_of() {
    // With nat_us = 1 the sweep ends before the load is too high; with 2 it is with 7 calls.
    let text = |of: &str, to: &str| {
        small(&format!(
            "cpu.nat_us = [1.0, 2.0]\n[[measure]]\nid = \"room\"\nkind = \"largest\"\nof = \"load\"\nover = \"calls\"\nat_most = 1.0\n\
             [[measure]]\nid = \"more\"\nkind = \"difference\"\nof = \"room\"\nto = \"room\"\nto_at = {{ cpu.nat_us = {to} }}\n\
             [[claim]]\nid = \"c\"\ntext = \"t\"\nof = \"more\"\nat = {{ cpu.nat_us = {of} }}\nat_least = -100\n"
        ))
    };
    let judge = |of: &str, to: &str| {
        let plan = plan(&text(of, to));
        let mut results = Results::new(&plan);
        for run in plan.runs() {
            let calls = run.settings.whole::<u32>("calls").unwrap();
            let load = if run.index / 4 % 2 == 1 && calls > 6 { 2.0 } else { 0.5 };
            results.record(&plan, &run, &Outcome::default().with("load", load)).unwrap();
        }
        let verdict = evaluate(&plan, &results, Platform::Sim).claims.remove(0);
        (verdict.judged, verdict.parts[0].ours, verdict.parts[0].bound.clone())
    };
    let bound = "a bound".to_owned();
    assert_eq!(judge("2.0", "2.0"), (Yes, Some(0.0), String::new()));
    assert_eq!(judge("1.0", "2.0"), (Open, Some(2.0), bound.clone()));
    assert_eq!(judge("2.0", "1.0"), (Open, Some(-2.0), bound.clone()));
    assert_eq!(judge("1.0", "1.0"), (Open, Some(0.0), bound));
}

#[test]
fn between_two_places_nothing_lies_only_if_both_are_whole_and_next_to_each_other() {
    let fails_at = |spreads: &str| {
        let text = small("[[measure]]\nid = \"m\"\nkind = \"largest\"\nof = \"load\"\nat_most = 1.0\n")
            .replace("calls = [1, 2, 5, 6, 7, 8]", &format!("cpu.nat_us = {spreads}"));
        let plan = plan(&text);
        let mut results = Results::new(&plan);
        for run in plan.runs() {
            let load = if run.index >= 4 { 2.0 } else { 0.5 };
            results.record(&plan, &run, &Outcome::default().with("load", load)).unwrap();
        }
        evaluate(&plan, &results, Platform::Sim).measures[0].numbers[0].estimate.fails_at
    };
    assert_eq!(fails_at("[1, 2]"), None);
    assert_eq!(fails_at("[1, 3]"), Some(3.0));
    assert_eq!(fails_at("[1, 1.5]"), Some(1.5));
    assert_eq!(fails_at("[1.5, 2]"), Some(2.0));
    assert_eq!(fails_at("[1.5, 2.5]"), Some(2.5));
}
