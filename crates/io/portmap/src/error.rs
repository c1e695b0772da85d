//! What can go wrong with a router, in words that say what to do.

use crate::{Method, upnp::UpnpError, wire::WireError};
use std::net::Ipv4Addr;
use thiserror::Error;

/// Why a port could not be mapped.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PortmapError {
    /// This computer has no default route, so there is no router to ask.
    #[error("this computer has no default route, so there is no router to ask")]
    NoRouter,
    /// The router says nothing.
    #[error("{router} does not answer {method}")]
    Silent { router: Ipv4Addr, method: Method },
    /// The router refuses.
    #[error("{router} refuses by {method}: {reason}")]
    Refused {
        router: Ipv4Addr,
        method: Method,
        /// Its reason, in our words.
        reason: String,
    },
    /// The router has no address of the Internet. Some say this also of an address that its provider shares.
    #[error("{router} says by {method} that it has no address of the Internet")]
    NoAddress { router: Ipv4Addr, method: Method },
    /// The router answered what we cannot read.
    #[error("the router answered what we cannot read: {0}")]
    Wire(#[from] WireError),
    /// The router answered by UPnP what we cannot read.
    #[error("the router answered by UPnP what we cannot read: {0}")]
    Upnp(#[from] UpnpError),
    /// The system refused.
    #[error("{doing}: {reason}")]
    System {
        /// What we were doing.
        doing: &'static str,
        /// The system's words.
        reason: String,
    },
}

impl PortmapError {
    pub(crate) fn system(doing: &'static str) -> impl Fn(std::io::Error) -> Self {
        move |error| Self::System { doing, reason: error.to_string() }
    }
}
