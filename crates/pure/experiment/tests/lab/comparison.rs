//! Two evaluations side by side.

use crate::testbed::{example, plan, run};
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
