//! The STREAM frames in a datagram that quinn is about to send, which nothing hides here: quinn counts frames, and does not say
//! whether they are sent for the first time.

use quinn_proto::VarInt;
use quinn_proto::coding::Codec as _;

/// Of every connection id here, in bytes.
const ID_BYTES: usize = 8;
const TAG_BYTES: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamFrame {
    /// Of which stream.
    pub(crate) id: u64,
    /// Where its content ends in the stream.
    pub(crate) end: u64,
}

/// The STREAM frames of `datagram` (RFC 9000, sections 17 and 19). Stops at the first thing that is none of ours.
pub(crate) fn stream_frames(datagram: &[u8], mut each: impl FnMut(StreamFrame)) {
    let mut rest = datagram;
    while rest.first().is_some_and(|first| first & 0x80 != 0) {
        let Some(after) = skip_long(rest) else { return };
        rest = after;
    }
    let Some(first) = rest.first() else { return };
    let start = 1 + ID_BYTES + usize::from(first & 3) + 1;
    let Some(mut frames) = rest.len().checked_sub(TAG_BYTES).and_then(|end| rest.get(start..end)) else {
        return;
    };
    while !frames.is_empty() {
        let Some(after) = skip_frame(frames, &mut each) else { return };
        frames = after;
    }
}

/// A packet with a long header, Initial or Handshake.
fn skip_long(packet: &[u8]) -> Option<&[u8]> {
    let is_initial = packet.first()? & 0x30 == 0;
    let mut rest = packet.get(5..)?;
    for _ in 0..2 {
        let (length, after) = rest.split_first()?;
        rest = after.get(usize::from(*length)..)?;
    }
    if is_initial {
        let token = varint(&mut rest)?;
        rest = skip(rest, token)?;
    }
    let length = varint(&mut rest)?;
    skip(rest, length)
}

fn skip_frame<'a>(frames: &'a [u8], each: &mut impl FnMut(StreamFrame)) -> Option<&'a [u8]> {
    let mut rest = frames;
    let kind = varint(&mut rest)?;
    let numbers = match kind {
        // PADDING, PING, HANDSHAKE_DONE, IMMEDIATE_ACK.
        0x00 | 0x01 | 0x1e | 0x1f => 0,
        0x02 | 0x03 => return skip_ack(rest, kind == 3),
        0x08..=0x0f => return read_stream(rest, kind, each),
        // MAX_DATA, MAX_STREAMS, DATA_BLOCKED, STREAMS_BLOCKED, RETIRE_CONNECTION_ID.
        0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 => 1,
        // STOP_SENDING, MAX_STREAM_DATA, STREAM_DATA_BLOCKED.
        0x05 | 0x11 | 0x15 => 2,
        // RESET_STREAM.
        0x04 => 3,
        // ACK_FREQUENCY (draft-ietf-quic-ack-frequency-04).
        0xaf => 4,
        // PATH_CHALLENGE, PATH_RESPONSE.
        0x1a | 0x1b => return rest.get(8..),
        // NEW_CONNECTION_ID.
        0x18 => {
            varint(&mut rest)?;
            varint(&mut rest)?;
            return rest.get(1 + ID_BYTES + 16..);
        }
        // CRYPTO.
        0x06 => {
            varint(&mut rest)?;
            let length = varint(&mut rest)?;
            return skip(rest, length);
        }
        _ => return None,
    };
    for _ in 0..numbers {
        varint(&mut rest)?;
    }
    Some(rest)
}

fn skip_ack(mut rest: &[u8], has_ecn: bool) -> Option<&[u8]> {
    varint(&mut rest)?;
    varint(&mut rest)?;
    let ranges = varint(&mut rest)?;
    let numbers = ranges.checked_mul(2)?.checked_add(if has_ecn { 4 } else { 1 })?;
    for _ in 0..numbers {
        varint(&mut rest)?;
    }
    Some(rest)
}

fn read_stream<'a>(mut rest: &'a [u8], kind: u64, each: &mut impl FnMut(StreamFrame)) -> Option<&'a [u8]> {
    let id = varint(&mut rest)?;
    let offset = if kind & 4 == 0 { 0 } else { varint(&mut rest)? };
    let length = if kind & 2 == 0 { u64::try_from(rest.len()).ok()? } else { varint(&mut rest)? };
    each(StreamFrame { id, end: offset.checked_add(length)? });
    skip(rest, length)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    VarInt::decode(rest).ok().map(VarInt::into_inner)
}

fn skip(rest: &[u8], length: u64) -> Option<&[u8]> {
    rest.get(usize::try_from(length).ok()?..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(datagram: &[u8]) -> Vec<StreamFrame> {
        let mut found = Vec::new();
        stream_frames(datagram, |frame| found.push(frame));
        found
    }

    #[test]
    fn finds_stream_frames_behind_others() {
        let mut datagram = vec![0x40, 1, 2, 3, 4, 5, 6, 7, 8, 0x55];
        datagram.extend([0x02, 9, 0, 1, 3, 0, 2]); // ACK with a range behind the first.
        datagram.extend([0x01, 0x00]); // PING, PADDING.
        datagram.extend([0x0a, 2, 3, 0, 0, 0]); // STREAM 2, from 0, with a length.
        datagram.extend([0x0d, 6, 0x40, 0x64, 1, 2]); // STREAM 6, from 100, to the end, and the last.
        datagram.extend([0; 16]);
        assert_eq!(frames(&datagram), [StreamFrame { id: 2, end: 3 }, StreamFrame { id: 6, end: 102 }]);
        // In any part of it there is no more than in the whole, and nothing that panics.
        for length in 0..datagram.len() {
            assert!(frames(&datagram[..length]).len() <= 2);
        }
    }

    #[test]
    fn skips_packets_of_the_handshake() {
        let mut datagram = vec![0xe0, 0, 0, 0, 1, 1, 7, 1, 8, 3, 0, 0, 0];
        datagram.extend([0x40, 1, 2, 3, 4, 5, 6, 7, 8, 0x55, 0x0a, 2, 1, 0]);
        datagram.extend([0; 16]);
        assert_eq!(frames(&datagram), [StreamFrame { id: 2, end: 1 }]);
    }
}
