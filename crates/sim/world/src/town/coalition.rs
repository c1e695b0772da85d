//! Those who give little and want much, and each way to cheat that is known.

use super::hints::Hint;
use super::home::{Served, number, team};
use super::papers;
use super::people::{DAY, People, Team, Trip, bytes, count};
use super::settings::{Cheat, Rule, TownSettings};
use super::visit::{Visit, session};
use super::world::{Event, Name, World};
use crate::whole::nanos;
use guestright_credit::{HoldId, Message, Signed, Terms};
use guestright_engine::{Instant, Nanos, Stream, Streams};
use guestright_receipt::HoldUse;
use guestright_units::Bytes;
use rand::RngExt as _;
use std::collections::{BTreeMap, BTreeSet};

/// What a debt is said to be that somebody made up.
const CLAIMED: u64 = 2_000_000_000;
/// What a junk name signs for.
const JUNK_BYTES: u64 = 30;
/// How often the coalition looks again at who owes it what.
const LOOK: Nanos = Nanos::from_seconds(600);

#[derive(Debug)]
pub(super) struct Coalition {
    pub(super) chance: Stream,
    /// Its homes, which really serve.
    pub(super) homes: Vec<u32>,
    /// The homes that it visits.
    targets: Vec<u32>,
    /// The next name that nobody has had.
    names: Name,
    junk: Vec<Name>,
    /// Which team was asked for the daily tolerance on which day.
    claimed: BTreeSet<(u32, u64)>,
    /// What homes owe it, the most first, and when that was looked up.
    debts: Vec<Hint>,
    looked: Option<Instant>,
    /// double-cashing: what it has reserved for each visit at its own home, and what is good of it.
    cashing: BTreeMap<u32, Vec<(HoldId, Terms, bool)>>,
    /// early-release: who asked, and for what.
    forwarded: BTreeMap<HoldId, (Name, Terms)>,
}

impl Coalition {
    pub(super) fn new(settings: &TownSettings, people: &People, streams: &Streams) -> Self {
        let numbered = || (0_u32..).zip(&people.teams);
        let homes: Vec<u32> = numbered().filter(|(_, team)| team.hostile).map(|(index, _)| index).collect();
        let is_target = |team: &Team| !team.hostile && (team.serves || !settings.coalition.knows_homes);
        let targets = numbered().filter(|(_, team)| is_target(team)).map(|(index, _)| index).collect();
        let first = count(people.teams.len());
        let junk = settings.coalition.junk_names;
        Self {
            chance: streams.stream("coalition", 0),
            homes,
            targets,
            names: first + junk,
            junk: (first..first + junk).collect(),
            claimed: BTreeSet::new(),
            debts: Vec::new(),
            looked: None,
            cashing: BTreeMap::new(),
            forwarded: BTreeMap::new(),
        }
    }

    pub(super) fn fresh(&mut self) -> Name {
        self.names += 1;
        self.names - 1
    }

    fn target(&mut self, people: &People, now: Instant) -> Option<u32> {
        let index = self.chance.random_range(0..self.targets.len().max(1));
        let target = self.targets.get(index).copied();
        target.filter(|index| people.teams[*index as usize].serves_at(now))
    }
}

impl World<'_> {
    /// Somebody of the coalition goes to some home.
    pub(super) fn attempt(&mut self) {
        let now = self.now();
        let Some(provider) = self.coalition.target(&self.people, now) else { return };
        let wants = bytes(self.settings.coalition.wants_mb);
        if self.settings.policy != Rule::Credit {
            return papers::attempt(self, provider, wants);
        }
        let guest = self.introduce(provider);
        let is_patient = self.settings.coalition.cheat == Cheat::Dice;
        self.begin_visit(guest, provider, wants, if is_patient { self.settings.coalition.tries } else { 1 });
    }

    /// A visit of the coalition is over; with patience it comes back under another name.
    pub(super) fn try_again(&mut self, visit: &Visit) {
        if visit.got > 0 && visit.got < visit.wants && visit.tries > 1 {
            let guest = self.introduce(visit.provider);
            self.begin_visit(guest, visit.provider, visit.wants - visit.got, visit.tries - 1);
        }
        self.tally.attempted(visit.got);
    }

    /// The name under which somebody comes, once the home was shown what helps most.
    fn introduce(&mut self, provider: u32) -> Name {
        let cheat = self.settings.coalition.cheat;
        let name = self.coalition.fresh();
        let Some(&home) = self.coalition.homes.first().filter(|_| cheat.vouches()) else { return name };
        let debts = self.debts(provider);
        let shown_max = self.settings.credit.shown_max;
        let claim = |debtor, creditor| Hint { debtor, creditor, bytes: CLAIMED };
        // The vouching home's own people come first and show what it is owed.
        let mut first: Vec<Hint> = debts.iter().copied().take(shown_max).collect();
        if cheat == Cheat::SpoofedDebts {
            let owing = |coalition: &mut Coalition| {
                coalition.targets.get(coalition.chance.random_range(0..coalition.targets.len())).copied()
            };
            first = (0..shown_max)
                .filter_map(|_| owing(&mut self.coalition))
                .map(|debtor| claim(debtor, home))
                .collect();
        }
        let (guest, then) = match cheat {
            Cheat::Ring => {
                let ring = self.coalition.fresh();
                first.push(claim(ring, home));
                (name, vec![claim(home, ring), claim(ring, name)])
            }
            Cheat::EarlyRelease => {
                let other = self.coalition.homes.get(1).copied().unwrap_or(home);
                (home, debts.iter().take(8).map(|hint| claim(other, hint.debtor)).collect())
            }
            Cheat::None
            | Cheat::Whitewash
            | Cheat::Fan
            | Cheat::OverClaims
            | Cheat::Junk
            | Cheat::Flood
            | Cheat::Dice
            | Cheat::SpoofedDebts
            | Cheat::Silent
            | Cheat::Crashes
            | Cheat::DoubleCashing => (name, vec![claim(home, name)]),
        };
        let now = self.now();
        let host = &mut self.homes[provider as usize];
        let given = host.holds.accounts().get(team(home)).given.0;
        host.hints.accept(&first, given, now);
        for hint in then {
            host.hints.accept(&[hint], 0, now);
        }
        guest
    }

    /// What honest homes owe the coalition's home, the most first. It knows everything.
    fn debts(&mut self, provider: u32) -> Vec<Hint> {
        let now = self.now();
        let Some(&creditor) = self.coalition.homes.first() else { return Vec::new() };
        if self.coalition.looked.is_none_or(|looked| now.since(looked) >= LOOK) {
            self.coalition.looked = Some(now);
            let owed = |&debtor: &u32| {
                let bytes = self.homes[debtor as usize].holds.accounts().spendable(team(creditor)).0;
                (bytes > 0).then_some(Hint { debtor, creditor, bytes })
            };
            let everybody = 0..count(self.people.teams.len());
            let mut debts: Vec<Hint> =
                everybody.filter(|index| !self.is_hostile(*index)).filter_map(|index| owed(&index)).collect();
            debts.sort_by_key(|hint| std::cmp::Reverse(hint.bytes));
            self.coalition.debts = debts;
        }
        self.coalition.debts.iter().copied().filter(|hint| hint.debtor != provider).collect()
    }

    /// An honest guest at the coalition's home, which serves everybody all that is wanted.
    pub(super) fn begin_at_coalition(&mut self, trip: Trip) {
        let gives_max = bytes(self.settings.coalition.gives_max_mb);
        if gives_max > 0 && self.tally.given >= gives_max {
            return;
        }
        let id = self.new_visit(trip.guest, trip.provider, trip.wants, 0);
        if self.settings.coalition.cheat == Cheat::DoubleCashing && self.settings.policy == Rule::Credit {
            self.reserve_twice(id, trip);
        }
        let line = self.settings.people.line_mbps * 1e6 / 8.0;
        let lasts = Nanos::from_millis(500) + nanos(trip.wants as f64 / line * 1e9);
        self.queue.push(self.now() + lasts, Event::ServedByCoalition(id));
    }

    pub(super) fn finish_at_coalition(&mut self, id: u32) {
        let Some(visit) = self.visits.remove(&id) else { return };
        let day = self.now().0 / DAY.0;
        let mut claim = visit.wants;
        if self.settings.coalition.cheat == Cheat::OverClaims {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a visit")]
            let share = (visit.wants as f64 * self.settings.coalition.claim_share) as u64;
            let is_first = self.coalition.claimed.insert((visit.guest, day));
            let mut daily = 0;
            if is_first {
                daily = self.settings.coalition.claim_kb * 1_024;
                self.tally.asked_ahead();
            }
            claim += share + daily;
        }
        self.tally.served_elsewhere(visit.guest, self.queue.now());
        self.tally.given += visit.wants;
        self.tally.signed += claim;
        if self.settings.policy != Rule::Credit {
            return papers::note(self, visit.guest, visit.provider, claim);
        }
        let on_hold = self.cash_twice(id, &visit, claim);
        let home = &mut self.homes[visit.guest as usize];
        home.signed(visit.provider, claim, claim - on_hold);
        let output = home.drain();
        self.speak(visit.guest, output);
    }

    /// A message to somebody who keeps to no rule: all is good, and nothing is written.
    pub(super) fn deceive(&mut self, from: Name, to: Name, message: Message) {
        let id = message.id();
        match message {
            Message::Hold { terms, proof } => {
                let next = terms.path().skip_while(|hop| *hop != team(to)).nth(1).map(number);
                match next.filter(|next| !self.is_hostile(*next)) {
                    Some(next) => {
                        self.coalition.forwarded.insert(id, (from, terms.clone()));
                        self.post(to, next, Message::Hold { terms, proof });
                    }
                    None => self.post(to, from, Message::Good { id }),
                }
            }
            Message::Good { .. } => {
                if let Some((asked, terms)) = self.coalition.forwarded.remove(&id) {
                    self.post(to, asked, Message::Good { id });
                    // The next home is told at once that nothing was used.
                    self.post(to, from, Message::Commit { terms, proof: None });
                }
                for (hold, _, good) in self.coalition.cashing.values_mut().flatten() {
                    *good |= *hold == id;
                }
            }
            Message::Refused { available, .. } => {
                if let Some((asked, _)) = self.coalition.forwarded.remove(&id) {
                    self.post(to, asked, Message::Refused { id, available });
                }
            }
            Message::Commit { .. } => self.post(to, from, Message::Done { id }),
            Message::Done { .. } => {}
        }
    }

    /// junk: names that sign for next to nothing, so that members show them in place of what helps.
    pub(super) fn junk(&mut self) {
        let now = self.now();
        for home in self.coalition.targets.clone() {
            if !self.people.teams[home as usize].serves {
                continue;
            }
            for &name in &self.coalition.junk {
                match &mut self.papers {
                    Some(papers) => papers.note(name, home, JUNK_BYTES, None, now),
                    None => {
                        let session = session(home, name, now);
                        let served =
                            Served { credit: 0, allowance: JUNK_BYTES, allowance_of_session: JUNK_BYTES };
                        self.homes[home as usize].served(session, name, served, now);
                    }
                }
            }
            let output = self.homes[home as usize].drain();
            self.speak(home, output);
        }
    }

    /// double-cashing: two homes that owe the guest are asked to reserve for one visit.
    fn reserve_twice(&mut self, id: u32, trip: Trip) {
        let shown = self.homes[trip.guest as usize].shown(self.settings.credit.shown_max, &mut self.chance);
        let end = self.now().time().unix_seconds().plus(3_600);
        let Some(session) = self.visits.get(&id).map(|visit| visit.session) else { return };
        let honest = shown.into_iter().filter(|hint| !self.is_hostile(hint.debtor));
        let debts: Vec<Hint> = honest.filter(|hint| hint.bytes >= Terms::AMOUNT_MIN.0).take(2).collect();
        for hint in debts {
            let terms = Terms {
                provider: team(trip.provider),
                between: vec![team(hint.debtor)],
                consumer: team(trip.guest),
                amount: Bytes(hint.bytes.min(8_000_000)),
                end,
                nonce: self.coalition.chance.random::<u128>().to_be_bytes(),
            };
            let signed = Signed {
                session,
                consumer: team(trip.guest),
                weight: Bytes(0),
                hold: None,
                on_holds: Bytes(0),
            };
            let proof = self.sign(signed);
            self.coalition.cashing.entry(id).or_default().push((terms.id(), terms.clone(), false));
            self.post(trip.provider, hint.debtor, Message::Hold { terms, proof });
        }
    }

    /// The guest's receipt names one hold. It is cashed there twice, and at the other. Returns what is on the hold.
    fn cash_twice(&mut self, id: u32, visit: &Visit, claim: u64) -> u64 {
        let holds = self.coalition.cashing.remove(&id).unwrap_or_default();
        let Some((named, terms, _)) = holds.iter().find(|(.., good)| *good) else { return 0 };
        let on_hold = claim.min(terms.amount.0);
        let hold = Some(HoldUse { id: *named, weight: Bytes(on_hold) });
        let (session, consumer) = (visit.session, team(visit.guest));
        let signed = Signed { session, consumer, weight: Bytes(claim), hold, on_holds: Bytes(on_hold) };
        let proof = self.sign(signed);
        for (_, terms, _) in &holds {
            let Some(&debtor) = terms.between.first() else { continue };
            for _ in 0..2 {
                let message = Message::Commit { terms: terms.clone(), proof: Some(proof.clone()) };
                self.post(visit.provider, number(debtor), message);
            }
        }
        on_hold
    }
}
