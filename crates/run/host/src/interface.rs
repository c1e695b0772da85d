//! Interfaces that somebody names and that are not there.

use guestright_error::RunError;
use guestright_firewall::{FirewallError, interfaces};

/// The firewall's error, with what may be meant where there is no such interface.
pub(crate) fn refused(error: FirewallError) -> RunError {
    let is_unknown = matches!(error, FirewallError::NoInterface { .. });
    let error = RunError::network(error);
    if !is_unknown {
        return error;
    }
    let known = interfaces();
    let hint = if known.is_empty() {
        "this computer has no interface but the loopback".to_owned()
    } else {
        format!("name one of those that this computer has: {}", known.join(", "))
    };
    error.with_hint(hint)
}
