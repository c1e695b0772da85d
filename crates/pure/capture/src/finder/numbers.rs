//! Which of the latest numbers of a stream have come.

/// How many numbers up to the highest are remembered: 20 s of speech.
const WINDOW: u16 = 1_024;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    highest: Option<u16>,
    /// One bit for each number, at its index modulo the window.
    seen: [u64; WINDOW as usize / 64],
}

impl Default for Numbers {
    fn default() -> Self {
        Self { highest: None, seen: [0; WINDOW as usize / 64] }
    }
}

impl Numbers {
    pub(super) fn add(&mut self, number: u16) {
        let ahead = number.wrapping_sub(self.highest.unwrap_or(number));
        if ahead < 1 << 15 {
            // Those in between have not come.
            for step in 1..ahead.min(WINDOW) {
                self.set(number.wrapping_sub(step), false);
            }
            self.highest = Some(number);
            self.set(number, true);
        } else if ahead.wrapping_neg() < WINDOW {
            self.set(number, true);
        }
    }

    /// Whether a number near the highest is missing so far; no if it has come, or is too far away to tell.
    pub(super) fn lack(&self, number: u16) -> bool {
        let Some(highest) = self.highest else { return false };
        let (ahead, behind) = (number.wrapping_sub(highest), highest.wrapping_sub(number));
        (1..WINDOW).contains(&ahead) || (behind < WINDOW && !self.has(number))
    }

    fn has(&self, number: u16) -> bool {
        let index = usize::from(number % WINDOW);
        self.seen[index / 64] >> (index % 64) & 1 == 1
    }

    fn set(&mut self, number: u16, seen: bool) {
        let index = usize::from(number % WINDOW);
        let bit = 1 << (index % 64);
        self.seen[index / 64] = if seen { self.seen[index / 64] | bit } else { self.seen[index / 64] & !bit };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_is_lacking_near_the_highest_until_it_has_come() {
        let mut numbers = Numbers::default();
        assert!(!numbers.lack(7), "nothing is near to nothing");
        [65_534, 1, 0].into_iter().for_each(|number| numbers.add(number));
        let lacking = [65_533, 65_534, 65_535, 0, 1, 2].map(|number| numbers.lack(number));
        assert_eq!(lacking, [true, false, true, false, false, true]);
        assert!(!numbers.lack(1_025) && !numbers.lack(40_000), "too far away to tell");
        numbers.add(3_000);
        assert!(numbers.lack(2_999) && numbers.lack(1_977) && !numbers.lack(1_976) && !numbers.lack(3_000));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn remembers_as_much_as_a_set_of_all(start: u16, steps in prop::collection::vec(-200_i32..300, 1..60)) {
            let (mut numbers, mut all, mut highest) = (Numbers::default(), std::collections::BTreeSet::new(), 0);
            for (index, step) in steps.into_iter().enumerate() {
                // Counted from the first, without end.
                let number = if index == 0 { 0 } else { highest + step };
                highest = highest.max(number);
                all.insert(number);
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "numbers wrap")]
                let short = |number: i32| start.wrapping_add(number as u16);
                numbers.add(short(number));
                for near in highest - 1_023..highest + 1_024 {
                    prop_assert_eq!(numbers.lack(short(near)), !all.contains(&near), "{}", near);
                }
            }
        }
    }
}
