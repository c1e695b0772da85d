//! The machine that hostapd asks.

mod answers;
mod config;
mod conversations;
mod event;

pub use config::{Config, Limits};
pub use event::{
    Answer, ConversationId, Decision, Event, Refusal, Relay, RelayId, Service, Session, Transmit,
};

use crate::attribute::Kind;
use crate::eap;
use crate::error::RadiusError;
use crate::forwarding::answers::{Answers, Key, Known};
use crate::forwarding::conversations::{Conversation, Conversations, Pending, Phase};
use crate::mppe::{Msk, Wrapping};
use crate::packet::{Code, Draft, Packet};
use crate::realm::Realm;
use crate::request::{AccessRequest, Accounting};
use crate::secret::Secret;
use crate::station::Station;
use guestright_units::{Micros, Seed, Time};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

/// What EAP may have where the access point does not say: what every link carries (RFC 3748, section 3.1).
const EAP_MTU_DEFAULT: u32 = 1_020;
/// The most that fits into an Access-Challenge with everything else.
const EAP_MTU_MAX: u32 = 3_072;
/// Proxy-State in one question; all of it goes back.
const PROXY_STATE_BYTES_MAX: usize = 512;
/// Termination-Action: ask again, do not cut the station off (RFC 3580, section 3.18).
const RADIUS_REQUEST: u32 = 1;

/// A RADIUS server towards hostapd that carries EAP to the guests' homes.
///
/// It opens no socket and reads no clock. Whoever drives it:
///
/// 1. gives it every datagram ([`handle_datagram`](Self::handle_datagram)), every home's answer
///    ([`handle_answer`](Self::handle_answer)), every decision ([`handle_decision`](Self::handle_decision)), and the time
///    when [`poll_timeout`](Self::poll_timeout) is reached ([`handle_timeout`](Self::handle_timeout));
/// 2. after each of these, drains [`poll_transmit`](Self::poll_transmit) and [`poll_event`](Self::poll_event).
///
/// A decision may come at any time of a conversation: a no as soon as possible, a yes before or after the home's.
///
/// ```
/// use guestright_radius::{Answer, Code, Config, Draft, Event, ForwardingServer, Kind, Limits, Packet, Realm, Secret, Service};
/// use guestright_units::{Seed, TeamId, Time};
///
/// let secret = Secret::new(b"of hostapd and us")?;
/// let hostapd = "127.0.0.1:40000".parse::<std::net::SocketAddr>()?;
/// let config = Config { clients: [(hostapd.ip(), secret.clone())].into(), reply_message: true, limits: Limits::default() };
/// let mut server = ForwardingServer::new(config, Seed::from_number(1));
///
/// let name = Realm(TeamId([7; 24])).anonymous_identity();
/// let identity = [&[2, 1, 0, 74, 1], name.as_bytes()].concat();
/// let mut draft = Draft::new(Code::AccessRequest, 1);
/// draft.push(Kind::USER_NAME, name.as_bytes())?.push(Kind::CALLING_STATION_ID, b"02-00-00-00-00-01")?;
/// # let identity = { let mut identity = identity; identity[3] = u8::try_from(identity.len())?; identity };
/// let asked = draft.push_eap(&identity)?.emit_request(&secret, [9; 16]);
///
/// server.handle_datagram(Service::Authentication, hostapd, &asked, Time(0))?;
/// let Some(Event::Relay(relay)) = server.poll_event() else { panic!("it goes to the home") };
/// server.handle_answer(relay.id, Answer::Away, Time(1));
/// let answer = server.poll_transmit().expect("an answer").bytes;
/// let answer = Packet::parse(&answer)?;
/// answer.verify_response(&secret, &[9; 16])?;
/// assert_eq!(answer.code(), Code::AccessReject);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ForwardingServer {
    config: Config,
    /// Of everybody whom TLS has proven.
    radsec: Secret,
    rng: StdRng,
    conversations: Conversations,
    answers: Answers,
    transmits: VecDeque<Transmit>,
    events: VecDeque<Event>,
    counters: BTreeMap<&'static str, u64>,
}

/// Two yeses.
struct Admission {
    pending: Pending,
    msk: Msk,
    session_timeout: Option<Micros>,
}

impl ForwardingServer {
    #[must_use]
    pub fn new(config: Config, seed: Seed) -> Self {
        Self {
            radsec: Secret::radsec(),
            rng: StdRng::from_seed(seed.0),
            conversations: Conversations::default(),
            answers: Answers::new(config.limits.answers_max),
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            counters: BTreeMap::new(),
            config,
        }
    }

    /// Whether an Access-Reject has its sentence from now on ([`Config::reply_message`]).
    pub fn set_reply_message(&mut self, reply_message: bool) {
        self.config.reply_message = reply_message;
    }

    /// Takes in a datagram of hostapd's, or a packet that has come inside TLS.
    ///
    /// # Errors
    /// Why it was dropped. It has been counted, and nothing has changed.
    pub fn handle_datagram(
        &mut self,
        service: Service,
        source: SocketAddr,
        datagram: &[u8],
        now: Time,
    ) -> Result<(), RadiusError> {
        self.receive(service, source, datagram, now).inspect_err(|error| self.count(error.kind()))
    }

    /// Takes in what a home says. Nothing comes of an answer that nobody waits for any more.
    pub fn handle_answer(&mut self, relay: RelayId, answer: Answer, now: Time) {
        let RelayId { conversation: id, round } = relay;
        let awaited = self.conversations.get(id).filter(|conversation| conversation.round == round);
        let Some(Conversation { phase: Phase::Home(pending), .. }) = awaited else {
            return self.count("late-answer");
        };
        let pending = pending.clone();
        match answer {
            Answer::Challenge { eap } => {
                if let Err(refusal) = self.challenge(id, &pending, &eap, now) {
                    self.end(id, refusal, now);
                }
            }
            Answer::Accept { msk, session_timeout } => {
                self.promote(id, now);
                let deadline = self.deadline(id, self.config.limits.decision_timeout, now);
                self.conversations.enter(id, Phase::Decision { pending, msk, session_timeout }, deadline);
                self.ask_for_decision(id);
                self.settle(id, now);
            }
            Answer::Reject { sentence } => self.end(id, Refusal::Home(sentence), now),
            Answer::Away => self.end(id, Refusal::HomeAway, now),
            Answer::Unanswered { sentence } => self.end(id, Refusal::Unanswered(sentence), now),
        }
    }

    /// Takes in what the household has decided. A later word takes the place of an earlier one, until there is an answer.
    pub fn handle_decision(&mut self, id: ConversationId, decision: Decision, now: Time) {
        if self.conversations.get(id).is_none() {
            return self.count("late-decision");
        }
        self.conversations.decide(id, decision);
        self.settle(id, now);
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some((at, id)) = self.conversations.next_deadline()
            && at <= now
        {
            let refusal = match self.conversations.get(id).map(|conversation| &conversation.phase) {
                Some(Phase::Home(_)) => Refusal::HomeSlow,
                Some(Phase::Decision { .. }) => Refusal::Undecided,
                Some(Phase::Station(_)) | None => Refusal::StationSilent,
            };
            self.end(id, refusal, now);
        }
    }

    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is wanted next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.conversations.next_deadline().map(|(at, _)| at)
    }

    /// How often something was dropped, repeated, late or refused, by kind.
    #[must_use]
    pub fn counters(&self) -> &BTreeMap<&'static str, u64> {
        &self.counters
    }

    /// How many conversations there are.
    #[must_use]
    pub fn conversations(&self) -> usize {
        self.conversations.len()
    }

    fn receive(
        &mut self,
        service: Service,
        source: SocketAddr,
        datagram: &[u8],
        now: Time,
    ) -> Result<(), RadiusError> {
        let packet = Packet::parse(datagram)?;
        let secret = self.secret_of(service, source)?;
        let is_for_it = match service {
            Service::Authentication => packet.code() == Code::AccessRequest,
            Service::Accounting => packet.code() == Code::AccountingRequest,
            Service::Tls => matches!(packet.code(), Code::AccessRequest | Code::AccountingRequest),
        };
        if !is_for_it && packet.code() != Code::StatusServer {
            return Err(RadiusError::OtherService);
        }
        packet.verify_request(secret)?;
        let key = Key { service, source, identifier: packet.identifier() };
        match self.answers.find(&key, &packet.authenticator(), now) {
            Known::New => {}
            Known::Pending => {
                self.count("repeated");
                return Ok(());
            }
            Known::Answered(bytes) => {
                self.transmits.push_back(Transmit { service, to: source, bytes: bytes.to_vec() });
                self.count("answered-again");
                return Ok(());
            }
        }
        if packet.code() == Code::AccessRequest {
            return self.receive_access(service, source, &packet, now);
        }
        let pending = read_pending(service, source, &packet, 0)?;
        if packet.code() == Code::AccountingRequest {
            self.events.push_back(Event::Accounting(Accounting::read(&packet)?));
        }
        self.ask(&pending, now);
        // What says how we are is answered as the port would (RFC 5997, section 3); inside TLS as by the first.
        let code = match (service, packet.code()) {
            (Service::Accounting, _) | (_, Code::AccountingRequest) => Code::AccountingResponse,
            (Service::Authentication | Service::Tls, _) => Code::AccessAccept,
        };
        self.respond(&pending, Draft::new(code, pending.identifier), now)
    }

    fn receive_access(
        &mut self,
        service: Service,
        source: SocketAddr,
        packet: &Packet<'_>,
        now: Time,
    ) -> Result<(), RadiusError> {
        let request = AccessRequest::read(packet)?;
        let pending = read_pending(service, source, packet, request.eap_identifier)?;
        self.ask(&pending, now);
        let refused = match request.state {
            None => self.begin(&request, &pending, now),
            Some(state) => self.proceed(state, &request, &pending, now),
        };
        if let Err((realm, refusal)) = refused {
            self.reject(&pending, &refusal, now);
            let station = request.station;
            self.events.push_back(Event::Refused { conversation: None, realm, station, refusal });
        }
        Ok(())
    }

    /// A station wants in.
    fn begin(
        &mut self,
        request: &AccessRequest<'_>,
        pending: &Pending,
        now: Time,
    ) -> Result<(), (Option<Realm>, Refusal)> {
        let realm = Realm::parse(request.user_name).map_err(|error| (None, Refusal::Realm(error)))?;
        self.make_way_at_station(request, pending, now).map_err(|refusal| (Some(realm), refusal))?;
        let limits = self.config.limits;
        if let Some(other) = self.conversations.in_the_way_of_stranger(realm, &limits) {
            self.end(other, Refusal::Crowded, now);
        }
        let mtu = request.framed_mtu.unwrap_or(EAP_MTU_DEFAULT).clamp(64, EAP_MTU_MAX);
        let id = self.conversations.insert(Conversation {
            service: pending.service,
            source: pending.source,
            realm,
            station: request.station,
            network: request.network.clone(),
            nas: request.nas.clone(),
            started: now,
            round: 1,
            eap_bytes: request.eap.len(),
            eap_mtu: usize::try_from(mtu).unwrap_or(usize::MAX),
            phase: Phase::Home(pending.clone()),
            decision: None,
            is_in_progress: false,
            deadline: now + Micros(limits.home_timeout.0.min(limits.lifetime.0)),
        });
        self.relay(id, request.eap.clone());
        Ok(())
    }

    /// On the same radio the access point has begun anew: what was is over. On others, only strangers make way.
    fn make_way_at_station(
        &mut self,
        request: &AccessRequest<'_>,
        pending: &Pending,
        now: Time,
    ) -> Result<(), Refusal> {
        let mut others = Vec::new();
        for id in self.conversations.of_station(request.station) {
            let Some(other) = self.conversations.get(id) else { continue };
            if other.is_of(pending) && other.network == request.network {
                self.end(id, Refusal::Replaced, now);
            } else {
                others.push((id, other.is_in_progress));
            }
        }
        if others.len() < self.config.limits.station_max {
            return Ok(());
        }
        let (id, _) =
            others.into_iter().find(|(_, is_in_progress)| !is_in_progress).ok_or(Refusal::Crowded)?;
        self.end(id, Refusal::Crowded, now);
        Ok(())
    }

    /// A station has answered its home.
    fn proceed(
        &mut self,
        state: &[u8],
        request: &AccessRequest<'_>,
        pending: &Pending,
        now: Time,
    ) -> Result<(), (Option<Realm>, Refusal)> {
        let realm = Realm::parse(request.user_name).ok();
        let id = self.conversations.by_state(state).ok_or((realm, Refusal::Over))?;
        let is_its_own = |conversation: &Conversation| {
            conversation.is_of(pending)
                && conversation.station == request.station
                && Some(conversation.realm) == realm
        };
        if !self.conversations.get(id).is_some_and(is_its_own) {
            return Err((realm, Refusal::Over));
        }
        self.promote(id, now);
        self.conversations.count_round(id, request.eap.len());
        let deadline = self.deadline(id, self.config.limits.home_timeout, now);
        self.conversations.enter(id, Phase::Home(pending.clone()), deadline);
        let limits = &self.config.limits;
        let is_too_long = |conversation: &Conversation| {
            conversation.round > limits.rounds_max || conversation.eap_bytes > limits.eap_bytes_max
        };
        if self.conversations.get(id).is_some_and(is_too_long) {
            self.end(id, Refusal::TooLong, now);
            return Ok(());
        }
        self.settle(id, now);
        self.relay(id, request.eap.clone());
        Ok(())
    }

    /// Both sides of a conversation have answered: from now on only those that have come as far displace it.
    fn promote(&mut self, id: ConversationId, now: Time) {
        let Some(Conversation { realm, is_in_progress: false, .. }) = self.conversations.get(id) else {
            return;
        };
        if let Some(other) = self.conversations.in_the_way_of_progress(*realm, &self.config.limits) {
            self.end(other, Refusal::Crowded, now);
        }
        self.conversations.set_in_progress(id);
    }

    fn relay(&mut self, id: ConversationId, eap: Vec<u8>) {
        let Some(conversation) = self.conversations.get(id) else { return };
        self.events.push_back(Event::Relay(Relay {
            id: RelayId { conversation: id, round: conversation.round },
            realm: conversation.realm,
            station: conversation.station,
            network: conversation.network.clone(),
            nas: conversation.nas.clone(),
            eap,
            eap_bytes_max: conversation.eap_mtu,
        }));
    }

    fn challenge(
        &mut self,
        id: ConversationId,
        pending: &Pending,
        eap: &[u8],
        now: Time,
    ) -> Result<(), Refusal> {
        let Some(conversation) = self.conversations.get(id) else { return Ok(()) };
        if !eap::is_request(eap) || eap.len() > conversation.eap_mtu {
            return Err(Refusal::BadAnswer);
        }
        if conversation.eap_bytes + eap.len() > self.config.limits.eap_bytes_max {
            return Err(Refusal::TooLong);
        }
        let mut state = [0; 16];
        self.rng.fill_bytes(&mut state);
        let mut draft = Draft::new(Code::AccessChallenge, pending.identifier);
        let pushed = draft.push_eap(eap).and_then(|draft| draft.push(Kind::STATE, &state)).map(drop);
        pushed.and_then(|()| self.respond(pending, draft, now)).map_err(|_| Refusal::BadAnswer)?;
        self.conversations.count_bytes(id, eap.len());
        let deadline = self.deadline(id, self.config.limits.station_timeout, now);
        self.conversations.enter(id, Phase::Station(state), deadline);
        Ok(())
    }

    fn ask_for_decision(&mut self, id: ConversationId) {
        let Some(conversation @ Conversation { decision: None, .. }) = self.conversations.get(id) else {
            return;
        };
        self.events.push_back(Event::DecisionNeeded {
            conversation: id,
            realm: conversation.realm,
            station: conversation.station,
            network: conversation.network.clone(),
        });
    }

    /// Answers if there are two yeses, or one no and somebody who waits for it.
    fn settle(&mut self, id: ConversationId, now: Time) {
        let Some(conversation) = self.conversations.get(id) else { return };
        match (&conversation.phase, conversation.decision.clone()) {
            (
                Phase::Decision { pending, msk, session_timeout },
                Some(Decision::Admit { session_timeout: own }),
            ) => {
                let session_timeout = match (*session_timeout, own) {
                    (Some(one), Some(other)) => Some(one.min(other)),
                    (one, other) => one.or(other),
                };
                let admission = Admission { pending: pending.clone(), msk: msk.clone(), session_timeout };
                self.admit(id, &admission, now);
            }
            (Phase::Decision { .. } | Phase::Home(_), Some(Decision::Refuse { sentence })) => {
                self.end(id, Refusal::Decision(sentence), now);
            }
            (Phase::Home(_), Some(Decision::Admit { .. }) | None)
            | (Phase::Decision { .. }, None)
            | (Phase::Station(_), _) => {}
        }
    }

    fn admit(&mut self, id: ConversationId, admission: &Admission, now: Time) {
        let (mut session, mut salts) = ([0; 16], [0; 4]);
        self.rng.fill_bytes(&mut session);
        self.rng.fill_bytes(&mut salts);
        let pending = &admission.pending;
        let mut draft = Draft::new(Code::AccessAccept, pending.identifier);
        let written = self.write_accept(&mut draft, admission, Session(session), salts);
        if written.and_then(|()| self.respond(pending, draft, now)).is_err() {
            return self.end(id, Refusal::BadAnswer, now);
        }
        let Some(conversation) = self.conversations.remove(id) else { return };
        self.count("opened");
        self.events.push_back(Event::Opened {
            conversation: id,
            session: Session(session),
            realm: conversation.realm,
            station: conversation.station,
            network: conversation.network,
            session_timeout: admission.session_timeout,
        });
    }

    fn write_accept(
        &self,
        draft: &mut Draft,
        admission: &Admission,
        session: Session,
        salts: [u8; 4],
    ) -> Result<(), RadiusError> {
        let pending = &admission.pending;
        draft.push_eap(&eap::success(pending.eap_identifier))?.push(Kind::CLASS, &session.0)?;
        if let Some(timeout) = admission.session_timeout {
            let seconds = u32::try_from(timeout.0 / 1_000_000).unwrap_or(u32::MAX).max(1);
            draft
                .push_integer(Kind::SESSION_TIMEOUT, seconds)?
                .push_integer(Kind::TERMINATION_ACTION, RADIUS_REQUEST)?;
        }
        let secret = self.secret_of(pending.service, pending.source)?;
        Wrapping { secret, request: &pending.authenticator }.push_keys(draft, &admission.msk, salts)
    }

    /// A conversation is over without success. Whoever waits for an answer gets one.
    fn end(&mut self, id: ConversationId, refusal: Refusal, now: Time) {
        let Some(conversation) = self.conversations.remove(id) else { return };
        match (conversation.phase.pending(), &refusal) {
            // The access point has begun anew, and waits for nothing here.
            (_, Refusal::Replaced) | (None, _) => self.count(refusal.kind()),
            (Some(pending), _) => self.reject(pending, &refusal, now),
        }
        self.report_end(id, conversation.realm, conversation.station, refusal);
    }

    fn report_end(&mut self, id: ConversationId, realm: Realm, station: Station, refusal: Refusal) {
        self.events.push_back(Event::Refused {
            conversation: Some(id),
            realm: Some(realm),
            station,
            refusal,
        });
    }

    fn reject(&mut self, pending: &Pending, refusal: &Refusal, now: Time) {
        self.count(refusal.kind());
        let mut draft = Draft::new(Code::AccessReject, pending.identifier);
        draft.push_eap(&eap::failure(pending.eap_identifier)).expect("four octets fit");
        if self.config.reply_message {
            draft.push_reply_message(&refusal.sentence()).expect("a sentence has three attributes");
        }
        // The limits of what a question may have us repeat leave room for this; and an error is no answer.
        if self.respond(pending, draft, now).is_err() {
            self.count("too-long");
        }
    }

    /// Remembers a question, so that it is not taken for another when it is repeated.
    fn ask(&mut self, pending: &Pending, now: Time) {
        let key = Key { service: pending.service, source: pending.source, identifier: pending.identifier };
        self.answers.ask(key, pending.authenticator, now + self.config.limits.lifetime, now);
    }

    fn respond(&mut self, pending: &Pending, mut draft: Draft, now: Time) -> Result<(), RadiusError> {
        for state in &pending.proxy_states {
            draft.push(Kind::PROXY_STATE, state)?;
        }
        let service = pending.service;
        let secret = self.secret_of(service, pending.source)?;
        let bytes = draft.emit_response(secret, &pending.authenticator);
        let key = Key { service, source: pending.source, identifier: pending.identifier };
        let until = now + self.config.limits.answer_kept_for;
        self.answers.answer(key, &pending.authenticator, &bytes, until);
        self.transmits.push_back(Transmit { service, to: pending.source, bytes });
        Ok(())
    }

    fn secret_of(&self, service: Service, source: SocketAddr) -> Result<&Secret, RadiusError> {
        match service {
            Service::Authentication | Service::Accounting => {
                self.config.clients.get(&source.ip()).ok_or(RadiusError::UnknownClient)
            }
            Service::Tls => Ok(&self.radsec),
        }
    }

    /// When a wait that begins now ends, within the conversation's whole time.
    fn deadline(&self, id: ConversationId, wait: Micros, now: Time) -> Time {
        let whole = self.conversations.get(id).map_or(now, |conversation| conversation.started);
        (now + wait).min(whole + self.config.limits.lifetime)
    }

    fn count(&mut self, kind: &'static str) {
        *self.counters.entry(kind).or_insert(0) += 1;
    }
}

fn read_pending(
    service: Service,
    source: SocketAddr,
    packet: &Packet<'_>,
    eap_identifier: u8,
) -> Result<Pending, RadiusError> {
    let proxy_states: Vec<_> = packet.all(Kind::PROXY_STATE).map(<[u8]>::to_vec).collect();
    let bytes: usize = proxy_states.iter().map(|state| state.len() + 2).sum();
    if bytes > PROXY_STATE_BYTES_MAX {
        return Err(RadiusError::Value { kind: Kind::PROXY_STATE, got: bytes });
    }
    Ok(Pending {
        service,
        source,
        identifier: packet.identifier(),
        authenticator: packet.authenticator(),
        proxy_states,
        eap_identifier,
    })
}
