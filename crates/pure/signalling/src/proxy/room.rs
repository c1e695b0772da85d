//! How many more calls the household's access points carry, as they said last.
//!
//! What is not known refuses nobody: a member whose telephone is at no access point that has spoken, or at one that has
//! fallen silent, calls as if there were no meter.

use super::rewrite::Answer;
use guestright_identity::KeyId;
use guestright_units::{Micros, Time};
use std::collections::{BTreeSet, VecDeque};

/// So many access points are heeded.
const ROOMS_MAX: usize = 64;
/// A call that began so short a time ago may not be in what an access point has said.
const UNSEEN: Micros = Micros::from_seconds(10);
/// So many of these are remembered.
const BEGAN_MAX: usize = 256;

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

impl Rooms {
    /// What the access points say now. Calls of the last ten seconds are taken off, because they may not have seen them yet.
    pub(super) fn set(&mut self, mut rooms: Vec<CallRoom>, now: Time) {
        rooms.truncate(ROOMS_MAX);
        self.began.retain(|(at, _)| now < *at + UNSEEN);
        for room in &mut rooms {
            self.began.iter().for_each(|(_, ends)| room.reserve(ends));
        }
        self.rooms = rooms;
    }

    /// Takes the room that a call between these members needs, once at each end that is at an access point; the answer for the
    /// caller if there is none.
    pub(super) fn reserve(
        &mut self,
        caller: Option<KeyId>,
        callee: Option<KeyId>,
        now: Time,
    ) -> Result<(), Answer> {
        let ends: Vec<KeyId> = [caller, callee].into_iter().flatten().collect();
        if let Some(full) = self.rooms.iter().find(|room| room.needed(&ends) > room.more) {
            return Err(Answer::no_room(caller.is_some_and(|key| full.members.contains(&key))));
        }
        self.rooms.iter_mut().for_each(|room| room.reserve(&ends));
        if self.began.len() >= BEGAN_MAX {
            self.began.pop_front();
        }
        self.began.push_back((now, ends));
        Ok(())
    }
}
