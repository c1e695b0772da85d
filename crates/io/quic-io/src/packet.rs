//! A voice packet: its call, its number, silence.

use bytes::Bytes;

/// The fewest bytes a voice packet has: its call and its number.
pub const PACKET_BYTES_MIN: u32 = 8;
/// The most: as long as the length before it on a stream can say, and less.
pub(crate) const PACKET_BYTES_MAX: u32 = 9_000;

/// A packet of `bytes`; with its length before it, if it is for a stream of many.
pub(crate) fn write(call: u32, number: u32, bytes: u32, with_length: bool) -> Bytes {
    let bytes = bytes.clamp(PACKET_BYTES_MIN, PACKET_BYTES_MAX);
    let length = u16::try_from(bytes).expect("9000 bytes at most");
    let mut packet = Vec::with_capacity(2 + usize::from(length));
    if with_length {
        packet.extend_from_slice(&length.to_be_bytes());
    }
    let end = packet.len() + usize::from(length);
    packet.extend_from_slice(&call.to_be_bytes());
    packet.extend_from_slice(&number.to_be_bytes());
    packet.resize(end, 0);
    Bytes::from(packet)
}

/// The call and the number of a packet; `None`: it is none.
pub(crate) fn read(packet: &[u8]) -> Option<(u32, u32)> {
    let (call, rest) = packet.split_first_chunk()?;
    let (number, _) = rest.split_first_chunk()?;
    Some((u32::from_be_bytes(*call), u32::from_be_bytes(*number)))
}

/// Takes the first whole packet, with its length before it, out of what a stream has brought.
pub(crate) fn pop(stream: &mut Vec<u8>) -> Option<Vec<u8>> {
    let length = usize::from(u16::from_be_bytes(*stream.first_chunk()?));
    if stream.len() < 2 + length {
        return None;
    }
    let packet = stream[2..2 + length].to_vec();
    stream.drain(..2 + length);
    Some(packet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_inverts_write() {
        let packet = write(7, 65_537, 160, false);
        assert_eq!((packet.len(), read(&packet)), (160, Some((7, 65_537))));
        assert_eq!(write(7, 1, 3, false).len(), 8, "it has room for its numbers");
        assert_eq!(read(&packet[..7]), None);
    }

    #[test]
    fn packets_come_out_of_a_stream_as_they_went_in_however_it_is_cut() {
        let packets = [write(1, 0, 160, true), write(1, 1, 8, true), write(1, 2, 500, true)];
        let stream = packets.concat();
        for size in [1, 7, 161, 1_000] {
            let (mut buffer, mut numbers) = (Vec::new(), Vec::new());
            for part in stream.chunks(size) {
                buffer.extend_from_slice(part);
                while let Some(packet) = pop(&mut buffer) {
                    numbers.push(read(&packet));
                }
            }
            assert_eq!(numbers, [Some((1, 0)), Some((1, 1)), Some((1, 2))], "in parts of {size}");
            assert!(buffer.is_empty());
        }
    }
}
