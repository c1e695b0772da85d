//! What is resent until it is acknowledged, and what comes that way: in order, each once.

use super::packet::{Kind, Packet, widen};
use guestright_units::{Micros, Time};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// How long an acknowledgement is waited for at first, and at most.
const WAIT_FIRST: Micros = Micros::from_millis(2_000);
/// PGPfone has none; without it a link without delay would be flooded.
const WAIT_LEAST: Micros = Micros::from_millis(20);
/// What is waited longer when the resends are used up, but not yet the time.
const WAIT_STEP: Micros = Micros::from_millis(1_000);
/// Resends after which it is given up, once [`GIVE_UP`] is over too.
const RESENDS: u32 = 10;
/// No answer for so long, in spite of the resends: nobody is there.
pub(super) const GIVE_UP: Micros = Micros::from_seconds(30);
/// Messages that come before their turn and are kept.
const EARLY_MAX: u32 = 31;

/// Something that was sent and not acknowledged.
struct Unacknowledged {
    sequence: u32,
    kind: Kind,
    /// The first byte of what is in it, before it was encrypted.
    number: u8,
    datagram: Vec<u8>,
    first: Time,
    last: Time,
    resends: u32,
}

/// The sending side.
pub(super) struct Outgoing {
    next: u32,
    waiting: VecDeque<Unacknowledged>,
    average: Micros,
    wait: Micros,
}

impl Outgoing {
    pub(super) fn new() -> Self {
        Self { next: 0, waiting: VecDeque::new(), average: WAIT_FIRST, wait: WAIT_FIRST }
    }

    /// The number of the next message.
    pub(super) fn sequence(&self) -> u32 {
        self.next
    }

    /// Takes the message of that number as it is sent, and gives the datagram.
    pub(super) fn send(&mut self, kind: Kind, number: u8, data: &[u8], now: Time) -> Vec<u8> {
        let sequence = self.next;
        self.next += 1;
        let [.., high, low] = sequence.to_be_bytes();
        let datagram = Packet { kind, sequence: u16::from_be_bytes([high, low]), data }.emit();
        self.waiting.push_back(Unacknowledged {
            sequence,
            kind,
            number,
            datagram: datagram.clone(),
            first: now,
            last: now,
            resends: 0,
        });
        datagram
    }

    /// Takes an acknowledgement; says of what type of message, if one waited for it.
    pub(super) fn acknowledged(&mut self, kind: Kind, sequence: u16, now: Time) -> Option<u8> {
        let sequence = widen(sequence, self.next)?;
        let index = self.waiting.iter().position(|sent| sent.kind == kind && sent.sequence == sequence)?;
        let sent = self.waiting.remove(index)?;
        if sent.resends == 0 {
            let took = now.since(sent.first);
            self.average = Micros((9 * self.average.0 + took.0) / 10);
            self.wait = Micros((2 * self.average.0).clamp(WAIT_LEAST.0, WAIT_FIRST.0));
        }
        Some(sent.number)
    }

    /// Whether a message of that type waits for its acknowledgement.
    pub(super) fn is_waiting_for(&self, number: u8) -> bool {
        self.waiting.iter().any(|sent| sent.number == number)
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.waiting.iter().map(|sent| sent.last + self.wait).min()
    }

    /// Gives what has to be sent again; nothing if nobody is there.
    pub(super) fn resend(&mut self, now: Time) -> Option<Vec<Vec<u8>>> {
        let mut datagrams = Vec::new();
        for sent in &mut self.waiting {
            if sent.last + self.wait > now {
                continue;
            }
            if sent.resends >= RESENDS {
                if now.since(sent.first) >= GIVE_UP {
                    return None;
                }
                self.wait = Micros((self.wait.0 + WAIT_STEP.0).min(WAIT_FIRST.0));
            }
            sent.resends += 1;
            sent.last = now;
            datagrams.push(sent.datagram.clone());
        }
        Some(datagrams)
    }
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outgoing({} sent, {} waiting, {:?})", self.next, self.waiting.len(), self.wait)
    }
}

/// Where a message stands that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It is the next, and has this number.
    Next(u32),
    /// It comes before its turn, and may be kept.
    Early(u32),
    /// It was there before: its acknowledgement was lost.
    Again,
    /// It is further ahead than anybody sends.
    TooFar,
}

/// The receiving side.
pub(super) struct Incoming {
    next: u32,
    early: BTreeMap<u32, (Kind, Vec<u8>)>,
}

impl Incoming {
    pub(super) fn new() -> Self {
        Self { next: 0, early: BTreeMap::new() }
    }

    pub(super) fn classify(&self, sequence: u16) -> Arrival {
        match widen(sequence, self.next) {
            Some(wide) if wide == self.next => Arrival::Next(wide),
            Some(wide) if wide > self.next && wide - self.next <= EARLY_MAX => Arrival::Early(wide),
            Some(wide) if wide > self.next => Arrival::TooFar,
            Some(_) | None => Arrival::Again,
        }
    }

    /// Keeps what came before its turn, as it came: its key may come before it does. The first that came stays.
    pub(super) fn keep(&mut self, sequence: u32, kind: Kind, data: &[u8]) {
        self.early.entry(sequence).or_insert_with(|| (kind, data.to_vec()));
    }

    /// The next was taken: gives the one after it, if it is here.
    pub(super) fn advance(&mut self) -> Option<(u32, Kind, Vec<u8>)> {
        self.next = self.next.saturating_add(1);
        self.early.remove(&self.next).map(|(kind, data)| (self.next, kind, data))
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Incoming({} taken, {} early)", self.next, self.early.len())
    }
}
