//! `guestright-lab run --on netns`: real sockets through an emulated path, and the simulator beside it.

use crate::guestright_lab;
use guestright_testbed::inside_for_sandboxes;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

/// A plan with two cases, of a second and a half.
fn plan(settings: &str, cases: &[&str]) -> String {
    let mut text = format!(
        r#"
name = "short"
title = "Short"
question = "?"
testbed = "transports"
on = ["sim", "netns"]
seeds = 1

[settings]
flows = 3
duration_s = 1.5
"source.kind" = "constant"
"start.spread_s" = 0.2
"tcp.sack" = true
{settings}

[sweep]
packet_bytes = [160]

[[table]]
id = "heard"
title = "Heard"
rows = ["case", "packet_bytes"]
column = [{{ title = "heard", of = "goodput_share" }}, {{ title = "delay", of = "delay_p50_ms" }}]
"#
    );
    for case in cases {
        text += &format!("[[case]]\nname = \"{case}\"\nsettings = {{ transport = \"{case}\" }}\n");
    }
    text
}

struct Lab {
    folder: tempfile::TempDir,
}

impl Lab {
    fn new(plan: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("plan.toml"), plan).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = guestright_lab();
        command.args(["run"]).arg(self.path("plan.toml")).arg("--out").arg(self.path("out"));
        command.args(arguments).output().unwrap()
    }

    /// The notes of each run, by case.
    fn note(&self, case: &str) -> Value {
        let text = std::fs::read_to_string(self.path("out/short-netns/emulation.jsonl")).unwrap();
        let notes = text.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut found: Vec<Value> = notes.filter(|note| note["case"] == case).collect();
        assert_eq!(found.len(), 1, "{text}");
        found.remove(0)["note"].take()
    }
}

fn succeeded(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{out}\n{err}", output.status);
    out.into_owned()
}

fn total(note: &Value, what: &str) -> u64 {
    note["totals"][what].as_u64().unwrap_or_else(|| panic!("no {what} in {note}"))
}

/// What was sent has arrived, or it is known what became of it.
fn is_conserved(note: &Value) {
    let fates = ["arrived", "dropped", "errors", "on_the_way"].map(|what| total(note, what));
    assert_eq!(total(note, "sent"), fates.iter().sum::<u64>(), "{note}");
    assert!(total(note, "delivered") <= total(note, "arrived"), "{note}");
    let known = ["delivered", "thrown", "waiting"].map(|what| total(note, what));
    assert!(known.iter().sum::<u64>() <= total(note, "made"), "{note}");
    for none in ["garbled", "refused", "strangers"] {
        assert_eq!(note[none], 0, "{none}: {note}");
    }
}

fn offered() -> Vec<String> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    text.split_whitespace().map(str::to_owned).collect()
}

/// One column of the rows, by case.
fn column(path: &Path, name: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let index_of = |name: &str| head.iter().position(|column| *column == name).unwrap();
    let (case, wanted) = (index_of("case"), index_of(name));
    lines.map(|line| (line[case].to_owned(), line[wanted].to_owned())).collect()
}

#[test]
fn an_empty_path_loses_nothing_and_both_platforms_are_in_the_report() {
    if !inside_for_sandboxes("netns::an_empty_path_loses_nothing_and_both_platforms_are_in_the_report") {
        return;
    }
    // Whatever this kernel has of what the testbed knows.
    let offered = offered();
    let tcp = ["reno", "cubic", "bbr"].into_iter().filter(|name| offered.iter().any(|one| one == name));
    let cases: Vec<&str> = ["udp"].into_iter().chain(tcp).collect();
    assert!(cases.len() > 1, "{offered:?}");
    let lab = Lab::new(&plan("\"errors.model\" = \"none\"", &cases));
    let out = succeeded(&lab.run(&["--on", "sim", "--on", "netns"]));
    assert!(out.contains("short-netns: plan 2 of 2") && out.contains("packets left the path"), "{out}");
    for case in &cases {
        let note = lab.note(case);
        is_conserved(&note);
        assert_eq!((total(&note, "dropped"), total(&note, "errors")), (0, 0), "{note}");
        assert!(total(&note, "delivered") > 0, "{note}");
        let want = if *case == "udp" { Value::Null } else { Value::from(*case) };
        assert_eq!(note["congestion"], want, "what getsockopt says");
    }
    // The same speech was made, to the last digit.
    let spoken = |folder: &str| column(&lab.path("out").join(folder).join("rows.csv"), "offered_kbps");
    assert_eq!(spoken("short"), spoken("short-netns"));
    assert_eq!(spoken("short").len(), cases.len());
    let record: Value =
        serde_json::from_slice(&std::fs::read(lab.path("out/short-netns/run.json")).unwrap()).unwrap();
    assert_eq!(record["platform"], "netns");
    assert!(lab.path("out/short-netns/rows.parquet").is_file());
    is_side_by_side(&lab);
    // And again, from the rows alone.
    let again = guestright_lab().args(["report"]).arg(lab.path("out")).output().unwrap();
    succeeded(&again);
    is_side_by_side(&lab);
}

fn is_side_by_side(lab: &Lab) {
    let html = std::fs::read_to_string(lab.path("out/report.html")).unwrap();
    for words in ["Short (netns)", "sim and netns side by side", "heard, sim", "heard, netns", "difference"] {
        assert!(html.contains(words), "{words}");
    }
    let text = std::fs::read(lab.path("out/evaluation.json")).unwrap();
    let evaluations: Vec<Value> = serde_json::from_slice(&text).unwrap();
    let names: Vec<&str> = evaluations.iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["short", "short", "short-beside"]);
}

#[test]
fn what_does_not_fit_is_dropped_or_thrown_away_and_counted() {
    if !inside_for_sandboxes("netns::what_does_not_fit_is_dropped_or_thrown_away_and_counted") {
        return;
    }
    // Three calls of 64 kb/s and headers through 0.1 Mb/s, and a download.
    let tight = "\"first.rate_mbps\" = 0.1\n\"second.ratio\" = 10\n\"first.buffer\" = 5\nsend_buffer = 3\n\
                 \"bulk.flows\" = 1";
    let lab = Lab::new(&plan(tight, &["udp", "reno"]));
    succeeded(&lab.run(&["--on", "netns"]));
    let udp = lab.note("udp");
    is_conserved(&udp);
    assert!(total(&udp, "dropped") > 0, "{udp}");
    let reno = lab.note("reno");
    is_conserved(&reno);
    assert!(total(&reno, "thrown") > 0, "the send buffer has room for three: {reno}");
    // Two of three wait here, and one in the kernel; three calls.
    assert!(total(&reno, "waiting") <= 6, "{reno}");
    let rows = lab.path("out/short-netns/rows.csv");
    let drops = column(&rows, "first_drops");
    assert!(drops.iter().all(|(_, drops)| drops.parse::<f64>().unwrap() > 0.0), "{drops:?}");
    let bulk = column(&rows, "bulk_goodput_kbps");
    assert!(bulk.iter().all(|(_, kbps)| kbps.parse::<f64>().unwrap() > 0.0), "{bulk:?}");
    let model = column(&rows, "model_kbps");
    assert!(model.iter().all(|(_, number)| number.is_empty()), "nobody can know it: {model:?}");
}

#[test]
fn settings_without_meaning_on_real_sockets_are_refused_by_name() {
    let lab = Lab::new(&plan("\"switch.tick\" = \"on\"", &["udp", "tfrc"]));
    let output = lab.run(&["--on", "netns"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{error}");
    assert!(error.contains("`switch.tick`"), "{error}");
    let lab = Lab::new(&plan("", &["udp", "tfrc"]));
    let output = lab.run(&["--on", "netns"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("case tfrc") && error.contains("`transport`") && error.contains("real sockets"),
        "{error}"
    );
    assert!(!lab.path("out/short-netns/rows.csv").exists());
    let output = guestright_lab().args(["run", "paper-b/gap", "--on", "netns"]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("not made for netns"), "{error}");
    let output = guestright_lab().args(["netns-worker"]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("--on netns"), "{error}");
}

/// Paper A's Figure 3 with the kernel's TCP: what hosts send arrives, and a tunnel that really seals leaves what the router's
/// processor has time for.
#[test]
fn transfers_go_through_the_router_of_paper_a_on_real_sockets() {
    if !inside_for_sandboxes("netns::transfers_go_through_the_router_of_paper_a_on_real_sockets") {
        return;
    }
    let plan = r#"
name = "short"
title = "Short"
question = "?"
testbed = "tcp"
on = ["sim", "netns"]
seeds = 1

[settings]
bytes = 150_000
until_s = 60
flows = 2

[sweep]
"tcp.recovery" = ["newreno", "sack"]

[[case]]
name = "reference"
settings = { between = "one-switch" }

[[case]]
name = "nat"

[[case]]
name = "vpn"
settings.tunnel = "esp"
settings.esp = { mode = "l2tp", suite = "aes-128-cbc+hmac-md5-96" }
settings.receipts = { suite = "ed25519", interval_s = 0.5 }

[[table]]
id = "throughput"
title = "Throughput"
rows = "case"
columns = "tcp.recovery"
column = [{ of = "mean_kBps" }]
"#;
    let lab = Lab::new(plan);
    let out = succeeded(&lab.run(&["--on", "sim", "--on", "netns"]));
    assert!(out.contains("packets left the path") && !out.contains("speech"), "{out}");
    for folder in ["short", "short-netns"] {
        let rows = lab.path("out").join(folder).join("rows.csv");
        let of = |metric: &str, case: &str| -> Vec<f64> {
            let all = column(&rows, metric);
            all.iter().filter(|(of, _)| of == case).map(|(_, number)| number.parse().unwrap()).collect()
        };
        for case in ["reference", "nat", "vpn"] {
            assert_eq!(of("unfinished", case), [0.0; 2], "{case} of {folder}");
        }
        // By the model one segment of 1,358 octets takes the processor 3.7 ms in the tunnel, however busy this computer is.
        let [nat, vpn] = ["nat", "vpn"].map(|case| of("total_kBps", case));
        for (nat, vpn) in nat.iter().zip(&vpn) {
            assert!(*vpn < 380.0 && *nat > 2.0 * vpn, "{folder}: {nat} and {vpn} kB/s");
        }
        assert!(of("verifying_share", "vpn").iter().all(|share| *share > 0.0), "{folder}");
    }
}
