//! A home's share in calls: who is where, whom a name means, and what becomes of a SIP message.
//!
//! In: messages with the [`Peer`] that they came from, who the members are and where, what was found out about a
//! callee, which ports the media relay has given, links that came and went, and the time. Out: messages with the peer
//! they are for, and [`Event`]s: find somebody, open, change and close a call's media.
//!
//! A home stands between the two sides of a call (RFC 3261 calls that a back-to-back user agent, RFC 5853 names the
//! reasons): each side sees its own home and nothing of what is behind it. From, To, Contact, Call-ID and Via are made
//! anew on each side; tags, sequence numbers and everything that the two ends have to agree on pass through.
//!
//! Invariants:
//! - a member is who its tunnel address says, and nobody else, whatever a message claims;
//! - no address of one side's network is ever written into a message for the other side;
//! - what a home forwards was parsed and written anew: two readers cannot see two messages in it;
//! - between homes there is no unprotected voice, and a call's protection never changes;
//! - every table has a limit, and every call, transaction and binding an end.

mod address;
mod message;
mod names;
mod peer;
mod proxy;
mod registrar;
pub mod sdp;
pub mod transaction;

pub use address::{NameAddress, Uri, Via};
pub use message::{MESSAGE_MAX, Message, MessageError, Method, Start};
pub use names::{Contact, Member, Names, Target};
pub use peer::Peer;
pub use proxy::{
    CallId, CallRoom, CallStatus, Config, Event, Found, Legs, Link, MediaSide, Phase, Proxy, Reach, Side,
    Sides, Source,
};
pub use registrar::{Binding, Order, Registrar, Registration, RegistrationError};
