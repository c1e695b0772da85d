//! `guestright call` through both homes: with itself, and with a stock softphone.

use super::exchange::{BETWEEN_HOMES, BOB_HOME, Exchange, HOME, Trace};
use super::softphone::Baresip;
use super::{call, percentile};
use crate::call::wav;
use crate::town::Program;
use crate::town::baresip::{TONE_HZ, share_of_tone};
use crate::town::{Town, inside, succeeded, until};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A member's own telephone: a running `guestright call`.
pub(crate) struct Telephone {
    pub(crate) program: Program,
    /// What is typed at it.
    keys: File,
}

/// Who is where: member, host, and team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Alice,
    Bob,
    /// A visitor of the town, whose home is elsewhere, and somebody at a third home.
    Walker,
    Friend,
    /// Members of the town's household, at its own access point.
    Anna,
    Ben,
    Cara,
}

impl Who {
    const fn names(self) -> [&'static str; 3] {
        match self {
            Self::Alice => ["alice", "w1", "house"],
            Self::Bob => ["bob", "w2", "other"],
            Self::Walker => ["walker", "member", "guests"],
            Self::Friend => ["friend", "w2", "friends"],
            Self::Anna => ["anna", "member", "house"],
            Self::Ben => ["ben", "resident", "house"],
            Self::Cara => ["cara", "hostile", "house"],
        }
    }
}

impl Telephone {
    /// Calls whom the caller's home, or the caller's contacts, know by this name.
    pub(crate) fn call(town: &Town, who: Who, whom: &str, more: &[&str]) -> Self {
        Self::start(town, who, &[&["call", whom, "--control"], more].concat())
    }

    /// Takes every call, and waits until its home knows that.
    pub(crate) fn listen(town: &Town, who: Who, more: &[&str]) -> Self {
        let this =
            Self::start(town, who, &[&["call", "listen", "--answer", "auto", "--control"], more].concat());
        assert_eq!(this.event("registered")["up"], true);
        this
    }

    fn start(town: &Town, who: Who, arguments: &[&str]) -> Self {
        let [member, host, team] = who.names();
        let path = |name: &str| town.path(name);
        // A member may have two telephones, and each has keys of its own.
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let (keys, contacts) =
            (path(&format!("{member}-typed-{number}")), path(&format!("{member}-contacts")));
        File::options().create(true).append(true).open(&contacts).unwrap();
        assert!(Command::new("mkfifo").arg(&keys).status().unwrap().success());
        // A pipe that is open in both directions never ends.
        let typed = File::options().read(true).write(true).open(&keys).unwrap();
        let mut command = town.world.command(host, "sh").unwrap();
        command.args(["-c", "keys=$1; shift; exec \"$@\" < \"$keys\"", "sh"]).arg(keys);
        command.arg(env!("CARGO_BIN_EXE_guestright")).args(arguments);
        command.args(["--json", "--no-sound", "--contacts"]).arg(contacts);
        command.arg("--key").arg(path(&format!("{team}/{member}.key")));
        command.arg("--certificate").arg(path(&format!("{team}/{member}.cert")));
        let program = Program::start(&mut command, &path(&format!("{member}-call.log")));
        Self { program, keys: typed }
    }

    pub(crate) fn event(&self, event: &str) -> Value {
        self.program.hear(event, |line| line["event"] == event)
    }

    pub(crate) fn summary(&self) -> Value {
        self.event("summary")
    }

    /// Types a command.
    pub(crate) fn command(&mut self, command: &str) {
        writeln!(self.keys, "{command}").unwrap();
    }

    /// Waits for its end, which has to be a good one.
    pub(crate) fn end(mut self) {
        let status = self.program.wait();
        assert!(status.success(), "{}", self.program.log());
    }
}

/// So long a telephone holds what arrives: longer than a crowded computer is late. The captures' buffer is half full then.
pub(super) const HOLD_MS: &str = "1000";
const BUFFER_MS: &str = "2000";

/// A file of the test, as an argument.
pub(crate) fn file(town: &Town, name: &str) -> String {
    town.path(name).into_os_string().into_string().unwrap()
}

/// Both homes' telephones.
fn telephones(exchange: &Exchange) -> [Value; 2] {
    [HOME, BOB_HOME].map(|settings| exchange.status(settings)["voice"]["telephones"].clone())
}

pub(crate) fn until_over(exchange: &Exchange) {
    until("the call to be over", || exchange.calls(HOME) == 0 && exchange.calls(BOB_HOME) == 0);
}

/// A contact of alice's own: bob, with his key.
fn bobby(exchange: &Exchange) {
    let run = |arguments: &[&str]| succeeded(&exchange.town.run(arguments));
    let card = run(&["call", "card", "--certificate", "other/bob.cert", "--home", "198.18.40.2:7275"]);
    let card = card.lines().next().unwrap();
    run(&["call", "contact", "add", card, "--name", "Bobby", "--contacts", "alice-contacts"]);
}

/// Scores for listening and for conversation, the latter as an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scores {
    pub(crate) listening: f64,
    low: f64,
    high: f64,
}

impl Scores {
    fn of(judgement: &Value) -> Self {
        let number = |path: &str| {
            judgement.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} in {judgement}"))
        };
        Self {
            listening: number("/listening/mos/low"),
            low: number("/conversation/mos/low"),
            high: number("/conversation/mos/high"),
        }
    }

    /// By the telephone itself.
    pub(crate) fn reported(summary: &Value) -> Self {
        Self::of(&summary["heard"]["judgement"])
    }

    /// By the captures of both ends, of what came at the first.
    fn judged(exchange: &Exchange, here: &str, there: &str) -> Self {
        let arguments = ["mos", here, "--other-end", there, "--clock-error-ms", "2"];
        let more = ["--codec", "g711u-plc", "--buffer-ms", BUFFER_MS, "--json"];
        let judged: Value =
            serde_json::from_str(&succeeded(&exchange.town.run(&[&arguments[..], &more].concat()))).unwrap();
        let streams = judged["files"][0]["streams"].as_array().unwrap_or_else(|| panic!("{judged}"));
        assert_eq!(streams.len(), 2, "one each way: {judged}");
        // Members have the same address in their tunnels here; what came, came from the home.
        let came = |stream: &&Value| stream["from"].as_str().unwrap().starts_with("10.73.5.1:");
        let stream = streams.iter().find(came).unwrap_or_else(|| panic!("{judged}"));
        Self::of(&stream["parts"][0])
    }

    fn agrees(self, other: Self) -> bool {
        let near = |one: f64, other: f64| (one - other).abs() < 0.1;
        near(self.listening, other.listening) && near(self.low, other.low) && near(self.high, other.high)
    }
}

/// How much of the speech that was played is in a recording as it was said.
fn share_of_speech(recording: &Path) -> f64 {
    let share = wav::share_alike_in_parts(&wav::speech(), &wav::read(recording));
    println!("{share:.2} of it is as it was said");
    share
}

/// Between the homes there are the link and SRTP, and neither voice nor SIP.
fn only_sealed(between: &Trace) {
    assert!(between.count(&format!("{BETWEEN_HOMES} and udp portrange 20000-29999")) > 900);
    assert_eq!(between.neither_link_nor_voice(), "", "nothing else");
    // Long enough not to be there by chance: of three bytes, one call in fifty has them in its ciphertext.
    for word in [&b"INVITE"[..], b"SIP/2.0", b"alice", b"sip:bob"] {
        assert!(!between.has(word), "{} between homes", String::from_utf8_lossy(word));
    }
}

#[test]
fn two_members_hear_each_other_through_both_homes_and_nobody_between_hears_them() {
    if !inside(
        "voice::telephone::two_members_hear_each_other_through_both_homes_and_nobody_between_hears_them",
    ) {
        return;
    }
    let exchange = Exchange::build("");
    let _homes = exchange.open();
    exchange.connect();
    bobby(&exchange);
    wav::write(&exchange.town.path("speech.wav"), &wav::speech());
    let traces = ["v1", "v2"].map(|host| exchange.trace(host, "lan"));
    let between = exchange.trace("net", "to-other");
    let in_tunnel = exchange.trace("router", "gr-home");
    let arguments = |member: &str| {
        let name = |end: &str| file(&exchange.town, &format!("{member}.{end}"));
        let figures = ["--csv".to_owned(), name("csv"), "--pcapng".to_owned(), name("pcapng")];
        let sound =
            ["--play".to_owned(), file(&exchange.town, "speech.wav"), "--record".to_owned(), name("wav")];
        let more = ["--hold-ms", HOLD_MS, "--clock-error-ms", "2"].map(str::to_owned);
        [&figures[..], &sound, &more].concat()
    };
    let [for_alice, for_bob] = ["alice", "bob"].map(arguments);
    let strings =
        |texts: &'_ [String]| texts.iter().map(|text| text.clone().leak() as &str).collect::<Vec<_>>();
    let bob =
        Telephone::listen(&exchange.town, Who::Bob, &[&["--calls", "1"], &strings(&for_bob)[..]].concat());
    until("bob to be known at home", || telephones(&exchange) == [json!({}), json!({ "bob": 1 })]);
    let seconds = [&["--seconds", "11"], &strings(&for_alice)[..]].concat();
    let alice = Telephone::call(&exchange.town, Who::Alice, "bobby", &seconds);
    let (here, there) = (alice.event("protected"), bob.event("protected"));
    assert_eq!(here["words"], there["words"], "or nobody could compare them");
    assert_eq!(here["words"].as_array().unwrap().len(), 4);
    assert_eq!(here["contact"], "Bobby");
    let (at_one, at_two) = (call(&exchange.status(HOME)), call(&exchange.status(BOB_HOME)));
    assert_eq!((&at_one["protection"], &at_two["protection"]), (&json!("end-to-end"), &json!("end-to-end")));
    let (at_alice, at_bob) = (alice.summary(), bob.summary());
    alice.end();
    bob.end();
    until_over(&exchange);
    assert_eq!(telephones(&exchange), [json!({}), json!({})], "who stops listening says so");

    for (report, member, other) in [(&at_alice, "alice", "bob"), (&at_bob, "bob", "alice")] {
        assert_eq!(
            (&report["protection"], &report["refused"]),
            (&json!("end-to-end"), &json!(0)),
            "{report}"
        );
        let reported = Scores::reported(report);
        let judged = Scores::judged(&exchange, &format!("{member}.pcapng"), &format!("{other}.pcapng"));
        println!("{member}: {reported:.2?} as reported, {judged:.2?} by the captures");
        assert_eq!(report["heard"]["network"]["lost"], 0, "{report}");
        // Nobody would converse well with the delay that this holding adds.
        assert!(reported.listening > 4.0, "{reported:?}: {report}");
        assert!(reported.agrees(judged), "{reported:?} {judged:?}: {report}");
        let share = share_of_speech(&exchange.town.path(&format!("{member}.wav")));
        assert!(share > 0.5, "{share:.2}: {report}");
        let rows = std::fs::read_to_string(exchange.town.path(&format!("{member}.csv"))).unwrap();
        assert!((10..=20).contains(&(rows.lines().count() - 1)), "a row for each second: {rows}");
    }
    assert!(in_tunnel.stop().has(b"INVITE"), "SIP is in the clear inside the tunnel, or this proves nothing");
    for trace in traces {
        let trace = trace.stop();
        assert!(trace.count("udp port 51820") > 900);
        assert_eq!(trace.show("ip and not udp port 51820"), "", "only tunnel packets");
    }
    only_sealed(&between.stop());
}

#[test]
fn a_stock_softphone_calls_and_is_called_through_both_homes() {
    if !inside("voice::telephone::a_stock_softphone_calls_and_is_called_through_both_homes") {
        return;
    }
    let exchange = Exchange::build("");
    let _homes = exchange.open();
    exchange.connect();
    wav::write(&exchange.town.path("speech.wav"), &wav::speech());
    let phone = Baresip::start(&exchange, "w2", "bob", "");
    until("the softphone to be known", || telephones(&exchange)[1] == json!({ "bob": 1 }));
    let [speech, record] = ["speech.wav", "alice.wav"].map(|name| file(&exchange.town, name));
    let home =
        ["--protection", "home", "--play", &speech, "--loop", "--record", &record, "--hold-ms", HOLD_MS];

    // From end to end it is not to be had with a softphone, and nothing less is taken instead.
    let mut alice = Telephone::call(&exchange.town, Who::Alice, "bobby", &[]);
    let ended = alice.event("ended");
    assert_eq!(ended["reason"], "refused", "{ended}");
    assert!(!alice.program.wait().success());
    let log = alice.program.log();
    println!("{log}");
    assert!(log.contains("bobby did not take the call as it was offered"), "{log}");
    assert!(log.contains("a stock softphone needs --protection home"), "{log}");
    until_over(&exchange);
    // Nor when the softphone calls.
    let mut alice = Telephone::listen(&exchange.town, Who::Alice, &[]);
    phone.command("dial", "sip:ally@10.73.5.1");
    let refused = alice.event("not_taken");
    assert!(refused["reason"].as_str().unwrap().contains("it was not lowered"), "{refused}");
    phone.event("CALL_CLOSED");
    alice.command("quit");
    alice.end();
    until_over(&exchange);

    let alice = Telephone::call(&exchange.town, Who::Alice, "bobby", &home);
    assert_eq!(alice.event("connected")["protection"], "home");
    phone.event("CALL_ESTABLISHED");
    exchange.until_received(300);
    let status = call(&exchange.status(HOME));
    assert_eq!((&status["protection"], &status["callee"]), (&json!("home-to-home"), &json!("bobby")));
    phone.command("hangup", "");
    check_softphone_call(&exchange, alice, &record);

    let accept = [&home[..], &["--accept", "home", "--calls", "1"]].concat();
    let alice = Telephone::listen(&exchange.town, Who::Alice, &accept);
    phone.command("dial", "sip:ally@10.73.5.1");
    phone.event("CALL_ESTABLISHED");
    assert_eq!(alice.event("connected")["protection"], "home");
    exchange.until_received(300);
    phone.command("hangup", "");
    check_softphone_call(&exchange, alice, &record);
    assert_eq!(telephones(&exchange)[0], json!({}));
}

/// Waits for the end of a call with a softphone, and looks at what was heard.
fn check_softphone_call(exchange: &Exchange, alice: Telephone, record: &str) {
    assert_eq!(alice.event("ended")["reason"], "hung-up");
    let report = alice.summary();
    alice.end();
    until_over(exchange);
    assert_eq!(report["protection"], "home");
    let mos = report["heard"]["judgement"]["listening"]["mos"]["low"].as_f64().unwrap();
    let share = share_of_tone(&wav::read(record.as_ref()), TONE_HZ);
    println!("MOS {mos:.2}, {share:.2} of it is the tone: {}", report["played"]);
    assert!(mos > 4.0, "{report}");
    assert!(share > 0.5, "{share}: {report}");
}

#[test]
fn calls_are_protected_one_after_the_other() {
    if !inside("voice::telephone::calls_are_protected_one_after_the_other") {
        return;
    }
    let exchange = Exchange::build("");
    let _homes = exchange.open();
    exchange.connect();
    let bob = Telephone::listen(&exchange.town, Who::Bob, &[]);
    let mut took = [Vec::new(), Vec::new()];
    for _ in 0..20 {
        let mut alice = Telephone::call(&exchange.town, Who::Alice, "bobby", &[]);
        let microseconds = |event: &str| alice.event(event)["time_us"].as_f64().unwrap();
        let dialled = microseconds("calling");
        for (took, event) in took.iter_mut().zip(["connected", "protected"]) {
            took.push((microseconds(event) - dialled) / 1e6);
        }
        bob.event("protected");
        alice.command("quit");
        alice.end();
        bob.event("summary");
        until_over(&exchange);
    }
    let [answered, protected] = took.map(|mut took| {
        took.sort_by(f64::total_cmp);
        json!({ "p50": percentile(&took, 0.5), "p95": percentile(&took, 0.95), "calls": took.len() })
    });
    println!("{}", json!({ "call_set_up_seconds": { "answered": answered, "protected": protected } }));
}
