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

#[cfg(feature = "esp")]
mod aead;
#[cfg(feature = "esp")]
mod association;
#[cfg(feature = "esp")]
mod cipher;
#[cfg(feature = "esp")]
mod error;
#[cfg(feature = "esp")]
mod keys;
#[cfg(feature = "esp")]
mod lifetime;
#[cfg(feature = "esp")]
mod replay;
mod suite;

#[cfg(feature = "esp")]
pub use association::{InboundSa, NEXT_HEADER_DUMMY, OpenedPacket, OutboundSa, PACKET_LEN_MAX, SaParameters};
#[cfg(feature = "esp")]
pub use error::{DropKind, Drops, OpenError, SealError};
#[cfg(feature = "esp")]
pub use keys::{KeyError, Keys};
#[cfg(feature = "esp")]
pub use lifetime::{Lifetime, LifetimeEvent, Usage};
#[cfg(feature = "esp")]
pub use replay::{ReplayError, ReplayWindow, WINDOW_DEFAULT, WINDOW_MAX, WINDOW_MIN};
pub use suite::{HEADER_LEN, SALT_LEN, Suite, TRAILER_LEN, UnknownSuite};
