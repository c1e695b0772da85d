//! RTCP: what both sides of a call tell each other about it (RFC 3550, section 6).
//!
//! In: a compound packet. Out: its [`Part`]s. The other way [`emit()`] writes them.
//!
//! Reports with a sender's information, receiver's reports, descriptions and farewells are read; of extended reports
//! (RFC 3611) the block with VoIP metrics is; our own application packet carries a clock's error. The rest is skipped
//! by its length.

mod emit;
mod parse;

pub use emit::emit;
pub use parse::{parse, skim};

use guestright_units::{Micros, Time};
use thiserror::Error;

/// Parts of one compound packet; more are refused.
pub const PARTS_MAX: usize = 32;

/// Report blocks of one part (RFC 3550, section 6.4.1: the count has five bits).
pub const BLOCKS_MAX: usize = 31;

/// Why bytes are not a compound RTCP packet.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum RtcpError {
    /// It ends in the middle of a part.
    #[error("the RTCP packet is cut off: a part has {got} bytes, it needs {want}")]
    Truncated {
        /// Bytes that were there.
        got: usize,
        /// Bytes that it needs.
        want: usize,
    },
    /// A version other than 2.
    #[error("RTCP version {0}, expected 2")]
    Version(u8),
    /// A packet type outside 192 to 223.
    #[error("packet type {0} is not one of RTCP")]
    PacketType(u8),
    /// Padding in a part that is not the last, or more than there is, or not of whole words.
    #[error("the padding of an RTCP packet is malformed")]
    Padding,
    /// More than [`PARTS_MAX`] parts.
    #[error("the RTCP packet has more than {PARTS_MAX} parts")]
    TooManyParts,
    /// A text that does not end within its part.
    #[error("a text in an RTCP packet does not end")]
    Text,
}

/// A wall clock's time as RTCP carries it: seconds since 1900 in the upper 32 bits, fractions in the lower.
///
/// The seconds wrap in 2036; two times are compared modulo 2^64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ntp(pub u64);

/// Seconds from 1900 to 1970 (RFC 5905, figure 4).
const UNIX_EPOCH: u64 = 2_208_988_800;

impl Ntp {
    /// From microseconds since 1970.
    #[must_use]
    pub fn from_unix(time: Time) -> Self {
        let seconds = (time.0 / 1_000_000).wrapping_add(UNIX_EPOCH);
        let fraction = ((time.0 % 1_000_000) << 32) / 1_000_000;
        Self(seconds << 32 | fraction)
    }

    /// The middle 32 bits, in units of 1/65536 s, as reports repeat it.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the middle half is what is wanted")]
    pub fn middle(self) -> u32 {
        (self.0 >> 16) as u32
    }

    /// Microseconds since 1970, for a time that is less than 68 years from `near`.
    #[must_use]
    pub fn to_unix(self, near: Time) -> Time {
        let apart = self.0.wrapping_sub(Self::from_unix(near).0).cast_signed();
        let micros = (i128::from(apart) * 1_000_000 + (1 << 31)) >> 32;
        let micros = i64::try_from(micros).expect("31 bits of seconds are less than 2^63 µs");
        Time(near.0.saturating_add_signed(micros))
    }
}

/// What one side says about the packets that it has from one source (RFC 3550, section 6.4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportBlock {
    /// The source that it is about.
    pub ssrc: u32,
    /// Lost since the last report, in 1/256 of what was expected.
    pub fraction_lost: u8,
    /// Lost since the beginning, between -2^23 and 2^23 - 1; duplicates make it smaller.
    pub cumulative_lost: i32,
    /// Wraps of the sequence number in the upper half, the highest number in the lower.
    pub highest_sequence: u32,
    /// Interarrival jitter, in ticks of the payload's clock.
    pub jitter: u32,
    /// [`Ntp::middle`] of the last sender's report, or 0.
    pub last_report: u32,
    /// Since that report, in 1/65536 s.
    pub delay_since: u32,
}

/// What a sender says about itself (RFC 3550, section 6.4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderInfo {
    /// When the report was sent, by the sender's wall clock.
    pub ntp: Ntp,
    /// The same moment in ticks of the payload's clock.
    pub timestamp: u32,
    /// Packets sent so far.
    pub packets: u32,
    /// Bytes of payload sent so far.
    pub octets: u32,
}

/// The block with VoIP metrics of an extended report (RFC 3611, section 4.7), as the other side computed them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VoipMetrics {
    /// The source that it is about.
    pub ssrc: u32,
    /// Lost on the way, in 1/256.
    pub loss_rate: u8,
    /// Came too late, in 1/256.
    pub discard_rate: u8,
    /// Lost within bursts, in 1/256.
    pub burst_density: u8,
    /// Lost between bursts, in 1/256.
    pub gap_density: u8,
    /// Mean length of a burst, in ms.
    pub burst_ms: u16,
    /// Mean length of a gap, in ms.
    pub gap_ms: u16,
    /// From one end of RTP to the other and back, in ms; 0 if it is not known.
    pub round_trip_ms: u16,
    /// What the end itself adds, in ms.
    pub end_system_ms: u16,
    /// The R factor, or 127 for none.
    pub r_factor: u8,
    /// MOS for listening, in tenths, or 127 for none.
    pub mos_lq: u8,
    /// MOS for conversation, in tenths, or 127 for none.
    pub mos_cq: u8,
    /// Nominal delay of the jitter buffer, in ms.
    pub buffer_nominal_ms: u16,
    /// Its present maximum, in ms.
    pub buffer_maximum_ms: u16,
    /// The largest it may take, in ms.
    pub buffer_absolute_ms: u16,
}

/// One part of a compound packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// From somebody who sends.
    SenderReport {
        /// The source that reports.
        ssrc: u32,
        /// About itself.
        info: SenderInfo,
        /// About others.
        blocks: Vec<ReportBlock>,
    },
    /// From somebody who only listens.
    ReceiverReport {
        /// The source that reports.
        ssrc: u32,
        /// About others.
        blocks: Vec<ReportBlock>,
    },
    /// Canonical names. Other items are skipped.
    Description(Vec<(u32, Option<String>)>),
    /// These sources send no more.
    Goodbye(Vec<u32>),
    /// VoIP metrics. Other blocks of an extended report are skipped.
    Extended {
        /// The source that reports.
        ssrc: u32,
        /// The blocks with VoIP metrics.
        voip: Vec<VoipMetrics>,
    },
    /// How far the reporter's wall clock may be off: our own application packet, named `GRck`.
    ClockError {
        /// The source that reports.
        ssrc: u32,
        /// The bound that it states.
        error: Micros,
    },
    /// Skipped: feedback, other applications, and so on.
    Other {
        /// The second octet of its header.
        packet_type: u8,
    },
}

const SENDER_REPORT: u8 = 200;
const RECEIVER_REPORT: u8 = 201;
const DESCRIPTION: u8 = 202;
const GOODBYE: u8 = 203;
const APPLICATION: u8 = 204;
const EXTENDED: u8 = 207;
const VOIP_METRICS: u8 = 7;
const CLOCK_ERROR_NAME: [u8; 4] = *b"GRck";

#[cfg(test)]
mod tests;
