//! What has to be true of one home after each call.

use super::home::Home;
use crate::account::{Account, Overdraft};
use crate::holds::record::{Hold, HoldState};
use crate::holds::{Holds, paid};
use crate::message::{Message, Signed};
use guestright_receipt::HoldId;
use guestright_units::{Bytes, TeamId, Time};
use std::collections::BTreeMap;

/// What was violated.
pub(super) type Violation = String;

/// Why a machine was called.
pub(super) enum Cause<'a> {
    Message {
        from: TeamId,
        message: &'a Message,
        signed: Option<Signed>,
    },
    Timeout,
    /// The program itself: it asks for a hold, hands in a receipt, finishes a session.
    Own,
    /// A HOLD could not be sent.
    Undelivered,
}

/// A machine before a call.
pub(super) struct Snapshot {
    accounts: BTreeMap<TeamId, Account>,
    /// The open holds.
    held: BTreeMap<HoldId, Hold>,
    /// Whether the hold that the message is about was settled.
    is_settled: bool,
}

impl Snapshot {
    pub(super) fn of(machine: &Holds, cause: &Cause) -> Self {
        let held = machine.holds().filter(|(_, hold)| hold.state.is_held());
        let hold = match cause {
            Cause::Message { message, .. } => machine.table.get(message.id()),
            Cause::Timeout | Cause::Own | Cause::Undelivered => None,
        };
        Self {
            accounts: machine.accounts().iter().collect(),
            held: held.map(|(id, hold)| (id, hold.clone())).collect(),
            is_settled: hold.is_some_and(|(hold, _)| settled(hold).is_some()),
        }
    }

    pub(super) fn held(&self) -> impl Iterator<Item = (HoldId, &Hold)> {
        self.held.iter().map(|(&id, hold)| (id, hold))
    }

    /// The open holds that the home itself asked for.
    pub(super) fn own(&self, team: TeamId) -> Vec<HoldId> {
        self.held().filter(|(_, hold)| hold.terms.provider == team).map(|(id, _)| id).collect()
    }

    fn account(&self, team: TeamId) -> Account {
        self.accounts.get(&team).copied().unwrap_or_default()
    }
}

fn settled(hold: &Hold) -> Option<Bytes> {
    match hold.state {
        HoldState::Settled { used, .. } => Some(used),
        HoldState::Asked | HoldState::Good | HoldState::Ended => None,
    }
}

/// The sums that a home's accounts and holds have to fulfil.
pub(super) fn sums(home: &Home, overdraft: Overdraft) -> Result<(), Violation> {
    let Some(machine) = &home.machine else {
        return Ok(());
    };
    let accounts = machine.accounts();
    let mut held: BTreeMap<TeamId, u64> = BTreeMap::new();
    for (_, hold) in machine.holds().filter(|(_, hold)| hold.state.is_held()) {
        let next = hold.terms.position(home.team).and_then(|at| at.next).ok_or("a hold on nobody is held")?;
        *held.entry(next).or_default() += hold.terms.amount.0;
    }
    let teams: Vec<_> = accounts.iter().collect();
    let beyond = |account: &Account| i128::from(account.held.0) - i128::from(account.owed.max(0));
    let beyond_all: i128 = teams.iter().map(|(_, account)| beyond(account).max(0)).sum();
    let overdrawn: i128 = teams.iter().map(|(_, account)| i128::from(account.overdraft().0)).sum();
    require(overdrawn <= i128::from(overdraft.total.0), || format!("{overdrawn} are overdrawn in all"))?;
    require(overdrawn == i128::from(accounts.overdrawn().0), || "the sum of overdrafts is wrong".into())?;
    for &(team, account) in &teams {
        let name = || team.short();
        let want = held.remove(&team).unwrap_or(0);
        require(account.held.0 == want, || format!("{} held for {}, {want} in holds", account.held, name()))?;
        let lent = if overdraft.per_team { i128::from(account.given.0) } else { 0 };
        let own = i128::from(account.overdraft().0);
        require(own <= lent, || format!("{} is overdrawn by {own} and gave {lent}", name()))?;
        let all = i128::from(overdraft.total.0) - overdrawn - (beyond_all - beyond(&account).max(0));
        let want =
            i128::from(account.owed.max(0)) - i128::from(account.held.0) + (lent - own).min(all).max(0);
        let got = i128::from(accounts.spendable(team).0);
        require(got == want.max(0), || format!("{got} of {} spendable, by the note {want}", name()))?;
    }
    // What is older may be forgotten.
    if machine.now.since(home.founded).0 < 30 * 86_400_000_000 {
        accounted(home, machine)?;
    }
    require(held.is_empty(), || format!("held without an account: {held:?}"))
}

/// Every byte of every session is in the accounts once, and what was used of each hold is.
fn accounted(home: &Home, machine: &Holds) -> Result<(), Violation> {
    let mut teams = home.accounted();
    for (_, hold) in machine.holds() {
        let used = i128::from(settled(hold).unwrap_or_default().0);
        let at = hold.terms.position(home.team).ok_or("a hold of somebody else")?;
        at.previous.into_iter().for_each(|team| teams.entry(team).or_default().1 += used);
        at.next.into_iter().for_each(|team| teams.entry(team).or_default().1 -= used);
    }
    for (team, account) in machine.accounts().iter() {
        let (given, owed) = teams.remove(&team).unwrap_or_default();
        require((account.given.0, i128::from(account.net())) == (given, owed), || {
            format!("{} gave {given} and is owed {owed} by all receipts, not {account:?}", team.short())
        })?;
    }
    require(teams.values().all(|sums| *sums == (0, 0)), || format!("not accounted for: {teams:?}"))
}

/// What a call may change.
pub(super) fn changes(home: &Home, cause: &Cause, before: &Snapshot, now: Time) -> Result<(), Violation> {
    let Some(machine) = &home.machine else {
        return Ok(());
    };
    for (id, hold) in before.held() {
        let state = machine.table.get(id).map(|(hold, _)| &hold.state);
        if !state.is_some_and(HoldState::is_held) {
            release(home, cause, id, hold, state, now)?;
        }
    }
    if let Cause::Message { from, message, signed } = cause {
        debts(home, machine, before, (*from, message, *signed))?;
    }
    Ok(())
}

/// A hold that was open is no longer: by its commit, by a refusal before anybody was told, or at its end.
fn release(
    home: &Home,
    cause: &Cause,
    id: HoldId,
    hold: &Hold,
    state: Option<&HoldState>,
    now: Time,
) -> Result<(), Violation> {
    let at = hold.terms.position(home.team).ok_or("a hold of somebody else")?;
    let until = hold.terms.end.plus((24 + at.index) * 3_600).time();
    // What was served on a hold that was never good is not paid.
    let owed = if hold.state == HoldState::Good { home.owed_for(id, hold) } else { Bytes(0) };
    let is_right = match (cause, state) {
        (Cause::Own, Some(HoldState::Settled { used, .. })) => at.previous.is_none() && *used == owed,
        (Cause::Timeout, Some(HoldState::Settled { used, .. })) => {
            at.previous.is_none() && *used == owed && now >= hold.terms.end.time()
        }
        (Cause::Undelivered, None) => !home.called_good.contains(&id),
        (Cause::Timeout, Some(HoldState::Ended) | None) => now >= until,
        (Cause::Message { from, message: Message::Commit { .. }, .. }, Some(HoldState::Settled { .. })) => {
            at.previous == Some(*from)
        }
        (Cause::Message { from, message: Message::Refused { .. }, .. }, None) => {
            at.next == Some(*from) && !home.called_good.contains(&id)
        }
        _ => false,
    };
    require(is_right, || format!("{id} was released before its end: {hold:?}"))
}

/// Another home's message changes debts only as a commit with a genuine receipt of the consumer, and `given` never.
fn debts(
    home: &Home,
    machine: &Holds,
    before: &Snapshot,
    (from, message, signed): (TeamId, &Message, Option<Signed>),
) -> Result<(), Violation> {
    let mut want: BTreeMap<TeamId, i128> = BTreeMap::new();
    if let (Message::Commit { terms, proof: Some(_) }, Some(signed)) = (message, signed) {
        let id = terms.id();
        let used = machine.table.get(id).and_then(|(hold, _)| settled(hold));
        if let Some(used) = used.filter(|_| !before.is_settled) {
            require(paid(terms, id, &signed) == Some(used), || format!("{used} settled of {signed:?}"))?;
            let at = terms.position(home.team).ok_or("a commit for somebody else")?;
            require(at.previous == Some(from), || "a commit from somebody else".into())?;
            require(used <= terms.amount, || format!("{used} settled of {}", terms.amount))?;
            want.extend(at.previous.map(|team| (team, i128::from(used.0))));
            want.extend(at.next.map(|team| (team, -i128::from(used.0))));
        }
    }
    let after = machine.accounts();
    for team in before.accounts.keys().copied().chain(after.iter().map(|(team, _)| team)) {
        let (old, new) = (before.account(team), after.get(team));
        let change = i128::from(new.net()) - i128::from(old.net());
        let want = want.get(&team).copied().unwrap_or(0);
        require(change == want, || format!("{message:?} changed a debt to {} by {change}", team.short()))?;
        require(old.given == new.given, || format!("{message:?} changed what {} gave", team.short()))?;
        let is_hold = matches!(message, Message::Hold { .. });
        require(new.held <= old.held || is_hold, || format!("{message:?} reserved something"))?;
    }
    Ok(())
}

/// A home that calls a hold good has it on its disk, and so has each honest home after it.
pub(super) fn good(homes: &[Home], index: usize, id: HoldId) -> Result<(), Violation> {
    let home = &homes[index];
    let hold = home.kept.get(&id).ok_or_else(|| format!("{id} was called good and is not durable"))?;
    let is_open = |hold: &Hold| hold.state.is_held();
    require(is_open(hold), || format!("{id} was called good and is {:?}", hold.state))?;
    let next = hold.terms.position(home.team).and_then(|at| at.next);
    let next = homes.iter().find(|home| Some(home.team) == next && home.team != hold.terms.consumer);
    next.map_or(Ok(()), |next| {
        let is_kept = next.kept.get(&id).is_some_and(is_open);
        require(is_kept, || format!("{id} was called good, and {} does not have it", next.team.short()))
    })
}

/// What a home acknowledges to an honest one is on its disk, unless it is so long ago that it was forgotten.
pub(super) fn done(homes: &[Home], index: usize, to: TeamId, id: HoldId, now: Time) -> Result<(), Violation> {
    let Some(other) = homes.iter().find(|home| home.team == to).and_then(|home| home.kept.get(&id)) else {
        return Ok(());
    };
    let (used, kept) = (settled(other), homes[index].kept.get(&id).and_then(settled));
    let is_done = used.is_none_or(|used| used.0 == 0) || used == kept || now >= other.forgotten();
    require(is_done, || format!("{id} was acknowledged, {used:?} were committed, {kept:?} are on the disk"))
}

pub(super) fn require(is_true: bool, violation: impl FnOnce() -> Violation) -> Result<(), Violation> {
    if is_true { Ok(()) } else { Err(violation()) }
}

/// Between homes whose words all arrived, what one owes is what the other is owed, and nothing is reserved.
pub(super) fn counterparts(homes: &[Home]) -> Result<(), Violation> {
    let live = || homes.iter().filter(|home| !home.is_gone);
    let net = |home: &Home, team| home.accounts.get(&team).map_or(0, Account::net);
    for home in live() {
        for other in live().filter(|other| other.team < home.team) {
            let (own, theirs) = (net(home, other.team), net(other, home.team));
            require(own + theirs == 0, || {
                format!("{} owes {} {own}, by the other {theirs}", home.team.short(), other.team.short())
            })?;
        }
        let held: u64 = home.accounts.values().map(|account| account.held.0).sum();
        require(Bytes(held) == Bytes(0), || format!("{} still holds {held}", home.team.short()))?;
    }
    Ok(())
}
