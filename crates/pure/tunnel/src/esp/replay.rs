//! The anti-replay window: which sequence numbers have been seen, in a ring of bits (RFC 6479), and what the upper
//! half of an extended sequence number must be (RFC 4303, appendix A).

use thiserror::Error;

/// The sequence numbers that have been received.
///
/// - `highest`: the largest that was authenticated; 0 before the first.
/// - The window is the `size` numbers up to and with `highest`. What is below it counts as received.
/// - The ring has a word more than the window fills, so that a step forward clears words and never shifts bits.
#[derive(Clone, Debug)]
pub struct ReplayWindow {
    words: Vec<u64>,
    size: u64,
    highest: u64,
}

/// Why a sequence number is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReplayError {
    /// It was received before.
    #[error("sequence number {0} was received before")]
    Replayed(u64),
    /// It is below the window, or 0, which nobody sends.
    #[error("sequence number {0} is below the window")]
    TooOld(u64),
}

/// The fewest numbers that a window may hold (RFC 4303, section 3.4.3, asks for 32 and prefers 64).
pub const WINDOW_MIN: u32 = 64;

/// The most: a window of this size takes 128 KB.
pub const WINDOW_MAX: u32 = 1 << 20;

/// A good size: batches with segmentation offload reorder by hundreds of packets.
pub const WINDOW_DEFAULT: u32 = 4096;

const WORD_BITS: u64 = 64;

impl ReplayWindow {
    /// A window of that many numbers, brought between [`WINDOW_MIN`] and [`WINDOW_MAX`].
    #[must_use]
    pub fn new(size: u32) -> Self {
        let size = size.clamp(WINDOW_MIN, WINDOW_MAX);
        let words = (size.div_ceil(64) as usize + 1).next_power_of_two();
        Self { words: vec![0; words], size: u64::from(size), highest: 0 }
    }

    /// How many numbers the window holds.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The largest number accepted so far; 0 before the first.
    #[must_use]
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// The whole of an extended sequence number of which only the lower half was sent: the one that is in the window,
    /// or ahead of it by less than 2^32 (RFC 4303, appendix A2.2). Nothing if that would be before the first.
    #[must_use]
    pub fn extend(&self, low: u32) -> Option<u64> {
        let bottom = self.highest.wrapping_sub(self.size - 1);
        let ahead = u64::from(low.wrapping_sub(low_half(bottom)));
        let (sequence, has_wrapped) = bottom.overflowing_add(ahead);
        // A bottom below zero stands for itself plus 2^64, and comes back by wrapping; any other must not wrap.
        let is_bottom_below_zero = self.highest < self.size - 1;
        (has_wrapped == is_bottom_below_zero).then_some(sequence)
    }

    /// Whether a packet with that number may be looked at.
    ///
    /// # Errors
    /// [`ReplayError`] if it was received, or might have been.
    pub fn check(&self, sequence: u64) -> Result<(), ReplayError> {
        if sequence > self.highest {
            return Ok(());
        }
        if sequence == 0 || self.highest - sequence >= self.size {
            return Err(ReplayError::TooOld(sequence));
        }
        let (word, bit) = self.position(sequence);
        if self.words[word] & bit != 0 {
            return Err(ReplayError::Replayed(sequence));
        }
        Ok(())
    }

    /// Notes that a packet with that number was authenticated.
    ///
    /// # Errors
    /// [`ReplayError`] as [`check`](Self::check); then nothing changes.
    pub fn commit(&mut self, sequence: u64) -> Result<(), ReplayError> {
        self.check(sequence)?;
        if sequence > self.highest {
            self.advance(sequence);
        }
        let (word, bit) = self.position(sequence);
        self.words[word] |= bit;
        Ok(())
    }

    fn advance(&mut self, sequence: u64) {
        let steps = sequence / WORD_BITS - self.highest / WORD_BITS;
        let count = self.words.len() as u64;
        if steps >= count {
            self.words.fill(0);
        } else {
            for step in 1..=steps {
                let (word, _) = self.position(self.highest + step * WORD_BITS);
                self.words[word] = 0;
            }
        }
        self.highest = sequence;
    }

    /// The word and the bit of a number. The number of words is a power of two.
    fn position(&self, sequence: u64) -> (usize, u64) {
        let mask = self.words.len() as u64 - 1;
        let word =
            usize::try_from((sequence / WORD_BITS) & mask).expect("an index below the number of words");
        (word, 1 << (sequence % WORD_BITS))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is asked for")]
fn low_half(sequence: u64) -> u32 {
    sequence as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    use super::*;

    /// The same in the plainest words: all numbers ever accepted, and arithmetic in 128 bits.
    #[derive(Default)]
    struct Model {
        seen: BTreeSet<u64>,
    }

    impl Model {
        fn highest(&self) -> u64 {
            self.seen.last().copied().unwrap_or(0)
        }

        fn commit(&mut self, sequence: u64, size: u64) -> Result<(), ReplayError> {
            let bottom = i128::from(self.highest()) - i128::from(size) + 1;
            if sequence == 0 || i128::from(sequence) < bottom {
                return Err(ReplayError::TooOld(sequence));
            }
            if !self.seen.insert(sequence) {
                return Err(ReplayError::Replayed(sequence));
            }
            Ok(())
        }

        /// Of the numbers that end in `low`, the one from the window's bottom to 2^32 - 1 above it.
        fn extend(&self, low: u32, size: u64) -> Option<u64> {
            let bottom = i128::from(self.highest()) - i128::from(size) + 1;
            let high = i128::from(self.highest() >> 32);
            let candidates = [high - 1, high, high + 1].map(|high| (high << 32) + i128::from(low));
            let fits = |whole: &i128| (bottom..bottom + (1 << 32)).contains(whole);
            candidates.into_iter().find(fits).and_then(|whole| u64::try_from(whole).ok())
        }
    }

    fn near(highest: u64) -> impl Strategy<Value = u64> {
        prop_oneof![
            4 => (0_u64..300).prop_map(move |back| highest.saturating_sub(back)),
            4 => (1_u64..200).prop_map(move |on| highest.saturating_add(on)),
            1 => (0_u64..10_000).prop_map(move |on| highest.saturating_add(on)),
            1 => any::<u64>(),
            1 => Just(0),
            1 => Just(u64::MAX),
        ]
    }

    proptest! {
        #[test]
        fn agrees_with_a_set_of_all_numbers(
            size in WINDOW_MIN..200,
            first in prop_oneof![Just(1_u64), 1_u64..5_000, (u64::from(u32::MAX) - 500)..(u64::from(u32::MAX) + 500)],
            jumps in proptest::collection::vec((0_u64..250, any::<bool>(), 0_u8..40), 1..400),
        ) {
            let mut window = ReplayWindow::new(size);
            let mut model = Model::default();
            let mut at = first;
            for (distance, forward, far) in jumps {
                at = if far == 0 {
                    at.saturating_add(distance << 20)
                } else if forward {
                    at.saturating_add(distance)
                } else {
                    at.saturating_sub(distance)
                };
                prop_assert_eq!(window.commit(at), model.commit(at, u64::from(size)), "sequence {}", at);
                prop_assert_eq!(window.highest(), model.highest());
            }
        }

        #[test]
        fn checks_what_it_would_commit(size in WINDOW_MIN..300, numbers in proptest::collection::vec(near(1_000), 1..100)) {
            let mut window = ReplayWindow::new(size);
            for number in numbers {
                let before = window.highest();
                let checked = window.check(number);
                prop_assert_eq!(window.commit(number), checked);
                if checked.is_err() {
                    prop_assert_eq!(window.highest(), before);
                }
            }
        }

        #[test]
        fn extends_as_the_model_does(
            size in WINDOW_MIN..2_000,
            highest in prop_oneof![
                0_u64..5_000,
                any::<u64>(),
                (u64::MAX - 5_000)..=u64::MAX,
                (1_u64..6, -3_000_i64..3_000).prop_map(|(high, low)| (high << 32).wrapping_add_signed(low)),
            ],
            low in prop_oneof![any::<u32>(), 0_u32..5_000, (u32::MAX - 5_000)..=u32::MAX],
        ) {
            let mut window = ReplayWindow::new(size);
            let mut model = Model::default();
            if highest > 0 {
                window.commit(highest).unwrap();
                model.seen.insert(highest);
            }
            prop_assert_eq!(window.extend(low), model.extend(low, u64::from(size)));
        }

        #[test]
        fn what_was_sent_a_little_out_of_order_is_extended_to_itself(
            start in any::<u64>(), steps in proptest::collection::vec((0_u64..60, 0_u64..100), 1..200),
        ) {
            let mut window = ReplayWindow::new(1024);
            let mut sent = start.clamp(1, u64::MAX - 20_000);
            window.commit(sent).unwrap();
            for (on, late) in steps {
                sent += on;
                let arriving = sent.saturating_sub(late).max(1);
                prop_assert_eq!(window.extend(low_half(arriving)), Some(arriving));
                let _ = window.commit(arriving);
            }
        }
    }
}
