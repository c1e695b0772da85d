//! Questions that were asked, so that the same one again gets the same bytes again (RFC 5080, section 2.2.2).

use crate::forwarding::event::Service;
use guestright_units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// What tells questions apart, with their authenticator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) service: Service,
    pub(super) source: SocketAddr,
    pub(super) identifier: u8,
}

#[derive(Debug)]
struct Kept {
    authenticator: [u8; 16],
    /// Nothing while it is not answered.
    answer: Option<Vec<u8>>,
    until: Time,
}

/// What is known of a question.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Known<'a> {
    New,
    /// It is being answered.
    Pending,
    Answered(&'a [u8]),
}

/// A bounded number of questions. Where there is no more room, the one that would be forgotten next is.
#[derive(Debug)]
pub(super) struct Answers {
    max: usize,
    kept: BTreeMap<Key, Kept>,
    order: BTreeSet<(Time, Key)>,
}

impl Answers {
    pub(super) fn new(max: usize) -> Self {
        Self { max, kept: BTreeMap::new(), order: BTreeSet::new() }
    }

    /// Another authenticator under the same identifier is another question: the client has given up on the first.
    pub(super) fn find(&self, key: &Key, authenticator: &[u8; 16], now: Time) -> Known<'_> {
        match self.kept.get(key) {
            Some(kept) if kept.authenticator == *authenticator && kept.until > now => {
                kept.answer.as_deref().map_or(Known::Pending, Known::Answered)
            }
            _ => Known::New,
        }
    }

    /// Takes in that a question was asked.
    pub(super) fn ask(&mut self, key: Key, authenticator: [u8; 16], until: Time, now: Time) {
        self.forget(&key);
        while let Some(&(at, oldest)) = self.order.first()
            && (at <= now || self.kept.len() >= self.max)
        {
            self.forget(&oldest);
        }
        self.kept.insert(key, Kept { authenticator, answer: None, until });
        self.order.insert((until, key));
    }

    /// Takes in how it was answered, if it is still the question.
    pub(super) fn answer(&mut self, key: Key, authenticator: &[u8; 16], answer: &[u8], until: Time) {
        let Some(kept) = self.kept.get_mut(&key).filter(|kept| kept.authenticator == *authenticator) else {
            return;
        };
        self.order.remove(&(kept.until, key));
        (kept.answer, kept.until) = (Some(answer.to_vec()), until);
        self.order.insert((until, key));
    }

    fn forget(&mut self, key: &Key) {
        if let Some(kept) = self.kept.remove(key) {
            self.order.remove(&(kept.until, *key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(identifier: u8) -> Key {
        Key { service: Service::Authentication, source: ([127, 0, 0, 1], 9).into(), identifier }
    }

    #[test]
    fn the_same_question_gets_the_same_bytes() {
        let mut answers = Answers::new(2);
        assert_eq!(answers.find(&key(1), &[1; 16], Time(0)), Known::New);
        answers.ask(key(1), [1; 16], Time(100), Time(0));
        assert_eq!(answers.find(&key(1), &[1; 16], Time(1)), Known::Pending);
        answers.answer(key(1), &[2; 16], b"of another", Time(50));
        assert_eq!(answers.find(&key(1), &[1; 16], Time(1)), Known::Pending);
        answers.answer(key(1), &[1; 16], b"yes", Time(50));
        assert_eq!(answers.find(&key(1), &[1; 16], Time(49)), Known::Answered(b"yes"));
        assert_eq!(answers.find(&key(1), &[2; 16], Time(49)), Known::New);
        assert_eq!(answers.find(&key(1), &[1; 16], Time(50)), Known::New, "it is not kept for ever");
    }

    #[test]
    fn there_are_never_more_than_so_many() {
        let mut answers = Answers::new(2);
        for identifier in 0..10 {
            answers.ask(key(identifier), [1; 16], Time(100 + u64::from(identifier)), Time(0));
            assert!(answers.kept.len() <= 2 && answers.kept.len() == answers.order.len());
        }
        assert_eq!(answers.find(&key(9), &[1; 16], Time(1)), Known::Pending);
        assert_eq!(answers.find(&key(7), &[1; 16], Time(1)), Known::New);
    }
}
