//! What a phone, or somebody who says so, sends to a member's home.

use crate::seeds::Seed;
use guestright_eap::{Authority, Certificate, Config, Fragment, Limits, Method, Outcome, Packet, Server};
use guestright_units::{Micros, UnixSeconds};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::sync::LazyLock;

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);

static CONFIG: LazyLock<Config> = LazyLock::new(|| {
    let mut rng = StdRng::seed_from_u64(1);
    let authority = Authority::found("team.example".parse().expect("a realm"), NOW, &mut rng);
    let home = authority.issue_server(NOW, &mut rng);
    let realm = authority.realm().clone();
    Config::new(authority.certificate(), realm, &home, [].into(), Limits::default()).expect("they fit")
});

/// A packet: what is read is written in as many bytes, and read again as the same. A certificate is read without a panic.
/// And a conversation: packets, each behind its length, of which the first bytes are made to fit what the home has asked.
/// It answers a packet with one packet at most, none of them too long, and accepts nobody.
pub fn eap(bytes: &[u8]) {
    if let Ok(packet) = Packet::parse(bytes) {
        let written = packet.emit();
        assert_eq!(written.len(), usize::from(u16::from_be_bytes([bytes[2], bytes[3]])));
        assert_eq!(Packet::parse(&written), Ok(packet));
    }
    if let Ok(certificate) = Certificate::from_der(bytes) {
        assert_eq!(Certificate::from_der(certificate.as_der()).as_ref(), Ok(&certificate));
        let _ = (
            certificate.serial(),
            certificate.not_after(),
            certificate.label(&"team.example".parse().expect("a realm")),
        );
    }
    converse(bytes);
}

fn converse(mut bytes: &[u8]) {
    let mut now = NOW.time();
    let mut server = Server::new(&CONFIG, None, now);
    let mut open = 0;
    while let Some((length, rest)) = bytes.split_first() {
        let (packet, rest) = rest.split_at(rest.len().min(usize::from(*length)));
        bytes = rest;
        let mut packet = packet.to_vec();
        if let [2, identifier, high, low, _, ..] = &mut packet[..] {
            (*identifier, *high, *low) = (open, 0, *length);
        }
        now = now + Micros(1);
        let was_over = server.outcome().is_some();
        let result = server.handle(&packet, now);
        let answer = server.poll_transmit();
        assert_eq!(answer.is_some(), result.is_ok());
        assert_eq!(server.poll_transmit(), None);
        if let Some(answer) = answer {
            assert!(
                answer.len() <= 1_020
                    && !matches!(Packet::parse(&answer), Err(_) | Ok(Packet::Response { .. }))
            );
            open = answer[1];
        } else {
            assert_eq!(server.outcome().is_some(), was_over);
        }
        assert!(!matches!(server.outcome(), Some(Outcome::Accepted { .. })));
    }
}

fn conversation(packets: &[Packet<'_>]) -> Vec<u8> {
    let packets = packets.iter().map(Packet::emit);
    packets.flat_map(|packet| [&[u8::try_from(packet.len()).expect("short")], &packet[..]].concat()).collect()
}

/// The hello of Debian's OpenSSL, as `eapol_test` sends it, shortened to what a home cannot do without: TLS 1.3 with X25519.
fn hello() -> Vec<u8> {
    let mut extensions = vec![0, 43, 0, 3, 2, 3, 4]; // TLS 1.3
    extensions.extend([0, 10, 0, 4, 0, 2, 0, 29]); // X25519
    extensions.extend([0, 13, 0, 4, 0, 2, 4, 3]); // ECDSA with P-256 and SHA-256
    extensions.extend([0, 51, 0, 38, 0, 36, 0, 29, 0, 32]); // and a key
    extensions.extend([9; 32]);
    let mut hello = vec![3, 3];
    hello.extend([7; 32]);
    hello.extend([0, 0, 2, 0x13, 1, 1, 0, 0, u8::try_from(extensions.len()).expect("short")]);
    hello.extend(extensions);
    let length = u8::try_from(hello.len()).expect("short");
    [&[22, 3, 1, 0, length + 4, 1, 0, 0, length][..], &hello].concat()
}

pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    let response = |method| Packet::Response { identifier: 1, method };
    let tls = |more, total, bytes| response(Method::Tls(Fragment { start: false, more, total, bytes }));
    let identity = response(Method::Identity(b"anonymous@team.example"));
    let hello = hello();
    let (first, second) = hello.split_at(60);
    let total = u32::try_from(hello.len()).ok();
    let acknowledgement = response(Method::Tls(Fragment::ACKNOWLEDGEMENT));
    let certificate = [22, 3, 3, 0, 8, 11, 0, 0, 4, 0, 0, 0, 0];
    let conversations = [
        ("begin", vec![identity]),
        ("hello", vec![identity, tls(false, None, &hello), acknowledgement]),
        (
            "hello-in-pieces",
            vec![identity, tls(true, total, first), tls(false, None, second), acknowledgement],
        ),
        ("no-certificate", vec![identity, tls(false, None, &hello), tls(false, None, &certificate)]),
        ("alert", vec![identity, tls(false, None, &[21, 3, 1, 0, 2, 2, 48])]),
        ("garbage", vec![identity, tls(false, None, b"GET / HTTP/1.1"), acknowledgement]),
        (
            "near-endless",
            vec![identity, tls(true, Some(60_000), b"a"), tls(true, None, b"b"), tls(true, None, b"")],
        ),
        ("near-oversized", vec![identity, tls(true, Some(u32::MAX), b"a"), tls(false, Some(2), b"a")]),
        ("another-method", vec![identity, response(Method::Nak(&[25, 21]))]),
        ("near-method", vec![identity, response(Method::Other { method: 25, content: b"x" })]),
    ];
    seeds.extend(conversations.map(|(name, packets)| ("eap", name.to_owned(), conversation(&packets))));
    let packets = [
        ("packet-start", Packet::Request { identifier: 1, method: Method::Tls(Fragment::START) }),
        ("packet-piece", tls(true, Some(9), b"abc")),
        ("packet-nak", response(Method::Nak(&[25]))),
        ("packet-success", Packet::Success { identifier: 1 }),
    ];
    seeds.extend(packets.map(|(name, packet)| ("eap", name.to_owned(), packet.emit())));
    seeds.push(("eap", "packet-near-length".to_owned(), vec![2, 1, 0, 9, 13, 0x80, 0, 0]));
    let mut rng = StdRng::seed_from_u64(2);
    let authority = Authority::found("team.example".parse().expect("a realm"), NOW, &mut rng);
    let (_, phone) = authority.issue_client(NOW, &mut rng);
    seeds.push(("eap", "certificate".to_owned(), phone.certificate.as_der().to_vec()));
}
