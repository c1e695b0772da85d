//! Responses that come in.

use super::Proxy;
use super::calls::LegId;
use super::context::Branch;
use super::legs::Side;
use super::media::Exchange;
use super::rewrite::{Answer, Outgoing, SDP, body_kind, build_stray, is_carried, rewrite_response};
use crate::peer::Peer;
use crate::sdp::SdpError;
use crate::transaction::{ClientKey, ServerKey};
use crate::{Message, Method, NameAddress, Uri};
use guestright_units::Time;

fn to_tag(response: &Message) -> Option<String> {
    NameAddress::parse(response.get("To")?).ok()?.tag().filter(|tag| tag.len() <= 128).map(str::to_owned)
}

fn contact(response: &Message) -> Option<Uri> {
    Some(NameAddress::parse(response.list("Contact").next()?).ok()?.uri)
}

/// Which of two failures the caller gets (RFC 3261 section 16.7, step 6).
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
    pub(super) fn handle_response(&mut self, from: Peer, response: &Message, now: Time) {
        let key = match self.transactions.handle_response(from, response, now) {
            Ok(Some(key)) => key,
            Ok(None) => return,
            Err(error) => return self.refuse(error.reason()),
        };
        match response.code().unwrap_or_default() {
            0..200 => self.provisional(&key, response, now),
            200..300 if key.method == Method::Invite => self.accepted(&key, response, now),
            _ => {
                if let Some(branch) = self.contexts.branch(&key).cloned() {
                    self.finish(&key, &branch, response, now);
                }
            }
        }
    }

    fn provisional(&mut self, key: &ClientKey, response: &Message, now: Time) {
        // 100 is for one hop alone (RFC 3261 section 16.7, step 5), and 1xx of the other methods says nothing.
        if key.method != Method::Invite || response.code() <= Some(100) {
            return;
        }
        let Some(server) = self.contexts.branch(key).map(|branch| branch.server.clone()) else { return };
        let Some(peer) = self.transactions.request(key).map(|(peer, _)| peer) else { return };
        let Some(leg) = self.contexts.get(&server).and_then(|context| context.leg) else { return };
        if let (Some(call), Some(tag)) = (self.calls.get_mut(leg.call), to_tag(response)) {
            call.alive = now;
            if leg.side == Side::Caller && call.confirmed.is_none() {
                call.note_dialog(&tag, peer, contact(response));
            }
        }
        // Early media that cannot be are left out; the call may still become one.
        let body = self.answer_body(&server, response).unwrap_or_default();
        self.pass_on(&server, response, body, now);
    }

    /// A telephone was taken off the hook.
    fn accepted(&mut self, key: &ClientKey, response: &Message, now: Time) {
        let Some(server) = self.contexts.branch(key).map(|branch| branch.server.clone()) else { return };
        let Some(peer) = self.transactions.request(key).map(|(peer, _)| peer) else { return };
        let leg = self.contexts.get(&server).and_then(|context| context.leg);
        let Some(leg) = leg.filter(|leg| self.calls.contains(leg.call)) else {
            return self.hang_up_stray(key, response, now);
        };
        let Some(tag) = to_tag(response) else { return self.refuse("malformed header") };
        let Some(call) = self.calls.get_mut(leg.call) else { return };
        if leg.side == Side::Caller && call.confirmed.as_ref().is_some_and(|own| *own != tag) {
            // Another one was faster.
            return self.hang_up_stray(key, response, now);
        }
        let is_first = call.confirmed.is_none();
        call.alive = now;
        if leg.side == Side::Caller && is_first {
            call.note_dialog(&tag, peer, contact(response));
            call.confirm(&tag);
            self.rooms.note_up(leg.call, now);
        } else if let Some(target) = contact(response) {
            call.legs[leg.side.other()].route.target = target;
        }
        match self.answer_body(&server, response) {
            Ok(body) => {
                if is_first {
                    self.cancel_others(&server, key, now);
                }
                self.pass_on(&server, response, body, now);
            }
            Err(error) => {
                self.reply(&server, &Answer::not_acceptable(&error), now);
                self.hang_up_stray(key, response, now);
                if is_first {
                    self.cancel_others(&server, key, now);
                } else {
                    self.await_reports(leg.call, now);
                    self.send_bye(leg, "the answer was refused", now);
                }
                self.end_call(leg.call);
            }
        }
    }

    fn cancel_others(&mut self, server: &ServerKey, but: &ClientKey, now: Time) {
        for branch in self.contexts.branches(server).iter().filter(|branch| *branch != but) {
            self.transactions.cancel(branch, now);
        }
    }

    /// Somebody has accepted a call that is none any more, or that somebody else has accepted: it gets an ACK and a BYE.
    fn hang_up_stray(&mut self, key: &ClientKey, response: &Message, now: Time) {
        let Some(branch) = self.contexts.branch_mut(key) else { return };
        let was_hung_up = std::mem::replace(&mut branch.is_hung_up, true);
        let Some((peer, invite)) = self.transactions.request(key) else { return };
        let sequence = invite.sequence().unwrap_or_default();
        let ack = build_stray(invite, response, &Method::Ack, sequence);
        let bye = build_stray(invite, response, &Method::Bye, sequence.saturating_add(1));
        let (ack_branch, bye_branch) = (self.branch(), self.branch());
        let ack = ack.with_top_via(self.rewriter.via(peer, &ack_branch), 0);
        self.transactions.send_directly(peer, ack.emit());
        // The 2xx response comes again until its ACK has arrived. Each one gets an ACK, only the first one a BYE.
        if !was_hung_up {
            let message = bye.with_top_via(self.rewriter.via(peer, &bye_branch), 0);
            self.send(Outgoing { peer, message }, now);
        }
    }

    /// The description in an answer, for the other side: an answer if the request had an offer, else an offer.
    fn answer_body(&mut self, server: &ServerKey, response: &Message) -> Result<Vec<u8>, SdpError> {
        let context = self.contexts.get(server).and_then(|context| Some((context.had_offer, context.leg?)));
        let Some((had_offer, leg)) = context else { return Ok(Vec::new()) };
        if response.body.is_empty() {
            return Ok(Vec::new());
        }
        if !is_carried(response, &server.method) || body_kind(response) != SDP {
            return Err(SdpError::Malformed("it is of another kind"));
        }
        let kind = if had_offer { Exchange::Answer } else { Exchange::Offer };
        self.exchange(LegId { side: leg.side.other(), ..leg }, kind, &response.body)
    }

    /// Sends an answer upstream, written anew.
    fn pass_on(&mut self, server: &ServerKey, response: &Message, body: Vec<u8>, now: Time) {
        let Some(context) = self.contexts.get(server) else { return };
        let names_target = matches!(server.method, Method::Invite | Method::Update);
        let leg = context.leg.filter(|_| names_target);
        let leg = leg.and_then(|leg| Some(&self.calls.get(leg.call)?.legs[leg.side]));
        let contact = leg.map(|leg| self.rewriter.contact(leg, server.peer));
        let message = rewrite_response(context, response, contact, body);
        self.transactions.respond(server, &message, now);
    }

    /// A final answer, other than 2xx to INVITE, or as good as one.
    pub(super) fn finish(&mut self, key: &ClientKey, branch: &Branch, response: &Message, now: Time) {
        let server = &branch.server;
        let code = response.code().unwrap_or_default();
        if let Some(call) = self.calls.get_mut(branch.call) {
            call.alive = now;
        }
        let leg = self.contexts.get(server).and_then(|context| context.leg);
        let call = leg.and_then(|leg| self.calls.get(leg.call));
        let began = call.is_some_and(|call| call.server == *server);
        let rings = leg.is_some_and(|leg| leg.side == Side::Caller)
            && began
            && call.is_some_and(|call| call.confirmed.is_none());
        if key.method == Method::Invite && rings {
            return self.branch_failed(server, key, response, now);
        }
        let body = if code / 100 == 2 { self.answer_body(server, response) } else { Ok(Vec::new()) };
        match (body, leg) {
            (Ok(body), Some(_)) => self.pass_on(server, response, body, now),
            (Ok(_), None) => {}
            (Err(error), _) => self.reply(server, &Answer::not_acceptable(&error), now),
        }
        // The other side knows nothing of the call any more (RFC 3261 section 12.2.1.2).
        let is_unknown = matches!(code, 481 | 408) && matches!(key.method, Method::Invite | Method::Update);
        if let (Some(leg), true, false) = (leg, is_unknown, began) {
            self.hang_up_call(leg.call, "the other side knows nothing of it", now);
        }
    }

    /// One telephone of the callee does not want.
    fn branch_failed(&mut self, server: &ServerKey, key: &ClientKey, response: &Message, now: Time) {
        let code = response.code().unwrap_or_default();
        let Some(context) = self.contexts.get_mut(server) else { return };
        let best = context.best.as_ref().and_then(Message::code);
        if best.is_none_or(|best| is_better(code, best)) {
            context.best = Some(response.clone());
        }
        let others = self.contexts.branches(server).into_iter().filter(|each| each != key);
        let waiting: Vec<ClientKey> = others.filter(|each| self.transactions.is_waiting(each)).collect();
        if code >= 600 {
            // Nobody else is to be asked either (RFC 3261 section 16.7, step 5).
            waiting.iter().for_each(|other| self.transactions.cancel(other, now));
        } else if !waiting.is_empty() {
            return;
        }
        let Some(context) = self.contexts.get(server) else { return };
        let best = context.best.clone().unwrap_or_else(|| response.clone());
        let leg = context.leg;
        // Elsewhere is for homes to know, not for callers.
        if matches!(best.code(), Some(300..400)) {
            self.reply(server, &Answer::new(480, "Redirected, Not Followed"), now);
        } else {
            self.pass_on(server, &best, Vec::new(), now);
        }
        if let Some(leg) = leg {
            self.end_call(leg.call);
        }
    }
}
