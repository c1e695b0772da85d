use std::io;
use thiserror::Error;

/// Why an interface cannot be watched.
#[derive(Debug, Error)]
pub enum PacketsError {
    /// There is no interface of this name.
    #[error("there is no network interface \"{got}\" here")]
    NoInterface {
        /// The name that was asked for.
        got: String,
    },
    /// Packets of others are for root and whoever has `CAP_NET_RAW`.
    #[error("this user may not see what passes {interface}: the system asks for CAP_NET_RAW")]
    NoPrivilege {
        /// The interface.
        interface: String,
    },
    /// It is there and switched off.
    #[error("{interface} is down, or went away")]
    Down {
        /// The interface.
        interface: String,
    },
    /// The system refuses.
    #[error("the system would not {what} at {interface}: {source}")]
    Refused {
        /// What was being done.
        what: &'static str,
        /// The interface.
        interface: String,
        /// What it said.
        source: io::Error,
    },
}

impl PacketsError {
    pub(crate) fn new(what: &'static str, interface: &str, source: io::Error) -> Self {
        let interface = interface.to_owned();
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => Self::NoPrivilege { interface },
            Some(libc::ENETDOWN | libc::ENXIO) => Self::Down { interface },
            Some(_) | None => Self::Refused { what, interface, source },
        }
    }
}
