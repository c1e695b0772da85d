//! What a datagram on a media port is to a relay.

use guestright_wire::rtp::{self, Header, Packet};

/// The header of a receiver report and its sender (RFC 3550, section 6.4.2): the shortest RTCP packet that we pass.
const RTCP_HEADER_BYTES: usize = 8;

/// What a datagram on a media port is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carried {
    /// Media. The header is whole: contributing sources and extension are within the datagram.
    Rtp(Header),
    /// A report, and who reports.
    Rtcp(u32),
    /// STUN (RFC 8489).
    Stun,
    /// Too short to be anything, or only line ends or zeros: it keeps a NAT's hole open (RFC 6263, section 4).
    KeepAlive,
    /// Anything else; for example key agreement.
    Other,
}

/// Says what a datagram is.
pub(crate) fn classify(datagram: &[u8]) -> Carried {
    if datagram.len() <= 4 && datagram.iter().all(|byte| matches!(byte, 0 | b'\r' | b'\n')) {
        return Carried::KeepAlive;
    }
    match rtp::Kind::of(datagram) {
        rtp::Kind::Rtp => {
            Packet::parse_protected(datagram).map_or(Carried::Other, |rtp| Carried::Rtp(rtp.header()))
        }
        rtp::Kind::Rtcp => reporter(datagram).map_or(Carried::Other, Carried::Rtcp),
        rtp::Kind::Stun => Carried::Stun,
        rtp::Kind::Agreement
        | rtp::Kind::Zrtp
        | rtp::Kind::Dtls
        | rtp::Kind::Turn
        | rtp::Kind::Quic
        | rtp::Kind::Unknown => Carried::Other,
    }
}

fn reporter(datagram: &[u8]) -> Option<u32> {
    let (header, _) = datagram.split_first_chunk::<RTCP_HEADER_BYTES>()?;
    let [.., s0, s1, s2, s3] = *header;
    Some(u32::from_be_bytes([s0, s1, s2, s3]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header {
        marker: false,
        payload_type: 0,
        sequence: 0x0102,
        timestamp: 0x0304_0506,
        ssrc: 0x0a0b_0c0d,
    };

    #[test]
    fn tells_datagrams_apart_by_their_first_bytes() {
        let rtp = |first: u8, rest: &[u8]| {
            let mut bytes = vec![first, 0, 1, 2, 3, 4, 5, 6, 0x0a, 0x0b, 0x0c, 0x0d];
            bytes.extend_from_slice(rest);
            bytes
        };
        #[rustfmt::skip]
        let cases = [
            ("nothing",                   vec![],                                Carried::KeepAlive),
            ("one zero",                  vec![0],                               Carried::KeepAlive),
            ("line ends",                 b"\r\n\r\n".to_vec(),                  Carried::KeepAlive),
            ("a STUN request",            vec![0, 1, 0, 0, 0x21, 0x12],          Carried::Stun),
            ("DTLS",                      vec![22, 254, 253, 0, 0],              Carried::Other),
            ("a header and no sound",     rtp(0x80, &[]),                        Carried::Rtp(HEADER)),
            ("a short header",            rtp(0x80, &[])[..11].to_vec(),         Carried::Other),
            ("contributing sources",      rtp(0x82, &[0; 8]),                    Carried::Rtp(HEADER)),
            ("a source that is cut off",  rtp(0x82, &[0; 7]),                    Carried::Other),
            ("an extension",              rtp(0x90, &[0, 0, 0, 1, 9, 9, 9, 9]),  Carried::Rtp(HEADER)),
            ("an extension cut off",      rtp(0x90, &[0, 0, 0, 2, 9, 9, 9, 9]),  Carried::Other),
            ("an extension's head only",  rtp(0x90, &[0, 0, 0]),                 Carried::Other),
            ("a receiver report",         vec![0x80, 201, 0, 1, 0, 0, 0, 7],     Carried::Rtcp(7)),
            ("a report that is cut off",  vec![0x80, 201, 0, 1, 0, 0, 0],        Carried::Other),
            ("version 3",                 vec![0xc0; 40],                        Carried::Other),
        ];
        for (name, bytes, want) in cases {
            assert_eq!(classify(&bytes), want, "{name}");
        }
    }
}
