//! Cutting PDUs out of a stream, and reading and writing them.
//!
//! We cut ourselves: the library's own stream codec goes on in the middle of a PDU that it cannot read.

use bytes::BytesMut;
use rusmpp::Command;
use rusmpp::decode::DecodeWithLength as _;
use rusmpp::encode::{Encode as _, Length as _};

/// No PDU that a gateway sends us is longer.
const PDU_MAX: usize = 4_096;
/// Length, command, status, sequence (section 3.2).
const HEADER: usize = 16;

/// A stream of PDUs, of which a part has come.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    bytes: Vec<u8>,
}

/// A PDU, or what is known of one that cannot be read.
#[derive(Debug)]
pub(crate) enum Frame {
    Command(Box<Command>),
    /// Of this sequence number.
    Unreadable(u32),
}

impl Frames {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// The next PDU; an error is the end of the stream, since nobody knows where the next PDU begins.
    pub(crate) fn next(&mut self) -> Result<Option<Frame>, usize> {
        let Some(header) = self.bytes.first_chunk::<HEADER>() else { return Ok(None) };
        let word =
            |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let length = usize::try_from(word(0)).unwrap_or(usize::MAX);
        if !(HEADER..=PDU_MAX).contains(&length) {
            return Err(length);
        }
        let sequence = word(12);
        if self.bytes.len() < length {
            return Ok(None);
        }
        let pdu: Vec<u8> = self.bytes.drain(..length).collect();
        let read = Command::decode(&mut BytesMut::from(&pdu[4..]), length - 4);
        Ok(Some(match read {
            Ok((command, _)) => Frame::Command(Box::new(command)),
            Err(_) => Frame::Unreadable(sequence),
        }))
    }
}

pub(crate) fn emit(command: &Command) -> Vec<u8> {
    let length = command.length() + 4;
    let mut bytes = vec![0; length];
    let written = u32::try_from(length).expect("a PDU of ours is short");
    bytes[..4].copy_from_slice(&written.to_be_bytes());
    command.encode(&mut bytes[4..]);
    bytes
}
