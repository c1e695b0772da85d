/// What a datagram on a media port is, by its first bytes alone.
///
/// The ranges of the first byte are those of RFC 7983, section 7, as RFC 9443, section 3, extended them. RTP and RTCP
/// share a range, and are told apart by the second byte (RFC 5761, section 4). A guestright key agreement begins with
/// [`Kind::AGREEMENT`], which both documents leave free. On a port of its own, BoAT begins its introductions with
/// `INTRODUCTION` (`guestright-boat`), which they leave free too, and the rest with 224 to 255, which they give to QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// 0 to 3: STUN.
    Stun,
    /// 8: a key agreement of two members.
    Agreement,
    /// 16 to 19: ZRTP.
    Zrtp,
    /// 20 to 63: DTLS.
    Dtls,
    /// 64 to 79: a channel of TURN.
    Turn,
    /// 80 to 127, and 192 to 255: QUIC.
    Quic,
    /// 128 to 191, and a second byte that is no RTCP packet type: RTP or SRTP.
    Rtp,
    /// 128 to 191, and a second byte from 192 to 223: RTCP or SRTCP.
    Rtcp,
    /// Empty, or a first byte that nothing is known to begin with.
    Unknown,
}

impl Kind {
    /// The first byte of each datagram of a key agreement.
    ///
    /// RFC 7983 and RFC 9443 give 4 to 15 to nobody. 8 differs from every STUN message type and every DTLS content type.
    pub const AGREEMENT: u8 = 8;

    /// Looks at the first two bytes.
    #[must_use]
    pub fn of(datagram: &[u8]) -> Self {
        match datagram {
            [0..=3, ..] => Self::Stun,
            [Self::AGREEMENT, ..] => Self::Agreement,
            [16..=19, ..] => Self::Zrtp,
            [20..=63, ..] => Self::Dtls,
            [64..=79, ..] => Self::Turn,
            [128..=191, 192..=223, ..] => Self::Rtcp,
            [128..=191, ..] => Self::Rtp,
            [80..=127 | 192..=255, ..] => Self::Quic,
            [] | [4..=7 | 9..=15, ..] => Self::Unknown,
        }
    }

    /// Whether it is RTP or RTCP.
    #[must_use]
    pub fn is_media(self) -> bool {
        matches!(self, Self::Rtp | Self::Rtcp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_first_byte_has_the_meaning_of_the_rfcs() {
        let ranges = [
            (0..=3_u8, Kind::Stun),
            (4..=7, Kind::Unknown),
            (8..=8, Kind::Agreement),
            (9..=15, Kind::Unknown),
            (16..=19, Kind::Zrtp),
            (20..=63, Kind::Dtls),
            (64..=79, Kind::Turn),
            (80..=127, Kind::Quic),
            (128..=191, Kind::Rtp),
            (192..=255, Kind::Quic),
        ];
        for (range, want) in ranges {
            for first in range {
                assert_eq!(Kind::of(&[first, 0]), want, "{first}");
            }
        }
        assert_eq!(Kind::of(&[]), Kind::Unknown);
    }

    #[test]
    fn the_second_byte_tells_rtcp_from_rtp() {
        // Sender reports to extended reports (200 to 207) and the old FIR and NACK (192, 193).
        for second in [192, 193, 200, 201, 202, 203, 204, 205, 206, 207, 223] {
            assert_eq!(Kind::of(&[0x80, second]), Kind::Rtcp, "{second}");
        }
        // PCMU, PCMA and dynamic types, with and without the marker.
        for second in [0, 8, 13, 96, 127, 0x80, 0x88, 0x8d, 0xe0, 0xff] {
            assert_eq!(Kind::of(&[0x80, second]), Kind::Rtp, "{second}");
        }
    }
}
