//! The machine that asks by short message, and answers.

use super::payload::Unchecked;
use super::{Config, Payload, Reassembly, SmsError, WhoMayAsk, split};
use crate::limit::{Pace, Paces};
use crate::{Contact, FindError, Record, RecordError, Search, TelephoneNumber, accept};
use guestright_identity::KeyId;
use guestright_ordered::{OrderedMap, OrderedSet};
use guestright_units::{Micros, Time};
use std::collections::{BTreeMap, VecDeque};

const DAY: Micros = Micros::from_seconds(86_400);
/// How many answered questions are remembered, so that one that is delivered twice is answered once.
const ANSWERED_MAX: usize = 256;

/// A message on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutgoingId(pub u64);

/// A message to send: some short messages to one number, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// For [`Courier::handle_send_failed`].
    pub id: OutgoingId,
    pub to: TelephoneNumber,
    /// The user data of each short message: 8-bit data with a header.
    pub parts: Vec<Vec<u8>>,
    /// How long the network may try, as a relative validity period.
    pub validity: u8,
}

/// What the program around the machine may want to know.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The search has ended: here is the record.
    Found {
        search: Search,
        /// The record; it counts now.
        record: Box<Record>,
    },
    /// The search has ended without an answer.
    NotFound { search: Search, reason: FindError },
    /// Somebody has asked and was answered.
    Answered(TelephoneNumber),
    /// A question carried this record of the one who asks.
    Learned(Box<Record>),
    /// A message was refused, and nothing was sent. Counted in [`Courier::refusals`].
    Refused(&'static str, String),
}

#[derive(Debug)]
struct Question {
    search: Search,
    contact: Contact,
    outgoing: OutgoingId,
    until: Time,
}

/// Asks by short message where a contact's home is, and answers those who may ask.
#[derive(Debug)]
pub struct Courier {
    config: Config,
    /// What is given out, by member.
    own: OrderedMap<KeyId, Record>,
    /// Who may ask under [`WhoMayAsk::Contacts`].
    contacts: OrderedMap<TelephoneNumber, OrderedSet<KeyId>>,
    reassembly: Reassembly,
    questions: OrderedMap<u32, Question>,
    answered: VecDeque<(TelephoneNumber, u32)>,
    answers: Paces<TelephoneNumber>,
    asks: Paces<TelephoneNumber>,
    parts: Paces<()>,
    sent: u64,
    refusals: BTreeMap<&'static str, u64>,
    transmits: VecDeque<Outgoing>,
    events: VecDeque<Event>,
}

impl Courier {
    /// A courier that has nothing to give out yet.
    pub fn new(config: Config) -> Self {
        let paces = |burst, every| Paces::new(Pace { burst, every }, config.numbers_max);
        let day = Pace {
            burst: config.parts_per_day,
            every: Micros(DAY.0.div_ceil(u64::from(config.parts_per_day.max(1)))),
        };
        Self {
            own: OrderedMap::new(),
            contacts: OrderedMap::new(),
            reassembly: Reassembly::new(config.reassembly),
            questions: OrderedMap::new(),
            answered: VecDeque::new(),
            answers: paces(config.answers_burst, config.answers_every),
            asks: paces(config.asks_burst, config.asks_every),
            parts: Paces::new(day, 1),
            sent: 0,
            refusals: BTreeMap::new(),
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            config,
        }
    }

    /// Gives this record of a member of ours to those who ask for it; an older one of its changes nothing.
    pub fn give_out(&mut self, record: Record) {
        let known = self.own.get(&record.member());
        if known.is_none_or(|known| record.replaces(known)) {
            self.own.insert(record.member(), record);
        }
    }

    /// Gives these records out from now on, and no others.
    pub fn set_own(&mut self, records: impl IntoIterator<Item = Record>) {
        self.own = records.into_iter().map(|record| (record.member(), record)).collect();
    }

    /// Says who may ask: whose contacts have which number. Those without a number are passed over. Members of one home
    /// may share its number.
    pub fn set_contacts<'a>(&mut self, contacts: impl IntoIterator<Item = &'a Contact>) {
        self.contacts.clear();
        for contact in contacts {
            if let Some(number) = &contact.telephone {
                self.contacts.entry(number.clone()).or_default().insert(contact.member);
            }
        }
    }

    /// Asks a contact where its home is. `chance` is a number that nobody can guess; `caller` our own record.
    ///
    /// # Errors
    /// [`FindError`], and nothing is sent: the contact has no number, or it would be too many messages.
    pub fn handle_find(
        &mut self,
        contact: &Contact,
        caller: Option<&Record>,
        chance: u32,
        now: Time,
    ) -> Result<Search, FindError> {
        let number = contact.telephone.as_ref().ok_or(FindError::NoHint("telephone number"))?;
        if self.questions.len() >= self.config.searches_max || self.questions.contains_key(&chance) {
            return Err(FindError::Limited { seconds: self.config.answer_max.0.div_ceil(1_000_000) });
        }
        let limited = |wait: Micros| FindError::Limited { seconds: wait.0.div_ceil(1_000_000) };
        self.asks.try_acquire(number, now).map_err(limited)?;
        let ask = Payload::Ask { reference: chance, member: contact.member, caller: caller.cloned() };
        let outgoing = self.send(number, &ask, chance, now).map_err(limited)?;
        let search = Search(u64::from(chance));
        let until = now + self.config.answer_max;
        self.questions.insert(chance, Question { search, contact: contact.clone(), outgoing, until });
        Ok(search)
    }

    /// Takes in that a message could not be sent; a question's search ends.
    pub fn handle_send_failed(&mut self, id: OutgoingId, reason: &str) {
        let failed = self.questions.extract_if(|_, question| question.outgoing == id);
        let reason = FindError::Way(format!("the short message could not be sent: {reason}"));
        let ends =
            failed.map(|(_, question)| Event::NotFound { search: question.search, reason: reason.clone() });
        self.events.extend(ends);
    }

    /// Takes in a short message of 8-bit data with a header. What is not for us is passed over without a word.
    pub fn handle_message(&mut self, from: &TelephoneNumber, user_data: &[u8], now: Time) {
        let whole = match self.reassembly.push(from.digits(), user_data, now) {
            Ok(Some(whole)) => whole,
            Ok(None) | Err(SmsError::NotOurs) => return,
            Err(error) => return self.refuse("part", error.to_string()),
        };
        match Unchecked::parse(&whole) {
            Ok(Unchecked::Ask { reference, member, caller }) => {
                if let Err((kind, reason)) = self.answer(from, reference, member, &caller, now) {
                    self.refuse(kind, reason);
                }
            }
            Ok(Unchecked::Answer { reference, record }) => self.handle_answer(reference, &record, now),
            Err(error) => self.refuse("malformed", error.to_string()),
        }
    }

    fn answer(
        &mut self,
        from: &TelephoneNumber,
        reference: u32,
        member: KeyId,
        caller: &[u8],
        now: Time,
    ) -> Result<(), (&'static str, String)> {
        let wanted = match self.config.who_may_ask {
            WhoMayAsk::Nobody => {
                return Err(("nobody-may", "nobody may ask by short message here".to_owned()));
            }
            WhoMayAsk::Anyone => None,
            WhoMayAsk::Contacts => {
                let known = self.contacts.get(from).cloned();
                Some(known.ok_or(("stranger", "the number that asks is no contact's".to_owned()))?)
            }
        };
        let answered = (from.clone(), reference);
        if self.answered.contains(&answered) {
            return Err(("repeated", "the question was answered before".to_owned()));
        }
        let limited =
            |wait: Micros| ("limited", format!("the next answer may go in {} s", wait.0.div_ceil(1_000_000)));
        // The limit comes before the signatures: they cost time, too.
        self.answers.try_acquire(from, now).map_err(limited)?;
        let caller = self.check_caller(wanted.as_ref(), caller, now).map_err(|error| ("caller", error))?;
        let record = self.own.get(&member).filter(|record| record.check(now.unix_seconds()).is_ok()).cloned();
        let record = record.ok_or(("no-record", "there is no record to answer with".to_owned()))?;
        let answer = Payload::Answer { reference, record };
        self.send(from, &answer, reference, now).map_err(limited)?;
        if self.answered.len() == ANSWERED_MAX {
            self.answered.pop_front();
        }
        self.answered.push_back(answered);
        self.events.extend(caller.map(|record| Event::Learned(Box::new(record))));
        self.events.push_back(Event::Answered(from.clone()));
        Ok(())
    }

    /// Who asks, by the record that came along.
    fn check_caller(
        &self,
        wanted: Option<&OrderedSet<KeyId>>,
        caller: &[u8],
        now: Time,
    ) -> Result<Option<Record>, String> {
        if caller.is_empty() {
            let anonymous = Err("the question does not say who asks".to_owned());
            return if wanted.is_some() { anonymous } else { Ok(None) };
        }
        let read = Record::parse(caller).and_then(|record| record.check(now.unix_seconds()).map(|()| record));
        let record = read.map_err(|error| error.to_string())?;
        if let Some(wanted) = wanted.filter(|wanted| !wanted.contains(&record.member()))
            && let Some(&want) = wanted.first()
        {
            return Err(RecordError::OtherMember { got: record.member(), want }.to_string());
        }
        Ok(Some(record))
    }

    fn handle_answer(&mut self, reference: u32, record: &[u8], now: Time) {
        let Some(question) = self.questions.get(&reference) else {
            return self.refuse("not-asked", "an answer to no question of ours".to_owned());
        };
        match accept(&question.contact, record, now.unix_seconds()) {
            Ok(record) => {
                let search = question.search;
                self.questions.remove(&reference);
                self.events.push_back(Event::Found { search, record: Box::new(record) });
            }
            // The search goes on: the right answer may still come.
            Err(error) => self.refuse("bad-answer", error.to_string()),
        }
    }

    /// Takes in that the time is now.
    pub fn handle_timeout(&mut self, now: Time) {
        self.reassembly.expire(now);
        let seconds = self.config.answer_max.0.div_ceil(1_000_000);
        for (_, question) in self.questions.extract_if(|_, question| question.until <= now) {
            let whom = question.contact.telephone.map(|number| number.to_string()).unwrap_or_default();
            let reason = FindError::NoAnswer { whom, seconds };
            self.events.push_back(Event::NotFound { search: question.search, reason });
        }
    }

    /// The next message to send.
    pub fn poll_transmit(&mut self) -> Option<Outgoing> {
        self.transmits.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`Courier::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.questions.values().map(|question| question.until).min()
    }

    /// How many messages were refused, by kind.
    pub fn refusals(&self) -> &BTreeMap<&'static str, u64> {
        &self.refusals
    }

    fn send(
        &mut self,
        to: &TelephoneNumber,
        payload: &Payload,
        chance: u32,
        now: Time,
    ) -> Result<OutgoingId, Micros> {
        let reference = chance.to_le_bytes()[0];
        let parts = split(&payload.emit(), reference).expect("a payload fits six parts");
        let before = self.parts.clone();
        for _ in &parts {
            if let Err(wait) = self.parts.try_acquire(&(), now) {
                self.parts = before; // Nothing is sent, so nothing is counted.
                return Err(wait);
            }
        }
        self.sent += 1;
        let id = OutgoingId(self.sent);
        let validity = self.config.validity;
        self.transmits.push_back(Outgoing { id, to: to.clone(), parts, validity });
        Ok(id)
    }

    fn refuse(&mut self, kind: &'static str, reason: String) {
        *self.refusals.entry(kind).or_insert(0) += 1;
        self.events.push_back(Event::Refused(kind, reason));
    }
}

#[cfg(test)]
mod tests;
