//! Requests that come in.

use super::Proxy;
use super::basics::{Basics, Request};
use super::call::{Call, Leg, Route};
use super::calls::LegId;
use super::event::{CallId, Event, Phase};
use super::hint::read_card;
use super::legs::{Legs, Side};
use super::media::{Exchange, Media};
use super::report::{PACKAGE, REPORT, Report};
use super::rewrite::{
    Answer, NewRequest, Outgoing, PUBLISH, SDP, Tags, allowed, body_kind, build_response, complete_request,
    hops, is_carried, outside, unsupported,
};
use crate::names::{Target, parse_key};
use crate::peer::{Party, Peer};
use crate::registrar::{Order, Registration, RegistrationError};
use crate::transaction::{Incoming, ServerKey};
use crate::{Message, Method, NameAddress, Uri};
use guestright_identity::KeyId;
use guestright_units::Time;

/// Who is on a new call's first leg, as this home writes it.
struct Caller {
    /// On the caller's own side.
    local: NameAddress,
    /// On the callee's side.
    shown: NameAddress,
    /// Where the caller wants requests.
    target: Uri,
}

/// A request within a call, on its way to the other side.
struct Onward<'a> {
    method: &'a Method,
    basics: &'a Basics,
    message: &'a Message,
    hops: u32,
    body: Vec<u8>,
}

/// Who another home says that calls.
fn claimed(request: &Message) -> Option<KeyId> {
    let asserted = NameAddress::parse(request.list("P-Asserted-Identity").next()?).ok()?;
    parse_key(asserted.uri.user.as_deref()?)
}

fn contact(message: &Message) -> Option<NameAddress> {
    NameAddress::parse(message.list("Contact").next()?).ok()
}

/// Whether a method may be forwarded within a call.
fn is_forwarded(method: &Method) -> bool {
    match method {
        Method::Invite | Method::Bye | Method::Update | Method::Prack | Method::Info | Method::Options => {
            true
        }
        Method::Ack | Method::Cancel | Method::Register | Method::Other(_) => false,
    }
}

impl Proxy {
    pub(super) fn handle_request(&mut self, from: Peer, party: Party, message: &Message, now: Time) {
        let (key, message) = match self.transactions.handle_request(from, message, now) {
            Ok(Incoming::New { key, request }) => (key, request),
            Ok(Incoming::Ack) => return self.acknowledge(&party, message, now),
            Ok(Incoming::Absorbed) => return,
            Err(error) => return self.refuse(error.reason()),
        };
        let tag = self.token();
        self.contexts.open(key.clone(), message.clone(), tag);
        let Some(basics) = Basics::read(&message) else {
            self.refuse("malformed header");
            return self.reply(&key, &Answer::new(400, "Bad Request"), now);
        };
        let refusal = match unsupported(&message) {
            Some(words) if key.method != Method::Cancel => {
                Some(Answer::new(420, "Bad Extension").with("Unsupported", words))
            }
            _ if !is_carried(&message, &key.method) => {
                let wanted = if key.method == Method::Other(PUBLISH.to_owned()) { REPORT } else { SDP };
                Some(Answer::new(415, "Unsupported Media Type").with("Accept", wanted.to_owned()))
            }
            _ => None,
        };
        if let Some(refusal) = refusal {
            return self.reply(&key, &refusal, now);
        }
        self.dispatch(&Request { key, party, basics, message }, now);
    }

    fn dispatch(&mut self, request: &Request, now: Time) {
        let is_inside = request.basics.to.tag().is_some();
        match (&request.key.method, &request.party) {
            (Method::Cancel, _) => self.cancelled(request, now),
            (Method::Register, Party::Member(name)) => self.register(name, request, now),
            (Method::Options, _) if !is_inside => self.describe(&request.key, now),
            (Method::Other(other), Party::Member(name)) if other == PUBLISH && !is_inside => {
                self.publish(name, request, now);
            }
            (method, _) if is_inside && is_forwarded(method) => self.in_call(request, now),
            (Method::Invite, _) => self.invite(request, now),
            (Method::Bye | Method::Update | Method::Prack | Method::Info, _) => {
                self.reply(&request.key, &Answer::new(481, "Call Does Not Exist"), now);
            }
            _ => {
                let answer = Answer::new(405, "Method Not Allowed").with("Allow", allowed());
                self.reply(&request.key, &answer, now);
            }
        }
    }

    /// OPTIONS to the home itself: it is there.
    fn describe(&mut self, key: &ServerKey, now: Time) {
        let Some(context) = self.contexts.get(key) else { return };
        let mut response = build_response(context, &Answer::new(200, "OK"));
        response.push("Allow", allowed());
        response.push("Accept", SDP);
        response.push("Supported", "100rel, timer");
        self.transactions.respond(key, &response, now);
    }

    /// A member's telephone says how a call was that is over (RFC 3903, RFC 6035). Nothing of it is kept but a count.
    fn publish(&mut self, member: &str, request: &Request, now: Time) {
        let Request { key, message, .. } = request;
        let package = message.get("Event").unwrap_or_default().split(';').next().unwrap_or_default();
        if package.trim() != PACKAGE {
            let answer = Answer::new(489, "Bad Event").with("Allow-Events", PACKAGE.to_owned());
            return self.reply(key, &answer, now);
        }
        let Some(report) = Report::parse(&message.body) else {
            self.refuse("malformed report of a call");
            return self.reply(key, &Answer::new(400, "Bad Report"), now);
        };
        if !self.reports.settle(member, &report.call_id, now) {
            self.refuse("report of no call");
            return self.reply(key, &Answer::new(481, "Call Does Not Exist"), now);
        }
        self.events.push_back(Event::Reported { mos_hundredths: report.mos });
        let accepted = Answer::new(200, "OK").with("SIP-ETag", self.token()).with("Expires", "0".to_owned());
        self.reply(key, &accepted, now);
    }

    fn register(&mut self, member: &str, request: &Request, now: Time) {
        let Request { key, basics, message, .. } = request;
        let own =
            basics.to.uri.user.as_deref().is_some_and(|user| user.to_lowercase() == member.to_lowercase());
        if !own || !self.names.serves(&basics.to.uri) || !self.names.serves(&basics.uri) {
            self.refuse("registers as somebody else");
            let warning = format!("399 home \"the tunnel is {member}'s: register as {member}\"");
            return self.reply(key, &Answer::new(403, "Forbidden").with("Warning", warning), now);
        }
        let registered = Registration::parse(message).and_then(|registration| {
            let order = Order { call_id: &basics.call_id, sequence: basics.sequence };
            self.registrar.register(member, key.peer, &registration, order, now)
        });
        if let Err(error) = registered {
            let (code, reason) = error.response();
            let answer = Answer::new(code, reason);
            let answer = match error {
                RegistrationError::TooBrief => {
                    answer.with("Min-Expires", RegistrationError::EXPIRES_MIN.to_string())
                }
                RegistrationError::TooMany | RegistrationError::OutOfOrder | RegistrationError::Malformed => {
                    answer
                }
            };
            return self.reply(key, &answer, now);
        }
        let Some(context) = self.contexts.get(key) else { return };
        let mut response = build_response(context, &Answer::new(200, "OK"));
        let mut telephones = 0;
        for binding in self.registrar.bindings(member, now) {
            let seconds = binding.ends.since(now).0.div_ceil(1_000_000);
            response.push("Contact", format!("<{}>;expires={seconds}", binding.contact));
            telephones += 1;
        }
        self.events.push_back(Event::Registered { member: member.to_owned(), telephones });
        self.transactions.respond(key, &response, now);
    }

    /// A new call.
    fn invite(&mut self, request: &Request, now: Time) {
        let Request { key, party, basics, message } = request;
        if self.calls.find(party, &basics.call_id).is_some() {
            // It has come on another way, or it is a second call that pretends to be the first.
            return self.reply(key, &Answer::new(482, "Loop Detected"), now);
        }
        if hops(message).is_none() {
            return self.reply(key, &Answer::new(483, "Too Many Hops"), now);
        }
        let Some(contact) = contact(message) else {
            return self.reply(key, &Answer::new(400, "No Contact"), now);
        };
        if self.calls.is_full() || !self.calls.has_room(party) {
            self.refuse("too many calls");
            return self.reply(key, &Answer::too_many_calls(), now);
        }
        let local = basics.from.tagged(None);
        let (shown, claimed) = match party {
            // A member is who its tunnel is.
            Party::Member(name) => (NameAddress::new(Some(name), self.rewriter.inside(name)), None),
            Party::Home(_) => match claimed(message) {
                Some(claimed) => (local.clone(), Some(claimed)),
                None => return self.reply(key, &Answer::new(403, "Caller Not Named"), now),
            },
        };
        let target = match party {
            Party::Member(_) => self.names.resolve(&basics.uri),
            Party::Home(_) => self.names.resolve_from_outside(&basics.uri),
        };
        if target == Target::Unknown {
            return self.reply(key, &Answer::new(404, "Not Found"), now);
        }
        self.reply(key, &Answer::new(100, "Trying"), now);
        let id = self.open_call(request, Caller { local, shown, target: contact.uri }, now);
        match (claimed, party) {
            (Some(claimed), Party::Home(home)) => {
                if let Some(call) = self.calls.get_mut(id) {
                    call.claimed = Some(claimed);
                }
                self.events.push_back(Event::Verify { call: id, key: claimed, home: *home });
            }
            (_, _) => self.lead(id, target, now),
        }
    }

    /// It is known whether the caller's home may speak for the caller: whether the caller has said so itself.
    pub(super) fn verified(&mut self, id: CallId, is_proven: bool, now: Time) {
        let Some(call) = self.calls.get_mut(id) else { return };
        let Some(key) = call.claimed.take() else { return };
        let target = call.legs.callee.route.target.clone();
        let name = self.names.name_of(key).filter(|_| is_proven).map(str::to_owned);
        let digits = key.to_string();
        let inside = |user: &str| self.rewriter.inside(user);
        let shown = match (name, is_proven) {
            (Some(name), _) => NameAddress::new(Some(&name), inside(&name)),
            (None, _) if !self.config.strangers => {
                return self.fail(id, &Answer::new(403, "Contacts Only"), now);
            }
            (None, true) => {
                NameAddress::new(Some(&format!("not a contact: {}", &digits[..12])), inside(&digits))
            }
            (None, false) => {
                NameAddress::new(Some(&format!("not proven: {}", &digits[..12])), inside(&digits))
            }
        };
        if let Some(call) = self.calls.get_mut(id) {
            call.legs.callee.remote = shown;
        }
        let target = self.names.resolve_from_outside(&target);
        self.lead(id, target, now);
    }

    /// Makes a call whose callee is still nobody.
    fn open_call(&mut self, request: &Request, caller: Caller, now: Time) -> CallId {
        let Request { key, party, basics, .. } = request;
        let remote = basics.to.tagged(None);
        let caller_leg = Leg {
            party: party.clone(),
            call_id: basics.call_id.clone(),
            local: caller.local,
            remote: remote.clone(),
            route: Route { peer: key.peer, target: caller.target },
            sequence: 0,
        };
        let callee_leg = Leg {
            party: Party::Home(self.config.home),
            call_id: self.token(),
            local: remote,
            remote: caller.shown,
            route: Route { peer: key.peer, target: basics.uri.clone() },
            // The INVITE itself takes the next number, so that both sides count alike.
            sequence: basics.sequence.saturating_sub(1),
        };
        let call = Call {
            legs: Legs { caller: caller_leg, callee: callee_leg },
            phase: Phase::Finding,
            since: now,
            alive: now,
            caller_tag: basics.from_tag.clone(),
            dialogs: Vec::new(),
            confirmed: None,
            server: key.clone(),
            claimed: None,
            targets: Vec::new(),
            media: Media::default(),
        };
        let id = self.calls.open(call, now);
        if let Some(context) = self.contexts.get_mut(key) {
            context.leg = Some(LegId { call: id, side: Side::Caller });
        }
        id
    }

    /// Looks for the callee.
    fn lead(&mut self, id: CallId, target: Target, now: Time) {
        match target {
            Target::Local(name) => {
                let bindings = self.registrar.bindings(&name, now).take(self.config.forks_max);
                let targets: Vec<Route> = bindings
                    .map(|binding| Route { peer: binding.peer, target: binding.contact.clone() })
                    .collect();
                let Some(first) = targets.first().map(|route| route.peer) else {
                    return self.fail(id, &Answer::new(480, "No Telephone Registered"), now);
                };
                let party = Party::Member(name.clone());
                if !self.calls.has_room(&party) {
                    return self.fail(id, &Answer::new(486, "Too Many Calls"), now);
                }
                if let Some(call) = self.calls.get_mut(id) {
                    call.set_callee(first, party, NameAddress::new(None, self.rewriter.inside(&name)));
                    call.targets = targets;
                }
                self.calls.index(LegId { call: id, side: Side::Callee });
                match self.take_room(id) {
                    Ok(()) => self.allocate(id),
                    Err(answer) => self.fail(id, &answer, now),
                }
            }
            Target::Elsewhere(key) => match self.take_room(id) {
                Ok(()) => self.look_elsewhere(id, key),
                Err(answer) => self.fail(id, &answer, now),
            },
            Target::Unknown => self.fail(id, &Answer::new(404, "Not Found"), now),
        }
    }

    /// Takes the room on the air that a call needs. Before anything rings, so that nothing that is up is ever ended by it.
    fn take_room(&mut self, id: CallId) -> Result<(), Answer> {
        let Some(call) = self.calls.get(id) else { return Ok(()) };
        let [caller, callee] = [Side::Caller, Side::Callee].map(|side| match &call.legs[side].party {
            Party::Member(name) => self.names.member(name).map(|member| member.key),
            Party::Home(_) => None,
        });
        let reserved = self.rooms.reserve(id, caller, callee);
        if reserved.is_err() {
            self.refuse("no room for a call on the air");
        }
        reserved
    }

    /// A member of ours calls somebody of another home.
    fn look_elsewhere(&mut self, id: CallId, key: KeyId) {
        let Some(call) = self.calls.get_mut(id) else { return };
        let card = self.contexts.get(&call.server).map(|context| read_card(&context.request, key));
        let caller = match &call.legs.caller.party {
            Party::Member(name) => self.names.member(name).map(|member| member.key),
            Party::Home(_) => None,
        };
        if let Some(caller) = caller {
            // Outside, a member is its key.
            call.legs.callee.remote = outside(caller);
        }
        let card = card.transpose().unwrap_or_else(|reason| {
            self.refuse(reason);
            None
        });
        if let Some(caller) = caller {
            self.events.push_back(Event::Find { call: id, key, caller, card: card.flatten() });
        }
    }

    /// Sends the INVITE on, once there are ports.
    pub(super) fn invite_callee(&mut self, id: CallId, now: Time) {
        let Some(call) = self.calls.get(id) else { return };
        let key = call.server.clone();
        let Some(request) = self.contexts.get(&key).map(|context| context.request.clone()) else { return };
        let body = if request.body.is_empty() {
            Vec::new()
        } else {
            match self.exchange(LegId { call: id, side: Side::Caller }, Exchange::Offer, &request.body) {
                Ok(body) => body,
                Err(error) => return self.fail(id, &Answer::not_acceptable(&error), now),
            }
        };
        if let Some(context) = self.contexts.get_mut(&key) {
            context.had_offer = !body.is_empty();
        }
        let (Some(call), Some(hops)) = (self.calls.get_mut(id), hops(&request)) else { return };
        call.phase = Phase::Calling;
        call.legs.callee.sequence += 1;
        for route in call.targets.clone() {
            let branch = self.branch();
            let Some(call) = self.calls.get(id) else { return };
            let leg = &call.legs.callee;
            let mut outgoing = self.rewriter.build_request(NewRequest {
                method: &Method::Invite,
                leg,
                route: &route,
                tags: Tags { from: Some(&call.caller_tag), to: None },
                branch: &branch,
                sequence: leg.sequence,
            });
            outgoing.message.push("P-Asserted-Identity", &leg.remote);
            complete_request(&mut outgoing.message, &request, hops, body.clone());
            match self.send(outgoing, now) {
                Some(client) => self.contexts.add_branch(&key, id, client),
                None => return self.fail(id, &Answer::new(503, "Too Busy"), now),
            }
        }
    }

    /// The caller does not want any more.
    fn cancelled(&mut self, request: &Request, now: Time) {
        let invite = request.key.invite();
        let Some(context) = self.contexts.get(&invite) else {
            return self.reply(&request.key, &Answer::new(481, "Transaction Does Not Exist"), now);
        };
        let leg = context.leg;
        self.reply(&request.key, &Answer::new(200, "OK"), now);
        let Some(leg) = leg else { return };
        let Some(phase) = self.calls.get(leg.call).map(|call| call.phase) else { return };
        if leg.side == Side::Caller && phase != Phase::Up {
            return self.fail(leg.call, &Answer::new(487, "Request Terminated"), now);
        }
        // A change of a call that is up: its own answer will come.
        for branch in self.contexts.branches(&invite) {
            self.transactions.cancel(&branch, now);
        }
    }

    /// A request within a call.
    fn in_call(&mut self, request: &Request, now: Time) {
        let Request { key, basics, message, .. } = request;
        let Some(leg) = self.find_leg(&request.party, basics) else {
            return self.reply(key, &Answer::new(481, "Call Does Not Exist"), now);
        };
        let Some(hops) = hops(message) else {
            return self.reply(key, &Answer::new(483, "Too Many Hops"), now);
        };
        if key.method == Method::Invite {
            self.reply(key, &Answer::new(100, "Trying"), now);
        }
        if let Some(context) = self.contexts.get_mut(key) {
            context.leg = Some(leg);
        }
        self.note_target(leg, &key.method, message);
        let body = if body_kind(message) == SDP && !message.body.is_empty() {
            // PRACK answers an offer that came in a provisional answer, and offers otherwise (RFC 3262 section 5).
            let unanswered = self.calls.get(leg.call).and_then(|call| call.media.unanswered());
            let answers = key.method == Method::Prack && unanswered == Some(leg.side.other());
            let kind = if answers { Exchange::Answer } else { Exchange::Offer };
            match self.exchange(leg, kind, &message.body) {
                Ok(body) => body,
                Err(error) => return self.reply(key, &Answer::not_acceptable(&error), now),
            }
        } else {
            message.body.clone()
        };
        if let Some(context) = self.contexts.get_mut(key) {
            context.had_offer = !body.is_empty();
        }
        self.forward_in_call(leg, request, hops, body, now);
    }

    /// Sends a request within a call to the other side.
    fn forward_in_call(&mut self, leg: LegId, request: &Request, hops: u32, body: Vec<u8>, now: Time) {
        let Request { key, basics, message, .. } = request;
        let Some(call) = self.calls.get_mut(leg.call) else { return };
        let sequence = &mut call.legs[leg.side.other()].sequence;
        *sequence = (*sequence).max(basics.sequence);
        let onward = Onward { method: &key.method, basics, message, hops, body };
        let Some(outgoing) = self.build_onward(leg, onward, now) else { return };
        match self.send(outgoing, now) {
            Some(client) => self.contexts.add_branch(key, leg.call, client),
            None => return self.reply(key, &Answer::new(503, "Too Busy"), now),
        }
        if key.method == Method::Bye {
            // Whatever comes back, the call is over.
            self.await_reports(leg.call, now);
            self.end_call(leg.call);
        }
    }

    /// The caller has seen that the call was accepted.
    fn acknowledge(&mut self, party: &Party, message: &Message, now: Time) {
        let Some(basics) = Basics::read(message) else { return self.refuse("malformed header") };
        let Some(leg) = self.find_leg(party, &basics) else { return self.refuse("no such call") };
        let Some(hops) = hops(message) else { return self.refuse("too many hops") };
        let body = if message.body.is_empty() {
            Vec::new()
        } else {
            match self.exchange(leg, Exchange::Answer, &message.body) {
                Ok(body) => body,
                Err(_) => return self.hang_up_call(leg.call, "the answer was refused", now),
            }
        };
        let onward = Onward { method: &Method::Ack, basics: &basics, message, hops, body };
        let Some(outgoing) = self.build_onward(leg, onward, now) else { return };
        self.transactions.send_directly(outgoing.peer, outgoing.message.emit());
    }

    /// A request within a call, as the other side is to have it; nothing if the call is gone.
    fn build_onward(&mut self, leg: LegId, onward: Onward<'_>, now: Time) -> Option<Outgoing> {
        let Onward { method, basics, message, hops, body } = onward;
        let branch = self.branch();
        let call = self.calls.get_mut(leg.call)?;
        call.alive = now;
        let side = leg.side.other();
        let mut outgoing = self.rewriter.build_request(NewRequest {
            method,
            leg: &call.legs[side],
            route: &call.route(side, basics.to.tag()),
            tags: basics.tags(),
            branch: &branch,
            sequence: basics.sequence,
        });
        complete_request(&mut outgoing.message, message, hops, body);
        Some(outgoing)
    }

    /// The leg of a call that a request within a dialog belongs to.
    fn find_leg(&self, party: &Party, basics: &Basics) -> Option<LegId> {
        let leg = self.calls.find(party, &basics.call_id)?;
        let call = self.calls.get(leg.call)?;
        call.is_dialog(leg.side, &basics.from_tag, basics.to.tag()).then_some(leg)
    }

    /// Where requests to who has sent this one go from now on (RFC 3261 section 12.2.2).
    fn note_target(&mut self, leg: LegId, method: &Method, request: &Message) {
        if let (Some(call), Some(contact), Method::Invite | Method::Update) =
            (self.calls.get_mut(leg.call), contact(request), method)
        {
            call.legs[leg.side].route.target = contact.uri;
        }
    }
}
