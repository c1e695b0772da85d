//! A home's machine for records: it answers from its book, asks for its members, and hands its members' records on.

mod announce;
mod config;
mod search;

use crate::limit::{Pace, Paces};
use crate::message::{Ended, Unchecked};
use crate::{
    Address, Admission, Book, BookError, Contact, FindError, HomeHint, Message, MessageError, Outcome,
    Record, Source,
};
use announce::Announcements;
use guestright_identity::KeyId;
use guestright_ordered::OrderedMap;
use guestright_units::{Micros, Time, UnixSeconds};
use search::{Answered, Ask, Searches};
use std::collections::{BTreeMap, VecDeque};

pub use config::{Admit, Config};

/// A sealed link to another home, numbered by the program around the machine.
pub type LinkId = u64;

/// A question of a member of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Search(pub u64);

/// What the program around the machine has to do or may want to know.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Make a link to this home and call [`Directory::handle_linked`], or [`Directory::handle_link_failed`].
    LinkNeeded(HomeHint),
    /// The search has ended: here is the record.
    Found {
        search: Search,
        /// The record; it counts now.
        record: Box<Record>,
    },
    /// The search has ended: nobody knows.
    NotFound { search: Search, reason: FindError },
    /// The book has changed: [`Book::snapshot`] is worth keeping.
    Stored(KeyId),
    /// A peer has said what it did with a member's record.
    Announced {
        /// The peer's key.
        home: KeyId,
        /// Whose record.
        member: KeyId,
        /// What it did.
        outcome: Outcome,
    },
    /// A member's record ends soon: it has to sign a new one, to be given to [`Directory::handle_own`].
    RenewalNeeded {
        member: KeyId,
        /// When its record ends.
        ends: UnixSeconds,
    },
    /// A frame was refused. Counted in [`Directory::refusals`].
    Refused(LinkId, &'static str, String),
}

#[derive(Clone, Debug)]
struct Link {
    home: KeyId,
    address: Option<Address>,
}

/// The home's directory; see the [crate's description](crate).
#[derive(Debug)]
pub struct Directory {
    config: Config,
    book: Book,
    links: OrderedMap<LinkId, Link>,
    searches: Searches,
    announcements: Announcements,
    asks: Paces<KeyId>,
    offers: Paces<KeyId>,
    /// Of each member whose record ends soon, the sequence of the record for which that was said.
    renewals: OrderedMap<KeyId, u64>,
    references: u64,
    refusals: BTreeMap<&'static str, u64>,
    transmits: VecDeque<(LinkId, Vec<u8>)>,
    events: VecDeque<Event>,
}

impl Directory {
    /// A directory around what its home kept, or around [`Book::new`].
    pub fn new(config: Config, book: Book) -> Self {
        let pace = |burst, every| Pace { burst, every };
        Self {
            asks: Paces::new(pace(config.asks_burst, config.asks_every), config.askers_max),
            offers: Paces::new(pace(config.offers_burst, config.offers_every), config.askers_max),
            searches: Searches::default(),
            announcements: Announcements::default(),
            links: OrderedMap::new(),
            renewals: OrderedMap::new(),
            references: 0,
            refusals: BTreeMap::new(),
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            config,
            book,
        }
    }

    /// Takes a record of a member of this home in, new or known since long, and hands it to the peers.
    ///
    /// # Errors
    /// [`BookError`] if it does not count or is older than the known one.
    pub fn handle_own(&mut self, record: Record, now: Time) -> Result<(), BookError> {
        let member = record.member();
        self.book.admit(record, Source::Own, now.unix_seconds())?;
        self.renewals.remove(&member);
        self.searches.forget_negative(member);
        self.events.push_back(Event::Stored(member));
        self.announce_member(member, now);
        self.want_renewals(now);
        Ok(())
    }

    /// A member has left this home: its record is no longer given out or handed on.
    pub fn handle_left(&mut self, member: KeyId) {
        self.book.disown(member);
        self.renewals.remove(&member);
        self.announcements.drop_member(member);
        self.events.push_back(Event::Stored(member));
    }

    /// Takes in that there is a link to the home with this key, called by us at `address` or calling us.
    pub fn handle_linked(&mut self, link: LinkId, home: KeyId, address: Option<&Address>, now: Time) {
        self.links.insert(link, Link { home, address: address.cloned() });
        self.serve_searches(now);
        if self.is_peer(link) {
            let members: Vec<_> = self.book.own().map(Record::member).collect();
            for member in members {
                self.announce_over(link, member, 0, now);
            }
        }
    }

    /// Takes in that no link could be made to this address.
    pub fn handle_link_failed(&mut self, address: &Address, now: Time) {
        self.searches.link_failed(address);
        self.serve_searches(now);
    }

    /// Takes in that a link has ended.
    pub fn handle_unlinked(&mut self, link: LinkId, now: Time) {
        self.links.remove(&link);
        self.announcements.drop_link(link);
        self.searches.link_ended(link);
        self.serve_searches(now);
    }

    /// Takes a frame of another home in.
    pub fn handle_frame(&mut self, link: LinkId, bytes: &[u8], now: Time) {
        let Some(home) = self.links.get(&link).map(|link| link.home) else { return };
        match Unchecked::parse(bytes) {
            Ok(Unchecked::Ask { reference, member }) => self.answer(link, home, reference, member, now),
            Ok(Unchecked::Announce { reference, record }) => {
                self.handle_offer(link, home, reference, &record, now);
            }
            Ok(Unchecked::Answer { reference, record }) => {
                self.handle_answer(link, home, reference, &record, now)
            }
            Ok(Unchecked::Ended(ended)) => self.handle_end(link, home, ended, now),
            Err(error) => self.refuse(link, "malformed", error.to_string()),
        }
    }

    /// Looks for a contact's home: in the book, then at the homes that the contact names and the peers.
    ///
    /// The end of the search is an event, perhaps at once. A contact for whom there is a search already, or was none
    /// found a moment ago, costs nothing.
    pub fn handle_find(&mut self, contact: &Contact, now: Time) -> Search {
        let search = Search(self.next_reference());
        if let Some(record) = self.book.get(contact.member, now.unix_seconds()) {
            let record = Box::new(record.clone());
            self.events.push_back(Event::Found { search, record });
            return search;
        }
        self.begin(search, contact, None, now);
        search
    }

    /// Looks for a newer record than the one with this sequence, because its home did not answer there.
    pub fn handle_find_newer(&mut self, contact: &Contact, sequence: u64, now: Time) -> Search {
        let search = Search(self.next_reference());
        let known = self.book.get(contact.member, now.unix_seconds());
        if let Some(record) = known.filter(|record| record.sequence() > sequence) {
            let record = Box::new(record.clone());
            self.events.push_back(Event::Found { search, record });
            return search;
        }
        self.begin(search, contact, Some(sequence), now);
        search
    }

    /// Takes in a record that came in another way, for example by the DNS, so that the book knows it next time.
    ///
    /// # Errors
    /// [`BookError`].
    pub fn handle_learned(&mut self, record: Record, source: Source, now: Time) -> Result<(), BookError> {
        let member = record.member();
        self.book.admit(record, source, now.unix_seconds())?;
        self.searches.forget_negative(member);
        self.events.push_back(Event::Stored(member));
        Ok(())
    }

    /// Takes in that the time is now.
    pub fn handle_timeout(&mut self, now: Time) {
        self.searches.expire(now);
        self.serve_searches(now);
        self.announce_due(now);
        self.want_renewals(now);
    }

    /// The next frame to send, and on which link.
    pub fn poll_transmit(&mut self) -> Option<(LinkId, Vec<u8>)> {
        self.transmits.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`Directory::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Time> {
        let unreported = |record: &&Record| self.renewals.get(&record.member()) != Some(&record.sequence());
        let renewal = |record: &Record| record.ends().minus(self.config.renew_before).time();
        let renewals = self.book.own().filter(unreported).map(renewal).min();
        [self.searches.timeout(), self.announcements.timeout(), renewals].into_iter().flatten().min()
    }

    pub fn book(&self) -> &Book {
        &self.book
    }

    /// How many frames were refused, by kind.
    pub fn refusals(&self) -> &BTreeMap<&'static str, u64> {
        &self.refusals
    }

    fn answer(&mut self, link: LinkId, home: KeyId, reference: u64, member: KeyId, now: Time) {
        if let Err(wait) = self.asks.try_acquire(&home, now) {
            return self.end_limited(link, reference, wait);
        }
        let answer = match self.book.get(member, now.unix_seconds()) {
            Some(record) => Message::Answer { reference, record: record.clone() },
            None => {
                let retry_after = self.config.negative_for.0 / 1_000_000;
                Message::Ended { reference, outcome: Outcome::Unknown, retry_after }
            }
        };
        self.send(link, &answer);
    }

    fn handle_offer(&mut self, link: LinkId, home: KeyId, reference: u64, record: &[u8], now: Time) {
        let may = match self.config.admit {
            Admit::Anyone => true,
            Admit::Peers => self.is_peer(link),
            Admit::Nobody => false,
        };
        if !may {
            self.refuse(link, "not-a-peer", "records of this home are not taken here".to_owned());
            return self.end(link, reference, Outcome::Refused);
        }
        if let Err(wait) = self.offers.try_acquire(&home, now) {
            return self.end_limited(link, reference, wait);
        }
        let taken = Record::parse(record).map_err(BookError::from).and_then(|record| {
            let member = record.member();
            self.book
                .admit(record, Source::Home(home), now.unix_seconds())
                .map(|admission| (member, admission))
        });
        let outcome = match taken {
            Ok((member, admission)) => {
                self.searches.forget_negative(member);
                if admission != Admission::Known {
                    self.events.push_back(Event::Stored(member));
                }
                Outcome::Kept
            }
            Err(BookError::Older { .. }) => Outcome::Older,
            Err(error) => {
                self.refuse(link, error.kind(), error.to_string());
                Outcome::Refused
            }
        };
        self.end(link, reference, outcome);
    }

    /// An answer, if it is one to a question of ours.
    fn handle_answer(&mut self, link: LinkId, home: KeyId, reference: u64, record: &[u8], now: Time) {
        let Some(contact) = self.searches.asked(link, reference) else {
            return self.refuse(link, "not-asked", "an answer to no question of ours".to_owned());
        };
        let read = crate::accept(contact, record, now.unix_seconds());
        if let Ok(record) = &read
            && let Ok(Admission::New | Admission::Newer) =
                self.book.admit(record.clone(), Source::Home(home), now.unix_seconds())
        {
            self.events.push_back(Event::Stored(record.member()));
        }
        if let Err(error) = &read {
            self.refuse(link, "bad-answer", error.to_string());
        }
        self.searches.answered(link, reference, home, Answered::Record(Box::new(read)), &self.config, now);
        self.serve_searches(now);
    }

    fn handle_end(&mut self, link: LinkId, home: KeyId, ended: Ended, now: Time) {
        let Ended { reference, outcome, .. } = ended;
        if self.searches.asked(link, reference).is_some() {
            self.searches.answered(link, reference, home, Answered::Nothing(outcome), &self.config, now);
            return self.serve_searches(now);
        }
        if !self.handle_announced(link, home, ended, now) {
            self.refuse(link, "not-asked", "an end of nothing that we began".to_owned());
        }
    }

    fn begin(&mut self, search: Search, contact: &Contact, newer_than: Option<u64>, now: Time) {
        let refusal = self.searches.begin(search, contact, newer_than, &self.config, now);
        if let Err(reason) = refusal {
            return self.events.push_back(Event::NotFound { search, reason });
        }
        self.serve_searches(now);
    }

    /// Asks whom there is to ask, and says what has ended.
    fn serve_searches(&mut self, now: Time) {
        for ask in self.searches.waiting() {
            if let Some(link) = self.link_to(&ask.hint) {
                self.ask(&ask, link, now);
            }
        }
        while let Some(ask) = self.searches.next_ask(&self.config) {
            match self.link_to(&ask.hint) {
                Some(link) => self.ask(&ask, link, now),
                None if self.searches.wait_for_link(&ask, &self.config, now) => {
                    self.events.push_back(Event::LinkNeeded(ask.hint));
                }
                None => {}
            }
        }
        for (search, end) in self.searches.remove_ended(&self.config, now) {
            self.events.push_back(match end {
                Ok(record) => Event::Found { search, record: Box::new(record) },
                Err(reason) => Event::NotFound { search, reason },
            });
        }
    }

    fn link_to(&self, hint: &HomeHint) -> Option<LinkId> {
        self.links.iter().find(|(_, link)| link.is(hint)).map(|(&id, _)| id)
    }

    fn ask(&mut self, ask: &Ask, link: LinkId, now: Time) {
        let reference = self.next_reference();
        self.searches.sent(ask, link, reference, &self.config, now);
        self.send(link, &Message::Ask { reference, member: ask.member });
    }

    fn want_renewals(&mut self, now: Time) {
        let second = now.unix_seconds();
        for record in self.book.own() {
            let (member, sequence, ends) = (record.member(), record.sequence(), record.ends());
            if ends.minus(self.config.renew_before) <= second
                && self.renewals.insert(member, sequence) != Some(sequence)
            {
                self.events.push_back(Event::RenewalNeeded { member, ends });
            }
        }
    }

    fn is_peer(&self, link: LinkId) -> bool {
        self.links.get(&link).is_some_and(|link| self.config.peers.iter().any(|peer| link.is(peer)))
    }

    fn next_reference(&mut self) -> u64 {
        self.references += 1;
        self.references
    }

    fn send(&mut self, link: LinkId, message: &Message) {
        self.transmits.push_back((link, message.emit()));
    }

    fn end(&mut self, link: LinkId, reference: u64, outcome: Outcome) {
        self.send(link, &Message::Ended { reference, outcome, retry_after: 0 });
    }

    fn end_limited(&mut self, link: LinkId, reference: u64, wait: Micros) {
        self.refuse(link, "limited", "too many messages".to_owned());
        let retry_after = wait.0.div_ceil(1_000_000);
        self.send(link, &Message::Ended { reference, outcome: Outcome::Limited, retry_after });
    }

    fn refuse(&mut self, link: LinkId, kind: &'static str, reason: String) {
        *self.refusals.entry(kind).or_insert(0) += 1;
        self.events.push_back(Event::Refused(link, kind, reason));
    }
}

impl Link {
    /// Whether it leads to the home that is meant: by its key where that is known, else by the address we called.
    fn is(&self, hint: &HomeHint) -> bool {
        match hint.key {
            Some(key) => self.home == key,
            None => self.address.as_ref() == Some(&hint.address),
        }
    }
}

impl From<MessageError> for FindError {
    fn from(error: MessageError) -> Self {
        match error {
            MessageError::Record(error) => Self::Record(error),
            MessageError::Form(_) => Self::Way(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
