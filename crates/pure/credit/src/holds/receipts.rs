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
}

impl Payments {
    pub(super) fn expect(&mut self, session: SessionKey, id: HoldId) {
        self.by_session.entry(session).or_default().insert(id);
    }

    fn note(&mut self, id: HoldId, proof: Proof, signed: Signed, due: Time) {
        self.latest.insert(id, (proof, signed));
        self.due.insert((due, id));
    }

    pub(super) fn timeout(&self) -> Option<Time> {
        self.due.first().map(|(time, _)| *time)
    }

    fn due_by(&mut self, now: Time) -> Option<HoldId> {
        let first = self.due.first().filter(|(time, _)| *time <= now).copied()?;
        self.due.remove(&first);
        Some(first.1)
    }

    /// The hold is settled or over.
    fn done(&mut self, session: SessionKey, id: HoldId) -> Option<(Proof, Signed)> {
        if let Some(ids) = self.by_session.get_mut(&session) {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_session.remove(&session);
            }
        }
        self.latest.remove(&id)
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
        let hold_before = self.sessions.last_hold(&session).map(|hold| hold.id);
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
            // An older receipt that comes again says nothing of what came after it.
            self.pay(signed, proof, hold_before.filter(|_| raise.is_some()));
        }
        self.flush();
        given_away
    }

    /// No more receipts will come of the session: its holds are settled.
    pub fn finish(&mut self, session: SessionKey, now: Time) {
        self.now = self.now.max(now);
        for id in self.payments.by_session.get(&session).cloned().unwrap_or_default() {
            self.settle_by_latest(session, id);
        }
        self.flush();
    }

    /// Remembers a receipt that would pay a hold, and settles those that will not be used any more.
    fn pay(&mut self, signed: Signed, proof: Proof, hold_before: Option<HoldId>) {
        let session = signed.session;
        let named = signed.hold.map(|hold| hold.id);
        if let Some(before) = hold_before.filter(|before| Some(*before) != named) {
            self.settle_by_latest(session, before);
        }
        let Some(id) = named else { return };
        let Some((hold, at)) = self.table.held(id) else { return };
        let Some(used) = paid(&hold.terms, id, &signed).filter(|_| at.previous.is_none()) else { return };
        let known = self.payments.latest.get(&id).and_then(|(_, known)| known.hold);
        if known.is_some_and(|known| known.weight > used) {
            return;
        }
        let (is_used_up, due) = (used == hold.terms.amount, hold.terms.end.time() + DELIVERY);
        self.payments.expect(session, id);
        self.payments.note(id, proof, signed, due);
        if is_used_up {
            self.settle_by_latest(session, id);
        }
    }

    fn settle_by_latest(&mut self, session: SessionKey, id: HoldId) {
        let payment = self.payments.done(session, id);
        let Some((hold, _)) = self.table.held(id).filter(|(_, at)| at.previous.is_none()) else { return };
        // What was served on a hold that was never good is the allowance's.
        let payment = payment.filter(|_| hold.state == HoldState::Good);
        let used = payment.as_ref().and_then(|(_, signed)| paid(&hold.terms, id, signed)).unwrap_or_default();
        self.settle(id, used, payment.map(|(proof, _)| proof).filter(|_| used > Bytes(0)));
    }

    /// Settles holds whose grants have ended.
    pub(super) fn settle_due(&mut self) {
        while let Some(id) = self.payments.due_by(self.now) {
            if let Some(session) = self.payments.latest.get(&id).map(|(_, signed)| signed.session) {
                self.settle_by_latest(session, id);
            }
        }
    }
}
