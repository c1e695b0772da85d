//! `visit` goes home: what the access point's network gets to see, and what happens when something is killed.
//!
//! ```text
//!   walker ── router ── net ── away (home of the team guests, gateway)
//!     └ or ── second ────┘      servers at 192.0.2.1
//! ```

pub(crate) mod abroad;
mod capture;
mod day;
mod hostile_access_point;
mod moving;
mod talking;

use super::page;
use super::town::services::Way;
use super::town::{PATIENCE, Program};
use super::town::{inside, look, succeeded, until};
use abroad::{Abroad, HOME_ADDRESS, SECOND_ACCESS_POINT};
use capture::Frame;
use guestright_roaming::Message;
use guestright_roaming::message::Code;
use rustix::process::Signal;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const ACCESS_POINT: Ipv4Addr = Ipv4Addr::new(10, 11, 0, 1);

/// Whether the access point's network may see this frame of the walker's, or for it.
fn is_allowed(frame: &Frame) -> bool {
    match frame {
        Frame::Arp => true,
        Frame::Ip4 { protocol: 17, from, to, .. } => {
            let tunnel = |end: &(Ipv4Addr, u16)| end.0 == HOME_ADDRESS && end.1 == abroad::TUNNEL_PORT;
            let protocol = |end: &(Ipv4Addr, u16)| end.0 == ACCESS_POINT && end.1 == 7_273;
            [from, to].into_iter().any(|end| tunnel(end) || protocol(end))
        }
        Frame::Ip4 { protocol: 6, from, to, .. } => {
            [from, to].into_iter().any(|end| end.0 == ACCESS_POINT && end.1 == 7_273)
        }
        Frame::Ip4 { .. } | Frame::Ip6 | Frame::Other(_) => false,
    }
}

#[test]
fn the_access_point_sees_nothing_but_the_tunnel_and_the_protocol() {
    if !inside("way_home::the_access_point_sees_nothing_but_the_tunnel_and_the_protocol") {
        return;
    }
    let abroad = Abroad::build("trace");
    let (mut house, mut ap) = abroad.town.open();
    let mut home = abroad.start_home();
    let before = abroad.condition();
    let chatter = abroad.chatter();
    let capture = abroad.capture("port21");
    until("the chatter to reach the network", || {
        capture.frames().iter().any(|(_, frame)| !is_allowed(frame))
    });

    let visit = abroad.silent_visit();
    abroad.until_home(&visit);
    let status = abroad.status();
    // Everything goes home: the Internet sees the home's address.
    assert_eq!(abroad.town.download("member", 300_000).unwrap(), 300_000);
    assert_eq!(abroad.web.all().last().unwrap().0, HOME_ADDRESS, "{:?}", abroad.web.all());
    let answered = abroad.town.probe("member", &[(Way::Ping, "192.0.2.1:0".parse().unwrap())]);
    assert_eq!(answered.len(), 1, "a ping goes home too");
    // So do names, whoever is asked.
    for resolver in ["10.11.0.1:53", "192.0.2.99:53"] {
        assert!(abroad.resolves(resolver), "{resolver} seems to answer");
    }
    assert!(abroad.names.all().iter().all(|(from, _)| *from == HOME_ADDRESS), "{:?}", abroad.names.all());
    // And nothing else gets anywhere.
    let elsewhere = ["[fd00:12::1]:9", "[2001:db8:11::10]:9", "10.11.0.1:9", "10.11.0.22:9"];
    let probes: Vec<_> = [Way::Udp, Way::Tcp, Way::Ping]
        .into_iter()
        .flat_map(|way| elsewhere.map(|to| (way, to.parse().unwrap())))
        .collect();
    assert_eq!(abroad.town.probe("member", &probes), []);
    abroad.until_counted(1_000_000);
    check_status(&status, &abroad.status());
    chatter.pause();
    abroad.both_count_the_same();
    chatter.go_on();

    let ended = abroad.town.leave(visit);
    let end_us = ended["time_us"].as_u64().unwrap();
    let sent = chatter.stop();
    let frames = capture.stop();
    judge(&frames, end_us);
    assert!(sent > 100, "the chatter went on all the time: {sent}");
    assert_eq!(abroad.condition(), before, "nothing is left behind");

    let closed = super::town::closed(&abroad.town.status(), "10.11.0.21");
    assert!(closed["signed"].as_u64().unwrap() > 1_000_000, "{closed}");
    for program in [&mut ap, &mut house, &mut home] {
        program.signal(Signal::TERM);
        assert!(program.wait().success());
    }
    abroad.no_log_shows_a_secret();
}

/// From the first word to the access point until the end is said, nothing but what is allowed.
fn judge(frames: &[(u64, Frame)], end_us: u64) {
    let is_protocol =
        |frame: &Frame| matches!(frame, Frame::Ip4 { protocol: 6, to, .. } if *to == (ACCESS_POINT, 7_273));
    let begin =
        frames.iter().position(|(_, frame)| is_protocol(frame)).expect("a question to the access point");
    let visit: Vec<_> = frames[begin..].iter().take_while(|(time, _)| *time <= end_us).collect();
    let tunnel = visit.iter().filter(|(_, frame)| matches!(frame, Frame::Ip4 { protocol: 17, .. })).count();
    assert!(tunnel > 300, "the capture has the tunnel in it: {tunnel}");
    let wrong: Vec<_> = visit.iter().filter(|(_, frame)| !is_allowed(frame)).collect();
    assert!(
        wrong.is_empty(),
        "{} of {} frames: {:?}",
        wrong.len(),
        visit.len(),
        &wrong[..wrong.len().min(20)]
    );
    println!("{} frames judged", visit.len());
}

fn check_status(early: &Value, late: &Value) {
    assert_eq!(early["access_point"], "10.11.0.1");
    assert_eq!(late["tunnel"]["endpoint"], format!("{HOME_ADDRESS}:{}", abroad::TUNNEL_PORT));
    // A session that is older carries nothing (WireGuard's paper, section 6.1: `Reject-After-Time`).
    assert!(late["tunnel"]["handshake_seconds_ago"].as_f64().is_some_and(|ago| ago < 180.0), "{late}");
    assert!(late["tunnel"]["received"].as_u64() > early["tunnel"]["received"].as_u64(), "{late}");
    assert!(late["session"]["signed"].as_u64() > Some(0), "{late}");
    for kind in ["datagrams", "connections", "ping", "ipv6"] {
        assert!(late["held_back"][kind].as_u64() > Some(0), "{kind}: {late}");
    }
    let visible = late["visible"].to_string();
    assert!(visible.contains("198.18.40.2:51820") && visible.contains("10.11.0.1"), "{visible}");
}

#[test]
fn a_member_sees_its_households_page_through_the_tunnel_and_nobody_else_does() {
    if !inside("way_home::a_member_sees_its_households_page_through_the_tunnel_and_nobody_else_does") {
        return;
    }
    let abroad = Abroad::build("info");
    let (_house, _ap) = abroad.town.open();
    let _home = abroad.start_home();
    let visit = abroad.visit(&[]);
    abroad.until_home(&visit);
    let door = "10.73.6.1:7277";
    let ask = |host: &str, method: &str, path: &str, header: &str| {
        let text = format!("{method} {path} HTTP/1.1\r\nHost: {door}\r\nConnection: close\r\n{header}\r\n");
        page::ask(&abroad.town, host, door, &text)
    };
    let seen = page::overview(&ask("member", "GET", "/v1/overview", ""));
    assert_eq!(seen.may, guestright_overview::May::Look);
    // Who only looks changes nothing, whatever the header.
    let write = format!("x-guestright: 1\r\norigin: http://{door}\r\ncontent-length: 0\r\n");
    let refused = ask("member", "POST", "/v1/everybody", &write);
    assert!((400..500).contains(&refused.status), "{}", refused.status);
    // At the home's address on the Internet there is none.
    let outside: SocketAddr = "198.18.40.2:7277".parse().unwrap();
    let outside = abroad.town.world.within("net", || TcpStream::connect_timeout(&outside, PATIENCE)).unwrap();
    assert!(outside.is_err(), "the Internet reaches the page");
}

#[test]
fn a_killed_visit_leaves_the_switch_closed_until_the_next_or_off() {
    if !inside("way_home::a_killed_visit_leaves_the_switch_closed_until_the_next_or_off") {
        return;
    }
    let abroad = Abroad::build("info");
    let (_house, _ap) = abroad.town.open();
    let _home = abroad.start_home();
    let before = abroad.condition();
    let mut visit = abroad.visit(&[]);
    abroad.until_home(&visit);
    let chatter = abroad.chatter();
    let capture = abroad.capture("port21");
    visit.kill();
    assert!(!abroad.town.is_online("member"), "without the tunnel there is no way out");
    let refused = abroad.command(&["visit", "status", "--state", "walker-state"]);
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && words.contains("visit off"), "{words}");

    // The next one takes over, without a gap.
    let mut visit = abroad.visit(&[]);
    abroad.until_home(&visit);
    until("the walker to be online", || abroad.town.is_online("member"));
    visit.kill();
    chatter.stop();
    let frames = capture.stop();
    let wrong: Vec<_> = frames.iter().filter(|(_, frame)| !is_allowed(frame)).collect();
    assert!(
        wrong.is_empty(),
        "{} of {} frames: {:?}",
        wrong.len(),
        frames.len(),
        &wrong[..wrong.len().min(20)]
    );

    let stdout = succeeded(&abroad.command(&["visit", "off", "--state", "walker-state"]));
    assert!(stdout.contains("the kill switch is open"), "{stdout}");
    assert_eq!(abroad.condition(), before);
    let stdout = succeeded(&abroad.command(&["visit", "off", "--state", "walker-state"]));
    assert!(stdout.contains("nothing to do"), "{stdout}");
}

#[test]
fn a_visit_is_found_from_any_directory_and_ends_in_order_with_its_terminal() {
    if !inside("way_home::a_visit_is_found_from_any_directory_and_ends_in_order_with_its_terminal") {
        return;
    }
    let abroad = Abroad::build("info");
    let (_house, _ap) = abroad.town.open();
    let _home = abroad.start_home();
    let before = abroad.condition();
    let from_root = |arguments: &[&str]| {
        let mut command = abroad.town.world.command("member", env!("CARGO_BIN_EXE_guestright")).unwrap();
        command.args(arguments).current_dir("/").output().unwrap()
    };
    // Before: nobody is there to be found.
    let nothing = succeeded(&from_root(&["visit", "off"]));
    assert!(nothing.contains("nothing to do"), "{nothing}");

    let mut visit = abroad.visit(&[]);
    abroad.until_home(&visit);
    let found: Value = serde_json::from_str(&succeeded(&from_root(&["visit", "status", "--json"]))).unwrap();
    assert_eq!(found["access_point"], "10.11.0.1", "{found}");
    // A second one is told of the first, and what to do about it.
    let key = ["--key", "/run/town/guests/walker.key", "--certificate", "/run/town/guests/walker.cert"];
    let home = format!("{HOME_ADDRESS}:7274");
    for (state, wanted) in [
        ("/run/town/walker-state", "a visit runs already (process"),
        ("/run/town/other-state", "closed already"),
    ] {
        let second = from_root(&[&["visit", "--state", state, "--home", &home], &key[..]].concat());
        let words = String::from_utf8_lossy(&second.stderr).into_owned();
        assert_eq!(second.status.code(), Some(69), "{words}");
        assert!(words.contains(wanted) && words.contains("`guestright visit off` ends it"), "{words}");
        assert!(!words.contains("run as root"), "{words}");
    }
    // Another user may not look, and is told so.
    let mut nobody = abroad.town.world.command("member", "setpriv").unwrap();
    nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups", env!("CARGO_BIN_EXE_guestright")]);
    let output = nobody.args(["visit", "status"]).current_dir("/").output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    // Where a sandbox has no second user, there is none to be told.
    if !words.contains("setpriv") {
        assert!(words.contains("ask as root"), "{words}");
    }

    // The terminal is closed: goodbye, and the switch opens.
    visit.signal(Signal::HUP);
    visit.hear("to leave", |event| event["event"] == "ended");
    assert!(visit.wait().success(), "{}", visit.log());
    assert_eq!(abroad.condition(), before, "the switch is open");

    // Killed: the switch is closed, and is found and opened from anywhere.
    let mut visit = abroad.visit(&[]);
    abroad.until_home(&visit);
    visit.kill();
    let dead = from_root(&["visit", "status"]);
    let words = String::from_utf8_lossy(&dead.stderr).into_owned();
    assert!(dead.status.code() == Some(69) && words.contains("its kill switch is closed"), "{words}");
    let opened = succeeded(&from_root(&["visit", "off"]));
    assert!(opened.contains("the kill switch is open"), "{opened}");
    assert_eq!(abroad.condition(), before);
}

#[test]
fn a_home_that_does_not_answer_is_said_not_to() {
    if !inside("way_home::a_home_that_does_not_answer_is_said_not_to") {
        return;
    }
    let abroad = Abroad::build("info");
    let (_house, _ap) = abroad.town.open();
    // Nobody runs the home.
    let visit = abroad.visit(&[]);
    let silence = visit.hear("to say that it is offline", |event| event["reason"] == "no handshake");
    assert_eq!(silence["endpoint"], format!("{HOME_ADDRESS}:{}", abroad::TUNNEL_PORT), "{silence}");
    drop(visit);
}

#[test]
fn whoever_is_killed_the_visit_goes_on() {
    if !inside("way_home::whoever_is_killed_the_visit_goes_on") {
        return;
    }
    let abroad = Abroad::build("debug");
    let (_house, mut ap) = abroad.town.open();
    let mut home = abroad.start_home();
    let mut visit = abroad.visit(&[]);
    abroad.until_home(&visit);
    let mut flow = abroad.flow();
    assert!(echoes(&mut flow));

    home.kill();
    assert!(!abroad.town.is_online("member"));
    let began = Instant::now();
    let _home = abroad.start_home();
    abroad.until_online("the home was killed", began);
    visit.hear("to reach its home again", |event| event["event"] == "home" && event["up"] == true);
    println!("the team's home is reached after {:?}", began.elapsed());

    let mut flow = abroad.flow();
    assert!(echoes(&mut flow));
    ap.kill();
    let began = Instant::now();
    let _ap = abroad.town.start("ap");
    abroad.until_session(&visit, began);
    abroad.until_online("the access point was killed", began);
    assert!(echoes(&mut flow), "flows in the tunnel go on");

    visit.kill();
    let began = Instant::now();
    let visit = abroad.visit(&[]);
    abroad.until_home(&visit);
    abroad.until_online("the visitor was killed", began);
    abroad.town.leave(visit);
}

#[test]
fn an_access_point_that_says_it_is_over_does_not_open_the_switch() {
    if !inside("way_home::an_access_point_that_says_it_is_over_does_not_open_the_switch") {
        return;
    }
    let abroad = Abroad::build("debug");
    let (_house, mut ap) = abroad.town.open();
    let _home = abroad.start_home();
    let mut visit = abroad.visit(&[]);
    abroad.until_home(&visit);
    let (chatter, capture) = (abroad.chatter(), abroad.capture("port21"));
    // Somebody else answers at its address, unsigned, whatever is asked.
    ap.kill();
    let bind = || abroad.town.world.within("router", || UdpSocket::bind("10.11.0.1:7273")).unwrap().ok();
    let mut liar = None;
    // A program that the killed one was just starting may have the socket for a moment.
    until("the port to be free", || {
        liar = bind();
        liar.is_some()
    });
    let liar = liar.unwrap();
    let (lies, answered) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let (goes_on, count) = (Arc::clone(&lies), Arc::clone(&answered));
    let thread = thread::spawn(move || {
        let codes =
            [Code::Certificate, Code::Refused, Code::Closed, Code::Malformed, Code::NoSession, Code::Unpaid];
        liar.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        while goes_on.load(Ordering::Relaxed) {
            let Ok((_, from)) = liar.recv_from(&mut [0; 65_535]) else { continue };
            let code = codes[count.fetch_add(1, Ordering::Relaxed) % codes.len()];
            liar.send_to(&Message::error(code, "go away").emit(), from).unwrap();
        }
    });
    until("every lie to be told", || answered.load(Ordering::Relaxed) >= 12);
    assert!(visit.is_running(), "nobody but the person ends it: {}", visit.log());
    let sent = chatter.stop();
    let clear: Vec<_> = capture.stop().into_iter().filter(|(_, frame)| !is_allowed(frame)).collect();
    assert!(sent > 100 && clear.is_empty(), "of {sent} datagrams these left in the clear: {clear:?}");
    lies.store(false, Ordering::Relaxed);
    thread.join().unwrap();
    let began = Instant::now();
    let _ap = abroad.town.start("ap");
    abroad.until_online("the liar is gone", began);
    abroad.town.leave(visit);
}

#[test]
fn another_access_point_and_flows_go_on() {
    if !inside("way_home::another_access_point_and_flows_go_on") {
        return;
    }
    let abroad = Abroad::build("debug");
    let (_house, _ap) = abroad.town.open();
    let _second = abroad.open_second();
    let _home = abroad.start_home();
    let visit = abroad.visit(&[]);
    abroad.until_home(&visit);
    let mut flow = abroad.flow();
    assert!(echoes(&mut flow));
    let capture = abroad.capture("port21");
    let began = Instant::now();
    abroad.walk_on();
    visit.hear("to notice another access point", |event| {
        event["event"] == "moved" && event["access_point"] == SECOND_ACCESS_POINT
    });
    abroad.until_session(&visit, began);
    abroad.until_online("the walker walked on", began);
    assert!(echoes(&mut flow), "flows in the tunnel go on");
    assert_eq!(abroad.status()["access_point"], SECOND_ACCESS_POINT);
    capture.stop();
    abroad.town.leave(visit);
}

#[test]
fn without_a_configuration_there_is_no_visit_home_by_accident() {
    if !inside("way_home::without_a_configuration_there_is_no_visit_home_by_accident") {
        return;
    }
    let abroad = Abroad::build("info");
    let arguments = ["visit", "--key", "guests/second.key", "--certificate", "guests/second.cert"];
    let home = ["--state", "second-state", "--home", "198.18.40.2:7274"];
    let refused = abroad.command(&[&arguments[..], &home].concat());
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(78), "{words}");
    assert!(words.contains("guests/second.conf") && words.contains("--no-tunnel"), "{words}");
    // An access point that does not answer leaves nothing closed.
    let before = abroad.condition();
    let mut visit = abroad.visit(&["--access-point", "10.11.0.99"]);
    until("the switch to close", || abroad.condition() != before);
    visit.signal(Signal::INT);
    visit.wait();
    assert_eq!(abroad.condition(), before);
}

#[test]
fn a_home_whose_router_maps_no_ports_says_so_and_stops() {
    if !inside("way_home::a_home_whose_router_maps_no_ports_says_so_and_stops") {
        return;
    }
    let abroad = Abroad::build("info");
    let settings = abroad.town.path("guests/home.toml");
    let text = std::fs::read_to_string(&settings).unwrap() + "port_mapping = true\n";
    std::fs::write(&settings, text).unwrap();
    let mut home = abroad.start_home();
    let status =
        || look::ask("home", &abroad.town.path("guests/home.toml"), "status")["port_mapping"].clone();
    until("all four ports to be tried", || status().as_object().is_some_and(|ports| ports.len() == 4));
    let ports = status();
    for port in ["UDP port 51820", "TCP port 7273", "TCP port 7274", "TCP port 7275"] {
        let reasons = ports[port]["reasons"].as_array().unwrap();
        assert_eq!(reasons.len(), 3, "{ports}");
        assert!(reasons.iter().all(|reason| reason.as_str().unwrap().contains("198.18.40.1")), "{ports}");
    }
    let began = Instant::now();
    home.signal(Signal::TERM);
    assert!(home.wait().success());
    println!("it stopped after {:?}", began.elapsed());
}

fn echoes(flow: &mut TcpStream) -> bool {
    let mut answer = [0; 5];
    flow.write_all(b"hello").is_ok() && flow.read_exact(&mut answer).is_ok() && answer == *b"hello"
}

fn is_up(visit: &Program) -> Value {
    visit.hear("to go home", |event| event["event"] == "tunnel" && event["up"] == true)
}
