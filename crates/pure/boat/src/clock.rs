//! Clocks that count ticks in 32 bits, and wrap.
//!
//! A talker's clock CS is this computer's time in ticks plus a start that is drawn by lot. A listener's clock CR is its
//! computer's time in ticks plus an offset that the handshakes set. Only differences mean anything, and they are taken
//! modulo 2^32: at 8,000 ticks a second that is a cycle of six days.

use guestright_units::{Micros, Time};

/// How many ticks a second has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickRate(u32);

impl TickRate {
    /// The clock of paper D: milliseconds.
    pub const MILLISECONDS: Self = Self(1_000);
    /// A tick for each sample of telephone speech.
    pub const SAMPLES: Self = Self(8_000);

    /// So many ticks a second, at least 1 and at most 1,000,000.
    #[must_use]
    pub const fn new(ticks_per_second: u32) -> Self {
        match ticks_per_second {
            0 => Self(1),
            1..1_000_000 => Self(ticks_per_second),
            _ => Self(1_000_000),
        }
    }

    /// Ticks in a second.
    #[must_use]
    pub const fn per_second(self) -> u32 {
        self.0
    }

    /// Whole ticks since the start of the run.
    #[must_use]
    pub fn at(self, now: Time) -> u64 {
        self.ticks(Micros(now.0))
    }

    /// Whole ticks in a span.
    #[must_use]
    pub fn ticks(self, span: Micros) -> u64 {
        let ticks = u128::from(span.0) * u128::from(self.0) / 1_000_000;
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }

    /// How long so many ticks take, rounded up.
    #[must_use]
    pub fn span(self, ticks: u64) -> Micros {
        let micros = (u128::from(ticks) * 1_000_000).div_ceil(u128::from(self.0));
        Micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }
}

/// The lower 32 bits: a clock wraps.
#[expect(clippy::cast_possible_truncation, reason = "that is what wrapping means")]
pub(super) const fn wrap(ticks: u64) -> u32 {
    ticks as u32
}

/// `later - earlier` on a clock that wraps, as a number with a sign.
pub(super) const fn difference(later: u32, earlier: u32) -> i64 {
    later.wrapping_sub(earlier).cast_signed() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_whole_and_spans_are_long_enough() {
        let rate = TickRate::SAMPLES;
        assert_eq!((rate.ticks(Micros(124)), rate.ticks(Micros(125)), rate.ticks(Micros(249))), (0, 1, 1));
        assert_eq!(rate.span(3), Micros(375));
        assert_eq!(TickRate::new(3_000).span(1), Micros(334));
        assert_eq!(TickRate::new(0).per_second(), 1);
        assert_eq!(TickRate::MILLISECONDS.at(Time(u64::MAX)), u64::MAX / 1_000);
    }

    #[test]
    fn differences_pass_the_wrap() {
        assert_eq!(difference(3, u32::MAX - 1), 5);
        assert_eq!(difference(u32::MAX - 1, 3), -5);
        assert_eq!(wrap((7 << 32) + 9), 9);
    }
}
