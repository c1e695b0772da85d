//! What a home says of its own accord: that a call has failed, and that it is over.

use super::transaction::{Client, ClientKey, copy, sequence};
use super::{CallId, Proxy};
use crate::{Message, Method, NameAddress, Start};
use guestright_units::Time;

/// Homes that the home's own requests may pass: none but the next.
const HOPS: u32 = 2;

impl Proxy {
    /// A call that has not begun ends: the caller is told why, the callee's telephones stop ringing.
    pub(super) fn fail(
        &mut self,
        id: CallId,
        code: u16,
        reason: &str,
        header: Option<(&str, String)>,
        now: Time,
    ) {
        let Some(call) = self.calls.get(&id) else { return };
        let key = call.server.clone();
        self.reply(&key, code, reason, header, now);
        let clients = self.servers.get(&key).map(|server| server.clients.clone()).unwrap_or_default();
        clients.iter().for_each(|client| self.cancel(client, now));
        self.end_call(id);
    }

    /// Ends the call on one side.
    pub(super) fn send_bye(&mut self, id: CallId, leg: usize, reason: &str, now: Time) {
        let branch = self.branch();
        let Some(call) = self.calls.get(&id) else { return };
        let (peer, target) = (call.legs[leg].peer, call.legs[leg].target.clone());
        let tags = (call.tag(1 - leg), call.tag(leg));
        let number = call.legs[leg].sequence.saturating_add(1);
        let mut bye = self.build_request(&Method::Bye, call, leg, (peer, &target), tags, (&branch, number));
        bye.push("Max-Forwards", HOPS);
        bye.push("Reason", format!("Q.850;cause=16;text=\"{}\"", reason.replace(['"', '\\'], "'")));
        self.open_client(peer, bye, (branch, None, None), now);
    }

    /// Somebody has accepted a call that is none any more, or that somebody else has accepted: it is told both.
    pub(super) fn hang_up_stray(&mut self, key: &ClientKey, response: &Message, now: Time) {
        let Some(client) = self.clients.get_mut(key) else { return };
        let (peer, done) = (client.peer, std::mem::replace(&mut client.hung_up, true));
        let Some(client) = self.clients.get(key) else { return };
        let number = sequence(&client.request).unwrap_or_default();
        let ack = stray(client, response, &Method::Ack, number);
        let bye = stray(client, response, &Method::Bye, number.saturating_add(1));
        let (ack_branch, bye_branch) = (self.branch(), self.branch());
        let ack = ack.with_top_via(self.via(peer, &ack_branch), 0);
        self.transmits.push_back((peer, ack.emit()));
        if done {
            return;
        }
        let bye = bye.with_top_via(self.via(peer, &bye_branch), 0);
        self.open_client(peer, bye, (bye_branch, None, None), now);
    }
}

/// A request in the dialog that an answer has made.
fn stray(client: &Client, response: &Message, method: &Method, number: u32) -> Message {
    let contact = response.list("Contact").next().and_then(|text| NameAddress::parse(text).ok());
    let own = match &client.request.start {
        Start::Request { uri, .. } => uri.clone(),
        Start::Response { .. } => String::new(),
    };
    let target = contact.map_or(own, |contact| contact.uri.to_string());
    let mut message = Message::request(method.clone(), &target);
    copy(&client.request, &mut message, &["From"]);
    let tag = response
        .get("To")
        .and_then(|to| NameAddress::parse(to).ok())
        .and_then(|to| to.tag().map(str::to_owned));
    if let Some(to) = client.request.get("To").and_then(|to| NameAddress::parse(to).ok()) {
        let tag = to.tag().map(str::to_owned).or(tag);
        message.push("To", to.tagged(tag.as_deref()));
    }
    copy(&client.request, &mut message, &["Call-ID"]);
    message.push("CSeq", format!("{number} {method}"));
    message.push("Max-Forwards", HOPS);
    message
}
