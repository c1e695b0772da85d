//! How `status` shows a session.

use guestright_firewall as firewall;
use guestright_roaming::access_point::SessionStatus;
use serde_json::{Value, json};

pub(super) fn session_json(session: &SessionStatus) -> Value {
    json!({
        "ip": session.address.ip.to_string(),
        "mac": firewall::MacAddress::new(session.address.mac).map(|mac| mac.to_string()).unwrap_or_default(),
        "tunnel": session.address.home.map(|home| home.to_string()),
        "member": session.member.to_string(),
        "team": session.team.to_string(),
        "class": session.class.name(),
        "started": session.started.to_string(),
        "counted": session.counted.0,
        "signed": session.signed.0,
        "open": session.open,
    })
}
