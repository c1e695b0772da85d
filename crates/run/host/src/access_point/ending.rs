//! Sessions that the household ends.

use super::Loop;
use serde_json::{Value, json};
use std::net::Ipv4Addr;

/// Answers `end ADDRESS` at the control socket.
pub(super) fn answer(this: &mut Loop, address: &str) -> Value {
    let Ok(address) = address.parse::<Ipv4Addr>() else {
        return json!({ "error": format!("{address} is no IPv4 address; `guestright ap status` shows who is where") });
    };
    let now = this.clock.now();
    let count = this.machine.end(address, now);
    if count == 0 {
        return json!({ "error": format!("nobody at {address} has a session; `guestright ap status` shows who has") });
    }
    json!({ "ended": count, "address": address })
}
