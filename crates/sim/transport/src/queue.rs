//! What waits before a link, and who has to go: drop-tail, RED, CoDel, fq_codel.
//!
//! All sizes are bytes of packets of the network layer, without the overhead of frames. The limit of every queue
//! ([`crate::QueueLimit`]) counts the packet that is being sent, so that the same number is the same buffer everywhere.

mod codel;
mod fq_codel;
mod red;
mod store;

pub use codel::CoDelSettings;
pub use fq_codel::FqCoDelSettings;
pub use red::RedSettings;

use crate::error::SettingsError;
use crate::link::LinkSettings;
use crate::link_number::LinkNumber;
use codel::CoDel;
use fq_codel::FqCoDel;
use guestright_engine::{Instant, Key, Streams};
use rand::Rng;
use red::Red;
use store::{Fifo, Store, Waiting};

/// What a packet says of explicit congestion notification (RFC 3168, section 5; RFC 9331, section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not-ECT: it can only be dropped.
    #[default]
    Not,
    /// ECT(0), of a classic sender: a mark is as a loss. One that was marked before (CE) still counts as this.
    Classic,
    /// ECT(1), of an L4S sender: marks may be many, each means little.
    L4s,
}

/// A packet as a queue sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Which packet, for the world.
    pub key: Key,
    /// Its length, of the network layer.
    pub bytes: u32,
    /// Of which flow; fq_codel keeps them apart by it.
    pub flow: u32,
    /// Whether it may be marked instead of dropped.
    pub ecn: Ecn,
}

/// Who waits, who goes first, and who has to go.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Discipline {
    /// First in, first out; what comes to a full queue is dropped.
    #[default]
    DropTail,
    /// Random early detection (Floyd and Jacobson 1993).
    Red(RedSettings),
    /// Controlled delay (RFC 8289).
    CoDel(CoDelSettings),
    /// Flow queues with controlled delay (RFC 8290).
    FqCoDel(FqCoDelSettings),
}

/// What a queue has dropped or lets go on.
pub(crate) trait Dropped {
    /// A packet that had been taken has to go.
    fn drop_packet(&mut self, packet: Packet);
}

/// A queue with its discipline. It knows nothing of the transmitter.
#[derive(Clone, Debug)]
pub(crate) struct ManagedQueue {
    store: Store,
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    DropTail(Fifo),
    Red(Fifo, Box<Red>),
    CoDel(Fifo, CoDelSettings, CoDel),
    FqCoDel(Box<FqCoDel>),
}

/// What a queue does with a packet that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Taken,
    Refused,
}

impl ManagedQueue {
    pub(crate) fn new(
        number: LinkNumber,
        link: &LinkSettings,
        discipline: Discipline,
        streams: &Streams,
    ) -> Result<Self, SettingsError> {
        let rule = match discipline {
            Discipline::DropTail => Rule::DropTail(Fifo::default()),
            Discipline::Red(settings) => {
                let chance = streams.stream("random early detection", number.0.into());
                Rule::Red(Fifo::default(), Box::new(Red::new(number, settings, link.rate, chance)?))
            }
            Discipline::CoDel(settings) => {
                settings.check(number)?;
                Rule::CoDel(Fifo::default(), settings, CoDel::default())
            }
            Discipline::FqCoDel(settings) => {
                let salt = streams.stream("flow queues", number.0.into()).next_u64();
                Rule::FqCoDel(Box::new(FqCoDel::new(number, settings, salt)?))
            }
        };
        Ok(Self { store: Store::default(), rule })
    }

    /// Packets that wait.
    pub(crate) const fn len(&self) -> usize {
        self.store.len()
    }

    /// Bytes that wait.
    pub(crate) const fn bytes(&self) -> u64 {
        self.store.bytes()
    }

    /// A packet comes. `has_room`: whether the limit lets it in as things are.
    pub(crate) fn enqueue(&mut self, packet: Packet, now: Instant, has_room: bool) -> Verdict {
        let mut waiting = Waiting { packet, since: now, marked: false };
        match &mut self.rule {
            Rule::DropTail(fifo) => {
                if !has_room {
                    return Verdict::Refused;
                }
                fifo.push(&mut self.store, waiting);
            }
            Rule::Red(fifo, red) => {
                match red.arrive(packet, fifo.len(), now, has_room) {
                    red::Choice::Accept => {}
                    red::Choice::Mark => waiting.marked = true,
                    red::Choice::Drop => return Verdict::Refused,
                }
                fifo.push(&mut self.store, waiting);
            }
            Rule::CoDel(fifo, ..) => {
                if !has_room {
                    return Verdict::Refused;
                }
                fifo.push(&mut self.store, waiting);
            }
            Rule::FqCoDel(queues) => queues.push(&mut self.store, waiting),
        }
        Verdict::Taken
    }

    /// Makes room after [`ManagedQueue::enqueue`] took a packet although there was none: true if something went.
    pub(crate) fn shed(&mut self, dropped: &mut impl Dropped) -> bool {
        match &mut self.rule {
            Rule::FqCoDel(queues) => queues.drop_from_fattest(&mut self.store, dropped),
            Rule::DropTail(_) | Rule::Red(..) | Rule::CoDel(..) => false,
        }
    }

    /// The packet that is to be sent now, and whether it is marked.
    pub(crate) fn dequeue(&mut self, now: Instant, dropped: &mut impl Dropped) -> Option<(Packet, bool)> {
        let store = &mut self.store;
        let waiting = match &mut self.rule {
            Rule::DropTail(fifo) => fifo.pop(store),
            Rule::Red(fifo, red) => {
                let waiting = fifo.pop(store);
                if waiting.is_none() {
                    red.idle(now);
                }
                waiting
            }
            Rule::CoDel(fifo, settings, codel) => codel.dequeue(settings, store, fifo, now, dropped),
            Rule::FqCoDel(queues) => queues.dequeue(store, now, dropped),
        }?;
        Some((waiting.packet, waiting.marked))
    }
}
