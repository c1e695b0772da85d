//! One packet of a call: an RTP header and this payload, all numbers in network order.
//!
//! ```text
//!  0  session     u32  the run's number, by chance; other packets are dropped
//!  4  call        u16  from 0
//!  6  check       u16  sum of the other words of these 20 octets, so that foreign bytes are not taken for a time
//!  8  sent        u64  when it left, µs, by the sender's clock
//! 16  number      u32  from 0 within the call; RTP's sequence number is its low half
//! 20  filling          up to the codec's payload; no two octets alike, so that nothing compresses it
//! ```

use guestright_units::Time;
use guestright_wire::rtp::{Header, Packet};

use crate::plan::{PACKET_TICKS, Traffic};

/// Octets of the layout, and the least payload.
const LAYOUT_LEN: usize = 20;

/// What a packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoicePacket {
    pub session: u32,
    /// The call, from 0.
    pub call: u16,
    /// The packet within the call, from 0.
    pub number: u32,
    /// When it left, by the sender's clock.
    pub sent: Time,
}

impl VoicePacket {
    /// The bytes of the datagram.
    pub fn emit(&self, traffic: Traffic) -> Vec<u8> {
        let header = Header {
            marker: self.number == 0,
            payload_type: traffic.payload_type(),
            sequence: sequence_of(self.number),
            timestamp: self.number.wrapping_mul(PACKET_TICKS),
            ssrc: self.ssrc(),
        };
        let mut bytes = Vec::with_capacity(12 + traffic.payload_bytes());
        header.emit(&mut bytes);
        let mut layout = [0; LAYOUT_LEN];
        layout[..4].copy_from_slice(&self.session.to_be_bytes());
        layout[4..6].copy_from_slice(&self.call.to_be_bytes());
        layout[8..16].copy_from_slice(&self.sent.0.to_be_bytes());
        layout[16..].copy_from_slice(&self.number.to_be_bytes());
        let check = sum(&layout);
        layout[6..8].copy_from_slice(&check.to_be_bytes());
        bytes.extend_from_slice(&layout);
        let mut filling = self.number ^ 0x9e37_79b9;
        while bytes.len() < 12 + traffic.payload_bytes() {
            filling = filling.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            bytes.push(filling.to_be_bytes()[0]);
        }
        bytes
    }

    /// Reads a datagram; `None` if it is not one of these packets for this kind of traffic.
    pub fn parse(bytes: &[u8], traffic: Traffic) -> Option<Self> {
        let packet = Packet::parse(bytes).ok()?;
        let header = packet.header();
        if bytes.len() != 12 + traffic.payload_bytes() || header.payload_type != traffic.payload_type() {
            return None;
        }
        let mut layout = *packet.payload().first_chunk::<LAYOUT_LEN>()?;
        let check = u16::from_be_bytes([layout[6], layout[7]]);
        layout[6..8].fill(0);
        let [s0, s1, s2, s3, c0, c1, _, _, t0, t1, t2, t3, t4, t5, t6, t7, n0, n1, n2, n3] = layout;
        let read = Self {
            session: u32::from_be_bytes([s0, s1, s2, s3]),
            call: u16::from_be_bytes([c0, c1]),
            number: u32::from_be_bytes([n0, n1, n2, n3]),
            sent: Time(u64::from_be_bytes([t0, t1, t2, t3, t4, t5, t6, t7])),
        };
        let same = header.sequence == sequence_of(read.number)
            && header.timestamp == read.number.wrapping_mul(PACKET_TICKS)
            && header.ssrc == read.ssrc();
        (check == sum(&layout) && same).then_some(read)
    }

    /// The stream's number in RTP.
    fn ssrc(&self) -> u32 {
        self.session.wrapping_add(u32::from(self.call))
    }
}

/// The RTP sequence number of a packet: the low half of its number.
fn sequence_of(number: u32) -> u16 {
    let [_, _, high, low] = number.to_be_bytes();
    u16::from_be_bytes([high, low])
}

fn sum(layout: &[u8; LAYOUT_LEN]) -> u16 {
    layout
        .chunks_exact(2)
        .fold(0x4752, |sum: u16, word| sum.wrapping_add(u16::from_be_bytes([word[0], word[1]])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parse_inverts_emit(session: u32, call: u16, number: u32, sent: u64, g711: bool) {
            let traffic = if g711 { Traffic::G711 } else { Traffic::G729 };
            let packet = VoicePacket { session, call, number, sent: Time(sent) };
            let bytes = packet.emit(traffic);
            prop_assert_eq!(bytes.len(), 12 + traffic.payload_bytes());
            prop_assert_eq!(VoicePacket::parse(&bytes, traffic), Some(packet));
            let other = if g711 { Traffic::G729 } else { Traffic::G711 };
            prop_assert_eq!(VoicePacket::parse(&bytes, other), None);
        }

        #[test]
        fn one_wrong_octet_of_the_layout_is_noticed(offset in 0..20_usize, by in 1..=255_u8) {
            let mut bytes = VoicePacket { session: 7, call: 1, number: 3, sent: Time(5) }.emit(Traffic::G729);
            bytes[12 + offset] ^= by;
            prop_assert_eq!(VoicePacket::parse(&bytes, Traffic::G729), None);
        }

        #[test]
        fn anything_may_arrive(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = VoicePacket::parse(&bytes, Traffic::G729);
            let _ = VoicePacket::parse(&bytes, Traffic::G711);
        }
    }
}
