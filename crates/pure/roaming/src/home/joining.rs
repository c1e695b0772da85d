//! Devices that want to join the Wi-Fi: an access point asks, the device's own home answers, and this household adds its word.

use super::{Event, Peer, TeamServer};
use crate::message::{Message, Reference, TeamDecision};
use guestright_radius::relay::{Answer, Conversation, Question, Sentence, What};
use guestright_reciprocity::Request;
use guestright_units::{Bytes, Micros, TeamId, Time};
use rand::CryptoRng;
use std::collections::BTreeMap;

/// After so long nobody waits for an answer any more: an access point gives a home 8 s.
const WAIT: Micros = Micros::from_seconds(10);
/// What a device is assumed to consume, where a policy asks: as for a visitor that has just come.
const REQUEST: Bytes = Bytes(1_000_000);

/// First questions a second to the home of another team, and so many at once after a pause. A link between homes takes 50 of
/// these messages a second: what follows a first question has to find room beside any number of them.
const FIRST_PER_SECOND: u64 = 15;
const FIRST_EVERY: Micros = Micros(1_000_000 / FIRST_PER_SECOND);
const FIRST_AHEAD: Micros = Micros::from_seconds(1);
/// How many teams' paces are remembered before those that are over are forgotten.
const PACES_MAX: usize = 1_024;

/// Questions that other homes, or the own one, have not answered yet.
#[derive(Debug, Default)]
pub(super) struct Joining {
    asked: BTreeMap<(TeamId, Conversation), Asked>,
    /// By when the first questions to a team would have been asked, one after the other.
    paces: BTreeMap<TeamId, Time>,
}

#[derive(Debug)]
struct Asked {
    peer: Peer,
    reference: Reference,
    until: Time,
}

impl Joining {
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
    fn answered(&mut self, key: (TeamId, Conversation), now: Time) -> Option<(Peer, Reference)> {
        let asked = self.asked.remove(&key)?;
        (now < asked.until).then_some((asked.peer, asked.reference))
    }

    pub(super) fn disconnected(&mut self, peer: Peer) {
        self.asked.retain(|_, asked| asked.peer != peer);
    }
}

impl TeamServer {
    /// An access point asks: the program around has the team's home asked.
    pub(super) fn handle_eapq(
        &mut self,
        peer: Peer,
        reference: Reference,
        team: TeamId,
        question: Box<Question>,
        now: Time,
    ) {
        let conversation = question.conversation;
        let asked = Asked { peer, reference, until: now + WAIT };
        let is_paced = team != self.team && is_first(&question.eap);
        if (!is_paced || self.joining.may_begin(team, now))
            && self.joining.note((team, conversation), asked, self.config.joining_max, now)
        {
            return self.push_event(Event::AskHome(team, question));
        }
        *self.refusals.entry("joining").or_default() += 1;
        let what = What::Away {
            reason: Sentence::new("Too many devices are trying to join at the moment. Try again."),
        };
        let answer = Box::new(Answer { conversation, what });
        self.send(peer, &Message::Eapr { reference, decision: None, answer });
    }

    /// Takes in what the home of a team, which has proved that it is that team's, answers to an [`Event::AskHome`]. An
    /// answer that nobody waits for does nothing.
    pub fn handle_home_answer(&mut self, team: TeamId, answer: Answer, rng: &mut impl CryptoRng, now: Time) {
        let Some((peer, reference)) = self.joining.answered((team, answer.conversation), now) else {
            *self.refusals.entry("joining-late").or_default() += 1;
            return;
        };
        let is_accepted = matches!(answer.what, What::Accept { .. });
        let decision = is_accepted.then(|| self.decide_on_team(team, rng, now));
        self.send(peer, &Message::Eapr { reference, decision, answer: Box::new(answer) });
    }

    /// Whether a session of the team may begin, as for a visitor that shows nothing.
    fn decide_on_team(&mut self, consumer: TeamId, rng: &mut impl CryptoRng, now: Time) -> TeamDecision {
        let (granted, reason) = if consumer == self.team {
            (true, "a member of the own team".to_owned())
        } else if let Some(credit) = &mut self.credit {
            match credit.begin(consumer, false, now) {
                Ok(grant) => (true, grant.reason),
                Err(reason) => (false, reason),
            }
        } else {
            let request = Request { provider: self.team, consumer, bytes: REQUEST };
            let weighed = self.weigh(request, rng, now);
            (weighed.grant.is_some(), weighed.decision.reason())
        };
        self.push_event(Event::Begun { consumer, is_let_in: granted, reason: reason.clone() });
        TeamDecision { granted, reason }
    }
}

/// Whether it is a Response/Identity (RFC 3748, section 5.1), with which a conversation begins.
fn is_first(eap: &[u8]) -> bool {
    matches!(eap, [2, _, _, _, 1, ..])
}

#[cfg(test)]
mod tests;
