use guestright_tunnel::wireguard::PublicKey;
use thiserror::Error;

/// Why WireGuard could not do what it was told.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum WireGuardError {
    /// No such peer.
    #[error("no peer has the key {key}")]
    NoPeer { key: PublicKey },
    /// As many peers as there may be.
    #[error("there are {max} peers already, which is the limit")]
    Full { max: usize },
    /// Our own key as a peer's.
    #[error("the peer's key {key} is our own; expected that of the other end")]
    OwnKey { key: PublicKey },
    /// A program we drive is not on this computer.
    #[error("`{program}` is not installed; install the package {package} (`apt install {package}`)")]
    Missing {
        /// The program's name.
        program: &'static str,
        /// The Debian and Ubuntu package that has it.
        package: &'static str,
    },
    /// A program would not start, or refused.
    #[error("`{command}` failed: {reason}")]
    Failed {
        /// The command line, which holds no secret.
        command: String,
        /// What it said.
        reason: String,
    },
    /// A program answered in a form that we do not know.
    #[error("`{command}` answered what we cannot read: line {line}: {reason}")]
    Answer {
        /// The command line.
        command: String,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
}
