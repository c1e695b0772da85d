//! `guestright-lab artifact`: packed, unpacked elsewhere, run, drawn and compared with its own scripts.

use guestright_testbed::Desk;
use std::process::Command;

const PLAN: &str = r#"
name = "packed"
title = "Packed | for a referee"
question = "Is it the same?"
testbed = "voice"
seeds = 3

[quick]
seeds = 2
settings = { duration_s = 3 }

[settings]
duration_s = 5

[sweep]
calls = [1, 2, 6]

[[figure]]
id = "mos"
title = "MOS by calls"
x = "calls"
y = "mos_mean"

[[claim]]
id = "good"
text = "Two calls are good."
of = "mos_mean"
at = { calls = 2 }
at_least = 3.6
"#;

/// An artifact that was unpacked.
struct Unpacked<'a>(&'a Desk);

impl Unpacked<'_> {
    /// The exit code of a script and what it printed.
    fn run(&self, line: &str) -> (Option<i32>, String) {
        let words: Vec<&str> = line.split(' ').collect();
        let folder = self.0.path("elsewhere/review");
        let mut command = Command::new(folder.join(words[0]));
        let output = command.args(&words[1..]).env("GUESTRIGHT_LAB", crate::PROGRAM).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    }

    fn read(&self, name: &str) -> String {
        self.0.read(&format!("elsewhere/review/{name}"))
    }

    /// Makes the first `delay_ms` of the quick results larger by so much.
    fn change_delay(&self, by: f64) {
        let text = self.read("expected/quick/packed/rows.csv");
        let mut lines: Vec<Vec<String>> =
            text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect();
        let column = lines[0].iter().position(|name| name == "delay_ms").unwrap();
        let delay: f64 = lines[1][column].parse().unwrap();
        lines[1][column] = format!("{:?}", delay + by);
        let lines: Vec<String> = lines.iter().map(|line| line.join(",") + "\n").collect();
        self.0.write("elsewhere/review/results/quick/packed/rows.csv", &lines.concat());
    }

    /// How far the mean of `delay_ms` may be from the expected one.
    fn tolerance(&self) -> f64 {
        let text = self.read("tolerances.csv");
        let line = text.lines().find(|line| line.starts_with("quick,packed,delay_ms,ms,")).unwrap();
        line.split(',').nth(4).unwrap().parse().unwrap()
    }
}

fn unpack(desk: &Desk) -> Unpacked<'_> {
    std::fs::create_dir(desk.path("elsewhere")).unwrap();
    let mut tar = Command::new("tar");
    tar.arg("xf").arg(desk.path("review.tar")).arg("-C").arg(desk.path("elsewhere"));
    assert!(tar.status().unwrap().success(), "tar could not unpack it");
    Unpacked(desk)
}

#[test]
fn a_referee_makes_the_results_again_and_compares_bytes_and_then_tolerances() {
    let desk = Desk::new(crate::PROGRAM);
    desk.write("plan.toml", PLAN);
    let packed = desk.json("artifact plan.toml --out review.tar --json");
    assert_eq!(packed["figures"], 1, "{packed}");
    let levels: Vec<&str> =
        packed["levels"].as_array().unwrap().iter().map(|level| level["level"].as_str().unwrap()).collect();
    assert_eq!(levels, ["quick", "full"]);
    assert_eq!((&packed["levels"][0]["runs"], &packed["levels"][1]["runs"]), (&6.into(), &9.into()));
    assert!(!desk.path("review.tar.making").exists());

    let artifact = unpack(&desk);
    let sums = Command::new("sha256sum")
        .args(["--check", "--quiet", "SHA256SUMS"])
        .current_dir(desk.path("elsewhere/review"))
        .status();
    assert!(sums.unwrap().success());
    let (code, text) = artifact.run("verify.py quick");
    assert!(code == Some(2) && text.contains("./run.sh makes the results"), "{code:?} {text}");

    // Twice: the second time makes the same again.
    for _ in 0..2 {
        let (code, text) = artifact.run("run.sh quick");
        assert!(code == Some(0) && text.contains("report: results/quick/report.html"), "{code:?} {text}");
    }
    let (code, text) = artifact.run("verify.py quick");
    assert!(code == Some(0) && text.contains("stage 1, bytes: the same SHA-256"), "{code:?} {text}");
    let (code, text) = artifact.run("figures/packed--mos.sh quick");
    assert!(code == Some(0) && text.contains("the same bytes as expected"), "{code:?} {text}");
    // The runs of the whole plan are made by the script of its figure.
    let (code, text) = artifact.run("figures/packed--mos.sh full");
    assert!(code == Some(0) && text.contains("9 runs to make"), "{code:?} {text}");
    assert_eq!(artifact.run("verify.py full").0, Some(0));

    // Of two seeds one is changed: the mean moves by half of that.
    let tolerance = artifact.tolerance();
    assert!(tolerance > 0.0);
    artifact.change_delay(2.0 * 0.9 * tolerance);
    let (code, text) = artifact.run("verify.py quick");
    assert!(code == Some(3) && text.contains("stage 1, bytes: rows.csv differ"), "{code:?} {text}");
    assert!(text.contains("stage 2, tolerances: every mean is within its tolerance; the largest"), "{text}");
    artifact.change_delay(2.0 * 1.1 * tolerance);
    let (code, text) = artifact.run("verify.py quick");
    assert!(
        code == Some(1) && text.contains("stage 2, tolerances: 1 beyond\n  delay_ms (case = "),
        "{code:?} {text}"
    );

    // Rows of which only one file was changed are not those of a run.
    artifact.change_delay(0.0);
    desk.write("elsewhere/review/results/quick/packed/rows.parquet", "no table");
    let (code, text) = artifact.run("verify.py quick");
    assert!(code == Some(2) && text.contains("they are not of one run"), "{code:?} {text}");
}

#[test]
fn the_readme_has_the_steps_what_they_take_and_the_badges() {
    let desk = Desk::new(crate::PROGRAM);
    desk.write("plan.toml", PLAN);
    let text = desk.run("artifact plan.toml --quick --out review");
    assert!(text.contains("review: ") && text.contains("quick: 6 runs, "), "{text}");
    let readme = desk.read("review/README.md");
    for wanted in [
        "## First steps",
        "./verify.py quick",
        "GB of memory",
        "| quick | `packed` | 6 | 2 |",
        "| Two calls are good. |",
        "Results Reproduced",
        "## SOSP's check list",
        r"Packed \| for a referee",
    ] {
        assert!(readme.contains(wanted), "{wanted}: {readme}");
    }
    assert!(!readme.contains("./run.sh full"), "{readme}");
    for name in
        ["LICENSE-MIT", "LICENSE-APACHE", "CITATION.cff", "seeds.csv", "versions.json", "run.sh", "verify.py"]
    {
        assert!(desk.path("review").join(name).is_file(), "{name}");
    }
    assert_eq!(desk.read("review/plans/packed.toml"), PLAN);
    assert_eq!(desk.read("review/seeds.csv").lines().count(), 3);

    // The same folder again is fine, that of somebody else is not.
    desk.run("artifact plan.toml --quick --out review");
    std::fs::create_dir(desk.path("other")).unwrap();
    desk.write("other/thesis.tex", "my thesis");
    let (code, words) = desk.fail("artifact plan.toml --quick --out other");
    assert!(code == 1 && words.contains("other has files that are no artifact's"), "{words}");
}
