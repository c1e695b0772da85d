//! What is set aside for stations that nobody signs for (design note 0014).
//!
//! It comes out of the upper half of what the household gives away in a day: visitors that sign find the other half,
//! whatever strangers have had. What an access point says that it has not carried goes back, and no more of it than it got.

use super::Credit;
use crate::home::Peer;
use crate::message::Reference;
use guestright_identity::KeyId;
use guestright_ordered::OrderedMap;
use guestright_units::{Bytes, Time};

/// How many may be under way. What the oldest has left counts as carried.
const TRIALS_MAX: usize = 256;
/// A trial of less is none.
const TRIAL_MIN: Bytes = Bytes(1_000_000);

/// What an access point says of a trial.
#[derive(Clone, Copy, Debug)]
pub(in crate::home) struct TrialQuestion {
    pub(in crate::home) peer: Peer,
    pub(in crate::home) reference: Reference,
    /// How much it asks for; nothing: the trial is over.
    pub(in crate::home) request: Bytes,
    pub(in crate::home) unused: Bytes,
}

#[derive(Debug, Default)]
pub(super) struct Trials {
    /// By access point and its number of the trial, which rises.
    given: OrderedMap<(KeyId, Reference), Bytes>,
}

impl Credit {
    /// An access point asks for so much, or says that a trial is over, which has no answer: what it gets, and why.
    pub(in crate::home) fn handle_trial(
        this: Option<&mut Self>,
        asker: KeyId,
        TrialQuestion { reference, request, unused, .. }: TrialQuestion,
        now: Time,
    ) -> Option<(Bytes, String)> {
        let asker = (asker, reference);
        let given = match this {
            Some(credit) if request == Bytes(0) => {
                credit.end_trial(asker, unused);
                return None;
            }
            Some(credit) => credit.begin_trial(asker, request, now),
            None => Err("this household's home gives nothing away".to_owned()),
        };
        Some(match given {
            Ok(given) => (given, format!("{given} of what this household gives away")),
            Err(reason) => (Bytes(0), reason),
        })
    }

    /// Sets up to `want` aside, or nothing and why. It has to be durable before the access point hears of it.
    fn begin_trial(
        &mut self,
        asker: (KeyId, Reference),
        mut want: Bytes,
        now: Time,
    ) -> Result<Bytes, String> {
        if self.trials.given.contains_key(&asker) {
            return Err("this trial was asked for before".to_owned());
        }
        let is_counted = !self.serves_everybody(now);
        if is_counted {
            let kept = Bytes(self.config.allowance.per_day.0 / 2);
            want = want.min(self.allowance.left(now).saturating_sub(kept));
            if want < TRIAL_MIN {
                return Err(format!(
                    "{kept} of what this household gives away in a day are for guests that sign, and the rest is given away"
                ));
            }
        }
        let given = self.slice_for_all(want, now).bytes;
        while self.trials.given.len() >= TRIALS_MAX {
            self.trials.given.pop_first();
        }
        // What was not taken from the allowance does not go back to it.
        self.trials.given.insert(asker, if is_counted { given } else { Bytes(0) });
        self.drain(now);
        Ok(given)
    }

    /// It is over, and so much of it was not carried.
    fn end_trial(&mut self, asker: (KeyId, Reference), unused: Bytes) {
        let given = self.trials.given.remove(&asker).unwrap_or_default();
        self.allowance.put_back(unused.min(given));
    }
}

#[cfg(test)]
mod tests;
