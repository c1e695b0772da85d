//! UDP headers (RFC 768) inside IPv4, with checksums.
//!
//! By hand, and in the buffer where the packet lies: an L2TP tunnel writes and reads one for each packet.

use std::net::Ipv4Addr;

use crate::ip::{self, Sum};

/// Length of a UDP header in bytes.
pub const HEADER_LEN: usize = 8;

/// A datagram taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// The sender's port.
    pub source: u16,
    /// The receiver's port.
    pub destination: u16,
    /// The checksum as sent; 0 if the sender made none.
    pub checksum: u16,
    /// What the datagram carries.
    pub payload: &'a [u8],
    /// Header and payload, without what follows.
    whole: &'a [u8],
}

/// Writes the header in front of the payload, which lies behind the first 8 bytes of `datagram`. With `addresses`
/// (source, destination) there is a checksum, else there is none.
///
/// # Panics
/// If `datagram` is shorter than a header or longer than 65,535 bytes: the caller's limits are smaller.
pub fn write(datagram: &mut [u8], source: u16, destination: u16, addresses: Option<(Ipv4Addr, Ipv4Addr)>) {
    let length = u16::try_from(datagram.len()).expect("a datagram is shorter than 64 KB");
    datagram[..2].copy_from_slice(&source.to_be_bytes());
    datagram[2..4].copy_from_slice(&destination.to_be_bytes());
    datagram[4..6].copy_from_slice(&length.to_be_bytes());
    datagram[6..HEADER_LEN].fill(0);
    if let Some((from, to)) = addresses {
        let checksum = sum(from, to, datagram).checksum();
        // None would be written as zero, so a zero is written as the other zero.
        let checksum = if checksum == 0 { 0xffff } else { checksum };
        datagram[6..HEADER_LEN].copy_from_slice(&checksum.to_be_bytes());
    }
}

impl<'a> Datagram<'a> {
    /// Takes a datagram apart; nothing if it is shorter than it says. What follows it is ignored.
    #[must_use]
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let header = bytes.first_chunk::<HEADER_LEN>()?;
        let field = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let whole = bytes.get(..usize::from(field(4)))?;
        let payload = whole.get(HEADER_LEN..)?;
        Some(Self { source: field(0), destination: field(2), checksum: field(6), payload, whole })
    }

    /// Whether the checksum is right between these addresses, or there is none.
    #[must_use]
    pub fn is_intact(&self, source: Ipv4Addr, destination: Ipv4Addr) -> bool {
        self.checksum == 0 || sum(source, destination, self.whole).checksum() == 0
    }
}

/// The sum over the pseudo header and the datagram.
fn sum(source: Ipv4Addr, destination: Ipv4Addr, datagram: &[u8]) -> Sum {
    let mut sum = Sum::default();
    sum.add(&source.octets());
    sum.add(&destination.octets());
    sum.add(&[0, ip::PROTOCOL_UDP]);
    sum.add(&u16::try_from(datagram.len()).unwrap_or(u16::MAX).to_be_bytes());
    sum.add(datagram);
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ADDRESSES: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(192, 0, 2, 7));

    proptest! {
        #[test]
        fn parse_inverts_write(payload: Vec<u8>, source: u16, destination: u16, checked: bool, tail in 0_usize..9) {
            let mut datagram = [vec![0; HEADER_LEN], payload.clone()].concat();
            write(&mut datagram, source, destination, checked.then_some(ADDRESSES));
            datagram.extend(vec![7; tail]);
            let parsed = Datagram::parse(&datagram).unwrap();
            prop_assert_eq!((parsed.source, parsed.destination, parsed.payload), (source, destination, &payload[..]));
            prop_assert_eq!(parsed.checksum != 0, checked);
            prop_assert!(parsed.is_intact(ADDRESSES.0, ADDRESSES.1));
        }

        #[test]
        fn a_changed_bit_is_found(payload in proptest::collection::vec(any::<u8>(), 1..99), at: prop::sample::Index, bit in 0_u32..8) {
            let mut datagram = [vec![0; HEADER_LEN], payload].concat();
            write(&mut datagram, 1701, 1701, Some(ADDRESSES));
            let at = at.index(datagram.len());
            datagram[at] ^= 1_u8 << bit;
            let verdict = Datagram::parse(&datagram).map(|datagram| {
                datagram.checksum != 0 && datagram.is_intact(ADDRESSES.0, ADDRESSES.1)
            });
            prop_assert_ne!(verdict, Some(true));
        }
    }

    #[test]
    fn is_what_the_kernel_computes() {
        // A datagram "hi" from 10.0.0.1:1000 to 10.0.0.2:2000, summed by hand.
        let mut datagram = *b"........hi";
        let addresses = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        write(&mut datagram, 1_000, 2_000, Some(addresses));
        let words: [u32; 12] = [0x0a00, 0x0001, 0x0a00, 0x0002, 17, 10, 1_000, 2_000, 10, 0x6869, 0, 0];
        let total: u32 = words.iter().sum();
        let want = !u16::try_from((total & 0xffff) + (total >> 16)).unwrap();
        assert_eq!(datagram[6..8], want.to_be_bytes());
    }
}
