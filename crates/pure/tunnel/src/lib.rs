//! ESP (RFC 4303), L2TP (RFC 2661) and PPP framing, and what every end of a tunnel is, without input or output.
//!
//! Without the feature `esp` no packet is sealed or opened: what is left of ESP are its suites' names and lengths.

#![warn(missing_docs)]

pub mod encapsulation;
mod endpoint;
pub mod esp;
#[cfg(feature = "esp")]
mod esp_endpoint;
#[cfg(feature = "esp")]
pub mod esp_settings;
pub mod l2tp;
pub mod overhead;
pub mod ppp;
pub mod wireguard;

pub use endpoint::{Counters, Datagrams, DropReason, Endpoint, Opened, PacketSource, PeerStatus, Run, Tally};
#[cfg(feature = "esp")]
pub use esp_endpoint::EspEndpoint;
pub use guestright_wire::{ip, udp};

/// The example of the README is tried as those of the documentation are.
#[cfg(all(doctest, feature = "esp"))]
#[doc = include_str!("../README.md")]
struct Readme;
