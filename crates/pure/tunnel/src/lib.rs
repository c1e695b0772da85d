//! ESP (RFC 4303), L2TP (RFC 2661) and PPP framing, and what every end of a tunnel is, without input or output.

pub mod encapsulation;
mod endpoint;
pub mod esp;
mod esp_endpoint;
pub mod esp_settings;
pub mod l2tp;
pub mod overhead;
pub mod ppp;
pub mod wireguard;

pub use endpoint::{Counters, Datagrams, DropReason, Endpoint, Opened, PacketSource, PeerStatus, Run, Tally};
pub use esp_endpoint::EspEndpoint;
pub use guestright_wire::{ip, udp};
