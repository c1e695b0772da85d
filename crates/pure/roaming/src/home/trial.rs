//! An access point asks for bytes that nobody will sign for.

use super::{Peer, TeamServer};
use crate::message::{Message, Reference};
use guestright_units::{Bytes, Time};
use rand::CryptoRng;

/// What an access point says of a trial.
pub(super) struct TrialQuestion {
    pub(super) peer: Peer,
    pub(super) reference: Reference,
    /// How much it asks for; nothing: the trial is over.
    pub(super) request: Bytes,
    pub(super) unused: Bytes,
}

impl TeamServer {
    pub(super) fn handle_trial(&mut self, question: &TrialQuestion, rng: &mut impl CryptoRng, now: Time) {
        let TrialQuestion { peer, reference, request, unused } = *question;
        let Some(asker) = self.peers.get(&peer).map(|it| (it.subject_id(), reference)) else { return };
        let given = match &mut self.credit {
            Some(credit) if request == Bytes(0) => {
                credit.end_trial(asker, unused);
                return;
            }
            Some(credit) => credit.begin_trial(asker, request, now),
            None => Err("this household's home gives nothing away".to_owned()),
        };
        let (granted, reason) = match given {
            Ok(given) => (given, format!("{given} of what this household gives away")),
            Err(reason) => (Bytes(0), reason),
        };
        self.drain_credit(rng, now);
        self.send_when_kept(peer, Message::Tryr { reference, granted, reason });
    }
}

#[cfg(test)]
mod tests;
