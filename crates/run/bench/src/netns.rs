//! Runs on real sockets: two kernels' networks, and between them the simulator's links in real time.
//!
//! `io` knows devices and waits ([`guestright_emulator`]), `sim` knows links and queues ([`guestright_transport`]), and
//! neither knows the other: here they are joined.

mod addresses;
mod bulk;
mod emulated;
mod figures;
mod hand;
mod hosts;
mod ledger;
mod packet;
mod path;
mod quic;
mod request;
mod router;
mod sockets;
mod worker;

pub use hand::{Sockets, check_plan, seconds_missing};
pub use worker::serve;
