//! `guestright call --profile`: tools with a wire format of their own, over a path that loses, delays, repeats and
//! changes the order of packets.

mod ear;
mod middle;
mod path;

use crate::call::reference::{Allowed, Reference};
use crate::call::{Household, event, wav};
use crate::town::Program;
use crate::town::{guestright, inside};
use ear::{likeness, measured, overtaken, predicted_mos, print_pesq, recording};
use guestright_emulator::Side;
use middle::{From, Middle};
use path::{CALLEE, CALLER, Topology, Weather};
use rustix::process::Signal;
use serde_json::Value;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// The least of the tools' buffers, PGPfone's, holds 40 ms, half of which the path's own jitter takes.
const HOLD_BEYOND_PATH: Duration = Duration::from_millis(20);

/// Two people with a path between them.
struct Two {
    house: Household,
    topology: Topology,
}

impl Two {
    fn with(weather: Weather) -> Self {
        let house = Household::new();
        std::fs::write(house.path("phrase"), "correct horse battery staple\n").unwrap();
        std::fs::write(house.path("other-phrase"), "correct horse battery stable\n").unwrap();
        Self { house, topology: Topology::build(weather) }
    }

    fn program(&self, host: &str, log: &str, arguments: &[&str], more: &[&str]) -> Program {
        let mut command = self.topology.world.command(host, env!("CARGO_BIN_EXE_guestright")).unwrap();
        command.arg("call").args(arguments).args(["--json", "--no-sound"]).args(more);
        command.env("HOME", self.house.path("."));
        let program = Program::start(&mut command, &self.house.path(log));
        if more.contains(&"--insecure-for-study") {
            // Before it says that it calls or listens.
            program.hear_line("to begin with a warning", |line| line.contains("\"insecure\""));
            assert!(
                program.log().contains("INSECURE, for study only"),
                "on standard error: {}",
                program.log()
            );
        }
        program
    }

    fn listen(&self, more: &[&str]) -> Program {
        let own = ["listen", "--answer", "auto", "--calls", "1", "--address", CALLEE];
        let program = self.program("callee", "callee.log", &own, more);
        event(&program, "listening");
        program
    }

    fn call(&self, more: &[&str]) -> Program {
        let program = self.program("caller", "caller.log", &[CALLEE, "--address", CALLER], more);
        event(&program, "calling");
        program
    }

    /// `--key` and `--certificate` of a member.
    fn member(&self, name: &str) -> Vec<&'static str> {
        self.house.key(name).into_iter().map(|text| &*Box::leak(text.into_boxed_str())).collect()
    }

    /// Ten seconds of speech from the caller to the callee, and what both have to say of it.
    fn speak(&self, arguments: &[&str], ends: [&[&str]; 2]) -> Spoken {
        let house = &self.house;
        let [at_caller, at_callee] = ends;
        let listening = [arguments, at_callee, &["--record", house.text("heard.wav")]].concat();
        let mut callee = self.listen(&listening);
        let calling =
            [arguments, at_caller, &["--play", house.text("speech.wav"), "--seconds", "13"]].concat();
        let reference = Reference::with_hold(HOLD_BEYOND_PATH);
        let mut caller = self.call(&calling);
        let connected = [event(&caller, "connected"), event(&callee, "connected")];
        let ended = [event(&caller, "ended"), event(&callee, "ended")];
        let summaries = [summary(&caller), summary(&callee)];
        let allowed = reference.judge();
        assert!(caller.wait().success(), "{}", caller.log());
        assert!(callee.wait().success(), "{}", callee.log());
        assert_eq!(ended[0]["reason"], "here", "{ended:?}");
        let [caller, callee] = summaries;
        Spoken { connected, caller, callee, recorded: recording(&house.path("heard.wav")), allowed }
    }
}

/// A call that is over.
struct Spoken {
    connected: [Value; 2],
    caller: Value,
    callee: Value,
    recorded: Vec<i16>,
    /// What this computer did meanwhile.
    allowed: Allowed,
}

fn summary(program: &Program) -> Value {
    event(program, "summary")
}

fn number(value: &Value, name: &str) -> f64 {
    let found = name.split('.').fold(value, |value, part| &value[part]);
    found.as_f64().unwrap_or_else(|| panic!("{name} in {value}"))
}

/// While lost messages of the set-up are repeated the caller speaks to nobody, and some packets are on their way
/// when somebody hangs up: together at most this share of a call of 13 s.
const BEFORE_AND_AFTER: f64 = 0.35;

/// Speech got through, as well as path and computer allow: what the path lost or held up is in its own record, and what
/// the computer did is measured beside the call.
fn assert_audible(two: &Two, what: &str, spoken: &Spoken) {
    let alike = likeness(&wav::speech(), &spoken.recorded);
    let (lost, _) = measured(&two.topology.trace(Side::Near));
    let by_path = lost + overtaken(&two.topology.trace(Side::Near));
    let missing = by_path + spoken.allowed.missing();
    println!(
        "{what}: likeness {alike:.3}, {:.1} % lost or late on the path, {:.1} % missing, {} of {} packets played, codec {:.0} B/s, wire {:.0} B/s, {}",
        by_path * 100.0,
        number(&spoken.callee, "rating.missing") * 100.0,
        spoken.callee["played"]["packets"],
        spoken.caller["sent"],
        number(&spoken.caller, "codec_bytes_per_s"),
        number(&spoken.caller, "wire_bytes_per_s"),
        spoken.callee["rating"],
    );
    print_pesq(what, &two.house.path("speech.wav"), &two.house.path("heard.wav"));
    assert!(alike > 0.85 - 2.0 * (missing - 0.05).max(0.0), "{what}: {alike:.3}: {}", spoken.callee);
    // Everything that was sent came, or was lost, and nothing was played twice.
    let (sent, played) = (number(&spoken.caller, "sent"), number(&spoken.callee, "played.packets"));
    let least = (1.0 - missing - BEFORE_AND_AFTER) * sent;
    assert!(played <= sent && played > least, "{what}: {played} of {sent}: {}", spoken.callee);
}

fn boat(codec: &'static str) {
    let two = Two::with(Weather::FOUL);
    let (alice, bob) = (two.member("alice"), two.member("bob"));
    let spoken = two.speak(&["--profile", "boat", "--codec", codec], [&alice, &bob]);
    let [here, there] = &spoken.connected;
    assert_eq!(here["words"], there["words"], "or nobody could compare them");
    assert_eq!(here["words"].as_array().unwrap().len(), 4, "{here}");
    assert_eq!((&here["verified"], &there["verified"]), (&Value::Bool(true), &Value::Bool(true)));
    assert_audible(&two, codec, &spoken);

    // From the path's own record, without those that agreed on keys; when things were played, the callee has said.
    let trace = two.topology.trace(Side::Near);
    let (lost, delay) = measured(&trace[10..]);
    let callee = &spoken.callee;
    let count = |name: &str| number(callee, &format!("played.{name}"));
    let came = count("packets") + count("late") + count("overflow") + count("skipped");
    let late = (count("late") + count("overflow")) / came.max(1.0);
    let there = number(callee, "rating.packet_ms") + delay + number(callee, "rating.buffered_ms");
    let predicted = predicted_mos(there, lost + (1.0 - lost) * late);
    let reported = number(callee, "rating.mos");
    println!(
        "{codec}: MOS {reported:.2} told, {predicted:.2} predicted from {:.1} % lost, {:.1} % late, {delay:.1} ms on the way, \
         {there:.0} ms from mouth to ear",
        lost * 100.0,
        late * 100.0
    );
    assert!((reported - predicted).abs() < 0.2, "{reported} told, {predicted} predicted: {callee}");
}

#[test]
fn boat_delivers_speech_as_the_e_model_predicts() {
    if inside("profiles::boat_delivers_speech_as_the_e_model_predicts") {
        boat("pcmu");
    }
}

#[test]
fn boat_with_the_other_law_too() {
    if inside("profiles::boat_with_the_other_law_too") {
        boat("pcma");
    }
}

/// A call with one of the tools of 2003, with a phrase where it has one.
fn old(profile: &'static str, more: &[&'static str], has_phrase: bool) {
    let two = Two::with(Weather::FOUL);
    let mut arguments = vec!["--profile", profile, "--insecure-for-study"];
    if has_phrase {
        arguments.extend(["--pass-phrase-file", two.house.text("phrase")]);
    }
    arguments.extend(more);
    let spoken = two.speak(&arguments, [&[], &[]]);
    let what = arguments.join(" ");
    assert_audible(&two, &what, &spoken);
}

#[test]
fn boat_with_the_papers_clock_and_codec_delivers_speech() {
    if !inside("profiles::boat_with_the_papers_clock_and_codec_delivers_speech") {
        return;
    }
    let two = Two::with(Weather::FOUL);
    let (alice, bob) = (two.member("alice"), two.member("bob"));
    let arguments =
        ["--profile", "boat", "--codec", "w2", "--playout", "boat", "--cipher", "chacha20-poly1305"];
    let spoken = two.speak(&arguments, [&alice, &bob]);
    assert_audible(&two, "w2", &spoken);
}

#[test]
fn boat_legacy_delivers_speech() {
    if inside("profiles::boat_legacy_delivers_speech") {
        old("boat-legacy", &[], true);
    }
}

#[test]
fn nautilus_delivers_speech() {
    if inside("profiles::nautilus_delivers_speech") {
        old("nautilus", &["--cipher", "idea"], true);
    }
}

#[test]
fn speak_freely_delivers_speech() {
    if inside("profiles::speak_freely_delivers_speech") {
        old("speak-freely", &["--codec", "gsm"], true);
    }
}

#[test]
fn speak_freely_with_another_codec_and_cipher_too() {
    if inside("profiles::speak_freely_with_another_codec_and_cipher_too") {
        old("speak-freely", &["--codec", "adpcm", "--cipher", "des"], true);
    }
}

#[test]
fn pgpfone_delivers_speech() {
    if inside("profiles::pgpfone_delivers_speech") {
        old("pgpfone", &["--codec", "gsm-8"], false);
    }
}

#[test]
fn pgpfone_with_another_codec_and_cipher_too() {
    if inside("profiles::pgpfone_with_another_codec_and_cipher_too") {
        old("pgpfone", &["--codec", "adpcm", "--cipher", "blowfish"], false);
    }
}

/// What a call that should come to nothing had to say: its standard error.
fn refused(arguments: &[&str]) -> String {
    let output = guestright().args(["call"]).args(arguments).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{arguments:?} {stderr}");
    stderr
}

#[test]
fn what_is_insecure_is_not_run_without_being_asked_for() {
    for profile in ["boat-legacy", "nautilus", "speak-freely", "pgpfone"] {
        for whom in ["127.0.0.1", "listen"] {
            let stderr = refused(&[whom, "--profile", profile]);
            assert!(
                stderr.contains("is insecure") && stderr.contains("--insecure-for-study"),
                "{profile}: {stderr}"
            );
            assert!(stderr.contains("--profile boat"), "there is a better one: {stderr}");
            assert!(!stderr.contains("INSECURE"), "nothing has begun: {stderr}");
        }
    }
}

#[test]
fn what_a_tool_does_not_have_is_said_before_anything_begins() {
    let insecure = ["127.0.0.1", "--insecure-for-study", "--profile"];
    let stderr_for = |more: &[&str]| refused(&[&insecure[..], more].concat());
    assert!(stderr_for(&["pgpfone", "--codec", "pcmu"]).contains("gsm-lite-4.4"), "the codecs are named");
    assert!(stderr_for(&["pgpfone", "--cipher", "rot13"]).contains("cast5"), "and the ciphers");
    assert!(stderr_for(&["speak-freely"]).contains("--pass-phrase-file"));
    assert!(stderr_for(&["pgpfone", "--pass-phrase-file", "x"]).contains("no use for a pass phrase"));
    assert!(stderr_for(&["nautilus", "--playout", "moon"]).contains("--playout"));
    assert!(stderr_for(&["nautilus", "--expect", "bob"]).contains("--expect"));
    let stderr = refused(&["sip:x@127.0.0.1", "--direct", "--playout", "boat"]);
    assert!(stderr.contains("--profile boat"), "{stderr}");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let stderr = refused(&[
        "listen",
        "--profile",
        "pgpfone",
        "--insecure-for-study",
        "--address",
        "127.0.0.1",
        "--port",
        &port,
    ]);
    assert!(stderr.contains(&port) && stderr.contains("--port"), "{stderr}");
}

/// Another pass phrase, or another tool, on the other side: no call, and the caller is told what may be the matter.
fn comes_to_nothing(listening: &[&str], calling: &[&str]) -> String {
    let two = Two::with(Weather { loss: 0.0, ..Weather::FOUL });
    // Names of files are in the household.
    let arguments = |arguments: &[&str]| -> Vec<String> {
        let is_file = |name: &str| name == "phrase" || name == "other-phrase";
        let path = |name: &&str| if is_file(name) { two.house.text(name) } else { *name }.to_owned();
        arguments.iter().map(path).chain(["--insecure-for-study".to_owned()]).collect()
    };
    let text = |arguments: &[String]| -> Vec<&'static str> {
        arguments.iter().map(|one| &*Box::leak(one.clone().into_boxed_str())).collect()
    };
    let at = format!("{CALLEE}:7777");
    let mut callee = two.listen(&[&text(&arguments(listening))[..], &["--port", "7777"]].concat());
    let own = [at.as_str(), "--address", CALLER];
    let more = [&text(&arguments(calling))[..], &["--ring-seconds", "4"]].concat();
    let mut caller = two.program("caller", "caller.log", &own, &more);
    let ended = event(&caller, "ended");
    assert!(matches!(ended["reason"].as_str(), Some("no-answer" | "failed")), "{ended}");
    assert!(!caller.wait().success());
    callee.signal(Signal::INT);
    let output = callee.rest();
    assert!(!output.iter().any(|line| line.contains("\"connected\"")), "{output:?}");
    println!("{calling:?} to {listening:?}: {ended}\n{output:?}");
    caller.log()
}

#[test]
fn another_pass_phrase_comes_to_nothing() {
    if !inside("profiles::another_pass_phrase_comes_to_nothing") {
        return;
    }
    for profile in ["boat-legacy", "nautilus"] {
        let with = |phrase: &'static str| ["--profile", profile, "--pass-phrase-file", phrase];
        let log = comes_to_nothing(&with("phrase"), &with("other-phrase"));
        assert!(log.contains("phrase"), "{profile}: {log}");
    }
}

#[test]
fn another_tool_on_the_other_side_comes_to_nothing() {
    if !inside("profiles::another_tool_on_the_other_side_comes_to_nothing") {
        return;
    }
    let phrase = ["--pass-phrase-file", "phrase"];
    let nautilus = [&["--profile", "nautilus"], &phrase[..]].concat();
    let legacy = [&["--profile", "boat-legacy"], &phrase[..]].concat();
    let pgpfone = ["--profile", "pgpfone"];
    for (listening, calling) in [(&nautilus[..], &pgpfone[..]), (&pgpfone, &legacy), (&legacy, &nautilus)] {
        let log = comes_to_nothing(listening, calling);
        assert!(log.contains("--profile"), "{log}");
    }
}

/// `boat` on this computer, without a path of its own.
fn at_home(house: &Household, who: &str, arguments: &[&str], more: &[&str]) -> Program {
    let mut command = guestright();
    command.arg("call").args(arguments).args(["--profile", "boat", "--json", "--no-sound"]);
    command.args(["--address", "127.0.0.1"]).args(house.key(who)).args(more).env("HOME", house.path("."));
    Program::start(&mut command, &house.path(&format!("{who}.log")))
}

/// Who listens, and where.
fn listen_at_home(house: &Household, who: &str) -> (Program, SocketAddr) {
    loop {
        // A port that was free a moment ago: 0 stands for the tool's own. Somebody else may have it by now.
        let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
        let listen = ["listen", "--answer", "auto", "--calls", "1"];
        let mut program = at_home(house, who, &listen, &["--port", &free]);
        if let Some(listening) = program.hear_or_end("to listen", |line| line["event"] == "listening") {
            return (program, listening["address"].as_str().unwrap().parse().unwrap());
        }
        assert!(!program.wait().success());
        assert!(program.log().contains(&free), "nothing else is the matter: {}", program.log());
    }
}

#[test]
fn somebody_in_the_middle_is_seen_in_the_words() {
    let house = Household::new();
    // Mallory answers in Bob's place, and calls Bob in Alice's.
    let (bob, at_bob) = listen_at_home(&house, "bob");
    let (mallory, at_mallory) = listen_at_home(&house, "mallory");
    let to_bob = at_home(&house, "mallory", &[&at_bob.to_string()], &[]);
    let alice = at_home(&house, "alice", &[&at_mallory.to_string()], &[]);
    let words = |program: &Program| event(program, "connected")["words"].clone();
    let (at_alice, here, there, at_bob) = (words(&alice), words(&mallory), words(&to_bob), words(&bob));
    assert_eq!((&at_alice, &at_bob), (&here, &there), "each of the two calls has words of its own");
    assert_ne!(at_alice, at_bob, "whoever compares them knows that somebody is in the middle");

    // And who expects Bob does not speak with Mallory at all.
    let (_mallory, at_mallory) = listen_at_home(&house, "mallory");
    house.contact("bob", "Bobby");
    let contacts = ["--contacts", house.text("contacts"), "--at", &at_mallory.to_string()];
    let mut alice = at_home(&house, "alice", &["Bobby"], &contacts);
    let ended = event(&alice, "ended");
    assert_eq!(ended["reason"], "failed", "{ended}");
    assert!(!alice.wait().success());
}

#[test]
fn a_contact_is_called_by_its_name_at_any_address() {
    let house = Household::new();
    house.contact("bob", "Bobby");
    let (mut bob, at_bob) = listen_at_home(&house, "bob");
    let contacts = ["--contacts", house.text("contacts"), "--at", &at_bob.to_string(), "--seconds", "1"];
    let mut alice = at_home(&house, "alice", &["Bobby"], &contacts);
    let connected = event(&alice, "connected");
    assert_eq!(connected["verified"], true, "{connected}");
    assert!(connected["protection"].as_str().unwrap().contains("expected"), "{connected}");
    assert_eq!(event(&bob, "ended")["reason"], "hung-up");
    assert!(alice.wait().success() && bob.wait().success());
}

#[test]
fn what_is_changed_on_the_way_ends_in_no_call() {
    let house = Household::new();
    // The introductions begin with 9, the agreement with 8; behind the first bytes are nonces, fingerprints, keys.
    for (who, offset) in [(From::Caller, 24), (From::Callee, 24), (From::Caller, 60), (From::Callee, 60)] {
        let (bob, at_bob) = listen_at_home(&house, "bob");
        let middle = Middle::before(at_bob, move |from, datagram| {
            let is_meant = from == who && matches!(datagram.first(), Some(8 | 9));
            if let (true, Some(byte)) = (is_meant, datagram.get_mut(offset)) {
                *byte ^= 1;
                return true;
            }
            false
        });
        let mut alice = at_home(&house, "alice", &[&middle.address.to_string()], &["--ring-seconds", "4"]);
        let ended = event(&alice, "ended");
        assert!(
            matches!(ended["reason"].as_str(), Some("no-answer" | "failed")),
            "{who:?} {offset}: {ended}"
        );
        assert!(!alice.wait().success());
        assert!(middle.changed() > 0 && middle.passed() > 0, "it has done its worst");
        drop(bob);
    }
}

#[test]
fn sound_that_is_changed_on_the_way_is_not_played() {
    let house = Household::new();
    let (mut bob, at_bob) = listen_at_home(&house, "bob");
    let mut count = 0;
    // Every fifth packet of the caller's sound.
    let middle = Middle::before(at_bob, move |from, datagram| {
        let is_sound = from == From::Caller && datagram.first().is_some_and(|first| *first >= 0xe0);
        count += u32::from(is_sound);
        if is_sound && count.is_multiple_of(5) {
            let middle = datagram.len() / 2;
            datagram[middle] ^= 0x10;
            return true;
        }
        false
    });
    let speech = ["--play", house.text("speech.wav"), "--seconds", "5", "--codec", "pcmu"];
    let mut alice = at_home(&house, "alice", &[&middle.address.to_string()], &speech);
    let (here, there) = (event(&alice, "connected"), event(&bob, "connected"));
    assert_eq!(here["words"], there["words"]);
    // The first one may be a late step of the introduction.
    event(&bob, "refused");
    let (sent, received) = (summary(&alice), summary(&bob));
    assert!(alice.wait().success() && bob.wait().success());
    // Somebody may have hung up while the last ones were on their way.
    let (changed, refused) = (number_of(middle.changed()), number(&received, "refused"));
    assert!(
        changed > 20.0 && refused > changed - 5.0 && refused < changed + 10.0,
        "{refused} of {changed}: {received}"
    );
    assert!(number(&received, "played.packets") <= number(&sent, "sent") - refused, "{received}");
}

fn number_of(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}
