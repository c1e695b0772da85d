//! How many more calls the household's access points carry, as they said last.
//!
//! What is not known refuses nobody: a member whose telephone is at no access point that has spoken, or at one that has
//! fallen silent, calls as if there were no meter.

use super::Proxy;
use super::call::Call;
use super::event::CallId;
use super::legs::Side;
use super::rewrite::Answer;
use crate::peer::Party;
use guestright_identity::KeyId;
use guestright_units::{Micros, Time};
use std::collections::{BTreeSet, VecDeque};

/// So many access points are heeded.
const ROOMS_MAX: usize = 64;
/// A call that began so short a time ago may not be in what an access point has said.
const UNSEEN: Micros = Micros::from_seconds(10);

/// One access point of the household.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRoom {
    /// Members whose telephones may be at it.
    pub members: BTreeSet<KeyId>,
    /// How many more calls keep all of them good.
    pub more: u32,
}

/// What all of them said, and the ends of calls that began lately.
#[derive(Debug, Default)]
pub(super) struct Rooms {
    rooms: Vec<CallRoom>,
    began: VecDeque<(Time, Vec<KeyId>)>,
}

impl CallRoom {
    /// How many of these ends are at it.
    fn needed(&self, ends: &[KeyId]) -> u32 {
        let here = ends.iter().filter(|key| self.members.contains(key));
        u32::try_from(here.count()).unwrap_or(u32::MAX)
    }

    fn reserve(&mut self, ends: &[KeyId]) {
        self.more = self.more.saturating_sub(self.needed(ends));
    }
}

impl Proxy {
    /// What the access points say now; those that are not in it are not heeded any more. Calls of the last ten seconds are
    /// taken off, because they may not have seen them yet.
    pub fn set_rooms(&mut self, mut rooms: Vec<CallRoom>, now: Time) {
        rooms.truncate(ROOMS_MAX);
        let began = &mut self.rooms.began;
        began.retain(|(at, _)| now < *at + UNSEEN);
        for room in &mut rooms {
            began.iter().for_each(|(_, ends)| room.reserve(ends));
        }
        self.rooms.rooms = rooms;
    }

    /// Takes the room that a call needs, once at each end that is at an access point; the answer is for the caller if there is
    /// none. Called before anything rings, so that nothing that is up is ever ended by it.
    pub(super) fn take_room(&mut self, id: CallId, now: Time) -> Result<(), Answer> {
        let Some(call) = self.calls.get(id) else { return Ok(()) };
        let [caller, callee] = [Side::Caller, Side::Callee].map(|side| self.key_at(call, side));
        let ends: Vec<KeyId> = [caller, callee].into_iter().flatten().collect();
        if let Some(full) = self.rooms.rooms.iter().find(|room| room.needed(&ends) > room.more) {
            let at_caller = caller.is_some_and(|key| full.members.contains(&key));
            self.refuse("no room for a call on the air");
            return Err(Answer::no_room(at_caller));
        }
        self.rooms.rooms.iter_mut().for_each(|room| room.reserve(&ends));
        while self.rooms.began.len() >= self.config.calls_max {
            self.rooms.began.pop_front();
        }
        self.rooms.began.push_back((now, ends));
        Ok(())
    }

    fn key_at(&self, call: &Call, side: Side) -> Option<KeyId> {
        match &call.legs[side].party {
            Party::Member(name) => self.names.member(name).map(|member| member.key),
            Party::Home(_) => None,
        }
    }
}
