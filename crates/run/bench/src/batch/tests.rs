use super::*;
use crate::verdicts;
use crate::{fake, record};
use guestright_error::Fault as _;
use guestright_results::{Cells, Journal, parquet};
use serde_json::Value;
use std::error::Error;
use std::path::Path;

/// A batch of whole plans into this folder.
fn settings(out: &Path) -> Settings {
    Settings {
        out: out.to_owned(),
        platforms: vec![],
        is_quick: false,
        seeds: None,
        threads: None,
        earlier: Earlier::Used,
        shard: None,
        command: "guestright-lab run plan".to_owned(),
        program: Program { version: "1".to_owned(), commit: None, sha256: "aa".repeat(32) },
        worker: &[],
    }
}

const MORE: &str = r#"
[[measure]]
id = "capacity"
title = "Calls without much loss"
unit = "calls"
kind = "largest"
of = "loss"
over = "calls"
at_most = 0.2
otherwise = 0

[[figure]]
id = "loss"
title = "Loss"
x = "calls"
y = "loss"
"#;

fn source(text: &str) -> Source {
    Source { name: "plan.toml".to_owned(), text: text.to_owned() }
}

/// Runs the plan; what it tells, and what is shown of it. Or how it fails.
fn run(settings: &Settings, text: &str) -> Result<String, BatchError> {
    let (source, plan) = (source(text), Plan::parse(text, fake::TESTBEDS).unwrap());
    let plan = settings.adapted(&source, plan)?;
    run_plans(settings, vec![(source, plan)], stopper().1)
}

fn run_plans(settings: &Settings, plans: Vec<(Source, Plan)>, inbox: Inbox) -> Result<String, BatchError> {
    let mut text = String::new();
    let finished = settings.run(plans, inbox, &mut |event| {
        if let Event::Sentence(sentence) = event {
            text.extend([sentence.as_str(), "\n"]);
        }
        Ok(())
    })?;
    Ok(text + &verdicts::in_text(&settings.out, &finished, false))
}

/// Where a batch receives that it is to stop.
fn stopped() -> Inbox {
    let (stopper, inbox) = stopper();
    assert!(stopper.stop());
    inbox
}

/// The whole sentence, and what to do about it.
fn words(error: &BatchError) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        words += &format!(": {error}");
        source = error.source();
    }
    words + "\n" + &error.hint().unwrap_or_default()
}

fn bytes(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join("fake-plan").join(name)).unwrap()
}

#[test]
fn the_same_bytes_come_out_again_and_with_any_number_of_threads() {
    let home = tempfile::tempdir().unwrap();
    let text = fake::text(MORE);
    let rows = |name: &str, threads, seeds| {
        let folder = home.path().join(name);
        run(&Settings { threads, seeds, ..settings(&folder) }, &text).unwrap();
        (bytes(&folder, "rows.parquet"), bytes(&folder, "rows.csv"), bytes(&folder, "figures/loss.png"))
    };
    let first = rows("one", Some(1), None);
    assert!(first.0.starts_with(b"PAR1") && !first.1.is_empty());
    for (name, threads) in [("again", Some(1)), ("two", Some(2)), ("many", Some(16)), ("cores", None)] {
        assert_eq!(rows(name, threads, None), first, "{name}");
    }
    let other = rows("seeds", None, Some(5));
    assert_ne!(other.0, first.0, "another number of seeds gives other rows");
}

#[test]
fn the_columns_are_the_runs_their_seeds_and_their_metrics() {
    let home = tempfile::tempdir().unwrap();
    run(&settings(home.path()), &fake::text("")).unwrap();
    let table = parquet::parse(bytes(home.path(), "rows.parquet")).unwrap();
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let want = [
        "run",
        "case",
        "calls",
        "replication",
        "seed",
        "key",
        "loss",
        "delay",
        "simulated_packets",
        "simulated_events",
    ];
    assert_eq!(names, want);
    assert_eq!(
        (table.rows(), table.about("plan"), table.about("quick")),
        (40, Some("fake-plan"), Some("false"))
    );
    let Some(Cells::Integer(calls)) = table.cells("calls") else { panic!("{table:?}") };
    assert_eq!(calls[..5], [Some(1), Some(1), Some(1), Some(1), Some(2)], "in the order of the runs");
    let (Some(Cells::Float(delay)), Some(Cells::Text(seeds))) = (table.cells("delay"), table.cells("seed"))
    else {
        panic!("{table:?}")
    };
    assert!(delay[0].is_some() && delay[19].is_none(), "what was not measured is empty");
    assert!(seeds[0] == seeds[4] && seeds[0] != seeds[1], "a replication has one seed at every point");
    let csv = String::from_utf8(bytes(home.path(), "rows.csv")).unwrap();
    assert_eq!(csv.lines().count(), 41);
}

#[test]
fn the_record_tells_how_the_rows_came_about() {
    let home = tempfile::tempdir().unwrap();
    let text = fake::text(MORE);
    let output = run(&Settings { is_quick: true, threads: Some(3), ..settings(home.path()) }, &text).unwrap();
    assert!(output.contains("fake-plan: 20 runs in ") && output.contains("report.html"), "{output}");
    let record: Value = serde_json::from_slice(&bytes(home.path(), "run.json")).unwrap();
    assert_eq!(
        (&record["quick"], &record["runs"], &record["threads"]),
        (&true.into(), &20.into(), &3.into())
    );
    assert_eq!((&record["plan"]["text"], record["seeds"].as_array().unwrap().len()), (&text.into(), 2));
    assert_eq!(record["packets"], 2 * 2 * 10 * (1 + 2 + 3 + 4 + 5));
    assert!(
        record["host"]["cores"].as_u64() >= Some(1) && record["started"].as_str().unwrap().ends_with('Z')
    );
    let digest = record::sha256(&bytes(home.path(), "rows.parquet"));
    assert_eq!(record["digests"]["rows_parquet"], digest);
    let html = std::fs::read_to_string(home.path().join("report.html")).unwrap();
    assert!(html.contains("fake-plan/rows.csv") && !html.contains("<script"), "the report links to the rows");
    assert!(!home.path().join("fake-plan/partial.csv").exists(), "nothing has to be kept");
    let evaluations: Value =
        serde_json::from_slice(&std::fs::read(home.path().join("evaluation.json")).unwrap()).unwrap();
    assert_eq!(evaluations[0]["name"], "fake-plan");
}

/// A stop in the middle, and on: what comes out is as if nothing had happened, and finished runs are not made again.
#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    let home = tempfile::tempdir().unwrap();
    let (whole, torn) = (home.path().join("whole"), home.path().join("torn"));
    let text = fake::text(MORE);
    run(&settings(&whole), &text).unwrap();

    let plans = vec![(source(&text), fake::plan(MORE))];
    let words =
        words(&run_plans(&Settings { threads: Some(1), ..settings(&torn) }, plans, stopped()).unwrap_err());
    assert!(words.contains("stopped: 0 of 40 runs") && words.contains("goes on from there"), "{words}");

    // Seven rows as the program would have kept them, and a line that it did not finish.
    let journal = torn.join("fake-plan/partial.csv");
    let rows = String::from_utf8(bytes(&whole, "rows.csv")).unwrap();
    let mut kept = std::fs::read_to_string(&journal).unwrap().lines().next().unwrap().to_owned() + "\n";
    kept.extend(rows.lines().skip(20).take(7).map(|row| format!("{row}\n")));
    std::fs::write(&journal, kept + "33,bad,3,1,12ab").unwrap();
    let output = run(&Settings { earlier: Earlier::Needed, ..settings(&torn) }, &text).unwrap();
    assert!(output.contains("goes on; 7 of 40 runs are there") && output.contains("33 runs in"), "{output}");
    for name in ["rows.parquet", "rows.csv", "figures/loss.svg"] {
        assert_eq!(bytes(&torn, name), bytes(&whole, name), "{name}");
    }
    let record: Value = serde_json::from_slice(&bytes(&torn, "run.json")).unwrap();
    assert_eq!(record["runs_kept"], 7);
}

#[test]
fn resume_refuses_to_make_all_runs_again() {
    let home = tempfile::tempdir().unwrap();
    let text = fake::text("");
    let refused =
        words(&run(&Settings { earlier: Earlier::Needed, ..settings(home.path()) }, &text).unwrap_err());
    assert!(refused.contains("no finished runs to go on with"), "{refused}");
    let path = home.path().join("fake-plan/partial.csv");
    std::fs::write(&path, "{}\n").unwrap();
    let refused =
        words(&run(&Settings { earlier: Earlier::Needed, ..settings(home.path()) }, &text).unwrap_err());
    assert!(refused.contains("fake-plan cannot go on: what is there was not written by"), "{refused}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}\n", "what is refused stays as it was");
    let output = run(&settings(home.path()), &text).unwrap();
    assert!(
        output.contains("fake-plan: begins afresh; what is there was not written by this program"),
        "{output}"
    );
}

#[test]
fn two_programs_do_not_share_a_folder() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("fake-plan/partial.csv");
    let (_journal, _) = Journal::open(&path).unwrap();
    let refused = words(&run(&settings(home.path()), &fake::text("")).unwrap_err());
    assert!(refused.contains("another program writes to"), "{refused}");
}

#[test]
fn a_run_that_panics_is_named() {
    let home = tempfile::tempdir().unwrap();
    let text = fake::text("").replace("[1, 2, 3, 4, 5]", "[1, 99]");
    let broken = words(&run(&settings(home.path()), &text).unwrap_err());
    assert!(broken.contains("(case ") && broken.contains("calls = 99) ended in a panic"), "{broken}");
}

#[test]
fn too_many_runs_are_refused_before_the_first_one() {
    let home = tempfile::tempdir().unwrap();
    let values: Vec<String> = (1..=100).filter(|calls| *calls != 13).map(|calls| calls.to_string()).collect();
    let text = fake::text("").replace("[1, 2, 3, 4, 5]", &format!("[{}]", values.join(", ")));
    let text =
        text.replace("calls = ", "share = [0.1, 0.2]\ncalls = ").replace("settings = { share = 0.01 }", "");
    let text = text.replace("settings = { share = 0.07 }", "");
    let refused = words(&run(&Settings { seeds: Some(1000), ..settings(home.path()) }, &text).unwrap_err());
    assert!(refused.contains("more than 200000 runs") && refused.contains("--seeds"), "{refused}");
}

/// Two plans, of which the first cannot go on: the second one's rows stay.
#[test]
fn resume_touches_no_plan_unless_all_can_go_on() {
    let home = tempfile::tempdir().unwrap();
    let text = fake::text("");
    let named = |name: &str| text.replace("fake-plan", name);
    let plan = |name: &str| (source(&named(name)), Plan::parse(&named(name), fake::TESTBEDS).unwrap());
    let plans = vec![plan("one"), plan("two")];
    run_plans(&settings(home.path()), plans, stopped()).unwrap_err();
    let (one, two) = (home.path().join("one/partial.csv"), home.path().join("two/partial.csv"));
    std::fs::write(&two, "{}\n").unwrap();
    let before = std::fs::read(&one).unwrap();
    let plans = vec![plan("one"), plan("two")];
    let refused =
        run_plans(&Settings { earlier: Earlier::Needed, ..settings(home.path()) }, plans, stopper().1);
    assert!(words(&refused.unwrap_err()).contains("two cannot go on"));
    assert_eq!((std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap()), (before, b"{}\n".to_vec()));
}

/// Puts rows of a finished run into a journal, as an interrupted run would have left them.
fn interrupt(folder: &Path, whole: &Path, text: &str, rows: impl Iterator<Item = usize>) {
    let plan = Plan::parse(text, fake::TESTBEDS).unwrap();
    run_plans(&settings(folder), vec![(source(text), plan)], stopped()).unwrap_err();
    let path = folder.join("fake-plan/partial.csv");
    let csv = String::from_utf8(bytes(whole, "rows.csv")).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    let head = std::fs::read_to_string(&path).unwrap().lines().next().unwrap().to_owned();
    let kept: Vec<&str> = std::iter::once(head.as_str()).chain(rows.map(|row| lines[row + 1])).collect();
    std::fs::write(&path, kept.join("\n") + "\n").unwrap();
}

#[test]
fn a_smaller_run_leaves_the_rows_of_an_interrupted_one() {
    let home = tempfile::tempdir().unwrap();
    let (whole, torn) = (home.path().join("whole"), home.path().join("torn"));
    let text = fake::text(MORE);
    run(&settings(&whole), &text).unwrap();
    interrupt(&torn, &whole, &text, 0..12);
    // Replications 0 and 1 of three points are the quick run's too.
    let output = run(&Settings { is_quick: true, ..settings(&torn) }, &text).unwrap();
    assert!(output.contains("goes on; 6 of 20 runs are there"), "{output}");
    assert!(output.contains("6 kept rows of other runs of this plan stay in"), "{output}");
    let output = run(&Settings { seeds: Some(1), ..settings(&torn) }, &text).unwrap();
    assert!(output.contains("goes on; 10 of 10 runs"), "what the quick run made is of use: {output}");
    let output = run(&settings(&torn), &text).unwrap();
    assert!(output.contains("goes on; 26 of 40 runs are there") && output.contains("14 runs in"), "{output}");
    assert_eq!(bytes(&torn, "rows.parquet"), bytes(&whole, "rows.parquet"));
    assert!(!torn.join("fake-plan/partial.csv").exists(), "nothing has to be kept any more");
}

#[test]
fn fewer_runs_replace_finished_ones_only_if_told_to() {
    let home = tempfile::tempdir().unwrap();
    let text = fake::text("");
    run(&Settings { is_quick: true, ..settings(home.path()) }, &text).unwrap();
    run(&settings(home.path()), &text).unwrap();
    let before = (bytes(home.path(), "rows.parquet"), bytes(home.path(), "run.json"));
    let quick = Settings { is_quick: true, ..settings(home.path()) };
    let fewer = Settings { seeds: Some(3), ..settings(home.path()) };
    for (fewer, why) in [(quick, "a quick run would"), (fewer, "3 seeds would")] {
        let refused = words(&run(&fewer, &text).unwrap_err());
        assert!(refused.contains("whole plan, with 4 seeds") && refused.contains(why), "{refused}");
        assert!(refused.contains("--out") && refused.contains("--fresh"), "{refused}");
        assert_eq!((bytes(home.path(), "rows.parquet"), bytes(home.path(), "run.json")), before);
        assert!(!home.path().join("fake-plan/partial.csv").exists(), "nothing was begun");
    }
    let output = run(&settings(home.path()), &text).unwrap();
    assert!(output.contains("the same runs were made before; `guestright-lab report "), "{output}");
    let output = run(&Settings { seeds: Some(5), ..settings(home.path()) }, &text).unwrap();
    assert!(!output.contains("made before"), "{output}");
    run(&Settings { is_quick: true, earlier: Earlier::Replaced, ..settings(home.path()) }, &text).unwrap();
    assert_ne!(bytes(home.path(), "rows.parquet"), before.0);
}

/// Nobody waits for a run when the signal comes: every row is there.
#[test]
fn a_signal_after_the_last_run_is_heard() {
    let home = tempfile::tempdir().unwrap();
    let (whole, torn) = (home.path().join("whole"), home.path().join("torn"));
    let text = fake::text("");
    run(&settings(&whole), &text).unwrap();
    interrupt(&torn, &whole, &text, 0..40);
    let plans = vec![(source(&text), fake::plan(""))];
    let words = words(&run_plans(&settings(&torn), plans, stopped()).unwrap_err());
    assert!(words.contains("stopped before the report was written; all runs are kept"), "{words}");
    assert!(!torn.join("report.html").exists());
    let output = run(&settings(&torn), &text).unwrap();
    assert!(output.contains("goes on; 40 of 40 runs") && torn.join("report.html").exists(), "{output}");
}

#[test]
fn damaged_lines_are_told() {
    let home = tempfile::tempdir().unwrap();
    let (whole, torn) = (home.path().join("whole"), home.path().join("torn"));
    let text = fake::text("");
    run(&settings(&whole), &text).unwrap();
    interrupt(&torn, &whole, &text, 0..12);
    let path = torn.join("fake-plan/partial.csv");
    let kept = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = kept.lines().collect();
    lines[11] = "damaged";
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let output = run(&Settings { earlier: Earlier::Needed, ..settings(&torn) }, &text).unwrap();
    assert!(
        output.contains("goes on; 10 of 40 runs") && output.contains("2 damaged lines at the end"),
        "{output}"
    );
    assert_eq!(bytes(&torn, "rows.csv"), bytes(&whole, "rows.csv"));
}

#[test]
fn the_answer_of_a_prediction_is_printed_however_long_it_is() {
    let home = tempfile::tempdir().unwrap();
    let cases = (0..8).map(|number| format!("[[case]]\nname = \"more-{number}\"\nsettings.share = 0.02\n"));
    let claim = cases.collect::<String>()
        + r#"
[[claim]]
id = "answer"
text = "So much is lost."
of = "loss"
at = { calls = 2 }
"#;
    let prediction = claim.clone() + "prediction = true\n";
    let output = run(&settings(&home.path().join("prediction")), &fake::text(&prediction)).unwrap();
    let parts = |text: &str| text.lines().filter(|line| line.contains("calls = 2: ")).count();
    assert_eq!(parts(&output), 10, "{output}");
    assert!(!output.contains("--details"), "{output}");
    let judged = claim + "between = [0, 1]\n";
    let output = run(&settings(&home.path().join("between")), &fake::text(&judged)).unwrap();
    assert!(parts(&output) == 0 && output.contains("10 numbers; --details shows them"), "{output}");
}
