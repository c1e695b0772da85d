use crate::Report;
use guestright_units::{Micros, Time};
use std::collections::BTreeSet;

/// Datagrams without sound whose numbers are remembered.
const OTHERS_MAX: usize = 1_024;

/// Counts what comes, for the reports of section 4.1, and gives packets of sound numbers of their own.
#[derive(Debug, Default)]
pub(super) struct Reception {
    highest: Option<u64>,
    highest_sound: Option<u64>,
    /// Where the interval began.
    base: u64,
    received: u32,
    late_before: u64,
    number: u32,
    /// Numbers of datagrams without sound that came in turn, the recent ones, and how many there were before them.
    others: BTreeSet<u64>,
    others_before: u64,
    transit: Option<i64>,
    jitter_us: u64,
}

impl Reception {
    /// Notes a datagram. Says whether it is the newest so far.
    pub(super) fn datagram(&mut self, sequence: u64) -> bool {
        self.received = self.received.saturating_add(1);
        let is_newest = self.highest.is_none_or(|highest| sequence > highest);
        if self.highest.is_none() {
            self.base = sequence.saturating_sub(1);
        }
        self.highest = self.highest.max(Some(sequence));
        is_newest
    }

    /// Notes a datagram without sound, so that its number does not count as lost sound.
    pub(super) fn other(&mut self, sequence: u64) {
        // One that was overtaken by sound leaves a hole, or two packets of sound would have the same number.
        if self.highest_sound.is_some_and(|highest| sequence < highest) {
            return;
        }
        self.others.insert(sequence);
        if self.others.len() > OTHERS_MAX {
            self.others.pop_first();
            self.others_before += 1;
        }
    }

    /// The number of a packet of sound among packets of sound, and how its transit differs from the one before.
    pub(super) fn sound(&mut self, sequence: u64, media: Micros, now: Time) -> u64 {
        self.highest_sound = self.highest_sound.max(Some(sequence));
        let transit = now.0.cast_signed().wrapping_sub(media.0.cast_signed());
        if let Some(before) = self.transit {
            // RFC 3550, section 6.4.1: J += (|D| - J) / 16.
            let change = transit.abs_diff(before).min(10_000_000);
            self.jitter_us = self.jitter_us - self.jitter_us / 16 + change / 16;
        }
        self.transit = Some(transit);
        let others = self.others_before + self.others.range(..sequence).count() as u64;
        sequence.saturating_sub(others)
    }

    /// The report of the interval that ends now.
    ///
    /// - `late`: packets of sound that came too late, since the beginning.
    pub(super) fn report(&mut self, late: u64) -> Report {
        let highest = self.highest.unwrap_or(self.base);
        let narrow = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let report = Report {
            number: self.number,
            expected: narrow(highest.saturating_sub(self.base)),
            received: self.received,
            late: narrow(late.saturating_sub(self.late_before)),
            jitter_us: narrow(self.jitter_us),
        };
        self.number = self.number.saturating_add(1);
        (self.base, self.received, self.late_before) = (highest, 0, late);
        report
    }

    pub(super) fn jitter(&self) -> Micros {
        Micros(self.jitter_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sound_has_numbers_without_holes_where_messages_are() {
        let mut reception = Reception::default();
        let mut numbers = Vec::new();
        // Sequence, and whether it is sound; 6 comes after 7, so it leaves a hole.
        let came = [(10, true), (11, false), (12, true), (13, false), (14, false), (15, true), (7, true)];
        let came = came.into_iter().chain([(17, true), (16, false), (18, true)]);
        for (sequence, is_sound) in came {
            reception.datagram(sequence);
            match is_sound {
                true => numbers.push(reception.sound(sequence, Micros(0), Time(0))),
                false => reception.other(sequence),
            }
        }
        assert_eq!(numbers, [10, 11, 12, 7, 14, 15]);
    }

    #[test]
    fn a_report_is_of_its_interval_alone() {
        let mut reception = Reception::default();
        for sequence in [5, 6, 8, 9] {
            reception.datagram(sequence);
        }
        let report = reception.report(3);
        assert_eq!((report.number, report.expected, report.received, report.late), (0, 5, 4, 3));
        assert!(!reception.datagram(7), "it was overtaken");
        assert!(reception.datagram(12));
        let report = reception.report(4);
        assert_eq!((report.number, report.expected, report.received, report.late), (1, 3, 2, 1));
    }

    #[test]
    fn jitter_follows_rfc_3550() {
        let mut reception = Reception::default();
        for (media, now) in [(0, 1_000), (20_000, 21_000), (40_000, 41_000 + 1_600), (60_000, 61_000)] {
            reception.sound(media, Micros(media), Time(now));
        }
        assert_eq!(reception.jitter(), Micros(100 - 100 / 16 + 100));
    }
}
