//! Visits at honest homes: what their programs do with the machine.

use super::check::{Cause, Violation, require};
use super::home::Report;
use super::world::World;
use crate::account::Account;
use crate::holds::{Event, HoldError, HoldState};
use crate::message::Signed;
use crate::terms::Terms;
use guestright_identity::MemberId;
use guestright_receipt::{HoldId, HoldUse, SessionKey};
use guestright_units::{Bytes, TeamId};
use rand::RngExt as _;
use std::collections::BTreeMap;

/// A session of somebody's member at an honest home.
pub(super) struct Visit {
    provider: usize,
    consumer: TeamId,
    session: SessionKey,
    weight: u64,
    /// What was served on the allowance.
    direct: u64,
    /// The latest receipt.
    receipt: usize,
    grants: Vec<Grant>,
    is_over: bool,
}

struct Grant {
    id: HoldId,
    terms: Terms,
    is_good: bool,
    used: u64,
    /// The latest receipt that names it.
    receipt: usize,
    is_settled: bool,
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
            20..70 => self.serve(visit),
            70..85 => self.serve_on_allowance(visit),
            85..95 => self.commit_one(visit),
            95..98 => self.give_up(visit),
            _ => {
                self.visits[visit].is_over = true;
                Ok(())
            }
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
        let signed = Signed { session, consumer, weight: Bytes(0), hold: None };
        let receipt = self.sign(signed, is_known);
        self.visits.push(Visit {
            provider,
            consumer,
            session,
            weight: 0,
            direct: 0,
            receipt,
            grants: Vec::new(),
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
        let grant = Grant { id, terms, is_good: false, used: 0, receipt, is_settled: false };
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
        let Some(at) = self.visits[visit].grants.iter().position(is_usable) else {
            self.visits[visit].is_over = self.visits[visit].grants.iter().any(Grant::has_room);
            return self.reserve(visit);
        };
        let grant = &self.visits[visit].grants[at];
        let room = grant.terms.amount.0 - grant.used;
        let bytes = if self.chance(60) { room } else { self.rng.random_range(1..=room) };
        let Visit { provider, consumer, session, .. } = self.visits[visit];
        let honest = self.honest(consumer);
        if honest.is_none() && self.chance(5) {
            // A guest who does not sign was served on the allowance.
            self.visits[visit].is_over = true;
            return self.report(provider, Report::Served { team: consumer, bytes });
        }
        let visit = &mut self.visits[visit];
        visit.weight += bytes;
        let weight = Bytes(visit.weight);
        let grant = &mut visit.grants[at];
        grant.used += bytes;
        let signed = Signed {
            session,
            consumer,
            weight,
            hold: Some(HoldUse { id: grant.id, weight: Bytes(grant.used) }),
        };
        let number = self.receipts.len();
        (grant.receipt, visit.receipt) = (number, number);
        self.sign(signed, honest.is_none());
        self.sums.served[provider] += bytes;
        match honest {
            None => self.sums.taken += bytes,
            Some(index) => {
                let team = self.homes[provider].team;
                self.sums.received[index] += bytes;
                self.homes[index].reports.push_back(Report::Signed { team, given: bytes, direct: 0 });
            }
        }
        Ok(())
    }

    fn serve_on_allowance(&mut self, visit: usize) -> Result<(), Violation> {
        let Visit { provider, consumer, session, .. } = self.visits[visit];
        let bytes = self.rng.random_range(1..1_000_000);
        self.visits[visit].weight += bytes;
        self.visits[visit].direct += bytes;
        if let Some(index) = self.honest(consumer) {
            let team = self.homes[provider].team;
            self.sums.received[index] += bytes;
            self.homes[index].reports.push_back(Report::Signed { team, given: bytes, direct: bytes });
        }
        let weight = Bytes(self.visits[visit].weight);
        let is_known = self.honest(consumer).is_none();
        self.visits[visit].receipt = self.sign(Signed { session, consumer, weight, hold: None }, is_known);
        self.report(provider, Report::Served { team: consumer, bytes })
    }

    fn commit_one(&mut self, visit: usize) -> Result<(), Violation> {
        let is_used = |grant: &Grant| grant.used > 0 && !grant.is_settled;
        match self.visits[visit].grants.iter().position(is_used) {
            Some(grant) => self.commit(visit, grant),
            None => Ok(()),
        }
    }

    fn commit(&mut self, visit: usize, grant: usize) -> Result<(), Violation> {
        let provider = self.visits[visit].provider;
        let Grant { id, used, receipt, .. } = self.visits[visit].grants[grant];
        let (proof, signed) = (Self::proof(receipt), self.receipts[receipt].signed);
        let paid =
            self.call(provider, &Cause::Own, |machine, now| machine.commit(id, proof, &signed, now))?;
        match paid {
            None => return Ok(()),
            Some(Ok(paid)) if paid.0 == used => self.sums.transfers += 1,
            Some(Err(HoldError::NotOpen)) if self.setup.outages || self.setup.sums_only => {}
            Some(other) => return Err(format!("{used} of {id} were used, and the commit said {other:?}")),
        }
        self.visits[visit].grants[grant].is_settled = true;
        Ok(())
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

    /// Homes pay what was used of holds whose grant has ended.
    pub(super) fn commit_ended(&mut self) -> Result<(), Violation> {
        self.commit_where(|grant, now| grant.terms.end <= now)
    }

    pub(super) fn commit_all(&mut self) -> Result<(), Violation> {
        self.visits.iter_mut().for_each(|visit| visit.is_over = true);
        self.commit_where(|_, _| true)
    }

    fn commit_where(
        &mut self,
        is_due: impl Fn(&Grant, guestright_units::UnixSeconds) -> bool,
    ) -> Result<(), Violation> {
        for visit in 0..self.visits.len() {
            let provider = self.visits[visit].provider;
            let now = self.homes[provider].local(self.now).unix_seconds();
            for at in 0..self.visits[visit].grants.len() {
                let grant = &self.visits[visit].grants[at];
                if grant.used > 0 && !grant.is_settled && is_due(grant, now) {
                    self.commit(visit, at)?;
                }
            }
        }
        Ok(())
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

    /// A home crashed: its sessions are over, and it pays from what is on its disk.
    pub(super) fn end_visits(&mut self, provider: usize, is_long: bool) {
        for visit in self.visits.iter_mut().filter(|visit| visit.provider == provider) {
            visit.is_over = true;
            for grant in visit.grants.iter_mut().filter(|grant| grant.used > 0) {
                let state = self.homes[provider].kept.get(&grant.id).map(|hold| &hold.state);
                // What is on the disk no more was forgotten, long after it was paid.
                grant.is_settled &= state.is_none();
                grant.is_settled |= matches!(state, Some(HoldState::Settled { .. }));
                if is_long && !grant.is_settled {
                    self.sums.lost[provider] += grant.used;
                }
            }
        }
    }
}
