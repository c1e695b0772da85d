//! Stations without a grant are led to the access point's page.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use guestright_firewall::{Class, Firewall, Page, Settings};
use guestright_netns::testing::PATIENCE;

use crate::testbed::{ACCESS_POINT, ALL, Testbed, W1, mac};

const PAGE: u16 = 7_280;
const OUTSIDE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 2);

fn settings(testbed: &Testbed) -> Settings {
    Settings { page: Some(Page { port: PAGE, secured_port: None }), ..testbed.settings() }
}

/// Answers each connection with one text and ends it, for as long as the test runs.
fn serve(testbed: &Testbed, host: &str, address: impl Into<SocketAddr>, text: &'static str) {
    let address = address.into();
    let listener = testbed.on(host, || TcpListener::bind(address)).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            // Whoever has gone does not get it.
            let _ = stream.read(&mut [0; 10]).and_then(|_| stream.write_all(text.as_bytes()));
        }
    });
}

/// What is there.
fn get(testbed: &Testbed, host: &str, address: impl Into<SocketAddr>) -> std::io::Result<String> {
    let address = address.into();
    let mut stream = testbed.on(host, || TcpStream::connect_timeout(&address, PATIENCE))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"hello")?;
    let mut text = String::new();
    stream.read_to_string(&mut text).map(|_| text)
}

fn up(testbed: &Testbed) -> Firewall {
    serve(testbed, "ap", (ACCESS_POINT, PAGE), "page");
    serve(testbed, "net", (OUTSIDE, 80), "outside");
    testbed.up_with(settings(testbed))
}

#[test]
fn a_station_without_a_grant_is_led_to_the_page_and_one_with_it_goes_out() {
    let name = "page::a_station_without_a_grant_is_led_to_the_page_and_one_with_it_goes_out";
    let Some(testbed) = Testbed::inside(name, true) else { return };
    let mut firewall = up(&testbed);
    let unrouted = Ipv4Addr::new(192, 0, 2, 77);
    for address in [(OUTSIDE, 80), (unrouted, 80), (ACCESS_POINT, PAGE)] {
        assert_eq!(get(&testbed, "w1", address).unwrap(), "page", "{address:?}");
    }
    let tracked = testbed.world.run("ap", "cat", &["/proc/sys/net/netfilter/nf_conntrack_count"]).unwrap();
    assert_eq!(tracked.trim(), "0", "nothing of strangers is tracked");
    testbed.on("ap", || firewall.grant(mac(1), W1, Class::Middle, ALL)).unwrap();
    assert_eq!(get(&testbed, "w1", (OUTSIDE, 80)).unwrap(), "outside");
    assert_eq!(
        get(&testbed, "w1", (ACCESS_POINT, PAGE)).unwrap(),
        "page",
        "how it stands can be seen all the time"
    );
    assert_eq!(get(&testbed, "w2", (OUTSIDE, 80)).unwrap(), "page", "the other has no grant");
    testbed.on("ap", || firewall.close(mac(1), W1)).unwrap();
    assert_eq!(get(&testbed, "w1", (OUTSIDE, 80)).unwrap(), "page");
    testbed.on("ap", || firewall.down()).unwrap();
}

#[test]
fn nothing_but_the_web_is_led_to_the_page() {
    let Some(testbed) = Testbed::inside("page::nothing_but_the_web_is_led_to_the_page", true) else { return };
    let firewall = up(&testbed);
    serve(&testbed, "home", (Ipv4Addr::new(192, 168, 1, 2), 80), "household");
    serve(&testbed, "ap", (ACCESS_POINT, 80), "router");
    let began = Instant::now();
    for port in [443, 8_080, 853] {
        let error = get(&testbed, "w1", (OUTSIDE, port)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{port}: {error}");
    }
    assert!(began.elapsed() < Duration::from_millis(500), "no phone waits: {:?}", began.elapsed());
    for address in [Ipv4Addr::new(192, 168, 1, 2), ACCESS_POINT] {
        let tried = testbed
            .on("w1", || TcpStream::connect_timeout(&(address, 80).into(), Duration::from_millis(500)));
        assert_eq!(tried.unwrap_err().kind(), ErrorKind::TimedOut, "{address}");
    }
    testbed.on("ap", || firewall.down()).unwrap();
}

#[test]
fn a_guest_whose_grant_is_late_is_not_led_to_the_page() {
    let name = "page::a_guest_whose_grant_is_late_is_not_led_to_the_page";
    let Some(testbed) = Testbed::inside(name, true) else { return };
    serve(&testbed, "ap", (ACCESS_POINT, PAGE), "page");
    let mut firewall = testbed.up_with(Settings { lease_ms: 100, ..settings(&testbed) });
    testbed.on("ap", || firewall.grant(mac(1), W1, Class::Middle, ALL)).unwrap();
    thread::sleep(Duration::from_millis(200)); // The kernel's own time.
    let tried =
        testbed.on("w1", || TcpStream::connect_timeout(&(OUTSIDE, 80).into(), Duration::from_millis(500)));
    assert_eq!(tried.unwrap_err().kind(), ErrorKind::TimedOut, "it is dropped, as before there was a page");
    testbed.on("ap", || firewall.down()).unwrap();
}

#[test]
fn one_stations_flood_takes_nobody_elses_page() {
    let Some(testbed) = Testbed::inside("page::one_stations_flood_takes_nobody_elses_page", true) else {
        return;
    };
    let mut firewall = up(&testbed);
    let addresses: Vec<SocketAddr> =
        (1..=250).map(|last| (Ipv4Addr::new(192, 0, 2, last), 80).into()).collect();
    let began = Instant::now();
    testbed.on("w1", || {
        for address in addresses {
            let _ = TcpStream::connect_timeout(&address, Duration::from_millis(2));
        }
    });
    let led = testbed.world.run("ap", "nft", &["list", "map", "inet", "guestright", "redirected"]).unwrap();
    let seconds = usize::try_from(began.elapsed().as_secs()).unwrap();
    let (led, most) = (led.matches("192.0.2.").count(), 40 + 10 * (seconds + 1));
    assert!((40..=most).contains(&led), "{led} of {most}");
    assert_eq!(get(&testbed, "w2", (OUTSIDE, 80)).unwrap(), "page");
    assert!(testbed.drops(&mut firewall)["flood"] > 100);
    testbed.on("ap", || firewall.down()).unwrap();
}

#[test]
fn while_the_table_is_gone_nobody_is_led_anywhere_and_the_routers_own_page_stays_shut() {
    let name = "page::while_the_table_is_gone_nobody_is_led_anywhere_and_the_routers_own_page_stays_shut";
    let Some(testbed) = Testbed::inside(name, true) else { return };
    serve(&testbed, "ap", (ACCESS_POINT, 80), "router");
    serve(&testbed, "ap", (ACCESS_POINT, PAGE), "page");
    serve(&testbed, "net", (OUTSIDE, 80), "outside");
    let firewall = testbed.up_with(Settings { own_table: false, ..settings(&testbed) });
    testbed.nft("ap", "flush ruleset\n");
    let tried = |address: Ipv4Addr| {
        testbed
            .on("w1", || TcpStream::connect_timeout(&(address, 80).into(), Duration::from_millis(500)))
            .unwrap_err()
    };
    assert_eq!(tried(ACCESS_POINT).kind(), ErrorKind::TimedOut, "the static filter keeps it");
    assert_ne!(tried(OUTSIDE).kind(), ErrorKind::ConnectionRefused, "nobody answers in its place");
    let mut firewall = firewall;
    testbed.on("ap", || firewall.reconcile(|_| ())).unwrap();
    assert_eq!(get(&testbed, "w1", (OUTSIDE, 80)).unwrap(), "page", "it is put back");
    testbed.on("ap", || firewall.down()).unwrap();
}
