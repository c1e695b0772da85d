use std::net::SocketAddr;
use thiserror::Error;

/// A call over QUIC that could not be.
#[derive(Debug, Error)]
pub enum QuicIoError {
    /// The socket cannot be used.
    #[error(
        "the socket cannot carry QUIC: {reason}; it must be a bound UDP socket, used inside a tokio runtime"
    )]
    Socket {
        /// What the system said.
        reason: std::io::Error,
    },
    /// Keys cannot be made.
    #[error("no keys for QUIC: {reason}")]
    Keys {
        /// What rustls said.
        reason: String,
    },
    /// The other end cannot be reached, or is somebody else.
    #[error("no connection to {peer}: {reason}")]
    Connect {
        /// Who was called.
        peer: SocketAddr,
        /// What quinn said.
        reason: String,
    },
    /// A setting that cannot be.
    #[error("{what} is {got}, it must be {min} to {max}")]
    Setting {
        what: &'static str,
        /// What it was set to.
        got: u64,
        min: u64,
        max: u64,
    },
}
