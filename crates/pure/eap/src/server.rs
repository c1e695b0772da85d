//! One conversation with a phone.

use crate::config::Config;
use crate::fragment::{FragmentError, Inbound, Outbound};
use crate::outcome::{Outcome, Reason};
use crate::packet::{Fragment, Method, Packet, PacketError};
use crate::session::{Session, Step};
use guestright_units::Time;
use thiserror::Error;

/// What a packet has at most if the access point does not say (RFC 3748, section 3.1).
const PACKET_BYTES: u16 = 1_020;
/// Between these what it says is believed: below, a packet would hold nothing; above, RADIUS would not hold a packet.
const PACKET_BYTES_RANGE: (u16, u16) = (64, 3_800);

/// Why a packet was dropped. It has changed nothing.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Dropped {
    #[error(transparent)]
    Packet(#[from] PacketError),
    #[error(transparent)]
    Fragment(#[from] FragmentError),
    #[error("only responses come from a phone")]
    NotAResponse,
    #[error("a response is to request {got}, and {want} is open")]
    Identifier { got: u8, want: u8 },
    #[error("a response of this kind is not what was asked for")]
    OutOfTurn,
    #[error("a piece was to be acknowledged, and something else came")]
    NotAcknowledged,
    #[error("the same response came too often")]
    Repeated,
    #[error("no such conversation")]
    Unknown,
}

/// The home's side of one conversation.
///
/// It opens no socket and reads no clock. Whoever drives it does four things:
///
/// 1. makes it when an access point brings the first packet of a phone, which is its answer to "who are you?"; a first
///    packet without bytes asks the home to ask that (RFC 3579, section 2.1);
/// 2. gives it every packet ([`handle`](Self::handle)), and sends what [`poll_transmit`](Self::poll_transmit) has: at
///    most one packet. If there is none, the access point is left without an answer, and will ask again;
/// 3. looks at [`outcome`](Self::outcome) after that: with it the last packet is EAP-Success or EAP-Failure;
/// 4. calls [`handle_timeout`](Self::handle_timeout) when [`poll_timeout`](Self::poll_timeout) is reached.
///
/// Nothing is sent again of its own accord: RADIUS brings the same packet again if an answer was lost, and the same
/// answer is given.
///
/// ```
/// use guestright_eap::{Authority, Config, Limits, Method, Packet, Server};
/// use guestright_units::{Time, UnixSeconds};
/// use rand::SeedableRng;
///
/// # let mut rng = rand::rngs::StdRng::seed_from_u64(1);
/// let now = UnixSeconds(1_800_000_000);
/// let realm: guestright_eap::Realm = "0123abcd.guestright.alt".parse()?;
/// let authority = Authority::found(realm.clone(), now, &mut rng);
/// let home = authority.issue_server(now, &mut rng);
/// let config = Config::new(authority.certificate(), realm, &home, [].into(), Limits::default())?;
/// let mut server = Server::new(&config, None, now.time());
/// let response = Packet::Response { identifier: 6, method: Method::Identity(b"anonymous@0123abcd.guestright.alt") };
/// server.handle(&response.emit(), now.time())?;
/// assert_eq!(server.poll_transmit().as_deref(), Some(&b"\x01\x07\x00\x06\x0d\x20"[..])); // EAP-TLS: begin.
/// assert_eq!(server.outcome(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Server {
    config: Config,
    packet_bytes_max: usize,
    deadline: Time,
    phase: Phase,
    /// The identifier of the request that is open.
    open: u8,
    inbound: Inbound,
    outbound: Outbound,
    rounds: u32,
    bytes: usize,
    answered: Option<Answered>,
    transmit: Option<Vec<u8>>,
    outcome: Option<Outcome>,
}

/// How far a conversation is.
#[derive(Debug)]
enum Phase {
    /// Nothing has come yet.
    New,
    /// The phone is asked who it is.
    Asked,
    /// It is asked to begin.
    Started(Box<Session>),
    Handshake(Box<Session>),
    /// The home's last word inside TLS is on its way. When it is acknowledged this is the outcome.
    Closing(Box<Session>, Outcome),
    Over,
}

/// How far a conversation is, for those who have to choose between several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Progress {
    Over,
    /// Anybody can get this far, without a computation on either side.
    Begun,
    Handshake,
    /// The phone is a member's.
    Proven,
}

/// The last response and what was answered to it.
#[derive(Debug)]
struct Answered {
    response: Vec<u8>,
    answer: Vec<u8>,
    repeats: u32,
}

impl Server {
    /// A conversation begins. `framed_mtu` is what the access point says that the way to the phone can carry (RFC 2865,
    /// section 5.12).
    #[must_use]
    pub fn new(config: &Config, framed_mtu: Option<u16>, now: Time) -> Self {
        let (min, max) = PACKET_BYTES_RANGE;
        Self {
            packet_bytes_max: usize::from(framed_mtu.unwrap_or(PACKET_BYTES).clamp(min, max)),
            deadline: now + config.limits.duration_max,
            phase: Phase::New,
            open: 0,
            inbound: Inbound::new(config.limits.message_bytes_max),
            outbound: Outbound::default(),
            rounds: 0,
            bytes: 0,
            answered: None,
            transmit: None,
            outcome: None,
            config: config.clone(),
        }
    }

    /// A packet has come from the phone; none if it has no bytes.
    ///
    /// # Errors
    /// Why it was dropped.
    pub fn handle(&mut self, bytes: &[u8], now: Time) -> Result<(), Dropped> {
        self.config.clock.set(now);
        self.handle_timeout(now);
        if self.answered.as_ref().is_some_and(|answered| answered.response == bytes) {
            return self.repeat();
        }
        if bytes.is_empty() {
            return self.handle_nothing();
        }
        let Packet::Response { identifier, method } = Packet::parse(bytes)? else {
            return Err(Dropped::NotAResponse);
        };
        if !matches!(self.phase, Phase::New) && identifier != self.open {
            return Err(Dropped::Identifier { got: identifier, want: self.open });
        }
        let answer = self.respond(identifier, method)?;
        self.answer(bytes, answer);
        Ok(())
    }

    /// The packet to send.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmit.take()
    }

    /// How it has ended, if it has.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// When [`Server::handle_timeout`] is wanted.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.outcome.is_none().then_some(self.deadline)
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.outcome.is_none() && now >= self.deadline {
            self.phase = Phase::Over;
            self.outcome = Some(Outcome::Refused { reason: Reason::TooSlow });
        }
    }

    pub(crate) fn progress(&self) -> Progress {
        match &self.phase {
            Phase::Over => Progress::Over,
            Phase::New | Phase::Asked | Phase::Started(_) | Phase::Closing(_, Outcome::Refused { .. }) => {
                Progress::Begun
            }
            Phase::Handshake(_) => Progress::Handshake,
            Phase::Closing(_, Outcome::Accepted { .. }) => Progress::Proven,
        }
    }

    /// The same response again: the answer was lost on the way.
    fn repeat(&mut self) -> Result<(), Dropped> {
        let max = self.config.limits.repeats_max;
        let answered = self.answered.as_mut().filter(|answered| answered.repeats < max);
        let answered = answered.ok_or(Dropped::Repeated)?;
        answered.repeats += 1;
        self.transmit = Some(answered.answer.clone());
        Ok(())
    }

    fn handle_nothing(&mut self) -> Result<(), Dropped> {
        if !matches!(self.phase, Phase::New) {
            return Err(Dropped::OutOfTurn);
        }
        self.phase = Phase::Asked;
        let method = Method::Identity(b"");
        self.answer(b"", Packet::Request { identifier: self.open, method }.emit());
        Ok(())
    }

    fn respond(&mut self, identifier: u8, method: Method<'_>) -> Result<Vec<u8>, Dropped> {
        match (&self.phase, method) {
            (Phase::New | Phase::Asked, Method::Identity(_)) => {
                self.phase = Phase::Started(Box::new(Session::new(&self.config.tls)));
                Ok(self.request(identifier, Some(Fragment::START)))
            }
            // Only a method's first request can be declined (RFC 3748, section 5.3.1).
            (Phase::Started(_), Method::Nak(wanted)) => {
                Ok(self.refuse(identifier, Reason::OtherMethod { wanted: wanted.to_vec() }))
            }
            (Phase::Started(_) | Phase::Handshake(_) | Phase::Closing(..), Method::Tls(fragment)) => {
                self.respond_to_fragment(identifier, &fragment)
            }
            // It came too late; it is to know.
            (Phase::Over, Method::Tls(_)) if self.is_too_slow() => Ok(Packet::Failure { identifier }.emit()),
            _ => Err(Dropped::OutOfTurn),
        }
    }

    fn respond_to_fragment(&mut self, identifier: u8, fragment: &Fragment<'_>) -> Result<Vec<u8>, Dropped> {
        let is_sending = !self.outbound.is_empty();
        if fragment.is_acknowledgement() {
            if !is_sending && !matches!(self.phase, Phase::Closing(..)) {
                return Err(Dropped::OutOfTurn);
            }
            return Ok(match self.charge(0) {
                Err(reason) => self.refuse(identifier, reason),
                Ok(()) if is_sending => self.request(identifier, None),
                Ok(()) => self.close(identifier),
            });
        }
        if is_sending {
            return Err(Dropped::NotAcknowledged);
        }
        let message = self.inbound.push(fragment)?;
        if let Err(reason) = self.charge(fragment.bytes.len()) {
            return Ok(self.refuse(identifier, reason));
        }
        Ok(match message {
            None => self.request(identifier, Some(Fragment::ACKNOWLEDGEMENT)),
            Some(message) => self.respond_to_message(identifier, &message),
        })
    }

    fn respond_to_message(&mut self, identifier: u8, message: &[u8]) -> Vec<u8> {
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Started(mut session) | Phase::Handshake(mut session) => match session.handle(message) {
                // Neither side would ever go on.
                Step::Continue(output) if output.is_empty() => self.refuse(identifier, Reason::Tls),
                Step::Continue(output) => self.say(identifier, output, Phase::Handshake(session)),
                Step::Established(output) => match self.accept(&session) {
                    Some(outcome) => self.say(identifier, output, Phase::Closing(session, outcome)),
                    None => self.refuse(identifier, Reason::Tls),
                },
                Step::Failed { reason, alert } if alert.is_empty() => self.refuse(identifier, reason),
                Step::Failed { reason, alert } => {
                    self.say(identifier, alert, Phase::Closing(session, Outcome::Refused { reason }))
                }
            },
            // It may begin anew in answer to an alert (RFC 5216, section 2.1.3), but not with us.
            Phase::Closing(_, Outcome::Refused { reason }) => self.refuse(identifier, reason),
            Phase::Closing(mut session, Outcome::Accepted { .. }) => {
                let reason = session.handle_unexpected(message);
                self.refuse(identifier, reason)
            }
            Phase::New | Phase::Asked | Phase::Over => unreachable!("a message needs a session"),
        }
    }

    fn accept(&self, session: &Session) -> Option<Outcome> {
        let established = session.established()?;
        Some(Outcome::Accepted {
            label: established.certificate.label(&self.config.realm)?,
            serial: established.certificate.serial(),
            msk: established.msk,
            emsk: established.emsk,
            session_id: established.session_id,
            tls: established.tls,
        })
    }

    /// Begins a message of TLS.
    fn say(&mut self, identifier: u8, message: Vec<u8>, phase: Phase) -> Vec<u8> {
        self.outbound = Outbound::new(message);
        self.phase = phase;
        self.request(identifier, None)
    }

    /// The next request: this piece, or the next one of what is to be sent.
    fn request(&mut self, identifier: u8, fragment: Option<Fragment<'_>>) -> Vec<u8> {
        self.open = identifier.wrapping_add(1);
        let fragment = fragment.unwrap_or_else(|| self.outbound.next(self.packet_bytes_max));
        Packet::Request { identifier: self.open, method: Method::Tls(fragment) }.emit()
    }

    /// The last word has been acknowledged.
    fn close(&mut self, identifier: u8) -> Vec<u8> {
        let outcome = match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Closing(_, outcome) => outcome,
            Phase::New | Phase::Asked | Phase::Started(_) | Phase::Handshake(_) | Phase::Over => {
                unreachable!("only a last word closes")
            }
        };
        match outcome {
            Outcome::Accepted { serial, .. } if self.config.revoked.contains(&serial) => {
                self.refuse(identifier, Reason::Revoked)
            }
            Outcome::Refused { reason } => self.refuse(identifier, reason),
            accepted @ Outcome::Accepted { .. } => {
                self.outcome = Some(accepted);
                Packet::Success { identifier }.emit()
            }
        }
    }

    fn refuse(&mut self, identifier: u8, reason: Reason) -> Vec<u8> {
        self.phase = Phase::Over;
        self.outcome = Some(Outcome::Refused { reason });
        Packet::Failure { identifier }.emit()
    }

    /// Counts a packet that was accepted.
    fn charge(&mut self, bytes: usize) -> Result<(), Reason> {
        self.rounds += 1;
        self.bytes += bytes;
        let limits = &self.config.limits;
        let is_within = self.rounds <= limits.rounds_max && self.bytes <= limits.bytes_max;
        if is_within { Ok(()) } else { Err(Reason::TooLong) }
    }

    fn answer(&mut self, response: &[u8], answer: Vec<u8>) {
        self.transmit = Some(answer.clone());
        self.answered = Some(Answered { response: response.to_vec(), answer, repeats: 0 });
    }

    fn is_too_slow(&self) -> bool {
        self.outcome == Some(Outcome::Refused { reason: Reason::TooSlow })
    }
}
