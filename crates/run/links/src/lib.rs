//! Sealed links between homes of any teams: one listener and one set of links for each home, whichever side connected.
//!
//! In: a listener, the home's credentials, where other teams' homes may be, and what is to be sent. Out: two shares of the
//! same links. [`ExchangeLinks`] is the telephone exchange's: homes by their keys, and every frame that is SIP or the
//! directory's about members. [`Neighbours`] is the home's loop's: teams, and frames about credit
//! ([`guestright_credit::is_frame`]), about phones that join ([`guestright_radius::relay`]) and about where homes are
//! ([`guestright_directory::HomeMessage`]), with [`NeighbourEvent`]s in return.
//!
//! Invariants:
//! - a frame's home and team are those that a certificate proved in the link's handshake, never what a message claims;
//! - no call of a share waits; every queue has a limit, and what does not fit is refused or dropped and counted;
//! - a home that sends too much of SIP and the directory waits; of what one team sends about credit, about phones, and
//!   about homes, what is beyond [`Config::frames_per_second_max`] of each is dropped;
//! - addresses that others say cost a bounded number of connections: none to this computer or to nobody's addresses, one
//!   to each address within [`Config::address_rest`], sixty a minute in all. Whoever answers there and is of another
//!   team gets no frame and does not learn who called.

mod book;
mod config;
mod dials;
mod error;
mod exchange_links;
mod links;
mod neighbours;
mod pace;
mod table;
#[cfg(test)]
mod tests;
mod transport;

pub use book::{KnownAddress, emit_addresses, parse_addresses};
pub use config::Config;
pub use error::LinksError;
pub use exchange_links::ExchangeLinks;
pub use links::{LinkEvent, Linked, Links, NeighbourEvent, Started};
pub use neighbours::Neighbours;
