//! ESP (RFC 4303): packets in, packets out, in the buffers of the caller.
//!
//! In: [`SaParameters`], and then payloads to seal or packets to open. Out: packets, payloads, or an error with a
//! [`DropKind`] to count it under.
//!
//! - [`OutboundSa`] never uses a sequence number twice: behind the last one it stops.
//! - [`InboundSa`] looks at the window, verifies, decrypts, and only then believes anything.
//! - Nothing is allocated for a packet. Chance (for the vectors of CBC) is an argument.
//! - Tunnel and transport mode differ only in what is sealed: a whole inner packet (next header 4 or 41), or what
//!   stands behind the IP header.

mod aead;
mod association;
mod cipher;
mod error;
mod keys;
mod lifetime;
mod replay;
mod suite;

pub use association::{InboundSa, NEXT_HEADER_DUMMY, OpenedPacket, OutboundSa, PACKET_LEN_MAX, SaParameters};
pub use error::{DropKind, Drops, OpenError, SealError};
pub use keys::{KeyError, Keys};
pub use lifetime::{Lifetime, LifetimeEvent, Usage};
pub use replay::{ReplayError, ReplayWindow, WINDOW_DEFAULT, WINDOW_MAX, WINDOW_MIN};
pub use suite::{HEADER_LEN, SALT_LEN, Suite, TRAILER_LEN, UnknownSuite};
