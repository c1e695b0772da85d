use crate::access_point::session::{Session, Stage};
use crate::access_point::{Address, Path, SessionStatus};
use crate::message::Reference;
use crate::spread;
use guestright_ordered::OrderedMap;
use guestright_reciprocity::ServiceClass;
use guestright_units::{Bytes, Micros, Time};
use std::cmp::Reverse;
use std::net::Ipv4Addr;

/// Whom the access point serves, or is about to.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    by_address: OrderedMap<Address, Session>,
}

impl Sessions {
    pub(super) fn get(&self, address: Address) -> Option<&Session> {
        self.by_address.get(&address)
    }

    pub(super) fn get_mut(&mut self, address: Address) -> Option<&mut Session> {
        self.by_address.get_mut(&address)
    }

    pub(super) fn contains(&self, address: Address) -> bool {
        self.by_address.contains_key(&address)
    }

    pub(super) fn insert(&mut self, address: Address, session: Session) {
        self.by_address.insert(address, session);
    }

    pub(super) fn remove(&mut self, address: Address) -> Option<Session> {
        self.by_address.remove(&address)
    }

    pub(super) fn len(&self) -> usize {
        self.by_address.len()
    }

    pub(super) fn addresses(&self) -> Vec<Address> {
        self.by_address.keys().copied().collect()
    }

    /// Whether `max` visitors have proved a key.
    pub(super) fn is_full(&self, max: usize) -> bool {
        let proved = |session: &&Session| session.stage != Stage::Opening;
        self.len() >= max && self.by_address.values().filter(proved).count() >= max
    }

    /// Whether somebody's session is about to be over.
    pub(super) fn are_closing(&self) -> bool {
        self.by_address.values().any(Session::is_closing)
    }

    /// Who gives way when somebody of a better class than `class` comes: of the lowest class, who came last.
    pub(super) fn gives_way(&self, class: ServiceClass) -> Option<Address> {
        let open = self.open().filter(|(_, session)| session.class < class);
        open.min_by_key(|(_, session)| (session.class, Reverse(session.started))).map(|(address, _)| address)
    }

    /// Who has had the longest time to prove a key, and has not.
    pub(super) fn oldest_unproved(&self) -> Option<Address> {
        let opening = self.by_address.iter().filter(|(_, session)| session.stage == Stage::Opening);
        opening.min_by_key(|(_, session)| session.timeout()).map(|(&address, _)| address)
    }

    /// Whether this visitor is served, itself or its tunnel, or its tunnel is about to be.
    pub(super) fn serves(&self, ip: Ipv4Addr) -> bool {
        self.by_address.iter().any(|(address, session)| {
            address.ip == ip && (address.home.is_some() || session.stage != Stage::Opening)
        })
    }

    /// For whom this question was asked.
    pub(super) fn asked(&self, reference: Reference) -> Option<Address> {
        let is_it = |session: &Session| session.more.reference == Some(reference);
        self.by_address.iter().find(|(_, session)| is_it(session)).map(|(&address, _)| address)
    }

    /// The sessions of this visitor's tunnels.
    pub(super) fn tunnels(&self, ip: Ipv4Addr) -> Vec<Address> {
        let tunnel = |address: &&Address| address.ip == ip && address.home.is_some();
        self.by_address.keys().filter(tunnel).copied().collect()
    }

    /// The team server is there again: what was decided without it is overdue for a decision.
    pub(super) fn reconsider(&mut self, now: Time) {
        for session in self.by_address.values_mut().filter(|session| session.decided_alone) {
            session.decided_alone = false;
            session.decided_until = session.decided_until.min(now);
            (session.more.not_before, session.more.low) = (now, Bytes(u64::MAX));
        }
    }

    /// When a receipt of this session that is due at `latest` is asked for, so that the requests of all who are open come to be
    /// an equal step apart.
    pub(super) fn request_at(&self, address: Address, latest: Time, interval: Micros) -> Time {
        let index = self.open().position(|(other, _)| other == address);
        index.map_or(latest, |index| spread::request_at(latest, interval, index, self.open().count()))
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = Path> {
        self.by_address.values().map(|session| session.path)
    }

    pub(super) fn open(&self) -> impl Iterator<Item = (Address, &Session)> + '_ {
        let open = self.by_address.iter().filter(|(_, session)| session.stage == Stage::Open);
        open.map(|(&address, session)| (address, session))
    }

    pub(super) fn status(&self) -> Vec<SessionStatus> {
        self.by_address.iter().map(|(&address, session)| session.status(address)).collect()
    }

    pub(super) fn timeout(&self) -> Option<Time> {
        self.by_address.values().filter_map(Session::timeout).min()
    }
}
