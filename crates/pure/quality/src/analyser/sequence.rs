//! Where a sequence number belongs: RFC 3550, Appendix A.1.

/// A packet this far ahead of the highest is a gap; beyond it, another stream (`MAX_DROPOUT`).
const AHEAD_MAX: u16 = 3_000;
/// A packet this far behind the highest was overtaken (`MAX_MISORDER`).
pub(super) const BEHIND_MAX: usize = 100;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sequence {
    highest: Option<u16>,
    /// The number that would show that a stray packet was the start of a new sequence.
    suspect: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    First,
    /// So many after the highest, at least 1.
    Ahead(u16),
    /// So many before the highest, 0 for the highest itself.
    Behind(u16),
    /// So many before the highest, and before everything that is remembered.
    Old(u16),
    /// Far from everything.
    Stray,
    /// The second of a new sequence.
    Restart,
}

impl Sequence {
    /// A sequence that begins with a certain number.
    pub(super) fn before(first: Option<u16>) -> Self {
        Self { highest: first.map(|first| first.wrapping_sub(1)), suspect: None }
    }

    /// The next `count` numbers were sent, and are known not to come.
    pub(super) fn skip(&mut self, count: u64) {
        #[expect(clippy::cast_possible_truncation, reason = "numbers are modulo 2^16")]
        let count = count as u16;
        self.highest = self.highest.map(|highest| highest.wrapping_add(count));
    }

    /// Finds the place of a number. `remembered` is how many places up to the highest are kept.
    pub(super) fn classify(&mut self, sequence: u16, remembered: usize) -> Position {
        let Some(highest) = self.highest else {
            self.highest = Some(sequence);
            return Position::First;
        };
        let ahead = sequence.wrapping_sub(highest);
        let behind = highest.wrapping_sub(sequence);
        if (1..=AHEAD_MAX).contains(&ahead) {
            self.highest = Some(sequence);
            self.suspect = None;
            return Position::Ahead(ahead);
        }
        if usize::from(behind) <= BEHIND_MAX {
            let known = usize::from(behind) < remembered;
            return if known { Position::Behind(behind) } else { Position::Old(behind) };
        }
        if self.suspect == Some(sequence) {
            self.highest = Some(sequence);
            self.suspect = None;
            return Position::Restart;
        }
        self.suspect = Some(sequence.wrapping_add(1));
        Position::Stray
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classifies_by_hand() {
        let mut sequence = Sequence::default();
        #[rustfmt::skip]
        let steps = [
            (65_534, Position::First), (65_535, Position::Ahead(1)), (1, Position::Ahead(2)), (0, Position::Behind(1)),
            (1, Position::Behind(0)), (65_500, Position::Old(37)), (3_001, Position::Ahead(3_000)), (6_002, Position::Stray),
            (9_000, Position::Stray), (6_003, Position::Stray), (6_004, Position::Restart), (6_005, Position::Ahead(1)),
        ];
        for (number, want) in steps {
            assert_eq!(sequence.classify(number, 5), want, "{number}");
        }
    }
}
