//! The table of calls: whom a message belongs to, how many there may be, and which are dead.

use super::call::{Call, Leg};
use super::config::Config;
use super::event::CallId;
use super::legs::Side;
use crate::peer::Party;
use guestright_units::{Micros, Time};
use std::collections::{BTreeMap, BTreeSet};

/// One leg of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LegId {
    pub(super) call: CallId,
    pub(super) side: Side,
}

/// What a message names a leg by: who has sent it, and its Call-ID, which is another one on each side.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LegName {
    party: Party,
    call_id: String,
}

/// All calls of a home.
#[derive(Debug)]
pub(super) struct Calls {
    pub(super) calls_max: usize,
    pub(super) calls_each_max: usize,
    dead_after: Micros,
    calls: BTreeMap<CallId, Call>,
    by_leg: BTreeMap<LegName, LegId>,
    next: u64,
    /// When a call is dead if nothing comes of it any more. Looked at, and set anew, when it is reached.
    timers: BTreeSet<(Time, CallId)>,
}

impl Calls {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            calls_max: config.calls_max,
            calls_each_max: config.calls_each_max,
            dead_after: config.dead_after,
            calls: BTreeMap::new(),
            by_leg: BTreeMap::new(),
            next: 0,
            timers: BTreeSet::new(),
        }
    }

    /// A call whose callee is still to be found.
    pub(super) fn open(&mut self, call: Call, now: Time) -> CallId {
        let id = CallId(self.next);
        self.next += 1;
        self.calls.insert(id, call);
        self.timers.insert((now + self.dead_after, id));
        self.index(LegId { call: id, side: Side::Caller });
        id
    }

    /// From now on messages of this leg's party find the call. Done again once the callee is known.
    pub(super) fn index(&mut self, leg: LegId) {
        let Some(call) = self.calls.get(&leg.call) else { return };
        let Leg { party, call_id, .. } = &call.legs[leg.side];
        self.by_leg.insert(LegName { party: party.clone(), call_id: call_id.clone() }, leg);
    }

    /// The leg that this party calls so.
    pub(super) fn find(&self, party: &Party, call_id: &str) -> Option<LegId> {
        self.by_leg.get(&LegName { party: party.clone(), call_id: call_id.to_owned() }).copied()
    }

    /// Forgets a call.
    pub(super) fn remove(&mut self, id: CallId) -> Option<Call> {
        let call = self.calls.remove(&id)?;
        for leg in call.legs.iter() {
            let name = LegName { party: leg.party.clone(), call_id: leg.call_id.clone() };
            self.by_leg.remove(&name);
        }
        Some(call)
    }

    pub(super) fn get(&self, id: CallId) -> Option<&Call> {
        self.calls.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: CallId) -> Option<&mut Call> {
        self.calls.get_mut(&id)
    }

    pub(super) fn contains(&self, id: CallId) -> bool {
        self.calls.contains_key(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (CallId, &Call)> {
        self.calls.iter().map(|(id, call)| (*id, call))
    }

    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether one more call fits.
    pub(super) fn is_full(&self) -> bool {
        self.calls.len() >= self.calls_max
    }

    /// Whether one more call of this party fits.
    pub(super) fn has_room(&self, party: &Party) -> bool {
        let same = self.calls.values().filter(|call| call.legs.iter().any(|leg| leg.party == *party));
        same.count() < self.calls_each_max
    }

    /// Time has passed. Gives the calls of which nothing has come for too long.
    pub(super) fn handle_timeout(&mut self, now: Time) -> Vec<CallId> {
        let mut dead = Vec::new();
        while let Some((_, id)) = self.timers.first().copied().filter(|(due, _)| *due <= now) {
            self.timers.pop_first();
            let Some(call) = self.calls.get(&id) else { continue };
            let dead_at = call.alive + self.dead_after;
            if dead_at <= now {
                dead.push(id);
            } else {
                self.timers.insert((dead_at, id));
            }
        }
        dead
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.timers.first().map(|(due, _)| *due)
    }
}
