//! Visits at honest homes: what their programs do with the machine.

use super::check::{Cause, Violation, require};
use super::home::Home;
use super::world::World;
use crate::account::Account;
use crate::holds::{Event, HoldState, Holds};
use crate::message::{Message, Signed};
use crate::terms::Terms;
use guestright_identity::MemberId;
use guestright_receipt::{HoldId, HoldUse, SessionKey};
use guestright_units::{Bytes, TeamId};
use rand::RngExt as _;
use std::collections::{BTreeMap, VecDeque};

/// A session of somebody's member at an honest home.
pub(super) struct Visit {
    provider: usize,
    consumer: TeamId,
    session: SessionKey,
    weight: u64,
    /// What was served on the allowance.
    direct: u64,
    on_holds: u64,
    /// The hold that was used last.
    last: Option<HoldUse>,
    /// The latest receipt.
    receipt: usize,
    grants: Vec<Grant>,
    /// The grant that is used; those before it are not used any more.
    current: usize,
    /// What the access point has not delivered: the latest receipt of each hold.
    outbox: VecDeque<usize>,
    is_over: bool,
}

struct Grant {
    id: HoldId,
    terms: Terms,
    is_good: bool,
    used: u64,
    is_settled: bool,
    /// What was not paid of it is counted.
    is_lost: bool,
}

impl Visit {
    /// Whether its access point has something to deliver to a home that is there.
    pub(super) fn has_receipts(&self, homes: &[Home]) -> bool {
        !self.outbox.is_empty() && homes[self.provider].machine.is_some()
    }
}

impl Grant {
    fn has_room(&self) -> bool {
        self.is_good && !self.is_settled && self.used < self.terms.amount.0
    }
}

impl World {
    /// Something happens at an honest home.
    pub(super) fn visit(&mut self) -> Result<(), Violation> {
        let provider = self.any_home();
        if self.homes[provider].machine.is_none() {
            return Ok(());
        }
        // Nothing is reserved for older sessions.
        let oldest = self.now.unix_seconds().minus(36 * 3_600);
        self.visits.iter_mut().for_each(|visit| visit.is_over |= visit.session.started < oldest);
        let open = (0..self.visits.len())
            .filter(|&at| self.visits[at].provider == provider && (!self.visits[at].is_over));
        let mut open: Vec<_> = open.collect();
        if self.chance(60) && open.iter().any(|&at| self.visits[at].grants.iter().any(Grant::has_room)) {
            open.retain(|&at| self.visits[at].grants.iter().any(Grant::has_room));
        }
        if open.is_empty() || self.chance(15) {
            return self.begin_visit(provider);
        }
        let visit = open[self.rng.random_range(0..open.len())];
        match self.rng.random_range(0..100) {
            0..20 => self.reserve(visit),
            20..65 => self.serve(visit),
            65..78 => self.serve_on_allowance(visit),
            78..90 => self.deliver_receipts(visit),
            90..93 => self.give_up(visit),
            _ => self.finish(visit),
        }
    }

    fn begin_visit(&mut self, provider: usize) -> Result<(), Violation> {
        let team = self.homes[provider].team;
        let honest = self.any_home();
        let hostile = if self.chance(75) { self.hostile.any(&mut self.rng) } else { None };
        let consumer = hostile.unwrap_or(self.homes[honest].team);
        if consumer == team { Ok(()) } else { self.begin_visit_of(provider, consumer) }
    }

    /// A hostile guest takes all that can be reserved for it.
    pub(super) fn take_all(&mut self, provider: usize) -> Result<(), Violation> {
        if self.homes[provider].machine.is_none() {
            return Ok(());
        }
        let Some(consumer) = self.hostile.any(&mut self.rng) else {
            return Ok(());
        };
        self.begin_visit_of(provider, consumer)?;
        let visit = self.visits.len() - 1;
        let has_room = |visit: &Visit| visit.grants.iter().any(Grant::has_room);
        while !self.visits[visit].is_over && has_room(&self.visits[visit]) {
            self.serve(visit)?;
        }
        Ok(())
    }

    fn begin_visit_of(&mut self, provider: usize, consumer: TeamId) -> Result<(), Violation> {
        let team = self.homes[provider].team;
        let is_known = self.honest(consumer).is_none();
        let started = self.homes[provider].local(self.now).unix_seconds();
        let session = SessionKey { provider: team, member: MemberId(self.rng.random()), started };
        let signed = Signed { session, consumer, weight: Bytes(0), hold: None, on_holds: Bytes(0) };
        let receipt = self.sign(signed, is_known);
        self.visits.push(Visit {
            provider,
            consumer,
            session,
            weight: 0,
            direct: 0,
            on_holds: 0,
            last: None,
            receipt,
            grants: Vec::new(),
            current: 0,
            outbox: VecDeque::new(),
            is_over: false,
        });
        self.reserve(self.visits.len() - 1)
    }

    fn reserve(&mut self, visit: usize) -> Result<(), Violation> {
        let Visit { provider, consumer, receipt, .. } = self.visits[visit];
        let team = self.homes[provider].team;
        let Some((between, available)) = self.path(team, consumer) else {
            return Ok(());
        };
        let min = Terms::AMOUNT_MIN.0;
        let amount = match self.rng.random_range(0..10) {
            0..5 => available,
            5..9 => self.rng.random_range(min..=available),
            _ => available + 1,
        };
        let end = self.homes[provider].local(self.now).unix_seconds().plus(self.rng.random_range(30..86_000));
        let nonce = self.rng.random();
        let amount = Bytes(amount.min(2_000_000));
        let terms = Terms { provider: team, between, consumer, amount, end, nonce };
        self.hostile.learn(&terms);
        let (proof, signed) = (Self::proof(receipt), self.receipts[receipt].signed);
        let id = terms.id();
        let copy = terms.clone();
        // The event may come within the call.
        let grant = Grant { id, terms, is_good: false, used: 0, is_settled: false, is_lost: false };
        self.visits[visit].grants.push(grant);
        let reserved =
            self.call(provider, &Cause::Own, |machine, now| machine.reserve(copy, proof, signed, now))?;
        if !matches!(reserved, Some(Ok(_))) {
            self.visits[visit].grants.retain(|grant| grant.id != id);
            return Ok(());
        }
        if self.chance(80) { self.hurry() } else { Ok(()) }
    }

    pub(super) fn handle_event(&mut self, event: Event) {
        let (id, is_good) = match event {
            Event::Good { id, .. } => (id, true),
            Event::Refused { id, .. } => (id, false),
        };
        for visit in &mut self.visits {
            visit.grants.iter_mut().filter(|grant| grant.id == id).for_each(|grant| grant.is_good = is_good);
        }
    }

    /// The guest uses something of a hold that is good, and signs for it.
    fn serve(&mut self, visit: usize) -> Result<(), Violation> {
        let now = self.homes[self.visits[visit].provider].local(self.now);
        let is_usable = |grant: &Grant| grant.has_room() && now < grant.terms.end.time();
        // An access point never goes back to a hold.
        let current = self.visits[visit].current + usize::from(self.chance(5));
        let mut grants = self.visits[visit].grants.iter().enumerate().skip(current);
        let Some((at, grant)) = grants.find(|(_, grant)| is_usable(grant)) else {
            self.visits[visit].is_over = self.visits[visit].grants.iter().any(Grant::has_room);
            return self.reserve(visit);
        };
        let room = grant.terms.amount.0 - grant.used;
        let bytes = if self.chance(60) { room } else { self.rng.random_range(1..=room) };
        let Visit { provider, consumer, session, .. } = self.visits[visit];
        let honest = self.honest(consumer);
        if honest.is_none() && self.chance(5) {
            // A guest who does not sign was served on the allowance.
            return self.finish(visit);
        }
        let visit = &mut self.visits[visit];
        visit.current = at;
        visit.weight += bytes;
        let weight = Bytes(visit.weight);
        let grant = &mut visit.grants[at];
        grant.used += bytes;
        let hold = Some(HoldUse { id: grant.id, weight: Bytes(grant.used) });
        visit.on_holds += bytes;
        visit.last = hold;
        let on_holds = Bytes(visit.on_holds);
        self.sums.served[provider] += bytes;
        match honest {
            None => self.sums.taken += bytes,
            Some(index) => self.sums.received[index] += bytes,
        }
        self.signed(session, Signed { session, consumer, weight, hold, on_holds });
        Ok(())
    }

    fn serve_on_allowance(&mut self, visit: usize) -> Result<(), Violation> {
        let bytes = self.rng.random_range(1..1_000_000);
        let visit = &mut self.visits[visit];
        let Visit { consumer, session, .. } = *visit;
        visit.weight += bytes;
        visit.direct += bytes;
        visit.current += usize::from(visit.grants.get(visit.current).is_some_and(|grant| grant.used > 0));
        let (weight, hold, on_holds) = (Bytes(visit.weight), visit.last, Bytes(visit.on_holds));
        if let Some(index) = self.honest(consumer) {
            self.sums.received[index] += bytes;
        }
        self.signed(session, Signed { session, consumer, weight, hold, on_holds });
        Ok(())
    }

    /// The guest signed: its access point will deliver that, and it will itself.
    fn signed(&mut self, session: SessionKey, signed: Signed) {
        let honest = self.honest(signed.consumer);
        let number = self.sign(signed, honest.is_none());
        if let Some(index) = honest {
            let is_last_only = self.chance(30);
            self.homes[index].hand_in_later(signed, Self::proof(number), is_last_only);
        }
        let receipts = &self.receipts;
        let is_same = |other: usize| {
            let [one, other] = [number, other].map(|at| receipts[at].signed.hold.map(|hold| hold.id));
            one == other
        };
        if let Some(visit) = self.visits.iter_mut().find(|visit| visit.session == session) {
            visit.receipt = number;
            visit.outbox.retain(|&other| !is_same(other));
            visit.outbox.push_back(number);
        }
    }

    /// The access point delivers some of its receipts, in their order; now and then it delivers one of long ago again.
    fn deliver_receipts(&mut self, visit: usize) -> Result<(), Violation> {
        let Visit { provider, session, receipt, .. } = self.visits[visit];
        while let Some(&number) = self.visits[visit].outbox.front() {
            if self.homes[provider].machine.is_none() {
                return Ok(());
            }
            self.hand_in(provider, number)?;
            if self.chance(10) {
                // The acknowledgement was lost.
                return Ok(());
            }
            self.visits[visit].outbox.pop_front();
        }
        if self.chance(20) {
            let older = self.rng.random_range(0..=receipt);
            if self.receipts[older].signed.session == session {
                self.hand_in(provider, older)?;
            }
        }
        Ok(())
    }

    fn hand_in(&mut self, index: usize, number: usize) -> Result<(), Violation> {
        let (signed, proof) = (self.receipts[number].signed, Self::proof(number));
        self.take_receipt(index, signed, proof)
    }

    /// All access points reach their homes.
    pub(super) fn deliver_all_receipts(&mut self) -> Result<(), Violation> {
        (0..self.visits.len()).try_for_each(|visit| self.deliver_receipts(visit))
    }

    /// The session is over, and mostly the access point says so.
    fn finish(&mut self, visit: usize) -> Result<(), Violation> {
        self.visits[visit].is_over = true;
        self.deliver_receipts(visit)?;
        if !self.visits[visit].outbox.is_empty() || self.chance(20) {
            return Ok(());
        }
        let Visit { provider, session, .. } = self.visits[visit];
        self.call(provider, &Cause::Own, |machine, now| machine.finish(session, now)).map(drop)
    }

    pub(super) fn finish_all(&mut self) -> Result<(), Violation> {
        (0..self.visits.len()).try_for_each(|visit| self.finish(visit))
    }

    /// Looks at what became of the holds that a home had asked for.
    pub(super) fn count_settled(&mut self, index: usize, ids: &[HoldId]) {
        let Some(machine) = &self.homes[index].machine else { return };
        let grants = self
            .visits
            .iter_mut()
            .filter(|visit| visit.provider == index)
            .flat_map(|visit| &mut visit.grants);
        for grant in grants.filter(|grant| ids.contains(&grant.id)) {
            let state = machine.table.get(grant.id).map(|(hold, _)| hold.state.clone());
            let paid = match state {
                Some(HoldState::Asked | HoldState::Good) => continue,
                Some(HoldState::Settled { used, .. }) => used.0,
                Some(HoldState::Ended) | None => 0,
            };
            self.sums.transfers += u64::from(paid > 0 && !grant.is_settled);
            grant.is_settled = true;
            // Where a rule is left out, what is not paid is what is looked for.
            if paid < grant.used && !grant.is_lost && !self.setup.sums_only {
                grant.is_lost = true;
                self.sums.lost[index] += grant.used - paid;
            }
        }
    }

    /// A HOLD could not be sent, because its home was not reached.
    pub(super) fn undelivered(&mut self, index: usize, message: &Message) -> Result<(), Violation> {
        let id = message.id();
        self.call(index, &Cause::Undelivered, |machine: &mut Holds, now| machine.handle_undelivered(id, now))
            .map(drop)
    }

    fn give_up(&mut self, visit: usize) -> Result<(), Violation> {
        let provider = self.visits[visit].provider;
        let unused = |grant: &&mut Grant| grant.used == 0 && !grant.is_settled;
        let Some(grant) = self.visits[visit].grants.iter_mut().find(unused) else {
            return Ok(());
        };
        grant.is_settled = true;
        let id = grant.id;
        self.call(provider, &Cause::Own, |machine, now| machine.give_up(id, now)).map(drop)
    }

    /// Every account is what the receipts come to.
    pub(super) fn paid_in_full(&self) -> Result<(), Violation> {
        let mut want: BTreeMap<(TeamId, TeamId), i64> = BTreeMap::new();
        let mut owes = |from, to, bytes: u64| {
            *want.entry((from, to)).or_default() += bytes.cast_signed();
            *want.entry((to, from)).or_default() -= bytes.cast_signed();
        };
        for visit in &self.visits {
            owes(visit.consumer, self.homes[visit.provider].team, visit.direct);
            for grant in &visit.grants {
                let path: Vec<_> = grant.terms.path().collect();
                path.windows(2).for_each(|arc| owes(arc[1], arc[0], grant.used));
            }
        }
        for home in &self.homes {
            for other in self.homes.iter().filter(|other| other.team != home.team) {
                let got = home.accounts.get(&other.team).map_or(0, Account::net);
                let want = want.get(&(home.team, other.team)).copied().unwrap_or(0);
                require(got == want, || {
                    format!("{} owes {} {got}, by the receipts {want}", home.team.short(), other.team.short())
                })?;
            }
        }
        Ok(())
    }

    /// A home crashed: some of its sessions are over, and it pays from what is on its disk.
    pub(super) fn end_visits(&mut self, provider: usize, is_long: bool) {
        for visit in self.visits.iter_mut().filter(|visit| visit.provider == provider) {
            visit.is_over |= is_long || self.rng.random_ratio(1, 2);
            for grant in &mut visit.grants {
                let state = self.homes[provider].kept.get(&grant.id).map(|hold| &hold.state);
                // What is on the disk no more was forgotten, long after it was paid.
                grant.is_settled &= state.is_none();
                grant.is_settled |= state.is_some_and(|state| !state.is_held());
                if is_long && !grant.is_settled && !grant.is_lost {
                    grant.is_lost = true;
                    self.sums.lost[provider] += grant.used;
                }
            }
        }
    }
}
