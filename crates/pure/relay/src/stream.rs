//! What is known of one stream by its headers: loss by sequence numbers, and jitter.

use guestright_units::Time;
use guestright_wire::rtp::Header;

/// A jump of more than this is not loss but a new beginning (RFC 3550, appendix A.1).
const DROPOUT_MAX: u16 = 3_000;
/// How far back a packet may be late (RFC 3550, appendix A.1).
const MISORDER_MAX: u16 = 100;

/// One stream in one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    pub(crate) ssrc: u32,
    first: u32,
    /// The highest sequence number, with its cycles above bit 16.
    highest: u32,
    received: u64,
    /// What was expected in runs that ended with a jump.
    expected_before: u64,
    /// Arrival less timestamp of the last packet, in units of the stream's clock.
    transit: u32,
    timestamp: u32,
    /// RFC 3550, section 6.4.1, times 16.
    jitter_16: u64,
}

impl Stream {
    pub(crate) fn begin(header: Header, clock_hz: u32, now: Time) -> Self {
        let sequence = u32::from(header.sequence);
        Self {
            ssrc: header.ssrc,
            first: sequence,
            highest: sequence,
            received: 1,
            expected_before: 0,
            transit: ticks(now, clock_hz).wrapping_sub(header.timestamp),
            timestamp: header.timestamp,
            jitter_16: 0,
        }
    }

    /// Counts a packet; whether it is the newest.
    pub(crate) fn count(&mut self, header: Header, clock_hz: u32, now: Time) -> bool {
        self.received += 1;
        let ahead = header.sequence.wrapping_sub(low(self.highest));
        let newest = if ahead == 0 {
            false
        } else if ahead < DROPOUT_MAX {
            self.highest = self.highest.wrapping_add(u32::from(ahead));
            true
        } else if ahead > u16::MAX - MISORDER_MAX {
            false
        } else {
            self.expected_before += self.expected_now();
            self.first = u32::from(header.sequence);
            self.highest = self.first;
            self.transit = ticks(now, clock_hz).wrapping_sub(header.timestamp);
            true
        };
        // Packets of one moment (RFC 4733's events) say nothing about the network.
        if header.timestamp != self.timestamp {
            self.count_jitter(header, clock_hz, now);
        }
        newest
    }

    fn count_jitter(&mut self, header: Header, clock_hz: u32, now: Time) {
        let transit = ticks(now, clock_hz).wrapping_sub(header.timestamp);
        let change = transit.wrapping_sub(self.transit).cast_signed().unsigned_abs();
        (self.transit, self.timestamp) = (transit, header.timestamp);
        // More than ten seconds is a new beginning of the timestamps, and not jitter.
        if change < clock_hz.saturating_mul(10) {
            // J += (|D| - J) / 16, rounded as in appendix A.8.
            self.jitter_16 = self.jitter_16 + u64::from(change) - ((self.jitter_16 + 8) >> 4);
        }
    }

    fn expected_now(&self) -> u64 {
        u64::from(self.highest.wrapping_sub(self.first)) + 1
    }

    /// How many packets there should have been.
    pub(crate) fn expected(&self) -> u64 {
        self.expected_before + self.expected_now()
    }

    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// The jitter of RFC 3550, in microseconds.
    pub(crate) fn jitter_us(&self, clock_hz: u32) -> u64 {
        self.jitter_16 * 1_000_000 / 16 / u64::from(clock_hz.max(1))
    }
}

/// The time in units of a clock, of which only differences count.
#[expect(clippy::cast_possible_truncation, reason = "timestamps wrap")]
fn ticks(now: Time, clock_hz: u32) -> u32 {
    (u128::from(now.0) * u128::from(clock_hz) / 1_000_000) as u32
}

#[expect(clippy::cast_possible_truncation, reason = "the cycles are left out")]
fn low(sequence: u32) -> u16 {
    sequence as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(sequence: u16) -> Header {
        Header { ssrc: 1, sequence, timestamp: u32::from(sequence) * 160, ..Header::default() }
    }

    fn run(sequences: impl IntoIterator<Item = u16>) -> Stream {
        let mut sequences = sequences.into_iter().enumerate();
        let (_, first) = sequences.next().unwrap();
        let mut stream = Stream::begin(header(first), 8_000, Time(0));
        for (index, sequence) in sequences {
            stream.count(header(sequence), 8_000, Time(index as u64 * 20_000));
        }
        stream
    }

    #[test]
    fn expects_what_the_sequence_says() {
        #[rustfmt::skip]
        let cases: [(&str, Vec<u16>, u64, u64); 6] = [
            ("all",            (0..100).collect(),                        100, 100),
            ("one lost",       vec![1, 2, 4, 5],                          5,   4),
            ("across the end", vec![65_534, 65_535, 0, 2],                5,   4),
            ("out of order",   vec![1, 3, 2, 4],                          4,   4),
            ("repeated",       vec![1, 2, 2, 3],                          3,   4),
            ("a new start",    vec![1, 2, 3, 30_000, 30_001, 30_003],     7,   6),
        ];
        for (name, sequences, expected, received) in cases {
            let stream = run(sequences);
            assert_eq!((stream.expected(), stream.received()), (expected, received), "{name}");
        }
    }

    #[test]
    fn goes_round_many_times() {
        let stream = run((0..=u16::MAX).cycle().take(200_000));
        assert_eq!(stream.expected(), 200_000);
    }

    #[test]
    fn jitter_of_alternating_delay_is_the_difference() {
        let mut stream = Stream::begin(header(0), 8_000, Time(0));
        for sequence in 1..2_000_u16 {
            let late = u64::from(sequence % 2) * 4_000;
            let wrapped =
                Header { ssrc: 1, sequence, timestamp: u32::from(sequence) * 160, ..Header::default() };
            stream.count(wrapped, 8_000, Time(u64::from(sequence) * 20_000 + late));
        }
        let jitter = stream.jitter_us(8_000);
        assert!((3_900..=4_100).contains(&jitter), "{jitter}");
    }

    #[test]
    fn an_event_of_many_packets_is_no_jitter() {
        let mut stream = Stream::begin(header(0), 8_000, Time(0));
        for sequence in 1..50_u16 {
            let event = Header { ssrc: 1, sequence, ..Header::default() };
            stream.count(event, 8_000, Time(u64::from(sequence) * 20_000));
        }
        assert_eq!(stream.jitter_us(8_000), 0);
    }
}
