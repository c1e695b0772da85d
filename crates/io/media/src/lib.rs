//! Media sockets of a home: many calls, few threads.
//!
//! In: what the signalling agreed on for a call's two sides, and where their ports are to be ([`Wanted`]). Out: a
//! [`MediaCall`] with its ports, which can be told of changes and asked for statistics, and ends when it is dropped;
//! what happened to calls, through the function that [`Media::start`] was given. Everything about a datagram is decided
//! by [`guestright_relay::Call`].
//!
//! A datagram costs two system calls and no memory: `epoll` tells which of thousands of sockets has something, it is
//! received, and sent from the other side's socket. Nothing here waits for the network, so all of it may be called from
//! an asynchronous loop.

mod clock;
mod error;
mod media;
mod ports;
mod shared;
mod socket;
mod worker;

pub use error::MediaError;
pub use media::{CallCounters, Media, MediaCall, PortSpec, Settings, SidePorts, Wanted};
pub use shared::CallId;
