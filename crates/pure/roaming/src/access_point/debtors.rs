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
