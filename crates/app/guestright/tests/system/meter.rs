//! How many calls an access point sees, and how many more it says fit.

mod admission;

use crate::town::services::AccessLog;
use crate::town::{Rules, Town, inside, session, succeeded};
use serde_json::Value;
use std::io::Write as _;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Sends what a telephone sends with G.711 until it is to stop: 172 bytes of UDP in each 20 ms, late ones at once.
fn talk(town: &Town, host: &str, to: &'static str) -> (Arc<AtomicBool>, thread::JoinHandle<()>) {
    let socket = town.world.within(host, || UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
    let hung_up = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&hung_up);
    let telephone = thread::spawn(move || {
        let mut next = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            // Until the session has begun its network may be out of reach.
            let _ = socket.send_to(&[0; 172], to);
            next += Duration::from_millis(20);
            thread::sleep(next.saturating_duration_since(Instant::now()));
        }
    });
    (hung_up, telephone)
}

#[test]
fn an_access_point_that_knows_its_radio_says_how_many_calls_there_are_and_fit() {
    if !inside("meter::an_access_point_that_knows_its_radio_says_how_many_calls_there_are_and_fit") {
        return;
    }
    let town = Town::build(Rules::default());
    town.serve_udp("net", "192.0.2.1:4000", &AccessLog::default());
    let mut settings = std::fs::OpenOptions::new().append(true).open(town.path("house/ap.toml")).unwrap();
    settings.write_all(b"\n[radio]\nstandard = \"b\"\nrate_mbps = 11\ntunnel = false\n").unwrap();
    let (_home, _ap) = town.open();
    let calls = |status: &Value| (status["calls"]["now"].as_u64(), status["calls"]["more"].as_u64());
    // As many as the lab's radio carries (docs/measurements.md).
    town.until_status("an empty radio", |status| calls(status) == (Some(0), Some(11)));
    let (_visit, _) = town.arrive("member", "guests", "member");
    let ip = town.address_of("member");
    let (hung_up, telephone) = talk(&town, "member", "192.0.2.1:4000");
    let status = town.until_status("a call", |status| calls(status).0 == Some(1));
    assert_eq!(session(&status, &ip)["open"], true, "{status}");
    assert!(
        (9..=10).contains(&calls(&status).1.unwrap()),
        "its guest's receipts take room too: {}",
        status["calls"]
    );
    let text = succeeded(&town.run(&["ap", "status", "--config", "house/ap.toml"]));
    assert!(text.contains("calls     1 by the rhythm of packets"), "{text}");
    let overview = succeeded(&town.run(&["home", "status", "--json", "--config", "house/home.toml"]));
    assert!(serde_json::from_str::<Value>(&overview).is_ok(), "{overview}");
    hung_up.store(true, Ordering::Relaxed);
    telephone.join().unwrap();
    town.until_status("the call to be over", |status| calls(status).0 == Some(0));
}
