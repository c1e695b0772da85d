//! The P2PWNC protocol: nine messages and the four machines that speak them.
//!
//! A [`Visitor`] asks an [`AccessPoint`] for service, the access point asks its [`TeamServer`] whether and how well to
//! serve, and while it serves it asks the visitor for signed receipts, which it hands to the team server. For a visitor
//! that has nothing but a tunnel, its home's [`Delegate`] signs. In each program a [`Renewal`] keeps the certificate alive.
//!
//! In: bytes from peers, counters of the firewall, the current time, chance. Out: bytes to send, events, the next
//! timeout. None of the machines waits, reads or opens anything; a simulator and a network drive the same code.
//!
//! Invariants: every length and every queue has a limit; a message that is refused changes nothing; a visitor signs
//! no more in a day than it counted plus its tolerance, whoever carries ([`Ledger`]); an access point serves nobody who has not signed in time; a team
//! server acknowledges a receipt only when its store has made it durable.
//!
//! The messages are specified in `docs/design/0001-protocol-and-receipts.md`.

pub mod access_point;
pub mod delegate;
pub mod home;
pub mod ledger;
pub mod message;
mod queue;
pub mod renewal;
pub mod spread;
pub mod standing;
pub mod trials;
pub mod visitor;

pub use access_point::AccessPoint;
pub use delegate::Delegate;
pub use home::TeamServer;
pub use ledger::Ledger;
pub use message::{Message, MessageError};
pub use renewal::Renewal;
pub use trials::Trials;
pub use visitor::Visitor;
