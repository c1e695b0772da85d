//! What holds of an evaluation whatever the rows are.

use crate::mistakes::OF_EVERYTHING;
use crate::testbed::{plan, with_loads};
use guestright_experiment::{Judged, Outcome, Plan, Platform, Results, Row, evaluate};
use proptest::prelude::*;

/// Rows of a plan whose metrics are given run by run; `None` is a run without a row.
fn rows(plan: &Plan, given: &[Option<(f64, f64)>]) -> Vec<(usize, Row)> {
    let row = |run: guestright_experiment::Run| {
        let (load, mos) = given[run.index % given.len()]?;
        let outcome =
            Outcome::default().with("load", load).with("mos_mean", mos).with("delay_ms", load - mos);
        Some((run.index, Row::new(plan, &outcome).unwrap()))
    };
    plan.runs().into_iter().filter_map(row).collect()
}

/// A permutation that is the seed's.
fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed;
    for index in (1..items.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        items.swap(index, (state >> 33) as usize % (index + 1));
    }
}

/// A band around a middle: its ends, and whether they are open.
#[derive(Clone, Copy, Debug)]
struct Ends {
    low: Option<(i32, bool)>,
    high: Option<(i32, bool)>,
}

impl Ends {
    fn text(self) -> String {
        let low =
            self.low.map(|(end, open)| format!("{} = {end}\n", if open { "above" } else { "at_least" }));
        let high =
            self.high.map(|(end, open)| format!("{} = {end}\n", if open { "below" } else { "at_most" }));
        format!("{}{}", low.unwrap_or_default(), high.unwrap_or_default())
    }

    /// Wider by so much at each end; an open end that does not move may close, and an end may be left out.
    fn wider(self, by: (i32, i32), close: bool, drop: (bool, bool)) -> Self {
        let low = self.low.map(|(end, open)| (end - by.0, open && !close));
        let high = self.high.map(|(end, open)| (end + by.1, open && !close));
        // One end has to be left, or nothing is claimed.
        let keep_low = high.is_none() || !drop.0;
        let keep_high = !keep_low || low.is_none() || !drop.1;
        Self { low: low.filter(|_| keep_low), high: high.filter(|_| keep_high) }
    }
}

fn ends() -> impl Strategy<Value = Ends> {
    let end = || (-8_i32..8, any::<bool>());
    prop_oneof![
        end().prop_map(|low| Ends { low: Some(low), high: None }),
        end().prop_map(|high| Ends { low: None, high: Some(high) }),
        (end(), 0_i32..6, any::<bool>())
            .prop_map(|(low, width, open)| Ends { low: Some(low), high: Some((low.0 + width, open)) }),
    ]
}

const OF: [&str; 4] = ["load", "room", "most", "more"];

/// Measures of each kind, and a claim about one of them with 5 calls where that is to be said.
fn claim(of: &str, test: &str) -> String {
    let at = if of == "load" || of == "more" { "at = { calls = 5 }\n" } else { "" };
    format!(
        "[[measure]]\nid = \"room\"\nof = \"load\"\nkind = \"largest\"\nat_most = 2.0\notherwise = 0\n\
         [[measure]]\nid = \"most\"\nof = \"load\"\nkind = \"max\"\n\
         [[measure]]\nid = \"more\"\nof = \"load\"\nkind = \"difference\"\nto = \"load\"\nto_at = {{ calls = 1 }}\n\
         [[claim]]\nid = \"c\"\ntext = \"t\"\nof = \"{of}\"\n{at}{test}\n"
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_in_which_rows_come_changes_nothing(
        given in proptest::collection::vec(proptest::option::weighted(0.9, (-3.0..3.0_f64, 1.0..4.5_f64)), 5..40),
        seed in any::<u64>(),
    ) {
        let plan = plan(OF_EVERYTHING);
        let mut rows = rows(&plan, &given);
        let evaluation = |rows: &[(usize, Row)]| {
            let mut results = Results::new(&plan);
            for (index, row) in rows {
                results.insert(*index, row.clone()).unwrap();
            }
            (evaluate(&plan, &results, Platform::Sim), results.csv(&plan))
        };
        let (first, csv) = evaluation(&rows);
        shuffle(&mut rows, seed);
        let (second, again) = evaluation(&rows);
        prop_assert_eq!(first.json(), second.json());
        prop_assert_eq!(&csv, &again);
        // Nor does the order of the lines of a file.
        let (head, body) = csv.split_once('\n').unwrap();
        let mut lines: Vec<&str> = body.lines().collect();
        shuffle(&mut lines, seed);
        let shuffled = std::iter::once(head).chain(lines).map(|line| format!("{line}\n")).collect::<String>();
        let adopted = Results::from_csv(&plan, &shuffled).unwrap();
        prop_assert_eq!(adopted.strangers, 0);
        prop_assert_eq!(evaluate(&plan, &adopted.results, Platform::Sim).json(), first.json());
    }

    #[test]
    fn a_wider_band_takes_no_claim_back(
        of in proptest::sample::select(OF.to_vec()),
        by in proptest::sample::select(vec!["", "by = \"mean\"\n", "by = \"curve\"\n", "by = \"median\"\n", "by = \"mode\"\n", "by = \"every\"\n"]),
        ends in ends(),
        wider in (0_i32..5, 0_i32..5),
        (close, drop) in (any::<bool>(), (any::<bool>(), any::<bool>())),
        loads in proptest::collection::vec(proptest::option::weighted(0.95, -6_i32..7), 24),
    ) {
        let index_of = |calls: usize| [1, 2, 5, 6, 7, 8].iter().position(|other| *other == calls).unwrap();
        let judge = |ends: Ends| {
            let text = claim(of, &format!("{by}{}", ends.text()));
            with_loads(&text, |calls, seed| loads[index_of(calls) * 4 + seed].map(f64::from)).claims.remove(0)
        };
        let (narrow, wide) = (judge(ends), judge(ends.wider(wider, close, drop)));
        if narrow.judged == Judged::Reproduces {
            prop_assert_eq!(wide.judged, Judged::Reproduces, "{}: {} / {}", of, narrow.wanted, wide.wanted);
        }
        // And a narrower one does not give one: what is outside of the wider is outside of the narrower.
        if wide.judged == Judged::DoesNotReproduce {
            prop_assert_eq!(narrow.judged, Judged::DoesNotReproduce, "{}: {} / {}", of, narrow.wanted, wide.wanted);
        }
    }

    #[test]
    fn a_larger_tolerance_takes_no_claim_back(
        published in -6_i32..7, within in 0_i32..5, more in 0_i32..5, percent in any::<bool>(),
        loads in proptest::array::uniform4(-6_i32..7),
    ) {
        let word = if percent { "within_percent" } else { "within" };
        let scale = if percent { 20 } else { 1 };
        let judge = |within: i32| {
            let test = format!("published = {published}\n{word} = {}", within * scale);
            with_loads(&claim("load", &test), |_, seed| Some(f64::from(loads[seed]))).claims.remove(0).judged
        };
        if judge(within) == Judged::Reproduces {
            prop_assert_eq!(judge(within + more), Judged::Reproduces);
        }
    }

    #[test]
    fn more_slack_takes_no_order_back_and_a_strict_one_holds_loosely_too(
        loads in proptest::collection::vec(0_i32..6, 6), slack in 0_i32..4, more in 0_i32..4,
        every in any::<bool>(), rises in any::<bool>(),
    ) {
        let index_of = |calls: usize| [1, 2, 5, 6, 7, 8].iter().position(|other| *other == calls).unwrap();
        let judge = |order: &str, slack: i32| {
            let by = if every { "every" } else { "mean" };
            let test = format!("[[claim]]\nid = \"c\"\ntext = \"t\"\nof = \"load\"\nalong = \"calls\"\norder = \"{order}\"\nslack = {slack}\nby = \"{by}\"\n");
            with_loads(&test, |calls, _| Some(f64::from(loads[index_of(calls)]))).claims.remove(0).judged
        };
        let (strict, loose) = if rises { ("increasing", "non-decreasing") } else { ("decreasing", "non-increasing") };
        if judge(strict, slack) == Judged::Reproduces {
            prop_assert_eq!(judge(loose, slack), Judged::Reproduces);
            prop_assert_eq!(judge(strict, slack + more), Judged::Reproduces);
        }
        let steps: Vec<i32> = loads.windows(2).map(|two| if rises { two[1] - two[0] } else { two[0] - two[1] }).collect();
        let holds = steps.iter().all(|step| *step >= -slack);
        prop_assert_eq!(judge(loose, slack) == Judged::Reproduces, holds);
    }

    #[test]
    fn an_evaluation_is_the_same_after_json(
        given in proptest::collection::vec(proptest::option::weighted(0.8, (-3.0..3.0_f64, 1.0..4.5_f64)), 3..20),
    ) {
        let plan = plan(OF_EVERYTHING);
        let mut results = Results::new(&plan);
        for (index, row) in rows(&plan, &given) {
            results.insert(index, row).unwrap();
        }
        let evaluation = evaluate(&plan, &results, Platform::Sim);
        let again = guestright_experiment::Evaluation::from_json(&evaluation.json()).unwrap();
        prop_assert_eq!(&again, &evaluation);
        prop_assert_eq!(evaluation.missing, plan.run_count() - results.rows().iter().flatten().count());
        prop_assert_eq!(evaluation.is_complete(), evaluation.missing == 0);
    }
}

#[test]
fn a_band_of_the_test_is_widened_as_it_says() {
    let ends = Ends { low: Some((1, true)), high: Some((2, false)) };
    assert_eq!(ends.text(), "above = 1\nat_most = 2\n");
    assert_eq!(ends.wider((1, 2), true, (false, false)).text(), "at_least = 0\nat_most = 4\n");
    assert_eq!(ends.wider((0, 0), false, (true, true)).text(), "at_most = 2\n", "one end is left");
}
