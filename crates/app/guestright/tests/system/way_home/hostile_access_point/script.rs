//! What a hostile access point does, drawn from a seed: the same seed, the same script.

use guestright_roaming::message::Code;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use std::time::Duration;

/// Tricks in a script.
pub(super) const TRICKS: usize = 20;
/// The longest pause between two tricks.
const PAUSE_MS_MAX: u64 = 18;
/// One trick in so many makes the visit look for the access point anew, as a lost link does. It takes seconds, in which
/// there is nobody for the other tricks to be played on.
const UPHEAVAL: u32 = 800;

/// One thing that the access point does.
#[derive(Clone, Debug)]
pub(super) enum Trick {
    /// Something after which the visit has to look for the access point anew.
    Upheaval(Box<Trick>),
    /// How questions are answered from now on.
    Answer(Manner),
    /// Asks for a receipt.
    Request {
        weight: Weight,
        session: Which,
        last: bool,
        way: Way,
        copies: u16,
    },
    Error {
        code: Code,
        way: Way,
    },
    /// Says again what it has said before, the `back`th last.
    Repeat {
        back: usize,
        way: Way,
    },
    /// Something that is no message, or a message for somebody else.
    Junk {
        junk: Junk,
        way: Way,
    },
    /// Closes every connection.
    Close,
    /// Opens a connection to a service of the visitor's from this port of its own; 0 is any.
    Connect {
        from: u16,
        to: u16,
        ipv6: bool,
    },
    /// Says something on a connection to a service that was opened before there was a kill switch.
    Old,
    /// Sends datagrams to a service of the visitor's out of its protocol's socket.
    Datagram {
        to: u16,
    },
    /// Sends a packet that says it comes from somebody else.
    Forge {
        packet: Packet,
        copies: u16,
    },
    /// What the visitor's system takes over from a DHCP server.
    Network(Change),
    /// What the access point does to its own end of the link.
    Own(Change),
}

/// How a question is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    Properly {
        interval_us: u64,
    },
    /// The same, but to who leaves it says nothing, and closes the connection.
    HangsUp,
    /// The same, but to who leaves it says that.
    Scolds(Code),
    Twice,
    WrongNonce,
    OtherMember,
    Expired,
    /// With a member's certificate in place of an access point's.
    WrongRole,
    Forged,
    /// Terms of a session that began so many seconds from now.
    Began(i64),
    /// Terms of the session before.
    Again,
    Silence,
    Says(Code),
    Junk,
    Closes,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Weight {
    Exactly(u64),
    /// More than was asked for last.
    More(u64),
    Less(u64),
}

/// Which session a request names.
#[derive(Clone, Copy, Debug)]
pub(super) enum Which {
    Current,
    Before,
    Other(u64),
}

/// How a message gets to the visitor.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    Connection,
    Datagram,
    /// Over the connection, cut here.
    Pieces(usize),
    /// The first so many bytes of it, after which the connection is closed.
    Part(usize),
    /// With one bit changed.
    Flipped(usize),
}

#[derive(Clone, Debug)]
pub(super) enum Junk {
    Bytes(Vec<u8>),
    /// A header that promises a body of this length.
    Length(u64),
    /// A header without an end.
    Endless,
    /// A well-formed message that is not for a visitor.
    NotForVisitors(u8),
}

/// A packet made by hand. Ports and addresses are those it claims.
#[derive(Clone, Debug)]
pub(super) enum Packet {
    Udp {
        from: Claimed,
        to: u16,
        flow: bool,
    },
    Tcp {
        from: Claimed,
        to: u16,
        flags: u8,
        flow: bool,
    },
    /// A piece of a datagram to a service: the first or a later one.
    Fragment {
        from: Claimed,
        to: u16,
        first: bool,
    },
    /// ICMP of this type and code, about the visitor's datagrams to its home.
    Icmp {
        kind: u8,
        code: u8,
        rest: [u8; 4],
    },
    /// That an address is at this hardware address: somebody else's, or the access point's own.
    Arp {
        of: Claimed,
        answer: bool,
        other: bool,
    },
    RouterAdvertisement {
        lifetime: u16,
        route: bool,
    },
    Udp6 {
        to: u16,
    },
    /// A packet of the home's that came by before, as it was or with one bit changed.
    Tunnel {
        back: usize,
        flip: Option<usize>,
    },
}

/// Whom a packet claims to be from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claimed {
    AccessPoint,
    Home,
    /// The home's address in the tunnel.
    Gateway,
    Server,
    Visitor,
    Loopback,
}

#[derive(Clone, Debug)]
pub(super) enum Change {
    Route(&'static str),
    Address(&'static str),
    /// Another default gateway.
    Gateway(&'static str),
    Mtu(u16),
    /// The link goes down for so long.
    Down(Duration),
    /// Another hardware address of the access point.
    Hardware(u8),
    /// Forwards nothing for so long.
    Block(Duration),
}

const CODES: [Code; 8] = [
    Code::Malformed,
    Code::Certificate,
    Code::Receipt,
    Code::Refused,
    Code::Busy,
    Code::Unpaid,
    Code::NoSession,
    Code::Closed,
];
/// More specific than a default route, so that they win (TunnelVision), towards the Internet, the home, and what is behind
/// the tunnel.
const ROUTES: [&str; 7] = [
    "0.0.0.0/1",
    "128.0.0.0/1",
    "192.0.2.0/24",
    "192.0.2.1/32",
    "198.18.40.2/32",
    "10.73.6.0/24",
    "224.0.0.0/4",
];
/// On-link networks that pretend to hold the server, the home's network, or nothing (LocalNet).
const ADDRESSES: [&str; 4] = ["192.0.2.7/24", "10.73.6.77/24", "10.11.0.77/24", "198.18.40.7/24"];
const GATEWAYS: [&str; 2] = ["10.11.0.2", "10.11.0.1"];

/// The script of this seed: each trick, and the pause after it.
pub(super) fn script(seed: u64) -> Vec<(Trick, Duration)> {
    let mut rng = StdRng::seed_from_u64(seed);
    // Most scripts begin with a session, for otherwise there is none to be dishonest about.
    let mut tricks = Vec::new();
    if rng.random_ratio(3, 4) {
        tricks.push(Trick::Answer(Manner::Properly { interval_us: 5_000_000 }));
    }
    while tricks.len() < TRICKS {
        tricks.push(trick(&mut rng));
    }
    tricks
        .into_iter()
        .map(|trick| (trick, Duration::from_millis(rng.random_range(0..=PAUSE_MS_MAX))))
        .collect()
}

fn trick(rng: &mut StdRng) -> Trick {
    if rng.random_ratio(1, UPHEAVAL) {
        return Trick::Upheaval(Box::new(upheaval(rng)));
    }
    match rng.random_range(0..100) {
        0..10 => Trick::Answer(manner(rng)),
        10..28 => Trick::Request {
            weight: weight(rng),
            session: match rng.random_range(0..10) {
                0..8 => Which::Current,
                8 => Which::Before,
                _ => Which::Other(rng.random()),
            },
            last: rng.random_ratio(1, 20),
            way: way(rng),
            copies: if rng.random_ratio(1, 30) { 100 } else { rng.random_range(1..4) },
        },
        28..32 => Trick::Error { code: *CODES.choose(rng).unwrap(), way: way(rng) },
        32..38 => Trick::Repeat { back: rng.random_range(0..64), way: way(rng) },
        38..41 => Trick::Junk { junk: junk(rng), way: way(rng) },
        41 => Trick::Close,
        42..45 => Trick::Old,
        45..55 => Trick::Connect {
            from: *[7_273, 7_273, 7_273, 0, 53, 67, 51_820].choose(rng).unwrap(),
            to: *super::TCP_SERVICES.choose(rng).unwrap(),
            ipv6: rng.random_ratio(1, 8),
        },
        55..62 => Trick::Datagram { to: *super::UDP_SERVICES.choose(rng).unwrap() },
        62..94 => Trick::Forge {
            packet: packet(rng),
            copies: if rng.random_ratio(1, 20) { 100 } else { rng.random_range(1..4) },
        },
        94..98 => Trick::Network(match rng.random_range(0..3) {
            0 => Change::Mtu(*[576, 900, 1_280, 1_400, 1_500].choose(rng).unwrap()),
            1 => Change::Route(ROUTES.choose(rng).unwrap()),
            _ => Change::Address(ADDRESSES.choose(rng).unwrap()),
        }),
        _ => Trick::Own(Change::Block(Duration::from_millis(rng.random_range(1..50)))),
    }
}

fn upheaval(rng: &mut StdRng) -> Trick {
    let down = Change::Down(Duration::from_millis(rng.random_range(1..30)));
    match rng.random_range(0..5) {
        0 => Trick::Network(down),
        1 => Trick::Network(Change::Gateway(GATEWAYS.choose(rng).unwrap())),
        2 => Trick::Own(Change::Hardware(rng.random())),
        3 => Trick::Forge {
            packet: Packet::Arp { of: Claimed::AccessPoint, answer: rng.random(), other: true },
            copies: 3,
        },
        _ => Trick::Own(down),
    }
}

fn manner(rng: &mut StdRng) -> Manner {
    match rng.random_range(0..24) {
        0..10 => Manner::Properly { interval_us: *[0, 1, 100_000, 5_000_000, u64::MAX].choose(rng).unwrap() },
        10 => Manner::Twice,
        11 => Manner::WrongNonce,
        12 => Manner::OtherMember,
        13 => Manner::Expired,
        14 => Manner::WrongRole,
        15 => Manner::Forged,
        16 => Manner::Began(*[-1_000_000, -700, 700, 1_000_000].choose(rng).unwrap()),
        17 => Manner::Again,
        18 => Manner::Silence,
        19..22 => Manner::Says(*CODES.choose(rng).unwrap()),
        22 => Manner::Junk,
        _ => Manner::Closes,
    }
}

fn weight(rng: &mut StdRng) -> Weight {
    match rng.random_range(0..6) {
        0 => Weight::Exactly(*[0, 1, u64::MAX, 1 << 62, 100_000_000].choose(rng).unwrap()),
        1 => Weight::Less(rng.random_range(0..100_000)),
        _ => Weight::More(*[0, 1, 1_000, 10_000, 60_000, 1_000_000].choose(rng).unwrap()),
    }
}

fn way(rng: &mut StdRng) -> Way {
    match rng.random_range(0..40) {
        0..22 => Way::Connection,
        22..30 => Way::Datagram,
        30..35 => Way::Pieces(rng.random_range(1..200)),
        35 => Way::Part(rng.random_range(1..200)),
        _ => Way::Flipped(rng.random_range(0..2_000)),
    }
}

fn junk(rng: &mut StdRng) -> Junk {
    match rng.random_range(0..4) {
        0 => Junk::Bytes((0..rng.random_range(1..2_000)).map(|_| rng.random()).collect()),
        1 => Junk::Length(*[1, 65_536, 65_537, u64::MAX].choose(rng).unwrap()),
        2 => Junk::Endless,
        _ => Junk::NotForVisitors(rng.random()),
    }
}

fn packet(rng: &mut StdRng) -> Packet {
    let from = |rng: &mut StdRng| {
        use Claimed::*;
        *[AccessPoint, AccessPoint, AccessPoint, Home, Home, Gateway, Server, Visitor, Loopback]
            .choose(rng)
            .unwrap()
    };
    match rng.random_range(0..16) {
        0..4 => Packet::Udp {
            from: from(rng),
            to: *super::UDP_SERVICES.choose(rng).unwrap(),
            flow: rng.random_ratio(1, 3),
        },
        4..8 => Packet::Tcp {
            from: from(rng),
            to: *super::TCP_SERVICES.choose(rng).unwrap(),
            // SYN, SYN+ACK, ACK, RST, FIN+ACK, everything, nothing (RFC 9293 section 3.1).
            flags: *[0x02, 0x12, 0x10, 0x04, 0x11, 0x3f, 0x00].choose(rng).unwrap(),
            flow: rng.random_ratio(1, 3),
        },
        8 => Packet::Fragment {
            from: from(rng),
            to: *super::UDP_SERVICES.choose(rng).unwrap(),
            first: rng.random(),
        },
        9..11 => Packet::Icmp {
            // Echo, redirects, unreachable of every kind, time exceeded, parameter problem, timestamp, mask, router (RFC 792,
            // 950, 1256).
            kind: *[8, 5, 3, 3, 3, 11, 12, 13, 17, 9].choose(rng).unwrap(),
            code: rng.random_range(0..5),
            rest: *[[0, 0, 0, 68], [0, 0, 2, 64], [10, 11, 0, 66], [10, 11, 0, 2]].choose(rng).unwrap(),
        },
        11 => {
            let of = from(rng);
            Packet::Arp { of, answer: rng.random(), other: of != Claimed::AccessPoint }
        }
        12 => Packet::RouterAdvertisement { lifetime: *[0, 1_800].choose(rng).unwrap(), route: rng.random() },
        13 => Packet::Udp6 { to: *super::UDP_SERVICES.choose(rng).unwrap() },
        _ => Packet::Tunnel {
            back: rng.random_range(0..64),
            flip: rng.random_ratio(1, 2).then(|| rng.random_range(0..2_000)),
        },
    }
}
