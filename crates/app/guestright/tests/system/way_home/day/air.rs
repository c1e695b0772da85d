//! What the laptop's programs try to send, and what may be seen of it.

use super::super::abroad::{HOME_ADDRESS, TUNNEL_PORT};
use super::super::capture::{Capture, Frame};
use super::networks::{self, NETWORKS};
use super::{Day, PORTAL};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The search's question as an IPv4 packet: 28 bytes of headers, 12 of DNS, `guestright.invalid`, type and class.
const QUESTION_LEN: usize = 28 + 12 + 20 + 4;
/// Where the search asks for a page that nobody has.
const NOBODY: (Ipv4Addr, u16) = (Ipv4Addr::new(192, 0, 2, 80), 80);

/// A program on the laptop that talks to everybody, all day long.
pub(super) struct Chatter {
    done: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Chatter {
    pub(super) fn begin(day: &Day) -> Self {
        let open = || (UdpSocket::bind("0.0.0.0:0").unwrap(), UdpSocket::bind("[::]:0").unwrap());
        let (v4, v6) = day.abroad.town.world.within("member", open).unwrap();
        v4.set_broadcast(true).unwrap();
        let done = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&done);
        let thread = thread::spawn(move || {
            let near = NETWORKS.iter().flat_map(|network| [9, 53, 80].map(|port| (network.gateway(), port)));
            let far = ["192.0.2.1:9", "192.0.2.80:80", "255.255.255.255:9", "224.0.0.251:5353"];
            let far = far.map(|address| address.parse::<SocketAddr>().unwrap());
            let everybody: Vec<_> = near.map(SocketAddr::from).chain(far).collect();
            let everybody_6 = ["[2001:db8::1]:9", "[ff02::fb]:5353"];
            let everybody_6 = everybody_6.map(|address| address.parse::<SocketAddr>().unwrap());
            let mut tries = 0;
            while !until.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(5));
                // Most of it is held back, which comes back as errors.
                for address in &everybody {
                    let _ = v4.send_to(b"chatter", address);
                }
                for address in everybody_6 {
                    let _ = v6.send_to(b"chatter", address);
                }
                tries += 1;
            }
            tries
        });
        Self { done, thread }
    }

    /// How often it has tried.
    pub(super) fn stop(self) -> u64 {
        self.done.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// Everything that the laptop puts on the air, and whether it may.
pub(super) struct Watch {
    capture: Capture,
    /// How far it is judged.
    at: usize,
    judged: usize,
}

impl Watch {
    pub(super) fn begin(day: &Day) -> Self {
        Self { capture: day.abroad.capture_on("member", "wlan0"), at: 0, judged: 0 }
    }

    /// Judges what has come since the last time; returns how many frames there were in all. The file of a long day would take more room than there is.
    pub(super) fn judge(&mut self) -> usize {
        let frames = self.capture.frames_from(&mut self.at);
        self.capture.forget(self.at);
        let wrong: Vec<_> = frames.iter().map(|(_, frame)| frame).filter(|frame| !may_leave(frame)).collect();
        assert!(wrong.is_empty(), "{} frames: {:?}", wrong.len(), &wrong[..wrong.len().min(20)]);
        self.judged += frames.len();
        self.judged
    }

    /// Judges the rest; returns how many frames there were in all.
    pub(super) fn stop(mut self) -> usize {
        self.capture.end();
        self.judge()
    }
}

/// Whether the air may have this frame of the laptop's, in whatever network.
fn may_leave(frame: &Frame) -> bool {
    match frame {
        Frame::Arp => true,
        Frame::Ip4 { protocol: 17, to, length, .. } => {
            // The tunnel, the protocol with whoever is the gateway, and the question for a name that nobody has.
            *to == (HOME_ADDRESS, TUNNEL_PORT)
                || networks::is_gateway(to.0) && (to.1 == 7_273 || (to.1, *length) == (53, QUESTION_LEN))
        }
        Frame::Ip4 { protocol: 6, to, .. } => {
            networks::is_gateway(to.0) && to.1 == 7_273
                || *to == NOBODY
                || SocketAddr::from(*to) == PORTAL.parse().unwrap()
        }
        Frame::Ip4 { .. } | Frame::Ip6 | Frame::Other(_) => false,
    }
}
