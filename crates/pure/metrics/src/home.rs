//! A home at one moment.

use crate::{Buckets, OwnCertificate, Process};
use guestright_overview::RefusedBy;
use guestright_units::UnixSeconds;
use std::collections::BTreeMap;

/// What a home has counted since it started, and how it is.
#[derive(Clone, Debug, Default)]
pub struct HomeFigures {
    pub version: &'static str,
    pub process: Process,
    pub certificate: OwnCertificate,
    /// Access points that are connected.
    pub access_points: u64,
    /// Other homes that a link is open to.
    pub links_up: u64,
    /// Members who may come in through a tunnel.
    pub tunnels: u64,
    /// What tunnels carried since they were set up; nothing where WireGuard does not answer.
    pub tunnelled: Option<TunnelBytes>,
    /// Calls by how far they are; nothing where the exchange does not answer.
    pub calls: Option<BTreeMap<&'static str, u64>>,
    /// How well members' telephones have said that they heard in calls that are over; nothing where the exchange does not answer.
    pub call_scores: Option<Buckets>,
    pub decisions: Decisions,
    /// How long decisions took; nothing before the first.
    pub decided_in: Option<Buckets>,
    pub refused: BTreeMap<RefusedBy, u64>,
    /// Messages that were refused, by the machine's names.
    pub messages_refused: BTreeMap<&'static str, u64>,
    pub receipts: Receipts,
    /// Sessions that are over, and what was left unsigned in them.
    pub sessions_paid: u64,
    pub sessions_unpaid: u64,
    pub unpaid_bytes: u64,
    /// Nothing where the store is too busy to say.
    pub store: Option<StoreFigures>,
    pub store_errors_receipts: u64,
    pub store_errors_accounts: u64,
    /// Changes of accounts that wait to be kept.
    pub unkept: u64,
    /// Nothing with a policy of the papers.
    pub credit: Option<CreditFigures>,
    /// When the first certificate ends, of the household's phones and of its other members, that has not ended and is not revoked.
    pub phone_not_after: Option<UnixSeconds>,
    pub member_not_after: Option<UnixSeconds>,
}

/// What passed in members' tunnels, as WireGuard counts it: packets with its headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TunnelBytes {
    /// From members.
    pub received: u64,
    /// To members.
    pub sent: u64,
}

/// Visitors whose case was decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    pub served: u64,
    pub refused: u64,
}

/// What became of receipts that came in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receipts {
    pub added: u64,
    pub known: u64,
    /// There is one over more bytes of the same session.
    pub lower: u64,
    /// They could not be stored.
    pub failed: u64,
}

/// The store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreFigures {
    pub receipts: u64,
    pub receipts_max: u64,
    /// Its files.
    pub bytes: u64,
    /// What its file system has room for.
    pub free_bytes: u64,
}

/// What is owed and given away, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreditFigures {
    pub accounts: u64,
    pub owed_by_us: u64,
    pub owed_to_us: u64,
    pub held: u64,
    pub holds_open: u64,
    pub overdrawn: u64,
    pub overdraft_max: u64,
    pub sponsored: u64,
    pub allowance_left: u64,
    pub allowance_max: u64,
}
