//! fq_codel: a queue for each flow, by turns, each with CoDel (RFC 8290).
//!
//! A packet goes to the queue that its flow hashes to. A queue that was empty is new and comes before the old ones;
//! each sends a quantum of bytes, then it is another one's turn. When all is full, half of what the fattest queue
//! holds, 64 packets at most, is dropped from its head.

use super::Dropped;
use super::codel::{CoDel, CoDelSettings};
use super::store::{Fifo, NOWHERE, Store, Waiting};
use crate::error::SettingsError;
use crate::link_number::LinkNumber;
use guestright_engine::Instant;

/// fq_codel's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCoDelSettings {
    /// Of every queue.
    pub codel: CoDelSettings,
    /// Bytes that a queue may send at its turn (RFC 8290, section 5.2: 1514).
    pub quantum: u32,
    /// How many queues there are for flows to hash to (section 5.2: 1024).
    pub flows: u32,
    /// Packets that are dropped at once at most when all is full (section 5.2: 64).
    pub drop_batch: u32,
}

/// The most queues.
const FLOWS_MAX: u32 = 1 << 16;

impl FqCoDelSettings {
    /// The values of RFC 8290: 5 ms, 100 ms, 1514 bytes, 1024 flows; marks are on, as there.
    #[must_use]
    pub const fn rfc8290() -> Self {
        let codel = CoDelSettings { ecn: true, ..CoDelSettings::rfc8289() };
        Self { codel, quantum: 1_514, flows: 1_024, drop_batch: 64 }
    }
}

impl Default for FqCoDelSettings {
    fn default() -> Self {
        Self::rfc8290()
    }
}

/// The queue of the flows that hash to it.
#[derive(Clone, Copy, Debug)]
struct FlowQueue {
    fifo: Fifo,
    codel: CoDel,
    /// Bytes that it may still send at this turn.
    deficit: i64,
    listed: bool,
    next: u32,
}

/// Queues that have a turn.
#[derive(Clone, Copy, Debug)]
struct Turns {
    head: u32,
    tail: u32,
}

impl Turns {
    const NONE: Self = Self { head: NOWHERE, tail: NOWHERE };

    fn push(&mut self, queues: &mut [FlowQueue], index: u32) {
        queues[index as usize].next = NOWHERE;
        if self.head == NOWHERE {
            self.head = index;
        } else {
            queues[self.tail as usize].next = index;
        }
        self.tail = index;
    }

    fn pop(&mut self, queues: &[FlowQueue]) {
        self.head = queues[self.head as usize].next;
    }
}

/// All queues of a link.
#[derive(Clone, Debug)]
pub(super) struct FqCoDel {
    settings: FqCoDelSettings,
    salt: u64,
    queues: Vec<FlowQueue>,
    new: Turns,
    old: Turns,
}

impl FqCoDel {
    pub(super) fn new(
        number: LinkNumber,
        settings: FqCoDelSettings,
        salt: u64,
    ) -> Result<Self, SettingsError> {
        settings.codel.check(number)?;
        let link = number.0;
        if settings.flows == 0 || settings.flows > FLOWS_MAX {
            return Err(SettingsError::FlowQueues { link, got: settings.flows, max: FLOWS_MAX });
        }
        if settings.quantum == 0 || settings.drop_batch == 0 {
            return Err(SettingsError::Quantum { link });
        }
        let empty = FlowQueue {
            fifo: Fifo::default(),
            codel: CoDel::default(),
            deficit: 0,
            listed: false,
            next: NOWHERE,
        };
        let queues = vec![empty; settings.flows as usize];
        Ok(Self { settings, salt, queues, new: Turns::NONE, old: Turns::NONE })
    }

    pub(super) fn push(&mut self, store: &mut Store, waiting: Waiting) {
        let index = self.index_of(waiting.packet.flow);
        let queue = &mut self.queues[index as usize];
        queue.fifo.push(store, waiting);
        if !queue.listed {
            queue.listed = true;
            queue.deficit = i64::from(self.settings.quantum);
            self.new.push(&mut self.queues, index);
        }
    }

    /// Drops from the head of the queue with the most bytes (section 4.1). False: nothing waits.
    pub(super) fn drop_from_fattest(&mut self, store: &mut Store, dropped: &mut impl Dropped) -> bool {
        // The first of those that are equally fat.
        let fattest = self.queues.iter_mut().rev().max_by_key(|queue| queue.fifo.bytes());
        let Some(queue) = fattest.filter(|queue| queue.fifo.len() > 0) else { return false };
        for _ in 0..queue.fifo.len().div_ceil(2).min(self.settings.drop_batch) {
            let waiting = queue.fifo.pop(store).expect("half of the packets are there");
            dropped.drop_packet(waiting.packet);
        }
        true
    }

    /// The packet that goes next (section 4.2).
    pub(super) fn dequeue(
        &mut self,
        store: &mut Store,
        now: Instant,
        dropped: &mut impl Dropped,
    ) -> Option<Waiting> {
        loop {
            let is_new = self.new.head != NOWHERE;
            let turns = if is_new { &mut self.new } else { &mut self.old };
            let index = turns.head;
            let queue = self.queues.get_mut(index as usize)?;
            if queue.deficit <= 0 {
                queue.deficit += i64::from(self.settings.quantum);
                turns.pop(&self.queues);
                self.old.push(&mut self.queues, index);
                continue;
            }
            if let Some(waiting) =
                queue.codel.dequeue(&self.settings.codel, store, &mut queue.fifo, now, dropped)
            {
                queue.deficit -= i64::from(waiting.packet.bytes);
                return Some(waiting);
            }
            // A new one goes among the old, lest it be new again at once and starve them.
            queue.listed = is_new;
            turns.pop(&self.queues);
            if is_new {
                self.old.push(&mut self.queues, index);
            }
        }
    }

    /// The queue of a flow: a mixing function of the flow and the salt (the finalizer of `SplitMix64`: Steele, Lea and
    /// Flood 2014), scaled to the number of queues.
    fn index_of(&self, flow: u32) -> u32 {
        let mut mixed = u64::from(flow).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.salt;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let scaled = (u128::from(mixed) * u128::from(self.settings.flows)) >> 64;
        u32::try_from(scaled).expect("scaled to fewer than 2^32 queues")
    }
}
