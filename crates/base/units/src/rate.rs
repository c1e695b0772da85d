use crate::Micros;
use std::fmt;
use std::num::NonZeroU64;

/// A number of octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A data rate, in bits (not octets) per second; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitsPerSecond(pub NonZeroU64);

impl Bytes {
    /// The sum, or the largest number if it does not fit.
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, or zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl BitsPerSecond {
    /// The rate, unless it is zero.
    pub const fn new(bits_per_second: u64) -> Option<Self> {
        match NonZeroU64::new(bits_per_second) {
            Some(rate) => Some(Self(rate)),
            None => None,
        }
    }

    /// The time to put `size` on the wire, rounded up.
    pub fn transmission_time(self, size: Bytes) -> Micros {
        let micros = (u128::from(size.0) * 8 * 1_000_000).div_ceil(u128::from(self.0.get()));
        Micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Bytes {
    /// In decimal units with three digits, for example `52.4 MB`.
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0 as f64;
        for unit in ["B", "kB", "MB", "GB", "TB"] {
            if value < 999.5 {
                let decimals = if unit == "B" || value >= 99.95 { 0 } else { 1 };
                return write!(f, "{value:.decimals$} {unit}");
            }
            value /= 1_000.0;
        }
        write!(f, "{value:.0} PB")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_with_a_unit() {
        #[rustfmt::skip]
        let cases = [
            (0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (52_428_800, "52.4 MB"), (999_600_000, "1.0 GB"),
        ];
        for (bytes, want) in cases {
            assert_eq!(Bytes(bytes).to_string(), want);
        }
    }

    #[test]
    fn a_full_frame_at_11_mbit_takes_1104_microseconds() {
        let rate = BitsPerSecond::new(11_000_000).unwrap();
        assert_eq!(rate.transmission_time(Bytes(1_518)), Micros(1_104));
    }
}
