//! Answers that come in.

use super::forward::{SDP, body_kind, is_carried};
use super::media::{Exchange, warning};
use super::transaction::{Client, ClientKey, ServerKey};
use super::{CallId, Peer, Proxy};
use crate::sdp::SdpError;
use crate::{Message, Method, NameAddress, Start, Via};
use guestright_units::Time;

/// The tag in To.
fn to_tag(response: &Message) -> Option<String> {
    NameAddress::parse(response.get("To")?).ok()?.tag().filter(|tag| tag.len() <= 128).map(str::to_owned)
}

fn contact(response: &Message) -> Option<crate::Uri> {
    Some(NameAddress::parse(response.list("Contact").next()?).ok()?.uri)
}

/// Which of two failures the caller is told (RFC 3261 section 16.7, step 6).
fn is_better(code: u16, than: u16) -> bool {
    let rank = |code: u16| match code {
        600..700 => 0,
        // What the caller could do something about.
        401 | 407 | 415 | 420 | 484 | 488 => 1,
        400..500 if code != 408 => 2,
        300..400 => 3,
        _ => 4,
    };
    rank(code) < rank(than)
}

impl Proxy {
    pub(super) fn handle_response(&mut self, from: Peer, code: u16, response: &Message, now: Time) {
        let via = response.list("Via").next().and_then(|text| Via::parse(text).ok());
        let branch = via.as_ref().and_then(Via::branch).map(str::to_owned);
        let named =
            response.get("CSeq").and_then(|text| text.split_once([' ', '\t'])).map(|(_, name)| name.trim());
        let (Some(branch), Some(named)) = (branch, named) else { return self.refuse("malformed header") };
        let key = (branch, Method::new(named));
        let Some(client) = self.clients.get(&key) else {
            return self.refuse("an answer to nothing");
        };
        if !same_host(client.peer, from) {
            return self.refuse("an answer from elsewhere");
        }
        if !self.advance_client(&key, code, response, now) {
            return;
        }
        if code < 200 {
            return self.provisional(&key, code, response, now);
        }
        let Some(client) = self.clients.get(&key) else { return };
        if key.1 == Method::Invite && code / 100 == 2 {
            return self.accepted(&key, response, now);
        }
        let (server, call, peer) = (client.server.clone(), client.call, client.peer);
        self.finish(&key, (server, call, peer), code, response, now);
    }

    /// Not yet.
    fn provisional(&mut self, key: &ClientKey, code: u16, response: &Message, now: Time) {
        let Some(client) = self.clients.get(key) else { return };
        let (server, call, peer, cancel) = (client.server.clone(), client.call, client.peer, client.cancel);
        if cancel {
            return self.cancel(key, now);
        }
        let (Some(server), true) = (server, code > 100 && key.1 == Method::Invite) else { return };
        let Some((id, leg)) = self.servers.get(&server).and_then(|server| server.call) else { return };
        if let (Some(entry), Some(tag)) = (self.calls.get_mut(&id), to_tag(response)) {
            entry.alive = now;
            if leg == 0 && entry.confirmed.is_none() {
                entry.note_dialog(&tag, peer, contact(response));
            }
        }
        debug_assert!(call.is_none_or(|call| call == id), "a request stays in its call");
        // Early media that cannot be are left out; the call may still become one.
        let body = self.answer_body(&server, response).unwrap_or_default();
        self.pass_on(&server, (id, leg), response, body, now);
    }

    /// A telephone was taken off the hook.
    fn accepted(&mut self, key: &ClientKey, response: &Message, now: Time) {
        let Some(client) = self.clients.get(key) else { return };
        let (server, peer) = (client.server.clone(), client.peer);
        let found = server.and_then(|server| Some((self.servers.get(&server)?.call?, server)));
        let Some(((id, leg), server)) = found.filter(|((id, _), _)| self.calls.contains_key(id)) else {
            return self.hang_up_stray(key, response, now);
        };
        let Some(tag) = to_tag(response) else { return self.refuse("malformed header") };
        if leg == 0
            && self.calls.get(&id).is_some_and(|call| call.confirmed.as_ref().is_some_and(|own| *own != tag))
        {
            // Another one was faster.
            return self.hang_up_stray(key, response, now);
        }
        let first = self.calls.get(&id).is_some_and(|call| call.confirmed.is_none());
        if let Some(call) = self.calls.get_mut(&id) {
            call.alive = now;
            if leg == 1 {
                call.legs[0].target = contact(response).unwrap_or_else(|| call.legs[0].target.clone());
            } else if first {
                call.note_dialog(&tag, peer, contact(response));
                call.confirm(&tag);
            } else {
                call.legs[1].target = contact(response).unwrap_or_else(|| call.legs[1].target.clone());
            }
        }
        match self.answer_body(&server, response) {
            Ok(body) => {
                if first {
                    self.cancel_others(&server, key, now);
                }
                self.pass_on(&server, (id, leg), response, body, now);
            }
            Err(error) => {
                self.reply(&server, 488, "Not Acceptable Here", Some(warning(&error)), now);
                self.hang_up_stray(key, response, now);
                if first {
                    self.cancel_others(&server, key, now);
                } else {
                    self.send_bye(id, leg, "the answer was refused", now);
                }
                self.end_call(id);
            }
        }
    }

    fn cancel_others(&mut self, server: &ServerKey, but: &ClientKey, now: Time) {
        let clients = self.servers.get(server).map(|server| server.clients.clone()).unwrap_or_default();
        clients.iter().filter(|client| *client != but).for_each(|client| self.cancel(client, now));
    }

    /// The description in an answer, for the other side: an answer if the request had an offer, else an offer.
    fn answer_body(&mut self, server: &ServerKey, response: &Message) -> Result<Vec<u8>, SdpError> {
        let Some((had_offer, (id, leg))) =
            self.servers.get(server).and_then(|server| Some((server.had_offer, server.call?)))
        else {
            return Ok(Vec::new());
        };
        if response.body.is_empty() {
            return Ok(Vec::new());
        }
        if !is_carried(response, &server.2) || body_kind(response) != SDP {
            return Err(SdpError::Malformed("it is of another kind"));
        }
        let kind = if had_offer { Exchange::Answer } else { Exchange::Offer };
        self.exchange(id, 1 - leg, kind, &response.body)
    }

    /// Sends an answer upstream, written anew.
    fn pass_on(
        &mut self,
        server: &ServerKey,
        (id, leg): (CallId, usize),
        response: &Message,
        body: Vec<u8>,
        now: Time,
    ) {
        let Some(entry) = self.servers.get(server) else { return };
        let call = self.calls.get(&id);
        let names_target = matches!(server.2, Method::Invite | Method::Update);
        let contact = call.filter(|_| names_target).map(|call| self.contact(&call.legs[leg], server.0));
        let message = Self::pass_answer(entry, response, contact, Some(body));
        self.send_response(server, &message, now);
    }

    /// A final answer, other than 2xx to INVITE, or as good as one.
    pub(super) fn after_final(
        &mut self,
        key: &ClientKey,
        client: &Client,
        code: u16,
        response: &Message,
        now: Time,
    ) {
        let about = (client.server.clone(), client.call, client.peer);
        self.finish(key, about, code, response, now);
    }

    fn finish(
        &mut self,
        key: &ClientKey,
        (server, call, _peer): (Option<ServerKey>, Option<CallId>, Peer),
        code: u16,
        response: &Message,
        now: Time,
    ) {
        let Some(server) = server else { return };
        if let Some(call) = call.and_then(|call| self.calls.get_mut(&call)) {
            call.alive = now;
        }
        let about = self.servers.get(&server).and_then(|server| server.call);
        let begins = about.filter(|(id, leg)| {
            *leg == 0
                && self.calls.get(id).is_some_and(|call| call.server == server && call.confirmed.is_none())
        });
        if let (Method::Invite, Some((id, _))) = (&key.1, begins) {
            return self.branch_failed(id, &server, key, code, response, now);
        }
        let body = if code / 100 == 2 { self.answer_body(&server, response) } else { Ok(Vec::new()) };
        match (body, about) {
            (Ok(body), Some(about)) => self.pass_on(&server, about, response, body, now),
            (Ok(_), None) => {}
            (Err(error), _) => self.reply(&server, 488, "Not Acceptable Here", Some(warning(&error)), now),
        }
        if code == 481 || code == 408 {
            // The other side knows nothing of the call any more (RFC 3261 section 12.2.1.2).
            let began =
                about.is_some_and(|(id, _)| self.calls.get(&id).is_some_and(|call| call.server == server));
            if let (Some((id, _)), Method::Invite | Method::Update, false) = (about, &key.1, began) {
                self.hang_up(id, "the other side knows nothing of it", now);
            }
        }
    }

    /// One telephone of the callee does not want.
    fn branch_failed(
        &mut self,
        id: CallId,
        server: &ServerKey,
        key: &ClientKey,
        code: u16,
        response: &Message,
        now: Time,
    ) {
        let Some(entry) = self.servers.get_mut(server) else { return };
        let best = entry.best.as_ref().map(|best| match best.start {
            Start::Response { code, .. } => code,
            Start::Request { .. } => 0,
        });
        if best.is_none_or(|best| is_better(code, best)) {
            entry.best = Some(response.clone());
        }
        let others: Vec<ClientKey> = entry.clients.iter().filter(|each| *each != key).cloned().collect();
        let open = others.iter().any(|each| self.clients.get(each).is_some_and(Client::waits));
        if code >= 600 {
            others.iter().for_each(|other| self.cancel(other, now));
        } else if open {
            return;
        }
        let Some(entry) = self.servers.get(server) else { return };
        let best = entry.best.clone().unwrap_or_else(|| response.clone());
        let about = entry.call.unwrap_or((id, 0));
        // Elsewhere is for homes to know, not for callers.
        let is_redirection = matches!(best.start, Start::Response { code: 300..400, .. });
        if is_redirection {
            self.reply(server, 480, "Redirected, Not Followed", None, now);
        } else {
            self.pass_on(server, about, &best, Vec::new(), now);
        }
        self.end_call(id);
    }
}

/// Whether an answer comes from where the request went. A telephone may answer from another port.
fn same_host(asked: Peer, from: Peer) -> bool {
    match (asked, from) {
        (Peer::Udp(one) | Peer::Tcp(one), Peer::Udp(other) | Peer::Tcp(other)) => one.ip() == other.ip(),
        (Peer::Home(one), Peer::Home(other)) => one == other,
        (Peer::Udp(_) | Peer::Tcp(_), Peer::Home(_)) | (Peer::Home(_), Peer::Udp(_) | Peer::Tcp(_)) => false,
    }
}
