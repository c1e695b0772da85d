//! PPP framing (RFC 1661, RFC 1662) as it stands inside L2TP: address, control, protocol, packet; no flags, no check
//! sequence.

use thiserror::Error;

/// Address "all stations" and control "unnumbered information" (RFC 1662, section 3.1).
pub const ADDRESS_CONTROL: [u8; 2] = [0xff, 0x03];
/// Protocol number of IPv4 (RFC 1332).
pub const PROTOCOL_IPV4: u16 = 0x0021;
/// Protocol number of IPv6 (RFC 5072).
pub const PROTOCOL_IPV6: u16 = 0x0057;

/// Length of the uncompressed header, in bytes: what paper A counts.
pub const HEADER_LEN: usize = 4;

/// A frame taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What the packet is.
    pub protocol: u16,
    /// What follows the header, up to the end of the frame.
    pub packet: &'a [u8],
}

/// What is wrong with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PppError {
    /// It ends within its header.
    #[error("a PPP frame that ends within its header")]
    Truncated,
    /// The protocol number is not one that may be (RFC 1661, section 2: the upper byte is even, the lower odd).
    #[error("a PPP frame with protocol number {0:#06x}")]
    Protocol(u16),
}

/// The header in front of a packet, uncompressed.
#[must_use]
pub fn header(protocol: u16) -> [u8; HEADER_LEN] {
    let [high, low] = protocol.to_be_bytes();
    [ADDRESS_CONTROL[0], ADDRESS_CONTROL[1], high, low]
}

impl<'a> Frame<'a> {
    /// Takes a frame apart. Address and control may be left out (RFC 1661, section 6.6), and so may the upper byte of
    /// the protocol if it is zero (section 6.5): a receiver always understands both.
    ///
    /// # Errors
    /// [`PppError`] if the frame ends within its header, or the protocol number is impossible.
    pub fn parse(frame: &'a [u8]) -> Result<Self, PppError> {
        let rest = frame.strip_prefix(&ADDRESS_CONTROL[..]).unwrap_or(frame);
        let (first, after_first) = rest.split_first().ok_or(PppError::Truncated)?;
        if first & 1 == 1 {
            return Ok(Self { protocol: u16::from(*first), packet: after_first });
        }
        let (second, packet) = after_first.split_first().ok_or(PppError::Truncated)?;
        let protocol = u16::from_be_bytes([*first, *second]);
        if second & 1 == 0 {
            return Err(PppError::Protocol(protocol));
        }
        Ok(Self { protocol, packet })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn understands_every_compression() {
        let packet: &[u8] = &[0x45, 1, 2];
        #[rustfmt::skip]
        let cases: [(&[u8], _); 9] = [
            (&[0xff, 3, 0, 0x21, 0x45, 1, 2], Ok(Frame { protocol: PROTOCOL_IPV4, packet })),
            (&[0xff, 3, 0x21, 0x45, 1, 2],    Ok(Frame { protocol: PROTOCOL_IPV4, packet })),
            (&[0, 0x21, 0x45, 1, 2],          Ok(Frame { protocol: PROTOCOL_IPV4, packet })),
            (&[0x21, 0x45, 1, 2],             Ok(Frame { protocol: PROTOCOL_IPV4, packet })),
            (&[0xc0, 0x21, 0x45, 1, 2],       Ok(Frame { protocol: 0xc021, packet })),
            (&[],                             Err(PppError::Truncated)),
            (&[0xff, 3],                      Err(PppError::Truncated)),
            (&[0xff, 3, 0],                   Err(PppError::Truncated)),
            (&[0xff, 3, 0, 0x22, 0x45],       Err(PppError::Protocol(0x0022))),
        ];
        for (frame, want) in cases {
            assert_eq!(Frame::parse(frame), want, "{frame:02x?}");
        }
    }

    proptest! {
        #[test]
        fn parse_inverts_header(high in 0_u8..128, low in 0_u8..128, packet: Vec<u8>) {
            let protocol = u16::from_be_bytes([high * 2, low * 2 + 1]);
            let frame = [&header(protocol)[..], &packet].concat();
            prop_assert_eq!(Frame::parse(&frame), Ok(Frame { protocol, packet: &packet }));
        }
    }
}
