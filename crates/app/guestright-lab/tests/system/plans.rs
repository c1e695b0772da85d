//! `guestright-lab list`, `check`, `run`, `report`, `compare` and `overhead`: plans in, results out.

use crate::guestright_lab;
use guestright_testbed::Program;
use rustix::process::Signal;
use serde_json::Value;

/// A folder in which `guestright-lab` is run. What succeeds there has nothing to complain of.
struct Desk(guestright_testbed::Desk);

impl Desk {
    fn new() -> Self {
        Self(guestright_testbed::Desk::new(crate::PROGRAM))
    }

    /// Runs a command line that must succeed.
    fn run(&self, line: &str) -> String {
        let output = self.try_run(line);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {stderr}");
        assert!(stderr.is_empty(), "nothing to complain of, and no terminal for a bar: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.run(line)).unwrap()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

impl std::ops::Deref for Desk {
    type Target = guestright_testbed::Desk;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// What tunnels add: a plan of the repository's simplest testbed.
const PLAN: &str = r#"
name = "tunnels"
title = "What tunnels add"
question = "How long do packets leave WireGuard?"
testbed = "overhead"
seeds = 2

[sweep]
packet_bytes = [60, 200]

[[case]]
name = "tunnel"
settings.tunnel = "wireguard"

[[figure]]
id = "length"
title = "Length"
x = "packet_bytes"
y = "wire_bytes"

[[claim]]
id = "voice"
text = "Voice leaves as 124 bytes."
of = "wire_bytes"
case = "tunnel"
at = { packet_bytes = 60 }
published = 124
within = 0
"#;

#[test]
fn every_plan_of_the_repository_is_built_in_and_good() {
    let desk = Desk::new();
    let plans = desk.json("list --json");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../experiments");
    let mut files = Vec::new();
    let folders = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    // Studies of what papers left out are about plans, and are none.
    for folder in folders.filter(|path| path.is_dir() && !path.ends_with("inference")) {
        let names = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let plans = names.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
        let parent = folder.file_name().unwrap().to_string_lossy().into_owned();
        files.extend(plans.map(|path| format!("{parent}/{}", path.file_stem().unwrap().to_string_lossy())));
    }
    files.sort();
    let listed: Vec<&str> =
        plans.as_array().unwrap().iter().map(|plan| plan["plan"].as_str().unwrap()).collect();
    assert_eq!(listed, files);
    assert!(files.len() >= 6 && files.iter().any(|name| name == "paper-a/table-2"), "{files:?}");
    for plan in plans.as_array().unwrap() {
        assert!(
            plan["runs"].as_u64() >= plan["quick_runs"].as_u64() && plan["quick_runs"].as_u64() > Some(0),
            "{plan}"
        );
        assert!(plan["question"].as_str().unwrap().len() > 10 && plan["testbed"].is_string(), "{plan}");
    }
    assert!(desk.run("list paper-a/overhead").starts_with("paper-a/overhead: "));
    let checked = desk.run("check experiments");
    assert_eq!(checked.lines().filter(|line| line.contains(": good, ")).count(), files.len(), "{checked}");
}

#[test]
fn testbeds_say_what_can_be_set_and_what_is_measured() {
    let desk = Desk::new();
    let testbeds = desk.json("list --testbeds --json");
    let names: Vec<&str> =
        testbeds.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    let text = desk.run("list --testbeds");
    for (testbed, name) in testbeds.as_array().unwrap().iter().zip(&names) {
        assert!(text.contains(&format!("{name}\n")), "{name}");
        let (settings, metrics) =
            (testbed["settings"].as_array().unwrap(), testbed["metrics"].as_array().unwrap());
        assert!(
            !metrics.is_empty() && settings.iter().all(|setting| !setting["default"].is_null()),
            "{testbed}"
        );
        for one in settings.iter().chain(metrics) {
            assert!(text.contains(one["name"].as_str().unwrap()) && one["about"] != "", "{one}");
        }
    }
    let overhead = desk.run("list --testbeds overhead");
    assert!(overhead.contains("wire_bytes [bytes]") && !overhead.contains("voice\n"), "{overhead}");
    let (code, stderr) = desk.fail("list --testbeds nowhere");
    assert!(
        code == 1 && stderr.contains("there is no testbed nowhere") && stderr.contains("overhead"),
        "{stderr}"
    );
}

#[test]
fn a_mistake_is_refused_with_its_place_its_line_and_the_reason() {
    let desk = Desk::new();
    desk.write("good.toml", PLAN);
    desk.write("typo.toml", &PLAN.replace("packet_bytes = [60", "paket_bytes = [60"));
    desk.write("range.toml", &PLAN.replace("60, 200", "60, -7"));
    desk.write("broken.toml", &PLAN.replace("seeds = 2", "seeds = = 2"));
    assert!(desk.run("check good.toml").contains("good.toml: good, 4 runs"));
    let lines = PLAN.lines().count();
    for (name, line, words) in
        [("typo.toml", 9, "packet_bytes"), ("range.toml", 9, "-7"), ("broken.toml", 6, "not TOML")]
    {
        let (code, stderr) = desk.fail(&format!("check {name}"));
        assert_eq!(code, 78, "{stderr}");
        assert!(stderr.contains(&format!("\n{name}:{line}:")) && stderr.contains(words), "{stderr}");
        let shown =
            stderr.lines().find(|shown| shown.contains(&format!("  {line} | "))).expect("the line is shown");
        assert!(
            shown.len() < 100 && stderr.lines().any(|line| line.trim_start_matches([' ', '|']) == "^"),
            "{stderr}"
        );
        assert!(stderr.contains("what to do: ") && line < lines, "{stderr}");
        let (code, refused) = desk.fail(&format!("run {name}"));
        assert!(code == 78 && refused.contains(&format!("{name}:{line}:")), "{refused}");
    }
    assert!(!desk.path("lab-results").exists(), "nothing was run");
    let (code, stderr) = desk.fail("check .");
    assert!(code == 78 && stderr.contains("3 of 4 plans have mistakes"), "{stderr}");
    std::fs::create_dir(desk.path("empty")).unwrap();
    let (code, stderr) = desk.fail("check empty");
    assert!(code == 78 && stderr.contains("the folder empty has no .toml files"), "{stderr}");
    let (code, stderr) = desk.fail("check nothing-here.toml");
    assert!(code == 78 && stderr.contains("there is no file nothing-here.toml"), "{stderr}");
    for name in ["report.html", "evaluation.json"] {
        desk.write("taken.toml", &PLAN.replace("\"tunnels\"", &format!("{name:?}")));
        for command in ["check", "run"] {
            let (code, stderr) = desk.fail(&format!("{command} taken.toml"));
            assert!(code == 78 && stderr.contains(&format!("`name` cannot be {name}")), "{stderr}");
        }
    }
    let (code, stderr) = desk.fail("check nothing-here");
    assert!(code == 1 && stderr.contains("no plan nothing-here") && stderr.contains("lab list"), "{stderr}");
}

#[test]
fn a_run_leaves_rows_figures_and_a_report_and_can_be_reported_again() {
    let desk = Desk::new();
    desk.write("plan.toml", PLAN);
    let stdout = desk.run("run plan.toml --threads 1");
    assert!(
        stdout.contains("tunnels: 4 runs to make, 1 at a time") && stdout.contains("lab-results/report.html"),
        "{stdout}"
    );
    desk.run("run plan.toml --threads 2 --out again");
    for name in ["rows.parquet", "rows.csv", "figures/length.svg", "figures/length.png"] {
        let (first, second) =
            (desk.read(&format!("lab-results/tunnels/{name}")), desk.read(&format!("again/tunnels/{name}")));
        assert!(!first.is_empty() && first == second, "{name}");
    }
    let found = desk.json("run plan.toml --json --out json");
    assert_eq!(found["report"], "json/report.html");
    assert_eq!(found["evaluations"][0]["claims"][0]["id"], "voice");

    // The report again: the same, from either file of rows.
    let report = |name: &str| String::from_utf8(desk.read(&format!("{name}/report.html"))).unwrap();
    let (before, evaluation) = (report("lab-results"), desk.read("lab-results/evaluation.json"));
    for missing in ["evaluation.json", "report.html", "tunnels/figures/length.svg", "tunnels/rows.csv"] {
        std::fs::remove_file(desk.path("lab-results").join(missing)).unwrap();
        desk.run("report lab-results");
        assert_eq!(desk.read("lab-results/evaluation.json"), evaluation, "without {missing}");
        assert_eq!(report("lab-results"), before, "without {missing}");
    }
    assert!(
        before.contains("What tunnels add")
            && before.contains("tunnels/rows.csv")
            && !before.contains("http://192")
    );

    // With another plan of the same name: other texts over the same rows.
    desk.write("newer.toml", &PLAN.replace("What tunnels add", "What WireGuard adds"));
    desk.run("report again --with newer.toml --out newer");
    assert!(report("newer").contains("What WireGuard adds"));
    let (code, stderr) = desk.fail("report lab-results again --out both");
    assert!(code == 1 && stderr.contains("the plan tunnels has results in two"), "{stderr}");

    // Rows that somebody has changed are no rows.
    let mut rows = desk.read("again/tunnels/rows.csv");
    let last = rows.len() - 2;
    rows[last] ^= 1;
    std::fs::write(desk.path("again/tunnels/rows.csv"), rows).unwrap();
    let (code, stderr) = desk.fail("report again");
    assert!(code == 78 && stderr.contains("has changed since it was written"), "{stderr}");
    let (code, stderr) = desk.fail("report .");
    assert!(code == 78 && stderr.contains("has no results"), "{stderr}");
}

#[test]
fn a_report_lies_anywhere_and_leads_to_the_rows() {
    let desk = Desk::new();
    desk.write("plan.toml", PLAN);
    desk.write("other.toml", &PLAN.replace("\"tunnels\"", "\"others\""));
    let stdout = desk.run("run plan.toml --out op");
    assert!(!stdout.contains("also here") && !stdout.contains("plan 1 of"), "{stdout}");
    let stdout = desk.run("run other.toml --out op");
    assert!(
        stdout.contains("also here: tunnels; `guestright-lab report op` makes one page of all"),
        "{stdout}"
    );
    let page = |name: &str| String::from_utf8(desk.read(name)).unwrap();
    desk.run("report op --out deep/er");
    let text = page("deep/er/report.html");
    for name in ["tunnels", "others"] {
        assert!(text.contains(&format!("href=\"../../op/{name}/rows.csv\"")), "{text}");
        assert!(desk.path(&format!("deep/er/{name}/figures/length.svg")).is_file());
    }
    std::fs::remove_dir_all(desk.path("op/tunnels/figures")).unwrap();
    desk.run("report op/tunnels");
    assert!(
        desk.path("op/tunnels/figures/length.svg").is_file() && !desk.path("op/tunnels/tunnels").exists()
    );
    assert!(page("op/tunnels/report.html").contains("href=\"rows.csv\""));

    let stdout = desk.run("run plan.toml other.toml --out both");
    assert!(
        stdout.contains("tunnels: plan 1 of 2, 4 runs") && stdout.contains("others: plan 2 of 2"),
        "{stdout}"
    );
    let stdout = desk.run("run plan.toml --out both");
    assert!(stdout.contains("`guestright-lab report both --with plan.toml` makes figures anew"), "{stdout}");
}

#[test]
fn places_that_cannot_be_are_named() {
    let desk = Desk::new();
    desk.write("plan.toml", PLAN);
    desk.write("other.toml", &PLAN.replace("\"tunnels\"", "\"others\""));
    desk.write("afile", "");
    let (code, stderr) = desk.fail("run plan.toml --out afile");
    assert!(code == 78 && stderr.contains("afile is a file"), "{stderr}");
    desk.run("run plan.toml --out op");
    let (code, stderr) = desk.fail("report op --with other.toml");
    assert!(
        code == 1 && stderr.contains("no results of the plan others") && stderr.contains("of tunnels"),
        "{stderr}"
    );
    let (code, stderr) = desk.fail("report nowhere");
    assert!(
        code == 78 && stderr.contains("there is no folder nowhere") && stderr.contains("lab run"),
        "{stderr}"
    );
    let (code, stderr) = desk.fail("report afile");
    assert!(code == 78 && stderr.contains("afile is a file, not a folder"), "{stderr}");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = guestright_lab().args(["list"]).stdout(full).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(1) && stderr.contains("cannot write to standard output: "),
        "{stderr}"
    );
}

#[test]
fn a_verdict_that_is_bad_is_a_verdict_and_one_that_is_missing_is_a_failure() {
    let desk = Desk::new();
    desk.write("wrong.toml", &PLAN.replace("published = 124", "published = 60"));
    let stdout = desk.run("run wrong.toml");
    assert!(stdout.contains("does not reproduce"), "{stdout}");
    let end: Vec<&str> = stdout.lines().rev().take(2).collect();
    assert_eq!(
        end,
        ["report: lab-results/report.html", "1 claim: 0 reproduce, 1 does not, 0 cannot be judged"]
    );
    assert_eq!(
        desk.json("report lab-results --json")["tally"],
        serde_json::json!({ "reproduce": 0, "do_not": 1, "cannot_be_judged": 0, "predictions": 0 })
    );

    // Which verdicts are a failure can be said; the report is the same.
    desk.write("right.toml", PLAN);
    desk.run("run right.toml --out right --fail-on any");
    // A sweep that ends before the packet is so long: the number is not known.
    let open = PLAN
        .replace("of = \"wire_bytes\"\ncase", "of = \"long\"\ncase")
        .replace("at = { packet_bytes = 60 }\npublished = 124", "published = 1000")
        + "[[measure]]\nid = \"long\"\nkind = \"largest\"\nof = \"wire_bytes\"\nat_most = 9000\n";
    desk.write("open.toml", &open);
    desk.fail("run open.toml --out open");
    let cases = [
        ("right", ["never 0", "unjudged 0", "contradicted 0", "any 0"]),
        ("lab-results", ["never 0", "unjudged 0", "contradicted 1", "any 1"]),
        ("open", ["never 0", "unjudged 1", "contradicted 0", "any 1"]),
    ];
    for (folder, expected) in cases {
        for words in expected {
            let (fail_on, code) = words.split_once(' ').unwrap();
            let output = desk.try_run(&format!("report {folder} --fail-on {fail_on}"));
            assert_eq!(output.status.code().unwrap().to_string(), code, "{folder} {words}");
            let stdout = String::from_utf8(output.stdout).unwrap();
            assert!(stdout.ends_with(&format!("report: {folder}/report.html\n")), "{stdout}");
        }
    }
    let (_, stderr) = desk.fail("report lab-results --fail-on contradicted");
    assert!(stderr.contains("claims that do not reproduce: tunnels"), "{stderr}");
    let (code, stderr) = desk.fail("report lab-results --fail-on sometimes");
    assert!(code == 2 && stderr.contains("never, unjudged, contradicted, any"), "{stderr}");
}

/// A page that is mailed has its rows in it, and says how it came about.
#[test]
fn a_report_names_its_command_and_keeps_its_rows() {
    let desk = Desk::new();
    desk.write("plan.toml", PLAN);
    desk.run("run plan.toml --seeds 3 --out out");
    let page = String::from_utf8(desk.read("out/report.html")).unwrap();
    assert!(
        page.contains("<dt>Command</dt><dd>guestright-lab run plan.toml --seeds 3 --out out</dd>"),
        "{page}"
    );
    let record: Value = serde_json::from_slice(&desk.read("out/tunnels/run.json")).unwrap();
    let (began, ended) = (record["started"].as_str().unwrap(), record["ended"].as_str().unwrap());
    assert!(page.contains(&format!("<dt>Date</dt><dd>{began} to {ended}</dd>")), "{page}");
    assert!(page.contains("<dt>Program</dt><dd>guestright-lab "), "{page}");
    for link in [
        "tunnels/rows.csv",
        "tunnels/rows.parquet",
        "tunnels/figures/length.svg",
        "tunnels/figures/length.png",
    ] {
        assert!(
            page.contains(&format!("href=\"{link}\"")) && desk.path("out").join(link).is_file(),
            "{link}"
        );
    }
    assert!(
        page.contains("<a download=\"tunnels-rows.csv\" href=\"data:text/csv;charset=utf-8;base64,"),
        "{page}"
    );
}

#[test]
fn receipts_have_the_papers_table_beside_them() {
    let desk = Desk::new();
    let text = desk.run("receipts --samples 1");
    assert!(text.starts_with("Receipts (paper A, Table 1)") && text.contains("\n  ed25519"), "{text}");
    let json = desk.json("receipts --samples 1 --json");
    assert!(json["suites"].as_array().unwrap().iter().any(|one| one["suite"] == "ed25519"), "{json}");
    assert_eq!(json["ratios"].as_array().unwrap().len(), 4);
    let (code, stderr) = desk.fail("receipts --samples -5");
    assert!(code == 2 && stderr.contains("-5 is not in 1..=10000"), "{stderr}");
}

#[test]
fn what_there_is_to_choose_from_is_in_the_help() {
    let desk = Desk::new();
    for (command, wanted) in [
        ("tunnel esp-keys --help", ["[possible values: ", "3des-cbc+hmac-sha1-96"]),
        ("traffic send --help", ["[possible values: g729, g711]", "[possible values: random, even]"]),
        ("call --help", ["- speak-freely: blowfish, idea, des, none", "- boat: opus16, opus8"]),
        ("run --help", ["- never: ", "- contradicted: "]),
    ] {
        let help = desk.run(command);
        assert!(wanted.iter().all(|words| help.contains(words)), "{command}: {help}");
    }
    let (code, stderr) = desk.fail("tunnel esp-keys --suite aes-129-gcm one two");
    assert!(code == 2 && stderr.contains("aes-128-gcm"), "{stderr}");
    let (code, stderr) = desk.fail("run");
    assert!(code == 2 && stderr.contains("PLAN"), "{stderr}");
}

#[test]
fn comparing_tells_what_differs_and_ends_as_diff_does() {
    let desk = Desk::new();
    desk.write("plan.toml", PLAN);
    desk.write("other.toml", &PLAN.replace("\"wireguard\"", "\"none\""));
    desk.run("run plan.toml --out a");
    desk.run("run plan.toml --out b");
    desk.run("run other.toml --out c");
    assert!(desk.run("compare a b").contains("0 of "));
    assert_eq!(desk.json("compare a b --json")["differ"], 0);
    let output = desk.try_run("compare a c --json");
    assert_eq!(output.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["differ"], 1);
    let claims = found["comparisons"][0]["claims"].as_array().unwrap();
    assert_eq!((claims.len(), claims[0]["id"].as_str()), (1, Some("voice")), "{found}");
    let (code, stderr) = desk.fail("compare a nowhere");
    assert!(code == 78 && stderr.contains("nowhere/evaluation.json"), "{stderr}");
}

/// A signal in the middle: at once, in order, and with a word on how to go on.
#[test]
fn a_signal_ends_a_run_in_order() {
    let desk = Desk::new();
    let mut command = desk.command("run paper-a/table-2 --threads 1 --seeds 200 --out results");
    let mut program = Program::start(&mut command, &desk.path("log"));
    program.hear_line("to begin", |line| line.contains(" runs to make, 1 at a time"));
    program.signal(Signal::INT);
    let status = program.wait();
    assert_eq!(status.code(), Some(130), "{}", program.log());
    assert!(
        program.log().contains("stopped: ") && program.log().contains("goes on from there"),
        "{}",
        program.log()
    );
    assert!(!desk.path("results/report.html").exists());
    let kept = std::fs::read_dir(desk.path("results"))
        .unwrap()
        .map(|entry| entry.unwrap().path().join("partial.csv"));
    assert_eq!(kept.filter(|path| path.is_file()).count(), 1);
}

#[test]
fn the_papers_packets_are_counted_part_by_part() {
    let desk = Desk::new();
    let found = desk.json("overhead --json");
    assert_eq!(found["packets"], serde_json::json!([60, 200]));
    let rows = found["rows"].as_array().unwrap();
    let row = |suite: &str, mode: &str, encapsulation: &str| {
        let fits = |row: &&Value| {
            row["suite"] == suite && row["mode"] == mode && row["encapsulation"] == encapsulation
        };
        rows.iter().find(fits).unwrap()["wire"].clone()
    };
    assert_eq!(row("aes-128-cbc+hmac-md5-96", "l2tp", "raw")[0], 152);
    assert_eq!(row("3des-cbc+hmac-sha1-96", "tunnel", "raw"), serde_json::json!([112, 256]));
    assert_eq!(row("wireguard (its paper)", "tunnel", "udp"), serde_json::json!([124, 268]));
    assert_eq!(row("wireguard (our own end)", "tunnel", "udp"), serde_json::json!([120, 260]));
    let totals: Vec<u64> =
        found["papers"].as_array().unwrap().iter().map(|paper| paper["total"].as_u64().unwrap()).collect();
    assert_eq!(totals, [152, 112, 256, 104, 248]);
    let text = desk.run("overhead --packet 1420");
    assert!(text.contains("aes-256-gcm") && text.contains("paper A, 60 bytes become 152"), "{text}");
    assert!(!desk.try_run("overhead --packet 19").status.success());
}
