use crate::output::Msdu;
use guestright_engine::Instant;
use std::collections::BTreeMap;

/// MSDUs of one MPDU, with the times at which they were queued.
pub(super) type Msdus = Vec<(Msdu, Instant)>;

/// MPDUs from one sender to one receiver in one category: their numbers, and the receiver's buffer that puts them in order
/// (10.25.6.6).
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// Of the next MPDU that is sent for the first time.
    next: u32,
    /// The first MPDU that the receiver has not passed on.
    expected: u32,
    /// What came before its predecessors; `None` for what the sender gave up.
    held: BTreeMap<u32, Option<(Msdus, u32)>>,
}

impl Flow {
    pub(super) const fn number(&mut self) -> u32 {
        let number = self.next;
        self.next += 1;
        number
    }

    pub(super) const fn next(&self) -> u32 {
        self.next
    }

    /// Has MPDU `number` arrive after so many attempts; `false` if the receiver had it.
    pub(super) fn receive(&mut self, number: u32, msdus: Msdus, attempts: u32) -> bool {
        if number < self.expected || self.held.contains_key(&number) {
            return false;
        }
        self.held.insert(number, Some((msdus, attempts)));
        true
    }

    /// The sender has given MPDU `number` up, and its window moves on.
    pub(super) fn give_up(&mut self, number: u32) {
        if number >= self.expected {
            self.held.entry(number).or_insert(None);
        }
    }

    /// The next MPDU that is in order.
    pub(super) fn release(&mut self) -> Option<(Msdus, u32)> {
        loop {
            let held = self.held.remove(&self.expected)?;
            self.expected += 1;
            if held.is_some() {
                return held;
            }
        }
    }
}
