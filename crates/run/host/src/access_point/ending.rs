//! Sessions that are over, and those that the household ends.

use super::{ENDED_MAX, Loop, session_json};
use guestright_roaming::access_point::SessionStatus;
use guestright_roaming::message::Code;
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

/// A session is over, and everything that wants to know of it learns that.
pub(super) fn closed(this: &mut Loop, session: &SessionStatus, code: Code) {
    log_session(this, session, code);
    this.retention.session_ends(session);
    this.counts.note_end(session, code);
    let now = this.clock.now();
    this.guests.note_end(session, code, now);
    this.shown.note_end(session, code, now);
    let mut ended = session_json(session);
    ended["end"] = json!(code.to_string());
    if this.ended.len() == ENDED_MAX {
        this.ended.pop_front();
    }
    this.ended.push_back(ended);
}

/// One line for each session, within a pace. Who it was and where is for those who look for a fault.
fn log_session(this: &mut Loop, session: &SessionStatus, code: Code) {
    let SessionStatus { address, member, team, class, started, counted, signed, .. } = session;
    tracing::debug!(%address, %member, "the session that is over was of this visitor");
    let now = this.clock.now();
    let (team, class, ended) = (team.short(), class.name(), now.unix_seconds());
    let (bytes, signed_bytes) = (counted.0, signed.0);
    match this.session_lines.next(now) {
        Some(unsaid) => {
            let unsaid = (unsaid > 0).then_some(unsaid);
            tracing::info!(%started, %ended, %team, class, bytes, signed_bytes, reason = %code, unsaid, "session");
        }
        None => {
            tracing::debug!(%started, %ended, %team, class, bytes, signed_bytes, reason = %code, "session");
        }
    }
}
