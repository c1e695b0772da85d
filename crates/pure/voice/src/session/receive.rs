use super::{Event, Heard, Keys, Session, SessionError, push};
use crate::playout::{Fate, Incoming};
use crate::reports::Reception;
use crate::srtp::SrtpError;
use guestright_units::Time;
use guestright_wire::rtcp::{self, Part};
use guestright_wire::rtp::{Header, Kind, Packet, WidenSequence, WidenTimestamp};
use std::net::SocketAddr;

/// The peer's source at present, and what we know of it.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    source: Option<Source>,
    /// A source that wants to be the peer's: it takes two packets in a row.
    candidate: Option<u32>,
    collisions: u32,
}

#[derive(Debug)]
struct Source {
    ssrc: u32,
    sequence: WidenSequence,
    timestamp: WidenTimestamp,
    reception: Reception,
    payload_type: Option<u8>,
    clock_rate: u32,
}

/// After so many collisions somebody is playing with us.
const COLLISIONS_MAX: u32 = 3;

impl Receiver {
    pub(super) fn ssrc(&self) -> Option<u32> {
        self.source.as_ref().map(|source| source.ssrc)
    }

    pub(super) fn payload_type(&self) -> Option<u8> {
        self.source.as_ref().and_then(|source| source.payload_type)
    }

    pub(super) fn reception(&mut self) -> Option<(u32, &mut Reception)> {
        self.source.as_mut().map(|source| (source.ssrc, &mut source.reception))
    }

    pub(super) fn look(&self) -> Option<&Reception> {
        self.source.as_ref().map(|source| &source.reception)
    }

    /// A narrow timestamp of the source, in µs of its media clock.
    pub(super) fn media(&self, timestamp: u32) -> Option<u64> {
        let source = self.source.as_ref()?;
        let wide = source.timestamp.place(u64::from(timestamp));
        u64::try_from(u128::from(wide) * 1_000_000 / u128::from(source.clock_rate.max(1))).ok()
    }

    pub(super) fn resume(&mut self) {
        if let Some(source) = &mut self.source {
            source.reception.restart_jitter();
        }
    }
}

impl Session {
    pub(super) fn handle_rtp(
        &mut self,
        datagram: &[u8],
        from: SocketAddr,
        now: Time,
    ) -> Result<(), SessionError> {
        self.admit(from)?;
        let mut opened = std::mem::take(&mut self.opened);
        let outcome = match &mut self.keys {
            Keys::Ready(contexts) => match contexts.unprotect.rtp(datagram, &mut opened) {
                Ok(()) => self.take_rtp(&opened, from, now),
                Err(error) => {
                    // The check against replays comes before the playout sees it. Whether it is the same is not looked at.
                    let is_repeated = matches!(error, SrtpError::Replayed { .. }) && self.peer == Some(from);
                    self.statistics.duplicates += u64::from(is_repeated);
                    Err(error.into())
                }
            },
            Keys::Plain | Keys::Awaited => self.take_rtp(datagram, from, now),
        };
        self.opened = opened;
        outcome
    }

    /// Takes a packet that has passed its check, or that needs none.
    fn take_rtp(&mut self, bytes: &[u8], from: SocketAddr, now: Time) -> Result<(), SessionError> {
        let packet = Packet::parse(bytes)?;
        let header = packet.header();
        let is_noise = self.config.comfort_noise == Some(header.payload_type);
        let accepted = self.config.accepted(header.payload_type);
        let is_ignored = self.config.ignored.contains(&header.payload_type);
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
        self.choose_source(&header)?;
        let Some(source) = &mut self.receiver.source else {
            return Err(SessionError::OtherSource(header.ssrc));
        };
        if let Some(accepted) = accepted
            && source.payload_type != Some(header.payload_type)
        {
            let is_change = source.payload_type.replace(header.payload_type).is_some();
            if source.clock_rate != accepted.clock_rate {
                source.clock_rate = accepted.clock_rate;
                source.timestamp = WidenTimestamp::new();
                source.reception.set_clock_rate(accepted.clock_rate);
            }
            self.playout.set_config(self.config.playout_of(accepted));
            if is_change {
                push(&mut self.events, Event::PayloadTypeChanged { payload_type: header.payload_type });
            }
        }
        let sequence = source.sequence.widen(u64::from(header.sequence));
        let timestamp = source.timestamp.widen(u64::from(header.timestamp));
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
        let heard = Heard {
            sequence: header.sequence,
            timestamp: header.timestamp,
            marker: header.marker,
            payload_type: header.payload_type,
            payload_bytes: packet.payload().len(),
            arrival: now,
            delay: self.reports.delay(delay),
            is_duplicate: fate == Fate::Duplicate,
        };
        push(&mut self.heard, heard);
        Ok(())
    }

    /// Our own number from somebody else: we take another, and say farewell for the old one (RFC 3550, section 8.2).
    fn handle_collision(&mut self, ssrc: u32, now: Time) -> Result<(), SessionError> {
        if self.receiver.collisions < COLLISIONS_MAX {
            self.receiver.collisions += 1;
            self.send_rtcp(&[Part::ReceiverReport { ssrc, blocks: vec![] }, Part::Goodbye(vec![ssrc])], now);
            self.sender.renew(&mut self.rng);
            push(&mut self.events, Event::Collision { ssrc: self.sender.ssrc() });
        }
        Err(SessionError::OtherSource(ssrc))
    }

    /// The first source is the peer's. Another takes its place when it sends twice without the old one in between.
    fn choose_source(&mut self, header: &Header) -> Result<(), SessionError> {
        let receiver = &mut self.receiver;
        match &receiver.source {
            Some(source) if source.ssrc == header.ssrc => {
                receiver.candidate = None;
                return Ok(());
            }
            Some(_) if receiver.candidate != Some(header.ssrc) => {
                receiver.candidate = Some(header.ssrc);
                return Err(SessionError::OtherSource(header.ssrc));
            }
            Some(_) => {
                self.playout.restart_source();
                self.reports.restart_source();
                self.statistics.restart_source();
                push(&mut self.events, Event::SourceChanged { ssrc: header.ssrc });
            }
            None => {}
        }
        let mut sequence = WidenSequence::new();
        let first = sequence.widen(u64::from(header.sequence));
        let clock_rate =
            self.config.accepted(header.payload_type).map_or(self.config.send.clock_rate, |it| it.clock_rate);
        receiver.candidate = None;
        receiver.source = Some(Source {
            ssrc: header.ssrc,
            sequence,
            timestamp: WidenTimestamp::new(),
            reception: Reception::new(clock_rate, first),
            payload_type: None,
            clock_rate,
        });
        Ok(())
    }

    pub(super) fn handle_rtcp(
        &mut self,
        datagram: &[u8],
        from: SocketAddr,
        now: Time,
    ) -> Result<(), SessionError> {
        // RTCP may come from the port above that of RTP: it is admitted by its key, and never moves the peer's address.
        if !matches!(self.keys, Keys::Ready(_)) && !self.is_same_host(from) {
            self.admit(from)?;
        }
        let mut opened = std::mem::take(&mut self.opened);
        let outcome = match &mut self.keys {
            Keys::Ready(contexts) => match contexts.unprotect.rtcp(datagram, &mut opened) {
                Ok(()) => self.take_rtcp(&opened, datagram.len(), now),
                Err(error) => Err(error.into()),
            },
            Keys::Plain => self.take_rtcp(datagram, datagram.len(), now),
            Keys::Awaited => Err(SessionError::NoKeys),
        };
        self.opened = opened;
        outcome
    }

    fn is_same_host(&self, from: SocketAddr) -> bool {
        self.peer.is_some_and(|peer| peer.ip() == from.ip())
    }

    fn take_rtcp(&mut self, bytes: &[u8], wire_len: usize, now: Time) -> Result<(), SessionError> {
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
                        self.reports.take_sender_report(info, media, now);
                    }
                    self.reports.take_blocks(blocks, self.sender.ssrc(), now);
                }
                Part::ReceiverReport { blocks, .. } => {
                    self.reports.take_blocks(blocks, self.sender.ssrc(), now);
                }
                Part::ClockError { error, .. } => self.reports.take_clock_error(*error),
                Part::Goodbye(sources) if peer.is_some_and(|peer| sources.contains(&peer)) => {
                    push(&mut self.events, Event::PeerLeft);
                }
                Part::Goodbye(_) | Part::Description(_) | Part::Extended { .. } | Part::Other { .. } => {}
            }
        }
        Ok(())
    }

    /// Protects and sends a compound packet.
    pub(super) fn send_rtcp(&mut self, parts: &[Part], now: Time) {
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
}
