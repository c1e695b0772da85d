//! The same as ns-2.35 (Debian's) on the same arrivals and losses; its rows are in `compare/ns2.csv` and
//! `compare/scripted.csv`, and `compare/run.sh --store` makes them again.

#[path = "../../compare/agents.rs"]
mod agents;
#[path = "../../compare/chain.rs"]
mod chain;
#[path = "../../compare/ours.rs"]
mod ours;
#[path = "../../compare/scenario.rs"]
mod scenario;
#[path = "../../compare/script.rs"]
mod script;
#[path = "../../compare/traces.rs"]
mod traces;
#[path = "../../compare/verdict.rs"]
mod verdict;

use agents::Agent;
use scenario::{Case, Load};
use verdict::{Counts, Finding, Measured, Tolerance};

const ROWS: &str = include_str!("../../compare/ns2.csv");
const SCRIPTED: &str = include_str!("../../compare/scripted.csv");

fn theirs(of: impl Fn(&Case) -> bool) -> Measured {
    let mut theirs = verdict::parse(ROWS).expect("the stored rows are rows");
    theirs.retain(|case, _| of(case));
    theirs
}

fn differing(findings: &[Finding]) -> Vec<String> {
    findings.iter().filter(|finding| !finding.agrees()).map(Finding::to_string).collect()
}

/// Compares all rows of some cases; `findings` is how many things there are to agree on.
fn judge(of: impl Fn(&Case) -> bool, findings_wanted: usize) {
    let theirs = theirs(of);
    let ours = ours::measure(theirs.keys().copied()).expect("the stored cases are ours");
    let findings = verdict::compare(&theirs, &ours, &Tolerance::DEMANDED);
    assert_eq!(findings.len(), findings_wanted);
    let differing = differing(&findings);
    assert!(differing.is_empty(), "{}\n{}", verdict::table(&theirs, &ours), differing.join("\n"));
}

#[test]
fn every_case_is_stored() {
    let theirs = theirs(|_| true);
    let cases = scenario::cases();
    let missing: Vec<&Case> = cases.iter().filter(|case| !theirs.contains_key(case)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(theirs.len(), cases.len());
}

#[test]
fn queues_drop_exactly_as_many() {
    judge(|case| case.load.per_million == 0, 6);
}

#[test]
fn calls_alone_are_heard_as_well() {
    judge(|case| case.load.per_million > 0 && case.load.bulk == 0, 4 * 6 * 4);
}

#[test]
fn calls_beside_transfers_are_heard_as_well() {
    judge(|case| case.load.bulk > 0, 4 * 6 * 5);
}

#[test]
fn told_losses_give_the_same_packets_to_the_microsecond() {
    let theirs = traces::parse(SCRIPTED).expect("the stored lines are traces");
    assert_eq!(theirs.len(), 22 * 3);
    let (findings, table) = traces::compare(&theirs).expect("the scripts can be run");
    assert_eq!(findings.len(), 22 * 3 * 5);
    assert_eq!(differing(&findings), Vec::<String>::new(), "\n{table}");
    // More than is demanded: nobody sends another packet, or one at another time.
    let rows = table.lines().skip(1).filter(|row| !row.is_empty());
    assert_eq!(rows.clone().filter(|row| row.ends_with(" all")).count(), rows.count(), "\n{table}");
}

#[test]
fn a_trace_is_what_its_line_says() {
    for line in SCRIPTED.lines().filter(|line| !line.starts_with('#')) {
        let (_, line) = line.split_once(',').expect("the script is first");
        let (_, line) = line.split_once(',').expect("the agent is second");
        assert_eq!(script::Trace::parse(line).expect("a trace").to_string(), line);
    }
    let printed = "# head\n1000,send,-1,1,20\n2400,heard,-1,1,20\n3000,ack,-1,1,20\n3600,send,-1,2,20\n9000,ack,0,2,20\n";
    let trace = script::Trace::of_ns2(printed).expect("rows");
    assert_eq!(trace.sends, [(1, -1), (4, -1)]);
    assert_eq!((trace.arrived, trace.first_again(), trace.again_acknowledged), (1, Some((4, -1)), Some(9)));
    assert!(script::Trace::of_ns2("1000,sung,-1").is_err());
}

#[test]
fn the_same_case_gives_the_same_counts() {
    let load = Load { flows: 20, bulk: 2, per_million: 10_000, seed: 1 };
    let case = Case { agent: Agent::Vegas, load };
    let counts = ours::run(&case).expect("it can be run");
    assert_eq!(ours::run(&case), Ok(counts));
    let other = Case { load: Load { seed: 2, ..load }, ..case };
    assert_ne!(ours::run(&other), Ok(counts));
    let row = verdict::emit(&case, &counts);
    assert_eq!(verdict::parse(&row), Ok([(case, counts)].into()));
}

#[test]
fn a_difference_is_found() {
    let theirs = theirs(|case| case.agent != Agent::Vegas && case.load.bulk == 0 && case.load.flows == 80);
    let verdicts = |change: fn(&mut Counts)| {
        let mut ours = theirs.clone();
        ours.values_mut().for_each(change);
        let findings = verdict::compare(&theirs, &ours, &Tolerance::DEMANDED);
        let wrong = findings.into_iter().filter(|finding| !finding.agrees());
        let what =
            wrong.map(|finding| finding.what.split_once(": ").expect("the case is in front").1.to_owned());
        what.collect::<Vec<_>>()
    };
    assert_eq!(verdicts(|_| {}), Vec::<String>::new());
    assert_eq!(verdicts(|run| run.first_drops += 1), ["drops, seed 1", "drops, seed 2", "drops, seed 3"]);
    let all_three = |what: &str| vec![what.to_owned(); 3];
    assert_eq!(verdicts(|run| run.late += run.sent * 16 / 1_000), all_three("index"));
    assert_eq!(verdicts(|run| run.lost += run.sent * 11 / 1_000), all_three("loss"));
    assert_eq!(verdicts(|run| run.delivered_squares += run.delivered_squares / 20), all_three("Jain"));
    let wrong = verdicts(|run| run.delivered -= run.delivered * 16 / 1_000);
    assert_eq!(wrong.iter().filter(|what| *what == "packets heard").count(), 3);
}
