//! When access points are asked, and what they answered last (design note 0015). No clock and no channel: time is an argument.

use guestright_overview::{
    ACCESS_POINTS_MAX, ANSWER_VERSION, AccessPoint, Answer, CallRoom, Count, Guest, Key, Moment, Refusal,
    Sentence, Sum,
};
use guestright_roaming::message::Reference;
use guestright_units::{Micros, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Access points are not asked more often, however many look.
const ASK_EVERY: Micros = Micros::from_seconds(2);
/// Who does not answer within this stands as not answering.
const ANSWER_WITHIN: Micros = Micros::from_seconds(1);
/// So long guests are shown of an access point that answers no more.
const GUESTS_SHOWN: Micros = Micros::from_seconds(10);

const SILENT: &str = "The access point does not answer. What is shown of it is from its last answer.";
const NEVER: &str = "The access point does not say how it stands. It may be older than this home: update it.";

/// What an access point said last.
#[derive(Debug)]
struct Known {
    access_point: AccessPoint,
    guests: Vec<Guest>,
    refusals: Vec<Refusal>,
    left_out: (Count, Count),
    answered: Option<Time>,
}

/// Rounds of questions, one at a time.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    last: Reference,
    began: Option<Time>,
    /// Who has not answered in this round.
    awaited: BTreeSet<Key>,
    until: Option<Time>,
    known: BTreeMap<Key, Known>,
}

/// What all access points say.
#[derive(Debug, Default)]
pub(super) struct Answers {
    pub(super) access_points: Vec<AccessPoint>,
    pub(super) guests: Vec<Guest>,
    pub(super) refusals: Vec<Refusal>,
    pub(super) guests_left_out: Count,
    pub(super) refusals_left_out: Count,
}

impl Rounds {
    /// The number of the round that is due, if one is; then [`Self::began`].
    pub(super) fn due(&self, now: Time) -> Option<Reference> {
        let is_fresh = self.began.is_some_and(|began| now < began + ASK_EVERY);
        (self.until.is_none() && !is_fresh).then_some(self.last + 1)
    }

    /// These access points were asked.
    pub(super) fn began(&mut self, reference: Reference, asked: impl IntoIterator<Item = Key>, now: Time) {
        self.last = reference;
        self.began = Some(now);
        self.awaited = asked.into_iter().collect();
        self.until = Some(now + ANSWER_WITHIN);
        for (key, known) in &mut self.known {
            if !self.awaited.contains(key) {
                known.fall_silent();
            }
        }
        self.end_if_over(now);
    }

    pub(super) fn is_running(&self) -> bool {
        self.until.is_some()
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.until
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.end_if_over(now);
    }

    /// An access point that has proved this key answers. Late answers count too: they are the newest there are.
    pub(super) fn handle_answer(
        &mut self,
        key: Key,
        (reference, version): (Reference, u8),
        bytes: &[u8],
        now: Time,
    ) {
        if reference > self.last {
            return;
        }
        match Answer::from_cbor(version, bytes) {
            Ok(answer) => {
                self.known.insert(key, Known::of(key, answer, now));
                self.awaited.remove(&key);
            }
            Err(error) => {
                tracing::debug!(%error, version, "an access point's answer could not be read");
                let known = self.known.entry(key).or_insert_with(|| Known::silent(key));
                known.fall_silent();
                if version != ANSWER_VERSION {
                    known.access_point.trouble = Some(Sentence::shortened(&error.to_string()));
                }
                self.awaited.remove(&key);
            }
        }
        self.forget();
        self.end_if_over(now);
    }

    /// An access point has gone.
    pub(super) fn handle_gone(&mut self, key: Key, now: Time) {
        if self.awaited.remove(&key) {
            self.known.entry(key).or_insert_with(|| Known::silent(key)).fall_silent();
        }
        self.end_if_over(now);
    }

    fn end_if_over(&mut self, now: Time) {
        if self.until.is_some_and(|until| self.awaited.is_empty() || until <= now) {
            self.until = None;
            for key in std::mem::take(&mut self.awaited) {
                self.known.entry(key).or_insert_with(|| Known::silent(key)).fall_silent();
            }
            self.forget();
        }
    }

    /// Whoever answered longest ago goes first.
    fn forget(&mut self) {
        while self.known.len() > ACCESS_POINTS_MAX {
            let oldest = self.known.iter().min_by_key(|(_, known)| known.answered).map(|(key, _)| *key);
            oldest.map(|oldest| self.known.remove(&oldest));
        }
    }

    /// What those say of calls that have answered within this time.
    pub(super) fn calls(&self, now: Time, within: Micros) -> impl Iterator<Item = &CallRoom> {
        let fresh = move |known: &&Known| known.answered.is_some_and(|at| now < at + within);
        self.known.values().filter(fresh).filter_map(|known| known.access_point.calls.as_ref())
    }

    /// What is known now.
    pub(super) fn answers(&self, now: Time) -> Answers {
        let mut all = Answers::default();
        let sum = |one: Count, other: Count| Count::at_most_max(one.get().saturating_add(other.get()));
        for known in self.known.values() {
            let mut access_point = known.access_point.clone();
            // For the exchange alone.
            access_point.calls.iter_mut().for_each(|calls| calls.members.clear());
            all.access_points.push(access_point);
            all.refusals.extend(known.refusals.iter().cloned());
            all.refusals_left_out = sum(all.refusals_left_out, known.left_out.1);
            if known.access_point.up || known.answered.is_some_and(|at| now < at + GUESTS_SHOWN) {
                all.guests.extend(known.guests.iter().cloned());
                all.guests_left_out = sum(all.guests_left_out, known.left_out.0);
            }
        }
        all.guests.sort_by_key(|guest| guest.started);
        all
    }
}

impl Known {
    fn of(key: Key, answer: Answer, now: Time) -> Self {
        let Answer { mut access_point, mut guests, refusals, guests_left_out, refusals_left_out } = answer;
        access_point.key = key;
        access_point.up = true;
        access_point.answered = Some(Moment::from(now.unix_seconds()));
        guests.iter_mut().for_each(|guest| guest.access_point = key);
        let left_out = (guests_left_out, refusals_left_out);
        Self { access_point, guests, refusals, left_out, answered: Some(now) }
    }

    /// One that has never answered: nothing is known of it but its key.
    fn silent(key: Key) -> Self {
        let access_point = AccessPoint {
            key,
            name: None,
            up: false,
            answered: None,
            home_up: None,
            undelivered: Count::default(),
            left_while_away: Sum::default(),
            refused: BTreeMap::new(),
            trouble: None,
            calls: None,
        };
        let left_out = (Count::default(), Count::default());
        Self { access_point, guests: Vec::new(), refusals: Vec::new(), left_out, answered: None }
    }

    fn fall_silent(&mut self) {
        let sentence = if self.answered.is_some() { SILENT } else { NEVER };
        self.access_point.up = false;
        self.access_point.home_up = None;
        self.access_point.trouble = Some(Sentence::shortened(sentence));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_units::UnixSeconds;

    const ONE: Key = Key([1; 24]);
    const TWO: Key = Key([2; 24]);

    fn at(millis: u64) -> Time {
        UnixSeconds(1_800_000_000).time() + Micros::from_millis(millis)
    }

    fn answer() -> Vec<u8> {
        let mut access_point = Known::silent(Key([9; 24])).access_point;
        access_point.home_up = Some(true);
        let (guests, refusals) = (Vec::new(), Vec::new());
        let none = Count::default();
        Answer { access_point, guests, refusals, guests_left_out: none, refusals_left_out: none }.to_cbor()
    }

    fn up(rounds: &Rounds, now: Time) -> Vec<(Key, bool, bool)> {
        let all = rounds.answers(now).access_points;
        all.iter().map(|it| (it.key, it.up, it.answered.is_some())).collect()
    }

    #[test]
    fn a_round_ends_with_the_last_answer() {
        let mut rounds = Rounds::default();
        assert_eq!(rounds.due(at(0)), Some(1));
        rounds.began(1, [ONE, TWO], at(0));
        assert_eq!(rounds.poll_timeout(), Some(at(1_000)));
        rounds.handle_answer(ONE, (1, 1), &answer(), at(3));
        assert!(rounds.is_running());
        rounds.handle_answer(TWO, (1, 1), &answer(), at(4));
        assert!(!rounds.is_running());
        assert_eq!(up(&rounds, at(4)), [(ONE, true, true), (TWO, true, true)], "by the key that is proved");
    }

    #[test]
    fn nobody_is_asked_again_within_two_seconds() {
        let mut rounds = Rounds::default();
        rounds.began(1, [ONE], at(0));
        assert_eq!(rounds.due(at(500)), None, "one is running");
        rounds.handle_answer(ONE, (1, 1), &answer(), at(600));
        assert_eq!((rounds.due(at(1_999)), rounds.due(at(2_000))), (None, Some(2)));
    }

    #[test]
    fn one_that_does_not_know_the_question_stands_as_not_answering_and_holds_up_nobody() {
        let mut rounds = Rounds::default();
        rounds.began(1, [ONE, TWO], at(0));
        rounds.handle_answer(ONE, (1, 1), &answer(), at(3));
        rounds.handle_timeout(at(999));
        assert!(rounds.is_running());
        rounds.handle_timeout(at(1_000));
        assert!(!rounds.is_running());
        assert_eq!(up(&rounds, at(1_000)), [(ONE, true, true), (TWO, false, false)]);
        let answers = rounds.answers(at(1_000));
        assert_eq!(answers.access_points[1].trouble.as_ref().unwrap().as_str(), NEVER);
    }

    #[test]
    fn one_that_is_gone_stands_with_the_time_of_its_last_answer() {
        let mut rounds = Rounds::default();
        rounds.began(1, [ONE], at(0));
        rounds.handle_answer(ONE, (1, 1), &answer(), at(3));
        rounds.began(2, [], at(2_000));
        assert!(!rounds.is_running(), "nobody is awaited");
        assert_eq!(up(&rounds, at(2_000)), [(ONE, false, true)]);
        rounds.began(3, [ONE], at(4_000));
        rounds.handle_gone(ONE, at(4_100));
        assert!(!rounds.is_running());
        assert_eq!(rounds.answers(at(4_100)).access_points[0].home_up, None);
    }

    #[test]
    fn an_answer_that_is_none_or_was_not_asked_for_changes_nothing() {
        let mut rounds = Rounds::default();
        rounds.handle_answer(ONE, (1, 1), &answer(), at(0));
        assert!(up(&rounds, at(0)).is_empty(), "nobody has asked");
        rounds.began(1, [ONE], at(0));
        rounds.handle_answer(ONE, (1, 2), &answer(), at(1));
        let answers = rounds.answers(at(1));
        assert!(!answers.access_points[0].up);
        assert!(answers.access_points[0].trouble.as_ref().unwrap().as_str().contains("version 2"));
        rounds.began(2, [ONE], at(2_000));
        rounds.handle_answer(ONE, (2, 1), b"nonsense", at(2_001));
        assert_eq!(up(&rounds, at(2_001)), [(ONE, false, false)]);
    }

    #[test]
    fn there_are_never_more_than_can_be_shown() {
        let mut rounds = Rounds::default();
        for number in 0..60_u8 {
            rounds.began(u64::from(number) + 1, [Key([number; 24])], at(u64::from(number) * 2_000));
            let (reference, now) = (u64::from(number) + 1, at(u64::from(number) * 2_000 + 1));
            rounds.handle_answer(Key([number; 24]), (reference, 1), &answer(), now);
        }
        assert_eq!(rounds.answers(at(0)).access_points.len(), ACCESS_POINTS_MAX);
        assert!(rounds.known.contains_key(&Key([59; 24])));
    }
}
