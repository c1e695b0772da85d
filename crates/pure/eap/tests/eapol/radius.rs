//! As much RADIUS as one run of `eapol_test` takes (RFC 2865, 2548, 3579): no limits and no checks.

use guestright_eap::{Config, Outcome, Server};
use guestright_units::Time;
use hmac::{Hmac, KeyInit as _, Mac as _};
use md5::{Digest as _, Md5};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

const SECRET: &[u8] = b"radsec";
const STATE: u8 = 24;
const VENDOR: u8 = 26;
const EAP_MESSAGE: u8 = 79;
const MESSAGE_AUTHENTICATOR: u8 = 80;
const FRAMED_MTU: u8 = 12;

pub(crate) struct Radius {
    port: u16,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(Option<Outcome>, u32)>,
}

impl Radius {
    pub(crate) fn start(config: &Config) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let (port, stop) = (socket.local_addr().unwrap().port(), Arc::new(AtomicBool::new(false)));
        let (config, stopped) = (config.clone(), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let mut server = None;
            let mut round_trips = 0;
            let mut buffer = [0; 4_096];
            while !stopped.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
                round_trips += 1;
                if let Some(answer) = answer(&config, &mut server, &buffer[..length]) {
                    socket.send_to(&answer, from).unwrap();
                }
            }
            (server.and_then(|server| server.outcome().cloned()), round_trips)
        });
        Self { port, stop, thread }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// How it went, and how many packets came.
    pub(crate) fn stop(self) -> (Option<Outcome>, u32) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn answer(config: &Config, server: &mut Option<Server>, request: &[u8]) -> Option<Vec<u8>> {
    let now = now();
    let (mut eap, mut mtu) = (Vec::new(), None);
    let mut attributes = &request[20..];
    while let [kind, length, rest @ ..] = attributes {
        let (value, rest) = rest.split_at(usize::from(*length) - 2);
        match *kind {
            EAP_MESSAGE => eap.extend_from_slice(value),
            FRAMED_MTU => mtu = value.last_chunk().map(|mtu| u16::from_be_bytes(*mtu)),
            _ => (),
        }
        attributes = rest;
    }
    let server = server.get_or_insert_with(|| Server::new(config, mtu, now));
    server.handle(&eap, now).ok()?;
    let eap = server.poll_transmit()?;
    let (code, keys) = match server.outcome() {
        None => (11, None),
        Some(Outcome::Refused { .. }) => (3, None),
        Some(Outcome::Accepted { msk, .. }) => (2, Some(*msk.as_bytes())),
    };
    Some(response(code, request, &eap, keys))
}

fn now() -> Time {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Time(u64::try_from(now.as_micros()).unwrap())
}

fn response(code: u8, request: &[u8], eap: &[u8], keys: Option<[u8; 64]>) -> Vec<u8> {
    let authenticator = &request[4..20];
    let mut packet = [&[code, request[1], 0, 0][..], authenticator].concat();
    let mut push = |kind: u8, value: &[u8]| {
        packet.push(kind);
        packet.push(u8::try_from(value.len() + 2).unwrap());
        packet.extend_from_slice(value);
    };
    push(STATE, b"state");
    for piece in eap.chunks(253) {
        push(EAP_MESSAGE, piece);
    }
    if let Some(msk) = keys {
        // The first half is for receiving (RFC 3748, section 7.10; RFC 2548, section 2.4).
        for (kind, salt, key) in [(17, [0x80, 1], &msk[..32]), (16, [0x80, 2], &msk[32..])] {
            let hidden = hide(key, authenticator, salt);
            let length = u8::try_from(hidden.len() + 4).unwrap();
            push(VENDOR, &[&[0, 0, 0x01, 0x37, kind, length], &salt[..], &hidden].concat());
        }
    }
    push(MESSAGE_AUTHENTICATOR, &[0; 16]);
    let length = u16::try_from(packet.len()).unwrap();
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    let mut mac = Hmac::<Md5>::new_from_slice(SECRET).unwrap();
    mac.update(&packet);
    let end = packet.len() - 16;
    packet[end..].copy_from_slice(&mac.finalize().into_bytes());
    let mut digest = Md5::new();
    digest.update(&packet);
    digest.update(SECRET);
    let digest = digest.finalize();
    packet[4..20].copy_from_slice(&digest);
    packet
}

/// A key as MS-MPPE attributes carry it (RFC 2548, section 2.4.2).
fn hide(key: &[u8], authenticator: &[u8], salt: [u8; 2]) -> Vec<u8> {
    let mut plain = vec![u8::try_from(key.len()).unwrap()];
    plain.extend_from_slice(key);
    plain.resize(plain.len().next_multiple_of(16), 0);
    let mut hidden: Vec<u8> = Vec::new();
    let mut before = [authenticator, &salt].concat();
    for block in plain.chunks(16) {
        let mut digest = Md5::new();
        digest.update(SECRET);
        digest.update(&before);
        let pad = digest.finalize();
        let block: Vec<u8> = block.iter().zip(pad).map(|(byte, pad)| byte ^ pad).collect();
        hidden.extend_from_slice(&block);
        before = block;
    }
    hidden
}
