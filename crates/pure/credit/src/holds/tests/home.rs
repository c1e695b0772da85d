//! An honest home: the machine, what of it is on the disk, and what its program keeps beside it.

use super::Mutant;
use crate::account::Account;
use crate::holds::{Change, Config, Hold, Holds, Kept, Token, Write};
use crate::message::{Message, Proof, Signed};
use crate::sessions::Accounted;
use guestright_receipt::{HoldId, SessionKey};
use guestright_units::{Bytes, Micros, TeamId, Time, UnixSeconds};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What a machine sends and reports in one drain.
pub(super) type Outgoing = (Vec<(TeamId, Message)>, Vec<crate::holds::Event>);

pub(super) struct Home {
    pub(super) team: TeamId,
    pub(super) founded: Time,
    config: Config,
    mutant: Option<Mutant>,
    /// None while it is down.
    pub(super) machine: Option<Holds>,
    /// When it is up again.
    pub(super) up_at: Time,
    /// It never comes back.
    pub(super) is_gone: bool,
    /// How far its clock is ahead.
    skew: Micros,
    /// The disk.
    pub(super) accounts: BTreeMap<TeamId, Account>,
    pub(super) kept: BTreeMap<HoldId, Hold>,
    sessions: BTreeMap<SessionKey, Accounted>,
    sessions_since: UnixSeconds,
    /// The receipts of its members and access points: of each session the last one on each hold, and on none.
    receipts: BTreeMap<SessionKey, BTreeMap<Option<HoldId>, (Signed, Proof)>>,
    writes: VecDeque<Write>,
    /// What its members signed and will hand in.
    pub(super) members: VecDeque<(Signed, Proof)>,
    /// The holds that it called good, to another home or to its own program.
    pub(super) called_good: BTreeSet<HoldId>,
}

impl Home {
    pub(super) fn new(team: TeamId, config: Config, mutant: Option<Mutant>, skew: Micros, now: Time) -> Self {
        let mut home = Self {
            team,
            founded: now,
            config,
            mutant,
            machine: None,
            up_at: now,
            is_gone: false,
            skew,
            accounts: BTreeMap::new(),
            kept: BTreeMap::new(),
            sessions: BTreeMap::new(),
            sessions_since: UnixSeconds(0),
            receipts: BTreeMap::new(),
            writes: VecDeque::new(),
            members: VecDeque::new(),
            called_good: BTreeSet::new(),
        };
        home.start(now);
        home
    }

    pub(super) fn local(&self, now: Time) -> Time {
        now + self.skew
    }

    /// When the machine wants to be called, by the world's clock.
    pub(super) fn timeout(&self) -> Option<Time> {
        let due = self.machine.as_ref()?.poll_timeout()?;
        Some(Time(due.0.saturating_sub(self.skew.0)))
    }

    /// Begins anew from what is on the disk: all receipts come again, in the order in which their sessions began.
    pub(super) fn start(&mut self, now: Time) {
        let kept = Kept {
            accounts: self.accounts.iter().map(|(&team, &account)| (team, account)).collect(),
            holds: self.kept.values().cloned().collect(),
            sessions: self.sessions.iter().map(|(&session, &accounted)| (session, accounted)).collect(),
            sessions_since: self.sessions_since,
        };
        let mut machine = Holds::new(self.config, self.team, kept, self.local(now));
        machine.mutant = self.mutant;
        let mut receipts: Vec<_> = self.receipts.values().flat_map(BTreeMap::values).cloned().collect();
        receipts.sort_by_key(|(signed, _)| (signed.session.started, signed.weight));
        for (signed, proof) in receipts {
            machine.handle_receipt(signed, proof, self.local(now));
        }
        self.machine = Some(machine);
        self.collect();
    }

    /// `kill -9`: what is not on the disk is no more.
    pub(super) fn crash(&mut self, up_at: Time) {
        self.machine = None;
        self.up_at = up_at;
        self.writes.clear();
    }

    /// Takes the writes that the last call made.
    pub(super) fn collect(&mut self) {
        while let Some(write) = self.machine.as_mut().and_then(Holds::poll_write) {
            self.writes.push_back(write);
        }
    }

    /// A member has signed; it may have lost what it signed in the session before.
    pub(super) fn hand_in_later(&mut self, signed: Signed, proof: Proof, is_last_only: bool) {
        self.members.retain(|(other, _)| !is_last_only || other.session != signed.session);
        self.members.push_back((signed, proof));
    }

    /// A receipt is durable before the machine sees it.
    pub(super) fn keep(&mut self, signed: Signed, proof: Proof) {
        let session = self.receipts.entry(signed.session).or_default();
        let kept = session.entry(signed.hold.map(|hold| hold.id)).or_insert((signed, proof.clone()));
        if signed.weight > kept.0.weight {
            *kept = (signed, proof);
        }
    }

    /// What a hold of our own is to be paid, by the receipts that are there.
    pub(super) fn owed_for(&self, id: HoldId, hold: &Hold) -> Bytes {
        let receipt = self.receipts.get(&hold.session).and_then(|session| session.get(&Some(id)));
        let used = receipt.and_then(|(signed, _)| crate::holds::paid(&hold.terms, id, signed));
        used.unwrap_or_default()
    }

    /// What all receipts come to, by the other team: what it gave, and what we owe it for bytes that are on no hold.
    pub(super) fn accounted(&self) -> BTreeMap<TeamId, (u64, i128)> {
        let mut teams: BTreeMap<TeamId, (u64, i128)> = BTreeMap::new();
        for (session, signed) in &self.receipts {
            let signed = || signed.values().map(|(signed, _)| signed);
            let weight = signed().map(|signed| signed.weight.0).max().unwrap_or(0);
            let on_holds = signed().map(|signed| signed.on_holds.0).max().unwrap_or(0);
            let direct = i128::from(weight) - i128::from(on_holds);
            let consumer = signed().map(|signed| signed.consumer).next().unwrap_or(self.team);
            if consumer == self.team {
                let team = teams.entry(session.provider).or_default();
                *team = (team.0 + weight, team.1 + direct);
            } else {
                teams.entry(consumer).or_default().1 -= direct;
            }
        }
        teams
    }

    pub(super) fn has_writes(&self) -> bool {
        !self.writes.is_empty()
    }

    /// Makes the next write durable. The machine is not told.
    pub(super) fn write(&mut self) -> Option<Token> {
        let write = self.writes.pop_front()?;
        for change in write.changes {
            match change {
                Change::Account(team, Some(account)) => drop(self.accounts.insert(team, account)),
                Change::Account(team, None) => drop(self.accounts.remove(&team)),
                Change::Hold(id, Some(hold)) => drop(self.kept.insert(id, hold)),
                Change::Hold(id, None) => drop(self.kept.remove(&id)),
                Change::Session(session, Some(accounted)) => drop(self.sessions.insert(session, accounted)),
                Change::Session(session, None) => drop(self.sessions.remove(&session)),
                Change::SessionsSince(since) => self.sessions_since = since,
                Change::Allowance(_) | Change::Sponsored(..) => {}
            }
        }
        Some(write.token)
    }

    /// What the machine gives out now.
    pub(super) fn drain(&mut self) -> Outgoing {
        let Some(machine) = &mut self.machine else {
            return Outgoing::default();
        };
        if self.mutant == Some(Mutant::SpeaksBeforeItIsWritten) {
            machine.handle_written(Token::MAX);
        }
        let messages = std::iter::from_fn(|| machine.poll_transmit()).collect();
        (messages, std::iter::from_fn(|| machine.poll_event()).collect())
    }
}
