//! Headers of RTP in captures, which may be cut off: RFC 3550, section 5.1. What is behind the header may be ciphered
//! (SRTP).

use guestright_wire::rtp::{Header, Kind, header_len_min};

/// The header of a packet of RTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtpHeader {
    /// Its fixed part.
    pub fields: Header,
    /// Bytes of the header with its contributing sources and extension.
    pub length: usize,
}

impl RtpHeader {
    /// Reads the header of a datagram of which `missing` bytes were not captured. `None` if it cannot be RTP.
    pub fn parse(bytes: &[u8], missing: usize) -> Option<Self> {
        if Kind::of(bytes) != Kind::Rtp {
            return None;
        }
        let (fields, length) = (Header::parse(bytes).ok()?, header_len_min(bytes).ok()?);
        (length <= bytes.len().saturating_add(missing)).then_some(Self { fields, length })
    }
}

/// What a static payload type means: RFC 3551, section 6, tables 4 and 5. Name and clock rate in ticks per second.
pub fn static_payload_type(payload_type: u8) -> Option<(&'static str, u32)> {
    #[rustfmt::skip]
    const TABLE: [(u8, &str, u32); 24] = [
        (0, "PCMU", 8_000), (3, "GSM", 8_000), (4, "G723", 8_000), (5, "DVI4", 8_000), (6, "DVI4", 16_000),
        (7, "LPC", 8_000), (8, "PCMA", 8_000), (9, "G722", 8_000), (10, "L16", 44_100), (11, "L16", 44_100),
        (12, "QCELP", 8_000), (13, "CN", 8_000), (14, "MPA", 90_000), (15, "G728", 8_000), (16, "DVI4", 11_025),
        (17, "DVI4", 22_050), (18, "G729", 8_000), (25, "CelB", 90_000), (26, "JPEG", 90_000), (28, "nv", 90_000),
        (31, "H261", 90_000), (32, "MPV", 90_000), (33, "MP2T", 90_000), (34, "H263", 90_000),
    ];
    TABLE.iter().find(|row| row.0 == payload_type).map(|row| (row.1, row.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(first: u8, second: u8) -> Vec<u8> {
        vec![first, second, 0x12, 0x34, 0, 0, 0, 160, 0xde, 0xad, 0xbe, 0xef]
    }

    #[test]
    fn reads_a_header() {
        let got = RtpHeader::parse(&header(0x80, 0x88), 0).unwrap();
        let fields =
            Header { payload_type: 8, marker: true, sequence: 0x1234, timestamp: 160, ssrc: 0xdead_beef };
        assert_eq!(got, RtpHeader { fields, length: 12 });
    }

    #[test]
    fn counts_sources_and_extension_to_the_header() {
        let mut bytes = header(0x92, 0);
        bytes.extend([0; 8]);
        bytes.extend([0xbe, 0xde, 0, 2]);
        bytes.extend([0; 8]);
        assert_eq!(RtpHeader::parse(&bytes, 0).unwrap().length, 12 + 8 + 4 + 8);
        bytes.pop();
        assert_eq!(RtpHeader::parse(&bytes, 0), None, "the extension is longer than the datagram");
        assert!(RtpHeader::parse(&bytes, 1).is_some(), "but not if a byte was not captured");
    }

    #[test]
    fn leaves_alone_what_is_not_rtp() {
        #[rustfmt::skip]
        let cases = [
            ("short",           header(0x80, 0)[..11].to_vec()),
            ("version 0, STUN", header(0x00, 1)),
            ("version 1",       header(0x40, 0)),
            ("version 3, QUIC", header(0xc0, 0)),
            ("RTCP SR",         header(0x80, 200)),
            ("RTCP RR",         header(0x81, 201)),
            ("RTCP XR",         header(0x80, 207)),
        ];
        for (name, bytes) in cases {
            assert_eq!(RtpHeader::parse(&bytes, 0), None, "{name}");
        }
    }
}
