//! What a session may still take: bytes of the allowance, and holds, one after the other.

use crate::message::Volume;
use guestright_receipt::{HoldId, HoldUse};
use guestright_units::Bytes;
use std::collections::VecDeque;

/// No more holds wait for a session.
const WAITING_MAX: usize = 32;

/// How a session's bytes are paid: each belongs to the allowance or to one hold.
///
/// Positions are bytes since the session began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Budget {
    /// Where the use that goes on now has begun.
    begun: Bytes,
    current: Use,
    holds: VecDeque<HoldUse>,
    /// Of the allowance, for when there is no hold.
    allowance: Bytes,
    /// The hold that was used up last, and how much went on all that were.
    last: Option<HoldUse>,
    used_up: Bytes,
}

/// What a receipt says of holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OnHolds {
    /// The hold that it names: the one that is used, or else was last.
    pub(super) hold: Option<HoldUse>,
    /// How much of its weight is on all holds together.
    pub(super) sum: Bytes,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Use {
    /// Nothing is left: what still comes is the allowance's loss.
    #[default]
    Nothing,
    Allowance(Bytes),
    Hold(HoldUse),
}

impl Use {
    fn amount(self) -> Bytes {
        match self {
            Self::Nothing => Bytes(0),
            Self::Allowance(bytes) => bytes,
            Self::Hold(hold) => hold.weight,
        }
    }
}

impl Budget {
    /// More may be carried, and so many bytes were so far. Holds are used before the allowance.
    pub(super) fn add(&mut self, volume: Volume, counted: Bytes) {
        self.allowance = self.allowance.saturating_add(volume.allowance);
        for hold in volume.holds {
            let is_known = self.holds.iter().any(|known| known.id == hold.id) || self.is_current(hold.id);
            if !is_known && self.holds.len() < WAITING_MAX {
                self.holds.push_back(hold);
            }
        }
        match self.current {
            Use::Hold(_) => {}
            Use::Allowance(_) | Use::Nothing => {
                self.allowance = self.allowance.saturating_add(self.left_of_current(counted));
                self.begin(counted);
            }
        }
    }

    /// Whether a hold is used.
    pub(super) fn is_on_hold(&self) -> bool {
        matches!(self.current, Use::Hold(_))
    }

    /// Everything up to here was signed for. Whether something else is used from here on.
    pub(super) fn signed(&mut self, signed: Bytes) -> bool {
        let end = self.current_end();
        let is_over = self.current != Use::Nothing && signed >= end;
        if is_over {
            self.begin(end);
        }
        is_over
    }

    /// What a receipt is to be over, where so many bytes were counted.
    pub(super) fn claim(&self, counted: Bytes) -> (Bytes, Option<HoldUse>) {
        let weight = if self.current == Use::Nothing { counted } else { counted.min(self.current_end()) };
        (weight, self.on_holds(weight).hold)
    }

    /// Whether a receipt over so many bytes may say this of holds. One over the bytes before the hold that is used may name
    /// that hold, with nothing on it, or the one before.
    pub(super) fn may_say(&self, weight: Bytes, on_holds: OnHolds) -> bool {
        let before = OnHolds { hold: self.last, sum: self.used_up };
        let wanted = self.on_holds(weight);
        on_holds == wanted || wanted.sum == before.sum && on_holds == before
    }

    /// What a receipt over so many bytes is to say of holds.
    fn on_holds(&self, weight: Bytes) -> OnHolds {
        let Use::Hold(HoldUse { id, weight: amount }) = self.current else {
            return OnHolds { hold: self.last, sum: self.used_up };
        };
        let on_it = weight.saturating_sub(self.begun).min(amount);
        let hold = Some(HoldUse { id, weight: on_it });
        OnHolds { hold, sum: self.used_up.saturating_add(on_it) }
    }

    /// Up to where bytes may be carried.
    pub(super) fn end(&self) -> Bytes {
        let holds = self.holds.iter().fold(Bytes(0), |sum, hold| sum.saturating_add(hold.weight));
        self.current_end().saturating_add(holds).saturating_add(self.allowance)
    }

    fn is_current(&self, id: HoldId) -> bool {
        matches!(self.current, Use::Hold(hold) if hold.id == id)
    }

    fn current_end(&self) -> Bytes {
        self.begun.saturating_add(self.current.amount())
    }

    fn left_of_current(&self, counted: Bytes) -> Bytes {
        self.current_end().saturating_sub(counted.max(self.begun))
    }

    /// Something else is used from here on: a hold is used to its end.
    fn begin(&mut self, at: Bytes) {
        self.begun = at.max(self.begun);
        if let Use::Hold(hold) = self.current {
            (self.last, self.used_up) = (Some(hold), self.used_up.saturating_add(hold.weight));
        }
        let allowance = std::mem::take(&mut self.allowance);
        self.current = match self.holds.pop_front() {
            Some(hold) => {
                self.allowance = allowance;
                Use::Hold(hold)
            }
            None if allowance > Bytes(0) => Use::Allowance(allowance),
            None => Use::Nothing,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hold(id: u8, bytes: u64) -> HoldUse {
        HoldUse { id: HoldId([id; 24]), weight: Bytes(bytes) }
    }

    fn volume(allowance: u64, holds: &[HoldUse]) -> Volume {
        Volume { allowance: Bytes(allowance), holds: holds.to_vec(), ..Volume::default() }
    }

    #[test]
    fn holds_are_used_first_and_the_rest_of_the_allowance_after_them() {
        let mut budget = Budget::default();
        budget.add(volume(100, &[]), Bytes(0));
        assert_eq!((budget.end(), budget.claim(Bytes(30))), (Bytes(100), (Bytes(30), None)));
        budget.add(volume(0, &[hold(1, 50), hold(2, 10)]), Bytes(40));
        assert_eq!(budget.end(), Bytes(160));
        assert_eq!(budget.claim(Bytes(70)), (Bytes(70), Some(hold(1, 30))));
        assert_eq!(budget.claim(Bytes(99)), (Bytes(90), Some(hold(1, 50))), "one hold a receipt");
        assert!(!budget.signed(Bytes(89)) && budget.signed(Bytes(90)));
        assert_eq!(budget.claim(Bytes(99)), (Bytes(99), Some(hold(2, 9))));
        assert!(budget.signed(Bytes(100)));
        let last = Some(hold(2, 10));
        assert_eq!((budget.claim(Bytes(120)), budget.end()), ((Bytes(120), last), Bytes(160)));
        let says = |hold, sum| OnHolds { hold, sum: Bytes(sum) };
        assert!(
            budget.may_say(Bytes(110), says(last, 60)),
            "the last hold stays named, and the sum is of both"
        );
        for wrong in [says(last, 10), says(last, 61), says(None, 0), says(Some(hold(1, 50)), 60)] {
            assert!(!budget.may_say(Bytes(110), wrong), "{wrong:?}");
        }
        assert!(budget.signed(Bytes(160)));
        assert_eq!(
            budget.claim(Bytes(170)),
            (Bytes(170), last),
            "what comes beyond the end is signed for as well"
        );
        budget.add(volume(0, &[hold(3, 5)]), Bytes(170));
        assert_eq!((budget.claim(Bytes(171)), budget.end()), ((Bytes(171), Some(hold(3, 1))), Bytes(175)));
        budget.add(volume(0, &[hold(3, 5)]), Bytes(171));
        assert_eq!(budget.end(), Bytes(175), "said twice");
    }

    #[test]
    fn a_receipt_over_what_was_before_the_hold_may_name_it_or_none() {
        let mut budget = Budget::default();
        budget.add(volume(100, &[]), Bytes(0));
        budget.add(volume(0, &[hold(1, 50)]), Bytes(40));
        let (none, named) = (OnHolds::default(), OnHolds { hold: Some(hold(1, 0)), sum: Bytes(0) });
        for weight in [30, 40].map(Bytes) {
            assert!(budget.may_say(weight, none) && budget.may_say(weight, named), "{weight}");
        }
        let on_it = OnHolds { hold: Some(hold(1, 2)), sum: Bytes(2) };
        assert!(budget.may_say(Bytes(42), on_it) && !budget.may_say(Bytes(42), none));
        assert!(!budget.may_say(Bytes(42), named) && !budget.may_say(Bytes(40), on_it));
    }

    proptest! {
        /// Nothing is carried beyond what was granted, and no hold is charged more than it has.
        #[test]
        fn what_is_granted_is_what_can_be_claimed(steps in prop::collection::vec((0_u8..4, 0_u64..100), 1..60)) {
            let (mut budget, mut counted, mut signed, mut granted) = (Budget::default(), 0_u64, 0_u64, 0_u64);
            let mut used = guestright_ordered::OrderedMap::<HoldId, (u64, u64)>::new();
            let mut next = 0_u8;
            for (what, bytes) in steps {
                match what {
                    0 => {
                        budget.add(volume(bytes, &[]), Bytes(counted));
                        granted += bytes;
                    }
                    1 => {
                        next += 1;
                        used.insert(HoldId([next; 24]), (0, bytes));
                        budget.add(volume(0, &[hold(next, bytes)]), Bytes(counted));
                        granted += bytes;
                    }
                    2 => counted = budget.end().0.min(counted + bytes),
                    _ => {
                        let (weight, hold) = budget.claim(Bytes(counted));
                        prop_assert!(weight.0 <= counted && weight.0 >= signed);
                        let mut sum = used.iter().map(|(_, (now, _))| now).sum::<u64>();
                        if let Some(hold) = hold {
                            let (now, most) = used[&hold.id];
                            prop_assert!(hold.weight.0 >= now && hold.weight.0 <= most);
                            used.insert(hold.id, (hold.weight.0, most));
                            sum += hold.weight.0 - now;
                        }
                        let says = OnHolds { hold, sum: Bytes(sum) };
                        prop_assert!(budget.may_say(weight, says));
                        signed = weight.0;
                        while budget.signed(Bytes(signed)) {}
                    }
                }
                prop_assert_eq!(budget.end().0, granted);
                let on_holds: u64 = used.values().map(|(now, _)| now).sum();
                prop_assert!(on_holds <= signed);
            }
        }
    }
}
