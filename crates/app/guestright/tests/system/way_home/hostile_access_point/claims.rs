//! An access point that lets the tunnel through, puts as much junk on the visitor's link as it likes, and asks for
//! receipts under one team's name after the other, all day.

use super::packets::Wire;
use super::script::{Claimed, Packet};
use super::{ACCESS_POINT, Abroad, inside, thread};
use crate::credit::meter::{AHEAD, ask_for_receipts};
use crate::town::client::now;
use guestright_units::UnixSeconds;
use rustix::process::Signal;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const DAY: u64 = 86_400;
/// The hours of the day at which it is visited, and an hour of the next day.
const VISITS: [u64; 4] = [0, 8, 16, 24];
const DOWNLOAD: usize = 150_000;
/// Frames of the home's that are said again, in each visit, and as many that were changed on the way.
const REPEATS: usize = 1_000;

/// Lets the tunnel's datagrams pass, and counts them: IPv4 packets with their headers, both ways.
const COUNT: &str = "
table inet judge {
	counter tunnel { }
	chain forward {
		type filter hook forward priority 0
		udp dport 51820 counter name tunnel
		udp sport 51820 counter name tunnel
	}
}";

#[test]
fn a_day_of_asking_gets_receipts_for_what_the_tunnel_carried_and_no_more() {
    let name = "way_home::hostile_access_point::claims::\
                a_day_of_asking_gets_receipts_for_what_the_tunnel_carried_and_no_more";
    if !inside(name) {
        return;
    }
    let abroad = Abroad::build("info");
    let world = &abroad.town.world;
    world.sysctl("router", "net.ipv4.ip_forward", "1").unwrap();
    world.route("net", "10.11.0.0/24", "198.51.100.2").unwrap();
    world.run("router", "nft", &[COUNT]).unwrap();
    let listener = world.within("router", || TcpListener::bind((ACCESS_POINT, 7_273))).unwrap().unwrap();
    let _home = abroad.start_quiet_home();
    let carried = || {
        let listed =
            world.run("router", "nft", &["-j", "list", "counter", "inet", "judge", "tunnel"]).unwrap();
        let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
        listed["nftables"][1]["counter"]["bytes"].as_u64().unwrap()
    };
    let midnight = UnixSeconds((now().0 / DAY + 1) * DAY);
    let (mut wire, mut all, mut junk) = (None, 0, 0);
    for (number, hour) in (0..).zip(VISITS) {
        let ahead = midnight.0 + hour * 3_600 + 300 - now().0;
        let asking = listener.try_clone().unwrap();
        let all_came = Arc::<AtomicBool>::default();
        let came = Arc::clone(&all_came);
        let asking = thread::spawn(move || ask_for_receipts(&asking, number, ahead, &came));
        let offset = format!("+{ahead}s");
        let clock = [
            ("LD_PRELOAD", "/usr/$LIB/faketime/libfaketime.so.1"),
            ("FAKETIME", offset.as_str()),
            ("DONT_FAKE_MONOTONIC", "1"),
        ];
        let mut visit = abroad.visit_with(&[], &clock);
        abroad.until_home(&visit);
        abroad.town.download("member", DOWNLOAD).unwrap();
        all_came.store(true, Ordering::Release);
        let wire = wire.get_or_insert_with(|| Wire::open(&abroad.town));
        let before = wire.bytes;
        for back in 0..REPEATS {
            wire.send(&Packet::Tunnel { back: back % 60, flip: None });
            wire.send(&Packet::Tunnel { back: back % 60, flip: Some(back) });
            wire.send(&Packet::Udp { from: Claimed::Home, to: 0, flow: true });
        }
        junk += wire.bytes - before;
        let signed = asking.join().unwrap();
        all += signed;
        visit.signal(Signal::INT);
        visit.wait();
        let (carried, days) = (carried(), 1 + hour / 24);
        println!("at {hour}:05 {signed} signed, {all} in all; {carried} carried, {junk} of junk");
        assert!(all <= carried * 105 / 100 + AHEAD * days, "{all} signed, {carried} carried on {days} days");
    }
    let downloads = (DOWNLOAD * VISITS.len()) as u64;
    assert!(all >= downloads, "{all}: it signs for what was carried");
    assert!(junk > 2 * carried(), "{junk} bytes of junk");
}
