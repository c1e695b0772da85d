//! SIP over sockets: a home's, for its members' telephones, and a telephone of our own.
//!
//! - [`Telephones`]: UDP and TCP at a home's address in its members' network. In: messages to send. Out: bytes that
//!   came, and connections that ended. What they mean is `guestright-signalling`'s business.
//! - [`agent`]: one telephone, on rsipstack.
//!
//! The home does not use rsipstack, for reasons that design note 0004 gives: it has to keep what it does not understand,
//! and to refuse what two readers could understand in two ways.
//!
//! Invariants: queues, connections and messages have limits; a telephone that does not read loses its connection, never
//! the program's time.

pub mod agent;
mod telephones;

pub use telephones::{Incoming, Telephones};

use std::net::SocketAddr;
use thiserror::Error;

/// Why SIP is not spoken.
#[derive(Debug, Error)]
pub enum SipError {
    /// The address cannot be listened at.
    #[error("cannot listen for telephones at {address}: {source}; is another SIP program running?")]
    Listen { address: SocketAddr, source: std::io::Error },
}
