//! `guestright-lab traffic`: two ends in two network namespaces, with and without a rule that drops packets.
//!
//! ```text
//!   one 192.0.2.1 ── veth ── 192.0.2.2 two
//!        sends                  listens
//! ```

use crate::guestright_lab;
use guestright_netns::{LinkOptions, World};
use guestright_testbed::{Program, inside};
use rustix::process::Signal;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Output;

struct Ends {
    world: World,
    folder: tempfile::TempDir,
}

impl Ends {
    fn build() -> Self {
        let mut world = World::new("lab-").unwrap();
        for host in ["one", "two"] {
            world.add_host(host).unwrap();
        }
        world.link(("one", "eth0"), ("two", "eth0"), &LinkOptions::default()).unwrap();
        world.address("one", "eth0", "192.0.2.1/24").unwrap();
        world.address("two", "eth0", "192.0.2.2/24").unwrap();
        Self { world, folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn listen(&self, arguments: &[&str]) -> Program {
        let mut command = self.world.command("two", crate::PROGRAM).unwrap();
        command.args(["traffic", "listen", "--runs", "1", "--csv"]).arg(self.path("two.csv")).args(arguments);
        let program = Program::start(&mut command, &self.path("two.log"));
        program.hear_line("to listen", |line| line.starts_with("listening at [::]:7276"));
        program
    }

    fn send(&self, arguments: &[&str]) -> Output {
        let mut command = self.world.command("one", crate::PROGRAM).unwrap();
        command.args(["traffic", "send", "192.0.2.2", "--json", "--csv"]).arg(self.path("one.csv"));
        command.args(arguments).output().unwrap()
    }

    /// Drops voice of G.729 (12 octets of RTP, 20 of payload, 8 of UDP) on its way in at `host`.
    fn drop_voice(&self, host: &str, which: &str) {
        let rule = format!("udp length 40 {which} counter drop");
        for arguments in [
            &["add", "table", "inet", "lossy"][..],
            &["add chain inet lossy in { type filter hook input priority 0; }"],
            &["add", "rule", "inet", "lossy", "in", &rule],
        ] {
            self.world.run(host, "nft", arguments).unwrap();
        }
    }

    /// How many packets the rule has dropped.
    fn dropped(&self, host: &str) -> u64 {
        let text = self.world.run(host, "nft", &["list", "table", "inet", "lossy"]).unwrap();
        let after = text.split("counter packets ").nth(1).expect("the rule counts");
        after.split_whitespace().next().unwrap().parse().unwrap()
    }
}

fn outcome(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {stderr}", output.status);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["dropped_here"], 0, "{value}");
    value["outcome"].clone()
}

fn calls(direction: &Value) -> &[Value] {
    direction["calls"].as_array().unwrap()
}

fn total(direction: &Value, what: &str) -> u64 {
    calls(direction).iter().map(|call| call["figures"][what].as_u64().unwrap()).sum()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Paper A's formula over what was measured, written down once more.
fn agrees_with_the_formula(call: &Value) {
    let (network, dejitter) = (number(&call["network_loss"]), number(&call["dejitter_loss"]));
    let loss = network + (1.0 - network) * dejitter;
    for (delay, r) in [("low", "high"), ("high", "low")] {
        let d = number(&call["delay_ms"][delay]).max(0.0);
        let knee = 0.11 * (d - 92.3).max(0.0);
        let want =
            (94.2 - 0.024 * (d + 85.0) - knee - 11.0 - 40.0 * (1.0 + 10.0 * loss).ln()).clamp(0.0, 100.0);
        let got = number(&call["judgement"]["paper_a"]["r"][r]);
        assert!((got - want).abs() < 0.001, "{got} {want}: {call}");
        let mos = 1.0 + 0.035 * want + 7e-6 * want * (want - 60.0) * (100.0 - want);
        let got = number(&call["judgement"]["paper_a"]["mos"][r]);
        assert!((got - mos.max(1.0)).abs() < 0.001, "{got} {mos}: {call}");
    }
}

/// Over a wire nothing is lost, in either direction; what the ends print agrees.
#[test]
fn a_wire_loses_nothing() {
    if !inside("traffic::a_wire_loses_nothing") {
        return;
    }
    let ends = Ends::build();
    let mut listener = ends.listen(&[]);
    let outcome = outcome(&ends.send(&["--calls", "5", "--duration", "4"]));
    assert_eq!(outcome["ended"], "as-planned");
    for direction in [&outcome["received"], &outcome["sent"]] {
        assert_eq!(calls(direction).len(), 5);
        assert_eq!((total(direction, "expected"), total(direction, "lost")), (1_000, 0), "{direction}");
        for call in calls(direction) {
            let delay = &call["delay_ms"];
            assert!(number(&delay["low"]) < number(&delay["high"]), "{delay}");
            assert!(number(&delay["high"]) - number(&delay["low"]) < 100.0, "{delay}");
            agrees_with_the_formula(call);
        }
    }
    assert!(outcome["received"]["clock"]["exchanges"].as_u64().unwrap() > 10);
    assert_eq!(outcome["pacing"]["sent"], 1_000);
    // Each end tells of each second of each call, and ends by itself.
    listener.hear_line("to tell of a second", |line| line.contains("loss 0.00 %") && line.contains("MOS"));
    listener.hear_line("to sum up", |line| line.contains("worst"));
    assert!(listener.wait().success(), "{}", listener.log());
    for file in ["one.csv", "two.csv"] {
        let text = std::fs::read_to_string(ends.path(file)).unwrap();
        let header = text.lines().next().unwrap();
        assert!(header.starts_with("run,call,second,expected,lost"), "{header}");
        let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
        assert!((20..=25).contains(&rows.len()), "{file}: {}", rows.len());
        assert!(rows.iter().all(|row| row.len() == header.split(',').count()));
        assert_eq!(rows.iter().map(|row| row[3].parse::<u32>().unwrap()).sum::<u32>(), 1_000, "{file}");
    }
}

/// Each tenth packet in one direction: counted as the kernel counts it, and rated as the formulas say.
#[test]
fn artificial_loss_is_measured_as_it_is() {
    if !inside("traffic::artificial_loss_is_measured_as_it_is") {
        return;
    }
    let ends = Ends::build();
    ends.drop_voice("two", "numgen inc mod 10 3");
    let mut listener = ends.listen(&["--clock", "shared"]);
    let outcome =
        outcome(&ends.send(&["--calls", "3", "--duration", "5", "--phases", "even", "--clock", "shared"]));
    let (sent, received) = (&outcome["sent"], &outcome["received"]);
    assert_eq!((total(sent, "expected"), total(sent, "lost")), (750, 75), "{sent}");
    assert_eq!(ends.dropped("two"), 75);
    assert_eq!(total(received, "lost"), 0, "{received}");
    for call in calls(sent) {
        assert_eq!(call["network_loss"], 0.1);
        agrees_with_the_formula(call);
        // With no more delay than a wire's: R 53.4 and 2.76 by the paper, 50.9 and 2.63 by G.107 (Ie,eff 39.97).
        if call["dejitter_loss"] == 0.0 && number(&call["delay_ms"]["high"]) < 3.0 {
            let judged = &call["judgement"];
            assert!((number(&judged["paper_a"]["mos"]["low"]) - 2.76).abs() < 0.02, "{judged}");
            assert!((number(&judged["conversation"]["mos"]["low"]) - 2.63).abs() < 0.03, "{judged}");
            assert!((number(&judged["conversation"]["worst"]["ie_eff"]) - 39.97).abs() < 0.02, "{judged}");
        }
    }
    assert!(listener.wait().success(), "{}", listener.log());
}

/// Loss by chance: what is measured is what the kernel dropped, packet for packet.
#[test]
fn random_loss_is_counted_packet_for_packet() {
    if !inside("traffic::random_loss_is_counted_packet_for_packet") {
        return;
    }
    let ends = Ends::build();
    ends.drop_voice("one", "numgen random mod 100 < 20");
    let mut listener = ends.listen(&["--quiet"]);
    let outcome = outcome(&ends.send(&["--calls", "10", "--duration", "3"]));
    let lost = total(&outcome["received"], "lost");
    assert_eq!((lost, total(&outcome["received"], "expected")), (ends.dropped("one"), 1_500));
    assert!((200..400).contains(&lost), "a fifth of 1500 is some 300, not {lost}");
    assert_eq!(total(&outcome["sent"], "lost"), 0);
    calls(&outcome["received"]).iter().for_each(agrees_with_the_formula);
    assert!(listener.wait().success(), "{}", listener.log());
}

/// A signal ends both ends, with what was measured. It is not what the sender was asked for, and all of what the listener was.
#[test]
fn a_signal_ends_a_run_with_its_figures() {
    if !inside("traffic::a_signal_ends_a_run_with_its_figures") {
        return;
    }
    let ends = Ends::build();
    let mut listener = ends.listen(&[]);
    let mut command = ends.world.command("one", crate::PROGRAM).unwrap();
    command.args(["traffic", "send", "192.0.2.2", "--calls", "2"]);
    let mut sender = Program::start(&mut command, &ends.path("one.log"));
    sender.hear_line("to tell of a second", |line| line.starts_with("    0 s  loss 0.00 %"));
    sender.signal(Signal::TERM);
    sender.hear_line("to say so", |line| line == "stopped before its time");
    sender.hear_line("to sum up", |line| line.starts_with("what arrived at the other end"));
    assert_eq!(sender.wait().code(), Some(130), "{}", sender.log());
    listener.hear_line("to say so", |line| line == "the other end stopped before its time");
    assert!(listener.wait().success(), "{}", listener.log());
}

/// What cannot be is said, with what to do about it, and with an exit code of its kind.
#[test]
fn refusals_say_what_to_do() {
    if !inside("traffic::refusals_say_what_to_do") {
        return;
    }
    let ends = Ends::build();
    let fails = |arguments: &[&str], code: i32, words: &[&str]| {
        let output = ends.send(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(words.iter().all(|word| stderr.contains(word)), "{stderr}");
        assert!(output.stdout.is_empty(), "no figures are made up: {output:?}");
    };
    fails(&[], 69, &["nobody answers at UDP 192.0.2.2:7276", "lab traffic listen"]);
    let mut listener = ends.listen(&["--calls-max", "2", "--duration-max", "10"]);
    fails(&["--calls", "3"], 1, &["so many calls", "--calls-max"]);
    fails(&["--duration", "11"], 1, &["so long a run", "--duration-max"]);
    fails(&["--duration", "0"], 1, &["expected 0.02 to 86400"]);
    listener.signal(Signal::INT);
    assert!(listener.wait().success(), "{}", listener.log());
    let mut strict = ends.listen(&["--from", "192.0.2.9"]);
    fails(&[], 1, &["from this address", "--from"]);
    strict.signal(Signal::TERM);
    assert!(strict.wait().success());
}

#[test]
fn clocks_that_are_stated_need_an_error() {
    let run = |arguments: &[&str]| {
        let mut command = guestright_lab();
        command.args(["traffic", "send", "192.0.2.2"]).args(arguments);
        String::from_utf8_lossy(&command.output().unwrap().stderr).into_owned()
    };
    assert!(run(&["--clock", "stated"]).contains("--clock-error-ms"));
    assert!(run(&["--clock", "shared", "--clock-error-ms", "3"]).contains("--clock stated"));
    let below = run(&["--clock", "stated", "--clock-error-ms", "-3"]);
    assert!(below.contains("--clock-error-ms cannot be -0.003"), "{below}");
}
