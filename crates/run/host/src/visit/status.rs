//! What `visit status` asks, answered.

use super::Guest;
use crate::PROTOCOL_PORT;
use serde_json::{Value, json};
use std::io::Write;
use tokio::sync::oneshot;

impl<W: Write> Guest<'_, W> {
    pub(super) fn answer(&mut self, question: &str, reply: oneshot::Sender<Value>) {
        let answer = match question {
            "status" => self.status(),
            _ if self.take_order(question) => json!({ "stopping": true }),
            "stop" => {
                self.leave();
                json!({ "stopping": true })
            }
            _ => json!({ "error": "the questions are: status, stop" }),
        };
        let _ = reply.send(answer); // The asker may have gone.
    }

    fn status(&mut self) -> Value {
        let now = self.clock.now();
        let (tunnel, held_back) = self.way.as_ref().map_or((Value::Null, Value::Null), |way| way.status(now));
        let counted = self.counted().unwrap_or_default();
        let open = self.session.as_ref().filter(|session| session.is_open());
        json!({
            "access_point": self.network.access_point.to_string(),
            "interface": self.network.interface,
            "session": open.map(|session| json!({
                "provider": self.provider.map(|team| team.to_string()),
                "class": session.class,
                "signed": session.signed.0,
                "counted": counted.0,
            })),
            "standing": self.staying_json(),
            "signed": self.signed().0,
            "home_up": self.home.sender.is_some().then_some(self.home.is_up),
            "tunnel": tunnel,
            "held_back": held_back,
            "visible": self.visible(),
        })
    }

    /// What the access point can see of this computer, in words.
    fn visible(&self) -> Vec<String> {
        let port = self.settings.port;
        let access_point = self.network.access_point;
        let mut seen = Vec::new();
        match &self.way {
            Some(way) => seen.push(format!(
                "the tunnel: UDP between this computer and your home at {}; how much and when, not what is in it",
                way.home()
            )),
            None => seen.push(
                "everything that this computer sends and receives, as far as programs do not encrypt it themselves"
                    .to_owned(),
            ),
        }
        if let Some(name) = self.way.as_ref().and_then(|way| way.name()) {
            seen.push(format!("the name of your home, {name}, which was looked up when the visit began"));
        }
        let named = if port == PROTOCOL_PORT { String::new() } else { format!(" ({port})") };
        seen.push(format!(
            "the protocol{named} with the access point at {access_point}: your certificate, your team, your receipts"
        ));
        seen.push("DHCP and ARP: that there is a computer, and its hardware address".to_owned());
        seen
    }
}
