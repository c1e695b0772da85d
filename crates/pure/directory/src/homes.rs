//! Where homes of teams are that nobody here has met: a home asks those that it knows, and they may ask on.
//!
//! In: which teams the home knows and which of them have a link, what they send, the team that is looked for, the time. Out:
//! frames for teams ([`Homes::poll_transmit`]), and where a team's home is ([`HomesEvent`]).
//!
//! A home that has an address says so, signed, to whoever has a link to it ([`HomeMessage::Here`]). Who knows of a team
//! answers with that home's own word, [`HomeRecord`]: nobody can make one up, only keep silent.
//!
//! Invariants:
//! - a record counts by its two signatures and by the clock, never by who brought it; an older one replaces no newer one;
//! - a question is handed on at most [`HOPS_MAX`] times, and never to whoever has asked it; one home asks at most
//!   [`ASKED_MAX`] others for itself and [`HANDED_ON_MAX`] for somebody else; at the end there is one answer to each question;
//! - there is one look-up of one team at a time, and what came of it is remembered for [`TRIED_FOR`]: many who look for the
//!   same team cost one look-up, those that look for many teams so many a minute, however many they are;
//! - what others ask takes nothing of what this home may ask for itself.

mod message;
mod record;

use crate::Address;
use crate::limit::{Pace, Paces};
use guestright_ordered::OrderedMap;
use guestright_units::{Micros, TeamId, Time};
use message::Unchecked;
pub use message::{HomeMessage, is_home_message};
pub use record::HomeRecord;
use std::collections::{BTreeMap, VecDeque};

/// How often a question may be handed on.
const HOPS_MAX: u64 = 2;
/// How many homes are asked in one look-up of ours, and how many at first.
const ASKED_MAX: usize = 12;
const ASKED_AT_FIRST: usize = 6;
/// How many are asked in one that somebody else has asked for.
const HANDED_ON_MAX: usize = 3;
/// When those that were asked are silent, so many more are asked after so long.
const MORE: usize = 3;
const MORE_AFTER: Micros = Micros::from_millis(800);
/// How long a look-up lasts for each time that its question may still be handed on, and one more. Three of that and one more
/// for ours are less than a phone's question can wait.
const EACH_HOP: Micros = Micros::from_millis(900);
/// For how long what came of a look-up is remembered.
const TRIED_FOR: Micros = Micros::from_seconds(30);
/// After so long a record may be given once more as the answer to a look-up of ours.
const GIVEN_FOR: Micros = Micros::from_seconds(600);
/// After its end an answer is still read for so long: whoever tries again finds it.
const LATE_FOR: Micros = Micros::from_seconds(10);

/// Look-ups of ours at a time, how many can begin at once, and after how long one more.
const OWN_MAX: usize = 16;
const OWN_PACE: Pace = Pace { burst: 16, every: Micros::from_seconds(3) };
/// Those for others: at a time, of one home, at once and after how long one more, for one home and all together.
const OTHERS_MAX: usize = 32;
const OTHERS_EACH_MAX: usize = 4;
const OTHERS_PACE: Pace = Pace { burst: 32, every: Micros::from_millis(250) };
const OTHERS_EACH_PACE: Pace = Pace { burst: 8, every: Micros::from_seconds(2) };
/// How many homes wait for the end of one look-up.
const WAITING_MAX: usize = 16;
/// Questions of one team, whether they cost a look-up or not.
const ASKS_PACE: Pace = Pace { burst: 32, every: Micros::from_millis(200) };
/// What homes say of themselves is two signatures to check, for one team and all together.
const HERE_EACH_PACE: Pace = Pace { burst: 2, every: Micros::from_seconds(30) };
const HERE_PACE: Pace = Pace { burst: 64, every: Micros::from_millis(50) };
/// How many teams' paces are counted.
const PACES_MAX: usize = 1_024;
/// How many teams' records are kept.
const RECORDS_MAX: usize = 1_024;
/// How many teams are known as those that can be asked.
const KNOWN_MAX: usize = 4_096;
/// How many look-ups are remembered, and how many questions whose answer may come late.
const TRIED_MAX: usize = 1_024;
const LATE_MAX: usize = 256;

/// What comes of the wish to find a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seek {
    /// An event will say how it ended.
    UnderWay,
    /// There is nobody to ask, or nobody knew a moment ago.
    Nowhere,
    /// Too much is looked for.
    Crowded,
}

/// What has become known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HomesEvent {
    /// A home of the team says that it is there, the best address first.
    Found { team: TeamId, addresses: Vec<Address> },
    /// Nobody who was asked knows.
    NotFound(TeamId),
}

#[derive(Debug)]
struct Kept {
    record: HomeRecord,
    /// When something was said of the team last, as [`Homes::noted`] counts.
    noted: u64,
    /// Until then it is no news to us.
    given_until: Time,
}

/// A team that is looked for.
#[derive(Debug)]
struct Pursuit {
    /// Whether we want to know.
    is_own: bool,
    /// Who else does, and the references of their questions.
    waiting: Vec<(TeamId, u64)>,
    /// How many hops the question has left; whoever is asked gets one fewer.
    tried: u64,
    to_ask: VecDeque<TeamId>,
    asked: Vec<(TeamId, u64)>,
    /// How many may be silent at a time.
    parallel: usize,
    more_at: Time,
    until: Time,
}

/// A home's knowledge of where other homes are.
#[derive(Debug)]
pub struct Homes {
    own: TeamId,
    record: Option<HomeRecord>,
    records: OrderedMap<TeamId, Kept>,
    records_max: usize,
    noted: u64,
    /// Teams that can be asked, and whether there is a link.
    known: OrderedMap<TeamId, bool>,
    /// Who was asked last: the next look-up begins with those after it.
    last_asked: TeamId,
    pursuits: OrderedMap<TeamId, Pursuit>,
    /// Until when a team need not be looked for again with questions that are handed on so often.
    tried: OrderedMap<TeamId, (Time, u64)>,
    late: OrderedMap<(TeamId, u64), (TeamId, Time)>,
    own_pace: Paces<()>,
    others_pace: Paces<()>,
    others_each_pace: Paces<TeamId>,
    asks_pace: Paces<TeamId>,
    here_pace: Paces<()>,
    here_each_pace: Paces<TeamId>,
    references: u64,
    counts: BTreeMap<&'static str, u64>,
    transmits: VecDeque<(TeamId, Vec<u8>)>,
    events: VecDeque<HomesEvent>,
}

impl Homes {
    /// One that knows nobody.
    pub fn new(own: TeamId) -> Self {
        Self {
            own,
            record: None,
            records: OrderedMap::new(),
            records_max: RECORDS_MAX,
            noted: 0,
            known: OrderedMap::new(),
            last_asked: own,
            pursuits: OrderedMap::new(),
            tried: OrderedMap::new(),
            late: OrderedMap::new(),
            own_pace: Paces::new(OWN_PACE, 1),
            others_pace: Paces::new(OTHERS_PACE, 1),
            others_each_pace: Paces::new(OTHERS_EACH_PACE, PACES_MAX),
            asks_pace: Paces::new(ASKS_PACE, PACES_MAX),
            here_pace: Paces::new(HERE_PACE, 1),
            here_each_pace: Paces::new(HERE_EACH_PACE, PACES_MAX),
            references: 0,
            counts: BTreeMap::new(),
            transmits: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// What this home says of itself from now on.
    pub fn set_own(&mut self, record: HomeRecord) {
        self.record = Some(record);
    }

    /// There is a link to a home of the team, where there was none.
    pub fn handle_up(&mut self, team: TeamId, now: Time) {
        self.know(team, true);
        if let Some(record) = self.own_record(now) {
            self.send(team, &HomeMessage::Here { record });
        }
    }

    /// There is none any more: what the team was asked is lost.
    pub fn handle_down(&mut self, team: TeamId, now: Time) {
        self.know(team, false);
        self.handle_unsent(team, now);
    }

    /// The team can be reached, perhaps.
    pub fn handle_known(&mut self, team: TeamId) {
        let is_linked = self.known.get(&team).copied().unwrap_or(false);
        self.know(team, is_linked);
    }

    /// What was to be sent to the team was not.
    pub fn handle_unsent(&mut self, team: TeamId, now: Time) {
        let asked = self.pursuits.iter_mut().filter_map(|(wanted, pursuit)| {
            let before = pursuit.asked.len();
            pursuit.asked.retain(|(asked, _)| *asked != team);
            (pursuit.asked.len() < before).then_some(*wanted)
        });
        let asked: Vec<_> = asked.collect();
        asked.into_iter().for_each(|wanted| self.serve(wanted, now));
    }

    /// Looks for a team's home, because what is known of it led nowhere.
    pub fn find(&mut self, team: TeamId, now: Time) -> Seek {
        if team == self.own {
            return Seek::Nowhere;
        }
        if self.give(team, now) {
            return Seek::UnderWay;
        }
        if self.pursuits.get(&team).is_some_and(|pursuit| pursuit.is_own) {
            return Seek::UnderWay;
        }
        let tried = HOPS_MAX + 1;
        if self.was_tried(team, tried, now) || self.known.keys().all(|known| *known == team) {
            return Seek::Nowhere;
        }
        let own = self.pursuits.values().filter(|pursuit| pursuit.is_own).count();
        if own >= OWN_MAX || self.own_pace.try_acquire(&(), now).is_err() {
            self.count("too many are looked for");
            return Seek::Crowded;
        }
        if let Some(pursuit) = self.pursuits.get_mut(&team) {
            pursuit.is_own = true;
            return Seek::UnderWay;
        }
        let to_ask = self.to_ask(&[team], ASKED_MAX);
        let asks = Asks { to_ask, tried, parallel: ASKED_AT_FIRST };
        self.begin(team, true, Vec::new(), asks, now);
        Seek::UnderWay
    }

    /// A home of a team has sent a message for which [`is_home_message`] holds.
    pub fn handle_frame(&mut self, from: TeamId, bytes: &[u8], now: Time) {
        match Unchecked::parse(bytes) {
            Ok(Unchecked::Ask { reference, team, hops }) => {
                if let Some(answer) = self.answer(from, reference, team, hops.min(HOPS_MAX), now) {
                    self.send(from, &answer);
                }
            }
            Ok(Unchecked::Answer { reference, record }) => {
                self.handle_answer(from, reference, Some(&record), now);
            }
            Ok(Unchecked::Unknown { reference }) => self.handle_answer(from, reference, None, now),
            Ok(Unchecked::Here { record }) => self.handle_here(from, &record, now),
            Err(_) => self.count("malformed"),
        }
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        let due: Vec<_> = self.pursuits.keys().copied().collect();
        for team in due {
            let Some(pursuit) = self.pursuits.get_mut(&team) else { continue };
            if pursuit.until <= now {
                self.late.retain(|_, (_, until)| *until > now);
                let room = LATE_MAX.saturating_sub(self.late.len());
                let asked = pursuit.asked.drain(..).take(room);
                self.late.extend(asked.map(|question| (question, (team, now + LATE_FOR))));
                self.end_unknown(team, now);
            } else if pursuit.more_at <= now && !pursuit.to_ask.is_empty() {
                pursuit.parallel += MORE;
                pursuit.more_at = now + MORE_AFTER;
                self.serve(team, now);
            }
        }
    }

    /// The next frame to send, and to a home of which team; if that cannot be done, [`Self::handle_unsent`].
    pub fn poll_transmit(&mut self) -> Option<(TeamId, Vec<u8>)> {
        self.transmits.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<HomesEvent> {
        self.events.pop_front()
    }

    /// When [`Self::handle_timeout`] is wanted.
    pub fn poll_timeout(&self) -> Option<Time> {
        let due = |pursuit: &Pursuit| {
            if pursuit.to_ask.is_empty() { pursuit.until } else { pursuit.until.min(pursuit.more_at) }
        };
        self.pursuits.values().map(due).min()
    }

    /// Whether the team can be asked itself, perhaps.
    pub fn knows(&self, team: TeamId) -> bool {
        self.known.contains_key(&team)
    }

    /// How many records are known.
    pub fn record_count(&self) -> usize {
        self.records.len()
    }

    /// How many look-ups are under way.
    pub fn pursuit_count(&self) -> usize {
        self.pursuits.len()
    }

    /// What was not done, by reason.
    pub fn counts(&self) -> &BTreeMap<&'static str, u64> {
        &self.counts
    }

    /// The answer to a question, if it is known at once.
    fn answer(
        &mut self,
        from: TeamId,
        reference: u64,
        team: TeamId,
        hops: u64,
        now: Time,
    ) -> Option<HomeMessage> {
        let unknown = Some(HomeMessage::Unknown { reference });
        if self.asks_pace.try_acquire(&from, now).is_err() {
            self.count("too many questions of one team");
            return unknown;
        }
        let known = if team == self.own { self.own_record(now) } else { self.record(team, now).cloned() };
        if let Some(record) = known {
            return Some(HomeMessage::Answer { reference, record });
        }
        if team == self.own || team == from || self.was_tried(team, hops, now) {
            return unknown;
        }
        if let Some(pursuit) = self.pursuits.get_mut(&team) {
            // Who is being asked this itself would wait for us, and we for it.
            let is_asked = pursuit.asked.iter().any(|(asked, _)| *asked == from);
            if is_asked || pursuit.waiting.len() >= WAITING_MAX {
                return unknown;
            }
            pursuit.waiting.push((from, reference));
            return None;
        }
        let mut to_ask = if hops > 0 { self.to_ask(&[team, from], HANDED_ON_MAX) } else { VecDeque::new() };
        if self.known.contains_key(&team) {
            // It is somewhere, and says where when there is a link.
            to_ask.push_front(team);
            to_ask.truncate(HANDED_ON_MAX);
        }
        if to_ask.is_empty() || !self.may_hand_on(from, now) {
            return unknown;
        }
        let asks = Asks { to_ask, tried: hops, parallel: HANDED_ON_MAX };
        self.begin(team, false, vec![(from, reference)], asks, now);
        None
    }

    fn may_hand_on(&mut self, from: TeamId, now: Time) -> bool {
        let others = self.pursuits.values().filter(|pursuit| !pursuit.waiting.is_empty());
        let (all, each) = others.fold((0, 0), |(all, each), pursuit| {
            (all + 1, each + usize::from(pursuit.waiting.iter().any(|(asker, _)| *asker == from)))
        });
        let may = all < OTHERS_MAX
            && each < OTHERS_EACH_MAX
            && self.others_each_pace.try_acquire(&from, now).is_ok()
            && self.others_pace.try_acquire(&(), now).is_ok();
        if !may {
            self.count("too many to hand on");
        }
        may
    }

    fn begin(&mut self, team: TeamId, is_own: bool, waiting: Vec<(TeamId, u64)>, asks: Asks, now: Time) {
        let Asks { to_ask, tried, parallel } = asks;
        let until = now + Micros(EACH_HOP.0 * (tried + 1));
        let more_at = now + MORE_AFTER;
        let asked = Vec::new();
        let pursuit = Pursuit { is_own, waiting, tried, to_ask, asked, parallel, more_at, until };
        self.pursuits.insert(team, pursuit);
        self.serve(team, now);
    }

    /// Asks whom there is to ask, or ends the look-up.
    fn serve(&mut self, team: TeamId, now: Time) {
        let Some(pursuit) = self.pursuits.get_mut(&team) else { return };
        let (mut asks, hops) = (Vec::new(), pursuit.tried.saturating_sub(1));
        while pursuit.asked.len() < pursuit.parallel
            && let Some(whom) = pursuit.to_ask.pop_front()
        {
            self.references += 1;
            pursuit.asked.push((whom, self.references));
            asks.push((whom, HomeMessage::Ask { reference: self.references, team, hops }));
        }
        if pursuit.asked.is_empty() {
            return self.end_unknown(team, now);
        }
        for (whom, ask) in asks {
            self.last_asked = whom;
            self.send(whom, &ask);
        }
    }

    /// Somebody has answered, with a record or that it knows none.
    fn handle_answer(&mut self, from: TeamId, reference: u64, record: Option<&[u8]>, now: Time) {
        let question = (from, reference);
        let asked = self.pursuits.iter_mut().find_map(|(team, pursuit)| {
            let index = pursuit.asked.iter().position(|asked| *asked == question)?;
            pursuit.asked.swap_remove(index);
            Some(*team)
        });
        let late = || self.late.remove(&question).filter(|(_, until)| *until > now).map(|(team, _)| team);
        let Some(team) = asked.or_else(late) else { return self.count("unasked") };
        if let Some(record) = record {
            self.take(team, record, now);
        }
        self.tell(team, now);
        self.serve(team, now);
    }

    /// Says to all who wait for it where the team is, if that is known by now. What is no news to us does not end our own
    /// look-up.
    fn tell(&mut self, team: TeamId, now: Time) {
        let Some(record) = self.record(team, now).cloned() else { return };
        let Some(pursuit) = self.pursuits.get_mut(&team) else { return };
        let waiting = std::mem::take(&mut pursuit.waiting);
        let is_own = pursuit.is_own;
        for (asker, reference) in waiting {
            self.send(asker, &HomeMessage::Answer { reference, record: record.clone() });
        }
        if !is_own || self.give(team, now) {
            self.pursuits.remove(&team);
        }
    }

    /// Nobody knows.
    fn end_unknown(&mut self, team: TeamId, now: Time) {
        let Some(pursuit) = self.pursuits.remove(&team) else { return };
        self.remember(team, pursuit.tried, now);
        for (asker, reference) in pursuit.waiting {
            self.send(asker, &HomeMessage::Unknown { reference });
        }
        if pursuit.is_own {
            self.events.push_back(HomesEvent::NotFound(team));
        }
    }

    /// A home says where it is.
    fn handle_here(&mut self, from: TeamId, record: &[u8], now: Time) {
        if self.records.get(&from).is_some_and(|kept| kept.record.as_bytes() == record) {
            return self.note(from);
        }
        let may = self.here_each_pace.try_acquire(&from, now).is_ok()
            && self.here_pace.try_acquire(&(), now).is_ok();
        if !may {
            return self.count("too many records");
        }
        self.take(from, record, now);
        self.tell(from, now);
    }

    /// Keeps what counts and is newer than what is known.
    fn take(&mut self, team: TeamId, record: &[u8], now: Time) {
        let Ok(record) = HomeRecord::parse(record) else { return self.count("forged") };
        if record.team() != team {
            return self.count("of another team");
        }
        if record.check(now.unix_seconds()).is_err() {
            return self.count("over");
        }
        if self.records.get(&team).is_some_and(|kept| !record.replaces(&kept.record)) {
            return self.count("older");
        }
        if self.records.len() >= self.records_max && !self.records.contains_key(&team) {
            let is_linked = |team: &TeamId| self.known.get(team).copied().unwrap_or(false);
            let oldest = self.records.iter().min_by_key(|(team, kept)| (is_linked(team), kept.noted));
            if let Some(oldest) = oldest.map(|(team, _)| *team) {
                self.records.remove(&oldest);
            }
        }
        self.records.insert(team, Kept { record, noted: 0, given_until: Time(0) });
        self.note(team);
    }

    fn note(&mut self, team: TeamId) {
        self.noted += 1;
        if let Some(kept) = self.records.get_mut(&team) {
            kept.noted = self.noted;
        }
    }

    /// Gives the team's record to us as news, if there is one that is.
    fn give(&mut self, team: TeamId, now: Time) -> bool {
        let counts =
            |kept: &&mut Kept| kept.given_until <= now && kept.record.check(now.unix_seconds()).is_ok();
        let Some(kept) = self.records.get_mut(&team).filter(counts) else { return false };
        kept.given_until = now + GIVEN_FOR;
        let addresses = kept.record.addresses().to_vec();
        self.events.push_back(HomesEvent::Found { team, addresses });
        true
    }

    fn record(&self, team: TeamId, now: Time) -> Option<&HomeRecord> {
        let record = &self.records.get(&team)?.record;
        record.check(now.unix_seconds()).is_ok().then_some(record)
    }

    fn own_record(&self, now: Time) -> Option<HomeRecord> {
        self.record.clone().filter(|record| record.check(now.unix_seconds()).is_ok())
    }

    /// Whom to ask: those with a link first, and of both kinds first those that come after who was asked last.
    fn to_ask(&self, except: &[TeamId], max: usize) -> VecDeque<TeamId> {
        let others = self.known.iter().filter(|(team, _)| !except.contains(team));
        let mut others: Vec<_> =
            others.map(|(team, is_linked)| (!is_linked, *team <= self.last_asked, *team)).collect();
        others.sort_unstable();
        others.into_iter().take(max).map(|(_, _, team)| team).collect()
    }

    fn know(&mut self, team: TeamId, is_linked: bool) {
        if team == self.own {
            return;
        }
        if self.known.len() >= KNOWN_MAX && !self.known.contains_key(&team) {
            let unlinked = self.known.iter().find(|(_, is_linked)| !**is_linked).map(|(team, _)| *team);
            let Some(unlinked) = unlinked else { return };
            self.known.remove(&unlinked);
        }
        self.known.insert(team, is_linked);
    }

    fn was_tried(&self, team: TeamId, hops: u64, now: Time) -> bool {
        self.tried.get(&team).is_some_and(|(until, tried)| *until > now && *tried >= hops)
    }

    fn remember(&mut self, team: TeamId, hops: u64, now: Time) {
        if self.tried.len() >= TRIED_MAX {
            self.tried.retain(|_, (until, _)| *until > now);
        }
        if self.tried.len() < TRIED_MAX {
            self.tried.insert(team, (now + TRIED_FOR, hops));
        }
    }

    fn send(&mut self, team: TeamId, message: &HomeMessage) {
        self.transmits.push_back((team, message.emit()));
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }
}

/// Who is asked in a look-up, and how.
struct Asks {
    to_ask: VecDeque<TeamId>,
    tried: u64,
    parallel: usize,
}

#[cfg(test)]
mod tests;
