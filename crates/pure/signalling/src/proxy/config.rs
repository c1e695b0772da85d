//! Limits and addresses of a home's proxy.

use crate::transaction;
use guestright_identity::KeyId;
use guestright_units::Micros;
use std::net::IpAddr;

/// Limits and addresses.
#[derive(Clone, Debug)]
pub struct Config {
    /// The home's address in its members' network.
    pub gateway: IpAddr,
    /// The port of SIP there.
    pub port: u16,
    /// Names that members may write for it.
    pub domains: Vec<String>,
    /// The home's own key, by which other homes know it.
    pub home: KeyId,
    /// Whether people who are no contacts may call.
    pub strangers: bool,
    pub calls_max: usize,
    /// Calls of one member, or with one other home, at a time.
    pub calls_each_max: usize,
    /// Telephones of one member that ring at a time.
    pub forks_max: usize,
    /// Messages a second of one member or home…
    pub rate_max: u32,
    /// …and at once.
    pub burst_max: u32,
    /// Transactions at a time.
    pub transactions_max: usize,
    /// For how long a telephone may ring (timer C, RFC 3261 section 16.6: more than three minutes).
    pub ring_max: Micros,
    /// A call without media and signalling for so long is over.
    pub dead_after: Micros,
}

impl Config {
    /// The usual limits.
    #[must_use]
    pub fn new(gateway: IpAddr, home: KeyId) -> Self {
        Self {
            gateway,
            port: 5_060,
            domains: vec!["home".to_owned()],
            home,
            strangers: true,
            calls_max: 256,
            calls_each_max: 8,
            forks_max: 4,
            rate_max: 200,
            burst_max: 400,
            transactions_max: 8_192,
            ring_max: Micros::from_seconds(185),
            dead_after: Micros::from_seconds(600),
        }
    }

    /// The limits of the transaction layer.
    pub(super) fn transactions(&self) -> transaction::Limits {
        transaction::Limits { transactions_max: self.transactions_max, ring_max: self.ring_max }
    }
}
