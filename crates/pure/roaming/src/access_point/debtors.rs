use crate::access_point::Address;
use guestright_units::{Bytes, Micros, TeamId, Time};
use std::collections::BTreeMap;

/// How many debtors are remembered; beyond that the one who would be served soonest is forgotten.
const DEBTORS_MAX: usize = 4_096;
/// Nobody waits longer.
const WAIT_MAX: Micros = Micros::from_seconds(600);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Debtor {
    Hardware([u8; 6]),
    Team(TeamId),
}

/// Who left with unsigned bytes, and until when it is not served again.
///
/// Without it a visitor that never signs would be served for one period after another. Names and hardware addresses
/// are free, so this makes it dearer to go on like that, not impossible.
#[derive(Debug, Default)]
pub(super) struct Debtors {
    until: BTreeMap<Debtor, Time>,
}

impl Debtors {
    /// Somebody left `unpaid`; it waits until so much would have been forgiven at `rate` bytes a second.
    pub(super) fn charge(&mut self, address: Address, team: TeamId, unpaid: Bytes, rate: Bytes, now: Time) {
        let wait = Micros(unpaid.0.saturating_mul(1_000_000) / rate.0.max(1));
        for debtor in [Debtor::Hardware(address.mac), Debtor::Team(team)] {
            let from = self.until.get(&debtor).map_or(now, |until| now.max(*until));
            self.until.insert(debtor, (from + wait).min(now + WAIT_MAX));
        }
        self.until.retain(|_, until| now < *until);
        while self.until.len() > DEBTORS_MAX {
            let soonest = self.until.iter().min_by_key(|(_, until)| **until);
            let Some((&soonest, _)) = soonest else { return };
            self.until.remove(&soonest);
        }
    }

    /// How long this visitor has to wait, if at all.
    pub(super) fn check(&self, address: Address, team: TeamId, now: Time) -> Option<Micros> {
        let debtors = [Debtor::Hardware(address.mac), Debtor::Team(team)];
        let until = debtors.iter().filter_map(|debtor| self.until.get(debtor)).max()?;
        (now < *until).then(|| *until - now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(1_000_000_000);
    const RATE: Bytes = Bytes(16_000);

    fn visitor(number: usize) -> Address {
        let [.., a, b] = number.to_be_bytes();
        Address::new([2, 0, 0, 0, a, b], [10, 0, a, b].into())
    }

    fn team(number: u8) -> TeamId {
        TeamId([number; 24])
    }

    #[test]
    fn a_debtor_and_its_team_wait_until_the_debt_is_forgiven() {
        let mut debtors = Debtors::default();
        debtors.charge(visitor(1), team(1), Bytes(32_000), RATE, NOW);
        let second = Micros::from_seconds(1);
        for (who, of) in [(1, 1), (1, 2), (2, 1)] {
            let wait = |now| debtors.check(visitor(who), team(of), now);
            assert_eq!(wait(NOW), Some(Micros::from_seconds(2)));
            assert_eq!(wait(NOW + second), Some(second));
            assert_eq!(wait(NOW + second + second), None);
        }
        assert_eq!(debtors.check(visitor(2), team(2), NOW), None);
    }

    #[test]
    fn debts_add_up_to_ten_minutes_at_most() {
        let mut debtors = Debtors::default();
        for (unpaid, seconds) in [(32_000, 2), (48_000, 5), (u64::MAX, 600), (16_000, 600)] {
            debtors.charge(visitor(1), team(1), Bytes(unpaid), RATE, NOW);
            assert_eq!(debtors.check(visitor(1), team(1), NOW), Some(Micros::from_seconds(seconds)));
        }
        // What was forgiven long ago adds nothing.
        let later = NOW + Micros::from_seconds(700);
        debtors.charge(visitor(1), team(1), Bytes(16_000), RATE, later);
        assert_eq!(debtors.check(visitor(1), team(1), later), Some(Micros::from_seconds(1)));
    }

    #[test]
    fn of_too_many_debtors_the_one_who_waits_least_is_forgotten() {
        let mut debtors = Debtors::default();
        debtors.charge(visitor(0), team(1), RATE, RATE, NOW);
        for number in 1..DEBTORS_MAX - 1 {
            debtors.charge(visitor(number), team(1), Bytes(160_000), RATE, NOW);
        }
        let waits = |debtors: &Debtors, number| debtors.check(visitor(number), team(2), NOW).is_some();
        assert!(waits(&debtors, 0), "with the team there is room for all so far");
        debtors.charge(visitor(DEBTORS_MAX), team(1), Bytes(160_000), RATE, NOW);
        assert!(!waits(&debtors, 0) && waits(&debtors, 1) && waits(&debtors, DEBTORS_MAX));
    }
}
