//! All holds of a home, by name, with when something is due for each.

use super::durable::{Change, Durable};
use super::record::{Hold, HoldState, forgotten};
use super::{RESEND_FIRST, RESEND_MAX};
use crate::message::{Message, Proof};
use crate::terms::Position;
use guestright_receipt::{HoldId, SessionKey};
use guestright_units::{Bytes, Micros, TeamId, Time};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug)]
struct Entry {
    hold: Hold,
    at: Position,
    due: Time,
    /// The span after which an unacknowledged commit is sent again.
    resend: Micros,
}

#[derive(Clone, Debug)]
pub(super) struct Table {
    team: TeamId,
    entries: BTreeMap<HoldId, Entry>,
    due: BTreeSet<(Time, HoldId)>,
    open: usize,
    open_at: BTreeMap<TeamId, usize>,
    /// What is reserved for each session.
    sessions: BTreeMap<SessionKey, u64>,
    changed: BTreeSet<HoldId>,
}

impl Table {
    pub(super) fn new(team: TeamId, holds: impl IntoIterator<Item = Hold>, now: Time) -> Self {
        let mut table = Self {
            team,
            entries: BTreeMap::new(),
            due: BTreeSet::new(),
            open: 0,
            open_at: BTreeMap::new(),
            sessions: BTreeMap::new(),
            changed: BTreeSet::new(),
        };
        for hold in holds {
            table.insert(hold.terms.id(), hold, now);
        }
        table.changed.clear();
        table
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (HoldId, &Hold)> {
        self.entries.iter().map(|(&id, entry)| (id, &entry.hold))
    }

    pub(super) fn contains(&self, id: HoldId) -> bool {
        self.entries.contains_key(&id)
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn open(&self) -> usize {
        self.open
    }

    pub(super) fn open_at(&self, team: TeamId) -> usize {
        self.open_at.get(&team).copied().unwrap_or(0)
    }

    pub(super) fn session(&self, session: SessionKey) -> u64 {
        self.sessions.get(&session).copied().unwrap_or(0)
    }

    pub(super) fn get(&self, id: HoldId) -> Option<(&Hold, Position)> {
        self.entries.get(&id).map(|entry| (&entry.hold, entry.at))
    }

    /// The hold, if its bytes are reserved.
    pub(super) fn held(&self, id: HoldId) -> Option<(&Hold, Position)> {
        self.get(id).filter(|(hold, _)| hold.state.is_held())
    }

    /// A hold on whose path we are not is none of ours.
    pub(super) fn insert(&mut self, id: HoldId, hold: Hold, now: Time) {
        if let Some(at) = hold.terms.position(self.team) {
            let due = match &hold.state {
                HoldState::Asked | HoldState::Good => hold.until(at),
                HoldState::Settled { owed: Some(_), .. } => now,
                HoldState::Settled { owed: None, .. } | HoldState::Ended => hold.forgotten(),
            };
            self.put(id, Entry { hold, at, due, resend: RESEND_FIRST });
        }
    }

    pub(super) fn remove(&mut self, id: HoldId) {
        if let Some(entry) = self.entries.remove(&id) {
            self.count(&entry, false);
            self.due.remove(&(entry.due, id));
            self.changed.insert(id);
        }
    }

    pub(super) fn good(&mut self, id: HoldId) {
        self.update(id, |entry| entry.hold.state = HoldState::Good);
    }

    pub(super) fn settle(&mut self, id: HoldId, used: Bytes, proof: Option<Proof>, now: Time) {
        self.update(id, |entry| {
            let owed = entry.at.next.map(|_| proof);
            let is_owed = owed.is_some();
            entry.hold.state = HoldState::Settled { used, owed };
            entry.due = if is_owed { now + RESEND_FIRST } else { entry.hold.forgotten() };
        });
    }

    /// The next home has made a commit durable.
    pub(super) fn acknowledged(&mut self, from: TeamId, id: HoldId) {
        let waits = |entry: &Entry| {
            entry.at.next == Some(from)
                && matches!(entry.hold.state, HoldState::Settled { owed: Some(_), .. })
        };
        if self.entries.get(&id).is_some_and(waits) {
            self.update(id, |entry| {
                entry.due = entry.hold.forgotten();
                if let HoldState::Settled { owed, .. } = &mut entry.hold.state {
                    *owed = None;
                }
            });
        }
    }

    /// What waits for the team's word is due now.
    pub(super) fn hurry(&mut self, team: TeamId, now: Time) {
        let waits = |entry: &Entry| {
            entry.at.next == Some(team)
                && matches!(entry.hold.state, HoldState::Settled { owed: Some(_), .. })
        };
        let ids: Vec<_> = self.entries.iter().filter(|(_, entry)| waits(entry)).map(|(&id, _)| id).collect();
        for id in ids {
            self.reschedule(id, |entry| (entry.due, entry.resend) = (now, RESEND_FIRST));
        }
    }

    #[cfg(test)]
    pub(super) fn end_at(&mut self, id: HoldId, due: Time) {
        self.reschedule(id, |entry| entry.due = due);
    }

    pub(super) fn due(&self) -> Option<Time> {
        self.due.first().map(|(time, _)| *time)
    }

    pub(super) fn due_by(&self, now: Time) -> Option<HoldId> {
        self.due.first().filter(|(time, _)| *time <= now).map(|(_, id)| *id)
    }

    /// Ends, repeats or forgets what is due. The caller has released what was reserved.
    pub(super) fn handle_due(&mut self, id: HoldId, now: Time, durable: &mut Durable) {
        let Some(entry) = self.entries.get(&id) else {
            return;
        };
        if now >= entry.hold.forgotten() {
            return self.remove(id);
        }
        match (&entry.hold.state, entry.at.next) {
            // The next home looks at it no more.
            (HoldState::Settled { owed: Some(_), .. }, Some(next)) if now >= forgotten(&entry.hold.terms) => {
                self.acknowledged(next, id);
            }
            (HoldState::Settled { owed: Some(proof), .. }, Some(next)) => {
                let (terms, proof) = (entry.hold.terms.clone(), proof.clone());
                durable.send(next, Message::Commit { terms, proof });
                self.reschedule(id, |entry| {
                    entry.due = (now + entry.resend).min(forgotten(&entry.hold.terms));
                    entry.resend = Micros(entry.resend.0 * 2).min(RESEND_MAX);
                });
            }
            _ => self.update(id, |entry| {
                entry.hold.state = HoldState::Ended;
                entry.due = entry.hold.forgotten();
            }),
        }
    }

    /// The holds that were changed since the last call.
    pub(super) fn take_changed(&mut self) -> Vec<Change> {
        let changed = std::mem::take(&mut self.changed);
        let change = |id| Change::Hold(id, self.entries.get(&id).map(|entry| entry.hold.clone()));
        changed.into_iter().map(change).collect()
    }

    fn update(&mut self, id: HoldId, change: impl FnOnce(&mut Entry)) {
        if let Some(mut entry) = self.entries.remove(&id) {
            self.count(&entry, false);
            self.due.remove(&(entry.due, id));
            change(&mut entry);
            self.put(id, entry);
        }
    }

    /// Like `update`, for what need not be kept.
    fn reschedule(&mut self, id: HoldId, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.entries.get_mut(&id) {
            self.due.remove(&(entry.due, id));
            change(entry);
            self.due.insert((entry.due, id));
        }
    }

    fn put(&mut self, id: HoldId, entry: Entry) {
        self.count(&entry, true);
        self.due.insert((entry.due, id));
        self.changed.insert(id);
        self.entries.insert(id, entry);
    }

    /// Counts an entry in or out.
    fn count(&mut self, entry: &Entry, is_in: bool) {
        let change = |count: &mut usize| *count = if is_in { *count + 1 } else { *count - 1 };
        if entry.hold.state.is_open() {
            change(&mut self.open);
            for team in entry.at.previous.into_iter().chain(entry.at.next) {
                let count = self.open_at.entry(team).or_default();
                change(count);
                if *count == 0 {
                    self.open_at.remove(&team);
                }
            }
        }
        if entry.hold.state.is_held() {
            let sum = self.sessions.entry(entry.hold.session).or_default();
            let amount = entry.hold.terms.amount.0;
            *sum = if is_in { *sum + amount } else { *sum - amount };
            if *sum == 0 {
                self.sessions.remove(&entry.hold.session);
            }
        }
    }
}
