use crate::controller::WINDOW_MAX;
use thiserror::Error;

/// A setting that cannot be.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SettingsError {
    /// The size of a segment.
    #[error("the largest segment has {got} bytes, it must have 1 to 65495: what an IPv4 packet has room for")]
    Segment {
        /// What it was set to, in bytes of payload.
        got: u32,
    },
    #[error("the window has {got} bytes, it must have {min} to {max}")]
    Window {
        /// What it was set to.
        got: u64,
        /// The least, in bytes.
        min: u64,
        /// The most, in bytes.
        max: u64,
    },
    /// The limit of byte counting.
    #[error("byte counting adds up to {got} segments per acknowledgement, it must be 1 or 2 (RFC 3465)")]
    CountingLimit {
        /// What it was set to, in segments.
        got: u32,
    },
    /// The bounds of the retransmission timeout.
    #[error(
        "the retransmission timeout is to lie between {min_us} and {max_us} us, the first at {initial_us} us"
    )]
    Timeout {
        min_us: u64,
        /// That of a flow which has no round-trip time yet.
        initial_us: u64,
        max_us: u64,
    },
    /// A factor, in millionths.
    #[error("{name} is {got} millionths, it must be {min} to {max}")]
    Factor {
        name: &'static str,
        /// What it was set to.
        got: u32,
        min: u32,
        max: u32,
    },
    #[error("{name} is {got_us} us, it must be {min_us} to {max_us} us")]
    Duration {
        name: &'static str,
        /// What it was set to.
        got_us: u64,
        min_us: u64,
        max_us: u64,
    },
    /// A count of segments.
    #[error("{name} is {got} segments, it must be {min} to {max}")]
    Segments {
        name: &'static str,
        /// What it was set to.
        got: u32,
        min: u32,
        max: u32,
    },
    /// How many duplicate acknowledgements tell of a loss.
    #[error("{got} duplicate acknowledgements are to tell of a loss, it must be 1 to 255 (RFC 5681: 3)")]
    Duplicates {
        /// What it was set to.
        got: u32,
    },
}

pub(crate) const fn check_segment(segment: u32) -> Result<(), SettingsError> {
    // 65535 bytes of IPv4 packet without 20 bytes each of IP and TCP header.
    if segment == 0 || segment > 65_495 {
        return Err(SettingsError::Segment { got: segment });
    }
    Ok(())
}

/// How much a flow may send before it has heard anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// So many segments. 2 is RFC 2581's most, and what Linux 2.6.8 had for segments of more than 1095 bytes.
    Segments(u32),
    /// `min(4 SMSS, max(2 SMSS, 4380 bytes))` (RFC 3390; RFC 5681, section 3.1, has the same in segments).
    Rfc3390,
    /// `min(10 SMSS, max(2 SMSS, 14600 bytes))` (RFC 6928).
    Rfc6928,
}

impl InitialWindow {
    /// The window in bytes for segments of `segment` bytes; at least one segment, at most [`WINDOW_MAX`].
    #[must_use]
    pub const fn bytes(self, segment: u32) -> u64 {
        let segment = segment as u64;
        let bytes = match self {
            Self::Segments(count) => count as u64 * segment,
            Self::Rfc3390 => least(4 * segment, most(2 * segment, 4_380)),
            Self::Rfc6928 => least(10 * segment, most(2 * segment, 14_600)),
        };
        least(most(bytes, segment), WINDOW_MAX)
    }
}

const fn least(a: u64, b: u64) -> u64 {
    if a < b { a } else { b }
}

const fn most(a: u64, b: u64) -> u64 {
    if a > b { a } else { b }
}

/// How an acknowledgement makes the window grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Increase {
    /// Slow start adds a segment for each acknowledgement, whatever it covers; congestion avoidance
    /// `SMSS * SMSS / cwnd` (RFC 2581, equation (2)). With delayed acknowledgements the window grows half as fast.
    PerAck,
    /// As before, but slow start adds no more than was acknowledged, `min(N, SMSS)` (RFC 5681, equations (2), (3)).
    Rfc5681,
    /// Appropriate byte counting: slow start adds what was acknowledged up to `limit` segments, congestion avoidance a
    /// segment for each window of bytes (RFC 3465, sections 2.1 and 2.2).
    ByteCounting {
        /// L of the RFC, in segments: 1 or 2.
        limit: u32,
    },
}

/// The window at the end of a recovery (RFC 6582, section 3.2, step 3). RFC 5681 has only the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryExit {
    /// The slow start threshold at once: may let a burst go.
    Threshold,
    /// No more than a segment above what is on its way: no burst.
    Flight,
    /// What the loss and partial acknowledgements have made of it, and it grows by the acknowledgement that ends the
    /// recovery as by any other (ns-2).
    Grow,
}

/// What a window is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowUnit {
    /// Bytes, as the RFCs have it.
    Bytes,
    /// Segments with a fraction, of which only whole ones may be sent: ns-2's `cwnd_`. Half of a window keeps its half, and
    /// may be less than two segments; half of it as a threshold is whole, and at least two.
    Segments,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_windows_are_those_of_the_documents() {
        use InitialWindow::{Rfc3390, Rfc6928, Segments};
        #[rustfmt::skip]
        let cases = [
            (Segments(2), 1_460, 2_920),
            (Segments(0), 1_460, 1_460),
            (Rfc3390,       536, 2_144),  // 4 SMSS.
            (Rfc3390,     1_095, 4_380),
            (Rfc3390,     1_460, 4_380),  // 3 SMSS.
            (Rfc3390,     2_190, 4_380),
            (Rfc3390,     4_000, 8_000),  // 2 SMSS.
            (Rfc6928,       536, 5_360),
            (Rfc6928,     1_460, 14_600),
            (Rfc6928,     8_960, 17_920),
        ];
        for (window, segment, want) in cases {
            assert_eq!(window.bytes(segment), want, "{window:?} of {segment}");
        }
    }
}
