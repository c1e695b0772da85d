//! Devices that want to join the Wi-Fi: which questions of access points other homes, or the own one, have not answered yet.

use super::Peer;
use crate::message::Reference;
use guestright_ordered::OrderedMap;
use guestright_radius::relay::{Conversation, Question};
use guestright_units::{Micros, TeamId, Time};

/// After so long nobody waits for an answer any more: an access point gives a home 8 s.
const WAIT: Micros = Micros::from_seconds(10);
/// First questions a second to the home of another team, and so many at once after a pause. A link between homes takes 50 of
/// these messages a second: what follows a first question has to find room beside any number of them.
const FIRST_PER_SECOND: u64 = 15;
const FIRST_EVERY: Micros = Micros(1_000_000 / FIRST_PER_SECOND);
const FIRST_AHEAD: Micros = Micros::from_seconds(1);
/// How many teams' paces are remembered before those that are over are forgotten.
const PACES_MAX: usize = 1_024;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Joining {
    asked: OrderedMap<(TeamId, Conversation), Asked>,
    /// By when the first questions to a team would have been asked, one after the other.
    paces: OrderedMap<TeamId, Time>,
}

#[derive(Debug)]
struct Asked {
    peer: Peer,
    reference: Reference,
    until: Time,
}

impl Joining {
    /// Whether the team's home may be asked this; if so, the answer is awaited. `is_own`: it is this home.
    pub(super) fn ask(
        &mut self,
        (team, is_own): (TeamId, bool),
        question: &Question,
        (peer, reference): (Peer, Reference),
        max: usize,
        now: Time,
    ) -> bool {
        if !is_own && is_first(&question.eap) && !self.may_begin(team, now) {
            return false;
        }
        let asked = Asked { peer, reference, until: now + WAIT };
        self.note((team, question.conversation), asked, max, now)
    }

    /// Notes a question, in the place of an earlier one of its conversation. Says whether there is room.
    fn note(&mut self, key: (TeamId, Conversation), asked: Asked, max: usize, now: Time) -> bool {
        if self.asked.len() >= max && !self.asked.contains_key(&key) {
            self.asked.retain(|_, other| now < other.until);
        }
        let fits = self.asked.len() < max || self.asked.contains_key(&key);
        if fits {
            self.asked.insert(key, asked);
        }
        fits
    }

    /// Whether one more first question may be asked of the team's home now; if so, it is counted.
    fn may_begin(&mut self, team: TeamId, now: Time) -> bool {
        if self.paces.len() >= PACES_MAX {
            self.paces.retain(|_, asked_by| *asked_by > now);
        }
        let asked_by = self.paces.get(&team).copied().unwrap_or(now).max(now) + FIRST_EVERY;
        let may = asked_by <= now + FIRST_AHEAD;
        if may {
            self.paces.insert(team, asked_by);
        }
        may
    }

    /// Who waits for this answer.
    pub(super) fn answered(&mut self, key: (TeamId, Conversation), now: Time) -> Option<(Peer, Reference)> {
        let asked = self.asked.remove(&key)?;
        (now < asked.until).then_some((asked.peer, asked.reference))
    }

    pub(super) fn disconnected(&mut self, peer: Peer) {
        self.asked.retain(|_, asked| asked.peer != peer);
    }
}

/// Whether it is a Response/Identity (RFC 3748, section 5.1), with which a conversation begins.
fn is_first(eap: &[u8]) -> bool {
    matches!(eap, [2, _, _, _, 1, ..])
}

#[cfg(test)]
mod tests;
