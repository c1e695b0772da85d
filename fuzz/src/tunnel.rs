//! What comes in at a tunnel: ESP, what is around it, what is in it, and the settings.

use std::net::{Ipv4Addr, SocketAddr};

use guestright_tunnel::encapsulation::{self, Datagram};
use guestright_tunnel::esp::{InboundSa, Keys, Lifetime, OutboundSa, PACKET_LEN_MAX, SaParameters, Suite};
use guestright_tunnel::esp_settings::{EspSettings, EspSettingsFile, XfrmEnds, xfrm_commands};
use guestright_tunnel::l2tp::{self, DataMessage, Stack};
use guestright_tunnel::overhead::Mode;
use guestright_tunnel::ppp::Frame;
use guestright_tunnel::{Datagrams, Endpoint, EspEndpoint, Opened};
use guestright_units::Time;
use guestright_wire::ip::{self, Ipv4Header, Packet};
use guestright_wire::udp;
use zeroize::Zeroizing;

use crate::seeds::Seed;

const SPI: u32 = 0x1001;
const ADDRESSES: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2));

fn stack(with_length: bool) -> Stack {
    Stack { tunnel_out: 1, session_out: 2, tunnel_in: 1, session_in: 2, with_length, addresses: None }
}

fn parameters(suite: Suite, extended_sequence: bool) -> SaParameters {
    let bytes: Vec<u8> = (1..=64).collect();
    let encryption = &bytes[..suite.encryption_key_len()];
    let keys =
        Keys::new(suite, encryption, &bytes[..suite.authentication_key_len()]).expect("the suite's lengths");
    SaParameters {
        spi: SPI,
        keys,
        extended_sequence,
        lifetime: Lifetime::default(),
        packet_len_max: PACKET_LEN_MAX,
    }
}

/// A packet that nobody sealed, and a payload that was sealed: the first byte says which suite, the second the next
/// header.
pub fn esp(bytes: &[u8]) {
    let [choice, next_header, rest @ ..] = bytes else { return };
    let suite = Suite::ALL[usize::from(*choice) % Suite::ALL.len()];
    let extended = choice & 0x80 != 0;
    let parameters = parameters(suite, extended);
    let mut receiver = InboundSa::new(&parameters, 64);
    for mut packet in [rest.to_vec(), [&SPI.to_be_bytes(), rest].concat()] {
        assert!(receiver.open(&mut packet).is_err(), "opened what nobody sealed");
        assert_eq!(receiver.highest_sequence(), 0, "moved the window for what nobody sealed");
    }
    let mut sender = OutboundSa::new(&parameters, 1, &Zeroizing::new([7; 32]));
    let mut packet = vec![0; suite.packet_len(rest.len())];
    let Ok(length) = sender.seal(*next_header, rest, &mut packet) else {
        assert!(suite.packet_len(rest.len()) > PACKET_LEN_MAX);
        return;
    };
    match receiver.open(&mut packet[..length]) {
        Ok(opened) => {
            assert_eq!(&packet[opened.payload], rest);
            assert_eq!((opened.next_header, opened.sequence), (*next_header, 1));
        }
        Err(error) => assert_eq!((error.kind().name(), *next_header), ("dummy", 59)),
    }
}

/// Payloads that the peer sealed: what comes out of the tunnel is a whole packet, or nothing.
pub fn esp_inner(bytes: &[u8]) {
    let [choice, next_header, rest @ ..] = bytes else { return };
    let text = if choice & 1 == 0 { TUNNEL } else { L2TP };
    let file: EspSettingsFile = toml::from_str(text).expect("our own text");
    let settings = EspSettings::try_from(&file).expect("our own settings");
    let seed = Zeroizing::new([7; 32]);
    let mirrored = EspSettings::try_from(&file.mirrored()).expect("as good as ours");
    let end = EspEndpoint::new(&mirrored, None, 1, &seed);
    let mut sender = settings.outbound_sa(1, &seed);
    let mut packet = vec![0; settings.suite().packet_len(rest.len())];
    let Ok(length) = sender.seal(*next_header, rest, &mut packet) else { return };
    let from = SocketAddr::from((ADDRESSES.0, 4500));
    let mut opened = Opened::new();
    let mut datagrams = std::iter::once((from, &mut packet[..length]));
    end.open(&mut datagrams, &mut opened, &mut Datagrams::new(), Time(0));
    for inner in opened.packets() {
        assert_eq!(Packet::parse(inner).map(|packet| packet.len), Ok(inner.len()));
    }
    let dropped = end.drops().total();
    assert_eq!(opened.len() as u64 + dropped, 1, "neither delivered nor counted");
    assert_eq!(end.peers()[0].address, Some(from), "an authentic packet tells where the peer is");
}

/// What a datagram on the port is.
pub fn esp_datagram(bytes: &[u8]) {
    let mut payload = bytes.to_vec();
    match encapsulation::classify(&mut payload) {
        Datagram::KeepAlive => assert_eq!(bytes, [0xff]),
        Datagram::TooShort => assert!(bytes.len() < 4),
        Datagram::KeyExchange(message) => assert_eq!([&[0; 4], &*message].concat(), bytes),
        Datagram::Esp(packet) => {
            assert_eq!(packet, bytes);
            assert!(!bytes.starts_with(&[0; 4]));
        }
    }
}

/// An L2TP message, and the whole stack that ESP carries.
pub fn l2tp(bytes: &[u8]) {
    if let Ok(message) = DataMessage::parse(bytes) {
        let mut again = vec![0; l2tp::HEADER_LEN_WITH_LENGTH];
        let length =
            l2tp::write_header(&mut again, message.tunnel, message.session, message.frame.len(), true);
        again.truncate(length);
        again.extend_from_slice(message.frame);
        let written = DataMessage::parse(&again).expect("our own message");
        assert_eq!((written.tunnel, written.session), (message.tunnel, message.session));
        assert_eq!(written.frame, message.frame);
    }
    for payload in [bytes.to_vec(), in_datagram(bytes)] {
        if let Ok(found) = stack(true).unwrap(&payload) {
            let packet = &payload[found];
            assert_eq!(Packet::parse(packet).map(|packet| packet.len), Ok(packet.len()));
            for with_length in [true, false] {
                let stack = stack(with_length);
                let mut again = [vec![0; stack.header_len()], packet.to_vec()].concat();
                stack.wrap(&mut again).expect("it is a packet");
                assert_eq!(stack.unwrap(&again), Ok(stack.header_len()..again.len()));
            }
        }
    }
}

fn in_datagram(message: &[u8]) -> Vec<u8> {
    let message = &message[..message.len().min(60_000)];
    let mut datagram = [vec![0; udp::HEADER_LEN], message.to_vec()].concat();
    udp::write(&mut datagram, l2tp::PORT, l2tp::PORT, None);
    datagram
}

/// A PPP frame.
pub fn ppp(bytes: &[u8]) {
    if let Ok(frame) = Frame::parse(bytes) {
        let again = [&guestright_tunnel::ppp::header(frame.protocol), frame.packet].concat();
        assert_eq!(Frame::parse(&again), Ok(frame));
        assert!(bytes.ends_with(frame.packet));
    }
}

/// The settings of an ESP tunnel: what is accepted means the same when it is written again.
pub fn esp_settings(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(file) = toml::from_str::<EspSettingsFile>(text) else { return };
    let written = toml::to_string(&file).expect("what was read can be written");
    let again: EspSettingsFile = toml::from_str(&written).expect("our own text");
    assert_eq!(toml::to_string(&again).expect("the same"), written);
    let Ok(settings) = EspSettings::try_from(&file) else { return };
    assert!(EspSettings::try_from(&again).is_ok() && EspSettings::try_from(&file.mirrored()).is_ok());
    let network = "10.0.0.1/32".parse().expect("a network");
    let ends = XfrmEnds {
        local: ADDRESSES.0,
        peer: ADDRESSES.1,
        local_port: 4500,
        peer_port: 4500,
        local_network: network,
        peer_network: network,
    };
    let lines = if settings.mode == Mode::Tunnel { 5 } else { 4 };
    assert_eq!(xfrm_commands(&settings, &ends).lines().count(), lines);
}

const TUNNEL: &str = r#"
suite = "aes-128-gcm"
mode = "tunnel"
encapsulation = "raw"
outbound = { spi = 0x1001, encryption_key = "000102030405060708090a0b0c0d0e0f10111213" }
inbound = { spi = 0x1002, encryption_key = "202122232425262728292a2b2c2d2e2f30313233" }
"#;

const L2TP: &str = r#"
profile = "legacy-paper"
suite = "aes-128-cbc+hmac-md5-96"
mode = "l2tp"
encapsulation = "raw"
l2tp = { tunnel_out = 1, session_out = 2, tunnel_in = 1, session_in = 2 }
[outbound]
spi = 0x1001
encryption_key = "000102030405060708090a0b0c0d0e0f"
authentication_key = "101112131415161718191a1b1c1d1e1f"
[inbound]
spi = 0x1002
encryption_key = "202122232425262728292a2b2c2d2e2f"
authentication_key = "303132333435363738393a3b3c3d3e3f"
"#;

/// What a fuzzer begins with.
pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    let mut push = |target, name: &str, bytes: Vec<u8>| seeds.push((target, name.to_owned(), bytes));
    let mut inner = vec![0; 40];
    let header = Ipv4Header {
        source: ADDRESSES.0,
        destination: ADDRESSES.1,
        protocol: ip::PROTOCOL_UDP,
        ttl: 64,
        traffic_class: 1,
        dont_fragment: true,
        identification: 0,
    };
    udp::write(&mut inner[20..], 1000, 2000, None);
    header.write(&mut inner);
    let mut inner_v6 = [vec![0x60, 0, 0, 0, 0, 4, 59, 64], vec![1; 36]].concat();
    inner_v6[4..6].copy_from_slice(&[0, 4]);
    for (number, suite) in (0_u8..).zip(Suite::ALL) {
        let name = suite.name().replace('+', "-");
        push("esp", &name, [&[number, 4], &inner[..]].concat());
        push(
            "esp",
            &format!("{name}-extended"),
            [
                &[
                    (0x80_u8..)
                        .find(|choice| usize::from(*choice) % 6 == usize::from(number))
                        .expect("there is one"),
                    59,
                ],
                &inner[..],
            ]
            .concat(),
        );
    }
    push("esp_inner", "tunnel-v4", [&[0, 4], &inner[..]].concat());
    push("esp_inner", "tunnel-v6", [&[0, 41], &inner_v6[..]].concat());
    for (name, packet, with_length) in [("v4", &inner, true), ("v6", &inner_v6, false)] {
        let stack = stack(with_length);
        let mut payload = [vec![0; stack.header_len()], packet.clone()].concat();
        stack.wrap(&mut payload).expect("it is a packet");
        push("esp_inner", &format!("l2tp-{name}"), [&[1, 17], &payload[..]].concat());
        push("l2tp", &format!("stack-{name}"), payload.clone());
        push("l2tp", &format!("message-{name}"), payload[8..].to_vec());
        push("ppp", name, payload[stack.header_len() - 4..].to_vec());
        push("ppp", &format!("{name}-compressed"), payload[stack.header_len() - 1..].to_vec());
        push("esp_datagram", name, packet.clone());
        push("ip", name, packet.clone());
    }
    push("l2tp", "all-fields", vec![0x4a, 2, 0, 18, 0, 1, 0, 2, 0, 5, 0, 0, 0, 2, 0, 0, 0x21, 0x45]);
    push("esp_datagram", "keep-alive", vec![0xff]);
    push("esp_datagram", "key-exchange", vec![0, 0, 0, 0, 1, 2]);
    push("ip", "udp", inner[20..].to_vec());
    push("esp_settings", "tunnel", TUNNEL.into());
    push("esp_settings", "l2tp", L2TP.into());
}
