//! Questions under way.

use super::{Config, LinkId, Search};
use crate::{Address, Contact, FindError, HomeHint, Outcome, Record, RecordError};
use guestright_identity::KeyId;
use guestright_ordered::OrderedMap;
use guestright_units::{Micros, Time};
use std::collections::VecDeque;

/// How many members of whom nobody knew are remembered.
const NEGATIVE_MAX: usize = 256;

/// One that is looked for; several members of ours may want to know.
#[derive(Debug)]
struct Pursuit {
    contact: Contact,
    newer_than: Option<u64>,
    waiting: Vec<Search>,
    to_ask: VecDeque<HomeHint>,
    asked: Vec<Asked>,
    best: Option<Record>,
    /// When the best answer is good enough.
    settles: Option<Time>,
    /// What went wrong with each home, for people.
    troubles: Vec<String>,
    unanswered: bool,
    bad_record: Option<RecordError>,
}

#[derive(Debug)]
struct Asked {
    hint: HomeHint,
    /// The link and the reference of the question; nothing while there is no link yet.
    sent: Option<(LinkId, u64)>,
    until: Time,
}

/// Somebody to ask.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) hint: HomeHint,
    pub(super) member: KeyId,
    pursuit: u64,
}

/// What came back.
#[derive(Debug)]
pub(super) enum Answered {
    Record(Box<Result<Record, RecordError>>),
    Nothing(Outcome),
}

#[derive(Debug, Default)]
pub(super) struct Searches {
    pursuits: OrderedMap<u64, Pursuit>,
    negative: OrderedMap<KeyId, (Time, Contact, FindError)>,
    next: u64,
}

impl Searches {
    pub(super) fn begin(
        &mut self,
        search: Search,
        contact: &Contact,
        newer_than: Option<u64>,
        config: &Config,
        now: Time,
    ) -> Result<(), FindError> {
        self.negative.retain(|_, (until, _, _)| *until > now);
        if let Some((_, asked, reason)) = self.negative.get(&contact.member)
            && asked.homes == contact.homes
        {
            return Err(reason.clone());
        }
        let same = |pursuit: &&mut Pursuit| {
            pursuit.contact.member == contact.member
                && pursuit.contact.homes == contact.homes
                && pursuit.newer_than == newer_than
        };
        let waiting: usize = self.pursuits.values().map(|pursuit| pursuit.waiting.len()).sum();
        if waiting >= config.searches_max {
            return Err(FindError::Limited { seconds: config.answer_max.0.div_ceil(1_000_000) });
        }
        if let Some(pursuit) = self.pursuits.values_mut().find(same) {
            pursuit.waiting.push(search);
            return Ok(());
        }
        let mut to_ask: VecDeque<HomeHint> = VecDeque::new();
        for hint in contact.homes.iter().chain(&config.peers) {
            let known = to_ask
                .iter()
                .any(|other| other.address == hint.address || (other.key.is_some() && other.key == hint.key));
            if !known {
                to_ask.push_back(hint.clone());
            }
        }
        if to_ask.is_empty() {
            return Err(FindError::NoHint("home, and this home has no peers"));
        }
        self.next += 1;
        let pursuit = Pursuit {
            contact: contact.clone(),
            newer_than,
            waiting: vec![search],
            to_ask,
            asked: Vec::new(),
            best: None,
            settles: None,
            troubles: Vec::new(),
            unanswered: false,
            bad_record: None,
        };
        self.pursuits.insert(self.next, pursuit);
        Ok(())
    }

    /// The questions that wait for a link.
    pub(super) fn waiting(&self) -> Vec<Ask> {
        let mut waiting = Vec::new();
        for (&id, pursuit) in &self.pursuits {
            for asked in pursuit.asked.iter().filter(|asked| asked.sent.is_none()) {
                let (hint, member) = (asked.hint.clone(), pursuit.contact.member);
                waiting.push(Ask { hint, member, pursuit: id });
            }
        }
        waiting
    }

    /// The next one to ask.
    pub(super) fn next_ask(&mut self, config: &Config) -> Option<Ask> {
        for (&id, pursuit) in &mut self.pursuits {
            if pursuit.asked.len() < config.parallel_max
                && let Some(hint) = pursuit.to_ask.pop_front()
            {
                return Some(Ask { hint, member: pursuit.contact.member, pursuit: id });
            }
        }
        None
    }

    /// Takes in that a question was sent, which may have waited for its link.
    pub(super) fn sent(&mut self, ask: &Ask, link: LinkId, reference: u64, config: &Config, now: Time) {
        let Some(pursuit) = self.pursuits.get_mut(&ask.pursuit) else { return };
        pursuit.asked.retain(|asked| asked.sent.is_some() || asked.hint != ask.hint);
        let until = now + config.answer_max;
        pursuit.asked.push(Asked { hint: ask.hint.clone(), sent: Some((link, reference)), until });
    }

    /// Takes in that a question waits for a link; says whether the link has to be asked for, or was already.
    pub(super) fn wait_for_link(&mut self, ask: &Ask, config: &Config, now: Time) -> bool {
        let others = self.pursuits.values().flat_map(|pursuit| &pursuit.asked);
        let is_new = !others.filter(|asked| asked.sent.is_none()).any(|asked| asked.hint == ask.hint);
        if let Some(pursuit) = self.pursuits.get_mut(&ask.pursuit) {
            pursuit.asked.push(Asked { hint: ask.hint.clone(), sent: None, until: now + config.link_max });
        }
        is_new
    }

    pub(super) fn link_failed(&mut self, address: &Address) {
        let is_it = |asked: &Asked| asked.sent.is_none() && asked.hint.address == *address;
        self.give_up(is_it, "cannot be reached");
    }

    pub(super) fn link_ended(&mut self, link: LinkId) {
        self.give_up(|asked| asked.sent.is_some_and(|(id, _)| id == link), "hung up");
    }

    pub(super) fn expire(&mut self, now: Time) {
        self.give_up(|asked| asked.until <= now, "did not answer in time");
    }

    fn give_up(&mut self, is_it: impl Fn(&Asked) -> bool, what: &str) {
        for pursuit in self.pursuits.values_mut() {
            let gone = pursuit.asked.extract_if(.., |asked| is_it(asked));
            for asked in gone {
                pursuit.troubles.push(format!("{} {what}", asked.hint.address));
                pursuit.unanswered = true;
            }
        }
    }

    /// For whom this question was, if it is one of ours that is not answered yet.
    pub(super) fn asked(&self, link: LinkId, reference: u64) -> Option<&Contact> {
        let is_it = |asked: &Asked| asked.sent == Some((link, reference));
        self.pursuits.values().find(|pursuit| pursuit.asked.iter().any(is_it)).map(|pursuit| &pursuit.contact)
    }

    pub(super) fn answered(
        &mut self,
        link: LinkId,
        reference: u64,
        home: KeyId,
        answer: Answered,
        config: &Config,
        now: Time,
    ) {
        let is_it = |asked: &Asked| asked.sent == Some((link, reference));
        for pursuit in self.pursuits.values_mut() {
            let Some(index) = pursuit.asked.iter().position(is_it) else { continue };
            let address = pursuit.asked.remove(index).hint.address;
            match answer {
                Answered::Record(read) => match *read {
                    Ok(record) => pursuit.consider(record, home, &address, config, now),
                    Err(error) => {
                        pursuit.troubles.push(format!("{address} answered wrongly: {error}"));
                        pursuit.bad_record = Some(error);
                    }
                },
                Answered::Nothing(Outcome::Limited) => {
                    pursuit.troubles.push(format!("{address} is too busy"))
                }
                Answered::Nothing(_) => pursuit.troubles.push(format!("{address} does not know")),
            }
            return;
        }
    }

    /// The searches that have ended, and how.
    pub(super) fn remove_ended(
        &mut self,
        config: &Config,
        now: Time,
    ) -> Vec<(Search, Result<Record, FindError>)> {
        let mut ended = Vec::new();
        let over: Vec<u64> =
            self.pursuits.iter().filter(|(_, pursuit)| pursuit.is_over(now)).map(|(&id, _)| id).collect();
        for id in over {
            let Some(pursuit) = self.pursuits.remove(&id) else { continue };
            let end = pursuit.end(config);
            if let Err(reason) = &end
                && self.negative.len() < NEGATIVE_MAX
            {
                let until = now + config.negative_for;
                self.negative
                    .insert(pursuit.contact.member, (until, pursuit.contact.clone(), reason.clone()));
            }
            ended.extend(pursuit.waiting.into_iter().map(|search| (search, end.clone())));
        }
        ended
    }

    pub(super) fn forget_negative(&mut self, member: KeyId) {
        self.negative.remove(&member);
    }

    pub(super) fn timeout(&self) -> Option<Time> {
        let asked = self.pursuits.values().flat_map(|pursuit| pursuit.asked.iter().map(|asked| asked.until));
        asked.chain(self.pursuits.values().filter_map(|pursuit| pursuit.settles)).min()
    }
}

impl Pursuit {
    fn consider(&mut self, record: Record, home: KeyId, address: &Address, config: &Config, now: Time) {
        if self.newer_than.is_some_and(|known| record.sequence() <= known) {
            return self.troubles.push(format!("{address} knows nothing newer"));
        }
        // The member's own home has the last word; from others a newer one may still come.
        let settles = if record.home() == home { now } else { now + config.settle };
        self.settles = Some(self.settles.map_or(settles, |before| before.min(settles)));
        if self.best.as_ref().is_none_or(|best| record.replaces(best)) {
            self.best = Some(record);
        }
    }

    fn is_over(&self, now: Time) -> bool {
        let nobody_left = self.asked.is_empty() && self.to_ask.is_empty();
        nobody_left || (self.best.is_some() && self.settles.is_some_and(|at| at <= now))
    }

    fn end(&self, config: &Config) -> Result<Record, FindError> {
        if let Some(record) = &self.best {
            return Ok(record.clone());
        }
        if let Some(error) = &self.bad_record {
            return Err(error.clone().into());
        }
        let whom = self.troubles.join("; ");
        if self.unanswered {
            let Micros(waited) = config.answer_max.max(config.link_max);
            return Err(FindError::NoAnswer { whom, seconds: waited.div_ceil(1_000_000) });
        }
        Err(FindError::Unknown(whom))
    }
}
