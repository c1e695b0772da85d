//! Which of the machine's questions the own home was asked, and under which number.

use guestright_radius::relay::Conversation;
use guestright_radius::{ConversationId, Realm, Relay, RelayId, Station};
use guestright_roaming::message::Reference;
use guestright_units::Seed;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use std::collections::BTreeMap;

/// One conversation of the machine's.
#[derive(Debug)]
struct Entry {
    /// What homes know it by.
    conversation: Conversation,
    station: Station,
    realm: Realm,
    /// Its last question, until that is answered.
    question: Option<Reference>,
}

/// What is known of conversations: one entry for each that the machine has, so its limits hold here too.
#[derive(Debug)]
pub(super) struct Asked {
    entries: BTreeMap<ConversationId, Entry>,
    questions: BTreeMap<Reference, RelayId>,
    last: Reference,
    rng: StdRng,
}

impl Asked {
    pub(super) fn new(seed: Seed) -> Self {
        Self { entries: BTreeMap::new(), questions: BTreeMap::new(), last: 0, rng: StdRng::from_seed(seed.0) }
    }

    /// Notes a question that takes the place of the conversation's last.
    pub(super) fn ask(&mut self, relay: &Relay) -> (Conversation, Reference) {
        self.last += 1;
        let rng = &mut self.rng;
        let entry = self.entries.entry(relay.id.conversation).or_insert_with(|| {
            let mut conversation = [0; 16];
            rng.fill_bytes(&mut conversation);
            let conversation = Conversation(conversation);
            Entry { conversation, station: relay.station, realm: relay.realm, question: None }
        });
        if let Some(before) = entry.question.replace(self.last) {
            self.questions.remove(&before);
        }
        self.questions.insert(self.last, relay.id);
        (entry.conversation, self.last)
    }

    /// The question that is answered, and whom it is about.
    pub(super) fn answered(
        &mut self,
        reference: Reference,
        conversation: Conversation,
    ) -> Option<(RelayId, (Station, Realm))> {
        let relay = *self.questions.get(&reference)?;
        let entry = self.entries.get_mut(&relay.conversation)?;
        if entry.conversation != conversation {
            return None;
        }
        entry.question = None;
        self.questions.remove(&reference);
        Some((relay, (entry.station, entry.realm)))
    }

    /// The conversation is over.
    pub(super) fn end(&mut self, id: ConversationId) {
        if let Some(Entry { question: Some(reference), .. }) = self.entries.remove(&id) {
            self.questions.remove(&reference);
        }
    }

    /// All questions, which nobody will answer.
    pub(super) fn take_all(&mut self) -> Vec<RelayId> {
        self.entries.values_mut().for_each(|entry| entry.question = None);
        std::mem::take(&mut self.questions).into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_radius::Nas;
    use guestright_units::TeamId;

    fn relay(conversation: u64, round: u32) -> Relay {
        Relay {
            id: RelayId { conversation: ConversationId(conversation), round },
            realm: Realm(TeamId([1; 24])),
            station: Station([2, 0, 0, 0, 0, 1]),
            network: None,
            nas: Nas::default(),
            eap: vec![],
            eap_bytes_max: 1_020,
        }
    }

    #[test]
    fn homes_know_a_conversation_by_one_name_and_others_by_others() {
        let mut asked = Asked::new(Seed([1; 32]));
        let (first, one) = asked.ask(&relay(1, 1));
        let (other, two) = asked.ask(&relay(2, 1));
        assert!(first != other && one != two);
        assert_eq!(asked.ask(&relay(1, 2)).0, first);
    }

    #[test]
    fn an_answer_counts_once_for_its_own_conversation_and_the_last_question() {
        let mut asked = Asked::new(Seed([1; 32]));
        let (conversation, one) = asked.ask(&relay(1, 1));
        let (_, two) = asked.ask(&relay(1, 2));
        let (other, _) = asked.ask(&relay(2, 1));
        let id = |asked: &mut Asked, reference, conversation| {
            asked.answered(reference, conversation).map(|(relay, _)| relay)
        };
        assert_eq!(id(&mut asked, one, conversation), None, "it was asked anew");
        assert_eq!(id(&mut asked, two, other), None);
        assert_eq!(id(&mut asked, two, conversation), Some(relay(1, 2).id));
        assert_eq!(id(&mut asked, two, conversation), None);
    }

    #[test]
    fn nothing_is_left_of_what_is_over() {
        let mut asked = Asked::new(Seed([1; 32]));
        let (_, reference) = asked.ask(&relay(1, 1));
        let (conversation, second) = asked.ask(&relay(2, 1));
        asked.end(ConversationId(1));
        assert_eq!((asked.entries.len(), asked.questions.contains_key(&reference)), (1, false));
        assert_eq!(asked.take_all(), [relay(2, 1).id]);
        assert_eq!(asked.answered(second, conversation).map(|(relay, _)| relay), None);
        asked.end(ConversationId(2));
        assert!(asked.entries.is_empty() && asked.questions.is_empty());
    }
}
