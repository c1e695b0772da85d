//! Ending a session: Disconnect-Request to hostapd's `radius_das_port` (RFC 5176).

use crate::attribute::Kind;
use crate::error::RadiusError;
use crate::packet::{Code, Draft, Packet};
use crate::secret::Secret;
use crate::station::Station;
use guestright_units::{Micros, Time};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use thiserror::Error;

/// What a [`DisconnectClient`] is to be.
#[derive(Clone, Debug)]
pub struct DisconnectConfig {
    /// Where hostapd listens.
    pub server: SocketAddr,
    pub secret: Secret,
    /// How often a request is sent in all.
    pub attempts_max: u32,
    /// How long the first attempt has; each further one has twice as long (RFC 5080, section 2.2.1).
    pub retry_after: Micros,
    /// Requests at a time. There are 256 identifiers.
    pub pending_max: usize,
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Disconnect(pub u64);

/// Which session. hostapd ends what all of these match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionName {
    pub station: Option<Station>,
    /// Acct-Session-Id, as the access point reported it.
    pub session_id: Option<String>,
    /// Which of the access point's networks.
    pub nas_identifier: Option<String>,
}

/// What has become of a request.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Outcome {
    #[error("the session is over")]
    Ended,
    /// Error-Cause 503 (RFC 5176, section 3.5): it was over already.
    #[error("the access point knows no such session")]
    NoSession,
    #[error("the access point refuses to end the session (Error-Cause {cause:?})")]
    Refused { cause: Option<u32> },
    #[error("the access point does not answer")]
    Unanswered,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisconnectEvent {
    pub disconnect: Disconnect,
    pub outcome: Outcome,
}

/// Session-Context-Not-Found (RFC 5176, section 3.5).
const SESSION_CONTEXT_NOT_FOUND: u32 = 503;

#[derive(Debug)]
struct Pending {
    disconnect: Disconnect,
    bytes: Vec<u8>,
    attempts: u32,
    retry_at: Time,
}

/// Asks hostapd to end sessions, and asks again until it answers.
///
/// 1. [`handle_disconnect`](Self::handle_disconnect) begins; answers go into [`handle_datagram`](Self::handle_datagram), time
///    into [`handle_timeout`](Self::handle_timeout) when [`poll_timeout`](Self::poll_timeout) is reached;
/// 2. after each of them, drain [`poll_transmit`](Self::poll_transmit), which goes to the configured server, and
///    [`poll_event`](Self::poll_event).
///
/// A request keeps its Event-Timestamp when it is repeated, as all of its bytes; hostapd takes one that is up to five
/// minutes old (`radius_das_time_window`), so the clocks of both, which are one computer's, need not agree to the second.
#[derive(Debug)]
pub struct DisconnectClient {
    config: DisconnectConfig,
    pending: BTreeMap<u8, Pending>,
    last_identifier: u8,
    last: u64,
    transmits: VecDeque<Vec<u8>>,
    events: VecDeque<DisconnectEvent>,
}

impl DisconnectClient {
    #[must_use]
    pub fn new(config: DisconnectConfig) -> Self {
        Self {
            config,
            pending: BTreeMap::new(),
            last_identifier: 0,
            last: 0,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Begins to end a session.
    ///
    /// # Errors
    /// If the name of the session is empty or too long for a packet, or too many requests wait already: then
    /// [`RadiusError::TooLong`].
    pub fn handle_disconnect(&mut self, session: &SessionName, now: Time) -> Result<Disconnect, RadiusError> {
        let (station, session_id) = (session.station.map(|station| station.to_string()), &session.session_id);
        if station.is_none() && session_id.is_none() {
            // It would name every session of the access point.
            return Err(RadiusError::Missing { kind: Kind::CALLING_STATION_ID });
        }
        let identifier = self.free_identifier().ok_or(RadiusError::TooLong)?;
        let mut draft = Draft::new(Code::DisconnectRequest, identifier);
        for (kind, value) in [
            (Kind::CALLING_STATION_ID, &station),
            (Kind::ACCT_SESSION_ID, session_id),
            (Kind::NAS_IDENTIFIER, &session.nas_identifier),
        ] {
            if let Some(value) = value {
                draft.push(kind, value.as_bytes())?;
            }
        }
        let second = u32::try_from(now.unix_seconds().0).unwrap_or(u32::MAX);
        draft.push_integer(Kind::EVENT_TIMESTAMP, second)?;
        self.last += 1;
        let disconnect = Disconnect(self.last);
        let bytes = draft.emit_request(&self.config.secret, [0; 16]);
        self.transmits.push_back(bytes.clone());
        let retry_at = now + self.config.retry_after;
        self.pending.insert(identifier, Pending { disconnect, bytes, attempts: 1, retry_at });
        Ok(disconnect)
    }

    /// Takes in what came back.
    ///
    /// # Errors
    /// Why it was dropped: nothing has changed.
    pub fn handle_datagram(&mut self, source: SocketAddr, datagram: &[u8]) -> Result<(), RadiusError> {
        if source != self.config.server {
            return Err(RadiusError::UnknownClient);
        }
        let packet = Packet::parse(datagram)?;
        let pending = self.pending.get(&packet.identifier()).ok_or(RadiusError::NotAsked)?;
        let asked = Packet::parse(&pending.bytes)?;
        packet.verify_response(&self.config.secret, &asked.authenticator())?;
        let outcome = match packet.code() {
            Code::DisconnectAck => Outcome::Ended,
            Code::DisconnectNak => match packet.integer(Kind::ERROR_CAUSE)? {
                Some(SESSION_CONTEXT_NOT_FOUND) => Outcome::NoSession,
                cause => Outcome::Refused { cause },
            },
            Code::AccessRequest
            | Code::AccessAccept
            | Code::AccessReject
            | Code::AccountingRequest
            | Code::AccountingResponse
            | Code::AccessChallenge
            | Code::StatusServer
            | Code::DisconnectRequest
            | Code::CoaRequest
            | Code::CoaAck
            | Code::CoaNak => return Err(RadiusError::NotAsked),
        };
        let disconnect = pending.disconnect;
        self.pending.remove(&packet.identifier());
        self.events.push_back(DisconnectEvent { disconnect, outcome });
        Ok(())
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        let due = |pending: &Pending| pending.retry_at <= now;
        let identifiers: Vec<u8> =
            self.pending.iter().filter(|(_, pending)| due(pending)).map(|(id, _)| *id).collect();
        for identifier in identifiers {
            let Some(pending) = self.pending.get_mut(&identifier) else { continue };
            if pending.attempts >= self.config.attempts_max {
                let disconnect = pending.disconnect;
                self.pending.remove(&identifier);
                self.events.push_back(DisconnectEvent { disconnect, outcome: Outcome::Unanswered });
                continue;
            }
            let wait = self.config.retry_after.0.saturating_mul(1 << pending.attempts.min(16));
            (pending.attempts, pending.retry_at) = (pending.attempts + 1, now + Micros(wait));
            self.transmits.push_back(pending.bytes.clone());
        }
    }

    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmits.pop_front()
    }

    pub fn poll_event(&mut self) -> Option<DisconnectEvent> {
        self.events.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is wanted next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.pending.values().map(|pending| pending.retry_at).min()
    }

    /// The identifier after the last one that is not in use.
    fn free_identifier(&mut self) -> Option<u8> {
        if self.pending.len() >= self.config.pending_max.min(256) {
            return None;
        }
        let after = (1..=u8::MAX).map(|step| self.last_identifier.wrapping_add(step));
        let free = after.chain([self.last_identifier]).find(|id| !self.pending.contains_key(id))?;
        self.last_identifier = free;
        Some(free)
    }
}

#[cfg(test)]
mod tests;
