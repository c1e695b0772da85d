use crate::visitor;
use guestright_units::{Bytes, Micros};

/// The limits by which a home signs for its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How many connections may be open; lost ones with a session count.
    pub connections_max: usize,
    /// How many connections of one address may be open.
    pub connections_per_address_max: usize,
    /// How long an access point may take to report where the tunnel comes from.
    pub first_word_max: Micros,
    /// How long a tunnel may take to be known here: the connection may be faster than its handshake.
    pub lookup_max: Micros,
    /// How often it is looked for in that time.
    pub lookup_again: Micros,
    /// The meter is read at most so often for one connection.
    pub meter_gap: Micros,
    /// How long a session waits for an access point whose connection was lost.
    pub orphan_max: Micros,
    /// With so few of the day's bytes left no session is begun, and an open one ends.
    pub reserve: Bytes,
    /// How it behaves as a visitor.
    pub visitor: visitor::Config,
}

impl Default for Config {
    /// 64 connections, 16 of one address; 5 s for the first word, 3 s for the tunnel, looked for every 0.25 s; the meter every
    /// 0.1 s; 15 s without a connection; 64 KiB; a visitor's own defaults.
    fn default() -> Self {
        Self {
            connections_max: 64,
            connections_per_address_max: 16,
            first_word_max: Micros::from_seconds(5),
            lookup_max: Micros::from_seconds(3),
            lookup_again: Micros::from_millis(250),
            meter_gap: Micros::from_millis(100),
            orphan_max: Micros::from_seconds(15),
            reserve: Bytes(64 * 1_024),
            visitor: visitor::Config::default(),
        }
    }
}
