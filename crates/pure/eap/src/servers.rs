//! Many conversations at a home.

use crate::config::Config;
use crate::outcome::Outcome;
use crate::server::{Dropped, Progress, Server};
use guestright_units::{Micros, Time};
use rand::CryptoRng;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// Events that wait to be fetched; more are not kept.
const EVENTS_MAX: usize = 1_024;

/// How much all conversations may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableLimits {
    pub conversations_max: usize,
    /// Those of one asker.
    pub per_asker_max: usize,
    /// How long the answer to a last packet is known, should it be asked for again.
    pub linger: Micros,
}

impl Default for TableLimits {
    /// A conversation in the middle of a handshake has some 30 kB.
    fn default() -> Self {
        Self { conversations_max: 256, per_asker_max: 64, linger: Micros::from_seconds(10) }
    }
}

/// What a conversation is called between a home and an access point: chance, so that nobody names another's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConversationId(pub [u8; 16]);

impl fmt::Debug for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConversationId({:02x}{:02x}..)", self.0[0], self.0[1])
    }
}

/// Why a conversation is no longer known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It has an outcome, and its last answer is known no longer.
    Finished,
    /// The phone did not come to an end in time.
    TooSlow,
    /// Another one needed its room.
    Displaced,
}

#[derive(Debug)]
struct Conversation<A> {
    asker: A,
    began: Time,
    forget_at: Time,
    server: Server,
}

/// The conversations of a home with many phones, which anybody's access points carry.
///
/// `A` is who asks, as far as that is certain: the key of the sealed channel, not an address that anybody can write.
/// Used as a [`Server`] is, but that each call names the conversation; [`poll_event`](Self::poll_event) says which are
/// no longer known.
///
/// Room is limited. A new conversation takes the room of one that is over, else that of one in which nothing has been
/// computed yet: of the asker that has most of these, the oldest. If all others are in the middle of a handshake, it
/// takes one of an asker that has more of them than its own would then have, the oldest. Else there is no room. Who is
/// proven to be a member's phone keeps its room until it is done. So a flood of beginnings displaces beginnings, and a
/// flood by one asker displaces that asker's own.
#[derive(Debug)]
pub struct Servers<A> {
    config: Config,
    limits: TableLimits,
    conversations: BTreeMap<ConversationId, Conversation<A>>,
    transmits: VecDeque<(ConversationId, Vec<u8>)>,
    events: VecDeque<(ConversationId, Ended)>,
}

impl<A: Ord + Clone> Servers<A> {
    #[must_use]
    pub fn new(config: Config, limits: TableLimits) -> Self {
        let conversations = BTreeMap::new();
        Self { config, limits, conversations, transmits: VecDeque::new(), events: VecDeque::new() }
    }

    /// From now on conversations begin with this; those that have begun go on as they are.
    pub fn replace_config(&mut self, config: Config) {
        self.config = config;
    }

    /// An access point brings a phone's first packet. None if there is no room.
    pub fn begin(
        &mut self,
        asker: A,
        framed_mtu: Option<u16>,
        now: Time,
        rng: &mut impl CryptoRng,
    ) -> Option<ConversationId> {
        self.handle_timeout(now);
        self.make_room(&asker)?;
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        let server = Server::new(&self.config, framed_mtu, now);
        let forget_at = now + self.config.limits.duration_max + self.limits.linger;
        let id = ConversationId(id);
        self.conversations.insert(id, Conversation { asker, began: now, forget_at, server });
        Some(id)
    }

    /// A packet has come from a phone.
    ///
    /// # Errors
    /// Why it was dropped; also if the conversation is another asker's.
    pub fn handle(&mut self, id: ConversationId, asker: &A, bytes: &[u8], now: Time) -> Result<(), Dropped> {
        let conversation =
            self.conversations.get_mut(&id).filter(|conversation| conversation.asker == *asker);
        let conversation = conversation.ok_or(Dropped::Unknown)?;
        conversation.server.handle(bytes, now)?;
        if conversation.server.outcome().is_some() {
            conversation.forget_at = conversation.forget_at.min(now + self.limits.linger);
        }
        self.transmits.extend(conversation.server.poll_transmit().map(|packet| (id, packet)));
        Ok(())
    }

    /// A packet to send, and for which conversation.
    pub fn poll_transmit(&mut self) -> Option<(ConversationId, Vec<u8>)> {
        self.transmits.pop_front()
    }

    /// How a conversation has ended, if it has.
    #[must_use]
    pub fn outcome(&self, id: ConversationId) -> Option<&Outcome> {
        self.conversations.get(&id)?.server.outcome()
    }

    /// Which conversations are no longer known.
    pub fn poll_event(&mut self) -> Option<(ConversationId, Ended)> {
        self.events.pop_front()
    }

    /// When [`Servers::handle_timeout`] is wanted.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let times = self.conversations.values().map(|conversation| {
            conversation.server.poll_timeout().unwrap_or(Time(u64::MAX)).min(conversation.forget_at)
        });
        times.min()
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        let mut forgotten = Vec::new();
        for (id, conversation) in &mut self.conversations {
            let was_open = conversation.server.outcome().is_none();
            conversation.server.handle_timeout(now);
            let is_too_slow = was_open && conversation.server.outcome().is_some();
            if is_too_slow || now >= conversation.forget_at {
                forgotten.push((*id, if is_too_slow { Ended::TooSlow } else { Ended::Finished }));
            }
        }
        for (id, ended) in forgotten {
            self.forget(id, ended);
        }
    }

    /// How many conversations are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.conversations.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.conversations.is_empty()
    }

    fn make_room(&mut self, asker: &A) -> Option<()> {
        let own = self.conversations.values().filter(|conversation| conversation.asker == *asker).count();
        if own >= self.limits.per_asker_max {
            // It has had its share: its own make room, whatever others do.
            return self.displace(|conversation| conversation.asker == *asker, |_| true);
        }
        if self.conversations.len() < self.limits.conversations_max {
            return Some(());
        }
        self.displace(|_| true, |count| count > own + 1)
    }

    /// Ends one of these conversations, if one may be; those in a handshake only of askers with enough of them.
    fn displace(
        &mut self,
        is_candidate: impl Fn(&Conversation<A>) -> bool,
        has_many: impl Fn(usize) -> bool,
    ) -> Option<()> {
        let mut counts: BTreeMap<(Progress, &A), usize> = BTreeMap::new();
        for conversation in self.conversations.values() {
            *counts.entry((conversation.server.progress(), &conversation.asker)).or_default() += 1;
        }
        let victim = self
            .conversations
            .iter()
            .filter(|(_, conversation)| is_candidate(conversation))
            .map(|(id, conversation)| {
                let progress = conversation.server.progress();
                (progress, counts[&(progress, &conversation.asker)], conversation.began, *id)
            })
            .filter(|(progress, count, ..)| match progress {
                Progress::Over | Progress::Begun => true,
                Progress::Handshake => has_many(*count),
                Progress::Proven => false,
            })
            .min_by_key(|(progress, count, began, id)| (*progress, std::cmp::Reverse(*count), *began, *id));
        let (progress, _, _, id) = victim?;
        self.forget(id, if progress == Progress::Over { Ended::Finished } else { Ended::Displaced });
        Some(())
    }

    fn forget(&mut self, id: ConversationId, ended: Ended) {
        self.conversations.remove(&id);
        if self.events.len() < EVENTS_MAX {
            self.events.push_back((id, ended));
        }
    }
}
