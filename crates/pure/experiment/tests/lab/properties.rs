//! What holds for any text.

use crate::testbed::{TESTBEDS, example, plan, small};
use guestright_experiment::{Plan, Results};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,400}") {
        let _ = Plan::parse(&text, TESTBEDS);
    }

    #[test]
    fn no_damage_to_a_plan_makes_the_parser_panic(
        at in 0..6_000_usize,
        length in 0..60_usize,
        put in "[\\[\\]{}=\",.0-9a-z\n #-]{0,20}",
    ) {
        let text: Vec<char> = example().chars().collect();
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

    #[test]
    fn no_text_makes_the_reader_of_rows_panic(text in "\\PC{0,200}", line in "[0-9a-f,\"\r\n.e-]{0,200}") {
        let plan = plan(&small(""));
        let _ = Results::from_csv(&plan, &text);
        let _ = Results::from_csv(&plan, &format!("{}{line}", Results::csv_header(&plan)));
    }
}
