//! A real call goes on while the caller walks from one access point to another.
//!
//! ```text
//!   walker ── router ── net ── away (home of the team guests)
//!     └ then ─ second ───┤
//!                        ├──── haven (home of the team friends)
//!   w2 ── v2 (NAT) ──────┘
//! ```

use super::abroad::Abroad;
use super::inside;
use crate::call::wav;
use crate::town::until;
use crate::voice::exchange::{bring_home, gateway, join, open, status, translate, uplink};
use crate::voice::telephone::{Telephone, Who, file};
use guestright_capture::{Decoded, Reader, decode};
use serde_json::json;
use std::io::Write;
use std::time::{Duration, Instant};

/// Between two packets of speech.
const FRAME: Duration = Duration::from_millis(20);
/// Both homes' settings.
const HOMES: [&str; 2] = ["guests/home.toml", "friends/home.toml"];

/// The walker's home takes calls, and there is another one, with a member behind a router.
fn build() -> Abroad {
    let mut abroad = Abroad::build("info");
    for host in ["haven", "v2", "w2"] {
        abroad.town.world.add_host(host).unwrap();
    }
    let world = &abroad.town.world;
    uplink(world, "haven", 60);
    uplink(world, "v2", 30);
    translate(world, "v2");
    join(world, "v2", ("w2", "wlan0"), 30);
    world.route("w2", "default", "10.30.0.1").unwrap();
    let town = &abroad.town;
    town.found("friends", &[("home", "home")]);
    let friend = gateway(town, "friends", "198.18.60.2", "10.73.7.0/24", "friend");
    let settings = "key = \"home.key\"\ncertificate = \"home.cert\"\nstate = \"home-state\"\n[gateway]\n\
                    uplink_interface = \"uplink\"\nbackend = \"userspace\"\ndns_upstream = \"192.0.2.1\"\n[voice]\n";
    std::fs::write(town.path(HOMES[1]), settings).unwrap();
    let mut home = std::fs::File::options().append(true).open(town.path(HOMES[0])).unwrap();
    writeln!(home, "[voice.contacts]\nfriend = {friend}").unwrap();
    abroad
}

/// Packets of voice that the first home has had from each side of its one call.
fn packets(abroad: &Abroad) -> [u64; 2] {
    let call = &status(&abroad.town, HOMES[0])["voice"]["calls"][0]["from"];
    [0, 1].map(|side| call[side]["packets"].as_u64().unwrap_or_default())
}

fn until_received(abroad: &Abroad, since: [u64; 2]) {
    until("two seconds of speech in both directions", || {
        packets(abroad).iter().zip(since).all(|(now, then)| *now > then + 100)
    });
}

/// How much is missing in what came from a home, and the longest time in which nothing came, by the telephone's own
/// capture.
fn gaps(abroad: &Abroad, capture: &str, home: &str) -> (Duration, Duration) {
    let mut reader = Reader::new();
    reader.feed(&std::fs::read(abroad.town.path(capture)).unwrap());
    reader.finish();
    let mut received = Vec::new();
    while let Some(frame) = reader.next().unwrap() {
        let Decoded::Udp(datagram) = decode(&frame) else { continue };
        // RTP version 2 with payload type 0, G.711: voice.
        let [0x80, kind, high, low, ..] = *datagram.payload else { continue };
        if kind & 0x7f == 0 && datagram.from.ip().to_string() == home {
            received.push((datagram.at.unwrap(), u16::from_be_bytes([high, low])));
        }
    }
    assert!(received.len() > 200, "{} packets in {capture}", received.len());
    let steps = received.windows(2).map(|pair| pair[1].1.wrapping_sub(pair[0].1));
    assert!(steps.clone().all(|step| (1..1 << 15).contains(&step)), "each packet comes once, and in order");
    let missing: u32 = steps.map(|step| u32::from(step) - 1).sum();
    let longest = received.windows(2).map(|pair| pair[1].0.nanos_since(pair[0].0)).max().unwrap();
    (FRAME * missing, Duration::from_nanos(longest.unsigned_abs()))
}

#[test]
fn a_call_through_both_homes_goes_on_when_its_caller_walks_on() {
    if !inside("way_home::talking::a_call_through_both_homes_goes_on_when_its_caller_walks_on") {
        return;
    }
    let abroad = build();
    let town = &abroad.town;
    wav::write(&town.path("speech.wav"), &wav::speech());
    let (_house, _ap) = town.open();
    let _second = abroad.open_second();
    let _homes = [("away", HOMES[0], "away.log"), ("haven", HOMES[1], "haven.log")]
        .map(|(host, settings, log)| open(town, host, settings, log));
    bring_home(town, "w2", "friends/friend.conf", "10.73.7.1");
    let visit = abroad.visit(&[]);
    abroad.until_home(&visit);

    let [speech, here, there] = ["speech.wav", "walker.pcapng", "friend.pcapng"].map(|name| file(town, name));
    let sound = ["--play", &speech, "--loop", "--pcapng"];
    let friend = Telephone::listen(town, Who::Friend, &[&sound[..], &[&there, "--calls", "1"]].concat());
    let mut walker = Telephone::call(town, Who::Walker, "friend", &[&sound[..], &[&here]].concat());
    assert_eq!(walker.event("protected")["words"], friend.event("protected")["words"]);
    until_received(&abroad, [0, 0]);

    let began = Instant::now();
    abroad.walk_on();
    let linked = began.elapsed();
    visit.hear("to notice the move", |event| event["event"] == "moved");
    until_received(&abroad, packets(&abroad));
    visit.hear("to be granted service", |event| event["event"] == "granted");
    let granted = began.elapsed();
    until_received(&abroad, packets(&abroad));

    let protection = HOMES.map(|home| status(town, home)["voice"]["calls"][0]["protection"].clone());
    assert_eq!(protection, [json!("end-to-end"), json!("end-to-end")]);
    walker.command("quit");
    let (at_walker, at_friend) = (walker.summary(), friend.summary());
    walker.end();
    friend.end();
    for (report, capture, home, direction) in [
        (&at_friend, "friend.pcapng", "10.73.7.1", "outward"),
        (&at_walker, "walker.pcapng", "10.73.6.1", "homeward"),
    ] {
        assert_eq!(
            (&report["protection"], &report["refused"]),
            (&json!("end-to-end"), &json!(0)),
            "{report}"
        );
        let reported = report["heard"]["network"]["lost"].as_u64().unwrap();
        let (lost, longest) = gaps(&abroad, capture, home);
        let [lost_ms, longest_ms, linked_ms, granted_ms] =
            [lost, longest, linked, granted].map(|time| time.as_millis());
        println!(
            "{}",
            json!({ "move": { "direction": direction, "speech_lost_ms": lost_ms, "nothing_heard_ms": longest_ms,
                "linked_ms": linked_ms, "granted_ms": granted_ms } })
        );
        assert_eq!(FRAME * u32::try_from(reported).unwrap(), lost, "both count the same packets: {report}");
    }
    town.leave(visit);
}
