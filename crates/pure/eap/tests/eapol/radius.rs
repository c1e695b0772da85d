//! One run of `eapol_test`, without limits: our codec between a socket and the server.

use guestright_eap::{Config, Outcome, Server};
use guestright_radius::{Code, Draft, Kind, Msk, Packet, Secret, Wrapping};
use guestright_units::Time;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

/// What `eapol_test` is started with.
pub(crate) const SECRET: &str = "radsec";

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
    let secret = Secret::new(SECRET.as_bytes()).unwrap();
    let packet = Packet::parse(request).unwrap();
    packet.verify_request(&secret).unwrap();
    let mtu = packet.integer(Kind::FRAMED_MTU).unwrap().map(|mtu| u16::try_from(mtu).unwrap());
    let server = server.get_or_insert_with(|| Server::new(config, mtu, now));
    server.handle(&packet.joined(Kind::EAP_MESSAGE).unwrap(), now).ok()?;
    let eap = server.poll_transmit()?;
    let (code, msk) = match server.outcome() {
        None => (Code::AccessChallenge, None),
        Some(Outcome::Refused { .. }) => (Code::AccessReject, None),
        Some(Outcome::Accepted { msk, .. }) => (Code::AccessAccept, Some(Msk::new(*msk.as_bytes()))),
    };
    let authenticator = packet.authenticator();
    let mut draft = Draft::new(code, packet.identifier());
    draft.push(Kind::STATE, b"state").unwrap().push_eap(&eap).unwrap();
    if let Some(msk) = msk {
        let wrapping = Wrapping { secret: &secret, request: &authenticator };
        wrapping.push_keys(&mut draft, &msk, [1, 2, 3, 4]).unwrap();
    }
    Some(draft.emit_response(&secret, &authenticator))
}

fn now() -> Time {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Time(u64::try_from(now.as_micros()).unwrap())
}
