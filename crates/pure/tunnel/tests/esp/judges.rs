//! Foreign implementations as judges: what we seal they open, and the other way round.

mod scapy;
mod tshark;

use data_encoding::HEXLOWER;
use guestright_tunnel::encapsulation::Encapsulation;
use guestright_tunnel::esp::Suite;
use guestright_tunnel::overhead::Mode;

use crate::support::{inner_packet, keys, seal_whole};

/// A packet to judge, and what is in it.
struct Case {
    suite: Suite,
    mode: Mode,
    encapsulation: Encapsulation,
    extended: bool,
    sequence: u64,
    inner: Vec<u8>,
    whole: Vec<u8>,
}

impl Case {
    fn name(&self) -> String {
        let (suite, mode, encapsulation) = (self.suite, self.mode.name(), self.encapsulation.name());
        let (version, length, extended) = (self.inner[0] >> 4, self.inner.len(), self.extended);
        format!("{suite} {mode} {encapsulation} IPv{version} {length} bytes, extended: {extended}")
    }
}

/// Every suite, mode and encapsulation, with IPv4 and IPv6 inside, and every length of padding once.
fn cases(suites: &[Suite], extended: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for &suite in suites {
        let mut sequence = if extended { 0x1_0000_0005 } else { 1 };
        for mode in Mode::ALL {
            for encapsulation in Encapsulation::ALL {
                for version in [4, 6] {
                    if mode == Mode::Transport && version == 6 {
                        continue; // There the outer header is the inner one.
                    }
                    let is_first = mode == Mode::Tunnel && encapsulation == Encapsulation::Raw;
                    let paddings = if is_first { 61..77 } else { 0..0 };
                    for length in [60, 200, 1_400].into_iter().chain(paddings) {
                        let inner = inner_packet(version, length);
                        let whole = seal_whole(&keys(suite), mode, encapsulation, extended, sequence, &inner);
                        cases.push(Case { suite, mode, encapsulation, extended, sequence, inner, whole });
                        sequence += 1;
                    }
                }
            }
        }
    }
    cases
}

/// What ESP carried, as hexadecimal.
fn hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(bytes)
}

fn from_hex(text: &str) -> Vec<u8> {
    HEXLOWER.decode(text.as_bytes()).expect("two digits a byte")
}
