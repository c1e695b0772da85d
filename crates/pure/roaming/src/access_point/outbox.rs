use crate::message::Reference;
use guestright_identity::Certificate;
use guestright_receipt::{Bundle, Receipt, SessionKey};
use guestright_units::{Bytes, Time};
use std::collections::BTreeMap;

/// How many receipts wait for the team server at most; beyond that the oldest sessions give way. They stay in the
/// access point's own store.
const WAITING_MAX: usize = 10_000;

/// Receipts on their way to the team server: of each session the latest.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: BTreeMap<SessionKey, (Receipt, Certificate)>,
    due: Option<Time>,
    sent: Option<Sent>,
}

/// The bundle that the team server has not acknowledged yet.
#[derive(Debug)]
struct Sent {
    reference: Reference,
    receipts: Vec<(SessionKey, Bytes)>,
}

impl Outbox {
    /// What the lists of a full bundle and the lengths of their items take at most.
    const ROOM: usize = 1_024;

    pub(super) fn push(&mut self, receipt: Receipt, certificate: Certificate, due: Time) {
        self.waiting.insert(receipt.session(), (receipt, certificate));
        if self.waiting.len() > WAITING_MAX {
            let oldest = self.waiting.keys().min_by_key(|session| session.started).copied();
            oldest.and_then(|session| self.waiting.remove(&session));
        }
        self.due.get_or_insert(due);
    }

    pub(super) fn hurry(&mut self, now: Time) {
        if !self.waiting.is_empty() && self.sent.is_none() {
            self.due = Some(now);
        }
    }

    pub(super) fn is_due(&self, now: Time) -> bool {
        self.due.is_some_and(|due| now >= due) && !self.waiting.is_empty()
    }

    /// The receipts to send now; if they are not acknowledged by `again`, they are sent again.
    pub(super) fn next_bundle(&mut self, reference: Reference, again: Time) -> Bundle {
        let mut bundle = Bundle::default();
        let mut sent = Vec::new();
        let mut left = Bundle::LEN_MAX - Self::ROOM;
        for (session, (receipt, certificate)) in self.waiting.iter().take(Bundle::RECEIPTS_MAX) {
            let certificate = certificate.as_bytes().to_vec();
            let len = receipt.as_bytes().len() + certificate.len();
            if len > left {
                break; // Only the long keys of the laboratory fill a bundle.
            }
            left -= len;
            if !bundle.certificates.contains(&certificate) {
                bundle.certificates.push(certificate);
            }
            bundle.receipts.push(receipt.as_bytes().to_vec());
            sent.push((*session, receipt.weight()));
        }
        self.sent = Some(Sent { reference, receipts: sent });
        self.due = Some(again);
        bundle
    }

    /// What the team server has taken in.
    pub(super) fn delivered(&mut self, reference: Reference, now: Time) -> Vec<(SessionKey, Bytes)> {
        let Some(Sent { receipts: sent, .. }) = self.sent.take_if(|sent| sent.reference == reference) else {
            return Vec::new();
        };
        for (session, weight) in &sent {
            if self.waiting.get(session).is_some_and(|(receipt, _)| receipt.weight() == *weight) {
                self.waiting.remove(session);
            }
        }
        self.due = (!self.waiting.is_empty()).then_some(now);
        sent
    }

    /// The connection is gone: what was sent is sent again.
    pub(super) fn lost(&mut self, due: Time) {
        self.sent = None;
        self.due = (!self.waiting.is_empty()).then_some(due);
    }

    pub(super) fn timeout(&self) -> Option<Time> {
        self.due
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}
