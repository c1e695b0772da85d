//! Voice packets on their way into quinn and out of it.
//!
//! Packets wait here, not in quinn, until they are about to leave: from here the oldest can be thrown away, from a stream
//! of quinn's nothing can. quinn gets what fills one datagram, so that what waited together travels together. What it holds
//! is known exactly: DATAGRAM frames are counted, STREAM frames are read as they leave.
//!
//! On the one stream a packet follows its length in two bytes, as RTP does over TCP (RFC 4571).

use crate::wire::{StreamFrame, stream_frames};
use bytes::Bytes;
use guestright_quinn_control::Carriage;
use quinn_proto::{Connection, Dir, ReadError, SendDatagramError, StreamId, VarInt};
use std::collections::{BTreeMap, VecDeque};

/// A voice packet begins with its number, so it has at least so many bytes.
pub(crate) const NUMBER_BYTES: u32 = 4;
/// Bytes of a full datagram that may be other things than voice: headers, tag, acknowledgements.
const OVERHEAD_MAX: u64 = 80;
/// What the speaker has not sent yet.
#[derive(Debug)]
pub(crate) struct Outbox {
    carriage: Carriage,
    limit: usize,
    waiting: VecDeque<Packet>,
    /// Bytes that quinn has not sent for the first time.
    held: u64,
    /// The sizes of the datagrams among them, the oldest first.
    held_datagrams: VecDeque<u32>,
    /// DATAGRAM frames sent until now.
    frames: u64,
    /// What each stream has not sent.
    unsent: BTreeMap<u64, Unsent>,
    stream: Option<StreamId>,
    /// What a stream had no room for.
    rest: Option<(StreamId, Bytes)>,
    pub(crate) thrown_away: u64,
    pub(crate) too_large: u64,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    number: u32,
    bytes: u32,
}

/// A stream's places that nothing was sent of: given to quinn, or to be given as soon as there is room.
#[derive(Clone, Copy, Debug, Default)]
struct Unsent {
    from: u64,
    to: u64,
}

/// What became of a packet that quinn was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    Taken,
    NotNow,
    Never,
}

impl Outbox {
    pub(crate) fn new(carriage: Carriage, limit: u32) -> Self {
        Self {
            carriage,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            waiting: VecDeque::new(),
            held: 0,
            held_datagrams: VecDeque::new(),
            frames: 0,
            unsent: BTreeMap::new(),
            stream: None,
            rest: None,
            thrown_away: 0,
            too_large: 0,
        }
    }

    /// The application speaks.
    pub(crate) fn push(&mut self, number: u32, bytes: u32) {
        let bytes = bytes.max(NUMBER_BYTES);
        self.waiting.push_back(Packet { number, bytes });
        let held = usize::try_from(self.held / u64::from(bytes)).unwrap_or(usize::MAX);
        while self.waiting.len() > 1 && self.waiting.len() + held > self.limit {
            self.waiting.pop_front();
            self.thrown_away += 1;
        }
    }

    /// What waits here and in quinn.
    pub(crate) fn unsent_bytes(&self) -> u64 {
        self.held + self.waiting.iter().map(|packet| u64::from(packet.bytes)).sum::<u64>()
    }

    /// Nothing will be sent any more.
    pub(crate) fn give_up(&mut self) {
        self.thrown_away += u64::try_from(self.waiting.len()).unwrap_or(u64::MAX);
        self.waiting.clear();
    }

    /// Gives quinn what fits into its next datagram.
    pub(crate) fn feed(&mut self, connection: &mut Connection) {
        if let Some((id, rest)) = self.rest.take()
            && !self.write(connection, id, rest)
        {
            return;
        }
        let room = u64::from(connection.current_mtu()).saturating_sub(OVERHEAD_MAX);
        while let Some(packet) = self.waiting.front().copied()
            && (self.held == 0 || self.held + u64::from(packet.bytes) <= room)
            && self.rest.is_none()
        {
            match self.give(connection, packet) {
                Given::Taken => {}
                Given::Never => self.too_large += 1,
                Given::NotNow => return,
            }
            self.waiting.pop_front();
        }
    }

    fn give(&mut self, connection: &mut Connection, packet: Packet) -> Given {
        match self.carriage {
            Carriage::Datagrams => match connection.datagrams().send(content(packet, &[]), false) {
                Ok(()) => {
                    self.held += u64::from(packet.bytes);
                    self.held_datagrams.push_back(packet.bytes);
                    Given::Taken
                }
                Err(SendDatagramError::TooLarge) => Given::Never,
                Err(
                    SendDatagramError::Blocked(_)
                    | SendDatagramError::UnsupportedByPeer
                    | SendDatagramError::Disabled,
                ) => Given::NotNow,
            },
            Carriage::Stream => {
                let Some(id) = self.stream.or_else(|| connection.streams().open(Dir::Uni)) else {
                    return Given::NotNow;
                };
                self.stream = Some(id);
                let Ok(length) = u16::try_from(packet.bytes) else {
                    return Given::Never;
                };
                self.give_stream(connection, id, content(packet, &length.to_be_bytes()));
                Given::Taken
            }
            Carriage::StreamPerPacket => {
                let Some(id) = connection.streams().open(Dir::Uni) else {
                    return Given::NotNow;
                };
                self.give_stream(connection, id, content(packet, &[]));
                Given::Taken
            }
        }
    }

    fn give_stream(&mut self, connection: &mut Connection, id: StreamId, content: Bytes) {
        let bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
        self.held += bytes;
        self.unsent.entry(VarInt::from(id).into_inner()).or_default().to += bytes;
        self.write(connection, id, content);
    }

    /// Writes to a stream, keeps what it has no room for, and says whether there was room for all.
    fn write(&mut self, connection: &mut Connection, id: StreamId, content: Bytes) -> bool {
        let mut stream = connection.send_stream(id);
        let mut rest = [content];
        // An error is that there is no room, or that the connection is over, which an event tells.
        let written = stream.write_chunks(&mut rest);
        let [rest] = rest;
        if written.is_err() || !rest.is_empty() {
            self.rest = Some((id, rest));
            return false;
        }
        if self.carriage == Carriage::StreamPerPacket {
            // Nobody stops or resets these streams.
            let finished = stream.finish();
            debug_assert!(finished.is_ok(), "{finished:?}");
        }
        true
    }

    /// quinn has sent `datagram`.
    pub(crate) fn on_transmit(&mut self, connection: &Connection, datagram: &[u8]) {
        if self.carriage != Carriage::Datagrams {
            stream_frames(datagram, |frame| self.on_stream_frame(frame));
            return;
        }
        let frames = connection.stats().frame_tx.datagram;
        for _ in self.frames..frames {
            self.held -= u64::from(self.held_datagrams.pop_front().unwrap_or_default());
        }
        self.frames = frames;
    }

    fn on_stream_frame(&mut self, frame: StreamFrame) {
        if let Some(unsent) = self.unsent.get_mut(&frame.id)
            && frame.end > unsent.from
        {
            self.held -= frame.end - unsent.from;
            unsent.from = frame.end;
            if self.carriage == Carriage::StreamPerPacket && unsent.from == unsent.to {
                self.unsent.remove(&frame.id);
            }
        }
    }
}

/// A voice packet: its number, and silence.
fn content(packet: Packet, before: &[u8]) -> Bytes {
    let bytes = usize::try_from(packet.bytes).unwrap_or(usize::MAX);
    let mut content = Vec::with_capacity(before.len() + bytes);
    content.extend_from_slice(before);
    content.extend_from_slice(&packet.number.to_be_bytes());
    content.resize(before.len() + bytes, 0);
    Bytes::from(content)
}

/// What the listener has heard.
#[derive(Debug)]
pub(crate) struct Inbox {
    carriage: Carriage,
    /// What the streams have brought of packets that are not complete.
    partial: BTreeMap<StreamId, Vec<u8>>,
    pub(crate) delivered: VecDeque<u32>,
}

impl Inbox {
    pub(crate) const fn new(carriage: Carriage) -> Self {
        Self { carriage, partial: BTreeMap::new(), delivered: VecDeque::new() }
    }

    /// DATAGRAM frames came.
    pub(crate) fn receive_datagrams(&mut self, connection: &mut Connection) {
        while let Some(content) = connection.datagrams().recv() {
            self.delivered.extend(number(&content));
        }
    }

    /// Streams were opened.
    pub(crate) fn accept(&mut self, connection: &mut Connection) {
        while let Some(id) = connection.streams().accept(Dir::Uni) {
            self.read(connection, id);
        }
    }

    /// A stream has something to read.
    pub(crate) fn read(&mut self, connection: &mut Connection, id: StreamId) {
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else {
            return;
        };
        let mut is_finished = false;
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => self.receive(id, &chunk.bytes),
                Ok(None) => {
                    is_finished = true;
                    break;
                }
                Err(ReadError::Blocked | ReadError::Reset(_)) => break,
            }
        }
        // Whether flow control has news to send: everything is asked for anyway.
        let _ = chunks.finalize();
        if is_finished && let Some(content) = self.partial.remove(&id) {
            self.delivered.extend(number(&content));
        }
    }

    fn receive(&mut self, id: StreamId, content: &[u8]) {
        let partial = self.partial.entry(id).or_default();
        partial.extend_from_slice(content);
        if self.carriage != Carriage::Stream {
            return;
        }
        let mut rest = &partial[..];
        while let Some((length, after)) = rest.split_first_chunk()
            && let Some((packet, after)) = after.split_at_checked(u16::from_be_bytes(*length).into())
        {
            self.delivered.extend(number(packet));
            rest = after;
        }
        let taken = partial.len() - rest.len();
        partial.drain(..taken);
    }
}

fn number(packet: &[u8]) -> Option<u32> {
    packet.first_chunk().map(|number| u32::from_be_bytes(*number))
}
