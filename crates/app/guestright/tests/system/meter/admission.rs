//! Calls are refused that would break those at the household's own access point, and those that are up go on.
//!
//! ```text
//!   member, resident, hostile ── router (access point) ── net ── manor (the household's home, gateway)
//!     anna    ben       cara                               └─ v1 (NAT) ── w1: dan's stock softphone
//! ```
//!
//! Anna's phone joined by 802.1X, and Cara's comes home by IKEv2; the others have WireGuard in an open network.

use crate::call::wav;
use crate::phones::air;
use crate::stock::{Client, ClientSettings};
use crate::town::baresip::{Baresip, Wanted};
use crate::town::{PATIENCE, Program, Rules, Town, inside, session, succeeded, until};
use crate::voice::exchange::{bring_home, join, open, status, translate, uplink};
use crate::voice::telephone::{Telephone, Who, file};
use serde_json::{Value, json};
use std::net::UdpSocket;
use std::path::Path;

const HOME: &str = "house/home.toml";
/// The gateway's address inside, and dan's, who is the fourth member.
const GATEWAY: &str = "10.75.5.1";
const DANS: &str = "10.75.5.5";
/// At 1 Mb/s a call needs a third of the radio's time: three fit, and not four.
const RADIO: &str = "[radio]\nstandard = \"b\"\nrate_mbps = 1\ntunnel = false\n";
/// What both sentences have in common.
const SENTENCE: &str = "one more call would break those at";

/// The household's home is elsewhere, so that its members come home through its access point; one of them is away.
fn build() -> Town {
    let mut town = Town::build(Rules::default());
    for host in ["manor", "v1", "w1"] {
        town.world.add_host(host).unwrap();
    }
    let world = &town.world;
    world.sysctl("net", "net.ipv4.ip_forward", "1").unwrap();
    uplink(world, "manor", 40);
    uplink(world, "v1", 20);
    translate(world, "v1");
    join(world, "v1", ("w1", "wlan0"), 20);
    world.route("w1", "default", "10.20.0.1").unwrap();
    let init = ["team", "gateway", "init", "--dir", "house", "--network", "10.75.5.0/24", "--endpoint"];
    succeeded(&town.run(&[&init[..], &["198.18.40.2:51820"]].concat()));
    for member in ["anna", "ben", "cara", "dan"] {
        let ways: &[&str] = if member == "cara" { &["--qr", "--ikev2"] } else { &["--qr"] };
        succeeded(&town.run(&[&["team", "member", "add", member, "--dir", "house"], ways].concat()));
    }
    let home = std::fs::read_to_string(town.path(HOME)).unwrap();
    let more = "[gateway]\nuplink_interface = \"uplink\"\nbackend = \"userspace\"\ndns_upstream = \"192.0.2.1\"\n\
                [gateway.ikev2]\nprofile = \"modern\"\n[voice]\nadmit = true\n";
    std::fs::write(town.path(HOME), format!("listen = \"0.0.0.0:7274\"\n{home}{more}")).unwrap();
    let ap = std::fs::read_to_string(town.path("house/ap.toml")).unwrap();
    let ap = ap.replace("home = \"127.0.0.1:7274\"", "home = \"198.18.40.2:7274\"");
    std::fs::write(town.path("house/ap.toml"), format!("{ap}{RADIO}[phones]\n")).unwrap();
    town
}

/// Anna's phone joins at the access point's port, by the files that her home has made.
fn join_by_802_1x(town: &Town) -> [Program; 2] {
    succeeded(&town.run(&["team", "member", "add", "anna", "--phone", "--dir", "house", "--home", HOME]));
    let printed = ["ap", "hostapd", "--interface", "port21", "--config", "house/ap.toml"];
    let printed = succeeded(&town.run(&printed));
    let hostapd = air::start_hostapd(&town.world, ("router", "port21"), &printed, &town.directory);
    let profile = std::fs::read_to_string(town.path("house/anna-phone/wpa_supplicant.conf")).unwrap();
    let supplicant = air::start_supplicant(&town.world, "member", &profile, &town.directory);
    town.until_status("anna's phone to have joined", |status| {
        status["phones"]["joined"][0]["mac"].is_string()
    });
    [hostapd, supplicant]
}

/// Cara's stock client, with what her home has made.
fn bring_home_by_ikev2(town: &Town, directory: &Path) -> Client {
    let file = std::fs::read_to_string(town.path("house/gateway/cara.ike")).unwrap();
    let secret = file.lines().find_map(|line| line.strip_prefix("secret = ")).unwrap().trim_matches('"');
    let client = Client::start(&town.world, "hostile", directory, 3);
    client.configure(&ClientSettings::psk("198.18.40.2", "home.guestright", "cara", secret));
    client.connect().unwrap();
    until("her tunnel to be up", || town.world.run("hostile", "ping", &["-c1", "-W1", GATEWAY]).is_ok());
    client
}

/// Whether the phone that joined is the one whose session this address has.
fn is_bound(town: &Town, host: &str) -> bool {
    let status = town.status();
    let session = session(&status, &town.address_of(host));
    let joined = status["phones"]["joined"].as_array().unwrap();
    joined.len() == 1 && joined[0]["mac"] == session["mac"] && joined[0]["team"] == session["team"]
}

/// Dan's telephone: a stock softphone that takes every call.
fn softphone(town: &Town) -> Baresip {
    let directory = town.path("dan-phone");
    let wanted = Wanted {
        directory: &directory,
        log: &town.path("dan-baresip.log"),
        listen: &format!("{DANS}:5060"),
        account: &format!("<sip:dan@{GATEWAY}>;regint=60"),
        module: "sndfile",
        more: &format!("snd_path {}\n", directory.display()),
    };
    Baresip::start(&town.world, "w1", &wanted)
}

/// The final response to an INVITE that was written by hand.
fn invite(town: &Town, host: &str, [own, name]: [&str; 2], whom: &str) -> String {
    let open = || {
        let socket = UdpSocket::bind(format!("{own}:5099")).unwrap();
        socket.connect(format!("{GATEWAY}:5060")).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    };
    let socket = town.world.within(host, open).unwrap();
    let body = format!(
        "v=0\r\no=- 1 1 IN IP4 {own}\r\ns=-\r\nc=IN IP4 {own}\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n\
         a=rtpmap:0 PCMU/8000\r\n"
    );
    let request = format!(
        "INVITE sip:{whom}@{GATEWAY} SIP/2.0\r\nVia: SIP/2.0/UDP {own}:5099;branch=z9hG4bK{name}\r\nMax-Forwards: 70\r\n\
         From: <sip:{name}@{GATEWAY}>;tag=1\r\nTo: <sip:{whom}@{GATEWAY}>\r\nCall-ID: {name}\r\nCSeq: 1 INVITE\r\n\
         Contact: <sip:{name}@{own}:5099>\r\nContent-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.send(request.as_bytes()).unwrap();
    let mut buffer = [0; 4_096];
    loop {
        let length = socket.recv(&mut buffer).unwrap();
        let response = String::from_utf8_lossy(&buffer[..length]).into_owned();
        assert!(!response.starts_with("SIP/2.0 18"), "it rings: {response}");
        if !response.starts_with("SIP/2.0 1") {
            return response;
        }
    }
}

/// What the access point says of calls: how many there are, and how many more fit.
fn calls(status: &Value) -> (Option<u64>, Option<u64>) {
    (status["calls"]["now"].as_u64(), status["calls"]["more"].as_u64())
}

/// Waits until the home would let in so many calls more: it has asked its access point, which has seen those that are up.
fn until_home_admits(town: &Town, calls: u64) {
    until("the home to know how many calls fit", || {
        status(town, HOME)["voice"]["calls_that_fit"] == json!([calls])
    });
}

/// Packets of voice that the home has had from both sides of each call, by the call's number.
fn packets(town: &Town) -> Vec<(u64, [u64; 2])> {
    let status = status(town, HOME);
    let calls = status["voice"]["calls"].as_array().into_iter().flatten();
    let side = |call: &Value, side: usize| call["from"][side]["packets"].as_u64().unwrap_or_default();
    let mut packets: Vec<_> =
        calls.map(|call| (call["id"].as_u64().unwrap(), [side(call, 0), side(call, 1)])).collect();
    packets.sort_unstable();
    packets
}

/// Waits until all of so many calls have had two more seconds of voice in both directions.
fn until_all_talk(town: &Town, calls: usize) {
    let before = packets(town);
    until("voice in both directions of each call", || {
        let now = packets(town);
        let pairs = || now.iter().zip(&before);
        before.len() == calls
            && now.len() == calls
            && pairs().all(|((id, _), (same, _))| id == same)
            && pairs().all(|((_, now), (_, before))| (0..2).all(|side| now[side] > before[side] + 100))
    });
}

/// How often the home has refused a call for the air's sake.
fn refused(town: &Town) -> u64 {
    status(town, HOME)["voice"]["refused"]["no room for a call on the air"].as_u64().unwrap_or_default()
}

/// Has the home read its settings again, with this in them.
fn set_admission(town: &Town, admit: bool) {
    let text = std::fs::read_to_string(town.path(HOME)).unwrap();
    std::fs::write(
        town.path(HOME),
        text.replace(&format!("admit = {}", !admit), &format!("admit = {admit}")),
    )
    .unwrap();
    let printed = succeeded(&town.run(&["home", "reload", "--config", HOME, "--json"]));
    let answer: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(answer["changed"], json!(["voice.admit"]), "{answer}");
}

/// A call that is refused before anything rings: what the caller's program says at the end.
fn refused_call(town: &Town, who: Who, whom: &str) -> String {
    let mut telephone = Telephone::call(town, who, whom, &["--protection", "home"]);
    assert_eq!(telephone.event("ended")["reason"], "refused");
    assert!(!telephone.program.wait().success());
    telephone.program.log()
}

/// Whoever is at the access point calls nobody, by a telephone or by hand, and nobody calls them. What the stock softphone went
/// through that tried.
fn nobody_calls_now(town: &Town, dan: &Baresip) -> Vec<Value> {
    let log = refused_call(town, Who::Anna, "dan");
    println!("{log}");
    assert!(log.contains(&format!("{SENTENCE} your access point; try again when one has ended")), "{log}");
    let response = invite(town, "member", ["10.75.5.2", "anna"], "dan");
    assert!(response.starts_with("SIP/2.0 503 "), "{response}");
    assert!(response.contains("\r\nRetry-After: 30\r\n") && response.contains(SENTENCE), "{response}");
    let response = invite(town, "w1", [DANS, "dan"], "ben");
    assert!(response.starts_with("SIP/2.0 486 ") && response.contains(SENTENCE), "{response}");
    dan.command("dial", &format!("sip:ben@{GATEWAY}"));
    let closed = dan.events_until("CALL_CLOSED");
    assert!(closed.last().unwrap()["param"].as_str().unwrap().starts_with("486"), "{closed:?}");
    closed
}

/// Waits until telephones of ours have said of so many calls how well they heard, in numbers that a score can be.
fn until_reported(town: &Town, reports: u64) {
    until("telephones to have said how it was", || {
        let status = status(town, HOME);
        let scores = status["voice"]["scores"].as_array().into_iter().flatten();
        let good = scores.filter(|score| score[0].as_u64().is_some_and(|score| (100..=450).contains(&score)));
        good.map(|score| score[1].as_u64().unwrap()).sum::<u64>() == reports
    });
}

/// A file with speech in it, to be played.
fn speech(town: &Town) -> String {
    wav::write(&town.path("speech.wav"), &wav::speech());
    file(town, "speech.wav")
}

#[test]
fn a_call_for_which_there_is_no_room_is_refused_before_it_rings_and_the_others_go_on() {
    if !inside(
        "meter::admission::a_call_for_which_there_is_no_room_is_refused_before_it_rings_and_the_others_go_on",
    ) {
        return;
    }
    let town = build();
    let _home = open(&town, "manor", HOME, "home.log");
    let _ap = town.start("ap");
    town.until_status("the access point to reach its home", |status| status["home_up"] == true);
    let _joined = join_by_802_1x(&town);
    let speech = speech(&town);
    let in_the_clear = ["--play", &speech, "--loop", "--protection", "home"];
    let sound = &in_the_clear[..3];
    for (host, member) in [("member", "anna"), ("resident", "ben"), ("w1", "dan")] {
        bring_home(&town, host, &format!("house/{member}.conf"), GATEWAY);
    }
    let directory = tempfile::tempdir().unwrap();
    let _client = bring_home_by_ikev2(&town, directory.path());
    town.until_status("all to be served", |status| {
        status["sessions"].as_array().is_some_and(|sessions| sessions.len() == 3)
    });
    assert!(is_bound(&town, "member"), "{}", town.status());
    let dan = softphone(&town);
    let ben = Telephone::listen(&town, Who::Ben, sound);
    until("both to be registered", || {
        status(&town, HOME)["voice"]["telephones"] == json!({ "ben": 1, "dan": 1 })
    });
    town.until_status("an empty radio", |status| calls(status) == (Some(0), Some(3)));

    // Two ends of a call are at the access point, then one of another.
    let anna = Telephone::call(&town, Who::Anna, "ben", sound);
    anna.event("protected");
    ben.event("protected");
    town.until_status("a call with both ends", |status| calls(status) == (Some(2), Some(1)));
    until_home_admits(&town, 1);
    let mut cara = Telephone::call(&town, Who::Cara, "dan", &in_the_clear);
    cara.event("connected");
    let rang = dan.events_until("CALL_ESTABLISHED");
    town.until_status("a radio that is full", |status| calls(status) == (Some(3), Some(0)));
    until_home_admits(&town, 0);
    until_all_talk(&town, 2);

    let closed = nobody_calls_now(&town, &dan);
    assert_eq!(refused(&town), 4);
    until_all_talk(&town, 2);

    // One ends, and there is room for one again.
    cara.command("quit");
    cara.end();
    let ended = dan.events_until("CALL_CLOSED");
    town.until_status("room for one more", |status| calls(status) == (Some(2), Some(1)));
    until_home_admits(&town, 1);
    let cara = Telephone::call(&town, Who::Cara, "dan", &in_the_clear);
    cara.event("connected");
    let again = dan.events_until("CALL_ESTABLISHED");
    let rings = [rang, closed, ended, again].concat();
    // What comes first of a call that somebody else begins is its offer.
    let offers = rings.iter().filter(|event| event["type"] == "CALL_REMOTE_SDP").count();
    assert_eq!(offers, 2, "nothing came of the calls that were refused");
    town.until_status("a radio that is full again", |status| calls(status) == (Some(3), Some(0)));
    until_home_admits(&town, 0);
    assert!(refused_call(&town, Who::Anna, "dan").contains(SENTENCE));

    // Who does not ask for it is refused nothing, from one moment to the next.
    set_admission(&town, false);
    let mut another = Telephone::call(&town, Who::Anna, "dan", &in_the_clear);
    another.event("connected");
    until_all_talk(&town, 3);
    another.command("quit");
    another.end();
    assert_eq!(refused(&town), 5);
    for mut telephone in [anna, cara] {
        telephone.command("quit");
        telephone.end();
    }
    until("all calls to be over", || packets(&town).is_empty());
    // Both ends of the call between ours, and ours of three others.
    until_reported(&town, 5);
    drop(ben);
}
