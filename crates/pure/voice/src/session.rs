//! One side of a call's media, without sockets and without a clock.
//!
//! In: encoded sound ([`Session::handle_frame`]), datagrams ([`Session::handle_datagram`]), the time. Out: datagrams
//! ([`Session::poll_transmit`]), what to play ([`Session::poll_sound`], whenever what it gave last is used up), what has
//! happened ([`Session::poll_event`]), and figures ([`Session::poll_row`] each second, [`Session::poll_heard`] for each
//! packet, [`Session::summary`] at the end).
//!
//! Invariants:
//!
//! - With [`Protection::EndToEnd`] nothing is sent or played before keys are agreed on; the first packet is encrypted.
//! - The address of the peer changes only for a packet that has passed its check, or, without protection, never unless
//!   [`Config::follow_unprotected`] says so.
//! - Sequence numbers, timestamps and SRTP contexts go on over hold, resume, re-INVITE, change of codec and of address.
//! - The one-way delay is an interval: by both clocks where both errors are stated, never outside of 0 and the round trip,
//!   and half of the round trip where the clocks contradict it or say nothing. See [`Delay`].

mod config;
mod delay;
mod receive;
mod report;
mod send;
mod statistics;

pub use config::{Accepted, Config, Direction, Protection};
pub use delay::{Delay, DelaySource};
pub use send::Frame;
pub use statistics::{Heard, Row, Summary};

use crate::agreement::{self, Agreed, Agreement, AgreementError};
use crate::playout::{Output, Playout, Policy};
use crate::srtp::{MasterKey, Protect, SrtpError, Unprotect};
use guestright_units::{Seed, Time};
use guestright_wire::rtcp::RtcpError;
use guestright_wire::rtp::{Kind, RtpError};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha20Rng;
use receive::Receiver;
use report::Reports;
use send::Sender;
use statistics::Statistics;
use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use thiserror::Error;

/// Why a datagram was dropped.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SessionError {
    /// Neither media nor a key agreement.
    #[error("a datagram of another kind: {0:?}")]
    Kind(Kind),
    /// There are no keys yet.
    #[error("media came before there are keys")]
    NoKeys,
    /// Not RTP.
    #[error(transparent)]
    Rtp(#[from] RtpError),
    /// Not RTCP.
    #[error(transparent)]
    Rtcp(#[from] RtcpError),
    /// Not protected with our peer's key.
    #[error(transparent)]
    Srtp(#[from] SrtpError),
    /// Not of our agreement.
    #[error(transparent)]
    Agreement(#[from] AgreementError),
    /// A payload type that was not agreed on.
    #[error("payload type {0} was not agreed on")]
    PayloadType(u8),
    /// Without protection, from an address that is not the peer's.
    #[error("unprotected media from another address than the peer's")]
    Stranger,
    /// A source that is not, or no longer, the peer's.
    #[error("a packet of source {0:08x}, which is not the peer's at present")]
    OtherSource(u32),
    /// We said that we do not want to hear.
    #[error("media came while we are on hold")]
    OnHold,
}

/// What to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The address that it goes to; nothing if no address is known yet.
    pub to: Option<SocketAddr>,
    /// RTP, RTCP or key agreement: for a peer without RTP and RTCP on one port, RTCP goes to the port above.
    pub kind: Kind,
    /// The datagram.
    pub bytes: Vec<u8>,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// There are keys, and this is with whom. Show [`Agreed::words`].
    Agreed(Box<Agreed>),
    /// There will be no keys, so there is no call.
    NotAgreed(AgreementError),
    /// The peer sends from another address, and proved that it is the peer.
    PeerMoved {
        /// The address that media goes to from now on.
        to: SocketAddr,
    },
    /// The peer has begun with another source.
    SourceChanged {
        /// The new one.
        ssrc: u32,
    },
    /// The peer has changed codecs.
    PayloadTypeChanged {
        /// The new type.
        payload_type: u8,
    },
    /// The peer had the same source number as we: we have a new one.
    Collision {
        /// Ours from now on.
        ssrc: u32,
    },
    /// The peer has said that it sends no more (RTCP BYE).
    PeerLeft,
}

/// Datagrams, events and records that wait to be fetched; the oldest of more are dropped.
const WAITING_MAX: usize = 1_024;

/// One side of a call's media.
pub struct Session {
    config: Config,
    rng: ChaCha20Rng,
    direction: Direction,
    peer: Option<SocketAddr>,
    agreement: Option<Agreement>,
    keys: Keys,
    sender: Sender,
    receiver: Receiver,
    reports: Reports,
    playout: Playout,
    statistics: Statistics,
    transmits: VecDeque<Transmit>,
    events: VecDeque<Event>,
    heard: VecDeque<Heard>,
    rows: VecDeque<Row>,
    scratch: Vec<u8>,
    opened: Vec<u8>,
}

/// What protects the media.
enum Keys {
    /// Nothing, as was agreed on.
    Plain,
    /// There will be keys.
    Awaited,
    /// These.
    Ready(Box<Contexts>),
}

struct Contexts {
    send: MasterKey,
    receive: MasterKey,
    protect: Protect,
    unprotect: Unprotect,
}

impl Session {
    /// Begins. With end-to-end protection the agreement's first datagram waits in [`Session::poll_transmit`].
    #[must_use]
    pub fn new(
        config: Config,
        protection: Protection,
        policy: Box<dyn Policy>,
        seed: &Seed,
        now: Time,
    ) -> Self {
        let mut rng = ChaCha20Rng::from_seed(seed.0);
        let (keys, agreement) = match protection {
            Protection::None => (Keys::Plain, None),
            Protection::Keys { send, receive } => (Keys::ready(&send, &receive), None),
            Protection::EndToEnd { prepared, call } => {
                (Keys::Awaited, Some(Agreement::new(*prepared, call, now)))
            }
        };
        let schedule_seed = Seed(rng.random());
        let mut session = Self {
            direction: Direction::BOTH,
            peer: config.peer,
            agreement,
            keys,
            sender: Sender::new(&mut rng),
            receiver: Receiver::default(),
            reports: Reports::new(&config, &schedule_seed, now),
            playout: Playout::new(config.playout(), policy),
            statistics: Statistics::new(now),
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            heard: VecDeque::new(),
            rows: VecDeque::new(),
            scratch: Vec::new(),
            opened: Vec::new(),
            config,
            rng,
        };
        session.drain_agreement();
        session
    }

    /// Takes a datagram, from where it came.
    ///
    /// # Errors
    /// Why it was dropped; it has changed nothing else, and is counted.
    pub fn handle_datagram(
        &mut self,
        datagram: &[u8],
        from: SocketAddr,
        now: Time,
    ) -> Result<(), SessionError> {
        let outcome = match Kind::of(datagram) {
            Kind::Rtp => self.handle_rtp(datagram, from, now),
            Kind::Rtcp => self.handle_rtcp(datagram, from, now),
            Kind::Agreement => self.handle_agreement(datagram, from, now),
            kind @ (Kind::Stun | Kind::Zrtp | Kind::Dtls | Kind::Turn | Kind::Quic | Kind::Unknown) => {
                Err(SessionError::Kind(kind))
            }
        };
        if outcome.is_err() {
            self.statistics.refused += 1;
        }
        outcome
    }

    /// What to play next. Call it whenever what it gave last is used up.
    pub fn poll_sound(&mut self, now: Time) -> Output {
        self.playout.poll(now)
    }

    /// Says whether what was played last is speech; see [`Playout::hear`].
    pub fn hear(&mut self, is_speech: bool) {
        self.playout.hear(is_speech);
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        if let Some(agreement) = &mut self.agreement {
            agreement.handle_timeout(now);
            self.drain_agreement();
        }
        self.report_if_due(now);
        while let Some(row) = self.statistics.row_if_over(now, &self.receiver, &self.playout, &self.reports) {
            push(&mut self.rows, row);
        }
    }

    /// When it wants [`Session::handle_timeout`].
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let agreement = self.agreement.as_ref().and_then(Agreement::poll_timeout);
        let times = [agreement, Some(self.reports.due()), Some(self.statistics.row_end())];
        times.into_iter().flatten().min()
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    /// What has happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next packet that came, as an analyser wants it.
    pub fn poll_heard(&mut self) -> Option<Heard> {
        self.heard.pop_front()
    }

    /// The figures of the next second.
    pub fn poll_row(&mut self) -> Option<Row> {
        self.rows.pop_front()
    }

    /// The figures of the call so far.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.statistics.summary(&self.sender, &self.receiver, &self.playout, &self.reports)
    }

    /// Hold and resume. What was learnt and counted stays, and so do the keys.
    pub fn set_direction(&mut self, direction: Direction) {
        if direction.receive && !self.direction.receive {
            // Its clock went on, ours too, but nothing says that the same time has passed.
            self.receiver.resume();
        }
        if direction.send && !self.direction.send {
            self.sender.begin_talkspurt();
        }
        self.direction = direction;
    }

    /// Another codec for what we send, from the next frame on, and other ones for what we accept.
    pub fn set_config(&mut self, config: Config) {
        if config.peer != self.config.peer {
            self.peer = config.peer;
        }
        self.config = config;
        let accepted = self.receiver.payload_type().and_then(|number| self.config.accepted(number));
        self.playout
            .set_config(accepted.map_or_else(|| self.config.playout(), |it| self.config.playout_of(it)));
    }

    /// The keys of a re-INVITE. Where a key is the same as before, its context goes on, with its rollover counters.
    pub fn set_keys(&mut self, send: &MasterKey, receive: &MasterKey) {
        let before = std::mem::replace(&mut self.keys, Keys::ready(send, receive));
        if let (Keys::Ready(before), Keys::Ready(now)) = (before, &mut self.keys) {
            let Contexts { send: sent, receive: received, protect, unprotect } = *before;
            if sent == *send {
                now.protect = protect;
            }
            if received == *receive {
                now.unprotect = unprotect;
            }
        }
    }

    /// Whether media can be sent.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !matches!(self.keys, Keys::Awaited)
    }

    /// Where media goes at present.
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// Our source number at present.
    #[must_use]
    pub fn ssrc(&self) -> u32 {
        self.sender.ssrc()
    }

    /// What the buffer does.
    #[must_use]
    pub fn playout(&mut self) -> &mut Playout {
        &mut self.playout
    }

    fn handle_agreement(&mut self, datagram: &[u8], from: SocketAddr, now: Time) -> Result<(), SessionError> {
        let Some(agreement) = &mut self.agreement else { return Err(SessionError::Kind(Kind::Agreement)) };
        let outcome = agreement.handle_input(datagram, now);
        // Before there are keys an answer goes back to the address that the question came from, if nothing else is known.
        if outcome.is_ok() && self.peer.is_none() {
            self.peer = Some(from);
        }
        self.drain_agreement();
        outcome.map_err(SessionError::from)
    }

    fn drain_agreement(&mut self) {
        let Some(agreement) = &mut self.agreement else { return };
        while let Some(bytes) = agreement.poll_transmit() {
            push(&mut self.transmits, Transmit { to: self.peer, kind: Kind::Agreement, bytes });
        }
        while let Some(event) = agreement.poll_event() {
            match event {
                agreement::Event::Agreed(agreed) => {
                    self.keys = Keys::ready(&agreed.send, &agreed.receive);
                    push(&mut self.events, Event::Agreed(agreed));
                }
                agreement::Event::Failed(error) => {
                    self.keys = Keys::Awaited;
                    push(&mut self.events, Event::NotAgreed(error));
                }
            }
        }
    }

    /// Sends as from where the peer was heard last.
    fn transmit(&mut self, kind: Kind, bytes: Vec<u8>) {
        push(&mut self.transmits, Transmit { to: self.peer, kind, bytes });
    }

    /// A packet has passed its check.
    fn latch(&mut self, from: SocketAddr) {
        if let Some(agreement) = &mut self.agreement {
            agreement.handle_peer_media();
        }
        if self.peer != Some(from) {
            self.peer = Some(from);
            push(&mut self.events, Event::PeerMoved { to: from });
        }
    }

    /// Whether media from there may be looked at at all.
    fn admit(&self, from: SocketAddr) -> Result<(), SessionError> {
        let is_known = self.peer.is_none_or(|peer| peer == from);
        match self.keys {
            Keys::Awaited => Err(SessionError::NoKeys),
            Keys::Plain if !is_known && !self.config.follow_unprotected => Err(SessionError::Stranger),
            Keys::Plain | Keys::Ready(_) => Ok(()),
        }
    }
}

impl Keys {
    fn ready(send: &MasterKey, receive: &MasterKey) -> Self {
        let (protect, unprotect) = (Protect::new(send), Unprotect::new(receive));
        Self::Ready(Box::new(Contexts { send: send.clone(), receive: receive.clone(), protect, unprotect }))
    }
}

fn push<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() >= WAITING_MAX {
        queue.pop_front();
    }
    queue.push_back(item);
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({:08x}, {:?}, {:?})", self.ssrc(), self.direction, self.playout)
    }
}

#[cfg(test)]
mod tests;
