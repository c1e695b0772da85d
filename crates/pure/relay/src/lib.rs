//! A home's share in a call's media: two sides, protected or not, and what passes between them.
//!
//! In: datagrams with the side and the [`Channel`] that they came in on, and who sent them; what the signalling agreed
//! on for a side ([`SideSettings`]); the current time. Out: for each datagram at most one [`Forward`], which says where
//! to send it in the other side's form; [`Event`]s; [`Statistics`]. A [`Call`] opens nothing
//! and waits for nothing; `guestright-media` drives it with sockets.
//!
//! Invariants:
//! - what is sent goes to an address that was signalled, or from which an acceptable datagram came;
//! - one datagram in is at most one datagram out;
//! - from a side with [`Protection::Srtp`] nothing passes whose tag is not right, and its address is not followed before;
//! - sides that are passed through as they are have a partner that is, too: nothing is ever unprotected by accident;
//! - the same keys again keep the rollover counter (RFC 3711, section 3.3.1), whatever else an update changes;
//! - a side has a limited rate, number of streams, and datagram size.

mod bucket;
mod call;
mod end;
mod forward;
mod guard;
mod packet;
mod settings;
mod side;
mod statistics;
mod stream;

pub use call::{Call, Event};
pub use forward::Forward;
pub use guard::SrtpKeys;
pub use settings::{Limits, Protection, RelayError, SideSettings, Sources};
pub use side::{Channel, Side};
pub use statistics::{Refusal, SideStatistics, Statistics};
