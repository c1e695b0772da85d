use guestright_command::CommandError;
use std::path::{Path, PathBuf};

/// Why the system could not be looked at, changed or put back.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SystemError {
    /// A program of the system.
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("could not {what} {}: {reason}", path.display())]
    File { what: &'static str, path: PathBuf, reason: String },
    /// A program answered in a way that we do not understand.
    #[error("`{command}` gave an answer that cannot be read: {reason}")]
    Answer { command: String, reason: String },
    /// A file is there that is not ours.
    #[error("{} is there already, and setup did not make it", path.display())]
    InTheWay { path: PathBuf },
    #[error("{name} is there already, and setup did not make it")]
    LinkInTheWay { name: String },
    /// The journal is not one of ours, or of another version.
    #[error("the journal {} cannot be used: {reason}", path.display())]
    Journal { path: PathBuf, reason: String },
    #[error("another setup is running")]
    Busy,
    #[error("it was asked to stop; what was done is noted, and can be gone on with or taken back")]
    Stopped,
    #[error("the keys of the team could not be made: {0}")]
    Team(String),
    #[error("{unit} did not start: {reason}")]
    Service { unit: String, reason: String },
    #[error("the user guestright is not there, though it was made")]
    NoUser,
}

impl SystemError {
    pub(crate) fn file(what: &'static str, path: &Path, error: &std::io::Error) -> Self {
        Self::File { what, path: path.to_owned(), reason: error.to_string() }
    }

    /// What to do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::InTheWay { path } => {
                let path = path.display();
                Some(format!("look whether {path} is still wanted, move it away, and run setup again"))
            }
            Self::LinkInTheWay { .. } => Some("name another bridge, or remove the interface".to_owned()),
            Self::Journal { .. } => Some("it was written by another version: undo with that one".to_owned()),
            Self::Busy => Some("wait for its end".to_owned()),
            Self::Stopped | Self::Service { .. } => Some(
                "`guestright setup` goes on from here, `guestright setup --undo` puts everything back"
                    .to_owned(),
            ),
            Self::File { .. } => {
                Some("`guestright setup` needs root, and a file system that can be written to".to_owned())
            }
            Self::Command(_) | Self::Answer { .. } | Self::Team(_) | Self::NoUser => None,
        }
    }
}
