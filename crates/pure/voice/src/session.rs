//! One side of a call's media, without sockets and without a clock.
//!
//! In: encoded sound ([`Session::handle_frame`]), datagrams ([`Session::handle_datagram`]), the time. Out: datagrams
//! ([`Session::poll_transmit`]), what to play ([`Session::poll_sound`], whenever what it gave last is used up), what has
//! happened ([`Session::poll_event`]), and figures ([`Session::poll_row`] each second, [`Session::poll_received`] for each
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
mod receiver;
mod reports;
mod sender;
mod statistics;

pub use config::{Accepted, Config, Direction, Protection};
pub use delay::{Delay, DelaySource};
pub use sender::Frame;
pub use statistics::{ReceivedPacket, Row, Summary};

use crate::agreement::{self, Agreed, Agreement, AgreementError};
use crate::playout::{Fate, Incoming, Output, Playout, Policy};
use crate::srtp::{MasterKey, Protect, SrtpError, Unprotect};
use guestright_units::{Micros, Seed, Time};
use guestright_wire::rtcp::{self, Ntp, Part, RtcpError, SenderInfo};
use guestright_wire::rtp::{Header, Kind, Packet, RtpError};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha20Rng;
use receiver::{Origin, Receiver};
use reports::Reports;
use sender::Sender;
use statistics::{Sources, Statistics};
use std::collections::{BTreeSet, VecDeque};
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
    #[error(transparent)]
    Rtp(#[from] RtpError),
    #[error(transparent)]
    Rtcp(#[from] RtcpError),
    /// Not protected with our peer's key.
    #[error(transparent)]
    Srtp(#[from] SrtpError),
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

/// So long after the first packet of what was agreed on anew, packets of the codecs before it may still come: they were
/// overtaken.
const OVERTAKEN_MAX: Micros = Micros::from_seconds(1);

/// One side of a call's media.
///
/// In go encoded sound ([`handle_frame`](Self::handle_frame), one packet's after the other, also in silence), datagrams
/// ([`handle_datagram`](Self::handle_datagram)) and the time. After every call that goes in, drain what comes out:
///
/// 1. [`poll_event`](Self::poll_event) until there is none: keys, moves, the end.
/// 2. [`poll_transmit`](Self::poll_transmit) until there is none, and send.
/// 3. [`poll_timeout`](Self::poll_timeout): then, [`handle_timeout`](Self::handle_timeout).
///
/// Sound is asked for by the loudspeaker's clock, not drained: [`poll_sound`](Self::poll_sound) whenever what it gave last is
/// used up. [`poll_row`](Self::poll_row) and [`poll_received`](Self::poll_received) keep the last thousand or so figures for a
/// program that wants them. [`finish`](Self::finish) comes last, and what it sends is drained too.
///
/// ```
/// use guestright_units::{Micros, Seed, Time};
/// use guestright_voice::playout::Fixed;
/// use guestright_voice::session::{Config, Frame, Protection, Session};
///
/// let now = Time(1_700_000_000_000_000);
/// let policy = Box::new(Fixed::new(Micros::from_millis(60)));
/// let config = Config::g711(8, "alice@example.org");
/// let mut session = Session::new(config, Protection::None, policy, &Seed([7; 32]), now);
/// let sound = Frame { payload: &[0xd5; 160], duration: Micros::from_millis(20), is_speech: true, noise_level: 60 };
/// session.handle_frame(&sound, now);
/// while let Some(event) = session.poll_event() {
///     println!("{event:?}");
/// }
/// while let Some(transmit) = session.poll_transmit() {
///     assert_eq!(transmit.bytes.len(), 12 + 160); // To `transmit.to`, once that is known.
/// }
/// let next = session.poll_sound(now); // Play this for `next.duration`, then ask again.
/// assert!(session.poll_timeout() > Some(now));
/// # assert!(next.duration.0 > 0);
/// ```
pub struct Session {
    config: Config,
    former: Former,
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
    received: VecDeque<ReceivedPacket>,
    rows: VecDeque<Row>,
    scratch: Vec<u8>,
    opened: Vec<u8>,
}

/// Payload types that were agreed on before, and are no more. The peer sends them until it knows what was agreed on anew, so
/// they are still expected for a brief time (RFC 3264 section 8.3.2). Nothing decodes them here any more: they count as
/// received, and are not played.
#[derive(Default)]
struct Former {
    payload_types: BTreeSet<u8>,
    /// Known once the first packet of what was agreed on anew has come.
    until: Option<Time>,
}

impl Former {
    /// `before` has been replaced by `now`.
    fn replaced(&mut self, before: &Config, now: &Config) {
        let earlier = self.payload_types.len();
        self.payload_types.extend(before.receive.iter().map(|it| it.payload_type));
        self.payload_types.retain(|number| now.accepted(*number).is_none());
        if self.payload_types.len() > earlier {
            self.until = None;
        }
    }

    /// A packet of what is agreed on now has come.
    fn superseded(&mut self, now: Time) {
        if !self.payload_types.is_empty() && self.until.is_none() {
            self.until = Some(now + OVERTAKEN_MAX);
        }
    }

    fn accepts(&self, payload_type: u8, now: Time) -> bool {
        self.payload_types.contains(&payload_type) && self.until.is_none_or(|until| now < until)
    }
}

/// What protects the media.
enum Keys {
    /// Nothing, as was agreed on.
    Plain,
    /// There will be keys.
    Awaited,
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
            received: VecDeque::new(),
            rows: VecDeque::new(),
            scratch: Vec::new(),
            opened: Vec::new(),
            former: Former::default(),
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
        while let Some(row) = self.statistics.row_if_over(
            now,
            &Sources { receiver: &self.receiver, playout: &self.playout, reports: &self.reports },
        ) {
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
    pub fn poll_received(&mut self) -> Option<ReceivedPacket> {
        self.received.pop_front()
    }

    /// The figures of the next second.
    pub fn poll_row(&mut self) -> Option<Row> {
        self.rows.pop_front()
    }

    /// The figures of the call so far.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.statistics.summary(
            &self.sender,
            &Sources { receiver: &self.receiver, playout: &self.playout, reports: &self.reports },
        )
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

    /// Another codec for what we send, from the next frame on, and other ones for what we accept. What the peer has sent
    /// before it knows of them counts as received, and is not played.
    pub fn set_config(&mut self, config: Config) {
        if config.peer != self.config.peer {
            self.peer = config.peer;
        }
        self.former.replaced(&self.config, &config);
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

    /// Takes the next sound, also when it is silence and nothing will be sent: time goes on with it.
    ///
    /// `now` is when it is ready to go. Reports tell the peer that its timestamp belongs to that moment, so that a one-way
    /// delay is the network's, without the time that it took to fill the packet.
    pub fn handle_frame(&mut self, frame: &Frame<'_>, now: Time) {
        let timestamp = self.sender.next_frame(self.config.send.clock_rate, frame.duration, now);
        if !self.direction.send {
            return;
        }
        if !self.is_ready() {
            self.sender.withheld += 1;
            return;
        }
        if frame.is_speech || !self.config.discontinuous {
            let marker = self.sender.speak();
            self.send_rtp(marker, self.config.send.payload_type, timestamp, frame.payload, now);
            return;
        }
        let ends_talkspurt = self.sender.fall_silent();
        let is_due = self.sender.is_quiet_for(self.config.keep_alive, now);
        match self.config.comfort_noise {
            Some(payload_type) if ends_talkspurt || is_due => {
                self.sender.noise_packets += 1;
                self.send_rtp(false, payload_type, timestamp, &[frame.noise_level & 0x7f], now);
            }
            None if is_due => {
                self.send_rtp(false, self.config.send.payload_type, timestamp, frame.payload, now);
            }
            Some(_) | None => {}
        }
    }

    fn send_rtp(&mut self, marker: bool, payload_type: u8, timestamp: u32, payload: &[u8], now: Time) {
        self.scratch.clear();
        self.sender.header(marker, payload_type, timestamp).emit(&mut self.scratch);
        self.scratch.extend_from_slice(payload);
        let mut bytes = Vec::new();
        match &mut self.keys {
            Keys::Plain => bytes.clone_from(&self.scratch),
            Keys::Awaited => return,
            Keys::Ready(contexts) => {
                bytes.reserve_exact(self.scratch.len() + contexts.protect.profile().rtp_overhead());
                match contexts.protect.rtp(&self.scratch, &mut bytes) {
                    Ok(()) => {}
                    // 2^48 packets under one key take 178,000 years; then there is silence rather than a weak key.
                    Err(SrtpError::KeyWornOut) => return,
                    Err(error) => unreachable!("our own sequence numbers rise one by one: {error}"),
                }
            }
        }
        self.sender.sent(payload.len() as u64, now);
        self.reports.sent_media();
        self.transmit(Kind::Rtp, bytes);
    }

    fn handle_rtp(&mut self, datagram: &[u8], from: SocketAddr, now: Time) -> Result<(), SessionError> {
        self.admit(from)?;
        let mut opened = std::mem::take(&mut self.opened);
        let outcome = match &mut self.keys {
            Keys::Ready(contexts) => match contexts.unprotect.rtp(datagram, &mut opened) {
                Ok(()) => self.accept_rtp(&opened, from, now),
                Err(error) => {
                    // The check against replays comes before the playout sees it. Whether it is the same is not looked at.
                    let is_repeated = matches!(error, SrtpError::Replayed { .. }) && self.peer == Some(from);
                    self.statistics.duplicates += u64::from(is_repeated);
                    Err(error.into())
                }
            },
            Keys::Plain | Keys::Awaited => self.accept_rtp(datagram, from, now),
        };
        self.opened = opened;
        outcome
    }

    /// Takes a packet that has passed its check, or that needs none.
    fn accept_rtp(&mut self, bytes: &[u8], from: SocketAddr, now: Time) -> Result<(), SessionError> {
        let packet = Packet::parse(bytes)?;
        let header = packet.header();
        let is_noise = self.config.comfort_noise == Some(header.payload_type);
        let accepted = self.config.accepted(header.payload_type);
        let is_former = accepted.is_none() && self.former.accepts(header.payload_type, now);
        let is_ignored = is_former || self.config.ignored.contains(&header.payload_type);
        if accepted.is_none() && !is_noise && !is_ignored {
            return Err(SessionError::PayloadType(header.payload_type));
        }
        self.latch(from);
        if header.ssrc == self.sender.ssrc() {
            return self.handle_collision(header.ssrc, now);
        }
        if !self.direction.receive {
            return Err(SessionError::OnHold);
        }
        self.follow_source(&header)?;
        let Some(source) = self.receiver.source() else {
            return Err(SessionError::OtherSource(header.ssrc));
        };
        if let Some(accepted) = accepted
            && source.payload_type() != Some(header.payload_type)
        {
            let before = source.change_payload_type(header.payload_type, accepted.clock_rate);
            self.playout.set_config(self.config.playout_of(accepted));
            if before.is_some() {
                push(&mut self.events, Event::PayloadTypeChanged { payload_type: header.payload_type });
            }
        }
        let sequence = source.sequence.widen(u64::from(header.sequence));
        let timestamp = source.timestamp.widen(u64::from(header.timestamp));
        if accepted.is_some() {
            self.former.superseded(now);
        }
        if is_ignored {
            // It has a number in the sequence, so it is no loss; its timestamp stands still, so it is no jitter.
            source.reception.count_only(sequence);
            self.playout.note_other(sequence);
            self.statistics.packet(sequence, Fate::Kept, None);
            return Ok(());
        }
        let incoming = Incoming {
            sequence,
            timestamp,
            marker: header.marker,
            payload_type: header.payload_type,
            is_noise,
            payload: packet.payload(),
            arrived: now,
        };
        let fate = self.playout.insert(&incoming);
        source.reception.packet(sequence, timestamp, now);
        let media = self.receiver.media(header.timestamp);
        let delay = media.and_then(|media| self.reports.delay_of(media, now));
        self.statistics.packet(sequence, fate, delay);
        let received = ReceivedPacket {
            sequence: header.sequence,
            timestamp: header.timestamp,
            marker: header.marker,
            payload_type: header.payload_type,
            payload_bytes: packet.payload().len(),
            arrival: now,
            delay: self.reports.delay(delay),
            is_duplicate: fate == Fate::Duplicate,
        };
        push(&mut self.received, received);
        Ok(())
    }

    /// Our own number from somebody else: we take another, and say farewell for the old one (RFC 3550, section 8.2).
    fn handle_collision(&mut self, ssrc: u32, now: Time) -> Result<(), SessionError> {
        if self.receiver.count_collision() {
            self.send_rtcp(&[Part::ReceiverReport { ssrc, blocks: vec![] }, Part::Goodbye(vec![ssrc])], now);
            self.sender.renew(&mut self.rng);
            push(&mut self.events, Event::Collision { ssrc: self.sender.ssrc() });
        }
        Err(SessionError::OtherSource(ssrc))
    }

    /// Follows the peer to the source of this packet, if it may be the peer's.
    fn follow_source(&mut self, header: &Header) -> Result<(), SessionError> {
        let accepted = self.config.accepted(header.payload_type);
        let clock_rate = accepted.map_or(self.config.send.clock_rate, |it| it.clock_rate);
        match self.receiver.choose_source(header, clock_rate) {
            Origin::Peer | Origin::First => {}
            Origin::Changed => {
                self.playout.restart_source();
                self.reports.restart_source();
                self.statistics.restart_source();
                push(&mut self.events, Event::SourceChanged { ssrc: header.ssrc });
            }
            Origin::Stranger => return Err(SessionError::OtherSource(header.ssrc)),
        }
        Ok(())
    }

    fn handle_rtcp(&mut self, datagram: &[u8], from: SocketAddr, now: Time) -> Result<(), SessionError> {
        // RTCP may come from the port above that of RTP: it is admitted by its key, and never moves the peer's address.
        if !matches!(self.keys, Keys::Ready(_)) && !self.is_same_host(from) {
            self.admit(from)?;
        }
        let mut opened = std::mem::take(&mut self.opened);
        let outcome = match &mut self.keys {
            Keys::Ready(contexts) => match contexts.unprotect.rtcp(datagram, &mut opened) {
                Ok(()) => self.accept_rtcp(&opened, datagram.len(), now),
                Err(error) => Err(error.into()),
            },
            Keys::Plain => self.accept_rtcp(datagram, datagram.len(), now),
            Keys::Awaited => Err(SessionError::NoKeys),
        };
        self.opened = opened;
        outcome
    }

    fn is_same_host(&self, from: SocketAddr) -> bool {
        self.peer.is_some_and(|peer| peer.ip() == from.ip())
    }

    fn accept_rtcp(&mut self, bytes: &[u8], wire_len: usize, now: Time) -> Result<(), SessionError> {
        let parts = rtcp::parse(bytes)?;
        self.reports.saw(wire_len);
        let peer = self.receiver.ssrc();
        for part in &parts {
            match part {
                Part::SenderReport { ssrc, info, blocks } => {
                    if peer == Some(*ssrc) {
                        let media = self.receiver.media(info.timestamp);
                        if let Some((_, reception)) = self.receiver.reception() {
                            reception.sender_report(info.ntp, now);
                        }
                        self.reports.on_sender_report(info, media, now);
                    }
                    self.reports.on_blocks(blocks, self.sender.ssrc(), now);
                }
                Part::ReceiverReport { blocks, .. } => {
                    self.reports.on_blocks(blocks, self.sender.ssrc(), now);
                }
                Part::ClockError { error, .. } => self.reports.on_clock_error(*error),
                Part::Goodbye(sources) if peer.is_some_and(|peer| sources.contains(&peer)) => {
                    push(&mut self.events, Event::PeerLeft);
                }
                Part::Goodbye(_) | Part::Description(_) | Part::Extended { .. } | Part::Other { .. } => {}
            }
        }
        Ok(())
    }

    /// Protects and sends a compound packet.
    fn send_rtcp(&mut self, parts: &[Part], now: Time) {
        self.scratch.clear();
        rtcp::emit(parts, &mut self.scratch);
        let mut bytes = Vec::new();
        match &mut self.keys {
            Keys::Plain => bytes.clone_from(&self.scratch),
            Keys::Awaited => return,
            Keys::Ready(contexts) => {
                if contexts.protect.rtcp(&self.scratch, &mut bytes).is_err() {
                    return;
                }
            }
        }
        self.reports.sent(bytes.len(), now);
        self.transmit(Kind::Rtcp, bytes);
    }

    fn report_if_due(&mut self, now: Time) {
        if now < self.reports.due() {
            return;
        }
        if !self.is_ready() {
            // Nothing may go out; the next one is planned as if this had gone.
            self.reports.skip(now);
            return;
        }
        let mut parts = vec![self.report(now)];
        let ssrc = self.sender.ssrc();
        parts.push(Part::Description(vec![(ssrc, Some(self.config.canonical_name.clone()))]));
        if let Some(error) = self.config.clock_error {
            parts.push(Part::ClockError { ssrc, error });
        }
        self.send_rtcp(&parts, now);
    }

    /// Says farewell: the last thing to be sent.
    pub fn finish(&mut self, now: Time) {
        let report = self.report(now);
        let ssrc = self.sender.ssrc();
        let name = Part::Description(vec![(ssrc, Some(self.config.canonical_name.clone()))]);
        self.send_rtcp(&[report, name, Part::Goodbye(vec![ssrc])], now);
        while let Some(row) = self.statistics.row_at_end(
            now,
            &Sources { receiver: &self.receiver, playout: &self.playout, reports: &self.reports },
        ) {
            push(&mut self.rows, row);
        }
    }

    /// A sender's report if something was sent since the last, else a receiver's.
    fn report(&mut self, now: Time) -> Part {
        let ssrc = self.sender.ssrc();
        let blocks = self.receiver.reception().map(|(peer, reception)| reception.report(peer, now));
        let blocks = blocks.into_iter().collect();
        match self.sender.timestamp_at(now).filter(|_| self.reports.has_sent_media()) {
            Some(timestamp) => {
                let wrapped = |count: u64| u32::try_from(count & 0xffff_ffff).expect("32 bits");
                let (packets, octets) = (wrapped(self.sender.packets), wrapped(self.sender.octets));
                let info = SenderInfo { ntp: Ntp::from_unix(now), timestamp, packets, octets };
                Part::SenderReport { ssrc, info, blocks }
            }
            None => Part::ReceiverReport { ssrc, blocks },
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
