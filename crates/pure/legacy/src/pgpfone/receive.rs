//! What comes from the network.

use super::agreement::Progress;
use super::codec::TIMESTAMP_LEN;
use super::control::{Code, Control, Info};
use super::packet::{Kind, Packet, Setup, widen};
use super::reliable::Arrival;
use super::tool::{Keys, PgpFone, Stage, bounded};
use guestright_units::Time;
use guestright_voice::tool::{Ending, Event, Side, ToolError};
use std::net::SocketAddr;

/// Bytes of a measurement of the round trip: whose it is, and its number.
const PROBE_LEN: usize = 5;

impl PgpFone {
    pub(super) fn receive(&mut self, datagram: &[u8], from: SocketAddr, now: Time) -> Result<(), ToolError> {
        if self.stage == Stage::Over {
            return Err(ToolError::OutOfTurn("the call is over"));
        }
        if datagram.first() == Some(&(Kind::Setup as u8)) {
            return self.set_up(Setup::parse(datagram)?, from, now);
        }
        if self.stage == Stage::Listening || self.peer != Some(from) {
            return Err(ToolError::Stranger);
        }
        if matches!(self.stage, Stage::Calling { .. }) {
            return Err(ToolError::OutOfTurn("a message before the call is taken"));
        }
        let packet = Packet::parse(datagram)?;
        match packet.kind {
            Kind::Control | Kind::ControlEncrypted => self.reliable(&packet, now)?,
            Kind::File => self.file(&packet),
            Kind::Ack | Kind::Voice | Kind::RoundTrip | Kind::ReceptionReport => {
                self.unreliable(&packet, now)?;
            }
            Kind::Setup => return Err(ToolError::Malformed("of a type without a number")),
        }
        self.received_last = now;
        Ok(())
    }

    fn set_up(&mut self, setup: Setup, from: SocketAddr, now: Time) -> Result<(), ToolError> {
        let is_peer = self.peer == Some(from);
        match (setup, self.stage) {
            (Setup::Call, Stage::Listening) => {
                self.peer = Some(from);
                self.transmit(from, Setup::ProbeResponse.emit());
                self.transmit(from, Setup::Accept.emit());
                self.begin(now);
                Ok(())
            }
            // Our accept was lost.
            (Setup::Call, Stage::Agreeing) if is_peer && self.config.side == Side::Callee => {
                self.transmit(from, Setup::Accept.emit());
                Ok(())
            }
            (Setup::Accept, Stage::Calling { .. }) if is_peer => {
                self.begin(now);
                Ok(())
            }
            (Setup::Busy, Stage::Calling { .. }) if is_peer => {
                self.fail("the other side is busy");
                Ok(())
            }
            (Setup::ProbeResponse, Stage::Calling { .. }) if is_peer => Ok(()),
            (Setup::Call, _) if !is_peer => {
                self.transmit(from, Setup::Busy.emit());
                Err(ToolError::Stranger)
            }
            (Setup::Probe, _) => {
                self.transmit(from, Setup::ProbeResponse.emit());
                Ok(())
            }
            _ if !is_peer => Err(ToolError::Stranger),
            _ => Err(ToolError::OutOfTurn("a call, where there is one")),
        }
    }

    /// Files are not taken, but acknowledged: whoever sends one would hang up otherwise.
    fn file(&mut self, packet: &Packet<'_>) {
        self.acknowledge(Kind::File, packet.sequence);
        self.files += 1;
        if self.files == 1 {
            self.event(Event::Trouble("the other side wants to send a file; files are not taken".to_owned()));
        }
    }

    fn acknowledge(&mut self, kind: Kind, sequence: u16) {
        let [high, low] = sequence.to_be_bytes();
        self.send(Kind::Ack, &[kind as u8, high, low]);
    }

    fn reliable(&mut self, packet: &Packet<'_>, now: Time) -> Result<(), ToolError> {
        match self.incoming.classify(packet.sequence) {
            Arrival::Again => {
                self.acknowledge(packet.kind, packet.sequence);
                Err(ToolError::Replayed)
            }
            Arrival::TooFar => Err(ToolError::OutOfTurn("a message far ahead of its turn")),
            Arrival::Early(sequence) => {
                self.incoming.keep(sequence, packet.kind, packet.data);
                self.acknowledge(packet.kind, packet.sequence);
                Ok(())
            }
            Arrival::Next(sequence) => {
                let first = self.message(packet.kind, sequence, packet.data)?;
                self.acknowledge(packet.kind, packet.sequence);
                self.obey_in_order(first, now);
                Ok(())
            }
        }
    }

    /// Obeys a message whose turn it is, and those that came early and follow it. What of these makes no sense is left out:
    /// it was acknowledged before it could be read.
    fn obey_in_order(&mut self, first: (Control, Vec<u8>), now: Time) {
        let mut current = Some(first);
        while let Some((message, bytes)) = current.take() {
            let mut following = self.incoming.advance();
            self.obey(&message, &bytes, now);
            if matches!(self.stage, Stage::Listening | Stage::Over) {
                return;
            }
            while let Some((sequence, kind, data)) = following {
                current = self.message(kind, sequence, &data).ok();
                following = if current.is_none() { self.incoming.advance() } else { None };
            }
        }
    }

    /// Decrypts and reads a message whose turn it is, and which is in its place.
    fn message(&self, kind: Kind, sequence: u32, data: &[u8]) -> Result<(Control, Vec<u8>), ToolError> {
        let mut bytes = data.to_vec();
        match (kind, &self.keys) {
            (Kind::ControlEncrypted, Some(keys)) => {
                keys.receiving.apply(kind as u8, sequence, &mut bytes);
            }
            (Kind::ControlEncrypted, None) => {
                return Err(ToolError::OutOfTurn("an encrypted message before there are keys"));
            }
            (_, Some(_)) => return Err(ToolError::OutOfTurn("a message in clear, although there are keys")),
            (_, None) => {}
        }
        let message = Control::parse(&bytes)?;
        let is_expected = match &message {
            Control::Hello(_) | Control::Commitment(_) | Control::Public(_) => {
                self.agreement.as_ref().is_some_and(|agreement| agreement.expects(&message))
            }
            Control::Info(_) => self.stage == Stage::Informing,
            Control::Hangup => true,
            Control::OpenVoice(_) | Control::SwitchVoice(_) | Control::Talk | Control::Listen => {
                matches!(self.stage, Stage::Phone { .. } | Stage::Leaving { .. })
            }
        };
        if is_expected {
            Ok((message, bytes))
        } else {
            Err(ToolError::OutOfTurn("a message of another step"))
        }
    }

    fn obey(&mut self, message: &Control, bytes: &[u8], now: Time) {
        match message {
            Control::Hello(_) | Control::Commitment(_) | Control::Public(_) => {
                self.agree(message, bytes, now)
            }
            Control::Info(info) => self.informed(info, now),
            Control::Hangup => self.hung_up(),
            Control::OpenVoice(code) => self.voice_opened(*code),
            Control::SwitchVoice(code) => {
                if *code != self.config.codec.code() {
                    let code = Code(*code);
                    self.event(Event::Trouble(format!(
                        "the other side asks for the codec {code}; it stays as it is"
                    )));
                }
            }
            Control::Talk | Control::Listen => {}
        }
    }

    fn agree(&mut self, message: &Control, bytes: &[u8], now: Time) {
        let Some(agreement) = &mut self.agreement else { return };
        match agreement.handle(message, bytes, &mut self.rng) {
            Ok(Progress::Send(answer)) => self.send_reliable(&answer, now),
            Ok(Progress::Agreed(agreed)) => {
                self.agreement = None;
                self.keys = Some(Keys { sending: agreed.sending, receiving: agreed.receiving });
                self.words = Some(agreed.words);
                self.peer_name = agreed.peer_name;
                self.inform(now);
            }
            Err(failure) => self.fail(&failure.0),
        }
    }

    fn informed(&mut self, info: &Info, now: Time) {
        let codec = self.config.codec.code();
        if !info.is_duplex {
            self.fail("the other side cannot speak and listen at once");
            return;
        }
        if !info.encoders.contains(&codec) || !info.decoders.contains(&codec) {
            let code = Code(codec);
            self.fail(&format!("the other side does not know our codec {code}: choose another"));
            return;
        }
        if info.name.is_some() {
            self.peer_name.clone_from(&info.name);
        }
        self.stage = Stage::Phone { announced: false, received: false };
        self.send_reliable(&Control::OpenVoice(codec), now);
    }

    fn hung_up(&mut self) {
        match self.stage {
            Stage::Phone { announced: true, .. } => self.end(Ending::PeerLeft),
            Stage::Leaving { .. } => self.finish(),
            Stage::Calling { .. }
            | Stage::Listening
            | Stage::Agreeing
            | Stage::Informing
            | Stage::Phone { .. }
            | Stage::Over => {
                if self.is_caller() {
                    self.end(Ending::PeerLeft);
                } else {
                    self.event(Event::Trouble("a caller has hung up before there was a call".to_owned()));
                    self.listen();
                }
            }
        }
    }

    fn voice_opened(&mut self, code: [u8; 4]) {
        let Stage::Phone { announced, .. } = self.stage else { return };
        if code == self.config.codec.code() {
            self.stage = Stage::Phone { announced, received: true };
        } else {
            let code = Code(code);
            self.fail(&format!("the other side sends the codec {code}, which was not agreed upon"));
        }
    }

    fn unreliable(&mut self, packet: &Packet<'_>, now: Time) -> Result<(), ToolError> {
        let sequence = widen(packet.sequence, self.received_next).filter(|wide| *wide >= self.received_next);
        let sequence = sequence.ok_or(ToolError::Replayed)?;
        let mut data = packet.data.to_vec();
        if let Some(keys) = self.keys.as_ref().filter(|_| packet.kind.is_encrypted()) {
            keys.receiving.apply(packet.kind as u8, sequence, &mut data);
        }
        match packet.kind {
            Kind::Ack => self.acknowledged(&data, now)?,
            Kind::Voice => self.voice(sequence, &data, now)?,
            Kind::RoundTrip => self.round_trip(&data, now)?,
            Kind::Setup | Kind::ReceptionReport | Kind::Control | Kind::ControlEncrypted | Kind::File => {}
        }
        if packet.kind != Kind::Voice {
            self.media.playout().note_other(sequence.into());
        }
        // As PGPfone does: what comes after a later one is dropped.
        self.received_next = sequence.saturating_add(1);
        Ok(())
    }

    fn acknowledged(&mut self, data: &[u8], now: Time) -> Result<(), ToolError> {
        let [kind, high, low] = data else { return Err(ToolError::Malformed("a strange acknowledgement")) };
        let kind = Kind::from_number(*kind).filter(|kind| kind.is_reliable());
        let kind = kind.ok_or(ToolError::Malformed("an acknowledgement of what needs none"))?;
        let number = self.outgoing.acknowledged(kind, u16::from_be_bytes([*high, *low]), now);
        let opened = Control::OpenVoice([0; 4]).number();
        match self.stage {
            Stage::Phone { announced: false, received } if number == Some(opened) => {
                self.stage = Stage::Phone { announced: true, received };
                self.connected(now);
            }
            Stage::Leaving { .. } if !self.outgoing.is_waiting_for(Control::Hangup.number()) => {
                self.finish();
            }
            Stage::Calling { .. }
            | Stage::Listening
            | Stage::Agreeing
            | Stage::Informing
            | Stage::Phone { .. }
            | Stage::Leaving { .. }
            | Stage::Over => {}
        }
        Ok(())
    }

    fn voice(&mut self, sequence: u32, data: &[u8], now: Time) -> Result<(), ToolError> {
        if !matches!(self.stage, Stage::Phone { received: true, .. }) {
            return Err(ToolError::OutOfTurn("sound before its codec is said"));
        }
        if data.len() < TIMESTAMP_LEN {
            return Err(ToolError::Malformed("sound without a time"));
        }
        let received = self.media.insert(sequence, data, now);
        bounded(&mut self.received, received.ok_or(ToolError::Malformed("sound of another length"))?);
        Ok(())
    }

    fn round_trip(&mut self, data: &[u8], now: Time) -> Result<(), ToolError> {
        if !matches!(self.stage, Stage::Phone { .. }) {
            return Err(ToolError::OutOfTurn("a measurement before there is a call"));
        }
        let Some(([whose, number @ ..], [])) = data.split_first_chunk::<PROBE_LEN>() else {
            return Err(ToolError::Malformed("a strange measurement"));
        };
        match (*whose == 1, self.is_caller()) {
            _ if *whose > 1 => return Err(ToolError::Malformed("a measurement of nobody")),
            (true, true) | (false, false) => {
                let is_last = u32::from_be_bytes(*number) == self.probe.number;
                let Some(sent_at) = self.probe.sent_at.take_if(|_| is_last) else {
                    return Err(ToolError::Replayed);
                };
                self.summary.round_trip = Some(now.since(sent_at));
            }
            (true, false) | (false, true) => self.send(Kind::RoundTrip, data),
        }
        Ok(())
    }
}
