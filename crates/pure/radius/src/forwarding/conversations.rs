//! All conversations, and which of them has to go.

use crate::forwarding::config::Limits;
use crate::forwarding::event::{ConversationId, Decision, Service};
use crate::mppe::Msk;
use crate::realm::Realm;
use crate::request::Nas;
use crate::station::{Network, Station};
use guestright_units::{Micros, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// A question of the access point's that waits for its answer.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) service: Service,
    pub(super) source: SocketAddr,
    pub(super) identifier: u8,
    pub(super) authenticator: [u8; 16],
    /// Proxy-State, to be given back in the same order (RFC 2865, section 5.33).
    pub(super) proxy_states: Vec<Vec<u8>>,
    pub(super) eap_identifier: u8,
}

#[derive(Clone, Debug)]
pub(super) enum Phase {
    /// The home is to answer.
    Home(Pending),
    /// The station is to answer, and to show this State.
    Station([u8; 16]),
    /// The home has said yes; the household is to decide.
    Decision { pending: Pending, msk: Msk, session_timeout: Option<Micros> },
}

impl Phase {
    pub(super) fn pending(&self) -> Option<&Pending> {
        match self {
            Self::Home(pending) | Self::Decision { pending, .. } => Some(pending),
            Self::Station(_) => None,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Conversation {
    pub(super) service: Service,
    pub(super) source: SocketAddr,
    pub(super) realm: Realm,
    pub(super) station: Station,
    pub(super) network: Option<Network>,
    pub(super) nas: Nas,
    pub(super) started: Time,
    pub(super) round: u32,
    pub(super) eap_bytes: usize,
    pub(super) eap_mtu: usize,
    pub(super) phase: Phase,
    pub(super) decision: Option<Decision>,
    pub(super) is_in_progress: bool,
    pub(super) deadline: Time,
}

impl Conversation {
    /// Whether it is the same client's, by whichever of its ports or connections. What is inside TLS and what is not are two.
    pub(super) fn is_of(&self, pending: &Pending) -> bool {
        self.service == pending.service && self.source.ip() == pending.source.ip()
    }
}

/// Conversations of one rank. Identifiers ascend, so the smallest is the oldest.
#[derive(Debug, Default)]
struct Rank {
    ids: BTreeSet<ConversationId>,
    by_realm: BTreeMap<Realm, BTreeSet<ConversationId>>,
}

impl Rank {
    fn insert(&mut self, realm: Realm, id: ConversationId) {
        self.ids.insert(id);
        self.by_realm.entry(realm).or_default().insert(id);
    }

    fn remove(&mut self, realm: Realm, id: ConversationId) {
        self.ids.remove(&id);
        if let Some(ids) = self.by_realm.get_mut(&realm) {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_realm.remove(&realm);
            }
        }
    }

    fn realm_len(&self, realm: Realm) -> usize {
        self.by_realm.get(&realm).map_or(0, BTreeSet::len)
    }

    fn oldest_of(&self, realm: Realm) -> Option<ConversationId> {
        self.by_realm.get(&realm)?.first().copied()
    }

    fn oldest_of_the_largest(&self) -> Option<ConversationId> {
        self.by_realm.values().max_by_key(|ids| ids.len())?.first().copied()
    }
}

#[derive(Debug, Default)]
pub(super) struct Conversations {
    all: BTreeMap<ConversationId, Conversation>,
    by_state: BTreeMap<[u8; 16], ConversationId>,
    by_station: BTreeSet<(Station, ConversationId)>,
    deadlines: BTreeSet<(Time, ConversationId)>,
    strangers: Rank,
    in_progress: Rank,
    last: u64,
}

impl Conversations {
    pub(super) fn get(&self, id: ConversationId) -> Option<&Conversation> {
        self.all.get(&id)
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn by_state(&self, state: &[u8]) -> Option<ConversationId> {
        self.by_state.get(<&[u8; 16]>::try_from(state).ok()?).copied()
    }

    pub(super) fn of_station(&self, station: Station) -> Vec<ConversationId> {
        let range = (station, ConversationId(0))..=(station, ConversationId(u64::MAX));
        self.by_station.range(range).map(|(_, id)| *id).collect()
    }

    /// Which conversation has to go before a newcomer of this realm can begin.
    pub(super) fn in_the_way_of_stranger(&self, realm: Realm, limits: &Limits) -> Option<ConversationId> {
        if self.strangers.realm_len(realm) >= limits.realm_strangers_max {
            return self.strangers.oldest_of(realm);
        }
        if self.strangers.ids.len() >= limits.strangers_max {
            self.strangers.ids.first().copied()
        } else {
            None
        }
    }

    /// Which conversation has to go before one of this realm can be in progress.
    pub(super) fn in_the_way_of_progress(&self, realm: Realm, limits: &Limits) -> Option<ConversationId> {
        if self.in_progress.realm_len(realm) >= limits.realm_in_progress_max {
            return self.in_progress.oldest_of(realm);
        }
        if self.in_progress.ids.len() >= limits.in_progress_max {
            self.in_progress.oldest_of_the_largest()
        } else {
            None
        }
    }

    pub(super) fn insert(&mut self, conversation: Conversation) -> ConversationId {
        self.last += 1;
        let id = ConversationId(self.last);
        self.strangers.insert(conversation.realm, id);
        self.by_station.insert((conversation.station, id));
        self.deadlines.insert((conversation.deadline, id));
        self.all.insert(id, conversation);
        id
    }

    pub(super) fn remove(&mut self, id: ConversationId) -> Option<Conversation> {
        let conversation = self.all.remove(&id)?;
        if let Phase::Station(state) = &conversation.phase {
            self.by_state.remove(state);
        }
        self.by_station.remove(&(conversation.station, id));
        self.deadlines.remove(&(conversation.deadline, id));
        self.strangers.remove(conversation.realm, id);
        self.in_progress.remove(conversation.realm, id);
        Some(conversation)
    }

    /// Puts a conversation into another phase, which ends then.
    pub(super) fn enter(&mut self, id: ConversationId, phase: Phase, deadline: Time) {
        let Some(conversation) = self.all.get_mut(&id) else { return };
        if let Phase::Station(state) = &conversation.phase {
            self.by_state.remove(state);
        }
        if let Phase::Station(state) = &phase {
            self.by_state.insert(*state, id);
        }
        self.deadlines.remove(&(conversation.deadline, id));
        self.deadlines.insert((deadline, id));
        (conversation.phase, conversation.deadline) = (phase, deadline);
    }

    pub(super) fn set_in_progress(&mut self, id: ConversationId) {
        let Some(conversation) = self.all.get_mut(&id) else { return };
        conversation.is_in_progress = true;
        self.strangers.remove(conversation.realm, id);
        self.in_progress.insert(conversation.realm, id);
    }

    /// A station has sent `eap_bytes` more.
    pub(super) fn count_round(&mut self, id: ConversationId, eap_bytes: usize) {
        if let Some(conversation) = self.all.get_mut(&id) {
            conversation.round += 1;
            conversation.eap_bytes += eap_bytes;
        }
    }

    pub(super) fn count_bytes(&mut self, id: ConversationId, eap_bytes: usize) {
        if let Some(conversation) = self.all.get_mut(&id) {
            conversation.eap_bytes += eap_bytes;
        }
    }

    pub(super) fn decide(&mut self, id: ConversationId, decision: Decision) {
        if let Some(conversation) = self.all.get_mut(&id) {
            conversation.decision = Some(decision);
        }
    }

    pub(super) fn next_deadline(&self) -> Option<(Time, ConversationId)> {
        self.deadlines.first().copied()
    }
}
