//! Transactions and their timers (RFC 3261 section 17, RFC 6026).

use super::{CallId, Peer, Proxy};
use crate::{Message, Method, NameAddress, Start};
use guestright_units::{Micros, Time};

/// RFC 3261 section 17.1.1.1.
pub(super) const T1: Micros = Micros::from_millis(500);
const T2: Micros = Micros::from_seconds(4);
/// 64 T1: when hope ends, and how long repetitions are absorbed (timers B, D, F, H, J, L, M).
pub(super) const GIVE_UP: Micros = Micros::from_seconds(32);

/// The peer, the branch, and the method; ACK and CANCEL are found by INVITE's.
pub(super) type ServerKey = (Peer, String, Method);
/// Our branch and the method.
pub(super) type ClientKey = (String, Method);

/// What wants to be looked at when its time comes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    Server(ServerKey),
    Client(ClientKey),
    Call(CallId),
    Tidy,
}

/// How far a transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// No answer yet.
    Waiting,
    /// A provisional answer.
    Proceeding,
    /// A final answer, other than 2xx to INVITE.
    Completed,
    /// 2xx to INVITE.
    Accepted,
    /// Nothing is repeated any more.
    Confirmed,
}

/// When something is sent again, and how long the pause is after that.
type Again = Option<(Time, Micros)>;

/// A request that somebody has sent us.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) request: Message,
    pub(super) state: State,
    /// The call and the side that it came from.
    pub(super) call: Option<(CallId, usize)>,
    /// What it was forwarded as.
    pub(super) clients: Vec<ClientKey>,
    /// Whether its body was an offer; then bodies in answers are answers.
    pub(super) had_offer: bool,
    /// The best final answer of the clients so far.
    pub(super) best: Option<Message>,
    /// Our own tag, for answers that are ours.
    pub(super) tag: String,
    last: Option<Vec<u8>>,
    again: Again,
    ends: Time,
    due: Time,
}

/// A request that we have sent.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) peer: Peer,
    pub(super) request: Message,
    pub(super) state: State,
    pub(super) server: Option<ServerKey>,
    pub(super) call: Option<CallId>,
    /// Whether it is to be cancelled as soon as that may be.
    pub(super) cancel: bool,
    /// Whether it was.
    pub(super) cancelled: bool,
    /// Whether the call that it has made was ended at once.
    pub(super) hung_up: bool,
    bytes: Vec<u8>,
    ack: Option<Vec<u8>>,
    again: Again,
    ends: Time,
    due: Time,
}

impl Client {
    /// Whether a final answer is still to come.
    pub(super) fn waits(&self) -> bool {
        matches!(self.state, State::Waiting | State::Proceeding)
    }
}

fn due(again: Again, ends: Time) -> Time {
    again.map_or(ends, |(at, _)| at.min(ends))
}

impl Proxy {
    /// Notes a request. False if there are too many.
    pub(super) fn open_server(&mut self, key: &ServerKey, request: Message, now: Time) -> bool {
        if self.servers.len() >= self.config.transactions_max {
            self.refuse("too many transactions");
            return false;
        }
        // Longer than anything may take: ringing.
        let ends = now + self.config.ring_max + GIVE_UP + GIVE_UP;
        let tag = self.token();
        let server = Server {
            request,
            state: State::Waiting,
            call: None,
            clients: Vec::new(),
            had_offer: false,
            best: None,
            tag,
            last: None,
            again: None,
            ends,
            due: ends,
        };
        self.timers.insert((ends, Timer::Server(key.clone())));
        self.servers.insert(key.clone(), server);
        true
    }

    /// A request has come again. What was answered is answered again.
    pub(super) fn repeat_answer(&mut self, key: &ServerKey) -> bool {
        let Some(server) = self.servers.get(key) else { return false };
        if let Some(last) = server.last.clone().filter(|_| server.state != State::Accepted) {
            self.transmits.push_back((key.0, last));
        }
        true
    }

    /// Sends an answer upstream.
    pub(super) fn send_response(&mut self, key: &ServerKey, response: &Message, now: Time) {
        let Start::Response { code, .. } = response.start else { return };
        let Some(server) = self.servers.get_mut(key) else { return };
        let is_invite = key.2 == Method::Invite;
        let accepted = server.state == State::Accepted && is_invite && code / 100 == 2;
        if !matches!(server.state, State::Waiting | State::Proceeding) && !accepted {
            return;
        }
        let bytes = response.emit();
        server.state = match code {
            100..200 => State::Proceeding,
            200..300 if is_invite => State::Accepted,
            _ => State::Completed,
        };
        server.last = Some(bytes.clone());
        if code >= 200 {
            server.ends = now + GIVE_UP;
            let repeats = server.state == State::Completed && is_invite && !key.0.is_reliable();
            server.again = repeats.then_some((now + T1, T1));
        } else {
            server.ends = now + self.config.ring_max + GIVE_UP + GIVE_UP;
        }
        self.transmits.push_back((key.0, bytes));
        self.schedule_server(key);
    }

    /// The answer of an INVITE that failed has arrived.
    pub(super) fn confirm(&mut self, key: &ServerKey, now: Time) -> bool {
        let Some(server) = self.servers.get_mut(key) else { return false };
        if !matches!(server.state, State::Completed | State::Confirmed) {
            return false;
        }
        server.state = State::Confirmed;
        (server.again, server.ends) = (None, now + Micros(T1.0 * 10));
        self.schedule_server(key);
        true
    }

    fn schedule_server(&mut self, key: &ServerKey) {
        let Some(server) = self.servers.get_mut(key) else { return };
        self.timers.remove(&(server.due, Timer::Server(key.clone())));
        server.due = due(server.again, server.ends);
        self.timers.insert((server.due, Timer::Server(key.clone())));
    }

    pub(super) fn server_timeout(&mut self, key: &ServerKey, at: Time, now: Time) {
        let Some(server) = self.servers.get_mut(key).filter(|server| server.due == at) else { return };
        if server.ends <= now {
            let call = server.call.map(|(call, _)| call).filter(|_| server.state == State::Proceeding);
            if let Some(call) =
                call.filter(|call| self.calls.get(call).is_some_and(|call| call.server == *key))
            {
                self.fail(call, 408, "Request Timeout", None, now);
            }
            self.servers.remove(key);
            return;
        }
        if let Some((_, pause)) = server.again {
            let pause = Micros((pause.0 * 2).min(T2.0));
            server.again = Some((now + pause, pause));
            let last = server.last.clone();
            self.transmits.extend(last.map(|last| (key.0, last)));
        }
        self.schedule_server(key);
    }

    /// Sends a request; its top Via has the branch. False if there are too many.
    pub(super) fn open_client(
        &mut self,
        peer: Peer,
        request: Message,
        (branch, server, call): (String, Option<ServerKey>, Option<CallId>),
        now: Time,
    ) -> bool {
        let Start::Request { method, .. } = &request.start else { return false };
        if self.clients.len() >= self.config.transactions_max {
            self.refuse("too many transactions");
            return false;
        }
        let key = (branch, method.clone());
        let bytes = request.emit();
        let again = (!peer.is_reliable()).then_some((now + T1, T1));
        let ends = now + GIVE_UP;
        let due = due(again, ends);
        self.timers.insert((due, Timer::Client(key.clone())));
        self.transmits.push_back((peer, bytes.clone()));
        if let Some(server) = server.as_ref().and_then(|server| self.servers.get_mut(server)) {
            server.clients.push(key.clone());
        }
        let (state, cancel, cancelled, hung_up, ack) = (State::Waiting, false, false, false, None);
        let client = Client {
            peer,
            request,
            state,
            server,
            call,
            cancel,
            cancelled,
            hung_up,
            bytes,
            ack,
            again,
            ends,
            due,
        };
        self.clients.insert(key, client);
        true
    }

    /// Notes an answer's number. Says whether the answer is to be looked at: not if it was seen before.
    pub(super) fn advance_client(
        &mut self,
        key: &ClientKey,
        code: u16,
        response: &Message,
        now: Time,
    ) -> bool {
        let Some(client) = self.clients.get_mut(key) else { return false };
        let (is_invite, reliable) = (key.1 == Method::Invite, client.peer.is_reliable());
        let fresh = match (client.state, code) {
            (State::Waiting | State::Proceeding, 100..200) => {
                client.state = State::Proceeding;
                if is_invite {
                    (client.again, client.ends) = (None, now + self.config.ring_max);
                } else {
                    client.again = client.again.map(|_| (now + T2, T2));
                }
                true
            }
            (State::Waiting | State::Proceeding, _) => {
                let accepted = is_invite && code / 100 == 2;
                client.state = if accepted { State::Accepted } else { State::Completed };
                (client.again, client.ends) = (None, now + GIVE_UP);
                true
            }
            (State::Accepted, 200..300) => true,
            (State::Accepted | State::Completed | State::Confirmed, _) => false,
        };
        if is_invite && code >= 300 && client.state == State::Completed {
            let ack = client.ack.get_or_insert_with(|| acknowledge(&client.request, response).emit());
            self.transmits.push_back((client.peer, ack.clone()));
            // Nothing comes twice over a reliable way.
            client.ends = if reliable { now } else { client.ends };
        } else if client.state == State::Completed && reliable {
            client.ends = now;
        }
        self.schedule_client(key);
        fresh
    }

    fn schedule_client(&mut self, key: &ClientKey) {
        let Some(client) = self.clients.get_mut(key) else { return };
        self.timers.remove(&(client.due, Timer::Client(key.clone())));
        client.due = due(client.again, client.ends);
        self.timers.insert((client.due, Timer::Client(key.clone())));
    }

    pub(super) fn client_timeout(&mut self, key: &ClientKey, at: Time, now: Time) {
        let Some(client) = self.clients.get_mut(key).filter(|client| client.due == at) else { return };
        if client.ends <= now {
            let (waits, rings) =
                (client.waits(), client.state == State::Proceeding && key.1 == Method::Invite);
            if rings && !client.cancelled {
                // Timer C: it has rung for long enough. It gets a last chance to say so itself.
                client.ends = now + GIVE_UP;
                self.schedule_client(key);
                self.cancel(key, now);
            } else if waits {
                self.give_up(key, 408, "Request Timeout", now);
            } else {
                self.clients.remove(key);
            }
            return;
        }
        if let Some((_, pause)) = client.again {
            // INVITE doubles without end (timer A), others up to T2 (timer E).
            let doubled = Micros(pause.0 * 2);
            let pause = if key.1 == Method::Invite { doubled } else { Micros(doubled.0.min(T2.0)) };
            client.again = Some((now + pause, pause));
            self.transmits.push_back((client.peer, client.bytes.clone()));
        }
        self.schedule_client(key);
    }

    /// Takes an INVITE back, as soon as its receiver has shown that it knows of it (RFC 3261 section 9.1).
    pub(super) fn cancel(&mut self, key: &ClientKey, now: Time) {
        let Some(client) = self.clients.get_mut(key).filter(|client| client.waits()) else { return };
        client.cancel = true;
        if client.state != State::Proceeding || client.cancelled {
            return;
        }
        client.cancelled = true;
        client.ends = now + GIVE_UP;
        let Start::Request { uri, .. } = &client.request.start else { return };
        let mut request = Message::request(Method::Cancel, uri);
        copy(&client.request, &mut request, &["Via", "Max-Forwards", "From", "To", "Call-ID"]);
        request.push("CSeq", format!("{} CANCEL", sequence(&client.request).unwrap_or_default()));
        let peer = client.peer;
        self.schedule_client(key);
        self.open_client(peer, request, (key.0.clone(), None, None), now);
    }

    /// No answer will come: it is as if this one had.
    pub(super) fn give_up(&mut self, key: &ClientKey, code: u16, reason: &str, now: Time) {
        let Some(client) = self.clients.remove(key) else { return };
        let mut response = Message::response(code, reason);
        copy(&client.request, &mut response, &["From", "To", "Call-ID", "CSeq"]);
        self.after_final(key, &client, code, &response, now);
    }
}

/// ACK of a failed INVITE (RFC 3261 section 17.1.1.3).
fn acknowledge(request: &Message, response: &Message) -> Message {
    let Start::Request { uri, .. } = &request.start else { return request.clone() };
    let mut ack = Message::request(Method::Ack, uri);
    copy(request, &mut ack, &["Via", "Max-Forwards", "From"]);
    let to = response.get("To").map(NameAddress::parse).and_then(Result::ok);
    let own = request.get("To").map(NameAddress::parse).and_then(Result::ok);
    if let Some(own) = own {
        ack.push("To", own.tagged(to.as_ref().and_then(NameAddress::tag)));
    }
    copy(request, &mut ack, &["Call-ID"]);
    ack.push("CSeq", format!("{} ACK", sequence(request).unwrap_or_default()));
    ack
}

/// Copies headers as they are.
pub(super) fn copy(from: &Message, to: &mut Message, names: &[&str]) {
    for name in names {
        for value in from.values(name) {
            to.push(name, value);
        }
    }
}

/// The number in CSeq.
pub(super) fn sequence(message: &Message) -> Option<u32> {
    let (number, _) = message.get("CSeq")?.split_once([' ', '\t'])?;
    crate::message::decimal(number).filter(|number| *number < 1 << 31)
}
