use thiserror::Error;

/// Why there is no emulated network, or no longer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EmulatorError {
    /// The kernel made no device.
    #[error("could not make the interface {name}: {reason}{hint}")]
    Device {
        name: String,
        /// The system's words.
        reason: String,
        /// What to do about it, when we know; starts with "; ".
        hint: &'static str,
    },
    /// A device is gone or no longer works.
    #[error("the interface {name} no longer works: {reason}; was it deleted?")]
    Lost {
        name: String,
        /// The system's words.
        reason: String,
    },
    /// The thread could not be had, or could not wait.
    #[error("the emulator's thread does not run: {reason}")]
    Thread {
        /// The system's words.
        reason: String,
    },
    /// The kernel refused something about a TCP socket.
    #[error("could not {what} on a TCP socket: {reason}{hint}")]
    Tcp {
        /// What was asked.
        what: String,
        /// The system's words.
        reason: String,
        /// What to do about it, when we know; starts with "; ".
        hint: String,
    },
}

impl EmulatorError {
    pub(crate) fn thread(error: impl std::fmt::Display) -> Self {
        Self::Thread { reason: error.to_string() }
    }
}
