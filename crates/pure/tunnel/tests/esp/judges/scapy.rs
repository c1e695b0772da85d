//! Scapy's IPsec layer opens every packet of ours, and we open every one of its own.

use std::io::Write as _;
use std::process::{Command, Stdio};

use guestright_tunnel::encapsulation::{self, Datagram, Encapsulation};
use guestright_tunnel::esp::{InboundSa, SaParameters, Suite};
use guestright_tunnel::overhead::Mode;
use guestright_wire::ip::{self, Ipv4Header, Packet};
use guestright_wire::udp;
use serde_json::json;

use super::{Case, cases, from_hex, hex};
use crate::support::{LOCAL, PEER, STACK, keys, parameters, payload, spi};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/esp/judges/scapy_judge.py");
/// Debian's own: Scapy is installed for it.
const PYTHON: &str = "/usr/bin/python3";

#[test]
fn opens_every_packet_of_ours() {
    for extended in [false, true] {
        let cases = cases(&Suite::ALL, extended);
        let answers = ask("open", &cases, |case| case.whole.clone());
        for (answer, case) in answers.iter().zip(&cases) {
            let name = case.name();
            assert!(!answer.starts_with("error"), "{name}: {answer}");
            let packet = from_hex(answer);
            if case.mode == Mode::Tunnel {
                assert_eq!(packet, case.inner, "{name}");
                continue;
            }
            // In transport mode the outer header is the packet's own again.
            let (want_protocol, want) = payload(case.mode, &case.inner);
            let (header, rest) = Ipv4Header::parse(&packet).unwrap();
            assert_eq!(
                (header.source, header.destination, header.protocol),
                (LOCAL, PEER, want_protocol),
                "{name}"
            );
            assert_eq!(packet[rest], want, "{name}");
        }
    }
}

#[test]
fn finds_a_changed_packet() {
    let cases = cases(&Suite::ALL, true);
    let answers = ask("open", &cases, |case| {
        let mut whole = case.whole.clone();
        *whole.last_mut().expect("it is not empty") ^= 1;
        whole
    });
    for (answer, case) in answers.iter().zip(&cases) {
        assert!(answer.starts_with("error"), "{}: Scapy takes everything for right", case.name());
    }
}

#[test]
fn finds_a_packet_with_another_upper_half() {
    let mut cases = cases(&Suite::ALL, true);
    for case in &mut cases {
        case.sequence += 1 << 32;
    }
    for (answer, case) in ask("open", &cases, |case| case.whole.clone()).iter().zip(&cases) {
        assert!(answer.starts_with("error"), "{}: the upper half is not authenticated", case.name());
    }
}

#[test]
fn what_it_seals_we_open() {
    for extended in [false, true] {
        let cases = cases(&Suite::ALL, extended);
        let answers = ask("seal", &cases, |case| match case.mode {
            Mode::Tunnel => case.inner.clone(),
            Mode::Transport | Mode::L2tp => transported(case),
        });
        for (answer, case) in answers.iter().zip(&cases) {
            let name = case.name();
            assert!(!answer.starts_with("error"), "{name}: {answer}");
            let mut whole = from_hex(answer);
            assert_eq!(whole.len(), case.whole.len(), "{name}: not as long as ours");
            let (next_header, opened) = open(case, &mut whole);
            let (want_next_header, want) = payload(case.mode, &case.inner);
            assert_eq!(opened, want, "{name}");
            assert_eq!(next_header, want_next_header, "{name}");
            if case.mode == Mode::L2tp {
                assert_eq!(opened[STACK.header_len()..], case.inner);
            }
        }
    }
}

/// The packet that ESP in transport mode is put into.
fn transported(case: &Case) -> Vec<u8> {
    let (protocol, payload) = payload(case.mode, &case.inner);
    let mut packet = [vec![0; ip::IPV4_HEADER_LEN], payload].concat();
    let (outer, _) = Ipv4Header::parse(&case.whole).expect("we wrote it");
    Ipv4Header { protocol, ..outer }.write(&mut packet);
    packet
}

/// Opens a whole packet; gives the next header and the payload.
fn open(case: &Case, whole: &mut [u8]) -> (u8, Vec<u8>) {
    let (header, rest) = Ipv4Header::parse(whole).expect("Scapy writes whole packets");
    let packet = &mut whole[rest];
    let packet = match case.encapsulation {
        Encapsulation::Raw => {
            assert_eq!(header.protocol, ip::PROTOCOL_ESP);
            packet
        }
        Encapsulation::Udp => {
            assert_eq!(udp::Datagram::parse(packet).expect("a datagram").destination, encapsulation::PORT);
            match encapsulation::classify(&mut packet[udp::HEADER_LEN..]) {
                Datagram::Esp(packet) => packet,
                other @ (Datagram::KeyExchange(_) | Datagram::KeepAlive | Datagram::TooShort) => {
                    panic!("not ESP: {other:?}")
                }
            }
        }
    };
    let parameters = SaParameters { spi: spi(case.suite), ..parameters(&keys(case.suite), case.extended) };
    let mut receiver = InboundSa::new(&parameters, 1 << 10);
    if case.extended {
        catch_up(&mut receiver, &parameters);
    }
    let opened = receiver.open(packet).unwrap_or_else(|error| panic!("{}: {error}", case.name()));
    assert_eq!(opened.sequence, case.sequence);
    let payload = packet[opened.payload].to_vec();
    if case.mode == Mode::Tunnel {
        assert_eq!(Packet::parse(&payload).map(|inner| inner.len), Ok(payload.len()));
    }
    (opened.next_header, payload)
}

/// Lets a receiver see a number shortly before 2^32, so that it counts the upper half.
fn catch_up(receiver: &mut InboundSa, parameters: &SaParameters) {
    for first in [1 << 31, (1 << 32) - 2_000] {
        let seed = zeroize::Zeroizing::new([1; 32]);
        let mut sender = guestright_tunnel::esp::OutboundSa::new(parameters, first, &seed);
        let mut out = [0; 200];
        let length = sender.seal(4, b"earlier", &mut out).expect("there is room");
        receiver.open(&mut out[..length]).expect("it is newer");
    }
}

/// Asks about all cases at once; Python starts slowly.
fn ask(operation: &str, cases: &[Case], packet: impl Fn(&Case) -> Vec<u8>) -> Vec<String> {
    let mut questions = String::new();
    for case in cases {
        let keys = keys(case.suite);
        let question = json!({
            "op": operation,
            "suite": case.suite.name(),
            "spi": spi(case.suite),
            "encryption": hex(keys.encryption()),
            "authentication": hex(keys.authentication()),
            "mode": case.mode.name(),
            "encapsulation": case.encapsulation.name(),
            "extended": case.extended,
            "sequence": case.sequence,
            "packet": hex(&packet(case)),
        });
        questions += &format!("{question}\n");
    }
    let wanting = "Scapy has to be installed (python3-scapy, python3-cryptography): sh scripts/setup.sh test";
    let mut command = Command::new(PYTHON);
    command.arg(SCRIPT).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect(wanting);
    let mut stdin = child.stdin.take().expect("it is piped");
    let writer = std::thread::scope(|scope| {
        // Written beside the reading, or both would wait for room in a pipe.
        let writing = scope.spawn(move || stdin.write_all(questions.as_bytes()));
        let output = child.wait_with_output().expect("Python ends");
        writing.join().expect("the thread does not panic").ok();
        output
    });
    let error = String::from_utf8_lossy(&writer.stderr);
    assert!(writer.status.success(), "{wanting}\n{error}");
    let answers: Vec<String> =
        String::from_utf8(writer.stdout).expect("hexadecimal").lines().map(str::to_owned).collect();
    assert_eq!(answers.len(), cases.len(), "{wanting}\n{error}");
    answers
}
