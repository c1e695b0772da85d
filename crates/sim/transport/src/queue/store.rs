//! Packets that wait, in lists that share one store, so that a thousand queues allocate no more than one.

use super::Packet;
use guestright_engine::Instant;

/// No place.
pub(super) const NOWHERE: u32 = u32::MAX;

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) packet: Packet,
    pub(super) since: Instant,
    pub(super) marked: bool,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    waiting: Waiting,
    next: u32,
}

/// All places, those in use and those that are free. Once it has grown, it allocates nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    slots: Vec<Slot>,
    free: Vec<u32>,
    used: usize,
    bytes: u64,
}

impl Store {
    /// Packets in all its lists.
    pub(super) const fn len(&self) -> usize {
        self.used
    }

    /// Bytes in all its lists.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    fn keep(&mut self, waiting: Waiting) -> u32 {
        self.used += 1;
        self.bytes += u64::from(waiting.packet.bytes);
        let slot = Slot { waiting, next: NOWHERE };
        if let Some(index) = self.free.pop() {
            self.slots[index as usize] = slot;
            return index;
        }
        let index = u32::try_from(self.slots.len()).expect("a link holds fewer than 2^24 packets");
        self.slots.push(slot);
        index
    }

    fn remove(&mut self, index: u32) -> Slot {
        let slot = self.slots[index as usize];
        self.used -= 1;
        self.bytes -= u64::from(slot.waiting.packet.bytes);
        self.free.push(index);
        slot
    }
}

/// A list of packets, first in, first out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fifo {
    head: u32,
    tail: u32,
    len: u32,
    bytes: u64,
}

impl Default for Fifo {
    fn default() -> Self {
        Self { head: NOWHERE, tail: NOWHERE, len: 0, bytes: 0 }
    }
}

impl Fifo {
    pub(super) const fn len(&self) -> u32 {
        self.len
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn push(&mut self, store: &mut Store, waiting: Waiting) {
        let index = store.keep(waiting);
        if self.head == NOWHERE {
            self.head = index;
        } else {
            store.slots[self.tail as usize].next = index;
        }
        self.tail = index;
        self.len += 1;
        self.bytes += u64::from(waiting.packet.bytes);
    }

    pub(super) fn pop(&mut self, store: &mut Store) -> Option<Waiting> {
        if self.head == NOWHERE {
            return None;
        }
        let slot = store.remove(self.head);
        self.head = slot.next;
        self.len -= 1;
        self.bytes -= u64::from(slot.waiting.packet.bytes);
        Some(slot.waiting)
    }
}
