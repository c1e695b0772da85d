use crate::access_point::Address;
use guestright_ordered::OrderedMap;
use guestright_units::{Micros, TeamId, Time};

/// How many are remembered; beyond that the one that left first is forgotten.
const DEBTORS_MAX: usize = 4_096;
/// How long it is remembered.
const REMEMBERED: Micros = Micros::from_seconds(600);

/// Who left with unsigned bytes lately: it gets less in advance the next time.
///
/// Nobody is turned away for it. Hardware addresses can be forged, so whoever sends with somebody else's would turn that
/// one away, or its whole team. It is remembered for the pair of hardware address and team, whose next session begins
/// with a small window: what a forger does to others costs them a moment.
#[derive(Debug, Default)]
pub(super) struct Debtors {
    until: OrderedMap<([u8; 6], TeamId), Time>,
}

impl Debtors {
    /// Somebody left without signing for all.
    pub(super) fn charge(&mut self, address: Address, team: TeamId, now: Time) {
        self.until.insert((address.mac, team), now + REMEMBERED);
        self.until.retain(|_, until| now < *until);
        while self.until.len() > DEBTORS_MAX {
            let first = self.until.iter().min_by_key(|(_, until)| **until);
            let Some((&first, _)) = first else { return };
            self.until.remove(&first);
        }
    }

    /// Whether this visitor left unpaid lately.
    pub(super) fn owes(&self, address: Address, team: TeamId, now: Time) -> bool {
        self.until.get(&(address.mac, team)).is_some_and(|until| now < *until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(1_000_000_000);

    fn visitor(number: usize) -> Address {
        let [.., a, b] = number.to_be_bytes();
        Address::new([2, 0, 0, 0, a, b], [10, 0, a, b].into())
    }

    fn team(number: u8) -> TeamId {
        TeamId([number; 24])
    }

    #[test]
    fn the_pair_is_remembered_for_ten_minutes_and_neither_its_team_nor_its_computer() {
        let mut debtors = Debtors::default();
        debtors.charge(visitor(1), team(1), NOW);
        let owes = |who, of, now| debtors.owes(visitor(who), team(of), now);
        assert!(owes(1, 1, NOW) && owes(1, 1, NOW + Micros(REMEMBERED.0 - 1)));
        assert!(!owes(1, 1, NOW + REMEMBERED) && !owes(1, 2, NOW) && !owes(2, 1, NOW));
    }

    #[test]
    fn of_too_many_the_one_that_left_first_is_forgotten() {
        let mut debtors = Debtors::default();
        for number in 0..=DEBTORS_MAX {
            debtors.charge(visitor(number), team(1), NOW + Micros(number as u64));
        }
        let owes = |number| debtors.owes(visitor(number), team(1), NOW);
        assert!(!owes(0) && owes(1) && owes(DEBTORS_MAX));
    }
}
