//! Two people talk: `guestright call` with itself, with a stock softphone, and with those who mean no good.

mod peer;
pub(crate) mod reference;
pub(crate) mod wav;

use crate::town::Program;
use crate::town::baresip::{TONE_HZ, share_of_tone};
use crate::town::{guestright, inside, succeeded, until};
use guestright_netns::{LinkOptions, World};
use peer::{PHONE, Stranger, phone};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use wav::{read, share_alike, speech, write};

/// So long a telephone holds what arrives, where the sound is judged: longer than a crowded computer is late. The captures'
/// buffer is half full then.
const HOLD_MS: &str = "400";
const BUFFER_MS: &str = "800";

/// A directory with a team of two members, and a third who is of no team.
pub(crate) struct Household {
    directory: tempfile::TempDir,
    /// Hosts `member` and `phone`, where there has to be a network.
    world: Option<World>,
}

impl Household {
    pub(crate) fn new() -> Self {
        let this = Self { directory: tempfile::tempdir().unwrap(), world: None };
        std::fs::write(this.path("passphrase"), "a passphrase\n").unwrap();
        let passphrase = ["--passphrase-file", this.text("passphrase")].map(str::to_owned);
        for team in ["house", "other"] {
            let dir = this.text(team).to_owned();
            this.run(
                ["team", "init", "--dir", &dir].into_iter().chain(passphrase.iter().map(String::as_str)),
            );
        }
        for (team, member) in [("house", "alice"), ("house", "bob"), ("other", "mallory")] {
            let dir = this.text(team).to_owned();
            let add = ["team", "member", "add", member, "--dir", &dir];
            this.run(add.into_iter().chain(passphrase.iter().map(String::as_str)));
        }
        write(&this.path("speech.wav"), &speech());
        this
    }

    /// The same, with a network between `member` and `phone`.
    fn with_a_network() -> Self {
        let mut world = World::new("gr-").unwrap();
        world.add_host("member").unwrap();
        world.add_host("phone").unwrap();
        world.link(("member", "eth0"), ("phone", "eth0"), &LinkOptions::default()).unwrap();
        world.address("member", "eth0", "10.71.0.1/24").unwrap();
        world.address("phone", "eth0", "10.71.0.2/24").unwrap();
        Self { world: Some(world), ..Self::new() }
    }

    /// The program, and its own address.
    fn program(&self) -> (Command, &'static str) {
        match &self.world {
            Some(world) => (world.command("member", env!("CARGO_BIN_EXE_guestright")).unwrap(), "10.71.0.1"),
            None => (guestright(), "127.0.0.1"),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> &'static str {
        Box::leak(self.path(name).into_os_string().into_string().unwrap().into_boxed_str())
    }

    fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> String {
        succeeded(&guestright().args(arguments).output().unwrap())
    }

    pub(crate) fn key(&self, member: &str) -> [String; 4] {
        let team = if member == "mallory" { "other" } else { "house" };
        let file = |end: &str| self.text(&format!("{team}/{member}.{end}")).to_owned();
        ["--key".to_owned(), file("key"), "--certificate".to_owned(), file("cert")]
    }

    /// `call listen` of a member, and the address where it listens.
    fn listen(&self, member: &str, more: &[&str]) -> (Program, String) {
        let (mut command, own) = self.program();
        command.args(["call", "listen", "--direct", "--address", own, "--answer", "auto", "--json"]);
        command
            .args(["--no-sound", "--calls", "1", "--contacts", self.text("contacts")])
            .args(self.key(member));
        std::fs::File::options().create(true).append(true).open(self.path("contacts")).unwrap();
        let program = Program::start(command.args(more), &self.path(&format!("{member}.log")));
        let listening = program.hear("to listen", |line| line["event"] == "listening");
        let address = listening["address"].as_str().unwrap().to_owned();
        (program, address)
    }

    /// `call` of a member.
    fn call(&self, member: &str, to: &str, more: &[&str]) -> Program {
        let (mut command, own) = self.program();
        command.args(["call", to, "--direct", "--address", own, "--json", "--no-sound"]);
        std::fs::File::options().create(true).append(true).open(self.path("contacts")).unwrap();
        command.args(["--contacts", self.text("contacts")]).args(self.key(member)).args(more);
        Program::start(&mut command, &self.path(&format!("{member}.log")))
    }

    pub(crate) fn contact(&self, member: &str, name: &str) {
        let [_, _, _, certificate] = self.key(member);
        let card = self.run(["call", "card", "--certificate", &certificate, "--home", "192.0.2.9"]);
        let card = card.lines().next().unwrap();
        let contacts = self.text("contacts");
        self.run(["call", "contact", "add", card, "--name", name, "--contacts", contacts]);
    }
}

fn summary(program: &Program) -> Value {
    program.hear("to sum up", |line| line["event"] == "summary")
}

/// Whether keys and counters went on: only what was on its way when somebody was put on hold may be refused.
pub(crate) fn few_refused(report: &Value) -> bool {
    report["refused"].as_u64().unwrap() * 4 < report["heard"]["counts"]["received"].as_u64().unwrap()
}

pub(crate) fn event(program: &Program, event: &str) -> Value {
    program.hear(event, |line| line["event"] == event)
}

fn mos(report: &Value) -> f64 {
    report["heard"]["judgement"]["listening"]["mos"]["low"].as_f64().unwrap_or_else(|| panic!("{report}"))
}

/// The listening score of the stream that comes to a host, as `guestright mos` finds it in a capture.
fn mos_of_capture(house: &Household, file: &str, to: &str, buffer_ms: &str) -> f64 {
    let judged =
        house.run(["mos", house.text(file), "--codec", "g711u-plc", "--buffer-ms", buffer_ms, "--json"]);
    let judged: Value = serde_json::from_str(&judged).unwrap();
    let streams = judged["files"][0]["streams"].as_array().unwrap_or_else(|| panic!("{judged}"));
    assert_eq!(streams.len(), 2, "one each way: {judged}");
    let mine = streams.iter().find(|stream| stream["to"].as_str().unwrap() == to);
    let part = &mine.unwrap_or_else(|| panic!("{to} in {judged}"))["parts"][0];
    part["listening"]["mos"]["low"].as_f64().unwrap_or_else(|| panic!("{part}"))
}

#[test]
fn two_members_hear_each_other_from_end_to_end() {
    let house = Household::new();
    house.contact("bob", "Bobby");
    let (mut bob, at) = house.listen("bob", &["--record", house.text("heard.wav"), "--hold-ms", HOLD_MS]);
    let files = ["--play", house.text("speech.wav"), "--seconds", "11", "--csv", house.text("alice.csv")];
    let capture = ["--pcapng", house.text("alice.pcapng"), "--clock-error-ms", "2", "--hold-ms", HOLD_MS];
    let mut alice = house.call("alice", &format!("sip:bobby@{at}"), &[&files[..], &capture].concat());
    let (here, there) = (event(&alice, "protected"), event(&bob, "protected"));
    assert_eq!(here["words"], there["words"], "or nobody could compare them");
    assert_eq!(here["words"].as_array().unwrap().len(), 4);
    assert_eq!(here["contact"], "Bobby");
    assert_eq!(there["contact"], Value::Null, "alice is not among bob's contacts");
    assert_eq!(event(&alice, "ended")["reason"], "here");
    assert_eq!(event(&bob, "ended")["reason"], "hung-up");
    let (at_alice, at_bob) = (summary(&alice), summary(&bob));
    assert!(alice.wait().success() && bob.wait().success());
    for (report, other) in [(&at_alice, &at_bob), (&at_bob, &at_alice)] {
        assert_eq!(report["protection"], "end-to-end");
        assert_eq!(report["refused"], 0, "{report}");
        let packets = report["heard"]["counts"]["received"].as_u64().unwrap();
        let sent = other["sent"].as_u64().unwrap();
        println!("{packets} of {sent} packets, MOS {:.2}: {}", mos(report), report["played"]);
        assert!(sent > 400, "11 s are 550 packets: {other}");
        // Who hangs up first no longer hears what is on its way.
        assert!(packets <= sent && packets + 50 > sent, "{packets} of {sent}: {report}");
        assert!(mos(report) > 4.0, "{report}");
    }
    // What was said is what is heard, after G.711 and from wherever the recording begins.
    let (original, recorded) = (read(&house.path("speech.wav")), read(&house.path("heard.wav")));
    let share = wav::share_alike_in_parts(&original, &recorded);
    println!("{share:.2} of it is heard as it was said");
    assert!(share > 0.7, "G.711 changes next to nothing: {share:.2}: {at_bob}");
    let rows = std::fs::read_to_string(house.path("alice.csv")).unwrap();
    let rows: Vec<_> = rows.lines().collect();
    assert!(rows[0].starts_with("start_s,received,expected,lost,"), "{}", rows[0]);
    assert!((10..=20).contains(&(rows.len() - 1)), "a row for each second: {}", rows.len());

    // Both figures come from the same packets.
    let media = at_alice["media_address"].as_str().unwrap();
    let judged = mos_of_capture(&house, "alice.pcapng", media, BUFFER_MS);
    assert!((mos(&at_alice) - judged).abs() < 0.1, "{judged} by the capture: {at_alice}");
    let text = std::fs::read(house.path("alice.pcapng")).unwrap();
    let silence = [0xff; 40];
    assert!(!text.windows(40).any(|window| window == silence), "SRTP hides what is said");
}

#[test]
fn somebody_else_than_the_contact_is_refused() {
    let house = Household::new();
    house.contact("bob", "bob");
    let (mallory, at) = house.listen("mallory", &[]);
    let mut alice = house.call("alice", &format!("sip:bob@{at}"), &[]);
    let ended = event(&alice, "ended");
    assert!(ended["said"].as_str().unwrap().contains("expected"), "{ended}");
    assert!(!alice.wait().success());
    assert!(alice.log().contains("somebody else answers for this contact"), "{}", alice.log());
    assert_eq!(summary(&alice)["sent"], 0, "nothing was said to the wrong one");
    drop(mallory);
}

#[test]
fn a_peer_without_the_agreement_is_refused_in_words() {
    let house = Household::new();
    // Somebody answers a call that is to be protected from end to end with less.
    for (answer, want) in [
        (Stranger::PLAIN, "home to home only"),
        (Stranger::SDES, "keys that went through both homes"),
        (Stranger::SILENT, "no agreement"),
    ] {
        let stranger = Stranger::answer(answer);
        let mut alice = house.call("alice", &format!("sip:x@{}", stranger.address()), &[]);
        if answer == Stranger::SILENT {
            // An agreement is tried for as long as a test is patient.
            std::thread::sleep(std::time::Duration::from_secs(8));
        }
        let ended = event(&alice, "ended");
        assert!(ended["said"].as_str().unwrap().contains(want), "{want}: {ended}");
        assert!(!alice.wait().success());
        assert_eq!(stranger.voice(), 0, "not a packet of voice went out");
    }
}

#[test]
fn protection_that_is_taken_away_in_the_middle_ends_the_call() {
    let house = Household::new();
    let stranger = Stranger::answer(Stranger::HOME_THEN_SDES);
    let mut alice = house.call("alice", &format!("sip:x@{}", stranger.address()), &["--protection", "home"]);
    let ended = event(&alice, "ended");
    assert!(ended["said"].as_str().unwrap().contains("in the middle of the call"), "{ended}");
    assert!(!alice.wait().success());
}

#[test]
fn a_listener_takes_nothing_below_what_it_was_told() {
    let house = Household::new();
    let (_bob, at) = house.listen("bob", &[]);
    let mut alice = house.call("alice", &format!("sip:bob@{at}"), &["--protection", "home"]);
    let ended = event(&alice, "ended");
    assert_eq!(ended["reason"], "refused", "{ended}");
    assert!(ended["said"].as_str().unwrap().contains("488"), "{ended}");
    assert!(!alice.wait().success());
    assert!(alice.log().contains("\"hint\""), "{}", alice.log());
}

#[test]
fn nobody_there_and_nobody_known_are_said_with_a_hint() {
    let house = Household::new();
    // Somebody who is silent, and a port that nobody listens on: 9 is for discarding.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    for nobody in [silent.local_addr().unwrap(), "127.0.0.1:9".parse().unwrap()] {
        let mut alice = house.call("alice", &format!("sip:bob@{nobody}"), &["--ring-seconds", "1"]);
        assert_eq!(event(&alice, "ended")["reason"], "no-answer");
        assert!(!alice.wait().success());
    }
    let mut alice = house.call("alice", "nobody", &[]);
    assert!(!alice.wait().success());
    assert!(alice.log().contains("dial sip:name@address:port"), "{}", alice.log());
}

#[test]
fn ctrl_c_hangs_up() {
    let house = Household::new();
    let (mut bob, at) = house.listen("bob", &["--protection", "home", "--accept", "home"]);
    let mut alice = house.call("alice", &format!("sip:bob@{at}"), &["--protection", "home"]);
    event(&bob, "connected");
    event(&alice, "connected");
    alice.signal(Signal::INT);
    assert_eq!(event(&bob, "ended")["reason"], "hung-up");
    assert!(alice.wait().success() && bob.wait().success());
}

/// A minute in which nobody says anything, and next to nothing is sent: the call is still there, and so is the voice
/// afterwards.
#[test]
fn a_minute_of_silence_survives() {
    let house = Household::new();
    let mut samples = vec![0; 8_000 * 60];
    samples.extend(speech());
    write(&house.path("late.wav"), &samples);
    let (mut bob, at) =
        house.listen("bob", &["--record", house.text("heard.wav"), "--dtx", "--hold-ms", HOLD_MS]);
    let arguments = ["--play", house.text("late.wav"), "--dtx", "--seconds", "71"];
    let mut alice = house.call("alice", &format!("sip:bob@{at}"), &arguments);
    event(&alice, "protected");
    // As long as a test is patient.
    std::thread::sleep(std::time::Duration::from_secs(60));
    let summary = summary(&bob);
    assert!(alice.wait().success() && bob.wait().success());
    let packets = summary["heard"]["counts"]["received"].as_u64().unwrap();
    assert!(
        (300..=700).contains(&packets),
        "a minute of packets is missing, for that is what was wanted: {summary}"
    );
    let (original, recorded) = (speech(), read(&house.path("heard.wav")));
    let words = &original[8_000 * 3..8_000 * 5];
    let late = &recorded[recorded.len().saturating_sub(8_000 * 13)..];
    let share = share_alike(words, late, wav::offset_of(words, late));
    println!("{share:.2} of the speech after the silence is as it was said");
    assert!(share > 0.5, "{share:.2}: {summary}");
}

#[test]
fn hold_and_another_codec_go_over_one_call() {
    let house = Household::new();
    let (mut bob, at) = house.listen("bob", &["--codec", "pcmu,g722"]);
    let mut command = guestright();
    command.args([
        "call",
        &format!("sip:bob@{at}"),
        "--direct",
        "--address",
        "127.0.0.1",
        "--json",
        "--no-sound",
    ]);
    command.args(house.key("alice")).args(["--play", house.text("speech.wav"), "--loop", "--control"]);
    command.args(["--codec", "pcmu,g722", "--contacts", house.text("contacts")]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    event(&bob, "protected");
    for (line, held) in [("hold", true), ("resume", false)] {
        writeln!(stdin, "{line}").unwrap();
        assert_eq!(event(&bob, "hold")["held"], held);
    }
    writeln!(stdin, "codec g722").unwrap();
    writeln!(stdin, "hold").unwrap();
    assert_eq!(event(&bob, "hold")["held"], true);
    writeln!(stdin, "quit").unwrap();
    let report = summary(&bob);
    assert_eq!(report["codec"], "g722", "{report}");
    assert_eq!(report["refused"], 0, "keys and counters went on: {report}");
    assert!(bob.wait().success() && child.wait().unwrap().success());
}

/// How many packets came in each second that is over, by a call's rows: it may not have written any yet.
fn received_by_second(csv: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(csv).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().skip(1).map(|row| row.split(',').nth(1).unwrap().parse().unwrap()).collect()
}

#[test]
fn a_codec_that_was_offered_may_come_before_the_answer() {
    let house = Household::new();
    let stranger = Stranger::answer(Stranger::VOICE_FIRST);
    let arguments = ["--protection", "home", "--codec", "pcmu,g722", "--control", "--hold-ms", HOLD_MS];
    let arguments = [&arguments[..], &["--csv", house.text("alice.csv")]].concat();
    let (mut command, own) = house.program();
    command.args(["call", &format!("sip:x@{}", stranger.address()), "--direct", "--address", own]);
    command.args(["--json", "--no-sound"]).args(arguments).args(house.key("alice"));
    let mut alice = Program::start_typing(&mut command, &house.path("alice.log"));
    event(&alice, "connected");
    alice.type_line("codec g722");
    until("the voice to have changed", || stranger.other_voice() > 0);
    // What has come is held for less than a second, and then played.
    let rows = || received_by_second(&house.path("alice.csv"));
    until("the voice to have come", || rows().iter().sum::<u64>() >= peer::EARLY.into());
    let seconds = rows().len();
    until("another second to be over", || rows().len() > seconds);
    alice.type_line("quit");
    let report = summary(&alice);
    assert!(alice.wait().success());
    assert_eq!((&report["codec"], &report["refused"]), (&json!("g722"), &json!(0)), "{report}");
    assert_eq!(report["heard"]["counts"]["received"], peer::EARLY, "{report}");
    // Who hangs up does not hear what is held.
    let played = report["played"]["packets"].as_u64().unwrap();
    assert!(played > u64::from(peer::EARLY) / 2, "{played} of {}: {report}", peer::EARLY);
}

#[test]
fn a_stock_softphone_calls_and_is_called() {
    if !inside("call::a_stock_softphone_calls_and_is_called") {
        return;
    }
    let house = Household::with_a_network();
    for (protection, encryption) in [("home", ""), ("sdes", ";mediaenc=srtp-mand")] {
        let phone =
            phone(house.world.as_ref().unwrap(), &house.path(&format!("phone-{protection}")), encryption);
        let record = house.text("heard.wav");
        let arguments =
            ["--protection", protection, "--play", house.text("speech.wav"), "--loop", "--control"];
        let mut alice = house.call(
            "alice",
            &format!("sip:phone@{PHONE}"),
            &[&arguments[..], &["--record", record, "--hold-ms", HOLD_MS]].concat(),
        );
        event(&alice, "connected");
        phone.event("CALL_ESTABLISHED");
        // The softphone puts us on hold, and takes us back: re-INVITEs from there.
        phone.command("hold", "");
        assert_eq!(event(&alice, "hold")["held"], true);
        phone.command("resume", "");
        assert_eq!(event(&alice, "hold")["held"], false);
        std::thread::sleep(std::time::Duration::from_secs(2));
        phone.command("hangup", "");
        assert_eq!(event(&alice, "ended")["reason"], "hung-up");
        let report = summary(&alice);
        assert!(alice.wait().success());
        assert_eq!(report["protection"], protection);
        // What was on its way when we were put on hold comes too late to be heard.
        assert!(few_refused(&report), "{report}");
        assert!(mos(&report) > 4.0, "{report}");
        let share = share_of_tone(&read(Path::new(record)), TONE_HZ);
        assert!(share > 0.3, "the softphone's tone is heard: {share:.2}");

        let accept = ["--accept", protection, "--protection", protection, "--record", record];
        let accept = [&accept[..], &["--hold-ms", HOLD_MS]].concat();
        let (mut bob, at) = house.listen("bob", &accept);
        phone.command("dial", &format!("sip:bob@{at}"));
        event(&bob, "connected");
        phone.event("CALL_ESTABLISHED");
        std::thread::sleep(std::time::Duration::from_secs(2));
        phone.command("hangup", "");
        let report = summary(&bob);
        assert!(bob.wait().success());
        assert!(mos(&report) > 4.0, "{report}");
        let share = share_of_tone(&read(Path::new(record)), TONE_HZ);
        assert!(share > 0.3, "{share:.2}");
    }
}

#[test]
fn the_telephone_and_its_capture_agree_when_packets_are_lost() {
    if !inside("call::the_telephone_and_its_capture_agree_when_packets_are_lost") {
        return;
    }
    let house = Household::with_a_network();
    let world = house.world.as_ref().unwrap();
    let lossy = "add table ip loss; add chain ip loss in { type filter hook input priority 0; }; \
                 add rule ip loss in udp sport 10000-10100 numgen random mod 100 < 8 drop";
    world.run("member", "nft", &[lossy]).unwrap();
    let phone = phone(world, &house.path("phone"), "");
    let arguments = ["--protection", "home", "--seconds", "8", "--pcapng", house.text("alice.pcapng")];
    let arguments = [&arguments[..], &["--hold-ms", HOLD_MS]].concat();
    let mut alice = house.call("alice", &format!("sip:phone@{PHONE}"), &arguments);
    let report = summary(&alice);
    assert!(alice.wait().success());
    drop(phone);
    assert!(report["heard"]["network"]["lost"].as_u64().unwrap() > 5, "{report}");
    let judged = mos_of_capture(&house, "alice.pcapng", report["media_address"].as_str().unwrap(), BUFFER_MS);
    println!("MOS {} by the telephone, {judged} by its capture", mos(&report));
    assert!(mos(&report) < 4.3 && (mos(&report) - judged).abs() < 0.1, "{judged} by the capture: {report}");
}

#[test]
fn the_numbers_of_packets_wrap_under_one_key() {
    let house = Household::new();
    let stranger = Stranger::answer(Stranger::WRAPS);
    let arguments = ["--protection", "sdes", "--seconds", "8"];
    let mut alice = house.call("alice", &format!("sip:x@{}", stranger.address()), &arguments);
    let report = summary(&alice);
    assert!(alice.wait().success());
    assert_eq!(report["refused"], 0, "{report}");
    assert_eq!(report["heard"]["network"]["lost"], 0, "{report}");
    assert!(report["heard"]["counts"]["received"].as_u64().unwrap() > 100, "{report}");
}

#[test]
fn cards_and_contacts_go_around() {
    let house = Household::new();
    house.contact("bob", "Bobby");
    let contacts = house.text("contacts");
    let list = house.run(["call", "contact", "list", "--json", "--contacts", contacts]);
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list[0]["name"], "Bobby");
    assert_eq!(list[0]["homes"], json!(["192.0.2.9:7275"]));
    let [_, _, _, certificate] = house.key("bob");
    let shown = house.run(["call", "card", "--certificate", &certificate, "--qr"]);
    assert!(shown.starts_with("guestright:contact?name=bob&id="), "{shown}");
    assert!(shown.lines().count() > 20, "a QR code: {shown}");
    let again = guestright()
        .args([
            "call",
            "contact",
            "add",
            shown.lines().next().unwrap(),
            "--name",
            "bobby",
            "--contacts",
            contacts,
        ])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&again.stderr).contains("already"), "names differ in capitals only");
    house.run(["call", "contact", "remove", "BOBBY", "--contacts", contacts]);
    assert_eq!(house.run(["call", "contact", "list", "--contacts", contacts]), "");
    until("the list to be its owner's", || {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(contacts).unwrap().permissions().mode() & 0o777 == 0o600
    });
}
