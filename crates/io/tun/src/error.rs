use std::net::SocketAddr;
use thiserror::Error;

/// Why there is no tunnel, or no longer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TunError {
    /// A name that no interface can have.
    #[error("{got:?} cannot be the name of an interface; expected 1 to 15 letters, digits, '-', '_' or '.'")]
    Name { got: String },
    /// An MTU that no tunnel can have.
    #[error("an MTU of {got} bytes; expected 576 to 65,475")]
    Mtu { got: u16 },
    /// The kernel made no device.
    #[error("could not make the interface {name}: {reason}{hint}")]
    Device {
        name: String,
        /// The system's words.
        reason: String,
        /// What to do about it, when we know; starts with "; ".
        hint: &'static str,
    },
    /// `ip` did not do as it was told.
    #[error("`ip {command}` failed: {reason}")]
    Configure {
        /// Its arguments, or what it read.
        command: String,
        /// What it said.
        reason: String,
    },
    /// The port or address is not to be had.
    #[error(
        "could not listen on {address} (UDP): {reason}; choose another port, or end the program that has it"
    )]
    Bind {
        address: SocketAddr,
        /// The system's words.
        reason: String,
    },
    /// The socket refused an option.
    #[error("could not set {option} on the UDP socket: {reason}{hint}")]
    Option {
        option: &'static str,
        /// The system's words.
        reason: String,
        /// What to do about it, when we know; starts with "; ".
        hint: &'static str,
    },
    /// A thread could not be had, or could not wait.
    #[error("the tunnel's threads do not run: {reason}")]
    Thread {
        /// The system's words.
        reason: String,
    },
    /// The device is gone or no longer works, for example because somebody deleted the interface.
    #[error("the interface {name} no longer works: {reason}; was it deleted?")]
    DeviceLost {
        name: String,
        /// The system's words.
        reason: String,
    },
    /// The socket no longer works.
    #[error("the tunnel's UDP socket no longer works: {reason}")]
    SocketLost {
        /// The system's words.
        reason: String,
    },
}
