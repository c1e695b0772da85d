//! Why the story could not go on.

use guestright_error::{Fault, Kind, RunError};
use guestright_netns::NetnsError;
use std::num::{ParseFloatError, ParseIntError};

/// Whatever it is, it is this computer's: of [`Kind::Network`].
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// What was waited for did not come, or something is not as it should be.
    #[error("{0}")]
    Unexpected(String),
    #[error(transparent)]
    Run(#[from] RunError),
    /// The town cannot be built.
    #[error(transparent)]
    Netns(#[from] NetnsError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A program of the town printed something else than JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Count(#[from] ParseIntError),
    #[error(transparent)]
    Seconds(#[from] ParseFloatError),
}

impl DemoError {
    pub(crate) fn unexpected(what: impl Into<String>) -> Self {
        Self::Unexpected(what.into())
    }
}

impl Fault for DemoError {
    fn kind(&self) -> Kind {
        Kind::Network
    }

    fn hint(&self) -> Option<String> {
        None
    }

    fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Run(error) if error.is_broken_pipe())
    }
}

/// For what has to be there.
pub(crate) fn missing(what: &'static str) -> impl FnOnce() -> DemoError {
    move || DemoError::unexpected(what)
}
