//! How many more calls the household's access points carry, as they said last.
//!
//! What is not known refuses nobody: a member whose telephone is at no access point that has spoken, or at one that has
//! fallen silent, calls as if there were no meter.

use super::event::CallId;
use super::rewrite::Answer;
use guestright_identity::KeyId;
use guestright_units::{Micros, Time};
use std::collections::{BTreeMap, BTreeSet};

/// So many access points are heeded.
const ROOMS_MAX: usize = 64;
/// A call that is up for less time may not be in what an access point has said.
const UNSEEN: Micros = Micros::from_seconds(10);

/// One access point of the household.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRoom {
    /// Members whose telephones may be at it.
    pub members: BTreeSet<KeyId>,
    /// How many more calls keep all of them good.
    pub more: u32,
}

/// What all of them said, and the calls that they may not have seen.
#[derive(Debug, Default)]
pub(super) struct Rooms {
    rooms: Vec<CallRoom>,
    unseen: BTreeMap<CallId, Unseen>,
}

/// A call between members, of which no packet or few have been on the air.
#[derive(Debug)]
struct Unseen {
    ends: Vec<KeyId>,
    /// Since when; nothing while it rings.
    up: Option<Time>,
}

impl CallRoom {
    /// How many of these ends are at it.
    fn needed(&self, ends: &[KeyId]) -> u32 {
        let here = ends.iter().filter(|key| self.members.contains(key));
        u32::try_from(here.count()).unwrap_or(u32::MAX)
    }
}

impl Rooms {
    /// What the access points say now.
    pub(super) fn set(&mut self, mut rooms: Vec<CallRoom>, now: Time) {
        rooms.truncate(ROOMS_MAX);
        self.unseen.retain(|_, call| call.up.is_none_or(|up| now < up + UNSEEN));
        self.rooms = rooms;
    }

    /// How many more calls fit at each.
    pub(super) fn left(&self) -> impl Iterator<Item = u32> {
        self.rooms.iter().map(|room| self.left_in(room))
    }

    fn left_in(&self, room: &CallRoom) -> u32 {
        let taken: u32 = self.unseen.values().map(|call| room.needed(&call.ends)).sum();
        room.more.saturating_sub(taken)
    }

    /// Takes the room that a call between these members needs, once at each end that is at an access point, until the call is over
    /// or an access point has seen it; the answer for the caller if there is none.
    pub(super) fn reserve(
        &mut self,
        id: CallId,
        caller: Option<KeyId>,
        callee: Option<KeyId>,
    ) -> Result<(), Answer> {
        let ends: Vec<KeyId> = [caller, callee].into_iter().flatten().collect();
        let is_full = |room: &&CallRoom| {
            let needed = room.needed(&ends);
            needed > 0 && needed > self.left_in(room)
        };
        if let Some(full) = self.rooms.iter().find(is_full) {
            return Err(Answer::no_room(caller.is_some_and(|key| full.members.contains(&key))));
        }
        self.unseen.insert(id, Unseen { ends, up: None });
        Ok(())
    }

    /// Somebody has taken the call: an access point sees it before long.
    pub(super) fn note_up(&mut self, id: CallId, now: Time) {
        if let Some(call) = self.unseen.get_mut(&id) {
            call.up.get_or_insert(now);
        }
    }

    /// The call is over, or came to nothing.
    pub(super) fn note_ended(&mut self, id: CallId) {
        self.unseen.remove(&id);
    }
}
