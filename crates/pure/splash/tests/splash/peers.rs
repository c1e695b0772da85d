//! Real peers: curl asks over a socket, dnsmasq reads what is written for it.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a thin server around the machine, in a test"
)]

use crate::states::{TRIAL, guest, settings, splash};
use guestright_splash::{Action, Guest, Received, Settings, Splash, Standing, Transport, Trial};
use guestright_units::Bytes;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The machine on a port of the loopback interface, for one guest. It ends with the test.
pub(crate) fn serve(guest: Guest) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let splash = Arc::new(Splash::new(Settings { address, ..settings() }).unwrap());
    let guest = Arc::new(Mutex::new(guest));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (splash, guest) = (splash.clone(), guest.clone());
            thread::spawn(move || serve_one(stream.unwrap(), &splash, &guest));
        }
    });
    address
}

fn serve_one(mut stream: TcpStream, splash: &Splash, guest: &Mutex<Guest>) {
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut bytes = Vec::new();
    let mut buffer = [0; 1_024];
    // A browser may open a connection ahead of need, and close it unused.
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..length]);
        let mut guest = guest.lock().unwrap();
        let Received::Whole(answer) = splash.handle_request(&bytes, Transport::Plain, &guest) else {
            continue;
        };
        if answer.action == Some(Action::StartTrial) {
            guest.trial = Trial::Running { left: Bytes(5_000_000), seconds_left: 600 };
        }
        drop(guest);
        // Whoever has gone does not get it.
        let _ = stream.write_all(&answer.response);
        return;
    }
}

fn curl(arguments: &[&str]) -> String {
    let output =
        Command::new("curl").args(["--silent", "--show-error", "--max-time", "10"]).args(arguments).output();
    let output = output.expect("curl, of the group `test` in scripts/setup.sh");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn curl_follows_a_probe_presses_the_button_and_sees_the_internet() {
    let address = serve(guest(Standing::Stranger, TRIAL));
    let site = format!("http://{address}");
    let to_us = format!("::{address}");
    let probe = ["--connect-to", to_us.as_str(), "http://connectivitycheck.gstatic.com/generate_204"];
    let page = curl(&[&["--location"], probe.as_slice()].concat());
    assert!(page.contains("You are not online yet"), "{page}");
    let token = page.split("name=\"token\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let press = format!("{site}/trial");
    let form = format!("token={token}&language=fr");
    let origin = format!("Origin: {site}");
    let evil = ["--header", "Origin: http://evil.example", "--data", &form, &press];
    assert_eq!(
        curl(&[&["--write-out", "%{http_code}", "--output", "/dev/null"], evil.as_slice()].concat()),
        "403"
    );
    let page = curl(&["--location", "--header", &origin, "--data", &form, &press]);
    assert!(page.contains("Vous êtes en ligne"), "{page}");
    assert_eq!(curl(&[&["--write-out", "%{http_code}"], probe.as_slice()].concat()), "204");
}

#[test]
fn dnsmasq_takes_the_line_that_is_written_for_it() {
    let uri = splash().announcement(None).unwrap().unwrap();
    let mut dnsmasq = Command::new("/usr/sbin/dnsmasq")
        .args(["--test", "--conf-file=-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("dnsmasq, of the group `test` in scripts/setup.sh");
    let lines = format!("dhcp-range=10.73.0.10,10.73.0.20,255.255.255.0,1h\n{}\n", uri.dnsmasq_line());
    dnsmasq.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = dnsmasq.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
