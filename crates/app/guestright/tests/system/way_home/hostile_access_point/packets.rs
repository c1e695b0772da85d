//! Packets made by hand, and put on the visitor's link as they are.

use super::script::{Claimed, Packet};
use super::{ACCESS_POINT, GATEWAY, SERVER, TCP_SERVICES, VISITOR};
use crate::town::Town;
use crate::town::services::checksum;
use crate::way_home::abroad::{HOME_ADDRESS, TUNNEL_PORT};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrAny, SocketType, eth, recvfrom, sendto, socket,
};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

type Mac = [u8; 6];

const WALKER: Mac = [0x02, 0x00, 0x5e, 0x10, 0x00, 0x21];
/// Whose packets claim to come from elsewhere than the access point's own address.
const LIAR: Mac = [0x02, 0x00, 0x5e, 0x10, 0x00, 0x66];
const PORT: u16 = 7_273;
/// Packets of the home's that are kept to be repeated.
const KEPT_MAX: usize = 64;

/// The visitor's link, where everything can be seen and anything said.
pub(super) struct Wire {
    socket: Arc<OwnedFd>,
    /// The end of the link towards the visitor.
    link: SocketAddrAny,
    seen: Arc<Mutex<Seen>>,
    pub(super) sent: u64,
    /// In these frames.
    pub(super) bytes: u64,
}

/// What went by.
#[derive(Default)]
struct Seen {
    /// The hardware address that the access point last used.
    access_point: Option<Mac>,
    from_home: VecDeque<Vec<u8>>,
    /// The visitor's ports of the tunnel and of the connection to the access point.
    tunnel_port: u16,
    protocol_port: u16,
}

impl Wire {
    /// Begins to listen, and waits for the first frame of the visitor's: it tells which link is its.
    pub(super) fn open(town: &Town) -> Self {
        let open = || socket(AddressFamily::PACKET, SocketType::RAW, Some(eth::ALL)).unwrap();
        let socket = Arc::new(town.world.within("router", open).unwrap());
        let seen = Arc::<Mutex<Seen>>::default();
        let (found, link) = mpsc::channel();
        let (reader, notes) = (Arc::clone(&socket), Arc::clone(&seen));
        thread::spawn(move || {
            let mut buffer = [0; 2_000];
            let mut found = Some(found);
            while let Ok((_, length, from)) = recvfrom(&*reader, &mut buffer, RecvFlags::TRUNC) {
                let frame = &buffer[..length.min(2_000)];
                if frame.len() > 34 && frame[6..12] == WALKER {
                    // The first to hand it on is the link itself, before the bridge that it is a port of.
                    if let (Some(found), Some(from)) = (found.take(), from) {
                        let _ = found.send(from);
                    }
                }
                notes.lock().unwrap().note(frame);
            }
        });
        let link = link.recv_timeout(crate::town::PATIENCE).expect("a frame of the visitor's");
        Self { socket, link, seen, sent: 0, bytes: 0 }
    }

    pub(super) fn send(&mut self, packet: &Packet) {
        let seen = self.seen.lock().unwrap();
        let frame = seen.frame(packet);
        drop(seen);
        let Some(frame) = frame else { return };
        // A link that is down takes nothing.
        if sendto(&*self.socket, &frame, SendFlags::empty(), &self.link).is_ok() {
            self.sent += 1;
            self.bytes += frame.len() as u64;
        }
    }
}

impl Seen {
    fn note(&mut self, frame: &[u8]) {
        if frame.len() < 42 || frame[12..14] != [8, 0] {
            return;
        }
        let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        if frame[..6] == WALKER && frame[26..30] == HOME_ADDRESS.octets() && word(34) == TUNNEL_PORT {
            self.access_point = Some(frame[6..12].try_into().unwrap());
            self.from_home.push_back(frame.to_vec());
            if self.from_home.len() > KEPT_MAX {
                self.from_home.pop_front();
            }
        }
        if frame[6..12] == WALKER {
            match (frame[23], word(36)) {
                (17, TUNNEL_PORT) => self.tunnel_port = word(34),
                (6, PORT) => self.protocol_port = word(34),
                _ => {}
            }
        }
    }

    /// A frame for the visitor, unless there is nothing yet to make it of.
    fn frame(&self, packet: &Packet) -> Option<Vec<u8>> {
        let claimed = |from: Claimed| match from {
            Claimed::AccessPoint => (ACCESS_POINT, PORT),
            Claimed::Home => (HOME_ADDRESS, TUNNEL_PORT),
            Claimed::Gateway => (GATEWAY, 53),
            Claimed::Server => (SERVER, 53),
            Claimed::Visitor => (VISITOR, TCP_SERVICES[0]),
            Claimed::Loopback => (Ipv4Addr::LOCALHOST, 53),
        };
        let to_port = |from: Claimed, to: u16, flow: bool| match from {
            Claimed::AccessPoint if flow => self.protocol_port,
            Claimed::Home if flow => self.tunnel_port,
            Claimed::AccessPoint
            | Claimed::Home
            | Claimed::Gateway
            | Claimed::Server
            | Claimed::Visitor
            | Claimed::Loopback => to,
        };
        let ip = match packet {
            Packet::Udp { from, to, flow } => {
                let (address, port) = claimed(*from);
                ipv4(address, 17, 0, &udp(port, to_port(*from, *to, *flow), b"forged"))
            }
            Packet::Tcp { from, to, flags, flow } => {
                let (address, port) = claimed(*from);
                ipv4(address, 6, 0, &tcp(address, port, to_port(*from, *to, *flow), *flags))
            }
            Packet::Fragment { from, to, first } => {
                let (address, port) = claimed(*from);
                let whole = udp(port, *to, &[7; 48]);
                // More fragments follow (RFC 791 section 3.1), or this one begins at byte 24.
                let (piece, field) = if *first { (&whole[..24], 0x2000) } else { (&whole[24..], 3) };
                ipv4(address, 17, field, piece)
            }
            Packet::Icmp { kind, code, rest } => {
                let about =
                    ipv4_between(VISITOR, HOME_ADDRESS, 17, 0, &udp(self.tunnel_port, TUNNEL_PORT, b""));
                ipv4(ACCESS_POINT, 1, 0, &icmp(*kind, *code, *rest, &about))
            }
            Packet::Arp { of, answer, other } => {
                let at = if *other { LIAR } else { self.access_point.unwrap_or(LIAR) };
                return Some(arp(claimed(*of).0, at, *answer));
            }
            Packet::RouterAdvertisement { lifetime, route } => {
                return Some(router_advertisement(*lifetime, *route));
            }
            Packet::Udp6 { to } => return Some(udp6(*to)),
            Packet::Tunnel { back, flip } => {
                let mut frame = self.from_home.iter().rev().nth(*back)?.clone();
                if let Some(bit) = flip {
                    // Behind the headers of Ethernet, IPv4 and UDP.
                    let at = 42 + bit / 8 % (frame.len() - 41);
                    *frame.get_mut(at)? ^= 1 << (bit % 8);
                }
                return Some(frame);
            }
        };
        Some([&WALKER[..], &self.access_point.unwrap_or(LIAR), &[8, 0], &ip].concat())
    }
}

fn ipv4(from: Ipv4Addr, protocol: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    ipv4_between(from, VISITOR, protocol, fragment, payload)
}

/// RFC 791 section 3.1, without options.
fn ipv4_between(from: Ipv4Addr, to: Ipv4Addr, protocol: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(20 + payload.len()).unwrap().to_be_bytes();
    let fragment = fragment.to_be_bytes();
    let mut header =
        vec![0x45, 0, length[0], length[1], 0x12, 0x34, fragment[0], fragment[1], 64, protocol, 0, 0];
    header.extend(from.octets());
    header.extend(to.octets());
    let sum = checksum(&header).to_be_bytes();
    header[10..12].copy_from_slice(&sum);
    [&header, payload].concat()
}

/// RFC 768; a checksum of 0 is none.
fn udp(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(8 + payload.len()).unwrap();
    let header: Vec<u8> = [from, to, length, 0].iter().flat_map(|word| word.to_be_bytes()).collect();
    [&header, payload].concat()
}

/// RFC 9293 section 3.1, without options or data.
fn tcp(address: Ipv4Addr, from: u16, to: u16, flags: u8) -> Vec<u8> {
    let ports: Vec<u8> = [from, to].iter().flat_map(|port| port.to_be_bytes()).collect();
    let mut segment = [&ports[..], &[0, 0, 0, 1, 0, 0, 0, 2, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]].concat();
    let pseudo = [&address.octets()[..], &VISITOR.octets(), &[0, 6, 0, 20]].concat();
    let sum = checksum(&[pseudo, segment.clone()].concat()).to_be_bytes();
    segment[16..18].copy_from_slice(&sum);
    segment
}

/// RFC 792.
fn icmp(kind: u8, code: u8, rest: [u8; 4], about: &[u8]) -> Vec<u8> {
    let mut message = [&[kind, code, 0, 0], &rest[..], about].concat();
    let sum = checksum(&message).to_be_bytes();
    message[2..4].copy_from_slice(&sum);
    message
}

/// RFC 826: that an address is at this hardware address, as an answer or as a question that says so by the way.
fn arp(of: Ipv4Addr, at: Mac, answer: bool) -> Vec<u8> {
    let head = [0, 1, 8, 0, 6, 4, 0, if answer { 2 } else { 1 }];
    [&WALKER[..], &at, &[8, 6], &head, &at, &of.octets(), &WALKER, &VISITOR.octets()].concat()
}

fn ipv6(from: Ipv6Addr, to: Ipv6Addr, next: u8, mut payload: Vec<u8>, checksum_at: usize) -> Vec<u8> {
    let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
    // RFC 8200 section 8.1.
    let pseudo = [&from.octets()[..], &to.octets(), &[0, 0], &length, &[0, 0, 0, next]].concat();
    let sum = checksum(&[pseudo, payload.clone()].concat()).to_be_bytes();
    payload[checksum_at..checksum_at + 2].copy_from_slice(&sum);
    let header = [0x60, 0, 0, 0, length[0], length[1], next, 255];
    [&WALKER[..], &LIAR, &[0x86, 0xdd], &header, &from.octets(), &to.octets(), &payload].concat()
}

const LIAR_LINK_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x66);

/// RFC 4861 section 4.2, with a prefix of its own, and with a route to half of everything (RFC 4191 section 2.3).
fn router_advertisement(lifetime: u16, route: bool) -> Vec<u8> {
    let lifetime = lifetime.to_be_bytes();
    let mut message = vec![134, 0, 0, 0, 64, 0, lifetime[0], lifetime[1], 0, 0, 0, 0, 0, 0, 0, 0];
    message.extend([3, 4, 64, 0xc0, 0, 0, 0x0e, 0x10, 0, 0, 0x0e, 0x10, 0, 0, 0, 0]);
    message.extend(Ipv6Addr::new(0x2001, 0xdb8, 0x66, 0, 0, 0, 0, 0).octets());
    if route {
        message.extend([24, 2, 1, 0x08, 0, 0, 0x0e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
    ipv6(LIAR_LINK_LOCAL, Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1), 58, message, 2)
}

fn udp6(to: u16) -> Vec<u8> {
    let visitor = Ipv6Addr::new(0xfd00, 0x12, 0, 0, 0, 0, 0, 0x21);
    let access_point = Ipv6Addr::new(0xfd00, 0x12, 0, 0, 0, 0, 0, 1);
    ipv6(access_point, visitor, 17, udp(PORT, to, b"forged"), 6)
}
