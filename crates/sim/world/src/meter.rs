//! One stream of a call as its receiver sees it, and where its packets were lost.

use guestright_engine::{Instant, Nanos};
use guestright_quality::{Analyser, AnalyserConfig, BufferConfig, Codec, Interval, Packet, Summary};
use guestright_units::Micros;

/// What a codec's streams are like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StreamShape {
    pub(crate) codec: Codec,
    /// Bytes of sound in a packet.
    pub(crate) payload_bytes: u32,
    /// Time between packets.
    pub(crate) interval: Nanos,
    /// The receiver's buffer.
    pub(crate) buffer: BufferConfig,
}

impl StreamShape {
    /// IPv4, UDP and RTP headers.
    pub(crate) const HEADERS: u32 = 20 + 8 + 12;

    /// The length of a packet, IPv4, UDP and RTP headers included.
    pub(crate) const fn packet_bytes(&self) -> u32 {
        self.payload_bytes + Self::HEADERS
    }

    #[expect(clippy::cast_possible_truncation, reason = "intervals are limited to a second")]
    fn ticks(&self) -> u32 {
        (self.interval.0 / 1_000 * u64::from(self.codec.facts().clock_rate_hz) / 1_000_000) as u32
    }
}

/// Why a packet did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Loss {
    /// A laptop's queue was full.
    StationQueue,
    /// An access point's queue was full.
    AccessPointQueue,
    /// Given up after the last attempt on the radio.
    Retries,
    /// An access point's processor had too many waiting.
    Backlog,
    /// The wire's queue was full.
    Wire,
    /// The session was not open.
    Closed,
    /// Still on its way when the run ended.
    Unfinished,
}

impl Loss {
    /// How many reasons there are.
    pub(crate) const COUNT: usize = 7;
}

/// Measures one stream.
#[derive(Debug)]
pub(crate) struct StreamMeter {
    analyser: Analyser,
    ticks: u32,
    payload_bytes: usize,
    start: Instant,
    sent: u32,
    expected: u32, // The next number that was not seen yet.
    delivered: u64,
}

impl StreamMeter {
    /// A meter of a stream whose first packet is sent at `start`.
    pub(crate) fn new(shape: &StreamShape, start: Instant) -> Self {
        let config = AnalyserConfig {
            packet: Some(Micros(shape.interval.0 / 1_000)),
            buffer: shape.buffer,
            first_sequence: Some(0),
            ..AnalyserConfig::new(shape.codec)
        };
        Self {
            analyser: Analyser::new(config),
            ticks: shape.ticks(),
            payload_bytes: shape.payload_bytes as usize,
            start,
            sent: 0,
            expected: 0,
            delivered: 0,
        }
    }

    /// The next packet is sent; its number.
    pub(crate) const fn send(&mut self) -> u32 {
        let number = self.sent;
        self.sent += 1;
        number
    }

    /// A packet arrives; how long it took, ms.
    pub(crate) fn deliver(&mut self, number: u32, born: Instant, now: Instant) -> f64 {
        let delay_ms = now.since(born).as_millis();
        self.delivered += 1;
        self.expected = self.expected.max(number + 1);
        #[expect(clippy::cast_possible_truncation, reason = "RTP's numbers wrap")]
        let sequence = number as u16;
        self.analyser.handle_packet(&Packet {
            sequence,
            timestamp: number.wrapping_mul(self.ticks),
            marker: number == 0,
            payload_bytes: self.payload_bytes,
            arrival: now.time(),
            delay_ms: Some(Interval::exact(delay_ms)),
        });
        while self.analyser.poll_row().is_some() {} // Only the whole is of interest; rows would pile up.
        delay_ms
    }

    /// Packets that were sent so far.
    pub(crate) const fn sent(&self) -> u32 {
        self.sent
    }

    /// Packets that arrived.
    pub(crate) const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The call is over: what was not seen by now is lost.
    pub(crate) fn finish(&mut self) -> Summary {
        let missing = u64::from(self.sent - self.expected);
        self.analyser.handle_missing(missing, self.start.time());
        self.expected = self.sent;
        self.analyser.finish();
        self.analyser.summary()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: StreamShape = StreamShape {
        codec: Codec::G729a,
        payload_bytes: 20,
        interval: Nanos::from_millis(20),
        buffer: BufferConfig::PAPER_A,
    };

    fn at(millis: u64) -> Instant {
        Instant::START + Nanos::from_millis(millis)
    }

    #[test]
    fn sees_delay_loss_and_lateness() {
        let mut meter = StreamMeter::new(&SHAPE, at(0));
        let mut arrivals = Vec::new();
        for number in 0..1_000_u32 {
            assert_eq!(meter.send(), number);
            // Of 100 packets one is lost and one is 100 ms late, which is more than the 60 ms that wait in the buffer.
            let sent = u64::from(number) * 20;
            match number % 100 {
                50 => {}
                70 => arrivals.push((at(sent + 105), number)),
                _ => arrivals.push((at(sent + 5), number)),
            }
        }
        arrivals.sort_unstable();
        for (now, number) in arrivals {
            meter.deliver(number, at(u64::from(number) * 20), now);
        }
        let summary = meter.finish();
        assert_eq!(summary.network.lost, 10);
        assert_eq!((summary.counts.late, summary.counts.received), (10, 990));
        let want = 5.0 + 100.0 * 10.0 / 990.0;
        assert!((summary.delay.unwrap().mean_ms.low - want).abs() < 1e-9);
    }

    #[test]
    fn what_is_lost_at_the_end_or_altogether_is_lost() {
        let mut meter = StreamMeter::new(&SHAPE, at(0));
        for number in 0..100_u32 {
            meter.send();
            if number < 75 {
                meter.deliver(number, at(u64::from(number) * 20), at(u64::from(number) * 20 + 1));
            }
        }
        assert_eq!(meter.finish().network.lost, 25);
        let mut silent = StreamMeter::new(&SHAPE, at(3));
        for _ in 0..100 {
            silent.send();
        }
        assert_eq!(silent.finish().network.lost, 100);
    }
}
