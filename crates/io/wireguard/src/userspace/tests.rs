use super::*;
use guestright_tunnel::Run;
use guestright_tunnel::wireguard::PresharedKey;
use std::net::Ipv4Addr;

const SECOND: u64 = 1_000_000;

/// An end with its buffers.
struct End {
    core: Userspace,
    here: SocketAddr,
    address: Ipv4Addr,
}

fn end(number: u8) -> End {
    let key = PrivateKey::from_random([number; 32]);
    let settings = UserspaceSettings { impatient_after: Some(Micros::from_seconds(5)) };
    End {
        core: Userspace::new(&key, settings),
        here: (Ipv4Addr::new(192, 0, 2, number), 51_820).into(),
        address: Ipv4Addr::new(10, 0, 0, number),
    }
}

impl End {
    fn knows(&self, other: &End) {
        self.core.set_peer(&self.peer(other)).unwrap();
    }

    fn peer(&self, other: &End) -> Peer {
        let allowed_ips = vec![format!("{}/32", other.address).parse().unwrap()];
        Peer { allowed_ips, address: Some(other.here), ..Peer::new(other.core.public_key()) }
    }

    /// The datagrams for inner packets of this length.
    fn seal(&self, to: &End, lengths: &[usize], now: u64) -> Vec<Vec<u8>> {
        let packets: Vec<Vec<u8>> =
            lengths.iter().map(|length| inner(self.address, to.address, *length)).collect();
        let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
        let mut out = Datagrams::new();
        self.core.seal(&mut packets.iter(), &mut out, Time(now));
        split(&out)
    }

    /// Opens datagrams that come from `from`: the inner packets, and the replies.
    fn open(&self, from: SocketAddr, datagrams: &[Vec<u8>], now: u64) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let (mut opened, mut replies) = (Opened::new(), Datagrams::new());
        let mut datagrams = datagrams.to_vec();
        let mut each = datagrams.iter_mut().map(|datagram| (from, datagram.as_mut_slice()));
        self.core.open(&mut each, &mut opened, &mut replies, Time(now));
        (opened.packets().map(<[u8]>::to_vec).collect(), split(&replies))
    }

    fn tick(&self, now: u64) -> Vec<Vec<u8>> {
        let mut out = Datagrams::new();
        self.core.tick(&mut out, Time(now));
        split(&out)
    }

    fn dropped(&self, reason: DropReason) -> u64 {
        self.core.counters().dropped(reason)
    }
}

fn split(datagrams: &Datagrams) -> Vec<Vec<u8>> {
    datagrams
        .runs()
        .flat_map(|run: Run<'_>| run.datagrams().map(<[u8]>::to_vec).collect::<Vec<_>>())
        .collect()
}

fn inner(from: Ipv4Addr, to: Ipv4Addr, length: usize) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0];
    packet.extend_from_slice(&from.octets());
    packet.extend_from_slice(&to.octets());
    packet.resize(length, 0x33);
    let length = u16::try_from(length).unwrap();
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet
}

/// Carries everything to and fro until nobody has anything to say; the inner packets that arrived at `b`.
fn converse(a: &End, b: &End, mut to_b: Vec<Vec<u8>>, now: u64) -> Vec<Vec<u8>> {
    let mut arrived = Vec::new();
    while !to_b.is_empty() {
        let (opened, to_a) = b.open(a.here, &to_b, now);
        arrived.extend(opened);
        (_, to_b) = a.open(b.here, &to_a, now);
    }
    arrived
}

/// Two ends that have agreed.
fn pair() -> (End, End) {
    let (a, b) = (end(1), end(2));
    a.knows(&b);
    b.knows(&a);
    let first = a.seal(&b, &[60], 0);
    assert_eq!(converse(&a, &b, first, 0).len(), 1, "the packet that began the handshake arrives after it");
    (a, b)
}

#[test]
fn carries_packets_both_ways_and_counts_them() {
    let (a, b) = pair();
    let sealed = a.seal(&b, &[60, 60, 1_420, 21], SECOND);
    assert_eq!(sealed.iter().map(Vec::len).collect::<Vec<_>>(), [92, 92, 1_452, 53]);
    let (opened, replies) = b.open(a.here, &sealed, SECOND);
    assert_eq!(opened, [60, 60, 1_420, 21].map(|length| inner(a.address, b.address, length)));
    assert!(replies.is_empty());
    let (opened, _) = a.open(b.here, &b.seal(&a, &[100], SECOND), SECOND);
    assert_eq!(opened, [inner(b.address, a.address, 100)]);
    let status = &b.core.status()[0];
    assert_eq!(
        (status.public_key, status.address, status.agreed),
        (a.core.public, Some(a.here), Some(Time(0)))
    );
    // Initiation 148, keep-alive 32, the first packet 92, and what is above.
    assert_eq!(status.received, guestright_units::Bytes(148 + 32 + 92 + 92 + 92 + 1_452 + 53));
    assert_eq!(
        (b.core.counters().received, b.core.counters().sent, b.core.counters().drops().count()),
        (5, 1, 0)
    );
    // Seven came, and the response (92) and one packet (132) went.
    let carried = b.core.carried();
    assert_eq!(carried, guestright_units::Bytes(status.received.0 + 92 + 132 + 9 * 28));
    // What anybody can send is not counted: repetitions, changed bits, junk.
    let mut changed = a.seal(&b, &[60], SECOND);
    changed[0][20] ^= 1;
    b.open(a.here, &sealed, SECOND);
    b.open(a.here, &changed, SECOND);
    b.open(a.here, &[vec![4; 1_452], vec![0; 60], vec![]], SECOND);
    assert_eq!(b.core.carried(), carried);
    assert_eq!(b.core.carried_for(&a.core.public_key()), Some(carried));
    assert_eq!(b.core.carried_for(&b.core.public_key()), None);
}

#[test]
fn hostile_datagrams_are_dropped_and_counted_by_kind() {
    let (a, b) = pair();
    let good = a.seal(&b, &[60], SECOND).remove(0);
    let change = |at: usize, to: u8| {
        let mut datagram = good.clone();
        datagram[at] = to;
        datagram
    };
    let stranger = {
        let (c, mut d) = (end(3), end(4));
        d.core = Userspace::new(&PrivateKey::from_random([2; 32]), UserspaceSettings::default());
        c.knows(&d); // D has B's key: C knows B, and B does not know C.
        c.seal(&d, &[60], 0).remove(0)
    };
    let cases = [
        (DropReason::Malformed, vec![]),
        (DropReason::Malformed, vec![4, 0, 0]),
        (DropReason::Malformed, good[..31].to_vec()),
        (DropReason::Malformed, change(0, 9)),
        (DropReason::Malformed, change(1, 1)),
        (DropReason::UnknownPeer, change(7, good[7] ^ 1)),
        (DropReason::NoKeys, change(4, good[4] ^ 4)),
        (DropReason::NotAuthentic, change(40, good[40] ^ 1)),
        (DropReason::NotAuthentic, change(91, good[91] ^ 1)),
        (DropReason::NotAuthentic, good[..91].to_vec()),
        (DropReason::UnknownPeer, stranger),
        (DropReason::NotAuthentic, {
            let mut garbage = vec![7; 148];
            garbage[..4].copy_from_slice(&[1, 0, 0, 0]);
            garbage
        }),
    ];
    let elsewhere = (Ipv4Addr::new(203, 0, 113, 66), 6_666).into();
    for (number, (reason, datagram)) in cases.into_iter().enumerate() {
        let before = b.dropped(reason);
        let (opened, replies) = b.open(elsewhere, &[datagram], SECOND);
        assert!(opened.is_empty() && replies.is_empty(), "case {number}");
        assert_eq!(
            b.dropped(reason),
            before + 1,
            "case {number}: {}: {:?}",
            reason.name(),
            b.core.counters()
        );
    }
    assert_eq!(b.core.status()[0].address, Some(a.here), "nothing of that moved the peer");
    assert_eq!(b.open(a.here, &[good], SECOND).0.len(), 1, "the good one still counts");
}

#[test]
fn replays_and_what_is_too_old_are_dropped() {
    let (a, b) = pair();
    let sealed = a.seal(&b, &[60; 1_200], SECOND);
    let late = sealed[0].clone();
    assert_eq!(b.open(a.here, &sealed[1..], SECOND).0.len(), 1_199);
    assert_eq!(b.open(a.here, &sealed[600..], SECOND).0.len(), 0);
    assert_eq!(b.dropped(DropReason::Replayed), 600);
    assert_eq!(b.open(a.here, &[late], SECOND).0.len(), 0);
    assert_eq!(b.dropped(DropReason::TooOld), 1);
}

#[test]
fn a_replayed_handshake_moves_nobody() {
    let (a, b) = (end(1), end(2));
    a.knows(&b);
    b.knows(&a);
    let first = a.seal(&b, &[60], 0);
    converse(&a, &b, first.clone(), 0);
    let thief = (Ipv4Addr::new(203, 0, 113, 66), 6_666).into();
    let (_, replies) = b.open(thief, &first, SECOND);
    assert!(replies.is_empty());
    assert_eq!((b.dropped(DropReason::Replayed), b.core.status()[0].address), (1, Some(a.here)));
}

#[test]
fn a_peer_may_send_from_its_networks_alone() {
    let (a, b) = pair();
    let foreign = End { address: Ipv4Addr::new(10, 0, 0, 9), ..end(1) };
    let packet = inner(foreign.address, b.address, 60);
    let mut out = Datagrams::new();
    a.core.seal(&mut [packet.as_slice()].iter(), &mut out, Time(SECOND));
    assert!(b.open(a.here, &split(&out), SECOND).0.is_empty());
    assert_eq!(b.dropped(DropReason::WrongSource), 1);
    // And what is authentic but no packet.
    for nonsense in [vec![0x45; 30], vec![0x00; 30], inner(a.address, b.address, 60)[..40].to_vec()] {
        let mut packet = nonsense;
        packet.resize(packet.len().max(20), 0);
        packet[16..20].copy_from_slice(&b.address.octets());
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&[0xff, 0xff]);
        out.clear();
        a.core.seal(&mut [packet.as_slice()].iter(), &mut out, Time(SECOND));
        assert!(b.open(a.here, &split(&out), SECOND).0.is_empty());
    }
    assert_eq!(b.dropped(DropReason::BadInner), 3);
}

#[test]
fn packets_without_a_way_are_counted() {
    let (a, b) = pair();
    let nobody = End { address: Ipv4Addr::new(10, 9, 9, 9), ..end(9) };
    assert!(a.seal(&nobody, &[60], SECOND).is_empty());
    assert_eq!(a.dropped(DropReason::NoRoute), 1);
    let mut out = Datagrams::new();
    a.core.seal(&mut [[0_u8; 40].as_slice(), &[]].iter(), &mut out, Time(SECOND));
    assert_eq!(a.dropped(DropReason::BadInner), 2);
    let c = end(3);
    a.core.set_peer(&Peer { address: None, ..a.peer(&c) }).unwrap();
    assert!(a.seal(&c, &[60], SECOND).is_empty());
    assert_eq!(a.dropped(DropReason::NoAddress), 1);
    assert_eq!(a.open(b.here, &b.seal(&a, &[60], SECOND), SECOND).0.len(), 1);
}

#[test]
fn a_peer_is_where_it_last_sent_from() {
    let (a, b) = pair();
    let moved = (Ipv4Addr::new(198, 51, 100, 77), 40_000).into();
    b.open(moved, &a.seal(&b, &[60], SECOND), SECOND);
    assert_eq!(b.core.status()[0].address, Some(moved));
    let packet = inner(b.address, a.address, 60);
    let mut out = Datagrams::new();
    b.core.seal(&mut [packet.as_slice()].iter(), &mut out, Time(SECOND));
    assert_eq!(out.runs().next().unwrap().to, moved);
}

#[test]
fn peers_come_and_go_and_the_others_notice_nothing() {
    let (a, b) = pair();
    let c = end(3);
    b.knows(&c);
    c.knows(&b);
    let first = c.seal(&b, &[60], SECOND);
    assert_eq!(converse(&c, &b, first, SECOND).len(), 1);
    b.core.set_peer(&b.peer(&a)).unwrap();
    assert_eq!(b.open(a.here, &a.seal(&b, &[60], SECOND), SECOND).0.len(), 1, "set again: the keys stay");
    // C's network is given to A: the latest word counts.
    let both = vec!["10.0.0.1/32".parse().unwrap(), "10.0.0.3/32".parse().unwrap()];
    b.core.set_peer(&Peer { allowed_ips: both, ..b.peer(&a) }).unwrap();
    assert!(b.open(c.here, &c.seal(&b, &[60], SECOND), SECOND).0.is_empty());
    assert_eq!(b.dropped(DropReason::WrongSource), 1);
    b.core.remove_peer(&c.core.public).unwrap();
    assert_eq!(b.core.remove_peer(&c.core.public), Err(WireGuardError::NoPeer { key: c.core.public }));
    assert!(b.open(c.here, &c.seal(&b, &[60], SECOND), SECOND).0.is_empty());
    assert_eq!(b.dropped(DropReason::UnknownPeer), 1);
    assert_eq!(b.open(a.here, &a.seal(&b, &[60], SECOND), SECOND).0.len(), 1, "A noticed nothing");
    assert_eq!(
        b.core.set_peer(&Peer::new(b.core.public)),
        Err(WireGuardError::OwnKey { key: b.core.public })
    );
}

#[test]
fn a_preshared_key_must_be_the_same() {
    let (a, b) = (end(1), end(2));
    let with = |end: &End, other: &End, secret| {
        let preshared_key = Some(PresharedKey::from_bytes([secret; 32]));
        end.core.set_peer(&Peer { preshared_key, ..end.peer(other) }).unwrap();
    };
    with(&a, &b, 7);
    with(&b, &a, 8);
    let first = a.seal(&b, &[60], 0);
    assert!(converse(&a, &b, first, 0).is_empty());
    assert_eq!(a.dropped(DropReason::NotAuthentic), 1, "the response says another secret");
    with(&a, &b, 8);
    let first = a.seal(&b, &[60], 0);
    assert_eq!(converse(&a, &b, first, 0).len(), 1);
}

#[test]
fn initiates_on_demand_and_when_nothing_comes_back() {
    let (a, b) = pair();
    a.core.initiate(&b.core.public).unwrap();
    let first = a.tick(SECOND);
    assert_eq!(first.iter().map(Vec::len).collect::<Vec<_>>(), [HANDSHAKE_LENGTH]);
    assert!(a.tick(SECOND).is_empty(), "once");
    converse(&a, &b, first, SECOND);
    assert_eq!(a.core.status()[0].agreed, Some(Time(SECOND)));
    a.seal(&b, &[60], 10 * SECOND); // Lost on the way.
    assert!(a.tick(14 * SECOND).is_empty());
    let second = a.tick(15 * SECOND);
    assert_eq!(second.iter().map(Vec::len).collect::<Vec<_>>(), [HANDSHAKE_LENGTH]);
    assert!(a.tick(19 * SECOND).is_empty(), "not again at once");
    assert_eq!(a.tick(20 * SECOND).len(), 1);
    // The other end was restarted and knows nothing any more.
    let b = end(2);
    b.knows(&a);
    let again = a.tick(25 * SECOND);
    converse(&a, &b, again, 25 * SECOND);
    assert_eq!(b.open(a.here, &a.seal(&b, &[60], 25 * SECOND), 25 * SECOND).0.len(), 1);
    assert!(a.tick(26 * SECOND).is_empty() && a.core.initiate(&end(9).core.public).is_err());
}

#[test]
fn too_many_handshakes_have_to_show_where_they_are() {
    let (a, b) = (end(1), end(2));
    b.knows(&a);
    let mut cookie = None;
    for _ in 0..=HANDSHAKES_MAX {
        // A new end with the same key each time, as somebody would be who has only just started.
        let a = end(1);
        a.knows(&b);
        let first = a.seal(&b, &[60], 0);
        cookie = b.open(a.here, &first, 0).1.into_iter().find(|reply| reply[0] == 3).map(|reply| (a, reply));
    }
    let (a, cookie) = cookie.expect("the last one got a cookie");
    assert_eq!((cookie.len(), b.dropped(DropReason::Overload)), (64, 1));
    assert!(a.open(b.here, &[cookie], 0).1.is_empty());
    a.core.initiate(&b.core.public).unwrap();
    let with_cookie = a.tick(SECOND);
    assert_eq!(converse(&a, &b, with_cookie, SECOND).len(), 1, "with the cookie it is heard");
}

#[test]
fn no_secret_is_shown() {
    let (a, _) = pair();
    let shown = format!("{:?}", a.core);
    assert_eq!(shown, format!("Userspace({}, 1 peers)", a.core.public));
}
