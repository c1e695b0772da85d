//! PPP in L2TP in UDP: what ESP in transport mode carries in paper A's tunnel.

use std::net::Ipv4Addr;
use std::ops::Range;

use thiserror::Error;

use super::{DataMessage, HEADER_LEN_SHORT, HEADER_LEN_WITH_LENGTH, MessageError, PORT, write_header};
use crate::ppp::{self, Frame, PppError};
use guestright_wire::ip::{IpError, Packet};
use guestright_wire::udp;

/// One session of one tunnel, whose numbers both ends know beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// The peer's number for the tunnel, which goes into what we send.
    pub tunnel_out: u16,
    /// The peer's number for the session.
    pub session_out: u16,
    /// Our number for the tunnel, which has to be in what we receive.
    pub tunnel_in: u16,
    /// Our number for the session.
    pub session_in: u16,
    /// Whether messages have the length field, which makes the header 8 bytes instead of 6.
    pub with_length: bool,
    /// Our address and the peer's, over which UDP's checksum goes. `None` sends without a checksum and takes any: behind
    /// NAT neither end knows the addresses that the other sees (RFC 3948, section 3.1.2), and ESP has authenticated
    /// the datagram anyway.
    pub addresses: Option<(Ipv4Addr, Ipv4Addr)>,
}

/// Why a payload is not a packet of this session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StackError {
    /// The UDP datagram is not whole, for another port, or damaged.
    #[error("no whole UDP datagram for port 1701")]
    Udp,
    /// Not a message of this session.
    #[error(transparent)]
    L2tp(#[from] L2tpError),
    /// No good PPP frame.
    #[error(transparent)]
    Ppp(#[from] PppError),
    /// A frame with something other than an IP packet, such as the link's own control.
    #[error("a PPP frame with protocol {0:#06x}, which is not IP")]
    OtherProtocol(u16),
    /// No whole IP packet in the frame, or one of the other version.
    #[error("no whole IP packet in a PPP frame")]
    Inner,
}

/// Why a message is not one of this session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum L2tpError {
    /// No good message.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// For another session.
    #[error("an L2TP message for tunnel {tunnel}, session {session}, which is not here")]
    OtherSession {
        /// The tunnel it is for.
        tunnel: u16,
        /// The session it is for.
        session: u16,
    },
}

impl Stack {
    /// Bytes in front of the packet.
    #[must_use]
    pub fn header_len(&self) -> usize {
        udp::HEADER_LEN + self.l2tp_header_len() + ppp::HEADER_LEN
    }

    fn l2tp_header_len(&self) -> usize {
        if self.with_length { HEADER_LEN_WITH_LENGTH } else { HEADER_LEN_SHORT }
    }

    /// Writes the headers in front of the packet, which lies behind the first [`header_len`](Self::header_len) bytes
    /// of `payload`.
    ///
    /// # Errors
    /// [`IpError`] if what lies there is no IP packet.
    pub fn wrap(&self, payload: &mut [u8]) -> Result<(), IpError> {
        let (headers, packet) = payload.split_at_mut(self.header_len());
        let protocol = match Packet::parse(packet)?.source {
            std::net::IpAddr::V4(_) => ppp::PROTOCOL_IPV4,
            std::net::IpAddr::V6(_) => ppp::PROTOCOL_IPV6,
        };
        let frame_at = headers.len() - ppp::HEADER_LEN;
        headers[frame_at..].copy_from_slice(&ppp::header(protocol));
        let frame_len = ppp::HEADER_LEN + packet.len();
        write_header(
            &mut headers[udp::HEADER_LEN..],
            self.tunnel_out,
            self.session_out,
            frame_len,
            self.with_length,
        );
        udp::write(payload, PORT, PORT, self.addresses);
        Ok(())
    }

    /// Finds the packet in what came out of ESP; says where it lies.
    ///
    /// # Errors
    /// [`StackError`] if it is not a packet of this session.
    pub fn unwrap(&self, payload: &[u8]) -> Result<Range<usize>, StackError> {
        let datagram = udp::Datagram::parse(payload).ok_or(StackError::Udp)?;
        let is_intact = self.addresses.is_none_or(|(ours, peers)| datagram.is_intact(peers, ours));
        if datagram.destination != PORT || !is_intact {
            return Err(StackError::Udp);
        }
        let message = DataMessage::parse(datagram.payload).map_err(L2tpError::from)?;
        let DataMessage { tunnel, session, .. } = message;
        if (tunnel, session) != (self.tunnel_in, self.session_in) {
            return Err(L2tpError::OtherSession { tunnel, session }.into());
        }
        let frame = Frame::parse(message.frame)?;
        if ![ppp::PROTOCOL_IPV4, ppp::PROTOCOL_IPV6].contains(&frame.protocol) {
            return Err(StackError::OtherProtocol(frame.protocol));
        }
        let packet = Packet::parse(frame.packet).map_err(|_| StackError::Inner)?;
        if packet.source.is_ipv4() != (frame.protocol == ppp::PROTOCOL_IPV4) {
            return Err(StackError::Inner);
        }
        let start = udp::HEADER_LEN + message.header_len + (message.frame.len() - frame.packet.len());
        Ok(start..start + packet.len)
    }
}

#[cfg(test)]
mod tests;
