//! Requests that come in.

use super::call::{Call, Leg, Media, Phase};
use super::config::{Party, outside};
use super::forward::{SDP, allowed, body_kind, hops, is_carried, unsupported};
use super::media::{Exchange, warning};
use super::transaction::{ServerKey, Timer, sequence};
use super::{CallId, Event, Peer, Proxy};
use crate::names::{Target, parse_key};
use crate::registrar::{Registration, RegistrationError};
use crate::{Message, Method, NameAddress, Uri, Via};
use guestright_identity::KeyId;
use guestright_units::Time;

/// What every request has to have, understood.
pub(super) struct Basics {
    pub(super) from: NameAddress,
    pub(super) from_tag: String,
    pub(super) to: NameAddress,
    pub(super) call_id: String,
    pub(super) sequence: u32,
    pub(super) uri: Uri,
}

impl Basics {
    fn read(message: &Message, method: &Method, uri: &str) -> Option<Self> {
        let address = |name| NameAddress::parse(message.get(name)?).ok();
        let (from, to) = (address("From")?, address("To")?);
        let call_id = message.get("Call-ID").filter(|id| !id.is_empty() && id.len() <= 256)?;
        let (_, named) = message.get("CSeq")?.split_once([' ', '\t'])?;
        let fits = named.trim() == method.name();
        let from_tag = from.tag().filter(|tag| fits && tag.len() <= 128)?.to_owned();
        let (call_id, sequence) = (call_id.to_owned(), sequence(message)?);
        Some(Self { from, from_tag, to, call_id, sequence, uri: Uri::parse(uri).ok()? })
    }
}

/// The transaction that a request belongs to, and its Via with what we have seen.
fn top_via(message: &Message, from: Peer) -> Option<(Via, String)> {
    let via = Via::parse(message.list("Via").next()?).ok()?;
    let branch = via.branch().filter(|branch| branch.len() <= 256)?.to_owned();
    let via = match from {
        Peer::Udp(address) | Peer::Tcp(address) => via.received(address),
        Peer::Home(_) => via,
    };
    Some((via, branch))
}

/// Who another home says that calls.
fn claimed(request: &Message) -> Option<KeyId> {
    let asserted = NameAddress::parse(request.list("P-Asserted-Identity").next()?).ok()?;
    parse_key(asserted.uri.user.as_deref()?)
}

impl Proxy {
    pub(super) fn handle_request(
        &mut self,
        from: Peer,
        party: Party,
        method: Method,
        uri: &str,
        message: Message,
        now: Time,
    ) {
        let Some((via, branch)) = top_via(&message, from) else { return self.refuse("no way back") };
        let key = (from, branch.clone(), method.clone());
        if method == Method::Ack {
            // The answer to an INVITE that failed ends here, one to an INVITE that was accepted goes on.
            if !self.confirm(&(from, branch, Method::Invite), now) {
                self.acknowledge(&party, &message, uri, now);
            }
            return;
        }
        if self.repeat_answer(&key) {
            return;
        }
        let message = message.with_top_via(&via, 1);
        if !self.open_server(&key, message.clone(), now) {
            return;
        }
        let Some(basics) = Basics::read(&message, &method, uri) else {
            self.refuse("malformed header");
            return self.reply(&key, 400, "Bad Request", None, now);
        };
        if let Some(words) = unsupported(&message).filter(|_| method != Method::Cancel) {
            return self.reply(&key, 420, "Bad Extension", Some(("Unsupported", words)), now);
        }
        if !is_carried(&message, &method) {
            return self.reply(&key, 415, "Unsupported Media Type", Some(("Accept", SDP.to_owned())), now);
        }
        let is_inside = basics.to.tag().is_some();
        match (&method, &party) {
            (Method::Cancel, _) => self.cancelled(&key, now),
            (Method::Register, Party::Member(name)) => {
                let name = name.clone();
                self.register(&key, &name, &basics, &message, now);
            }
            (Method::Options, _) if !is_inside => self.describe(&key, now),
            (_, _) if is_inside && Self::is_forwarded(&method) => {
                self.in_call(&key, &party, &basics, &message, now)
            }
            (Method::Invite, _) => self.invite(&key, party, &basics, &message, now),
            (Method::Bye | Method::Update | Method::Prack | Method::Info, _) => {
                self.reply(&key, 481, "Call Does Not Exist", None, now);
            }
            _ => self.reply(&key, 405, "Method Not Allowed", Some(("Allow", allowed())), now),
        }
    }

    /// OPTIONS to the home itself: it is there.
    fn describe(&mut self, key: &ServerKey, now: Time) {
        let Some(server) = self.servers.get(key) else { return };
        let mut response = Self::answer(server, 200, "OK");
        for (name, value) in
            [("Allow", allowed()), ("Accept", SDP.to_owned()), ("Supported", "100rel, timer".to_owned())]
        {
            response.push(name, value);
        }
        self.send_response(key, &response, now);
    }

    fn register(&mut self, key: &ServerKey, member: &str, basics: &Basics, request: &Message, now: Time) {
        let own = basics.to.uri.user.as_deref().is_some_and(|user| user.eq_ignore_ascii_case(member));
        if !own || !self.names.serves(&basics.to.uri) || !self.names.serves(&basics.uri) {
            self.refuse("registers as somebody else");
            let warning = format!("399 home \"the tunnel is {member}'s: register as {member}\"");
            return self.reply(key, 403, "Forbidden", Some(("Warning", warning)), now);
        }
        let registered = Registration::parse(request).and_then(|registration| {
            let order = (basics.call_id.as_str(), basics.sequence);
            self.registrar.register(member, key.0, &registration, order, now)
        });
        if let Err(error) = registered {
            let (code, reason) = error.response();
            let least = (error == RegistrationError::TooBrief)
                .then(|| ("Min-Expires", RegistrationError::EXPIRES_MIN.to_string()));
            return self.reply(key, code, reason, least, now);
        }
        let Some(server) = self.servers.get(key) else { return };
        let mut response = Self::answer(server, 200, "OK");
        let mut telephones = 0;
        for binding in self.registrar.bindings(member, now) {
            let seconds = binding.ends.since(now).0.div_ceil(1_000_000);
            response.push("Contact", format!("<{}>;expires={seconds}", binding.contact));
            telephones += 1;
        }
        self.events.push_back(Event::Registered { member: member.to_owned(), telephones });
        self.send_response(key, &response, now);
    }

    /// A new call.
    fn invite(&mut self, key: &ServerKey, party: Party, basics: &Basics, request: &Message, now: Time) {
        let same_leg = (party.clone(), basics.call_id.clone());
        if self.by_leg.contains_key(&same_leg) {
            // It has come on another way, or it is a second call that pretends to be the first.
            return self.reply(key, 482, "Loop Detected", None, now);
        }
        if hops(request).is_none() {
            return self.reply(key, 483, "Too Many Hops", None, now);
        }
        let contact = request.list("Contact").next().and_then(|text| NameAddress::parse(text).ok());
        let Some(contact) = contact else { return self.reply(key, 400, "No Contact", None, now) };
        if self.calls.len() >= self.config.calls_max || !self.has_room(&party) {
            self.refuse("too many calls");
            return self.reply(key, 503, "Too Many Calls", Some(("Retry-After", "30".to_owned())), now);
        }
        let near = basics.from.tagged(None);
        let (seen, claimed) = match &party {
            // A member is who its tunnel is.
            Party::Member(name) => (NameAddress::new(Some(name), self.inside(name)), None),
            Party::Home(_) => match claimed(request) {
                Some(claimed) => (near.clone(), Some(claimed)),
                None => return self.reply(key, 403, "Caller Not Named", None, now),
            },
        };
        let target = match &party {
            Party::Member(_) => self.names.resolve(&basics.uri),
            Party::Home(_) => self.names.resolve_from_outside(&basics.uri),
        };
        if target == Target::Unknown {
            return self.reply(key, 404, "Not Found", None, now);
        }
        self.reply(key, 100, "Trying", None, now);
        let id = self.open_call(key, party.clone(), basics, (near, seen, contact.uri), now);
        match (claimed, party) {
            (Some(claimed), Party::Home(home)) => {
                if let Some(call) = self.calls.get_mut(&id) {
                    call.claimed = Some(claimed);
                }
                self.events.push_back(Event::Verify { call: id, key: claimed, home });
            }
            (_, _) => self.lead(id, target, now),
        }
    }

    /// It is known whether the caller's home may speak for the caller: whether the caller has said so itself.
    pub(super) fn verified(&mut self, id: CallId, is_proven: bool, now: Time) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        let Some(key) = call.claimed.take() else { return };
        let target = call.legs[1].target.clone();
        let name = self.names.name_of(key).filter(|_| is_proven).map(str::to_owned);
        let digits = key.to_string();
        let seen = match (name, is_proven) {
            (Some(name), _) => NameAddress::new(Some(&name), self.inside(&name)),
            (None, _) if !self.config.strangers => {
                return self.fail(id, 403, "Contacts Only", None, now);
            }
            (None, true) => {
                NameAddress::new(Some(&format!("not a contact: {}", &digits[..12])), self.inside(&digits))
            }
            (None, false) => {
                NameAddress::new(Some(&format!("not proven: {}", &digits[..12])), self.inside(&digits))
            }
        };
        if let Some(call) = self.calls.get_mut(&id) {
            call.legs[1].far = seen;
        }
        let target = self.names.resolve_from_outside(&target);
        self.lead(id, target, now);
    }

    /// Makes a call whose callee is still nobody.
    fn open_call(
        &mut self,
        key: &ServerKey,
        party: Party,
        basics: &Basics,
        (near, seen, target): (NameAddress, NameAddress, Uri),
        now: Time,
    ) -> CallId {
        let id = CallId(self.next_call);
        self.next_call += 1;
        let own = Party::Home(self.config.home);
        let caller = Leg {
            party: party.clone(),
            call_id: basics.call_id.clone(),
            near,
            far: basics.to.tagged(None),
            peer: key.0,
            target,
            sequence: 0,
        };
        let callee = Leg {
            party: own,
            call_id: self.token(),
            near: basics.to.tagged(None),
            far: seen,
            peer: key.0,
            target: basics.uri.clone(),
            sequence: basics.sequence.saturating_sub(1),
        };
        let call = Call {
            legs: [caller, callee],
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
        self.by_leg.insert((party, basics.call_id.clone()), (id, 0));
        self.calls.insert(id, call);
        self.timers.insert((now + self.config.dead_after, Timer::Call(id)));
        if let Some(server) = self.servers.get_mut(key) {
            server.call = Some((id, 0));
        }
        id
    }

    /// Looks for the callee.
    fn lead(&mut self, id: CallId, target: Target, now: Time) {
        match target {
            Target::Local(name) => {
                let bindings = self.registrar.bindings(&name, now).take(self.config.forks_max);
                let targets: Vec<(Peer, Uri)> =
                    bindings.map(|each| (each.peer, each.contact.clone())).collect();
                let Some(first) = targets.first().map(|(peer, _)| *peer) else {
                    return self.fail(id, 480, "No Telephone Registered", None, now);
                };
                let party = Party::Member(name.clone());
                if !self.has_room(&party) {
                    return self.fail(id, 486, "Too Many Calls", None, now);
                }
                let near = NameAddress::new(None, self.inside(&name));
                if let Some(call) = self.calls.get_mut(&id) {
                    call.lead_to(first, party.clone(), near);
                    call.targets = targets;
                    self.by_leg.insert((party, call.legs[1].call_id.clone()), (id, 1));
                }
                self.allocate(id);
            }
            Target::Elsewhere(key) => {
                let card = self.card(id, key);
                if let Some(call) = self.calls.get_mut(&id)
                    && let Party::Member(name) = &call.legs[0].party
                    && let Some(member) = self.names.member(name)
                {
                    // Outside, a member is its key.
                    call.legs[1].far = outside(member.key);
                    self.events.push_back(Event::Find { call: id, key, caller: member.key, card });
                }
            }
            Target::Unknown => self.fail(id, 404, "Not Found", None, now),
        }
    }

    /// Sends the INVITE on, once there are ports.
    pub(super) fn invite_callee(&mut self, id: CallId, now: Time) {
        let Some(call) = self.calls.get(&id) else { return };
        let key = call.server.clone();
        let Some(request) = self.servers.get(&key).map(|server| server.request.clone()) else { return };
        let body = if request.body.is_empty() {
            Vec::new()
        } else {
            match self.exchange(id, 0, Exchange::Offer, &request.body) {
                Ok(body) => body,
                Err(error) => return self.fail(id, 488, "Not Acceptable Here", Some(warning(&error)), now),
            }
        };
        if let Some(server) = self.servers.get_mut(&key) {
            server.had_offer = !body.is_empty();
        }
        let (Some(call), Some(hops)) = (self.calls.get_mut(&id), hops(&request)) else { return };
        call.phase = Phase::Calling;
        call.legs[1].sequence += 1;
        for (peer, target) in call.targets.clone() {
            let branch = self.branch();
            let Some(call) = self.calls.get(&id) else { return };
            let tags = (Some(call.caller_tag.as_str()), None);
            let sequence = call.legs[1].sequence;
            let mut message =
                self.build_request(&Method::Invite, call, 1, (peer, &target), tags, (&branch, sequence));
            message.push("P-Asserted-Identity", &call.legs[1].far);
            self.complete_request(&mut message, &request, hops, Some(body.clone()));
            if !self.open_client(peer, message, (branch, Some(key.clone()), Some(id)), now) {
                return self.fail(id, 503, "Too Busy", None, now);
            }
        }
    }

    /// The caller does not want any more.
    fn cancelled(&mut self, key: &ServerKey, now: Time) {
        let invite = (key.0, key.1.clone(), Method::Invite);
        let Some(server) = self.servers.get(&invite) else {
            return self.reply(key, 481, "Transaction Does Not Exist", None, now);
        };
        let call = server.call;
        self.reply(key, 200, "OK", None, now);
        match call.and_then(|(id, leg)| self.calls.get(&id).map(|call| (id, leg, call.phase))) {
            Some((id, 0, phase)) if phase != Phase::Up => self.fail(id, 487, "Request Terminated", None, now),
            // A change of a call that is up: its own answer will come.
            Some(_) => {
                let clients =
                    self.servers.get(&invite).map(|server| server.clients.clone()).unwrap_or_default();
                clients.iter().for_each(|client| self.cancel(client, now));
            }
            None => {}
        }
    }

    /// A request within a call.
    fn in_call(&mut self, key: &ServerKey, party: &Party, basics: &Basics, request: &Message, now: Time) {
        let found = self.by_leg.get(&(party.clone(), basics.call_id.clone())).copied();
        let Some((id, leg)) = found.filter(|(id, leg)| self.is_dialog(*id, *leg, basics)) else {
            return self.reply(key, 481, "Call Does Not Exist", None, now);
        };
        let Some(hops) = hops(request) else { return self.reply(key, 483, "Too Many Hops", None, now) };
        let (method, far) = (key.2.clone(), 1 - leg);
        if method == Method::Invite {
            self.reply(key, 100, "Trying", None, now);
        }
        if let Some(server) = self.servers.get_mut(key) {
            server.call = Some((id, leg));
        }
        self.note_target(id, leg, &method, request);
        let body = if body_kind(request) == SDP && !request.body.is_empty() {
            // PRACK answers an offer that came in a provisional answer, and offers otherwise (RFC 3262 section 5).
            let media = self.calls.get(&id).map(|call| &call.media).filter(|media| !media.answered);
            let offered = media.and_then(|media| media.offer.as_ref()).map(|(from, _)| *from);
            let answers = method == Method::Prack && offered == Some(far);
            let kind = if answers { Exchange::Answer } else { Exchange::Offer };
            match self.exchange(id, leg, kind, &request.body) {
                Ok(body) => body,
                Err(error) => return self.reply(key, 488, "Not Acceptable Here", Some(warning(&error)), now),
            }
        } else {
            request.body.clone()
        };
        if let Some(server) = self.servers.get_mut(key) {
            server.had_offer = !body.is_empty();
        }
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.alive = now;
        call.legs[far].sequence = call.legs[far].sequence.max(basics.sequence);
        let (peer, target) = call.route(far, basics.to.tag());
        let branch = self.branch();
        let Some(call) = self.calls.get(&id) else { return };
        let tags = (Some(basics.from_tag.as_str()), basics.to.tag());
        let mut message =
            self.build_request(&method, call, far, (peer, &target), tags, (&branch, basics.sequence));
        self.complete_request(&mut message, request, hops, Some(body));
        if !self.open_client(peer, message, (branch, Some(key.clone()), Some(id)), now) {
            return self.reply(key, 503, "Too Busy", None, now);
        }
        if method == Method::Bye {
            // Whatever comes back, the call is over.
            self.end_call(id);
        }
    }

    /// The caller has seen that the call was accepted.
    fn acknowledge(&mut self, party: &Party, message: &Message, uri: &str, now: Time) {
        let Some(basics) = Basics::read(message, &Method::Ack, uri) else {
            return self.refuse("malformed header");
        };
        let found = self.by_leg.get(&(party.clone(), basics.call_id.clone())).copied();
        let Some((id, leg)) = found.filter(|(id, leg)| self.is_dialog(*id, *leg, &basics)) else {
            return self.refuse("no such call");
        };
        let Some(hops) = hops(message) else { return self.refuse("too many hops") };
        let far = 1 - leg;
        let body = if message.body.is_empty() {
            Vec::new()
        } else {
            match self.exchange(id, leg, Exchange::Answer, &message.body) {
                Ok(body) => body,
                Err(_) => return self.hang_up(id, "the answer was refused", now),
            }
        };
        let branch = self.branch();
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.alive = now;
        let (peer, target) = call.route(far, basics.to.tag());
        let Some(call) = self.calls.get(&id) else { return };
        let tags = (Some(basics.from_tag.as_str()), basics.to.tag());
        let mut ack =
            self.build_request(&Method::Ack, call, far, (peer, &target), tags, (&branch, basics.sequence));
        self.complete_request(&mut ack, message, hops, Some(body));
        self.transmits.push_back((peer, ack.emit()));
    }

    /// Whether the tags are those of this call.
    fn is_dialog(&self, id: CallId, leg: usize, basics: &Basics) -> bool {
        let Some(call) = self.calls.get(&id) else { return false };
        let callee = |tag: &str| {
            call.confirmed
                .as_deref()
                .map_or_else(|| call.dialogs.iter().any(|each| each.tag == tag), |own| own == tag)
        };
        match (leg, basics.to.tag()) {
            (0, Some(to)) => basics.from_tag == call.caller_tag && callee(to),
            (_, Some(to)) => to == call.caller_tag && callee(&basics.from_tag),
            (_, None) => false,
        }
    }

    /// Where requests to who has sent this one go from now on (RFC 3261 section 12.2.2).
    fn note_target(&mut self, id: CallId, leg: usize, method: &Method, request: &Message) {
        let contact = request.list("Contact").next().and_then(|text| NameAddress::parse(text).ok());
        if let (Some(call), Some(contact), Method::Invite | Method::Update) =
            (self.calls.get_mut(&id), contact, method)
        {
            call.legs[leg].target = contact.uri;
        }
    }
}
