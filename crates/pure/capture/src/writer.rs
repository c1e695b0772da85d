//! Writers of pcapng: for frames of any link, and for packets that are built around a datagram.
//!
//! Source: <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html>, sections 3 and 4; IP and UDP: RFC 791,
//! RFC 8200, RFC 768.

mod frames;

pub use frames::{FRAME_MAX, FrameWriter};

use crate::reader::LinkType;
use crate::stamp::Stamp;
use etherparse::{IpHeaders, Ipv4Header, PacketBuilder};
use std::net::{IpAddr, SocketAddr};
use thiserror::Error;

/// The longest payload of a UDP datagram without jumbograms, over IPv4.
pub const PAYLOAD_MAX: usize = 65_507;

/// How many routers the packets may pass, as most systems send them.
const TTL: u8 = 64;

/// Why a datagram or a frame cannot be written.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum WriteError {
    /// It is too long for UDP.
    #[error("a datagram of {got} bytes is longer than UDP's {PAYLOAD_MAX}; give what was really sent")]
    TooLong { got: usize },
    /// One address is of IPv4 and the other of IPv6.
    #[error("{from} and {to} are not of one family; give both as they were on the wire")]
    Families { from: SocketAddr, to: SocketAddr },
    /// A frame is longer than readers take.
    #[error("a frame of {got} bytes is longer than the {FRAME_MAX} that Wireshark reads; cut it")]
    FrameTooLong { got: usize },
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
        let builder = match (from.ip(), to.ip()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                self.identification = self.identification.wrapping_add(1);
                let header = Ipv4Header {
                    identification: self.identification,
                    dont_fragment: true,
                    time_to_live: TTL,
                    source: source.octets(),
                    destination: destination.octets(),
                    ..Default::default()
                };
                PacketBuilder::ip(IpHeaders::Ipv4(header, Default::default()))
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                PacketBuilder::ipv6(source.octets(), destination.octets(), TTL)
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => {
                return Err(WriteError::Families { from, to });
            }
        };
        let builder = builder.udp(from.port(), to.port());
        let mut packet = Vec::with_capacity(builder.size(payload.len()));
        builder.write_to_vec(&mut packet, payload).expect("PAYLOAD_MAX keeps it below 65,536 bytes");
        self.frames.frame(self.interface, at, &packet, comment, out)
    }
}

fn length16(length: usize) -> u16 {
    u16::try_from(length).expect("PAYLOAD_MAX and COMMENT_MAX keep it below 65,536")
}

fn length32(length: usize) -> u32 {
    u32::try_from(length).expect("FRAME_MAX and COMMENT_MAX keep it far below 4 GiB")
}

#[cfg(test)]
mod tests;
