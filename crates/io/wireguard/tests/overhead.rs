//! What WireGuard adds to packets: the sums of `guestright-tunnel`, and datagrams that were really sealed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use guestright_tunnel::overhead::{Padding, total, wireguard_layers};
use guestright_tunnel::wireguard::PrivateKey;
use guestright_tunnel::{Datagrams, Endpoint, Opened, Run};
use guestright_units::Time;
use guestright_wireguard::{Peer, Userspace, UserspaceSettings};
use std::net::{Ipv4Addr, SocketAddr};

/// IPv4's header and UDP's, which are outside of a datagram.
const OUTER_LEN: usize = 20 + 8;

#[test]
fn every_length_of_our_own_end_is_that_of_a_sealed_packet() {
    let [here, there] = [end(1, 2), end(2, 1)];
    connect(&here, &there);
    let mut out = Datagrams::new();
    for length in (28..300).chain([1_280, 1_400, 1_420]) {
        out.clear();
        here.seal(&mut [packet(length).as_slice()].iter(), &mut out, Time(0));
        let lengths = |run: Run<'_>| run.datagrams().map(<[u8]>::len).collect::<Vec<_>>();
        let sealed: Vec<usize> = out.runs().flat_map(lengths).collect();
        let want = total(&wireguard_layers(length, Padding::Nothing));
        assert_eq!(sealed, [want - OUTER_LEN], "{length}");
    }
    // What a padded packet would have been, so that the two lines of the table are not the same by mistake.
    assert_eq!(total(&wireguard_layers(200, Padding::Sixteen)), 268);
    assert_eq!(total(&wireguard_layers(200, Padding::Nothing)), 260);
}

/// A handshake, begun by what `here` has to send.
fn connect(here: &Userspace, there: &Userspace) {
    let (mut out, mut back, mut opened) = (Datagrams::new(), Datagrams::new(), Opened::new());
    here.seal(&mut [packet(60).as_slice()].iter(), &mut out, Time(0));
    while out.runs().next().is_some() {
        carry(&out, there, address(1), &mut opened, &mut back);
        out.clear();
        carry(&back, here, address(2), &mut opened, &mut out);
        back.clear();
    }
    assert_eq!(opened.len(), 1, "the packet that began it has arrived");
}

fn carry(out: &Datagrams, to: &Userspace, from: SocketAddr, opened: &mut Opened, replies: &mut Datagrams) {
    for run in out.runs() {
        let mut bytes = run.bytes.to_vec();
        let mut datagrams = bytes.chunks_mut(run.segment).map(|datagram| (from, datagram));
        to.open(&mut datagrams, opened, replies, Time(0));
    }
}

fn end(own: u8, other: u8) -> Userspace {
    let key = |number| PrivateKey::from_random([number; 32]);
    let end = Userspace::new(&key(own), UserspaceSettings::default());
    let allowed_ips = vec!["0.0.0.0/0".parse().unwrap()];
    let peer = Peer { allowed_ips, address: Some(address(other)), ..Peer::new(key(other).public()) };
    end.set_peer(&peer).unwrap();
    end
}

fn address(number: u8) -> SocketAddr {
    (Ipv4Addr::new(192, 0, 2, number), 51_820).into()
}

fn packet(length: usize) -> Vec<u8> {
    let mut packet = vec![0; length];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
    packet
}
