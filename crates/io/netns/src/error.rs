//! What can go wrong while building hosts, in words that say what to do.

use guestright_command::CommandError;
use thiserror::Error;

/// Why a host, a link or a sandbox could not be made.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NetnsError {
    /// A program that we drive is missing, or failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// This computer does not let us make namespaces.
    #[error("this computer refuses private network namespaces: {reason}. {remedy}")]
    Refused {
        /// What was refused, by whom.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// `prepare` was called in the computer's own namespaces.
    #[error(
        "refused to mount over the real /run: this process was not started by a sandbox; start it with \
         Sandbox::enter or Sandbox::command"
    )]
    NotInside,
    /// A host, interface or prefix with a name that the tools would misread.
    #[error(
        "{got:?} cannot name {what}: use 1 to {length_max} letters, digits, '-', '_' or '.', and begin with a \
         letter or digit"
    )]
    Name {
        /// What was to be named.
        what: &'static str,
        got: String,
        /// The longest that fits.
        length_max: usize,
    },
    /// A host that was never added.
    #[error("there is no host {got:?} in this world; add_host it first")]
    UnknownHost { got: String },
    /// A host that is there already.
    #[error("there is a host {got:?} in this world already")]
    DuplicateHost { got: String },
    /// A file of ours, or one the kernel keeps, could not be used.
    #[error("{path}: {reason}")]
    File {
        path: String,
        /// The system's words.
        reason: String,
    },
}
