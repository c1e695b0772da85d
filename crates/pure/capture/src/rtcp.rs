//! Reports of RTCP that are in the clear: RFC 3550, section 6; RFC 3611 for extended reports.

/// Whether a datagram is RTCP by its first two bytes: RFC 5761, section 4.
pub fn is_rtcp(bytes: &[u8]) -> bool {
    matches!(bytes, [first, second, _, _, _, _, _, _, ..] if first >> 6 == 2 && (192..=223).contains(second))
}

/// What a datagram of RTCP says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rtcp {
    /// Sender reports.
    pub senders: Vec<SenderReport>,
    /// What receivers say of the streams they hear.
    pub receptions: Vec<Reception>,
    /// Sources that have left.
    pub left: Vec<u32>,
    /// Extended reports on voice.
    pub voice: Vec<VoiceMetrics>,
}

/// A sender's word on its own stream: RFC 3550, section 6.4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderReport {
    /// The source.
    pub ssrc: u32,
    /// Its clock when it sent this: the middle 32 of the 64 bits of NTP's time, in 2^-16 s.
    pub clock: u32,
    /// How many packets it has sent.
    pub packets: u32,
}

/// A receiver's word on a stream: RFC 3550, section 6.4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reception {
    /// Who reports.
    pub reporter: u32,
    /// On which source.
    pub ssrc: u32,
    /// The part lost since the last report, of 256.
    pub fraction_lost: u8,
    /// Packets lost since the beginning; negative if there were more doubles than losses.
    pub lost: i32,
    /// The highest sequence number, with its turns in the upper half.
    pub highest: u32,
    /// Interarrival jitter, in ticks of the codec's clock.
    pub jitter: u32,
    /// The clock of the last sender report that came; 0 if none did.
    pub last_report: u32,
    /// How long ago that was, in 2^-16 s.
    pub since_last_report: u32,
}

/// A receiver's own measurement of a call: RFC 3611, section 4.7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoiceMetrics {
    /// On which source.
    pub ssrc: u32,
    /// The part lost in the network, of 256.
    pub lost: u8,
    /// The part that came too late for its buffer, of 256.
    pub discarded: u8,
    /// From one RTP interface to the other and back, in ms; 0 if not known.
    pub round_trip_ms: u16,
    /// Within the reporting end, in ms; 0 if not known.
    pub end_system_ms: u16,
    /// Its rating, 0 to 100; 127 if not computed.
    pub r: u8,
}

impl Rtcp {
    /// Reads a compound packet. `None` if it is no RTCP in the clear: the lengths of its parts must add up exactly,
    /// which those of SRTCP never do (it has an index and a tag behind them).
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rtcp = Self::default();
        let mut rest = bytes;
        while let [first, kind, high, low, ..] = *rest {
            let length = (usize::from(u16::from_be_bytes([high, low])) + 1) * 4;
            if first >> 6 != 2 || !(192..=223).contains(&kind) || rest.len() < length {
                return None;
            }
            let (part, behind) = rest.split_at(length);
            rtcp.part(kind, usize::from(first & 0x1f), part);
            rest = behind;
        }
        (rest.is_empty() && !bytes.is_empty()).then_some(rtcp)
    }

    fn part(&mut self, kind: u8, count: usize, part: &[u8]) {
        let Some(source) = number(part, 4) else { return };
        match kind {
            200 => {
                let (Some(clock), Some(packets)) = (number(part, 10), number(part, 20)) else { return };
                self.senders.push(SenderReport { ssrc: source, clock, packets });
                self.receptions.extend(blocks(part, 28, count, source));
            }
            201 => self.receptions.extend(blocks(part, 8, count, source)),
            203 => self.left.extend((0..count).map_while(|index| number(part, 4 + index * 4))),
            207 => self.extended(part.get(8..).unwrap_or_default()),
            _ => {}
        }
    }

    fn extended(&mut self, mut blocks: &[u8]) {
        while let [kind, _, high, low, ..] = *blocks {
            let length = (usize::from(u16::from_be_bytes([high, low])) + 1) * 4;
            let Some(block) = blocks.get(..length) else { return };
            if let (7, Some(ssrc), Some(&[lost, discarded]), Some(round_trip), Some(end), Some(&[r])) = (
                kind,
                number(block, 4),
                chunk::<2>(block, 8),
                chunk::<2>(block, 16),
                chunk::<2>(block, 18),
                chunk::<1>(block, 24),
            ) {
                let (round_trip_ms, end_system_ms) =
                    (u16::from_be_bytes(*round_trip), u16::from_be_bytes(*end));
                self.voice.push(VoiceMetrics { ssrc, lost, discarded, round_trip_ms, end_system_ms, r });
            }
            blocks = &blocks[length..];
        }
    }
}

fn blocks(part: &[u8], from: usize, count: usize, reporter: u32) -> impl Iterator<Item = Reception> + '_ {
    part.get(from..).unwrap_or_default().chunks_exact(24).take(count).filter_map(move |block| {
        let loss = number(block, 4)?;
        let [fraction_lost, ..] = loss.to_be_bytes();
        // Twenty-four bits with a sign.
        let lost = (loss << 8).cast_signed() >> 8;
        Some(Reception {
            reporter,
            ssrc: number(block, 0)?,
            fraction_lost,
            lost,
            highest: number(block, 8)?,
            jitter: number(block, 12)?,
            last_report: number(block, 16)?,
            since_last_report: number(block, 20)?,
        })
    })
}

fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    bytes.get(at..)?.first_chunk()
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    chunk::<4>(bytes, at).copied().map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sender report with one block, as a softphone sends it, and a source description behind it.
    fn compound() -> Vec<u8> {
        let mut bytes = vec![0x81, 200, 0, 12];
        bytes.extend(7_u32.to_be_bytes());
        bytes.extend(0x1111_2222_3333_4444_u64.to_be_bytes());
        bytes.extend([0, 0, 0, 1, 0, 0, 0, 50, 0, 0, 3, 232]);
        bytes.extend(9_u32.to_be_bytes());
        bytes.extend([64, 0xff, 0xff, 0xfe]);
        bytes.extend([0, 1, 0, 5, 0, 0, 0, 80, 0xaa, 0xbb, 0xcc, 0xdd, 0, 1, 0, 0]);
        bytes.extend([0x81, 202, 0, 2, 0, 0, 0, 7, 1, 1, b'x', 0]);
        bytes
    }

    #[test]
    fn reads_a_sender_report_and_what_it_says_of_the_other() {
        let rtcp = Rtcp::parse(&compound()).unwrap();
        assert_eq!(rtcp.senders, [SenderReport { ssrc: 7, clock: 0x2222_3333, packets: 50 }]);
        let want = Reception {
            reporter: 7,
            ssrc: 9,
            fraction_lost: 64,
            lost: -2,
            highest: 0x1_0005,
            jitter: 80,
            last_report: 0xaabb_ccdd,
            since_last_report: 65_536,
        };
        assert_eq!(rtcp.receptions, [want]);
    }

    #[test]
    fn takes_nothing_from_srtcp() {
        let mut ciphered = compound();
        ciphered.extend([0x80, 0, 0, 1]);
        ciphered.extend([0x5a; 10]);
        assert!(is_rtcp(&ciphered));
        assert_eq!(Rtcp::parse(&ciphered), None);
    }

    #[test]
    fn reads_the_voice_metrics_of_an_extended_report() {
        let mut bytes = vec![0x80, 207, 0, 10, 0, 0, 0, 7, 7, 0, 0, 8];
        bytes.extend(9_u32.to_be_bytes());
        bytes.extend([
            12, 3, 0, 0, 0, 0, 0, 0, 0, 90, 0, 60, 0, 0, 0, 16, 93, 127, 127, 127, 0, 0, 0, 0, 0, 0, 0, 0,
        ]);
        bytes.truncate(44);
        let rtcp = Rtcp::parse(&bytes).unwrap();
        let want =
            VoiceMetrics { ssrc: 9, lost: 12, discarded: 3, round_trip_ms: 90, end_system_ms: 60, r: 93 };
        assert_eq!(rtcp.voice, [want]);
    }
}
