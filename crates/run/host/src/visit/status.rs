//! What `visit status` asks, answered.

use super::Guest;
use crate::PROTOCOL_PORT;
use serde_json::{Value, json};
use std::io::Write;
use tokio::sync::oneshot;

/// Answers a question, or carries an order out.
pub(super) fn answer<W: Write>(guest: &mut Guest<'_, W>, question: &str, reply: oneshot::Sender<Value>) {
    let answer = match question {
        "status" => status(guest),
        _ if guest.take_order(question) => json!({ "stopping": true }),
        "stop" => {
            guest.leave();
            json!({ "stopping": true })
        }
        _ => json!({ "error": "the questions are: status, stop" }),
    };
    let _ = reply.send(answer); // The asker may have gone.
}

fn status<W: Write>(guest: &mut Guest<'_, W>) -> Value {
    let now = guest.clock.now();
    let (tunnel, held_back) = guest.way.as_ref().map_or((Value::Null, Value::Null), |way| way.status(now));
    let counted = guest.counted().unwrap_or_default();
    let open = guest.session.as_ref().filter(|session| session.is_open());
    json!({
        "certificate": guest.own.status(now),
        "access_point": guest.network.access_point.to_string(),
        "interface": guest.network.interface,
        "session": open.map(|session| json!({
            "provider": guest.provider.map(|team| team.to_string()),
            "class": session.class,
            "signed": session.signed.0,
            "counted": counted.0,
        })),
        "standing": guest.staying_json(),
        "signed": guest.signed().0,
        "home_up": guest.home.sender.is_some().then_some(guest.home.is_up),
        "tunnel": tunnel,
        "held_back": held_back,
        "visible": visible(guest),
    })
}

/// What the access point can see of this computer, in words.
fn visible<W: Write>(guest: &Guest<'_, W>) -> Vec<String> {
    let port = guest.settings.port;
    let access_point = guest.network.access_point;
    let mut seen = Vec::new();
    match &guest.way {
        Some(way) => seen.push(format!(
            "the tunnel: UDP between this computer and your home at {}; how much and when, not what is in it",
            way.home()
        )),
        None => seen.push(
            "everything that this computer sends and receives, as far as programs do not encrypt it themselves"
                .to_owned(),
        ),
    }
    if let Some(name) = guest.way.as_ref().and_then(|way| way.name()) {
        seen.push(format!("the name of your home, {name}, which was looked up when the visit began"));
    }
    let named = if port == PROTOCOL_PORT { String::new() } else { format!(" ({port})") };
    seen.push(format!(
        "the protocol{named} with the access point at {access_point}: your certificate, your team, your receipts"
    ));
    seen.push("DHCP and ARP: that there is a computer, and its hardware address".to_owned());
    seen
}
