//! What an access point says when its home asks (ASKS and SAYS, design note 0015).

use crate::{AccessPoint, Count, GUESTS_MAX, Guest, REFUSALS_MAX, Refusal, list};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The newest form of an answer that this program reads, and the one that it writes.
pub const ANSWER_VERSION: u8 = 1;
/// How long an answer may be: 64 KiB, as much as a message between programs of a team carries.
pub const ANSWER_BYTES_MAX: usize = 64 << 10;
/// So many refusals make room for guests before guests are left out.
const REFUSALS_AT_LEAST: usize = 16;

/// What an access point knows that the household wants to see.
///
/// The access point fills it, and sends [`Answer::to_cbor`]. The home reads it with [`Answer::from_cbor`], and puts the key that the
/// channel has proved in the place of every one that is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Itself. `answered` and `up` are the home's to say.
    pub access_point: AccessPoint,
    /// Who is there, the longest first.
    #[serde(deserialize_with = "list::at_most::<GUESTS_MAX, _, _>")]
    pub guests: Vec<Guest>,
    /// Who was not served, the latest first.
    #[serde(deserialize_with = "list::at_most::<REFUSALS_MAX, _, _>")]
    pub refusals: Vec<Refusal>,
    /// How many guests are not in `guests`.
    pub guests_left_out: Count,
    /// How many refusals that are remembered are not in `refusals`.
    pub refusals_left_out: Count,
}

/// Bytes that are no answer.
#[derive(Debug, Error)]
pub enum AnswerError {
    /// There are more than an answer has.
    #[error("{got} bytes are more than an answer has; at most {ANSWER_BYTES_MAX} are read")]
    Length {
        /// How many there are.
        got: usize,
    },
    /// The answer is in a form that this program does not know.
    #[error(
        "the answer has version {got}, and this program reads {ANSWER_VERSION}; update the older of the two"
    )]
    Version {
        /// Which version it has.
        got: u8,
    },
    /// They do not fit the schema, or its limits.
    #[error("this is no answer: {0}")]
    Cbor(String),
}

impl Answer {
    /// Reads an answer of this version, within the limits.
    ///
    /// # Errors
    ///
    /// It is too long, its version is another, a field is missing, a value is not within its limits, or something follows it.
    pub fn from_cbor(version: u8, cbor: &[u8]) -> Result<Self, AnswerError> {
        if version != ANSWER_VERSION {
            return Err(AnswerError::Version { got: version });
        }
        if cbor.len() > ANSWER_BYTES_MAX {
            return Err(AnswerError::Length { got: cbor.len() });
        }
        let mut rest = cbor;
        let answer =
            ciborium::from_reader(&mut rest).map_err(|error| AnswerError::Cbor(error.to_string()))?;
        if !rest.is_empty() {
            return Err(AnswerError::Cbor(format!("{} bytes follow it", rest.len())));
        }
        Ok(answer)
    }

    /// The answer in CBOR, at most [`ANSWER_BYTES_MAX`] long: what is too much is left out from the end of each list and counted,
    /// most of the refusals before the first guest.
    pub fn to_cbor(mut self) -> Vec<u8> {
        self.leave_out(GUESTS_MAX, REFUSALS_MAX);
        while self.access_point.refused.len() > crate::COUNTERS_MAX {
            self.access_point.refused.pop_last();
        }
        loop {
            let mut cbor = Vec::new();
            ciborium::into_writer(&self, &mut cbor).expect("a vector takes everything");
            let (guests, refusals) = (self.guests.len(), self.refusals.len());
            if cbor.len() <= ANSWER_BYTES_MAX || (guests == 0 && refusals == 0) {
                return cbor;
            }
            if refusals > REFUSALS_AT_LEAST {
                self.leave_out(guests, (refusals / 2).max(REFUSALS_AT_LEAST));
            } else if guests > 0 {
                self.leave_out(guests - guests.div_ceil(8), refusals);
            } else {
                self.leave_out(0, refusals / 2);
            }
        }
    }

    fn leave_out(&mut self, guests: usize, refusals: usize) {
        let more = |count: Count, len: usize, kept: usize| {
            Count::at_most_max(count.get().saturating_add(Count::from(len.saturating_sub(kept)).get()))
        };
        self.guests_left_out = more(self.guests_left_out, self.guests.len(), guests);
        self.refusals_left_out = more(self.refusals_left_out, self.refusals.len(), refusals);
        self.guests.truncate(guests);
        self.refusals.truncate(refusals);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overview, RefusedBy, Sentence};

    fn answer() -> Answer {
        let overview = include_bytes!("../tests/fixtures/serving.json");
        let Overview { access_points, guests, refusals, .. } = Overview::from_json(overview).unwrap();
        let access_point = access_points.into_iter().next().unwrap();
        let none = Count::default();
        Answer { access_point, guests, refusals, guests_left_out: none, refusals_left_out: none }
    }

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        assert_eq!(Answer::from_cbor(ANSWER_VERSION, &answer().to_cbor()).unwrap(), answer());
    }

    #[test]
    fn what_a_newer_access_point_says_besides_is_passed_over() {
        let mut value = ciborium::Value::serialized(&answer()).unwrap();
        value.as_map_mut().unwrap().push((ciborium::Value::from("moon"), ciborium::Value::from("full")));
        let mut cbor = Vec::new();
        ciborium::into_writer(&value, &mut cbor).unwrap();
        assert_eq!(Answer::from_cbor(ANSWER_VERSION, &cbor).unwrap(), answer());
    }

    #[test]
    fn refuses_what_is_no_answer() {
        let cbor = answer().to_cbor();
        assert!(matches!(Answer::from_cbor(2, &cbor), Err(AnswerError::Version { got: 2 })));
        let long = vec![0; ANSWER_BYTES_MAX + 1];
        assert!(matches!(Answer::from_cbor(1, &long), Err(AnswerError::Length { .. })));
        for wrong in [&cbor[..cbor.len() - 1], &[cbor.as_slice(), &[0]].concat(), &[], &[0xa0]] {
            assert!(matches!(Answer::from_cbor(1, wrong), Err(AnswerError::Cbor(_))), "{wrong:?}");
        }
        let mut deep = vec![0x81; 60_000];
        deep.push(0);
        assert!(matches!(Answer::from_cbor(1, &deep), Err(AnswerError::Cbor(_))));
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_counted() {
        let mut full = answer();
        let (mut guest, mut refusal) = (full.guests[2].clone(), full.refusals.first().cloned().unwrap());
        (guest.reason, refusal.reason) =
            (Sentence::shortened(&"é".repeat(512)), Sentence::shortened(&"é".repeat(512)));
        refusal.refused_by = RefusedBy::Busy;
        full.guests = vec![guest; 300];
        full.refusals = vec![refusal; 200];
        let cbor = full.to_cbor();
        assert!(cbor.len() <= ANSWER_BYTES_MAX && cbor.len() > ANSWER_BYTES_MAX / 2, "{}", cbor.len());
        let read = Answer::from_cbor(ANSWER_VERSION, &cbor).unwrap();
        assert_eq!(read.guests.len() as u64 + read.guests_left_out.get(), 300);
        assert_eq!(read.refusals.len() as u64 + read.refusals_left_out.get(), 200);
        assert_eq!(read.refusals.len(), REFUSALS_AT_LEAST);
        assert!(read.guests.len() > 20, "{}", read.guests.len());
    }
}
