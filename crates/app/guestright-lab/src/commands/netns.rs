//! Runs on real sockets: two kernels' networks, and between them the simulator's links in real time.
//!
//! `io` knows devices and waits ([`guestright_emulator`]), `sim` knows links and queues ([`guestright_transport`]), and
//! neither knows the other: here they are joined.

mod bulk;
mod emulated;
mod figures;
mod hand;
mod hosts;
pub(super) mod ledger;
mod packet;
mod path;
mod quic;
mod request;
pub(super) mod sockets;
pub(super) mod voice;
mod worker;

pub(super) use hand::{Sockets, check, takes};
pub(super) use worker::Worker;
