/// Makes a counter that wraps into one that does not.
///
/// The wide number nearest to the highest so far is taken, so packets may come in any order as long as they are less
/// than half a cycle apart. The first number is placed one cycle up, so that what was sent before it, and comes after
/// it, is still positive. [`Widen::estimate`] changes nothing: a packet that turns out to be forged has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widen<const BITS: u32> {
    highest: Option<u64>,
}

/// For the sequence numbers of RTP.
pub type WidenSequence = Widen<16>;

/// For the timestamps of RTP.
pub type WidenTimestamp = Widen<32>;

impl<const BITS: u32> Default for Widen<BITS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const BITS: u32> Widen<BITS> {
    const CYCLE: u64 = 1 << BITS;

    /// Has seen nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { highest: None }
    }

    /// The highest number so far.
    #[must_use]
    pub fn highest(&self) -> Option<u64> {
        self.highest
    }

    /// The wide number for `narrow`. Nothing is remembered.
    #[must_use]
    pub fn estimate(&self, narrow: u64) -> u64 {
        let narrow = narrow % Self::CYCLE;
        let Some(highest) = self.highest else {
            return Self::CYCLE + narrow;
        };
        let ahead = narrow.wrapping_sub(highest) % Self::CYCLE;
        if ahead < Self::CYCLE / 2 {
            highest.saturating_add(ahead)
        } else {
            // What would be below zero can only be old, and takes the place one cycle up instead.
            highest.checked_sub(Self::CYCLE - ahead).unwrap_or_else(|| highest.saturating_add(ahead))
        }
    }

    /// Remembers a number that [`Widen::estimate`] gave.
    pub fn accept(&mut self, wide: u64) {
        self.highest = self.highest.max(Some(wide));
    }

    /// [`Widen::estimate`] and [`Widen::accept`].
    pub fn widen(&mut self, narrow: u64) -> u64 {
        let wide = self.estimate(narrow);
        self.accept(wide);
        wide
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn passes_the_wrap_in_both_directions() {
        let mut sequence = WidenSequence::new();
        let wide: Vec<u64> = [65_534, 0, 65_535, 2, 1, 65_533].map(|n| sequence.widen(n)).to_vec();
        let base = 65_536 + 65_534;
        assert_eq!(wide, [base, base + 2, base + 1, base + 4, base + 3, base - 1]);
        assert_eq!(sequence.highest(), Some(base + 4));
    }

    proptest! {
        #[test]
        fn what_is_less_than_half_a_cycle_away_is_placed_rightly(start: u16, steps: Vec<i16>) {
            let mut sequence = WidenSequence::new();
            let first = sequence.widen(u64::from(start));
            let mut highest = first;
            for step in steps {
                let Some(want) = highest.checked_add_signed(i64::from(step)) else { continue };
                prop_assume!(step != i16::MIN);
                let got = sequence.widen(want & 0xffff);
                prop_assert_eq!(got, want);
                highest = highest.max(want);
            }
        }

        #[test]
        fn a_timestamp_keeps_its_low_half(start: u32, next: u32) {
            let mut timestamp = WidenTimestamp::new();
            timestamp.widen(u64::from(start));
            let wide = timestamp.estimate(u64::from(next));
            prop_assert_eq!(wide & 0xffff_ffff, u64::from(next));
            prop_assert!(wide.abs_diff(timestamp.highest().unwrap()) <= 1 << 31);
        }
    }
}
