//! Two ends that know each other, and packets for them.

use guestright_tunnel::wireguard::PrivateKey;
use guestright_wireguard::{Peer, Userspace, UserspaceSettings};
use std::net::{Ipv4Addr, SocketAddr};

pub(crate) fn end(own: u8, other: u8) -> Userspace {
    let key = |number| PrivateKey::from_random([number; 32]);
    let end = Userspace::new(&key(own), UserspaceSettings::default());
    let allowed_ips = vec!["0.0.0.0/0".parse().unwrap()];
    let peer = Peer { allowed_ips, address: Some(address(other)), ..Peer::new(key(other).public()) };
    end.set_peer(&peer).unwrap();
    end
}

pub(crate) fn address(number: u8) -> SocketAddr {
    (Ipv4Addr::new(192, 0, 2, number), 51_820).into()
}

pub(crate) fn packet(length: usize) -> Vec<u8> {
    let mut packet = vec![0; length];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
    packet
}
