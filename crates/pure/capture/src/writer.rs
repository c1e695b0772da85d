//! A writer of pcapng, for packets that are built around a datagram.
//!
//! Source: <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html>, sections 3 and 4; IP and UDP: RFC 791,
//! RFC 8200, RFC 768.

use crate::stamp::Stamp;
use std::net::{IpAddr, SocketAddr};
use thiserror::Error;

/// The longest payload of a UDP datagram without jumbograms, over IPv4.
pub const PAYLOAD_MAX: usize = 65_507;

/// Longer comments are cut, at a character.
const COMMENT_MAX: usize = 1_024;

/// Why a datagram cannot be written.
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
}

/// Writes pcapng: one section, one interface whose packets begin with IP, times in nanoseconds.
///
/// It appends to a byte string that the caller gives, and that the caller writes to a file when it likes.
#[derive(Clone, Debug)]
pub struct Writer {
    identification: u16,
}

impl Writer {
    /// Writes the beginning of a file to `out`: which program wrote it, and the interface's name.
    pub fn new(program: &str, interface: &str, out: &mut Vec<u8>) -> Self {
        block(0x0a0d_0d0a, out, |out| {
            out.extend(0x1a2b_3c4d_u32.to_le_bytes());
            out.extend(1_u16.to_le_bytes());
            out.extend(0_u16.to_le_bytes());
            // The length of the section is not known.
            out.extend(u64::MAX.to_le_bytes());
            option(4, clipped(program).as_bytes(), out);
            end_of_options(out);
        });
        block(1, out, |out| {
            out.extend(101_u16.to_le_bytes());
            out.extend(0_u16.to_le_bytes());
            out.extend(0_u32.to_le_bytes());
            option(2, clipped(interface).as_bytes(), out);
            option(9, &[9], out);
            end_of_options(out);
        });
        Self { identification: 0 }
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
        let Stamp(nanos) = at.into();
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
        block(6, out, |out| {
            let (high, low) = ((nanos >> 32).to_le_bytes(), (nanos & 0xffff_ffff).to_le_bytes());
            let length = length32(packet.len()).to_le_bytes();
            out.extend(0_u32.to_le_bytes());
            out.extend(&high[..4]);
            out.extend(&low[..4]);
            out.extend(length);
            out.extend(length);
            out.extend(&packet);
            pad(out, packet.len());
            if !comment.is_empty() {
                option(1, clipped(comment).as_bytes(), out);
                end_of_options(out);
            }
        });
        Ok(())
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

/// A block: kind, length, body, length.
fn block(kind: u32, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    let length = length32(out.len() - start + 4).to_le_bytes();
    out.extend(length);
    out[start + 4..start + 8].copy_from_slice(&length);
}

fn option(code: u16, value: &[u8], out: &mut Vec<u8>) {
    let value = &value[..value.len().min(COMMENT_MAX)];
    out.extend(code.to_le_bytes());
    out.extend(length16(value.len()).to_le_bytes());
    out.extend(value);
    pad(out, value.len());
}

fn end_of_options(out: &mut Vec<u8>) {
    out.extend([0; 4]);
}

fn pad(out: &mut Vec<u8>, length: usize) {
    out.extend(std::iter::repeat_n(0, length.next_multiple_of(4) - length));
}

/// As much of a text as an option may have, cut at a character.
fn clipped(text: &str) -> &str {
    let end = (0..=text.len().min(COMMENT_MAX)).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

fn length16(length: usize) -> u16 {
    u16::try_from(length).expect("PAYLOAD_MAX and COMMENT_MAX keep it below 65,536")
}

fn length32(length: usize) -> u32 {
    u32::try_from(length).expect("PAYLOAD_MAX and COMMENT_MAX keep it far below 4 GiB")
}

#[cfg(test)]
mod tests;
