//! When an application speaks: constant, exponential on-off and Pareto on-off sources.
//!
//! All arrivals of a flow can be drawn before a run, from a stream of its own: the same whatever carries them.
//!
//! What is drawn, in this order, each time that a flow falls silent (and at its start): `u`, for the packets of the next
//! burst, and `v`, for the silence before it; both are uniform on (0, 1], 53 bits of one draw of 64 each. With
//! `packets = on * rate / (8 * bytes)`, the mean length of a burst in packets:
//!
//! - Pareto: the burst is `s * u^(-1/shape)` packets with `s = packets * (shape - 1) / shape`, the silence
//!   `t * v^(-1/shape)` with `t = off * (shape - 1) / shape`.
//! - Exponential: the burst is `-packets * ln(u)` packets, the silence `-off * ln(v)`.
//!
//! The burst is rounded to the nearest whole number of packets, at least one; the silence to the nearest nanosecond.
//! Packets of a burst are `8 * bytes / rate` apart, counted from its first one, each rounded up to a nanosecond. The
//! first packet of a burst comes one such interval and the silence after the last of the one before, or after the start.
//! This is the law of ns-2's `Application/Traffic/Pareto` and `Application/Traffic/Exponential` (2.35, whose `rate_` is
//! the rate of a burst), with another generator of chance. Because a burst has at least one packet and is rounded, its
//! mean is a little above `packets`.
//!
//! Powers and logarithms are those of the `libm` crate, which are the same on every computer.

mod workload;

pub use workload::{Arrival, Workload, WorkloadError};

use guestright_engine::{Instant, Nanos, Stream};
use rand::Rng;
use thiserror::Error;

/// The law of a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SourceKind {
    /// A packet at the start and one every interval after; nothing is drawn.
    Constant,
    /// Bursts and silences of exponential length.
    Exponential,
    /// Bursts and silences with a heavy tail.
    Pareto {
        /// The exponent of the tail; above 1, so that there is a mean (paper C, section 4.2: 1.5).
        shape: f64,
    },
}

/// What a rate is the rate of. Paper C (section 4.2) says "a mean rate of 64 kbps" and "160 bytes (20 ms of speech)",
/// which cannot both be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// Of a burst: 160 bytes every 20 ms, and 27.2 kbit/s over speech and silence.
    #[default]
    OnRate,
    /// Over speech and silence: 150.4 kbit/s in a burst, 160 bytes every 8.5 ms.
    Average,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SourceSettings {
    pub kind: SourceKind,
    /// Bits per second of speech, without any header.
    pub rate: u64,
    /// What `rate` is the rate of. A constant source has only one.
    pub reading: Reading,
    /// Bytes of speech in a packet.
    pub packet_bytes: u32,
    /// The mean length of a burst.
    pub on: Nanos,
    /// The mean length of a silence.
    pub off: Nanos,
}

/// A source that cannot be.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum SourceError {
    /// A rate of nothing, or more than there are.
    #[error("a source has a rate of {got} bit/s, it must be 1 to {max}")]
    Rate {
        /// What it was set to.
        got: u64,
        max: u64,
    },
    /// Packets without speech, or larger than an IP packet.
    #[error("a source has packets of {got} bytes, they must have 1 to {max}")]
    PacketBytes {
        /// What it was set to.
        got: u32,
        max: u32,
    },
    /// Bursts or silences without length.
    #[error("a source has bursts of {on} ns and silences of {off} ns on average, they must be 1 to {max}")]
    Periods {
        /// The mean burst, in nanoseconds.
        on: u64,
        /// The mean silence, in nanoseconds.
        off: u64,
        max: u64,
    },
    /// A tail without a mean.
    #[error("the shape of a Pareto source is {got}, it must be above 1 and at most {max}")]
    Shape {
        /// What it was set to.
        got: f64,
        max: f64,
    },
    /// More packets than a run can hold.
    #[error(
        "a source could make {got} packets until its end, the most is {max}: end it earlier or lower its rate"
    )]
    Packets {
        /// How many it could make.
        got: u64,
        max: u64,
    },
}

const RATE_MAX: u64 = 1_000_000_000_000;
const PACKET_BYTES_MAX: u32 = 65_535;
const PERIOD_MAX: Nanos = Nanos::from_seconds(86_400);
const SHAPE_MAX: f64 = 100.0;
const PACKETS_MAX: u64 = 1 << 24;

impl SourceSettings {
    /// The source of paper C, section 4.2: Pareto, 64 kbit/s in a burst, shape 1.5, 1.0 s and 1.35 s.
    #[must_use]
    pub const fn paper_c(packet_bytes: u32) -> Self {
        Self {
            kind: SourceKind::Pareto { shape: 1.5 },
            rate: 64_000,
            reading: Reading::OnRate,
            packet_bytes,
            on: Nanos::from_millis(1_000),
            off: Nanos::from_millis(1_350),
        }
    }

    /// Bits per second in a burst, rounded to the nearest.
    #[must_use]
    pub fn on_rate(&self) -> u64 {
        if self.reading == Reading::OnRate || self.kind == SourceKind::Constant || self.on.0 == 0 {
            return self.rate;
        }
        let (on, both) = (u128::from(self.on.0), u128::from(self.on.0) + u128::from(self.off.0));
        u64::try_from((u128::from(self.rate) * both + on / 2) / on).unwrap_or(u64::MAX)
    }

    /// From the first to the `count`th packet after it in a burst, rounded up to a nanosecond.
    #[must_use]
    pub fn packets_last(&self, count: u64) -> Nanos {
        Nanos::of_bits(count.saturating_mul(u64::from(self.packet_bytes) * 8), self.on_rate())
    }

    /// The mean length of a burst in packets, before it is rounded.
    #[must_use]
    pub fn burst_packets(&self) -> f64 {
        self.on.as_seconds() * as_f64(self.on_rate()) / (f64::from(self.packet_bytes) * 8.0)
    }

    fn check(&self, from: Instant, end: Instant) -> Result<(), SourceError> {
        if self.packet_bytes == 0 || self.packet_bytes > PACKET_BYTES_MAX {
            return Err(SourceError::PacketBytes { got: self.packet_bytes, max: PACKET_BYTES_MAX });
        }
        let (on, off, max) = (self.on.0, self.off.0, PERIOD_MAX.0);
        if self.kind != SourceKind::Constant && (on == 0 || off == 0 || on > max || off > max) {
            return Err(SourceError::Periods { on, off, max });
        }
        if self.rate == 0 || self.on_rate() > RATE_MAX {
            return Err(SourceError::Rate { got: self.on_rate(), max: RATE_MAX });
        }
        if let SourceKind::Pareto { shape } = self.kind
            && !(shape > 1.0 && shape <= SHAPE_MAX)
        {
            return Err(SourceError::Shape { got: shape, max: SHAPE_MAX });
        }
        let got = end.since(from).0 / self.packets_last(1).0.max(1);
        if got > PACKETS_MAX {
            return Err(SourceError::Packets { got, max: PACKETS_MAX });
        }
        Ok(())
    }
}

/// The times at which one flow speaks a packet, in order, all before its end.
#[derive(Debug)]
pub struct Source<'a> {
    settings: SourceSettings,
    end: Instant,
    chance: &'a mut Stream,
    /// The first packet of this burst.
    burst_at: Instant,
    /// Packets of this burst that were given out.
    spoken: u64,
    /// Packets of this burst that were not.
    left: u64,
}

impl<'a> Source<'a> {
    /// A flow that starts to be silent `from` (a constant one speaks at once) and ends before `end`.
    ///
    /// # Errors
    ///
    /// If a setting cannot be, or the flow could make more than 2^24 packets.
    pub fn new(
        settings: SourceSettings,
        from: Instant,
        end: Instant,
        chance: &'a mut Stream,
    ) -> Result<Self, SourceError> {
        settings.check(from, end)?;
        Ok(match settings.kind {
            SourceKind::Constant => Self { settings, end, chance, burst_at: from, spoken: 0, left: u64::MAX },
            SourceKind::Exponential | SourceKind::Pareto { .. } => {
                // As if a packet had been spoken at the start.
                Self { settings, end, chance, burst_at: from, spoken: 1, left: 0 }
            }
        })
    }

    /// Draws the next burst and the silence before it.
    fn fall_silent(&mut self) {
        let settings = self.settings;
        let (packets, off) = (settings.burst_packets(), as_f64(settings.off.0));
        let (u, v) = (uniform(self.chance), uniform(self.chance));
        let (burst, silence) = match settings.kind {
            SourceKind::Constant => (f64::MAX, 0.0),
            SourceKind::Exponential => (-packets * libm::log(u), -off * libm::log(v)),
            SourceKind::Pareto { shape } => {
                let scale = (shape - 1.0) / shape;
                (packets * scale * libm::pow(u, -1.0 / shape), off * scale * libm::pow(v, -1.0 / shape))
            }
        };
        let silence = Nanos(whole(silence));
        self.burst_at = self.burst_at + settings.packets_last(self.spoken) + silence;
        self.left = whole(burst).max(1);
        self.spoken = 0;
    }
}

impl Iterator for Source<'_> {
    type Item = Instant;

    fn next(&mut self) -> Option<Instant> {
        if self.burst_at >= self.end {
            return None;
        }
        if self.left == 0 {
            self.fall_silent();
        }
        let at = self.burst_at + self.settings.packets_last(self.spoken);
        if at >= self.end {
            self.burst_at = self.end;
            return None;
        }
        self.left -= 1;
        self.spoken += 1;
        Some(at)
    }
}

/// Uniform on (0, 1], with 53 bits.
fn uniform(chance: &mut Stream) -> f64 {
    as_f64((chance.next_u64() >> 11) + 1) / as_f64(1 << 53)
}

/// The nearest whole number; the largest there is, if it is beyond.
fn whole(value: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates, and is not negative"
    )]
    let whole = libm::floor(value + 0.5) as u64;
    whole
}

#[expect(clippy::cast_precision_loss, reason = "values are below 2^53, or need no more digits")]
const fn as_f64(value: u64) -> f64 {
    value as f64
}
