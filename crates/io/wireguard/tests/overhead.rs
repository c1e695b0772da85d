//! What WireGuard adds to packets: the sums of `guestright-tunnel`, and datagrams that were really sealed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "ends/ends.rs"]
mod ends;

use ends::{address, end, packet};
use guestright_tunnel::overhead::{Padding, total, wireguard_layers};
use guestright_tunnel::{Datagrams, Endpoint, Opened, Run};
use guestright_units::Time;
use guestright_wireguard::Userspace;
use std::net::SocketAddr;

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
