//! Calls over real sockets on loopback.
#![expect(clippy::unwrap_used, reason = "tests")]

use guestright_media::{CallId, Media, MediaCall, MediaError, PortSpec, Settings, Wanted};
use guestright_relay::{Event, Protection, RelayError, Side, SideSettings, Sources, SrtpKeys};
use guestright_units::Seed;
use guestright_voice::srtp::{MasterKey, Profile, Protect};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Each test has a range of its own, below the ports that the system gives away.
fn start(first: u16, threads: usize) -> (Media, mpsc::Receiver<(CallId, Event)>) {
    let (sender, events) = mpsc::channel();
    let settings = Settings {
        port_first: first,
        port_last: first + 999,
        threads,
        calls_max: 300,
        ..Settings::default()
    };
    let on_event = move |id, event| {
        let _ = sender.send((id, event));
    };
    (Media::start(settings, Seed::from_number(u64::from(std::process::id())), on_event).unwrap(), events)
}

fn socket_at(address: IpAddr) -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind((address, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let at = socket.local_addr().unwrap();
    (socket, at)
}

fn socket() -> (UdpSocket, SocketAddr) {
    socket_at(LOOPBACK)
}

fn key(number: u8) -> MasterKey {
    MasterKey::new(Profile::AeadAes128Gcm, &[number; 16], &[number; 12]).unwrap()
}

fn side(at: SocketAddr, mux: bool, protection: Protection) -> SideSettings {
    let sources = Sources::Address(at.ip());
    SideSettings { media: Some(at), mux, sources, protection, ..SideSettings::closed() }
}

fn srtp(at: SocketAddr, incoming: u8, outgoing: u8) -> SideSettings {
    side(at, true, Protection::Srtp(SrtpKeys { incoming: key(incoming), outgoing: key(outgoing) }))
}

fn port_spec(pair: bool) -> PortSpec {
    PortSpec { address: LOOPBACK, pair }
}

fn packet(ssrc: u32, sequence: u16) -> Vec<u8> {
    let head = [0x80, 8].into_iter().chain(sequence.to_be_bytes()).chain([0; 4]).chain(ssrc.to_be_bytes());
    head.chain([0x55; 160]).collect()
}

fn report(ssrc: u32) -> Vec<u8> {
    [0x80, 201, 0, 1].into_iter().chain(ssrc.to_be_bytes()).collect()
}

fn receive(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = [0; 2_048];
    let (length, from) = socket.recv_from(&mut buffer).unwrap();
    (buffer[..length].to_vec(), from)
}

/// Nothing is there, although something that was sent later has come.
fn is_empty(socket: &UdpSocket) -> bool {
    socket.set_nonblocking(true).unwrap();
    let empty = socket.recv(&mut [0; 16]).is_err();
    socket.set_nonblocking(false).unwrap();
    empty
}

#[test]
fn two_homes_carry_voice_and_reports_both_ways() {
    let (near_home, _events) = start(21_000, 1);
    let (far_home, _far_events) = start(22_000, 1);
    let (alice, alice_at) = socket();
    let (alice_control, control_at) = socket();
    let (bob, bob_at) = socket();
    // As in signalling: the other side is not known when ports are needed.
    let open = |home: &Media| {
        let closed = SideSettings::closed();
        home.open(Wanted {
            ports_a: port_spec(true),
            ports_b: port_spec(false),
            a: closed.clone(),
            b: closed,
        })
        .unwrap()
    };
    let (near, far) = (open(&near_home), open(&far_home));
    let between = |call: &MediaCall| call.ports(Side::B).media;
    let alice_side = SideSettings { control: Some(control_at), ..side(alice_at, false, Protection::Plain) };
    near.update_both(alice_side, srtp(between(&far), 1, 2)).unwrap();
    far.update_both(side(bob_at, true, Protection::Plain), srtp(between(&near), 2, 1)).unwrap();
    assert_eq!(near.ports(Side::B).control, None);

    let (to_near, to_far) = (near.ports(Side::A), far.ports(Side::A));
    for sequence in 0..50 {
        alice.send_to(&packet(1, sequence), to_near.media).unwrap();
        assert_eq!(receive(&bob), (packet(1, sequence), to_far.media));
        bob.send_to(&packet(2, sequence), to_far.media).unwrap();
        assert_eq!(receive(&alice), (packet(2, sequence), to_near.media));
    }
    alice_control.send_to(&report(1), to_near.control.unwrap()).unwrap();
    assert_eq!(receive(&bob), (report(1), to_far.media), "to one port");
    bob.send_to(&report(2), to_far.media).unwrap();
    assert_eq!(receive(&alice_control), (report(2), to_near.control.unwrap()), "and to two");

    let counters = near.counters();
    assert_eq!((counters.statistics.a.rtp, counters.statistics.b.rtp), (50, 50));
    assert_eq!((counters.statistics.a.rtcp, counters.statistics.b.rtcp), (1, 1));
    assert_eq!((counters.dropped, counters.unsent), (0, 0));
}

#[test]
fn forged_datagrams_stay_outside_and_nobody_hears_of_them() {
    let (home, events) = start(23_000, 1);
    let (alice, alice_at) = socket();
    let (other, other_at) = socket();
    let call = home
        .open(Wanted {
            ports_a: port_spec(true),
            ports_b: port_spec(false),
            a: side(alice_at, false, Protection::Plain),
            b: srtp(other_at, 1, 2),
        })
        .unwrap();
    let outside = call.ports(Side::B).media;
    let mut genuine = Vec::new();
    Protect::new(&key(1)).rtp(&packet(7, 1), &mut genuine).unwrap();
    // Not more than the kernel holds for a port.
    for index in (0..genuine.len()).step_by(4) {
        let mut forged = genuine.clone();
        forged[index] ^= 1;
        other.send_to(&forged, outside).unwrap();
    }
    other.send_to(&vec![0x80; 9_000], outside).unwrap();
    other.send_to(&genuine, outside).unwrap();
    assert_eq!(receive(&alice).0, packet(7, 1), "the first that comes is the genuine one");
    assert!(is_empty(&alice));
    let counters = call.counters().statistics.b;
    assert_eq!((counters.passed, counters.refused_in_all()), (1, 48));
    let reported: Vec<_> = events.try_iter().collect();
    assert_eq!(reported, [(call.id(), Event::Active { side: Side::B })]);
}

#[test]
fn hundreds_of_calls_on_two_threads_do_not_get_mixed_up() {
    let (home, _events) = start(24_000, 2);
    let (ends, at) = socket();
    let calls: Vec<_> = (0..200_u32)
        .map(|_| {
            let opaque = side(at, true, Protection::Opaque);
            let wanted =
                Wanted { ports_a: port_spec(false), ports_b: port_spec(false), a: opaque.clone(), b: opaque };
            home.open(wanted).unwrap()
        })
        .collect();
    assert_eq!(home.calls(), 200);
    for sequence in 0..5 {
        for (number, call) in (0_u32..).zip(&calls) {
            ends.send_to(&packet(number, sequence), call.ports(Side::A).media).unwrap();
            assert_eq!(receive(&ends), (packet(number, sequence), call.ports(Side::B).media));
        }
    }
    drop(calls);
    assert_eq!(home.calls(), 0);
}

#[test]
fn ports_come_free_when_a_call_ends() {
    let (home, _events) = start(25_000, 1);
    let (_alice, at) = socket();
    let open = || {
        let opaque = side(at, true, Protection::Opaque);
        home.open(Wanted { ports_a: port_spec(true), ports_b: port_spec(true), a: opaque.clone(), b: opaque })
    };
    let call = open().unwrap();
    let ports = call.ports(Side::A);
    assert!(UdpSocket::bind(ports.media).is_err() && UdpSocket::bind(ports.control.unwrap()).is_err());
    drop(call);
    let until = Instant::now() + Duration::from_secs(60);
    while UdpSocket::bind(ports.media).is_err() {
        assert!(Instant::now() < until, "the port is still taken");
        std::thread::yield_now();
    }
    // Far more calls one after the other than there are ports. Its thread closes them when it has its turn.
    for number in 0..2_000 {
        while open().is_err() {
            assert!(Instant::now() < until, "after {number} calls no port is free");
            std::thread::yield_now();
        }
    }
}

#[test]
fn calls_end_with_their_home() {
    let (home, _events) = start(26_000, 3);
    let (alice, at) = socket();
    let opaque = side(at, true, Protection::Opaque);
    let call = home
        .open(Wanted {
            ports_a: port_spec(false),
            ports_b: port_spec(false),
            a: opaque.clone(),
            b: opaque.clone(),
        })
        .unwrap();
    drop(home);
    alice.send_to(&packet(1, 1), call.ports(Side::A).media).unwrap();
    call.update(Side::A, opaque).unwrap();
    assert_eq!(call.counters().statistics.a.passed, 0);
    assert!(is_empty(&alice));
}

#[test]
fn a_port_of_another_program_is_passed_over() {
    let taken: Vec<_> = (27_000..27_012).map(|port| UdpSocket::bind((LOOPBACK, port)).unwrap()).collect();
    let settings = Settings { port_first: 27_000, port_last: 27_019, ..Settings::default() };
    let home = Media::start(settings, Seed([0; 32]), |_, _| {}).unwrap();
    let closed = SideSettings::closed;
    let wanted = || Wanted { ports_a: port_spec(true), ports_b: port_spec(true), a: closed(), b: closed() };
    let calls: Vec<_> = (0..2).map(|_| home.open(wanted()).unwrap()).collect();
    assert!(calls.iter().all(|call| call.ports(Side::A).media.port() >= 27_012));
    assert!(matches!(home.open(wanted()), Err(MediaError::Socket { .. } | MediaError::NoPort { .. })));
    assert_eq!(home.calls(), 2);
    drop(taken);
    home.open(wanted()).unwrap();
}

#[test]
fn what_makes_no_sense_is_refused_and_leaves_nothing() {
    let settings = Settings { port_first: 28_000, port_last: 28_999, calls_max: 1, ..Settings::default() };
    let home = Media::start(settings, Seed([0; 32]), |_, _| {}).unwrap();
    let (_alice, at) = socket();
    let own: SocketAddr = (LOOPBACK, 28_500).into();
    let opaque = side(at, true, Protection::Opaque);
    #[rustfmt::skip]
    let cases = [
        (side(at, false, Protection::Opaque), MediaError::NoControlPort { side: Side::A }),
        (side(own, true, Protection::Opaque), MediaError::OwnPort { side: Side::A, address: own }),
        (side(at, true, Protection::Plain), MediaError::Relay(RelayError::HalfOpaque { side: Side::B })),
    ];
    for (a, want) in cases {
        let wanted = Wanted { ports_a: port_spec(false), ports_b: port_spec(false), a, b: opaque.clone() };
        assert_eq!(home.open(wanted).unwrap_err(), want);
    }
    assert_eq!(home.calls(), 0);
    let wanted = || Wanted {
        ports_a: port_spec(false),
        ports_b: port_spec(false),
        a: opaque.clone(),
        b: opaque.clone(),
    };
    let call = home.open(wanted()).unwrap();
    assert_eq!(home.open(wanted()).unwrap_err(), MediaError::TooManyCalls { max: 1 });
    let moved = side(own, true, Protection::Opaque);
    assert_eq!(call.update(Side::B, moved), Err(MediaError::OwnPort { side: Side::B, address: own }));
    assert_eq!(call.settings(Side::B), opaque);
    let foreign = PortSpec { address: Ipv4Addr::new(192, 0, 2, 1).into(), pair: true };
    drop(call);
    let nowhere = Wanted { ports_a: foreign, ..wanted() };
    assert!(matches!(home.open(nowhere), Err(MediaError::Socket { .. })));
}

#[test]
fn ipv6_is_carried_too() {
    let address = IpAddr::V6(Ipv6Addr::LOCALHOST);
    let addresses = std::fs::read_to_string("/proc/net/if_inet6").unwrap_or_default();
    if !addresses.lines().any(|line| line.ends_with(" lo")) {
        assert!(std::env::var_os("CI").is_none(), "where changes are judged there is IPv6");
        eprintln!("skipped: this computer's kernel has no IPv6");
        return;
    }
    let (home, _events) = start(29_000, 1);
    let (bob, bob_at) = socket_at(address);
    let (alice, alice_at) = socket();
    let ports_b = PortSpec { address, pair: false };
    let (a, b) = (side(alice_at, true, Protection::Opaque), side(bob_at, true, Protection::Opaque));
    let call = home.open(Wanted { ports_a: port_spec(false), ports_b, a, b }).unwrap();
    alice.send_to(&packet(1, 1), call.ports(Side::A).media).unwrap();
    assert_eq!(receive(&bob), (packet(1, 1), call.ports(Side::B).media));
    bob.send_to(&packet(2, 1), call.ports(Side::B).media).unwrap();
    assert_eq!(receive(&alice).0, packet(2, 1));
}
