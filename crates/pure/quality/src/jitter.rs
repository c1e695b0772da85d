//! Variation of delay, by three definitions that are often confused.
//!
//! For packets in the order in which they arrive, `D = (R_j − R_i) − (S_j − S_i)`, where `R` is the arrival and `S`
//! the time in the RTP timestamp. A constant difference of clocks cancels in `D`; drift does not.
//!
//! - **RFC 3550**: `J += (|D| − J) / 16` (section 6.4.1): a running estimate that forgets.
//! - **mean |D|**: the plain mean of the same differences.
//! - **inter-arrival deviation**: the standard deviation of `R_j − R_i` alone. It sees no timestamps, so losses and
//!   silence count as variation. Tools that show it as "jitter" show the gaps too.
//!
//! Source: <https://www.rfc-editor.org/rfc/rfc3550#section-6.4.1>.

use guestright_units::Time;
use serde::Serialize;

/// Differences beyond this are a break in the timestamps (a new source, a clock that was set), not jitter, ms.
const BREAK_MS: f64 = 10_000.0;

/// Measures jitter packet by packet.
#[derive(Clone, Debug, Default)]
pub struct JitterMeter {
    last: Option<(Time, u32)>,
    j_ms: f64,
    differences: u64,
    sum_abs_d_ms: f64,
    gaps: Spread,
    breaks: u64,
}

/// The three figures in ms. `None`: fewer than two packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Jitter {
    /// RFC 3550's `J` at the end.
    pub rfc3550_ms: Option<f64>,
    /// Mean of `|D|`.
    pub mean_abs_d_ms: Option<f64>,
    /// Standard deviation of the time between arrivals, gaps included.
    pub interarrival_deviation_ms: Option<f64>,
    /// Breaks in the timestamps, which were left out.
    pub breaks: u64,
}

/// Mean and variance in one pass (Welford).
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Spread {
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn deviation(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.squares / self.count as f64).sqrt())
    }
}

impl JitterMeter {
    /// Takes a packet: when it arrived, its RTP timestamp, and ticks per second of that. Returns `|D|` in ms, if
    /// there was a packet before and the timestamps did not break.
    pub fn add(&mut self, arrival: Time, timestamp: u32, clock_rate_hz: u32) -> Option<f64> {
        let (last_arrival, last_timestamp) = self.last.replace((arrival, timestamp))?;
        let gap_ms = signed_ms(last_arrival, arrival);
        let ticks = timestamp.wrapping_sub(last_timestamp).cast_signed();
        let media_ms = f64::from(ticks) * 1e3 / f64::from(clock_rate_hz.max(1));
        let d_ms = (gap_ms - media_ms).abs();
        self.gaps.add(gap_ms);
        if d_ms > BREAK_MS {
            self.breaks += 1;
            return None;
        }
        self.differences += 1;
        self.sum_abs_d_ms += d_ms;
        self.j_ms += (d_ms - self.j_ms) / 16.0;
        Some(d_ms)
    }

    /// Forgets the packet before, so that a new source is not compared with the old one.
    pub fn restart(&mut self) {
        self.last = None;
    }

    /// The figures so far.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub fn jitter(&self) -> Jitter {
        let any = self.differences > 0;
        Jitter {
            rfc3550_ms: any.then_some(self.j_ms),
            mean_abs_d_ms: any.then(|| self.sum_abs_d_ms / self.differences as f64),
            interarrival_deviation_ms: self.gaps.deviation(),
            breaks: self.breaks,
        }
    }

    /// Starts new sums for the next interval. RFC 3550's estimate and the packet before go on.
    pub fn next_interval(&mut self) {
        self.differences = 0;
        self.sum_abs_d_ms = 0.0;
        self.gaps = Spread::default();
        self.breaks = 0;
    }
}

/// `to − from` in ms, negative if `to` is earlier.
#[expect(clippy::cast_precision_loss, reason = "spans are far below 2^52 µs")]
pub(crate) fn signed_ms(from: Time, to: Time) -> f64 {
    if to >= from { to.since(from).0 as f64 / 1e3 } else { -(from.since(to).0 as f64 / 1e3) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(arrivals_ms: &[u64], timestamps: &[u32]) -> Jitter {
        let mut meter = JitterMeter::default();
        for (arrival, timestamp) in arrivals_ms.iter().zip(timestamps) {
            meter.add(Time(arrival * 1000), *timestamp, 8000);
        }
        meter.jitter()
    }

    #[test]
    fn one_packet_has_no_jitter_and_none_is_claimed() {
        assert_eq!(run(&[5], &[0]), Jitter::default());
    }

    #[test]
    fn three_definitions_by_hand() {
        // Sent every 20 ms; D is 0, 16, 16.
        let jitter = run(&[0, 20, 56, 60], &[0, 160, 320, 480]);
        let j = 16.0 / 16.0 + (16.0 - 1.0) / 16.0;
        assert!((jitter.rfc3550_ms.unwrap() - j).abs() < 1e-12);
        assert!((jitter.mean_abs_d_ms.unwrap() - 32.0 / 3.0).abs() < 1e-12);
        // Gaps 20, 36, 4: mean 20, variance (0 + 256 + 256) / 3.
        assert!((jitter.interarrival_deviation_ms.unwrap() - (512.0_f64 / 3.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_lost_packet_is_no_jitter_but_deviates_arrivals() {
        let jitter = run(&[0, 20, 60, 80], &[0, 160, 480, 640]);
        assert_eq!(jitter.rfc3550_ms, Some(0.0));
        assert_eq!(jitter.mean_abs_d_ms, Some(0.0));
        assert!(jitter.interarrival_deviation_ms.unwrap() > 9.0);
    }

    #[test]
    fn timestamps_wrap_and_packets_change_places() {
        let jitter = run(&[0, 20, 40], &[u32::MAX - 159, 0, 160]);
        assert_eq!(jitter.rfc3550_ms, Some(0.0));
        // The third overtakes the second: D is 20, then 40, then 20.
        let jitter = run(&[0, 20, 40, 60], &[0, 320, 160, 480]);
        assert_eq!(jitter.mean_abs_d_ms, Some((20.0 + 40.0 + 20.0) / 3.0));
    }

    #[test]
    fn a_break_in_the_timestamps_is_counted_not_averaged() {
        let jitter = run(&[0, 20, 40, 60], &[0, 160, 900_000_000, 900_000_160]);
        assert_eq!(jitter.breaks, 1);
        assert_eq!(jitter.mean_abs_d_ms, Some(0.0));
    }
}
