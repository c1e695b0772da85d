//! `guestright-lab run --shard`, `missing` and `merge`, and the plans of docs/adding-an-experiment.md.

use guestright_testbed::{Desk, Program};

/// Calls without a radio's quarrels: each run takes a moment, so that a program can be killed in the middle of it.
const PLAN: &str = r#"
name = "shared"
title = "Shared by computers"
question = "Is it the same?"
testbed = "voice"
seeds = 4

[settings]
duration_s = 40

[sweep]
calls = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

[[claim]]
id = "good"
text = "Two calls are good."
of = "mos_mean"
at = { calls = 2 }
at_least = 3.6
"#;

const FILES: [&str; 3] = ["shared/rows.parquet", "shared/rows.csv", "evaluation.json"];

fn bytes(desk: &Desk, folder: &str) -> Vec<Vec<u8>> {
    FILES.iter().map(|name| std::fs::read(desk.path(folder).join(name)).unwrap()).collect()
}

#[test]
fn shards_of_which_one_is_killed_become_what_one_computer_makes() {
    let desk = Desk::new(crate::PROGRAM);
    desk.write("plan.toml", PLAN);
    desk.run("run plan.toml --out whole --threads 2");
    desk.run("run plan.toml --shard 1/3 --out shards");
    assert_eq!(desk.run("missing shards"), "2-3\n");

    // Killed as soon as a run is there. A shard that was faster than we are is made anew, until one is caught in the middle.
    let journal = desk.path("shards/shared/shard-2-of-3.csv");
    let rows = || std::fs::read_to_string(&journal).unwrap_or_default().lines().count().saturating_sub(1);
    let kept = loop {
        let mut command = desk.command("run plan.toml --shard 2/3 --out shards --threads 1 --fresh");
        std::fs::write(&journal, "").unwrap();
        let mut program = Program::start(&mut command, &desk.path("log"));
        guestright_testbed::until("a run is kept", || rows() > 0);
        program.kill();
        let kept = rows();
        if kept < 14 {
            break kept;
        }
    };
    let (code, stderr) = desk.fail("merge shards --out merged");
    assert!(code == 1 && stderr.contains("still missing, of shards 2-3"), "{stderr}");
    assert!(!desk.path("merged").exists());
    let stdout = desk.run("run plan.toml --shard 2/3 --out shards");
    assert!(stdout.contains(&format!("goes on; {kept} of 14 runs are there")), "{stdout}");
    assert_eq!(desk.run("missing shards"), "3\n");

    // The last shard comes from another computer's folder.
    desk.run("run plan.toml --shard 3/3 --out elsewhere");
    assert_eq!(desk.run("missing shards elsewhere"), "");
    let stdout = desk.run("merge shards elsewhere --out merged");
    assert!(stdout.contains("merged/report.html"), "{stdout}");
    assert!(bytes(&desk, "merged") == bytes(&desk, "whole"));
    desk.run("report merged");

    let (code, stderr) = desk.fail("missing merged");
    assert!(code == 1 && stderr.contains("there are no shards in merged"), "{stderr}");
    let (code, stderr) = desk.fail("run plan.toml --shard 4/3");
    assert!(code == 64 || code == 2, "{code} {stderr}");
    assert!(stderr.contains("3/40"), "{stderr}");
}

#[test]
fn shards_of_another_version_are_refused_and_those_of_another_build_are_named() {
    let desk = Desk::new(crate::PROGRAM);
    desk.write("plan.toml", &PLAN.replace("duration_s = 40", "duration_s = 1"));
    desk.run("run plan.toml --shard 1/2 --out shards");
    desk.run("run plan.toml --shard 2/2 --out shards");
    let path = "shards/shared/shard-2-of-2.json";
    let record: serde_json::Value = serde_json::from_str(&desk.read(path)).unwrap();
    let changed = |key: &str, value: &str| {
        let mut record = record.clone();
        record["program"][key] = value.into();
        desk.write(path, &record.to_string());
    };
    changed("commit", "0123abc");
    let output = desk.try_run("merge shards --out merged");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.contains("shards are not all of one build"), "{stderr}");
    assert!(stderr.contains("commit 0123abc"), "{stderr}");
    changed("version", "99.0.0");
    let (code, stderr) = desk.fail("merge shards --out merged");
    assert!(code == 1 && stderr.contains("was made by guestright 99.0.0"), "{stderr}");
}

const NAMED: &str = r#"
name = "spoken"
title = "Speech from a file"
question = "Is it taken from there?"
testbed = "transports"
seeds = 2

[settings]
flows = 2
duration_s = 2
source.file = "traces/monday.txt"

[sweep]
errors.per = [0.0, 0.1]
"#;

#[test]
fn a_file_beside_a_plan_goes_with_its_results_and_a_changed_one_is_noticed() {
    let desk = Desk::new(crate::PROGRAM);
    std::fs::create_dir_all(desk.path("plans/traces")).unwrap();
    desk.write("plans/plan.toml", NAMED);
    let (code, stderr) = desk.fail("check plans/plan.toml");
    assert!(code != 0 && stderr.contains("plans/traces/monday.txt"), "{stderr}");
    desk.write("plans/traces/monday.txt", "0 0.1\n0 0.2\n1 x\n");
    let (_, stderr) = desk.fail("check plans/plan.toml");
    assert!(stderr.contains("traces/monday.txt: line 3: the time is \"x\""), "{stderr}");
    assert!(stderr.contains("plan.toml:11:"), "the setting's own line: {stderr}");

    desk.write("plans/traces/monday.txt", "0 0.1\n0 0.2\n1 0.3\n");
    desk.run("run plans/plan.toml --shard 1/2 --out shards");
    let first = std::fs::read(desk.path("shards/spoken/shard-1-of-2.csv")).unwrap();
    assert!(desk.run("run plans/plan.toml --shard 1/2 --out shards").contains("2 of 2 runs are there"));
    // One packet more: nothing of what was made is of use, and shards of both do not become one result.
    desk.write("plans/traces/monday.txt", "0 0.1\n0 0.2\n1 0.3\n1 0.4\n");
    let stdout = desk.run("run plans/plan.toml --shard 1/2 --out shards");
    assert!(stdout.contains("2 runs to make"), "{stdout}");
    assert_ne!(std::fs::read(desk.path("shards/spoken/shard-1-of-2.csv")).unwrap(), first);
    desk.run("run plans/plan.toml --shard 2/2 --out shards");

    // Results need the file no more.
    desk.run("run plans/plan.toml --out whole");
    std::fs::remove_dir_all(desk.path("plans")).unwrap();
    desk.run("merge shards --out merged");
    desk.run("report whole");
    let rows = |folder: &str| std::fs::read(desk.path(folder).join("spoken/rows.parquet")).unwrap();
    assert!(rows("merged") == rows("whole"));
}

#[test]
fn a_plan_takes_no_file_from_outside_of_its_folder() {
    let desk = Desk::new(crate::PROGRAM);
    desk.write("secret.txt", "0 0.1\n");
    std::fs::create_dir(desk.path("plans")).unwrap();
    for outside in ["../secret.txt", "/etc/hostname", "a/../../secret.txt"] {
        desk.write("plans/plan.toml", &NAMED.replace("traces/monday.txt", outside));
        let (_, stderr) = desk.fail("check plans/plan.toml");
        assert!(stderr.contains("is not beside the plan or below it"), "{outside}: {stderr}");
    }
}

/// Every whole plan in the document runs as it stands, and all of its verdicts can be computed.
#[test]
fn the_examples_of_the_document_run() {
    let document = include_str!("../../../../../docs/adding-an-experiment.md");
    let examples = document.split("```toml\n").skip(1).map(|rest| rest.split_once("```").unwrap().0);
    let desk = Desk::new(crate::PROGRAM);
    let mut count = 0;
    for example in examples {
        desk.write("example.toml", example);
        desk.run("check example.toml");
        let stdout = desk.run("run example.toml --quick --seeds 2 --fail-on unjudged");
        assert!(stdout.contains(" 0 cannot be judged"), "{stdout}");
        count += 1;
    }
    assert!(count >= 2, "{count}");
}
