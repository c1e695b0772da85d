//! Two evaluations side by side.

use crate::testbed::{example, plan, run, small, with_loads};
use guestright_experiment::{Evaluation, Platform, compare, evaluate};

fn of(text: &str, platform: Platform) -> Evaluation {
    let plan = plan(text).quick();
    evaluate(&plan, &run(&plan), platform)
}

#[test]
fn nothing_differs_from_itself() {
    let one = of(example(), Platform::Sim);
    let comparison = compare(&one, &one);
    assert!(comparison.paired && comparison.claims.is_empty() && comparison.only.is_empty());
    assert!(comparison.numbers.iter().all(|number| !number.differs && number.difference == Some(0.0)));
    assert_eq!(comparison.claims_same, one.claims.len());
    // Everything is compared: measures, figures, cells and claims.
    for of in ["capacity", "figure mos, mos_mean", "table capacity, Calls", "claim calls, "] {
        assert!(comparison.numbers.iter().any(|number| number.of.starts_with(of)), "{of}");
    }
}

const LARGEST: &str = "[[measure]]\nid = \"capacity\"\nkind = \"largest\"\nof = \"load\"\nat_most = 1.0\notherwise = 0\n\
    [[claim]]\nid = \"c\"\ntext = \"It is so\"\nof = \"load\"\nat = { calls = 5 }\nat_least = 0\n\
    [[table]]\nid = \"t\"\ntitle = \"Loads\"\nrows = \"calls\"\n[[table.column]]\nof = \"load\"\ntitle = \"Load\"\n";

fn differing(first: &Evaluation, second: &Evaluation) -> Vec<(String, String)> {
    let numbers = compare(first, second).numbers.into_iter().filter(|number| number.differs);
    numbers.map(|number| (format!("{} [{}]", number.of, number.point), number.note)).collect()
}

#[test]
fn a_number_that_vanishes_differs() {
    let all = with_loads(LARGEST, |_, _| Some(0.5));
    let none = with_loads(LARGEST, |calls, _| (calls != 5).then_some(0.5));
    let one = with_loads(LARGEST, |calls, seed| (calls != 5 || seed > 0).then_some(0.5));
    let names = |differ: Vec<(String, String)>| differ.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let want = ["table t, Load [5]", "claim c, load [ours, calls = 5]"];
    for (first, second) in [(&all, &none), (&none, &all), (&all, &one)] {
        let differ = names(differing(first, second));
        for name in want {
            assert!(differ.iter().any(|other| other == name), "{name}: {differ:?}");
        }
        assert!(!differ.iter().any(|name| name.contains("[2]")), "{differ:?}");
    }
    let note = &differing(&all, &one).into_iter().find(|(name, _)| name == want[0]).unwrap().1;
    assert_eq!(note, "4 of 4 seeds have a number, then 3 of 4 seeds");
    assert!(differing(&none, &none).is_empty());
}

#[test]
fn what_a_claim_prints_is_compared_even_if_the_seeds_can_not_tell() {
    // Seed 0 alone loses a call, and with it the mean curve; the seeds' interval holds 0.
    let before = with_loads(LARGEST, |calls, _| Some(if calls > 6 { 1.5 } else { 0.9 }));
    let after = with_loads(LARGEST, |calls, seed| {
        Some(if calls > 6 || (calls == 6 && seed == 0) { 1.5 } else { 0.9 })
    });
    let differ = differing(&before, &after);
    assert!(differ.iter().any(|(name, _)| name == "capacity, from the mean curve [all]"), "{differ:?}");
    assert!(!differ.iter().any(|(name, _)| name == "capacity [all]"), "{differ:?}");
    // The same number, but a bound now.
    let ends = with_loads(LARGEST, |_, _| Some(0.9));
    let fails = with_loads(LARGEST, |calls, seed| Some(if calls == 8 && seed == 0 { 1.5 } else { 0.9 }));
    let (name, note) = differing(&fails, &ends).remove(0);
    assert_eq!((name.as_str(), note.as_str()), ("capacity [all]", "a bound in 3 seeds, then in 4"));
}

#[test]
fn nothing_in_common_is_not_the_same() {
    let empty = of(&small(""), Platform::Sim);
    let comparison = compare(&empty, &empty);
    assert!(comparison.is_empty());
    assert!(comparison.text().contains("nothing was compared"), "{}", comparison.text());
}

#[test]
fn what_became_worse_is_said_with_its_interval() {
    let before = of(example(), Platform::Sim);
    let after = of(&example().replace("cpu.nat_us = 100.0", "cpu.nat_us = 600.0"), Platform::Sim);
    let comparison = compare(&before, &after);
    assert!(comparison.paired);
    insta::assert_snapshot!("comparison", comparison.text());
    assert!(comparison.json().contains("\"paired\": true"));
}

#[test]
fn platforms_and_other_seeds_are_compared_by_their_means() {
    let simulated = of(example(), Platform::Sim);
    let measured = of(&example().replace("seeds = 20", "chance = 5\nseeds = 20"), Platform::Netns);
    let comparison = compare(&simulated, &measured);
    assert!(!comparison.paired);
    let capacity = comparison.numbers.iter().find(|number| number.of == "capacity").unwrap();
    assert!(capacity.difference.unwrap().abs() < 1.0);
    // The same chance on another platform is another measurement.
    assert!(!compare(&simulated, &Evaluation { platform: Platform::Netns, ..simulated.clone() }).paired);
    // Welch's interval for means of 5 and deviations as they are holds 0 if little differs.
    let delay = comparison.numbers.iter().find(|number| number.of.ends_with("mos_mean")).unwrap();
    let (low, high) = delay.interval.unwrap();
    assert!(low < high && low <= delay.difference.unwrap() && delay.difference.unwrap() <= high);
}
