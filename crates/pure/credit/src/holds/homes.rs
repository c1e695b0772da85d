//! What other homes say.

use super::record::{Hold, HoldState, forgotten};
use super::{HoldError, Holds, mutated, paid};
use crate::message::{Message, Proof, Signed};
use crate::terms::{Position, Terms};
use guestright_receipt::HoldId;
use guestright_units::{Bytes, TeamId};

impl Holds {
    pub(super) fn handle_hold(&mut self, from: TeamId, terms: Terms, proof: Proof, signed: Option<Signed>) {
        let id = terms.id();
        let at = terms.position(self.team);
        let Some(at) = at.filter(|at| at.previous == Some(from) && at.next.is_some()) else {
            return self.refuse(from, id, &HoldError::NotOnPath);
        };
        // It was sent again. Who asks anew gets another name, so there is no other reason to answer than a lost answer.
        if let Some((hold, _)) = self.table.get(id) {
            if hold.state == HoldState::Good {
                self.durable.send(from, Message::Good { id });
            }
            return;
        }
        let taken = match signed {
            Some(signed) => self.take(terms, at, proof, signed),
            None => Err(HoldError::Consent),
        };
        if let Err(error) = taken {
            self.refuse(from, id, &error);
        }
    }

    pub(super) fn handle_good(&mut self, from: TeamId, id: HoldId) {
        let Some((hold, at)) = self.table.held(id).filter(|(_, at)| at.next == Some(from)) else {
            return;
        };
        // The last home before the consumer has nobody to ask, so nobody to hear it from.
        if hold.state != HoldState::Good && hold.terms.consumer != from {
            let amount = hold.terms.amount;
            self.table.good(id);
            self.pass_good(id, at.previous, amount);
        }
    }

    /// Only while nobody was told that it is good: afterwards somebody may be serving on it.
    pub(super) fn handle_refused(&mut self, from: TeamId, id: HoldId, available: Bytes) {
        let Some((hold, at)) = self.table.held(id).filter(|(_, at)| at.next == Some(from)) else {
            return;
        };
        if hold.state != HoldState::Asked && !mutated!(self, RefusesAfterGood) {
            return;
        }
        let (amount, between) = (hold.terms.amount, hold.terms.between.clone());
        self.payments.done(hold.session, id);
        self.accounts.release(from, amount);
        self.table.remove(id);
        let available = available.min(amount);
        match at.previous {
            Some(previous) => self.durable.send(previous, Message::Refused { id, available }),
            None => self.durable.report(super::Event::Refused { id, between, available }),
        }
    }

    pub(super) fn handle_commit(
        &mut self,
        from: TeamId,
        terms: Terms,
        proof: Option<Proof>,
        signed: Option<Signed>,
    ) {
        let id = terms.id();
        let Some(at) = terms.position(self.team).filter(|at| at.previous == Some(from)) else {
            return self.count(&HoldError::NotOnPath);
        };
        let used = match (&proof, signed) {
            (None, _) => Bytes(0),
            (Some(_), Some(signed)) if paid(&terms, id, &signed).is_some() => {
                paid(&terms, id, &signed).unwrap_or_default()
            }
            (Some(_), _) if mutated!(self, CommitWithoutReceipt) => terms.amount,
            (Some(_), _) => return self.count(&HoldError::Payment),
        };
        let known = self.table.get(id).map(|(hold, _)| hold);
        // Another session's receipt may be older than what is remembered.
        if known.is_some_and(|hold| signed.is_some_and(|signed| signed.session != hold.session)) {
            return self.count(&HoldError::Payment);
        }
        let known = known.map(|hold| hold.state.clone());
        match known {
            Some(HoldState::Good) => self.settle(id, used, proof),
            Some(HoldState::Asked) if mutated!(self, PaysBeforeGood) => self.settle(id, used, proof),
            Some(HoldState::Asked | HoldState::Ended) => {
                let is_paid =
                    used.0 == 0 || known == Some(HoldState::Ended) && self.pays_late(&terms, at, used);
                // If it cannot be paid now, perhaps it can when it is sent again.
                if is_paid { self.settle(id, used, proof) } else { self.count(&HoldError::NotOpen) }
            }
            Some(HoldState::Settled { .. }) if mutated!(self, PaysTwice) => self.settle(id, used, proof),
            None if at.next.is_none() => self.take_claim(from, at, terms, used, signed),
            // Settled before, or never reserved here, or forgotten: it has no effect, and need not come again.
            Some(HoldState::Settled { .. }) | None => self.durable.send(from, Message::Done { id }),
        }
    }

    /// After the end, what is owed to the guest's own home is paid if it is still there. Another home would not have to
    /// follow, and before it said that it reserved its part neither would it: then we would owe the home before us what
    /// nobody paid.
    fn pays_late(&self, terms: &Terms, at: Position, used: Bytes) -> bool {
        at.next.is_some_and(|next| {
            (next == terms.consumer || mutated!(self, PaysLateAnywhere))
                && self.accounts.spendable(next) >= used
        })
    }

    /// A guest of ours used what `from` owed us.
    fn take_claim(&mut self, from: TeamId, at: Position, terms: Terms, used: Bytes, signed: Option<Signed>) {
        let id = terms.id();
        let looks = self.now < forgotten(&terms) && at.next.is_none();
        let looks = |signed: &Signed| looks && used.0 > 0 && !self.sessions.is_forgotten(&signed.session);
        if let Some(signed) = signed.filter(looks) {
            if self.table.len() >= self.config.holds_max {
                return self.count(&HoldError::Busy);
            }
            self.accounts.credit(from, used);
            let state = HoldState::Settled { used, owed: None };
            self.table.insert(id, Hold { terms, session: signed.session, state }, self.now);
        }
        self.durable.send(from, Message::Done { id });
    }

    fn refuse(&mut self, to: TeamId, id: HoldId, error: &HoldError) {
        self.count(error);
        let available = if let HoldError::Insufficient { available } = error { *available } else { Bytes(0) };
        self.durable.send(to, Message::Refused { id, available });
    }

    fn count(&mut self, error: &HoldError) {
        *self.refusals.entry(error.kind()).or_default() += 1;
    }
}
