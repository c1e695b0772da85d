//! Linux and we put the same bytes on the wire.
//!
//! The files in `captures/` are what Linux 6.1 sent in `make acceptance`, with the keys it used: L2TP over IPsec as
//! strongSwan, xl2tpd and pppd set it up, and ESP in tunnel mode. Every packet is opened, taken apart, put together
//! again by our encoder with the same sequence number and the same initialization vector, and compared byte for byte.
//! `make acceptance` does this once more with packets that are minutes old: their folder is in
//! `GUESTRIGHT_KERNEL_CAPTURES`.

#![expect(clippy::unwrap_used, reason = "whatever is missing in a capture fails the test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use aes::Aes128;
use aes::cipher::{Block, BlockCipherDecrypt as _, KeyInit as _};
use data_encoding::HEXLOWER_PERMISSIVE;
use guestright_tunnel::encapsulation::{self, Encapsulation};
use guestright_tunnel::esp::{
    HEADER_LEN, InboundSa, Keys, Lifetime, OutboundSa, PACKET_LEN_MAX, SaParameters, Suite, WINDOW_DEFAULT,
};
use guestright_tunnel::l2tp::{DataMessage, HEADER_LEN_SHORT, HEADER_LEN_WITH_LENGTH, Stack};
use guestright_tunnel::overhead;
use guestright_tunnel::ppp::{self, Frame};
use guestright_wire::ip::{Ipv4Header, PROTOCOL_IPV4};
use guestright_wire::udp;
use zeroize::Zeroizing;

/// What the acceptance run sent: packets of voice with 60 and 200 bytes, IP header included.
const SENT: [usize; 2] = [60, 200];

/// Which capture is of what, and how long the two packets were on the wire.
#[rustfmt::skip]
const WANTED: [(&str, [usize; 2]); 11] = [
    // The kernel's own L2TP leaves the length field out, so its header has 6 bytes where paper A counts 8. That makes
    // 60 + 4 PPP + 6 + 8 UDP + 2 trailer = 80, which needs no padding: 136, not 152.
    ("l2tp-aes-128-cbc+hmac-md5-96-kernel",      [136, 280]),
    ("l2tp-3des-cbc+hmac-sha1-96-kernel",        [128, 272]),
    // Behind NAT, 8 bytes of UDP more.
    ("l2tp-aes-128-cbc+hmac-sha1-96-kernel",     [144, 288]),
    // xl2tpd without the kernel's help, told to send the length field: paper A's 152.
    ("l2tp-aes-128-cbc+hmac-md5-96-userspace",   [152, 280]),
    // Paper B's, as RFC 4303 has it; the paper's own figures are 8 bytes less.
    ("tunnel-3des-cbc+hmac-sha1-96",             [112, 256]),
    ("tunnel-aes-128-cbc+hmac-md5-96",           [120, 264]),
    ("tunnel-aes-128-cbc+hmac-sha1-96",          [120, 264]),
    ("tunnel-aes-128-cbc+hmac-sha1-96-extended", [120, 264]),
    ("tunnel-aes-128-gcm",                       [116, 256]),
    ("tunnel-aes-256-gcm",                       [116, 256]),
    ("tunnel-chacha20-poly1305",                 [116, 256]),
];

#[test]
fn repeats_what_linux_has_sent_byte_for_byte() {
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures"));
}

#[test]
fn repeats_what_linux_sends_now() {
    // Only `make acceptance` has fresh ones.
    if let Some(folder) = std::env::var_os("GUESTRIGHT_KERNEL_CAPTURES") {
        check(&PathBuf::from(folder));
    }
}

#[test]
fn the_papers_lengths_are_what_linux_has_sent() {
    let wire = |name| WANTED.iter().find(|(one, _)| *one == name).unwrap().1;
    assert_eq!((60, wire("l2tp-aes-128-cbc+hmac-md5-96-userspace")[0]), overhead::PAPER_A_VOICE);
    let lengths = wire("tunnel-3des-cbc+hmac-sha1-96");
    assert_eq!([(60, lengths[0]), (200, lengths[1])], overhead::PAPER_B_BY_RFC);
}

fn check(folder: &Path) {
    for (name, wire) in WANTED {
        let path = folder.join(format!("{name}.capture"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let capture = Capture::read(&text);
        let mut found = Vec::new();
        for packet in &capture.packets {
            if let Some(inner) = capture.repeat(packet) {
                found.push((inner.len(), packet.len()));
                assert!(
                    capture.inner.is_empty() || capture.inner.contains(&inner),
                    "{name}: not what was sent"
                );
            }
        }
        assert_eq!(found, [(SENT[0], wire[0]), (SENT[1], wire[1])], "{name}");
    }
}

/// What one run of the kernel's has left on the wire.
struct Capture {
    parameters: SaParameters,
    encapsulation: Encapsulation,
    /// What entered the tunnel, where that could be seen.
    inner: Vec<Vec<u8>>,
    packets: Vec<Vec<u8>>,
}

impl Capture {
    fn read(text: &str) -> Self {
        let mut fields = BTreeMap::<_, Vec<_>>::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.split_once(' ').unwrap();
            fields.entry(name).or_default().push(value);
        }
        let one = |name| fields.get(name).map(|values| values[0]);
        let all = |name| fields.get(name).into_iter().flatten().map(|value| bytes(value)).collect();
        let suite: Suite = one("suite").unwrap().parse().unwrap();
        let encryption = bytes(one("encryption_key").unwrap());
        let authentication = one("authentication_key").map(bytes).unwrap_or_default();
        let parameters = SaParameters {
            spi: u32::from_str_radix(one("spi").unwrap().strip_prefix("0x").unwrap(), 16).unwrap(),
            keys: Keys::new(suite, &encryption, &authentication).unwrap(),
            extended_sequence: one("extended_sequence").is_some(),
            lifetime: Lifetime::default(),
            packet_len_max: PACKET_LEN_MAX,
        };
        let encapsulation =
            if one("encapsulation").is_some() { Encapsulation::Udp } else { Encapsulation::Raw };
        Self { parameters, encapsulation, inner: all("inner"), packets: all("outer") }
    }

    /// Makes the packet once more; gives the IP packet that travels in it, if it is one.
    fn repeat(&self, packet: &[u8]) -> Option<Vec<u8>> {
        let (header, payload_range) = Ipv4Header::parse(packet).unwrap();
        let esp_at = payload_range.start + self.encapsulation.header_len();
        let esp = &packet[esp_at..];
        let (next_header, payload) = self.open(esp);
        let inner = match next_header {
            PROTOCOL_IPV4 => Some(payload.clone()),
            _ => repeat_l2tp(&header, &payload),
        };

        // From the inside to the outside, as a sender would.
        let mut again = vec![0; packet.len()];
        let sequence = u32::from_be_bytes(esp[4..HEADER_LEN].try_into().unwrap());
        let suite = self.parameters.keys.suite();
        let seed = seed_for(&esp[HEADER_LEN..suite.payload_offset()], sequence);
        let mut sender = OutboundSa::new(&self.parameters, sequence.into(), &seed);
        let sealed = sender.seal(next_header, &payload, &mut again[esp_at..]).unwrap();
        assert_eq!(sealed, esp.len());
        if self.encapsulation == Encapsulation::Udp {
            udp::write(&mut again[payload_range.start..], encapsulation::PORT, encapsulation::PORT, None);
        }
        header.write(&mut again);
        if suite.is_legacy() {
            assert_eq!(again, packet);
        } else {
            // Linux mixes its counter with a secret (seqiv), so our vector differs, and the text and check value with it.
            assert_eq!(again.len(), packet.len());
            assert_eq!(again[..esp_at + HEADER_LEN], packet[..esp_at + HEADER_LEN]);
            assert_eq!(self.open(&again[esp_at..]), (next_header, payload));
        }
        inner
    }

    fn open(&self, esp: &[u8]) -> (u8, Vec<u8>) {
        let mut esp = esp.to_vec();
        let opened = InboundSa::new(&self.parameters, WINDOW_DEFAULT).open(&mut esp).unwrap();
        (opened.next_header, esp[opened.payload].to_vec())
    }
}

/// Makes PPP, L2TP and UDP once more around the packet in a data message; nothing for the tunnel's own messages.
fn repeat_l2tp(outer: &Ipv4Header, payload: &[u8]) -> Option<Vec<u8>> {
    let datagram = udp::Datagram::parse(payload).unwrap();
    let message = DataMessage::parse(datagram.payload).ok()?;
    let frame = Frame::parse(message.frame).unwrap();
    if frame.protocol != ppp::PROTOCOL_IPV4 {
        return None;
    }
    assert!([HEADER_LEN_SHORT, HEADER_LEN_WITH_LENGTH].contains(&message.header_len));
    let stack = Stack {
        tunnel_out: message.tunnel,
        session_out: message.session,
        tunnel_in: 0,
        session_in: 0,
        with_length: message.header_len == HEADER_LEN_WITH_LENGTH,
        addresses: (datagram.checksum != 0).then_some((outer.source, outer.destination)),
    };
    let mut again = vec![0; stack.header_len()];
    again.extend_from_slice(frame.packet);
    stack.wrap(&mut again).unwrap();
    assert_eq!(again, payload);
    Some(frame.packet.to_vec())
}

/// The chance that makes a sender come upon this vector at this sequence number.
///
/// A vector is the beginning of `AES(key, whitening XOR sequence)`, with key and whitening from the seed. So the key may
/// be anything, and the whitening follows.
fn seed_for(vector: &[u8], sequence: u32) -> Zeroizing<[u8; 32]> {
    let mut block = [0; 16];
    block[..vector.len()].copy_from_slice(vector);
    let mut block = Block::<Aes128>::from(block);
    Aes128::new(&[0; 16].into()).decrypt_block(&mut block);
    let whitening = u128::from_be_bytes(block.into()) ^ u128::from(sequence);
    let mut seed = Zeroizing::new([0; 32]);
    seed[16..].copy_from_slice(&whitening.to_be_bytes());
    seed
}

fn bytes(hex: &str) -> Vec<u8> {
    let hex = hex.strip_prefix("0x").unwrap_or(hex);
    HEXLOWER_PERMISSIVE.decode(hex.as_bytes()).unwrap()
}
