//! What went over a link: captured by tcpdump, read here.

use super::until;
use guestright_netns::Process;
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// A frame, as far as it matters who sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    Arp,
    /// IPv4: its protocol, both ends (port 0 where there is none), and its length.
    Ip4 {
        protocol: u8,
        from: (Ipv4Addr, u16),
        to: (Ipv4Addr, u16),
        length: usize,
    },
    Ip6,
    /// Any other EtherType.
    Other(u16),
}

/// A running tcpdump.
pub(super) struct Capture {
    process: Process,
    file: PathBuf,
}

impl Capture {
    /// Waits until it captures.
    pub(super) fn new(process: Process, file: PathBuf) -> Self {
        until("tcpdump to listen", || process.output().contains("listening on"));
        Self { process, file }
    }

    /// What was captured so far, with the time of each in microseconds since 1970.
    pub(super) fn frames(&self) -> Vec<(u64, Frame)> {
        parse(&std::fs::read(&self.file).unwrap_or_default())
    }

    /// All of it.
    pub(super) fn stop(mut self) -> Vec<(u64, Frame)> {
        self.process.terminate().unwrap();
        self.process.wait().unwrap();
        let output = self.process.output();
        assert!(output.contains("0 packets dropped by kernel"), "{output}");
        self.frames()
    }
}

/// The classic format (draft-ietf-opsawg-pcap) in this computer's byte order, of Ethernet.
fn parse(bytes: &[u8]) -> Vec<(u64, Frame)> {
    let number = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut frames = Vec::new();
    if bytes.len() < 24 {
        return frames;
    }
    assert_eq!((number(0), number(20)), (0xa1b2_c3d4, 1), "microseconds, Ethernet");
    let mut at = 24;
    // The last record may not be complete yet.
    while at + 16 <= bytes.len() {
        let length = usize::try_from(number(at + 8)).unwrap();
        let Some(frame) = bytes.get(at + 16..at + 16 + length) else { break };
        let time = u64::from(number(at)) * 1_000_000 + u64::from(number(at + 4));
        frames.push((time, read(frame)));
        at += 16 + length;
    }
    frames
}

fn read(frame: &[u8]) -> Frame {
    let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    match word(12) {
        0x0806 => Frame::Arp,
        0x86dd => Frame::Ip6,
        0x0800 => {
            let address = |at: usize| Ipv4Addr::new(frame[at], frame[at + 1], frame[at + 2], frame[at + 3]);
            let (header, protocol) = (usize::from(frame[14] & 15) * 4, frame[23]);
            // A fragment that is not the first has no ports.
            let has_ports = matches!(protocol, 6 | 17) && word(20) & 0x1fff == 0;
            let port = |at: usize| if has_ports { word(14 + header + at) } else { 0 };
            let length = usize::from(word(16));
            Frame::Ip4 { protocol, from: (address(26), port(0)), to: (address(30), port(2)), length }
        }
        other => Frame::Other(other),
    }
}
