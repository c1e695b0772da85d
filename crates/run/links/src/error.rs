//! What can be wrong with links before they begin.

use guestright_error::{Fault, Kind, RunError};
use std::net::SocketAddr;
use thiserror::Error;

/// Why there are no links.
#[derive(Debug, Error)]
pub enum LinksError {
    /// The system does not let us listen there.
    #[error("listen for other homes at {at}")]
    Listen { at: SocketAddr, source: std::io::Error },
    /// A line of the addresses that were kept cannot be read.
    #[error("line {number} of the known addresses is not a team, `proven` or `hint`, and an address")]
    AddressLine { number: usize },
}

impl Fault for LinksError {
    fn kind(&self) -> Kind {
        match self {
            Self::Listen { .. } => Kind::Network,
            Self::AddressLine { .. } => Kind::Config,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Listen { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse => {
                let hint = "another program has this port; choose one with `listen` in [links], or decline with \
                            `enabled = false`";
                Some(hint.to_owned())
            }
            Self::Listen { .. } | Self::AddressLine { .. } => None,
        }
    }

    fn is_broken_pipe(&self) -> bool {
        false
    }
}

impl From<LinksError> for RunError {
    fn from(error: LinksError) -> Self {
        let hint = error.hint();
        let error = match error.kind() {
            Kind::Config => Self::config(error),
            Kind::User | Kind::Network | Kind::Bug => Self::network(error),
        };
        match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}
