//! The same figures as ns-3 3.37 on the same scenarios; its rows are in `compare/ns3.csv`, and `compare/run.sh --store`
//! makes them again.

#[path = "../../compare/ours.rs"]
mod ours;
#[path = "../../compare/scenario.rs"]
mod scenario;
#[path = "../../compare/verdict.rs"]
mod verdict;

use scenario::{Plan, Shape};
use verdict::{Finding, Tolerance};

const THEIRS: &str = include_str!("../../compare/ns3.csv");
const SECONDS: f64 = 60.0;

/// Compares all rows of one scenario.
fn judge(scenario: &str, channels: u32, bytes: u32) {
    let mut theirs = verdict::parse(THEIRS).expect("the stored rows are rows");
    let case = (scenario.to_owned(), channels, bytes);
    theirs.retain(|other, _| *other == case);
    let ours = ours::measure(&theirs).expect("the stored scenarios are ours");
    let findings = verdict::compare(&case, &theirs[&case], &ours[&case], SECONDS, &Tolerance::DEMANDED);
    assert!(findings.len() >= 4, "capacity, saturation, and loss and delay above: {findings:?}");
    let table = verdict::table(&theirs, &ours, SECONDS);
    let words: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert!(findings.iter().all(Finding::agrees), "\n{table}\n{}", words.join("\n"));
}

#[test]
fn one_cell_one_way() {
    judge("one-way", 1, 60);
}

#[test]
fn one_cell_one_way_with_long_packets() {
    judge("one-way", 1, 200);
}

#[test]
fn one_cell_both_ways() {
    judge("both-ways", 1, 60);
}

#[test]
fn two_cells_on_one_channel() {
    judge("two-cells", 1, 60);
}

#[test]
fn two_cells_on_two_channels() {
    judge("two-cells", 2, 60);
}

#[test]
fn the_same_run_gives_the_same_counts() {
    let plan = Plan::new(Shape::TwoCells { channels: 1 }, 60, 7, 1);
    let counts = scenario::run(&plan);
    assert_eq!(scenario::run(&plan), counts);
    assert_ne!(scenario::run(&Plan { run: 2, ..plan }), counts);
}

#[test]
fn a_difference_is_found() {
    let theirs = verdict::parse(THEIRS).expect("the stored rows are rows");
    let case = ("one-way".to_owned(), 1, 60);
    let theirs = &theirs[&case];
    let verdicts = |change: fn(&mut verdict::Counts)| {
        let mut ours = theirs.clone();
        ours.values_mut().flat_map(|sample| sample.runs.values_mut()).for_each(change);
        let findings = verdict::compare(&case, theirs, &ours, SECONDS, &Tolerance::DEMANDED);
        let wrong = findings.into_iter().filter(|finding| !finding.agrees()).map(|finding| finding.what);
        wrong
            .map(|what| what.split_once(": ").expect("the scenario is in front").1.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(verdicts(|_| {}), Vec::<String>::new());
    assert_eq!(verdicts(|run| run.arrived -= run.arrived / 80), ["packets/s at most"]);
    assert_eq!(verdicts(|run| run.delay_ns += run.delay_ns / 30), ["delay of 25, ms", "delay of 30, ms"]);
    assert_eq!(verdicts(|run| run.delivered -= run.delivered / 150), ["loss of 25", "loss of 30"]);
    let lossy = verdicts(|run| run.delivered -= run.delivered / 90);
    assert_eq!(lossy, ["capacity", "loss of 25", "loss of 30"]);
}
