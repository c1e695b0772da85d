//! What holds for any text.

use crate::maps;
use crate::testbed::{FormulaSettings, TESTBEDS, example, plan, small, where_example};
use guestright_experiment::{Judged, Plan, Results};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,400}") {
        let _ = Plan::parse(&text, TESTBEDS);
    }

    #[test]
    fn no_damage_to_a_plan_makes_the_parser_panic(
        second in any::<bool>(),
        at in 0..6_000_usize,
        length in 0..60_usize,
        put in "[\\[\\]{}=\",.0-9a-z\n #-]{0,20}",
    ) {
        let example = if second { where_example() } else { example() };
        let text: Vec<char> = example.chars().collect();
        let at = at.min(text.len());
        let end = (at + length).min(text.len());
        let damaged: String = text[..at].iter().copied().chain(put.chars()).chain(text[end..].iter().copied()).collect();
        if let Err(error) = Plan::parse(&damaged, TESTBEDS) {
            prop_assert!(!error.mistakes.is_empty());
            for mistake in &error.mistakes {
                prop_assert!(mistake.line >= 1 && mistake.line <= damaged.split('\n').count());
                let line = damaged.split('\n').nth(mistake.line - 1).unwrap_or_default();
                prop_assert!(mistake.column >= 1 && mistake.column <= line.chars().count() + 1);
            }
        }
    }

    #[test]
    fn the_order_of_the_keys_does_not_matter_where_it_says_nothing(seed in any::<u64>()) {
        // The order of settings, and of keys in a case, says nothing; that of axes does.
        let mut settings = ["duration_s = 10", "cpu.nat_us = 50", "remark = \"a\"", "cpu.spread = 0.2"];
        let first = plan(&small(&format!("[settings]\n{}", settings.join("\n"))));
        let mut state = seed;
        for index in (1..settings.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            settings.swap(index, (state >> 33) as usize % (index + 1));
        }
        let second = plan(&small(&format!("[settings]\n{}", settings.join("\n"))));
        prop_assert_eq!(first.digest(), second.digest());
    }

    /// A plan may be written with dots, with tables or in quotes, and a list as a range: the runs are the same, and they are
    /// every point of every axis, in order.
    #[test]
    fn however_a_plan_is_written_its_runs_are_the_same(
        (first, count) in (1..50_i64, 1..9_i64),
        nat_us in proptest::collection::btree_set(0..1_000_u32, 1..4),
        duration_s in 1..100_u32,
        seeds in 1..4_i64,
        suites in proptest::sample::subsequence(vec!["none", "rsa-1024"], 1..=2),
    ) {
        let calls: Vec<i64> = (first..first + count).collect();
        let nat_us: Vec<u32> = nat_us.into_iter().collect();
        let head = format!("name = \"n\"\ntitle = \"t\"\nquestion = \"q\"\ntestbed = \"voice\"\nseeds = {seeds}\n");
        let with_cases = |each: fn(&str) -> String| {
            suites.iter().map(|suite| format!("[[case]]\nname = \"{suite}\"\n{}\n", each(suite))).collect::<String>()
        };
        let dotted = format!(
            "{head}settings = {{ duration_s = {duration_s} }}\nsweep.calls = {calls:?}\nsweep.cpu.nat_us = {nat_us:?}\n{}",
            with_cases(|suite| format!("settings.receipts.suite = \"{suite}\"")),
        );
        let tables = format!(
            "{head}{}[settings]\nduration_s = {duration_s}.0\n[sweep]\ncalls = {{ from = {first}, to = {} }}\n\
             \"cpu.nat_us\" = {nat_us:?}\n",
            with_cases(|suite| format!("[case.settings.receipts]\nsuite = \"{suite}\"")),
            first + count - 1,
        );
        let (one, other) = (plan(&dotted), plan(&tables));
        prop_assert_eq!(one.digest(), other.digest());
        let runs = one.runs();
        prop_assert_eq!(runs.len(), suites.len() * calls.len() * nat_us.len() * usize::try_from(seeds).unwrap());
        let mut expected = Vec::new();
        for suite in &suites {
            for calls in &calls {
                for nat_us in &nat_us {
                    expected.extend((0..seeds).map(|_| (*suite, *calls, f64::from(*nat_us))));
                }
            }
        }
        for ((run, again), (suite, calls, nat_us)) in runs.iter().zip(other.runs()).zip(expected) {
            prop_assert_eq!(&run.settings, &again.settings);
            prop_assert_eq!(&run.seed, &again.seed);
            let read = FormulaSettings::read(&run.settings).unwrap();
            prop_assert_eq!((i64::from(read.calls), read.cpu.nat_us, read.duration_s), (calls, nat_us, f64::from(duration_s)));
            prop_assert_eq!(run.settings.text("receipts.suite"), Ok(suite));
        }
    }

    #[test]
    fn cells_and_variations_agree_with_the_rows(loads in proptest::collection::vec(proptest::option::of(0.0..2.0_f64), 9 * 2)) {
        // A map's verdict at a cell is the claim's own at that place, whatever the rows; so is that of an assumption.
        let rows = |nat: usize, spread: usize, seed: usize| loads[(nat * 3 + spread) * 2 + seed];
        let base = maps::evaluate_loads("cpu.nat_us = 1.0, cpu.spread = 0.0", rows);
        let map = &base.maps[0];
        let (mut holds, mut all) = (0, 0);
        for (spread, spread_text) in ["0.0", "0.1", "0.5"].iter().enumerate() {
            for (nat, nat_text) in ["1.0", "2.0", "3.0"].iter().enumerate() {
                let there = maps::evaluate_loads(&format!("cpu.nat_us = {nat_text}, cpu.spread = {spread_text}"), rows);
                let (cell, claim) = (&map.panels[0].cells[spread * 3 + nat], &there.claims[0]);
                prop_assert_eq!(cell.judged, Some(claim.judged));
                prop_assert_eq!((cell.number, cell.unclear), (claim.parts[0].ours, claim.unclear));
                if spread == 0 {
                    let effect = &base.assumptions[0].effects[0];
                    prop_assert_eq!((effect.judged[nat], effect.numbers[nat]), (claim.judged, claim.parts[0].ours));
                    prop_assert_eq!(effect.base, 0);
                }
                holds += usize::from(claim.judged == Judged::Reproduces);
                all += 1;
            }
        }
        let held = map.where_held.as_ref().unwrap();
        prop_assert_eq!((held.all.holds, held.all.cells()), (holds, all));
        for (_, values) in &held.by_axis {
            prop_assert_eq!(values.iter().map(|(_, held)| held.holds).sum::<usize>(), holds);
        }
        let words = format!("Holds in {holds} of 9 cells");
        prop_assert!(held.words().starts_with(&words));
    }

    #[test]
    fn no_text_makes_the_reader_of_rows_panic(text in "\\PC{0,200}", line in "[0-9a-f,\"\r\n.e-]{0,200}") {
        let plan = plan(&small(""));
        let _ = Results::from_csv(&plan, &text);
        let _ = Results::from_csv(&plan, &format!("{}{line}", Results::csv_header(&plan)));
    }
}
