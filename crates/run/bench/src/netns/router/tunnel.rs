//! The tunnel between a host and the router, with both of its ends.

use guestright_tunnel::encapsulation::Encapsulation;
use guestright_tunnel::esp::{Lifetime, Suite};
use guestright_tunnel::esp_settings::{
    DirectionFile, EspSettings, EspSettingsError, EspSettingsFile, HexKey, L2tpFile, Profile,
};
use guestright_tunnel::overhead::Mode;
use guestright_tunnel::{Datagrams, Endpoint, EspEndpoint, Opened};
use guestright_units::Time;
use guestright_world::tcp::EspTunnel;
use rand::{Rng, RngExt};
use std::net::{Ipv4Addr, SocketAddr};
use zeroize::Zeroizing;

const IP_HEADER: usize = 20;
/// The anti-replay window: packets on one cable stay in their order.
const WINDOW: u32 = 1_024;
/// Where ends say that they are; nothing is sent there. Addresses of documentation (RFC 5737).
const HOST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const ROUTER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
/// The session's numbers; with one session in each tunnel they could be anything but 0.
const L2TP: L2tpFile = L2tpFile {
    tunnel_out: 1,
    session_out: 1,
    tunnel_in: 2,
    session_in: 2,
    with_length: true,
    addresses: Some((HOST, ROUTER)),
};

/// A tunnel.
#[derive(Debug)]
pub(super) struct Tunnel {
    host: EspEndpoint,
    router: EspEndpoint,
    headers: usize,
}

impl Tunnel {
    /// With fresh keys.
    pub(super) fn new(tunnel: EspTunnel, rng: &mut impl Rng) -> Result<Self, EspSettingsError> {
        let EspTunnel { suite, mode, encapsulation } = tunnel;
        let file = EspSettingsFile {
            profile: Profile::LegacyPaper,
            suite,
            mode,
            encapsulation,
            extended_sequence: false,
            window: WINDOW,
            peer_networks: Vec::new(),
            lifetime: Lifetime::default(),
            outbound: direction(suite, 0x101, rng),
            inbound: direction(suite, 0x102, rng),
            l2tp: (mode == Mode::L2tp).then_some(L2TP),
        };
        let port =
            if encapsulation == Encapsulation::Udp { guestright_tunnel::encapsulation::PORT } else { 0 };
        let mut end = |file: &EspSettingsFile, peer: Ipv4Addr| {
            let seed = Zeroizing::new(rng.random());
            Ok(EspEndpoint::new(
                &EspSettings::try_from(file)?,
                Some(SocketAddr::new(peer.into(), port)),
                1,
                &seed,
            ))
        };
        let headers = IP_HEADER + encapsulation.header_len();
        Ok(Self { host: end(&file, ROUTER)?, router: end(&file.mirrored(), HOST)?, headers })
    }

    /// Seals a packet, to the router or from it. Nothing, if it cannot be carried.
    pub(super) fn seal(&self, is_back: bool, packet: &[u8], now: Time) -> Option<Vec<u8>> {
        let mut out = Datagrams::new();
        self.end(is_back).seal(&mut [packet].iter(), &mut out, now);
        let sealed = out.runs().next()?.datagrams().next()?.to_vec();
        Some(sealed)
    }

    /// Opens it at the other end. Nothing, if it is not as it was sealed.
    pub(super) fn open(&self, is_back: bool, sealed: &mut [u8], now: Time) -> Option<Vec<u8>> {
        let (mut opened, mut replies) = (Opened::new(), Datagrams::new());
        let from = SocketAddr::new(if is_back { ROUTER } else { HOST }.into(), 0);
        self.end(!is_back).open(&mut [(from, sealed)].into_iter(), &mut opened, &mut replies, now);
        let packet = opened.packets().next()?.to_vec();
        Some(packet)
    }

    /// How long a sealed packet is on a cable, with its IP header and what is between the two.
    pub(super) fn wire_len(&self, sealed: &[u8]) -> usize {
        self.headers + sealed.len()
    }

    /// The end that seals packets of this direction.
    const fn end(&self, is_back: bool) -> &EspEndpoint {
        if is_back { &self.router } else { &self.host }
    }
}

fn direction(suite: Suite, spi: u32, rng: &mut impl Rng) -> DirectionFile {
    let mut key = |length: usize| {
        let mut bytes = Zeroizing::new(vec![0; length]);
        rng.fill_bytes(&mut bytes);
        HexKey::new(&bytes)
    };
    DirectionFile {
        spi,
        encryption_key: key(suite.encryption_key_len()),
        authentication_key: key(suite.authentication_key_len()),
    }
}
