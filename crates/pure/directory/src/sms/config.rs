use super::{ReassemblyLimits, relative_validity};
use guestright_units::Micros;

/// Who gets an answer. Each one costs money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhoMayAsk {
    /// Contacts: the sender's number is a contact's, and the question carries a record of that contact.
    Contacts,
    /// Everybody; limits hold all the same.
    Anyone,
    Nobody,
}

/// What a courier is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Who gets an answer.
    pub who_may_ask: WhoMayAsk,
    /// How many answers a number gets at once.
    pub answers_burst: u32,
    /// After how long it gets one more.
    pub answers_every: Micros,
    /// How many questions go to a number at once.
    pub asks_burst: u32,
    /// After how long one more may go.
    pub asks_every: Micros,
    /// How many short messages may be sent within a day, questions and answers together.
    pub parts_per_day: u32,
    /// How long an answer may take.
    pub answer_max: Micros,
    /// How many searches there may be at once.
    pub searches_max: usize,
    /// How many numbers are counted at once.
    pub numbers_max: usize,
    /// How long the network may try to deliver, as [`relative_validity`] says it.
    pub validity: u8,
    /// Limits for messages in parts.
    pub reassembly: ReassemblyLimits,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            who_may_ask: WhoMayAsk::Contacts,
            answers_burst: 3,
            answers_every: Micros::from_seconds(600),
            asks_burst: 3,
            asks_every: Micros::from_seconds(120),
            parts_per_day: 120,
            answer_max: Micros::from_seconds(120),
            searches_max: 16,
            numbers_max: 256,
            validity: relative_validity(600),
            reassembly: ReassemblyLimits::default(),
        }
    }
}
