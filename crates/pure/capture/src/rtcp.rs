//! Reports of RTCP that are in the clear: RFC 3550, section 6; RFC 3611 for extended reports.

use guestright_wire::rtcp::{Part, ReportBlock, SenderInfo, VoipMetrics, skim};
use guestright_wire::rtp::Kind;

/// Whether a datagram is RTCP by its first two bytes: RFC 5761, section 4.
pub fn is_rtcp(bytes: &[u8]) -> bool {
    // The shortest report has a source behind its first word.
    bytes.len() >= 8 && Kind::of(bytes) == Kind::Rtcp
}

/// What a datagram of RTCP says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rtcp {
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
    pub ssrc: u32,
    /// Its clock when it sent this: the middle 32 of the 64 bits of NTP's time, in 2^-16 s.
    pub clock: u32,
    /// How many packets it has sent.
    pub packets: u32,
}

/// A receiver's word on a stream: RFC 3550, section 6.4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reception {
    /// The source that reports.
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
    /// Reads a compound packet. `None` if it is no RTCP in the clear.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rtcp = Self::default();
        for part in skim(bytes)? {
            match part {
                Part::SenderReport { ssrc, info, blocks } => {
                    let SenderInfo { ntp, packets, .. } = info;
                    rtcp.senders.push(SenderReport { ssrc, clock: ntp.middle(), packets });
                    rtcp.receptions.extend(blocks.into_iter().map(|block| Reception::new(ssrc, block)));
                }
                Part::ReceiverReport { ssrc, blocks } => {
                    rtcp.receptions.extend(blocks.into_iter().map(|block| Reception::new(ssrc, block)));
                }
                Part::Goodbye(sources) => rtcp.left.extend(sources),
                Part::Extended { voip, .. } => rtcp.voice.extend(voip.into_iter().map(VoiceMetrics::from)),
                Part::Description(_) | Part::ClockError { .. } | Part::Other { .. } => {}
            }
        }
        Some(rtcp)
    }
}

impl Reception {
    fn new(reporter: u32, block: ReportBlock) -> Self {
        Self {
            reporter,
            ssrc: block.ssrc,
            fraction_lost: block.fraction_lost,
            lost: block.cumulative_lost,
            highest: block.highest_sequence,
            jitter: block.jitter,
            last_report: block.last_report,
            since_last_report: block.delay_since,
        }
    }
}

impl From<VoipMetrics> for VoiceMetrics {
    fn from(metrics: VoipMetrics) -> Self {
        Self {
            ssrc: metrics.ssrc,
            lost: metrics.loss_rate,
            discarded: metrics.discard_rate,
            round_trip_ms: metrics.round_trip_ms,
            end_system_ms: metrics.end_system_ms,
            r: metrics.r_factor,
        }
    }
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
