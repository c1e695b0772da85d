//! Writers of pcapng: for frames of any link, and for packets that are built around a datagram.
//!
//! Source: <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html>, sections 3 and 4; IP and UDP: RFC 791,
//! RFC 8200, RFC 768.

mod frames;

pub use frames::{FRAME_MAX, FrameWriter};

use crate::reader::LinkType;
use crate::stamp::Stamp;
use std::net::{IpAddr, SocketAddr};
use thiserror::Error;

/// The longest payload of a UDP datagram without jumbograms, over IPv4.
pub const PAYLOAD_MAX: usize = 65_507;

/// Why a datagram or a frame cannot be written.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum WriteError {
    /// It is too long for UDP.
    #[error("a datagram of {got} bytes is longer than UDP's {PAYLOAD_MAX}; give what was really sent")]
    TooLong {
        /// Its length.
        got: usize,
    },
    /// One address is of IPv4 and the other of IPv6.
    #[error("{from} and {to} are not of one family; give both as they were on the wire")]
    Families {
        /// The sender.
        from: SocketAddr,
        /// The receiver.
        to: SocketAddr,
    },
    /// A frame is longer than readers take.
    #[error("a frame of {got} bytes is longer than the {FRAME_MAX} that Wireshark reads; cut it")]
    FrameTooLong {
        /// Its length.
        got: usize,
    },
    /// A frame is of an interface that was not described.
    #[error("there is no interface {got}, only {known} before it; describe it first")]
    Interface {
        /// The number that was given.
        got: u32,
        /// How many were described.
        known: u32,
    },
}

/// Writes pcapng: one section, one interface whose packets begin with IP, times in nanoseconds.
///
/// It appends to a byte string that the caller gives, and that the caller writes to a file when it likes.
#[derive(Clone, Debug)]
pub struct Writer {
    frames: FrameWriter,
    interface: u32,
    identification: u16,
}

impl Writer {
    /// Writes the beginning of a file to `out`: which program wrote it, and the interface's name.
    pub fn new(program: &str, interface: &str, out: &mut Vec<u8>) -> Self {
        let mut frames = FrameWriter::new(program, out);
        let interface = frames.interface(interface, LinkType::IP, None, out);
        Self { frames, interface, identification: 0 }
    }

    /// Writes one datagram as an IP packet.
    ///
    /// # Errors
    ///
    /// When it is too long for UDP, or the addresses are of two families; nothing is written then.
    pub fn packet(
        &mut self,
        at: impl Into<Stamp>,
        from: SocketAddr,
        to: SocketAddr,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), WriteError> {
        self.packet_with_comment(at, from, to, payload, "", out)
    }

    /// Writes one datagram as an IP packet, with words about it that Wireshark shows; none if they are empty.
    ///
    /// # Errors
    ///
    /// As [`Writer::packet`].
    pub fn packet_with_comment(
        &mut self,
        at: impl Into<Stamp>,
        from: SocketAddr,
        to: SocketAddr,
        payload: &[u8],
        comment: &str,
        out: &mut Vec<u8>,
    ) -> Result<(), WriteError> {
        if payload.len() > PAYLOAD_MAX {
            return Err(WriteError::TooLong { got: payload.len() });
        }
        let packet = match (from.ip(), to.ip()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                self.identification = self.identification.wrapping_add(1);
                let addresses = (source.octets(), destination.octets());
                ipv4(self.identification, addresses, (from.port(), to.port()), payload)
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let addresses = (source.octets(), destination.octets());
                ipv6(addresses, (from.port(), to.port()), payload)
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => {
                return Err(WriteError::Families { from, to });
            }
        };
        self.frames.frame(self.interface, at, &packet, comment, out)
    }
}

fn ipv4(identification: u16, addresses: ([u8; 4], [u8; 4]), ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let datagram = udp(&addresses.0, &addresses.1, ports, payload);
    let mut packet = Vec::with_capacity(20 + datagram.len());
    packet.extend([0x45, 0]);
    packet.extend(length16(20 + datagram.len()).to_be_bytes());
    packet.extend(identification.to_be_bytes());
    // Don't fragment; time to live 64; UDP; a checksum to come.
    packet.extend([0x40, 0, 64, 17, 0, 0]);
    packet.extend(addresses.0);
    packet.extend(addresses.1);
    let checksum = checksum(&[&packet]);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet.extend(datagram);
    packet
}

fn ipv6(addresses: ([u8; 16], [u8; 16]), ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let datagram = udp(&addresses.0, &addresses.1, ports, payload);
    let mut packet = Vec::with_capacity(40 + datagram.len());
    packet.extend([0x60, 0, 0, 0]);
    packet.extend(length16(datagram.len()).to_be_bytes());
    packet.extend([17, 64]);
    packet.extend(addresses.0);
    packet.extend(addresses.1);
    packet.extend(datagram);
    packet
}

fn udp(source: &[u8], destination: &[u8], ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let length = length16(8 + payload.len());
    let mut datagram = Vec::with_capacity(8 + payload.len());
    datagram.extend(ports.0.to_be_bytes());
    datagram.extend(ports.1.to_be_bytes());
    datagram.extend(length.to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    let [high, low] = length.to_be_bytes();
    let sum = checksum(&[source, destination, &[0, 17, high, low], &datagram]);
    // Zero would mean that there is none (RFC 768).
    let sum = if sum == 0 { 0xffff } else { sum };
    datagram[6..8].copy_from_slice(&sum.to_be_bytes());
    datagram
}

/// The Internet's checksum, RFC 1071. Every part but the last has an even length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let pair = |two: &[u8]| u64::from(two[0]) << 8 | u64::from(two.get(1).copied().unwrap_or(0));
    let mut sum: u64 = parts.iter().flat_map(|part| part.chunks(2)).map(pair).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(0)
}

fn length16(length: usize) -> u16 {
    u16::try_from(length).expect("PAYLOAD_MAX and COMMENT_MAX keep it below 65,536")
}

fn length32(length: usize) -> u32 {
    u32::try_from(length).expect("FRAME_MAX and COMMENT_MAX keep it far below 4 GiB")
}

#[cfg(test)]
mod tests;
