//! L2TP version 2 data messages (RFC 2661, section 3.1), and the whole stack that paper A puts a packet into before
//! ESP: PPP, L2TP, UDP.

mod stack;

pub use stack::{L2tpError, Stack, StackError};

use thiserror::Error;

/// The UDP port of L2TP (RFC 2661, section 8.1).
pub const PORT: u16 = 1701;

const TYPE: u8 = 0x80;
const LENGTH: u8 = 0x40;
const SEQUENCE: u8 = 0x08;
const OFFSET: u8 = 0x02;
const VERSION: u8 = 2;

/// Length of the header without optional fields, in bytes.
pub const HEADER_LEN_SHORT: usize = 6;
/// Length of the header with the length field, in bytes: what paper A counts.
pub const HEADER_LEN_WITH_LENGTH: usize = 8;

/// A data message taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataMessage<'a> {
    /// The receiver's number for the tunnel.
    pub tunnel: u16,
    /// The receiver's number for the session.
    pub session: u16,
    /// The sender's sequence number, if it counts.
    pub sequence: Option<u16>,
    /// Bytes in front of the frame.
    pub header_len: usize,
    /// The PPP frame.
    pub frame: &'a [u8],
}

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MessageError {
    /// It ends within its header, or before the length that it says.
    #[error("an L2TP message of {got} bytes, which should have at least {want}")]
    Truncated {
        /// Bytes there are.
        got: usize,
        /// Bytes there should be.
        want: usize,
    },
    /// A length that is shorter than the header.
    #[error("an L2TP message that says that it has {0} bytes")]
    Length(usize),
    /// Another version: 1 is L2F, 3 is L2TPv3.
    #[error("L2TP version {0}; this is version 2")]
    Version(u8),
    /// A control message. Sessions are set up elsewhere.
    #[error("an L2TP control message")]
    Control,
}

/// Writes the header of a data message with that many bytes of PPP frame behind it; gives its length.
///
/// # Panics
/// If `header` is shorter than 8 bytes, or the message longer than 65,535: the caller's limits are smaller.
pub fn write_header(
    header: &mut [u8],
    tunnel: u16,
    session: u16,
    frame_len: usize,
    with_length: bool,
) -> usize {
    let (flags, length) = if with_length { (LENGTH, 8) } else { (0, 6) };
    header[..2].copy_from_slice(&[flags, VERSION]);
    let mut at = 2;
    if with_length {
        let total = u16::try_from(frame_len + length).expect("a message is shorter than 64 KB");
        header[2..4].copy_from_slice(&total.to_be_bytes());
        at = 4;
    }
    header[at..at + 2].copy_from_slice(&tunnel.to_be_bytes());
    header[at + 2..at + 4].copy_from_slice(&session.to_be_bytes());
    length
}

impl<'a> DataMessage<'a> {
    /// Takes a data message apart, whatever optional fields it has. Bits that are reserved are ignored, as the RFC
    /// asks; bytes behind the length that it says are too.
    ///
    /// # Errors
    /// [`MessageError`] if it is not whole, no data message, or of another version.
    pub fn parse(message: &'a [u8]) -> Result<Self, MessageError> {
        let got = message.len();
        let truncated = |want| MessageError::Truncated { got, want };
        let [flags, version] = *message.first_chunk().ok_or(truncated(HEADER_LEN_SHORT))?;
        if version & 0x0f != VERSION {
            return Err(MessageError::Version(version & 0x0f));
        }
        if flags & TYPE != 0 {
            return Err(MessageError::Control);
        }
        let mut fields = Fields { message, at: 2 };
        let length = if flags & LENGTH == 0 { got } else { usize::from(fields.next()?) };
        let tunnel = fields.next()?;
        let session = fields.next()?;
        let mut sequence = None;
        if flags & SEQUENCE != 0 {
            sequence = Some(fields.next()?);
            fields.next()?; // The number that it expects: reserved in data messages.
        }
        let padding = if flags & OFFSET == 0 { 0 } else { usize::from(fields.next()?) };
        let start = fields.at + padding;
        if length < start {
            return Err(MessageError::Length(length));
        }
        let frame = message.get(start..length).ok_or(truncated(length))?;
        Ok(Self { tunnel, session, sequence, header_len: start, frame })
    }
}

/// Reads one field of 16 bits after the other.
struct Fields<'a> {
    message: &'a [u8],
    at: usize,
}

impl Fields<'_> {
    fn next(&mut self) -> Result<u16, MessageError> {
        let end = self.at + 2;
        let field = self.message.get(self.at..end);
        let field = field.ok_or(MessageError::Truncated { got: self.message.len(), want: end })?;
        self.at = end;
        Ok(u16::from_be_bytes([field[0], field[1]]))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn understands_every_optional_field() {
        let message = |header_len, sequence| DataMessage {
            tunnel: 0x0102,
            session: 0x0304,
            sequence,
            header_len,
            frame: &[9, 9],
        };
        #[rustfmt::skip]
        let cases: [(&[u8], _); 12] = [
            (&[0, 2, 1, 2, 3, 4, 9, 9],                               Ok(message(6, None))),
            (&[0x40, 2, 0, 10, 1, 2, 3, 4, 9, 9],                     Ok(message(8, None))),
            (&[0x40, 2, 0, 10, 1, 2, 3, 4, 9, 9, 7],                  Ok(message(8, None))),
            (&[0x08, 2, 1, 2, 3, 4, 0, 5, 0, 0, 9, 9],                Ok(message(10, Some(5)))),
            (&[0x4a, 2, 0, 18, 1, 2, 3, 4, 0, 5, 0, 0, 0, 2, 0, 0, 9, 9], Ok(message(16, Some(5)))),
            (&[0x01, 2, 1, 2, 3, 4, 9, 9],                            Ok(message(6, None))),
            (&[0xc8, 2, 0, 12, 1, 2, 3, 4, 0, 0, 0, 0],               Err(MessageError::Control)),
            (&[0, 3, 1, 2, 3, 4, 9, 9],                               Err(MessageError::Version(3))),
            (&[0x40, 2, 0, 11, 1, 2, 3, 4, 9, 9],                     Err(MessageError::Truncated { got: 10, want: 11 })),
            (&[0x40, 2, 0, 7, 1, 2, 3, 4, 9, 9],                      Err(MessageError::Length(7))),
            (&[0x02, 2, 1, 2, 3, 4, 0xff, 0xff],                      Err(MessageError::Length(8))),
            (&[0, 2, 1, 2, 3],                                        Err(MessageError::Truncated { got: 5, want: 6 })),
        ];
        for (bytes, want) in cases {
            assert_eq!(DataMessage::parse(bytes), want, "{bytes:02x?}");
        }
    }

    proptest! {
        #[test]
        fn parse_inverts_write(tunnel: u16, session: u16, frame: Vec<u8>, with_length: bool) {
            let mut header = [0; 8];
            let length = write_header(&mut header, tunnel, session, frame.len(), with_length);
            let message = [&header[..length], &frame].concat();
            let want = DataMessage { tunnel, session, sequence: None, header_len: length, frame: &frame };
            prop_assert_eq!(DataMessage::parse(&message), Ok(want));
        }

        #[test]
        fn never_reads_beyond(bytes in proptest::collection::vec(any::<u8>(), 0..40), flags in 0_u8..128) {
            let bytes = [&[flags, 2], &bytes[..]].concat();
            if let Ok(message) = DataMessage::parse(&bytes) {
                prop_assert!(message.frame.len() <= bytes.len());
            }
        }
    }
}
