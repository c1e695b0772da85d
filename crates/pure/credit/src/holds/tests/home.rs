//! An honest home: the machine, what of it is on the disk, and what its program keeps beside it.

use super::Mutant;
use crate::account::Account;
use crate::holds::{Change, Config, Hold, Holds, Kept, Token, Write};
use crate::message::Message;
use guestright_receipt::HoldId;
use guestright_units::{Bytes, Micros, TeamId, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What the program tells the machine, and tells it again after a crash until it is durable.
#[derive(Clone, Copy, Debug)]
pub(super) enum Report {
    /// A member signed.
    Signed { team: TeamId, given: u64, direct: u64 },
    /// The team was served on the allowance.
    Served { team: TeamId, bytes: u64 },
}

/// What a machine says in one drain.
pub(super) type Outgoing = (Vec<(TeamId, Message)>, Vec<crate::holds::Event>);

pub(super) struct Home {
    pub(super) team: TeamId,
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
    writes: VecDeque<Write>,
    pub(super) reports: VecDeque<Report>,
    /// Passed to the machine, with the write that makes each durable.
    applied: Vec<(Token, Report)>,
    /// The holds that it called good, to another home or to its own program.
    pub(super) called_good: BTreeSet<HoldId>,
}

impl Home {
    pub(super) fn new(team: TeamId, config: Config, mutant: Option<Mutant>, skew: Micros, now: Time) -> Self {
        let mut home = Self {
            team,
            config,
            mutant,
            machine: None,
            up_at: now,
            is_gone: false,
            skew,
            accounts: BTreeMap::new(),
            kept: BTreeMap::new(),
            writes: VecDeque::new(),
            reports: VecDeque::new(),
            applied: Vec::new(),
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

    /// Begins anew from what is on the disk.
    pub(super) fn start(&mut self, now: Time) {
        let kept = Kept {
            accounts: self.accounts.iter().map(|(&team, &account)| (team, account)).collect(),
            holds: self.kept.values().cloned().collect(),
            ..Kept::default()
        };
        let mut machine = Holds::new(self.config, self.team, kept, self.local(now));
        machine.mutant = self.mutant;
        self.machine = Some(machine);
    }

    /// `kill -9`: what is not on the disk is no more.
    pub(super) fn crash(&mut self, up_at: Time) {
        self.machine = None;
        self.up_at = up_at;
        self.writes.clear();
        self.reports.extend(self.applied.drain(..).map(|(_, report)| report));
    }

    /// Takes the writes that the last call made.
    pub(super) fn collect(&mut self) {
        while let Some(write) = self.machine.as_mut().and_then(Holds::poll_write) {
            self.writes.push_back(write);
        }
    }

    /// Passes a report on. The write that it caused, if any, is the last one.
    pub(super) fn report(&mut self, report: Report) {
        let Some(machine) = &mut self.machine else {
            return self.reports.push_back(report);
        };
        match report {
            Report::Signed { team, given, direct } => machine.signed(team, Bytes(given), Bytes(direct)),
            Report::Served { team, bytes } => machine.served(team, Bytes(bytes)),
        }
        let before = self.writes.len();
        self.collect();
        if self.writes.len() > before {
            let token = self.writes.back().map_or(0, |write| write.token);
            self.applied.push((token, report));
        }
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
                Change::Session(..) | Change::SessionsSince(_) | Change::Allowance(_) => {}
            }
        }
        self.applied.retain(|(token, _)| *token > write.token);
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
