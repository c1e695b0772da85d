//! Names that say whatever can be said: as provider, between and as consumer, together.

use super::check::Violation;
use super::world::World;
use crate::message::{Message, Signed};
use crate::terms::Terms;
use guestright_identity::MemberId;
use guestright_receipt::{HoldId, HoldUse, SessionKey};
use guestright_units::{Bytes, TeamId};
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;

/// A session of an honest member at a hostile provider.
struct Service {
    session: SessionKey,
    consumer: usize,
    weight: u64,
    /// The hold that it is on, and how much of it was signed for.
    /// The hold that was used last, and whether it still is.
    hold: Option<HoldUse>,
    is_on_hold: bool,
    on_holds: u64,
    /// The holds that were asked for with its consent, and not used yet.
    holds: Vec<HoldId>,
    /// The latest receipt.
    receipt: usize,
}

pub(super) struct Hostile {
    names: Vec<TeamId>,
    /// All terms that they ever saw or made.
    terms: Vec<(HoldId, Terms)>,
    /// To whom, from which honest home, what.
    inbox: Vec<(TeamId, TeamId, Message)>,
    services: Vec<Service>,
    fresh: u8,
    /// The commits that honest homes repeat until they are answered.
    owed: BTreeSet<(TeamId, TeamId, HoldId)>,
}

impl Hostile {
    pub(super) fn new(count: u8) -> Self {
        let names = (0..count).map(|number| TeamId([101 + number; 24])).collect();
        Self {
            names,
            terms: Vec::new(),
            inbox: Vec::new(),
            services: Vec::new(),
            fresh: 150,
            owed: BTreeSet::new(),
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = TeamId> + '_ {
        self.names.iter().copied()
    }

    pub(super) fn any(&self, rng: &mut ChaCha8Rng) -> Option<TeamId> {
        (!self.names.is_empty()).then(|| self.names[rng.random_range(0..self.names.len())])
    }

    pub(super) fn learn(&mut self, terms: &Terms) {
        if terms.path().any(|team| self.names.contains(&team)) {
            let id = terms.id();
            if !self.terms.iter().any(|(known, _)| *known == id) {
                self.terms.push((id, terms.clone()));
            }
        }
    }

    pub(super) fn receive(&mut self, to: TeamId, from: TeamId, message: Message) {
        match &message {
            Message::Hold { terms, .. } => self.learn(terms),
            Message::Commit { terms, .. } => {
                self.owed.insert((to, from, terms.id()));
            }
            Message::Good { .. } | Message::Refused { .. } | Message::Done { .. } => {}
        }
        let packet = (to, from, message);
        if !self.inbox.contains(&packet) {
            self.inbox.push(packet);
        }
    }

    /// The acknowledgements that are due at the end: from, to, of what.
    pub(super) fn acknowledge_all(&mut self) -> BTreeSet<(TeamId, TeamId, HoldId)> {
        std::mem::take(&mut self.owed)
    }
}

impl World {
    pub(super) fn act_hostile(&mut self) -> Result<(), Violation> {
        if self.hostile.names.is_empty() {
            return Ok(());
        }
        match self.rng.random_range(0..100) {
            0..20 => self.answer(),
            20..38 => self.ask_hostile(),
            38..46 => self.scheme(),
            46..70 => self.commit_hostile(),
            70..84 => self.say_anything(),
            84..98 => self.serve_hostile(),
            _ => {
                let name = TeamId([self.hostile.fresh; 24]);
                self.hostile.fresh = self.hostile.fresh.saturating_add(1);
                self.hostile.names.push(name);
                Ok(())
            }
        }
    }

    /// One of them answers, as it should or not.
    pub(super) fn answer(&mut self) -> Result<(), Violation> {
        if self.hostile.inbox.is_empty() {
            return Ok(());
        }
        let count = self.hostile.inbox.len();
        let from = if self.chance(70) { count.saturating_sub(3) } else { 0 };
        let number = self.rng.random_range(from..count);
        let (own, from, message) = self.hostile.inbox.remove(number);
        let id = message.id();
        match message {
            Message::Hold { terms, proof } => match self.rng.random_range(0..10) {
                0..6 => self.deliver(own, from, Message::Good { id }),
                6 => {
                    let available = Bytes(self.rng.random());
                    self.deliver(own, from, Message::Refused { id, available })
                }
                7 => {
                    self.deliver(own, from, Message::Good { id })?;
                    self.deliver(own, from, Message::Refused { id, available: Bytes(0) })
                }
                _ => self.pass_on(own, &terms.clone(), Message::Hold { terms, proof }),
            },
            Message::Commit { terms, proof } => {
                if self.chance(70) {
                    self.deliver(own, from, Message::Done { id })?;
                }
                self.pass_on(own, &terms.clone(), Message::Commit { terms, proof })
            }
            Message::Good { .. } if self.chance(50) => self.commit_terms(id),
            Message::Good { .. } | Message::Refused { .. } | Message::Done { .. } => Ok(()),
        }
    }

    fn pass_on(&mut self, own: TeamId, terms: &Terms, message: Message) -> Result<(), Violation> {
        let next = terms.position(own).and_then(|at| at.next);
        next.map_or(Ok(()), |next| self.deliver(own, next, message))
    }

    /// One of them asks an honest home to reserve, for a session among themselves or one of an honest guest.
    fn ask_hostile(&mut self) -> Result<(), Violation> {
        let Some(provider) = self.hostile.any(&mut self.rng) else {
            return Ok(());
        };
        let home = self.any_home();
        let honest = self.homes[home].team;
        let hostile = if self.chance(85) { self.hostile.any(&mut self.rng) } else { None };
        let consumer = hostile.unwrap_or(honest);
        let first = self.homes[self.rng.random_range(0..self.homes.len())].team;
        if provider == consumer || consumer == first {
            return Ok(());
        }
        // Some paths lead over a home that owes the consumer nothing.
        let path = if self.chance(20) && first != honest {
            Some((vec![honest], self.arc(first, honest)))
        } else {
            None
        };
        let Some((mut between, available)) = path.or_else(|| self.path(first, consumer)) else {
            return Ok(());
        };
        if available < Terms::AMOUNT_MIN.0 || between.contains(&consumer) {
            return Ok(());
        }
        if between.len() == Terms::BETWEEN_MAX || between.contains(&provider) {
            return Ok(());
        }
        between.insert(0, first);
        let amount =
            if self.chance(60) { available } else { self.rng.random_range(Terms::AMOUNT_MIN.0..=available) };
        let terms = self.ask(provider, between, consumer, amount)?;
        if self.chance(70) {
            self.hurry()?;
        }
        if self.chance(15) { self.commit_terms(terms.id()) } else { Ok(()) }
    }

    /// Two honest homes between hostile names, of which the second owes the consumer something, or nothing any more.
    fn scheme(&mut self) -> Result<(), Violation> {
        let teams: Vec<_> = self.homes.iter().map(|home| home.team).collect();
        let min = Terms::AMOUNT_MIN.0;
        let is_empty = self.chance(30);
        let mut found = Vec::new();
        for &first in &teams {
            for &second in teams.iter().filter(|team| **team != first && self.arc(first, **team) >= min) {
                for consumer in self.hostile.names() {
                    let last = self.arc(second, consumer);
                    if (last < min) == is_empty {
                        let amount = if is_empty { min } else { last };
                        found.push((first, second, consumer, amount.min(self.arc(first, second))));
                    }
                }
            }
        }
        let Some(provider) = self.hostile.any(&mut self.rng).filter(|_| !found.is_empty()) else {
            return Ok(());
        };
        let (first, second, consumer, amount) = found[self.rng.random_range(0..found.len())];
        if provider == consumer {
            return Ok(());
        }
        let terms = self.ask(provider, vec![first, second], consumer, amount)?;
        if is_empty { self.commit_terms(terms.id()) } else { self.hurry() }
    }

    fn ask(
        &mut self,
        provider: TeamId,
        between: Vec<TeamId>,
        consumer: TeamId,
        amount: u64,
    ) -> Result<Terms, Violation> {
        let (now, first) = (self.now.unix_seconds(), between[0]);
        let amount = Bytes(amount.min(2_000_000));
        let end = now.plus(self.rng.random_range(400..86_000));
        let terms = Terms { provider, between, consumer, amount, end, nonce: self.rng.random() };
        self.hostile.learn(&terms);
        let number = match self.honest(consumer) {
            Some(index) => {
                let at = self.service(provider, index);
                let service = &mut self.hostile.services[at];
                service.holds.push(terms.id());
                service.receipt
            }
            None => self.sign_any(&terms, None).unwrap_or(usize::MAX),
        };
        let proof = Self::proof(number);
        self.deliver(provider, first, Message::Hold { terms: terms.clone(), proof })?;
        Ok(terms)
    }

    /// They sign whatever they like, for their own members. For others they only have what those signed.
    fn sign_any(&mut self, terms: &Terms, hold: Option<HoldUse>) -> Option<usize> {
        let started = terms.end.minus(86_000 + u64::from(self.chance(10)));
        let session =
            SessionKey { provider: terms.provider, member: MemberId([terms.nonce[0]; 24]), started };
        let weight = Bytes(64_000_000);
        if self.honest(terms.consumer).is_none() {
            let on_holds = hold.map_or(Bytes(0), |hold| hold.weight);
            return Some(
                self.sign(Signed { session, consumer: terms.consumer, weight, hold, on_holds }, true),
            );
        }
        None
    }

    fn commit_terms(&mut self, id: HoldId) -> Result<(), Violation> {
        match self.hostile.terms.iter().rposition(|(known, _)| *known == id) {
            Some(number) => self.commit_number(number),
            None => Ok(()),
        }
    }

    pub(super) fn commit_hostile(&mut self) -> Result<(), Violation> {
        let count = self.hostile.terms.len();
        if count == 0 {
            return Ok(());
        }
        // Lately made ones more often.
        let from = if self.chance(50) { count.saturating_sub(5) } else { 0 };
        let number = self.rng.random_range(from..count);
        // A third is kept for when it is late.
        let terms = &self.hostile.terms[number].1;
        let is_kept = terms.nonce[0].is_multiple_of(3) && self.now < terms.end.plus(28 * 3_600).time();
        if is_kept { Ok(()) } else { self.commit_number(number) }
    }

    /// A commit for one of the honest homes on a path, with a receipt that fits or not.
    fn commit_number(&mut self, number: usize) -> Result<(), Violation> {
        let (id, terms) = self.hostile.terms[number].clone();
        let path: Vec<_> = terms.path().collect();
        let arcs: Vec<_> = path.windows(2).filter(|arc| self.honest(arc[0]).is_none()).collect();
        let Some(&&[own, to]) = arcs.get(self.rng.random_range(0..arcs.len().max(1))) else {
            return Ok(());
        };
        let proof = match self.rng.random_range(0..20) {
            0 => None,
            1 => Some(usize::MAX),
            2 => self.known(|_| true),
            3..5 => {
                let weight = Bytes(self.rng.random_range(0..2_000_000));
                self.sign_any(&terms, Some(HoldUse { id, weight }))
            }
            _ => {
                let fitting = self.known(|signed| signed.hold.is_some_and(|hold| hold.id == id));
                let made = self.sign_any(&terms, Some(HoldUse { id, weight: terms.amount }));
                made.or(fitting).or(Some(usize::MAX))
            }
        };
        let message = Message::Commit { terms, proof: proof.map(Self::proof) };
        if self.chance(20) {
            self.deliver(own, to, message.clone())?;
        }
        self.deliver(own, to, message)
    }

    /// The latest receipt that they know and that fits.
    fn known(&self, fits: impl Fn(&Signed) -> bool) -> Option<usize> {
        self.receipts.iter().rposition(|receipt| receipt.is_known && fits(&receipt.signed))
    }

    /// Any answer about any hold, from any of them to any honest home.
    fn say_anything(&mut self) -> Result<(), Violation> {
        let count = self.hostile.terms.len();
        let Some(own) = self.hostile.any(&mut self.rng).filter(|_| count > 0) else {
            return Ok(());
        };
        // Lately made ones more often.
        let from = if self.chance(50) { count.saturating_sub(5) } else { 0 };
        let (id, terms) = self.hostile.terms[self.rng.random_range(from..count)].clone();
        let to = self.any_home();
        let to = self.homes[to].team;
        // Mostly the neighbour that would listen.
        let next = terms.path().find(|team| self.honest(*team).is_none());
        let own = if self.chance(70) { next.unwrap_or(own) } else { own };
        let to = terms.position(own).and_then(|at| at.previous).filter(|_| self.chance(70)).unwrap_or(to);
        let message = match self.rng.random_range(0..4) {
            0 => Message::Good { id },
            1 => Message::Refused { id, available: Bytes(0) },
            2 => Message::Done { id },
            _ => Message::Hold { terms, proof: Self::proof(usize::MAX) },
        };
        self.deliver(own, to, message)
    }

    /// One of them really serves an honest member, which signs for what it got.
    fn serve_hostile(&mut self) -> Result<(), Violation> {
        let (home, bytes) = (self.any_home(), self.rng.random_range(1..400_000));
        let Some(provider) = self.hostile.any(&mut self.rng) else {
            return Ok(());
        };
        self.service(provider, home);
        let count = self.hostile.services.len();
        let at = self.rng.random_range(count.saturating_sub(6)..count);
        let (moves, last, fakes) = (self.chance(30), self.chance(70), self.chance(3));
        let fake = HoldId(self.rng.random());
        let service = &mut self.hostile.services[at];
        // From hold to hold, or to none; the last stays named. A guest signs each byte on one hold at most.
        if moves || service.hold.is_none() {
            let id = if last { service.holds.pop() } else { fakes.then_some(fake) };
            service.is_on_hold = id.is_some();
            service.hold = id.map(|id| HoldUse { id, weight: Bytes(0) }).or(service.hold);
        }
        service.weight += bytes;
        if let Some(hold) = service.hold.as_mut().filter(|_| service.is_on_hold) {
            hold.weight = hold.weight.saturating_add(Bytes(bytes));
            service.on_holds += bytes;
        }
        let Service { session, consumer: index, weight, hold, on_holds, .. } = *service;
        let consumer = self.homes[index].team;
        let signed = Signed { session, consumer, weight: Bytes(weight), hold, on_holds: Bytes(on_holds) };
        let number = self.sign(signed, true);
        self.hostile.services[at].receipt = number;
        self.sums.given[index] += bytes;
        self.sums.received[index] += bytes;
        let is_last_only = self.chance(30);
        self.homes[index].hand_in_later(signed, Self::proof(number), is_last_only);
        Ok(())
    }

    /// A session of an honest guest at one of them, which is there or begins. It signs for zero bytes at any provider.
    fn service(&mut self, provider: TeamId, index: usize) -> usize {
        let fits = |service: &Service| service.session.provider == provider && service.consumer == index;
        let known = self.hostile.services.iter().rposition(fits);
        if let Some(at) = known.filter(|_| self.chance(70)) {
            return at;
        }
        let started = self.now.unix_seconds();
        let session = SessionKey { provider, member: MemberId(self.rng.random()), started };
        let consent = Signed {
            session,
            consumer: self.homes[index].team,
            weight: Bytes(0),
            hold: None,
            on_holds: Bytes(0),
        };
        let receipt = self.sign(consent, true);
        let service = Service {
            session,
            consumer: index,
            weight: 0,
            hold: None,
            is_on_hold: false,
            on_holds: 0,
            holds: Vec::new(),
            receipt,
        };
        self.hostile.services.push(service);
        self.hostile.services.len() - 1
    }
}
