//! RADIUS at the access point: hostapd's questions on one side, EAP to the guest's home on the other.
//!
//! In: datagrams of hostapd, what homes answer, what was decided, time, a seed. Out: datagrams, and events: carry this
//! to that home, decide, somebody is in. Two machines: [`ForwardingServer`], which hostapd asks (RFC 2865, section 2.3:
//! a forwarding server), and [`DisconnectClient`], which ends sessions (RFC 5176). Below them is a codec: [`Packet`],
//! [`Draft`], [`Kind`], [`Msk`]. What is inside EAP is for the home; here it is bytes. [`relay`] is how they travel to a home
//! and back.
//!
//! Invariants:
//! - nothing is read before the packet's authenticators are right, and each Access-* has a Message-Authenticator;
//! - nobody is let in without two yeses, the home's and the decision's; either no is an Access-Reject with a sentence;
//! - each question is answered at most once, but for the same bytes again to whoever repeats it; a late answer does
//!   nothing;
//! - every table, length, wait and conversation has a limit; stations of which no more is known than that they came
//!   never displace a conversation in which a home and a station have both answered.

mod attribute;
mod disconnect;
mod eap;
mod error;
mod forwarding;
mod mppe;
mod packet;
mod realm;
pub mod relay;
mod request;
mod secret;
mod station;

pub use attribute::{Attribute, Kind, VALUE_BYTES_MAX};
pub use disconnect::{Disconnect, DisconnectClient, DisconnectConfig, DisconnectEvent, Outcome, SessionName};
pub use error::RadiusError;
pub use forwarding::{
    Answer, Config, ConversationId, Decision, Event, ForwardingServer, Limits, Refusal, Relay, RelayId,
    Service, Session, Transmit,
};
pub use mppe::{Msk, Wrapping};
pub use packet::{Code, Draft, PACKET_BYTES_MAX, Packet};
pub use realm::{Realm, RealmError, ZONE};
pub use request::{Accounting, AccountingStatus, Nas};
pub use secret::Secret;
pub use station::{Network, Station};
