use guestright_relay::{RelayError, Side};
use std::net::{IpAddr, SocketAddr};
use thiserror::Error;

/// Why a call's media cannot be carried.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MediaError {
    /// The settings name no usable ports.
    #[error(
        "media ports from {first} to {last}: expected at least two from 1024 upwards, the lower one first"
    )]
    Range {
        /// The first port.
        first: u16,
        last: u16,
    },
    /// All ports are taken.
    #[error("no free media port at {address} between {first} and {last}; widen the range, or end calls")]
    NoPort {
        address: IpAddr,
        /// The first port of the range.
        first: u16,
        last: u16,
    },
    /// As many calls as there may be.
    #[error("{max} calls have media already, which is the limit")]
    TooManyCalls { max: usize },
    /// The address is not ours, or the kernel has no socket for us.
    #[error("could not have a media port at {address}: {reason}")]
    Socket {
        address: SocketAddr,
        /// The system's words.
        reason: String,
    },
    /// A side wants its media at one of our own media ports: datagrams could go round for ever.
    #[error("side {side} wants its media at {address}, which is a media port of this home")]
    OwnPort {
        side: Side,
        /// What was signalled.
        address: SocketAddr,
    },
    /// A side with one port cannot have reports on another one.
    #[error(
        "side {side} was given one port; reports need a port of their own, or have to share it (rtcp-mux)"
    )]
    NoControlPort { side: Side },
    /// The sides do not make sense.
    #[error(transparent)]
    Relay(#[from] RelayError),
    /// A thread could not be had.
    #[error("the media threads do not run: {reason}")]
    Thread {
        /// The system's words.
        reason: String,
    },
}
