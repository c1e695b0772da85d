use crate::access_point::{Address, Path};
use crate::message::{Nonce, Reference};
use guestright_identity::Certificate;
use guestright_units::{Micros, Time};
use std::collections::BTreeMap;

/// A question to the team server that was not answered yet.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) address: Address,
    pub(super) path: Path,
    pub(super) certificate: Certificate,
    /// Nothing: the access point asks by itself, in an open session.
    pub(super) nonce: Option<Nonce>,
    /// Then it is decided without the team server.
    pub(super) until: Time,
}

/// Questions to the team server that are under way, and who was asked about a moment ago.
#[derive(Debug, Default)]
pub(super) struct Questions {
    under_way: BTreeMap<Reference, Question>,
    asked_at: BTreeMap<Address, Time>,
}

impl Questions {
    /// Notes a question that is asked `now`. It replaces one about the same visitor; of more than `max`, the oldest gives
    /// way. For `gap` the same visitor's next question is too soon.
    pub(super) fn add(
        &mut self,
        reference: Reference,
        question: Question,
        max: usize,
        gap: Micros,
        now: Time,
    ) {
        let address = question.address;
        self.under_way.retain(|_, other| other.address != address);
        while self.under_way.len() >= max.max(1) {
            self.under_way.pop_first(); // References rise, so the first is the oldest.
        }
        self.asked_at.retain(|_, asked| now - *asked < gap);
        while self.asked_at.len() >= max.max(1) {
            self.asked_at.pop_first();
        }
        self.asked_at.insert(address, now);
        self.under_way.insert(reference, question);
    }

    pub(super) fn get(&self, reference: Reference) -> Option<&Question> {
        self.under_way.get(&reference)
    }

    pub(super) fn remove(&mut self, reference: Reference) -> Option<Question> {
        self.under_way.remove(&reference)
    }

    /// Whether this very CONN is being decided.
    pub(super) fn is_under_way(&self, address: Address, nonce: Nonce) -> bool {
        self.under_way.values().any(|question| question.address == address && question.nonce == Some(nonce))
    }

    /// Whether this visitor's case was put to the team server less than `gap` ago.
    pub(super) fn is_too_soon(&self, address: Address, gap: Micros, now: Time) -> bool {
        self.asked_at.get(&address).is_some_and(|&asked| now - asked < gap)
    }

    /// The ways on which their visitors wait for an answer.
    pub(super) fn paths(&self) -> impl Iterator<Item = Path> {
        self.under_way.values().map(|question| question.path)
    }

    /// Nobody is going to answer: all of them are overdue.
    pub(super) fn expire(&mut self, now: Time) {
        for question in self.under_way.values_mut() {
            question.until = now;
        }
    }

    pub(super) fn overdue(&self, now: Time) -> Vec<Reference> {
        let overdue = self.under_way.iter().filter(|(_, question)| now >= question.until);
        overdue.map(|(&reference, _)| reference).collect()
    }

    pub(super) fn timeout(&self) -> Option<Time> {
        self.under_way.values().map(|question| question.until).min()
    }
}
