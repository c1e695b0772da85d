//! The scoreboard of selective acknowledgements (RFC 6675).
//!
//! A segment is lost when more than two segments' bytes behind it have arrived (`IsLost`, the rule of bytes with a DupThresh
//! of 3), or when the timer went off. On their way are the segments that are neither sacked nor lost, and the lost ones that
//! were sent again (`SetPipe`). Sent next is the first lost one that was not sent again (`NextSeg`, rule 1), then new data
//! (rule 2), then, in a recovery, the first that has not arrived although something behind it has (rule 3). Rule 4 (the last
//! one as a rescue) is left out: the timer does its work.

use super::history::History;
use crate::tcp::segment::Segment;

impl History {
    /// Takes the blocks of an acknowledgement; bytes that are newly known to have arrived.
    pub(super) fn accept_blocks(&mut self, segment: &Segment) -> u64 {
        let mut bytes = 0;
        for (first, end) in segment.sack.blocks(segment.ack) {
            let from = self.records.partition_point(|record| record.end <= first);
            let mut start = if from == 0 { segment.ack } else { self.records[from - 1].end };
            for record in self.records.range_mut(from..) {
                if record.end > end {
                    break;
                }
                if start >= first && !record.sacked {
                    self.holes += u32::from(!record.lost);
                    record.sacked = true;
                    bytes += record.end - start;
                }
                start = record.end;
            }
        }
        bytes
    }

    /// Finds what is lost by what has arrived behind it; whether the first segment is.
    pub(super) fn find_lost(&mut self, acknowledged: u64, segment: u32) -> bool {
        if self.holes > 0 {
            let mut behind = 0;
            for index in (0..self.records.len()).rev() {
                let start = if index == 0 { acknowledged } else { self.records[index - 1].end };
                let record = &mut self.records[index];
                if record.sacked {
                    behind += record.end - start;
                } else if behind > 2 * u64::from(segment) && !record.lost {
                    record.lost = true;
                    self.holes += 1;
                }
            }
        }
        self.records.front().is_some_and(|record| record.lost)
    }

    /// The first segment is lost, whatever the rule says: three duplicates have come.
    pub(super) fn lose_first(&mut self) {
        if let Some(record) = self.records.front_mut()
            && !record.lost
            && !record.sacked
        {
            record.lost = true;
            record.resent = false;
            self.holes += 1;
        }
    }

    /// The timer went off: everything that has not arrived is lost, sent again or not.
    pub(super) fn lose_all(&mut self) {
        for record in &mut self.records {
            if !record.sacked {
                self.holes += u32::from(!record.lost);
                record.lost = true;
                record.resent = false;
            }
        }
    }

    /// Bytes on their way, of the segments from `acknowledged` to before `next`.
    pub(super) fn pipe(&self, acknowledged: u64, next: u64) -> u64 {
        if self.holes == 0 {
            return next - acknowledged;
        }
        let mut start = acknowledged;
        let mut bytes = 0;
        for record in &self.records {
            if !record.sacked && (!record.lost || record.resent) {
                bytes += record.end - start;
            }
            start = record.end;
        }
        bytes
    }

    /// In a recovery with nothing else to send: the first segment that has not arrived although something behind it has; it is
    /// taken for lost.
    pub(super) fn lose_next(&mut self) {
        let Some(highest) = self.records.iter().rposition(|record| record.sacked) else { return };
        if let Some(record) = self.records.range_mut(..highest).find(|record| !record.sacked && !record.lost)
        {
            record.lost = true;
            record.resent = false;
            self.holes += 1;
        }
    }

    /// The first lost segment that was not sent again: its first offset, and the one behind it.
    pub(super) fn next_lost(&self, acknowledged: u64) -> Option<(u64, u64)> {
        if self.holes == 0 {
            return None;
        }
        let mut start = acknowledged;
        for record in &self.records {
            if record.lost && !record.sacked && !record.resent {
                return Some((start, record.end));
            }
            start = record.end;
        }
        None
    }
}
