//! RED: drops at random, and the more so the longer the queue is on average.
//!
//! Source: S. Floyd and V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM Transactions on
//! Networking 1(4), 1993; "gentle": S. Floyd, "Recommendation on using the gentle variant of RED", 2000. The settings
//! have the names that ns-2 gives them, and its behaviour where the paper leaves it open: the packet that is being
//! sent is not in the averaged queue; the first packet after the average has crossed `thresh` is never dropped; with
//! `wait`, drops are at least `1 / p` packets apart.

use super::{Ecn, Packet};
use crate::error::SettingsError;
use crate::link_number::LinkNumber;
use guestright_engine::{Instant, Stream};
use rand::Rng;

/// RED's settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedSettings {
    /// Packets on average below which nothing is dropped.
    pub thresh: f64,
    /// Packets on average from which everything is dropped (gentle: from twice as many).
    pub maxthresh: f64,
    /// One in so many is dropped where the average is `maxthresh`; at least 1.
    pub linterm: f64,
    /// The weight of a new value in the average, above 0 and at most 1.
    pub q_weight: f64,
    /// Between `maxthresh` and twice that, the share that is dropped grows from `1 / linterm` to all.
    pub gentle: bool,
    /// Whether there is a pause of `1 / p` packets after each drop.
    pub wait: bool,
    /// Bytes of a typical packet: how many could have come while the queue was idle.
    pub mean_pktsize: u32,
    /// Whether packets that may be marked are marked instead of dropped (ns-2: `setbit_`).
    pub setbit: bool,
    /// Where more than this share is to be dropped, it is dropped, not marked.
    pub mark_p: f64,
}

impl RedSettings {
    /// Thresholds of a quarter and three quarters of a buffer of `packets` (5 and 15 of 20), the rest as ns-2 2.35 has
    /// it: `linterm` 10, `q_weight` 0.002, gentle, with pauses, packets of 500 bytes, marks below 0.1.
    #[must_use]
    pub fn for_buffer(packets: u32) -> Self {
        let quarter = (f64::from(packets) / 4.0).max(1.0);
        Self { thresh: quarter, maxthresh: 3.0 * quarter, ..Self::ns2() }
    }

    /// The defaults of ns-2 2.35, with the thresholds that it had before it chose them itself: 5 and 15.
    #[must_use]
    pub const fn ns2() -> Self {
        Self {
            thresh: 5.0,
            maxthresh: 15.0,
            linterm: 10.0,
            q_weight: 0.002,
            gentle: true,
            wait: true,
            mean_pktsize: 500,
            setbit: false,
            mark_p: 0.1,
        }
    }

    fn check(&self, number: LinkNumber) -> Result<(), SettingsError> {
        let link = number.0;
        let wrong = |setting, want| Err(SettingsError::Red { link, setting, want });
        if !(self.thresh >= 0.0 && self.thresh < self.maxthresh && self.maxthresh <= 1e9) {
            return wrong("thresh and maxthresh", "0 <= thresh < maxthresh <= 1e9");
        }
        if !(self.linterm >= 1.0 && self.linterm <= 1e9) {
            return wrong("linterm", "1 to 1e9");
        }
        if !(self.q_weight > 0.0 && self.q_weight <= 1.0) {
            return wrong("q_weight", "above 0, at most 1");
        }
        if self.mean_pktsize == 0 {
            return wrong("mean_pktsize", "1 or more");
        }
        if !(0.0..=1.0).contains(&self.mark_p) {
            return wrong("mark_p", "0 to 1");
        }
        Ok(())
    }

    /// The share that is to go at this average, before drops are spread (`p_b` of the paper).
    fn share(&self, average: f64) -> f64 {
        let max_p = 1.0 / self.linterm;
        let share = if average < self.maxthresh {
            max_p * (average - self.thresh) / (self.maxthresh - self.thresh)
        } else if self.gentle {
            max_p + (1.0 - max_p) * (average - self.maxthresh) / self.maxthresh
        } else {
            1.0
        };
        share.min(1.0)
    }

    /// The chance of the `count`th packet since the last drop, so that drops are spread evenly (`p_a` of the paper).
    fn spread(&self, share: f64, count: u64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a count of packets, compared with small numbers")]
        let expected = count as f64 * share;
        let pause = if self.wait { 1.0 } else { 0.0 };
        if expected < pause {
            0.0
        } else if expected < pause + 1.0 {
            (share / (pause + 1.0 - expected)).min(1.0)
        } else {
            1.0
        }
    }
}

/// What becomes of a packet that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Accept,
    Mark,
    Drop,
}

/// The state of one queue.
#[derive(Clone, Debug)]
pub(super) struct Red {
    settings: RedSettings,
    /// Bits per second of the link.
    rate: u64,
    chance: Stream,
    average: f64,
    /// Packets since the last drop.
    count: u64,
    /// Whether the average was above `thresh` at the packet before.
    above: bool,
    /// Since when nothing waits and nothing is sent.
    idle_since: Option<Instant>,
}

impl Red {
    pub(super) fn new(
        number: LinkNumber,
        settings: RedSettings,
        rate: u64,
        chance: Stream,
    ) -> Result<Self, SettingsError> {
        settings.check(number)?;
        let idle_since = Some(Instant::START);
        Ok(Self { settings, rate, chance, average: 0.0, count: 0, above: false, idle_since })
    }

    /// Nothing is left to send.
    pub(super) const fn idle(&mut self, now: Instant) {
        self.idle_since = Some(now);
    }

    /// A packet comes to a queue in which `len` wait.
    pub(super) fn arrive(&mut self, packet: Packet, len: u32, now: Instant, has_room: bool) -> Choice {
        self.estimate(len, now);
        self.count += 1;
        let mut choice = Choice::Accept;
        if self.average >= self.settings.thresh && len > 1 {
            if self.above {
                choice = self.early(packet);
            } else {
                self.above = true;
                self.count = 1;
            }
        } else {
            self.above = false;
        }
        if has_room {
            return choice;
        }
        if choice != Choice::Drop {
            self.count = 0;
        }
        Choice::Drop
    }

    /// The average, as if small packets had come to an empty queue while it was idle.
    fn estimate(&mut self, len: u32, now: Instant) {
        let keep = 1.0 - self.settings.q_weight;
        if let Some(since) = self.idle_since.take() {
            let bits = u128::from(self.settings.mean_pktsize) * 8;
            let missed = u128::from(now.since(since).0) * u128::from(self.rate) / (bits * 1_000_000_000);
            self.average *= power(keep, u64::try_from(missed).unwrap_or(u64::MAX));
        }
        self.average = self.average * keep + self.settings.q_weight * f64::from(len);
    }

    fn early(&mut self, packet: Packet) -> Choice {
        let share = self.settings.share(self.average);
        let chance = self.settings.spread(share, self.count);
        // 53 bits are what an f64 holds: 0 <= drawn < 1.
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let drawn = (self.chance.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        if drawn >= chance {
            return Choice::Accept;
        }
        self.count = 0;
        if self.settings.setbit && packet.ecn != Ecn::Not && share <= self.settings.mark_p {
            return Choice::Mark;
        }
        Choice::Drop
    }
}

/// `base` to the `exponent`, by multiplication alone, so that it is the same everywhere.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 && result > 0.0 {
        if exponent % 2 == 1 {
            result *= base;
        }
        base *= base;
        exponent /= 2;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_engine::{Pool, Streams};
    use guestright_units::Seed;

    const NUMBER: LinkNumber = LinkNumber(0);

    fn red(settings: RedSettings) -> Red {
        let chance = Streams::new(Seed::from_number(1)).stream("random early detection", 0);
        // 500 bytes are 1 ms.
        Red::new(NUMBER, settings, 4_000_000, chance).expect("the settings can be")
    }

    #[test]
    fn the_average_falls_while_nothing_is_sent_as_if_small_packets_came() {
        let packet = Packet { key: Pool::new().insert(()), bytes: 1_000, flow: 0, ecn: Ecn::Not };
        let mut red =
            red(RedSettings { q_weight: 0.5, thresh: 100.0, maxthresh: 200.0, ..RedSettings::ns2() });
        let mut averages = Vec::new();
        let steps =
            [(0, 4, false), (0, 8, false), (10, 0, true), (10, 0, false), (13, 8, true), (20, 8, true)];
        for (millis, len, idle) in steps {
            let now = Instant(millis * 1_000_000);
            red.arrive(packet, len, now, true);
            averages.push(red.average);
            if idle {
                red.idle(now);
            }
        }
        // 4/2; (2 + 8)/2; 5/2. Idle for no time: 2.5/2. Not idle: (1.25 + 8)/2. Idle for seven packets: (4.625/2^7 + 8)/2.
        assert_eq!(averages, [2.0, 5.0, 2.5, 1.25, 4.625, 4.0 + 4.625 / 256.0]);
    }

    #[test]
    fn the_share_grows_from_nothing_to_all() {
        let gentle = RedSettings { thresh: 5.0, maxthresh: 15.0, linterm: 10.0, ..RedSettings::ns2() };
        let steep = RedSettings { gentle: false, ..gentle };
        // Half way up: 0.05; at 15: 0.1; gentle goes on to 1 at 30.
        for (average, want, gentle_want) in [
            (5.0, 0.0, 0.0),
            (10.0, 0.05, 0.05),
            (15.0, 1.0, 0.1),
            (22.5, 1.0, 0.55),
            (30.0, 1.0, 1.0),
            (90.0, 1.0, 1.0),
        ] {
            assert!((steep.share(average) - want).abs() < 1e-12, "{average}");
            assert!((gentle.share(average) - gentle_want).abs() < 1e-12, "{average}");
        }
    }

    #[test]
    fn a_power_is_many_products() {
        assert_eq!((power(0.5, 0), power(0.5, 10), power(1.0, u64::MAX)), (1.0, 1.0 / 1_024.0, 1.0));
        assert_eq!(power(0.998, u64::MAX), 0.0);
        let product = std::iter::repeat_n(0.998, 1_000).product::<f64>();
        assert!((power(0.998, 1_000) - product).abs() < 1e-12);
    }
}
