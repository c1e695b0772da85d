//! When and how often each segment was sent that is not acknowledged.

use guestright_engine::Instant;
use std::collections::VecDeque;

/// What is known of a segment that is not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// The offset behind it.
    pub(super) end: u64,
    /// When it was sent last.
    pub(super) sent_at: Instant,
    /// How often it was sent.
    pub(super) sends: u32,
    /// The receiver has it (RFC 2018).
    pub(super) sacked: bool,
    /// It is taken for lost (RFC 6675).
    pub(super) lost: bool,
    /// It was sent again since it was taken for lost.
    pub(super) resent: bool,
}

/// The segments of one flow, in order, without gaps.
#[derive(Clone, Debug)]
pub(super) struct History {
    pub(super) records: VecDeque<Record>,
    /// How many of them are sacked or lost: with none, everything is simple.
    pub(super) holes: u32,
    /// Vegas of ns-2: an array as large as the window, in which a segment has the slot of its number modulo that.
    ring: Option<Box<Ring>>,
}

#[derive(Clone, Debug)]
struct Ring {
    segment: u64,
    slots: Vec<Slot>,
}

/// What ns-2's array knows of the segments that share a slot.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// When the last of them was sent; `None`: was acknowledged, or never sent.
    sent_at: Option<Instant>,
    /// How often that was.
    sends: u32,
}

/// When a segment was sent last, and how often.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transmissions {
    pub(super) last: Instant,
    pub(super) count: u32,
}

impl Slot {
    fn transmissions(self) -> Option<Transmissions> {
        self.sent_at.map(|last| Transmissions { last, count: self.sends })
    }
}

impl Record {
    fn transmissions(&self) -> Transmissions {
        Transmissions { last: self.sent_at, count: self.sends }
    }
}

/// What has left the history because it was acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Left {
    /// Segments, all of them.
    pub(super) segments: u32,
    /// Bytes of these that were not known to have arrived before.
    pub(super) fresh_bytes: u64,
    /// Of the last of them.
    pub(super) last: Option<Transmissions>,
}

impl History {
    pub(super) fn new() -> Self {
        Self { records: VecDeque::with_capacity(32), holes: 0, ring: None }
    }

    /// ns-2's Vegas: `window` segments of `segment` bytes.
    pub(super) fn ring(segment: u32, window: u32) -> Self {
        let slots = vec![Slot::default(); (window / segment.max(1)).clamp(1, 1 << 20) as usize];
        Self { ring: Some(Box::new(Ring { segment: segment.into(), slots })), ..Self::new() }
    }

    /// The segment from `seq` to before `end` is sent; before `fresh` all was sent before.
    pub(super) fn send(&mut self, seq: u64, end: u64, fresh: u64, now: Instant) {
        if let Some(ring) = &mut self.ring {
            let slot = ring.slot(seq);
            slot.sent_at = Some(now);
            slot.sends += 1;
            return;
        }
        if seq >= fresh {
            let fields = Record { end, sent_at: now, sends: 1, sacked: false, lost: false, resent: false };
            self.records.push_back(fields);
            return;
        }
        self.send_again(seq, end, fresh, now);
    }

    fn send_again(&mut self, seq: u64, end: u64, fresh: u64, now: Instant) {
        let from = self.records.partition_point(|record| record.end <= seq);
        for record in self.records.range_mut(from..) {
            record.sends = record.sends.saturating_add(1);
            record.sent_at = now;
            record.resent = record.lost;
            if record.end >= end {
                break;
            }
        }
        if end > fresh {
            // Together with what was sent before: not to be timed either (Karn).
            let fields = Record { end, sent_at: now, sends: 2, sacked: false, lost: false, resent: false };
            self.records.push_back(fields);
        }
    }

    /// Everything from `old` to before `ack` is acknowledged.
    pub(super) fn acknowledge(&mut self, old: u64, ack: u64) -> Left {
        if let Some(ring) = &mut self.ring {
            return ring.acknowledge(old, ack);
        }
        let mut left = Left::default();
        let mut from = old;
        while let Some(record) = self.records.front().copied().filter(|record| record.end <= ack) {
            self.records.pop_front();
            left.segments += 1;
            left.last = Some(record.transmissions());
            if !record.sacked {
                left.fresh_bytes += record.end - from;
            }
            from = record.end;
            self.holes -= u32::from(record.sacked || record.lost);
        }
        if from < ack && self.records.front().is_some_and(|record| !record.sacked) {
            left.fresh_bytes += ack - from;
        }
        left
    }

    /// When the segment at `acknowledged`, the first that is not acknowledged, was sent last, and how often.
    pub(super) fn first(&self, acknowledged: u64) -> Option<Transmissions> {
        match &self.ring {
            Some(ring) => ring.slots[ring.number(acknowledged)].transmissions(),
            None => self.records.front().map(Record::transmissions),
        }
    }
}

impl Ring {
    fn number(&self, offset: u64) -> usize {
        usize::try_from(offset / self.segment).unwrap_or(usize::MAX) % self.slots.len()
    }

    fn slot(&mut self, offset: u64) -> &mut Slot {
        let number = self.number(offset);
        &mut self.slots[number]
    }

    fn acknowledge(&mut self, old: u64, ack: u64) -> Left {
        let segments = u32::try_from((ack - old) / self.segment).unwrap_or(u32::MAX);
        let last = self.number(ack - 1);
        let transmissions = self.slots[last].transmissions();
        let mut number = self.number(old);
        // As ns-2 has it: an acknowledgement that goes past the end of the array and starts behind where it ends forgets
        // nothing, so that segments which are sent there later count as sent before.
        for _ in 0..segments {
            if number > last {
                break;
            }
            self.slots[number] = Slot::default();
            number = (number + 1) % self.slots.len();
        }
        Left { segments, fresh_bytes: ack - old, last: transmissions }
    }
}
