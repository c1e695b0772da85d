//! RTP packets, read where they lie (RFC 3550, section 5).
//!
//! In: a datagram. Out: a [`Packet`], which borrows it, or why it is none. The other way, a [`Header`] is written in
//! front of a payload. [`Kind::of`] tells RTP from everything else that may come to the same port, and [`Widen`] makes
//! counters of 16 and 32 bits into ones that do not wrap.

mod demux;
mod widen;

pub use demux::Kind;
pub use widen::{Widen, WidenSequence, WidenTimestamp};

use thiserror::Error;

/// The bytes of a header without contributors and without extension.
pub const HEADER_LEN: usize = 12;

/// At most so many contributing sources fit into a header.
pub const CONTRIBUTORS_MAX: usize = 15;

/// The payload type of comfort noise (RFC 3389, section 4).
pub const COMFORT_NOISE: u8 = 13;

/// Why bytes are not an RTP packet.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum RtpError {
    /// It ends in the middle of the header, of the contributors or of the extension.
    #[error("the packet is cut off: {got} bytes, the header alone needs {want}")]
    Truncated {
        /// Bytes that were there.
        got: usize,
        /// Bytes that the header says it has.
        want: usize,
    },
    /// A version other than 2.
    #[error("RTP version {0}, expected 2")]
    Version(u8),
    /// The last byte counts more padding than there is payload, or none at all.
    #[error("{got} bytes of padding in a payload of {payload} bytes")]
    Padding {
        /// What the last byte says.
        got: u8,
        /// The bytes behind the header.
        payload: usize,
    },
}

/// The fixed part of a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// For voice: the first packet of a talkspurt (RFC 3551, section 4.1).
    pub marker: bool,
    /// What the payload is; below 128.
    pub payload_type: u8,
    /// One more with every packet, modulo 2^16.
    pub sequence: u16,
    /// When the first sample was taken, in ticks of the payload's clock, modulo 2^32.
    pub timestamp: u32,
    /// The synchronization source that sent it.
    pub ssrc: u32,
}

/// An RTP packet in the bytes that it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    bytes: &'a [u8],
    header_len: usize,
    padding: usize,
}

impl Header {
    /// Reads the fixed part alone; contributors, extension and payload may be cut off.
    ///
    /// # Errors
    /// [`RtpError::Truncated`] if the fixed part is not whole, or [`RtpError::Version`].
    pub fn parse(bytes: &[u8]) -> Result<Self, RtpError> {
        header_len_min(bytes)?;
        Ok(Self::read(bytes.first_chunk().expect("the fixed part is whole")))
    }

    /// Appends the header.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.push(2 << 6);
        out.push(u8::from(self.marker) << 7 | self.payload_type & 0x7f);
        out.extend_from_slice(&self.sequence.to_be_bytes());
        out.extend_from_slice(&self.timestamp.to_be_bytes());
        out.extend_from_slice(&self.ssrc.to_be_bytes());
    }

    /// The fields of the fixed part, whatever the version.
    fn read(bytes: &[u8; HEADER_LEN]) -> Self {
        let [_, marked, s0, s1, t0, t1, t2, t3, c0, c1, c2, c3] = *bytes;
        Self {
            marker: marked & 0x80 != 0,
            payload_type: marked & 0x7f,
            sequence: u16::from_be_bytes([s0, s1]),
            timestamp: u32::from_be_bytes([t0, t1, t2, t3]),
            ssrc: u32::from_be_bytes([c0, c1, c2, c3]),
        }
    }
}

/// The bytes of the whole header: fixed part, contributors and extension. It is what SRTP leaves readable.
///
/// # Errors
/// [`RtpError::Truncated`] or [`RtpError::Version`].
pub fn header_len(bytes: &[u8]) -> Result<usize, RtpError> {
    let (got, want) = (bytes.len(), header_len_min(bytes)?);
    if got < want { Err(RtpError::Truncated { got, want }) } else { Ok(want) }
}

/// The bytes that the whole header has at least, even if not all of them are there: an extension whose own length is
/// cut off counts as empty.
///
/// # Errors
/// [`RtpError::Truncated`] if the fixed part is not whole, or [`RtpError::Version`].
pub fn header_len_min(bytes: &[u8]) -> Result<usize, RtpError> {
    let got = bytes.len();
    let Some(fixed) = bytes.first_chunk::<HEADER_LEN>() else {
        return Err(RtpError::Truncated { got, want: HEADER_LEN });
    };
    let first = fixed[0];
    if first >> 6 != 2 {
        return Err(RtpError::Version(first >> 6));
    }
    let mut want = HEADER_LEN + 4 * usize::from(first & 0x0f);
    if first & 0x10 != 0 {
        let words = bytes.get(want..).and_then(|rest| rest.first_chunk::<4>());
        want += 4 + words.map_or(0, |&[_, _, high, low]| 4 * usize::from(u16::from_be_bytes([high, low])));
    }
    Ok(want)
}

impl<'a> Packet<'a> {
    /// Reads a packet. Nothing is copied.
    ///
    /// # Errors
    /// [`RtpError`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, RtpError> {
        let header_len = header_len(bytes)?;
        let mut padding = 0;
        if bytes[0] & 0x20 != 0 {
            let payload = bytes.len() - header_len;
            let got = if payload == 0 { 0 } else { bytes[bytes.len() - 1] };
            padding = usize::from(got);
            if padding == 0 || padding > payload {
                return Err(RtpError::Padding { got, payload });
            }
        }
        Ok(Self { bytes, header_len, padding })
    }

    /// Reads a packet whose payload is encrypted. Padding is then encrypted too, and counts as payload.
    ///
    /// # Errors
    /// [`RtpError::Truncated`] or [`RtpError::Version`].
    pub fn parse_protected(bytes: &'a [u8]) -> Result<Self, RtpError> {
        Ok(Self { bytes, header_len: header_len(bytes)?, padding: 0 })
    }

    /// The fixed part of the header.
    pub fn header(&self) -> Header {
        Header::read(self.bytes.first_chunk().expect("a parsed packet has a header"))
    }

    /// The contributing sources, in order.
    pub fn contributors(&self) -> impl Iterator<Item = u32> + 'a {
        let end = HEADER_LEN + 4 * usize::from(self.bytes[0] & 0x0f);
        let (words, _) = self.bytes[HEADER_LEN..end].as_chunks::<4>();
        words.iter().map(|word| u32::from_be_bytes(*word))
    }

    /// The header extension: its profile's number and its words as bytes.
    pub fn extension(&self) -> Option<(u16, &'a [u8])> {
        if self.bytes[0] & 0x10 == 0 {
            return None;
        }
        let start = HEADER_LEN + 4 * usize::from(self.bytes[0] & 0x0f);
        let number = u16::from_be_bytes([self.bytes[start], self.bytes[start + 1]]);
        Some((number, &self.bytes[start + 4..self.header_len]))
    }

    /// What is behind the header and before the padding.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_len..self.bytes.len() - self.padding]
    }

    /// The bytes of the whole header, with contributors and extension.
    pub fn header_len(&self) -> usize {
        self.header_len
    }

    /// How many bytes of padding follow the payload.
    pub fn padding(&self) -> usize {
        self.padding
    }

    /// The packet as it came.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// Writes another source into a packet, in place.
///
/// # Errors
/// [`RtpError::Truncated`] if it is too short for a header.
pub fn set_ssrc(packet: &mut [u8], ssrc: u32) -> Result<(), RtpError> {
    let got = packet.len();
    let field = packet.get_mut(8..HEADER_LEN).ok_or(RtpError::Truncated { got, want: HEADER_LEN })?;
    field.copy_from_slice(&ssrc.to_be_bytes());
    Ok(())
}

#[cfg(test)]
mod tests;
