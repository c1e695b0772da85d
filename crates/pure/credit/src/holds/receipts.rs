//! Receipts of our own people and access points: what they change, and which holds they pay.

use super::{HoldState, Holds, paid};
use crate::message::{Proof, Signed};
use guestright_receipt::{HoldId, SessionKey};
use guestright_units::{Bytes, Micros, Time};
use std::collections::{BTreeMap, BTreeSet};

/// After the end of a grant its access point may still have receipts to deliver.
const DELIVERY: Micros = Micros::from_seconds(180);

/// The holds that we asked for and did not settle yet, and the receipts that would pay them.
#[derive(Clone, Debug, Default)]
pub(super) struct Payments {
    by_session: BTreeMap<SessionKey, BTreeSet<HoldId>>,
    latest: BTreeMap<HoldId, (Proof, Signed)>,
    due: BTreeSet<(Time, HoldId)>,
    due_at: BTreeMap<HoldId, Time>,
}

impl Payments {
    pub(super) fn expect(&mut self, session: SessionKey, id: HoldId) {
        self.by_session.entry(session).or_default().insert(id);
    }

    /// The holds of a session of which a receipt came.
    fn of(&self, session: SessionKey) -> Vec<HoldId> {
        let ids = self.by_session.get(&session).into_iter().flatten().copied();
        ids.filter(|id| self.latest.contains_key(id)).collect()
    }

    fn note(&mut self, id: HoldId, proof: Proof, signed: Signed, due: Time) {
        self.latest.insert(id, (proof, signed));
        if let Some(before) = self.due_at.insert(id, due) {
            self.due.remove(&(before, id));
        }
        self.due.insert((due, id));
    }

    pub(super) fn timeout(&self) -> Option<Time> {
        self.due.first().map(|(time, _)| *time)
    }

    fn due_by(&self, now: Time) -> Option<HoldId> {
        self.due.first().filter(|(time, _)| *time <= now).map(|(_, id)| *id)
    }

    /// The hold is settled or over.
    pub(super) fn done(&mut self, session: SessionKey, id: HoldId) {
        if let Some(ids) = self.by_session.get_mut(&session) {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_session.remove(&session);
            }
        }
        self.latest.remove(&id);
        if let Some(due) = self.due_at.remove(&id) {
            self.due.remove(&(due, id));
        }
    }
}

impl Holds {
    /// Takes in a receipt that our access points or members have: once its signature was checked, and it is durable.
    /// Says how much of it we served on the allowance beyond what we owed.
    ///
    /// The same receipt may come any number of times, and after a new start all that were kept have to come again.
    pub fn handle_receipt(&mut self, signed: Signed, proof: Proof, now: Time) -> Bytes {
        self.now = self.now.max(now);
        let session = signed.session;
        let (is_provider, is_consumer) = (session.provider == self.team, signed.consumer == self.team);
        if is_provider == is_consumer {
            return Bytes(0); // Others' business, or our own.
        }
        let raise = self.sessions.raise(&signed);
        let mut given_away = Bytes(0);
        if let Some(raise) = raise {
            if is_consumer {
                self.accounts.signed(session.provider, raise.given, raise.direct);
            } else {
                given_away = self.accounts.served(signed.consumer, raise.direct);
            }
        }
        if is_provider {
            self.pay(signed, proof);
        }
        self.flush();
        given_away
    }

    /// No more receipts will come of the session: its holds are settled.
    pub fn finish(&mut self, session: SessionKey, now: Time) {
        self.now = self.now.max(now);
        for id in self.payments.by_session.get(&session).cloned().unwrap_or_default() {
            self.settle_by_latest(id);
        }
        self.flush();
    }

    /// Remembers a receipt that would pay a hold, and settles those that will not be used any more.
    ///
    /// A hold of which no receipt came yet waits for one even when the session uses another: receipts may overtake each
    /// other.
    fn pay(&mut self, signed: Signed, proof: Proof) {
        let session = signed.session;
        let current = self.sessions.current_hold(&signed);
        self.remember(signed, proof);
        for id in self.payments.of(session) {
            if Some(id) != current || self.is_used_up(id) {
                self.settle_by_latest(id);
            }
        }
    }

    fn remember(&mut self, signed: Signed, proof: Proof) {
        let Some(id) = signed.hold.map(|hold| hold.id) else { return };
        let Some((hold, at)) = self.table.held(id) else { return };
        if at.previous.is_some() || hold.session != signed.session {
            return;
        }
        let Some(used) = paid(&hold.terms, id, &signed) else { return };
        let known = self.payments.latest.get(&id).and_then(|(_, known)| known.hold);
        if known.is_none_or(|known| known.weight < used) {
            // After a new start too, access points have some time to deliver what is larger.
            let due = hold.terms.end.time().max(self.now) + DELIVERY;
            self.payments.note(id, proof, signed, due);
        }
    }

    fn is_used_up(&self, id: HoldId) -> bool {
        let payment = self.payments.latest.get(&id).zip(self.table.held(id));
        payment
            .is_some_and(|((_, signed), (hold, _))| paid(&hold.terms, id, signed) == Some(hold.terms.amount))
    }

    fn settle_by_latest(&mut self, id: HoldId) {
        let payment = self.payments.latest.get(&id).cloned();
        let Some((hold, _)) = self.table.held(id).filter(|(_, at)| at.previous.is_none()) else { return };
        // What was served on a hold that was never good is the allowance's.
        let payment = payment.filter(|_| hold.state == HoldState::Good);
        let used = payment.as_ref().and_then(|(_, signed)| paid(&hold.terms, id, signed)).unwrap_or_default();
        self.settle(id, used, payment.map(|(proof, _)| proof).filter(|_| used > Bytes(0)));
    }

    /// Settles holds whose grants have ended.
    pub(super) fn settle_due(&mut self) {
        while let Some(id) = self.payments.due_by(self.now) {
            self.settle_by_latest(id);
        }
    }
}
