use crate::{Audio, Content, Introduced, Message, Opened, Opening, Report, Seal, SealError, Step};
use guestright_units::{Micros, Time};
use guestright_voice::srtp::{IndexState, Window};
use guestright_voice::tool::{Side, ToolError, Transmit};
use std::net::SocketAddr;

/// An old key is understood for so long after the new one came into use.
const GRACE: Micros = Micros::from_seconds(2);
/// Keys that wait to be used.
const PENDING_MAX: usize = 4;

/// Protects nothing, but numbers its keys: a datagram opens only where its key is known. Keys change as in the paper: the
/// listener learns the next one from INSTALL, the talker uses it from ACK on, the listener drops the old one after 2 s.
#[derive(Debug)]
pub struct NullSeal {
    direction: u8,
    sequence: u64,
    send_key: u32,
    next_key: Option<(u32, u32)>,
    /// In use, and the one before it with the time at which it ends.
    receive_key: u32,
    previous: Option<(u32, Time)>,
    pending: Vec<u32>,
    window: Window,
    answered: Option<u32>,
}

impl NullSeal {
    /// For one side; the other has another direction.
    #[must_use]
    pub fn new(is_caller: bool) -> Self {
        Self {
            direction: u8::from(is_caller),
            sequence: 0,
            send_key: 0,
            next_key: None,
            receive_key: 0,
            previous: None,
            pending: Vec::new(),
            window: Window::new(),
            answered: None,
        }
    }

    /// The keys in use: that of what is sent, that of what was received last.
    #[must_use]
    pub fn keys(&self) -> (u32, u32) {
        (self.send_key, self.receive_key)
    }

    fn knows(&self, key: u32, now: Time) -> bool {
        self.receive_key == key
            || self.pending.contains(&key)
            || self.previous.is_some_and(|(previous, until)| previous == key && now < until)
    }
}

impl Seal for NullSeal {
    fn seal(
        &mut self,
        content: &Content,
        room: usize,
        _: Time,
        datagram: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        datagram.clear();
        datagram.push(self.direction);
        datagram.extend(self.send_key.to_be_bytes());
        datagram.extend(self.sequence.to_be_bytes());
        self.sequence += 1;
        emit(content, datagram);
        datagram.resize(datagram.len().max(room), 0);
        Ok(())
    }

    fn open(&mut self, datagram: &[u8], now: Time) -> Result<Opened, SealError> {
        const SHORT: SealError = SealError::Malformed("too short");
        let mut rest = datagram;
        let direction = read_array::<1>(&mut rest).ok_or(SHORT)?[0];
        let key = u32::from_be_bytes(read_array(&mut rest).ok_or(SHORT)?);
        let sequence = u64::from_be_bytes(read_array(&mut rest).ok_or(SHORT)?);
        if direction == self.direction || !self.knows(key, now) {
            return Err(SealError::Forged);
        }
        if self.window.state(sequence) != IndexState::Fresh {
            return Err(SealError::Replayed);
        }
        let content = parse(&mut rest).ok_or(SealError::Malformed("no content"))?;
        self.window.accept(sequence);
        if let Some(index) = self.pending.iter().position(|pending| *pending == key) {
            self.pending.drain(..=index);
            self.previous = Some((self.receive_key, now + GRACE));
            self.receive_key = key;
        }
        Ok(Opened { content, sequence })
    }

    fn probe(&mut self, phase: u32) -> Vec<u8> {
        phase.to_be_bytes().to_vec()
    }

    fn response(&mut self, phase: u32, probe: &[u8]) -> Result<Vec<u8>, SealError> {
        self.answered = Some(phase);
        expect(phase, probe)
    }

    fn install(&mut self, phase: u32, response: &[u8]) -> Result<Vec<u8>, SealError> {
        expect(phase, response)?;
        self.next_key = Some((phase, phase));
        Ok(phase.to_be_bytes().to_vec())
    }

    fn ack(&mut self, phase: u32, install: &[u8]) -> Result<Vec<u8>, SealError> {
        if self.answered != Some(phase) {
            return Err(SealError::KeyPart("INSTALL without PROBE"));
        }
        let key = expect(phase, install)?;
        if self.pending.len() == PENDING_MAX {
            self.pending.remove(0);
        }
        self.pending.push(phase);
        Ok(key)
    }

    fn complete(&mut self, phase: u32, ack: &[u8]) -> Result<(), SealError> {
        expect(phase, ack)?;
        let (_, key) = self
            .next_key
            .take()
            .filter(|(of, _)| *of == phase)
            .ok_or(SealError::KeyPart("ACK without INSTALL"))?;
        self.send_key = key;
        Ok(())
    }

    fn abandon(&mut self, phase: u32) {
        self.next_key.take_if(|(of, _)| *of == phase);
    }
}

fn expect(phase: u32, got: &[u8]) -> Result<Vec<u8>, SealError> {
    let is_same = got == phase.to_be_bytes();
    if is_same { Ok(got.to_vec()) } else { Err(SealError::KeyPart("of another phase")) }
}

/// An opening that is done: both sides have had a seal before.
#[derive(Debug)]
pub struct Ready {
    introduced: Option<Introduced>,
}

impl Ready {
    /// For that side. A callee takes the address of the peer from `peer` too.
    #[must_use]
    pub fn new(seal: Box<dyn Seal>, side: Side, peer: SocketAddr) -> Self {
        let peer = match side {
            Side::Caller { to } => to,
            Side::Callee => peer,
        };
        let protection = "nobody but both sides, in a test";
        let introduced =
            Introduced { seal, peer, name: None, is_verified: false, words: Vec::new(), protection };
        Self { introduced: Some(introduced) }
    }
}

impl Opening for Ready {
    fn handle_datagram(&mut self, _: &[u8], _: SocketAddr, _: Time) -> Result<(), ToolError> {
        Err(ToolError::OutOfTurn("there is a seal already"))
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        None
    }

    fn poll_outcome(&mut self) -> Option<Result<Introduced, String>> {
        self.introduced.take().map(Ok)
    }
}

fn emit(content: &Content, to: &mut Vec<u8>) {
    match content {
        Content::Audio(audio) => {
            to.push(0);
            to.extend(audio.timestamp.to_be_bytes());
            to.push(u8::from(audio.starts_talkspurt));
            to.extend(audio.silence.to_be_bytes());
            emit_bytes(&audio.payload, to);
        }
        Content::Message(message) => {
            let (kind, number, held) = match message.step {
                Step::Probe { time } => (1, time, 0),
                Step::Response { time, held } => (2, time, held),
                Step::Install { round_trip } => (3, round_trip, 0),
                Step::Ack { round_trip } => (4, round_trip, 0),
            };
            to.push(kind);
            to.extend(message.phase.to_be_bytes());
            to.extend(number.to_be_bytes());
            to.extend(held.to_be_bytes());
            emit_bytes(&message.key, to);
        }
        Content::Report(report) => {
            to.push(5);
            for number in [report.number, report.expected, report.received, report.late, report.jitter_us] {
                to.extend(number.to_be_bytes());
            }
        }
        Content::Cover => to.push(6),
        Content::Bye => to.push(7),
    }
}

fn emit_bytes(bytes: &[u8], to: &mut Vec<u8>) {
    to.extend(u16::try_from(bytes.len()).unwrap_or(0).to_be_bytes());
    to.extend(bytes);
}

fn parse(from: &mut &[u8]) -> Option<Content> {
    let kind = read_array::<1>(from)?[0];
    Some(match kind {
        0 => Content::Audio(Audio {
            timestamp: number(from)?,
            starts_talkspurt: read_array::<1>(from)?[0] != 0,
            silence: u16::from_be_bytes(read_array(from)?),
            payload: bytes(from)?,
        }),
        1..=4 => {
            let (phase, time) = (number(from)?, number(from)?);
            let held = u16::from_be_bytes(read_array(from)?);
            let step = match kind {
                1 => Step::Probe { time },
                2 => Step::Response { time, held },
                3 => Step::Install { round_trip: time },
                _ => Step::Ack { round_trip: time },
            };
            Content::Message(Message { phase, step, key: bytes(from)? })
        }
        5 => Content::Report(Report {
            number: number(from)?,
            expected: number(from)?,
            received: number(from)?,
            late: number(from)?,
            jitter_us: number(from)?,
        }),
        6 => Content::Cover,
        7 => Content::Bye,
        _ => return None,
    })
}

fn number(from: &mut &[u8]) -> Option<u32> {
    read_array(from).map(u32::from_be_bytes)
}

fn bytes(from: &mut &[u8]) -> Option<Vec<u8>> {
    let length = usize::from(u16::from_be_bytes(read_array(from)?));
    let (bytes, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(bytes.to_vec())
}

fn read_array<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = from.split_first_chunk::<N>()?;
    *from = rest;
    Some(*first)
}
