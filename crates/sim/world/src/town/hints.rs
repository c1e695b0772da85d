//! What a home knows at second hand: who owes whom, as guests have shown it.

use guestright_engine::Instant;
use std::collections::{BTreeMap, BTreeSet};

/// A team without anything given may show this much.
const QUOTA: u64 = 16;

/// A debt between two others. If it is wrong, a reservation is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hint {
    pub(super) debtor: u32,
    pub(super) creditor: u32,
    pub(super) bytes: u64,
}

/// The debtors of one creditor.
#[derive(Clone, Debug)]
struct Debtors {
    shown: Instant,
    /// Whether who showed them never gave anything.
    poor: bool,
    all: Vec<(u32, u64)>,
}

/// A routing cache with a limit. Those who never gave anything have a quarter of it together.
#[derive(Clone, Debug, Default)]
pub(super) struct Hints {
    max: usize,
    by_creditor: BTreeMap<u32, Debtors>,
    /// The oldest first, of those without and with anything given.
    order: [BTreeSet<(Instant, u32)>; 2],
    sizes: [usize; 2],
}

impl Hints {
    pub(super) fn new(max: usize) -> Self {
        Self { max, ..Self::default() }
    }

    /// Takes in what a guest shows whose team gave our people so much. What was known of these creditors is replaced.
    pub(super) fn accept(&mut self, shown: &[Hint], given: u64, now: Instant) {
        let quota = usize::try_from(QUOTA + given / 1_000_000).unwrap_or(usize::MAX);
        let mut by_creditor: BTreeMap<u32, Vec<(u32, u64)>> = BTreeMap::new();
        for hint in shown.iter().take(quota) {
            by_creditor.entry(hint.creditor).or_default().push((hint.debtor, hint.bytes));
        }
        for (creditor, all) in by_creditor {
            self.remove(creditor);
            let poor = given == 0;
            self.sizes[usize::from(!poor)] += all.len();
            self.order[usize::from(!poor)].insert((now, creditor));
            self.by_creditor.insert(creditor, Debtors { shown: now, poor, all });
        }
        while self.sizes[0] > self.max / 4 {
            self.remove_oldest(0);
        }
        while self.sizes[0] + self.sizes[1] > self.max {
            self.remove_oldest(usize::from(self.order[0].is_empty()));
        }
    }

    /// Who owes the creditor how much, as far as is known.
    pub(super) fn of(&self, creditor: u32) -> &[(u32, u64)] {
        self.by_creditor.get(&creditor).map_or(&[], |debtors| &debtors.all)
    }

    /// A home has said how much it really is.
    pub(super) fn correct(&mut self, debtor: u32, creditor: u32, bytes: u64) {
        if let Some(debtors) = self.by_creditor.get_mut(&creditor) {
            for (team, known) in &mut debtors.all {
                if *team == debtor {
                    *known = bytes;
                }
            }
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.max);
    }

    fn remove(&mut self, creditor: u32) {
        if let Some(old) = self.by_creditor.remove(&creditor) {
            self.order[usize::from(!old.poor)].remove(&(old.shown, creditor));
            self.sizes[usize::from(!old.poor)] -= old.all.len();
        }
    }

    fn remove_oldest(&mut self, which: usize) {
        match self.order[which].first() {
            Some(&(_, creditor)) => self.remove(creditor),
            None => self.sizes[which] = 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(debtor: u32, creditor: u32) -> Hint {
        Hint { debtor, creditor, bytes: 7 }
    }

    #[test]
    fn what_a_team_shows_again_takes_the_place_of_what_it_showed() {
        let mut hints = Hints::new(100);
        hints.accept(&[hint(1, 9), hint(2, 9)], 0, Instant(1));
        hints.accept(&[hint(3, 9)], 0, Instant(2));
        assert_eq!(hints.of(9), [(3, 7)]);
        hints.correct(3, 9, 1);
        assert_eq!(hints.of(9), [(3, 1)]);
    }

    #[test]
    fn those_who_gave_nothing_have_a_quarter() {
        let mut hints = Hints::new(8);
        for creditor in 10..20 {
            hints.accept(&[hint(1, creditor)], 0, Instant(u64::from(creditor)));
        }
        assert!(hints.of(17).is_empty() && !hints.of(18).is_empty() && !hints.of(19).is_empty());
        for creditor in 20..30 {
            hints.accept(&[hint(1, creditor)], 1_000_000, Instant(u64::from(creditor)));
        }
        assert!(hints.of(19).is_empty() && hints.of(21).is_empty() && !hints.of(22).is_empty());
    }

    #[test]
    fn who_gave_nothing_shows_sixteen() {
        let shown: Vec<Hint> = (0..100).map(|debtor| hint(debtor, 200)).collect();
        let mut hints = Hints::new(1_000);
        hints.accept(&shown, 0, Instant(1));
        assert_eq!(hints.of(200).len(), 16);
        hints.accept(&shown, 4_000_000, Instant(1));
        assert_eq!(hints.of(200).len(), 20);
    }
}
