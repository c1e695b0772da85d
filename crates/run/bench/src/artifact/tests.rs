use super::*;
use crate::batch::stopper;
use std::process::Command;

const HEAD: &str = "run,case,calls,replication,key,delay_ms,simulated_packets,simulated_events";
const TOLERANCES: &str = "level,plan,metric,unit,absolute,relative,point\n\
    quick,p,delay_ms,ms,5.0,1e-9,\"case = , calls = 1\"\nquick,p,delay_ms,ms,0.5,1e-9,\"case = , calls = 2\"\n";
const ROWS: [&str; 4] = ["0,,1,0,aa,10.0,1,1", "1,,1,1,ab,20.0,1,1", "2,,2,0,ba,30.0,1,1", "3,,2,1,bb,,1,1"];

/// Its exit code and what it printed.
fn call(folder: &Path, words: &[&str], lab: &str) -> (Option<i32>, String) {
    let mut command = Command::new(words[0]);
    let output = command.args(&words[1..]).current_dir(folder).env("GUESTRIGHT_LAB", lab).output().unwrap();
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

/// What `verify.py` finds where these rows were expected to be [`ROWS`].
fn verify(rows: &[&str], tolerances: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let table = |rows: &[&str]| format!("{HEAD}\n{}\n", rows.join("\n"));
    for (base, rows) in [("expected", table(&ROWS)), ("results", table(rows))] {
        write(folder.path(), &format!("{base}/quick/p/rows.csv"), rows.as_bytes()).unwrap();
        write(folder.path(), &format!("{base}/quick/p/rows.parquet"), rows.as_bytes()).unwrap();
        write(folder.path(), &format!("{base}/quick/p/run.json"), b"{}").unwrap();
    }
    write(folder.path(), "tolerances.csv", tolerances.as_bytes()).unwrap();
    write(folder.path(), "verify.py", include_bytes!("verify.py")).unwrap();
    call(folder.path(), &["python3", "verify.py"], "")
}

#[test]
fn each_point_has_a_tolerance_of_its_own() {
    let [a, b, c, d] = ROWS;
    assert_eq!(verify(&ROWS, TOLERANCES).0, Some(0));
    // The means move by 2, once where 5 are allowed and once where 0.5 are.
    assert_eq!(verify(&["0,,1,0,aa,14.0,1,1", b, c, d], TOLERANCES).0, Some(3));
    let (code, text) = verify(&[a, b, "2,,2,0,ba,32.0,1,1", d], TOLERANCES);
    assert!(code == Some(1) && text.contains("delay_ms (case = , calls = 2): 32.0"), "{text}");
}

#[test]
fn seeds_that_are_missing_or_there_twice_cannot_be_compared() {
    let [a, b, c, d] = ROWS;
    for (rows, words) in [
        (vec![a, c, d], "other replications"),
        (vec![a, b, c, d, "4,,2,2,bc,30.0,1,1"], "other replications"),
        (vec![a, b, a, c, d], "replication 0 of its point is there twice"),
    ] {
        let (code, text) = verify(&rows, TOLERANCES);
        assert!(code == Some(2) && text.contains(words), "{code:?} {text}");
    }
}

#[test]
fn a_number_that_is_blank_in_other_seeds_is_beyond() {
    let [a, b, c, d] = ROWS;
    for (rows, words) in [
        (
            ["0,,1,0,aa,,1,1", "1,,1,1,ab,15.0,1,1", c, d],
            "calls = 1): not measured in other replications than expected: 0",
        ),
        (
            [a, b, c, "3,,2,1,bb,30.0,1,1"],
            "calls = 2): not measured in other replications than expected: none",
        ),
    ] {
        let (code, text) = verify(&rows, TOLERANCES);
        assert!(code == Some(1) && text.contains(words), "{code:?} {text}");
    }
}

#[test]
fn damaged_tables_end_with_a_sentence() {
    let [a, b, c, d] = ROWS;
    let large = "0,,1,0,aa,1e308,1,1";
    let long = format!("0,{},1,0,aa,1.0,1,1", "x".repeat(200_000));
    for (rows, tolerances) in [
        (vec![large, "1,,1,1,ab,1e308,1,1", c, d], TOLERANCES.to_owned()), // Their sum overflows.
        (vec![&long, b, c, d], TOLERANCES.to_owned()),                     // The reader of CSV refuses it.
        (vec![a, b, c, "3,,2,1,bb,1.0,1,1"], TOLERANCES.replace("5.0", "five")),
        (vec![a, b, c, "3,,2,1,bb,1.0,1,1"], TOLERANCES.replace("absolute", "absolut")),
        (
            vec![a, b, c, "3,,2,1,bb,1.0,1,1"],
            "level,plan,metric,unit,point,absolute\nquick,p,delay_ms".to_owned(),
        ),
    ] {
        let (code, text) = verify(&rows, &tolerances);
        assert!(
            code == Some(2) && text.contains("is damaged (") && !text.contains("Traceback"),
            "{code:?} {text}"
        );
    }
}

/// A program that notes its arguments and ends with 1 unless it shall never fail.
const LAB: &str =
    "#!/bin/sh\necho \"$@\" >> log\ncase \"$*\" in *\"--fail-on never\"*) ;; *) exit 1 ;; esac\n";

fn scripts() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let run = include_str!("run.sh").replace("@PLANS@", "a b").replace("@FULL_OPTIONS@", "");
    write(folder.path(), "artifact/run.sh", run.as_bytes()).unwrap();
    write(folder.path(), "artifact/figure.sh", include_bytes!("figure.sh")).unwrap();
    for name in ["a", "b"] {
        write(folder.path(), &format!("artifact/plans/{name}.toml"), b"").unwrap();
    }
    write(folder.path(), "artifact/expected/quick/report.html", b"").unwrap();
    write(folder.path(), "tools/lab.sh", LAB.as_bytes()).unwrap();
    folder
}

#[test]
fn a_verdict_that_cannot_be_computed_does_not_stop_later_plans() {
    let folder = scripts();
    let lab = folder.path().join("tools/lab.sh");
    let (code, text) = call(folder.path(), &["sh", "artifact/run.sh"], lab.to_str().unwrap());
    assert_eq!(code, Some(0), "{text}");
    let log = fs::read_to_string(folder.path().join("artifact/log")).unwrap();
    let words: Vec<&str> = log.lines().map(|line| line.split(" --").next().unwrap()).collect();
    assert_eq!(words, ["run plans/a.toml", "run plans/b.toml", "report results/quick"]);
}

#[test]
fn a_relative_path_of_the_program_is_one_from_where_the_script_is_called() {
    let folder = scripts();
    let (code, text) = call(folder.path(), &["sh", "artifact/run.sh"], "tools/lab.sh");
    assert_eq!(code, Some(0), "{text}");
    // The program draws nothing here, so that there is no picture to compare.
    let (code, text) = call(folder.path(), &["sh", "artifact/figure.sh", "a", "f"], "./tools/lab.sh");
    assert!(code == Some(3) && text.contains("drawn: results/quick/a/figures/f.svg"), "{code:?} {text}");
    let log = fs::read_to_string(folder.path().join("artifact/log")).unwrap();
    assert_eq!(log.lines().filter(|line| line.starts_with("run plans/a.toml")).count(), 2, "{log}");
}

fn plan(name: &str) -> Source {
    let text = format!(
        "name = \"{name}\"\ntitle = \"t\"\nquestion = \"q\"\ntestbed = \"overhead\"\nseeds = 2\n\
         [sweep]\npacket_bytes = [60, 100]\n"
    );
    Source { name: format!("{name}.toml"), text }
}

fn pack_plans(out: &Path, plans: Vec<Source>, is_quick: bool) -> Packed {
    let wish = Wish {
        out: out.to_owned(),
        plans,
        is_quick,
        seeds: None,
        threads: None,
        with_program: false,
        command: "guestright-lab artifact".to_owned(),
        program: Program { version: "1".to_owned(), commit: None, sha256: "aa".repeat(32) },
    };
    wish.pack((stopper().1, stopper().1), &mut |_| Ok(())).unwrap()
}

#[test]
fn an_artifact_that_is_packed_again_has_no_results_of_other_plans() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("review");
    pack_plans(&out, vec![plan("one"), plan("two")], false);
    assert!(out.join("expected/quick/one/run.json").is_file() && out.join("expected/full").is_dir());
    pack_plans(&out, vec![plan("two")], true);
    let left = |name: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(out.join(name)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(left("expected"), BTreeSet::from(["quick".to_owned()]));
    assert_eq!(left("expected/quick"), ["evaluation.json", "report.html", "two"].map(str::to_owned).into());
    let tolerances = fs::read_to_string(out.join("tolerances.csv")).unwrap();
    assert!(tolerances.contains(",\"case = all, packet_bytes = 60\"\n"), "{tolerances}");
    // It is as it should be: the same bytes are found.
    fs::create_dir(out.join("results")).unwrap();
    fs::rename(out.join("expected/quick"), out.join("results/quick")).unwrap();
    pack_plans(&out, vec![plan("two")], true);
    let (code, text) = call(&out, &["python3", "verify.py", "quick"], "");
    assert_eq!(code, Some(0), "{text}");
}
