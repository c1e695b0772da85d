//! What went over a link: captured by tcpdump, read here.

use super::until;
use guestright_netns::Process;
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// Bytes before the first record.
const HEADER: usize = 24;

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
        self.frames_from(&mut 0)
    }

    /// The same from a place in the file on, 0 at first, which is moved to behind them.
    pub(super) fn frames_from(&self, at: &mut usize) -> Vec<(u64, Frame)> {
        let mut file = File::open(&self.file).unwrap();
        let mut header = [0; HEADER];
        if file.read_exact(&mut header).is_err() {
            return Vec::new();
        }
        let number = |at: usize| u32::from_ne_bytes(header[at..at + 4].try_into().unwrap());
        assert_eq!((number(0), number(20)), (0xa1b2_c3d4, 1), "microseconds, Ethernet");
        *at = (*at).max(HEADER);
        file.seek(SeekFrom::Start(u64::try_from(*at).unwrap())).unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        let (frames, length) = parse(&bytes);
        *at += length;
        frames
    }

    /// Gives back the room that a long capture takes: what is before `at` is not read again, but for the header.
    pub(super) fn forget(&self, at: usize) {
        let file = File::options().write(true).open(&self.file).unwrap();
        let page = 4_096; // The first holds the header, and only whole ones are given back.
        let length = u64::try_from(at).unwrap().saturating_sub(page);
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if length > 0 {
            fallocate(&file, hole, page, length).unwrap();
        }
    }

    /// All of it.
    pub(super) fn stop(mut self) -> Vec<(u64, Frame)> {
        self.end();
        self.frames()
    }

    /// Captures nothing more. What was captured can still be read, and nothing is missing.
    pub(super) fn end(&mut self) {
        self.process.terminate().unwrap();
        self.process.wait().unwrap();
        let output = self.process.output();
        assert!(output.contains("0 packets dropped by kernel"), "{output}");
    }
}

/// The records of the classic format (draft-ietf-opsawg-pcap), in this computer's byte order, of Ethernet; and how many
/// bytes they are. The last one may not be complete yet, and is left out.
fn parse(bytes: &[u8]) -> (Vec<(u64, Frame)>, usize) {
    let number = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut frames = Vec::new();
    let mut at = 0;
    while at + 16 <= bytes.len() {
        let length = usize::try_from(number(at + 8)).unwrap();
        let Some(frame) = bytes.get(at + 16..at + 16 + length) else { break };
        let time = u64::from(number(at)) * 1_000_000 + u64::from(number(at + 4));
        frames.push((time, read(frame)));
        at += 16 + length;
    }
    (frames, at)
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
