//! The retransmission timeout (RFC 6298, sections 2 and 5).
//!
//! - First round-trip time `R`: `SRTT = R`, `RTTVAR = R / 2`.
//! - Others: `RTTVAR += (|SRTT - R| - RTTVAR) / 4`, then `SRTT += (R - SRTT) / 8`.
//! - `RTO = SRTT + max(G, 4 RTTVAR)`, within bounds; doubled for each timeout until there is a new round-trip time.
//!
//! Microseconds throughout. `SRTT` is kept times 8 and `RTTVAR` times 4, so nothing but the last step rounds (down), as
//! in the appendix of Jacobson and Karels, "Congestion Avoidance and Control", 1988.

use crate::settings::SettingsError;
use guestright_units::{Micros, Time};

/// Bounds of the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeoutSettings {
    /// Before the first round-trip time.
    pub initial: Micros,
    /// Never below this.
    pub min: Micros,
    /// Never above this, doubled or not.
    pub max: Micros,
    /// `G`: the least that is added to the smoothed round-trip time. The RFC's clock granularity.
    pub granularity: Micros,
    /// The clock that round-trip times are measured with: how long between two ticks; zero: one that is exact. With ticks, the
    /// sums are those of ns-2 and BSD, in whole ticks: see [`TimeoutSettings::ns2`].
    pub tick: Micros,
    /// How long before the start of time the clock ticked last; less than `tick`. ns-2 draws one for each flow.
    pub phase: Micros,
}

impl TimeoutSettings {
    /// RFC 6298: 1 s at first and at least, 60 s at most.
    #[must_use]
    pub const fn rfc6298() -> Self {
        Self {
            initial: Micros(1_000_000),
            min: Micros(1_000_000),
            max: Micros(60_000_000),
            granularity: Micros(1_000),
            tick: Micros(0),
            phase: Micros(0),
        }
    }

    /// Linux 2.4 and 2.6: 3 s at first (RFC 2988), 200 ms *above* the round-trip time at least, 120 s at most.
    #[must_use]
    pub const fn linux_2_6_8() -> Self {
        Self {
            initial: Micros(3_000_000),
            min: Micros(200_000),
            max: Micros(120_000_000),
            granularity: Micros(200_000),
            tick: Micros(0),
            phase: Micros(0),
        }
    }

    /// ns-2.35 by default (`tcp.cc`, with `rfc2988_`): 3 s at first, 0.2 s at least, 60 s at most, a clock of 10 ms.
    ///
    /// A round trip is counted in ticks, at least one. With `d = R - (SRTT8 >> 3)`: `SRTT8 += d`,
    /// `RTTVAR4 += |d| - (RTTVAR4 >> 2)`, both at least 1; `RTO = RTTVAR4 + (SRTT8 >> 3)` ticks. When it was doubled four times
    /// the estimate is forgotten, and the next round-trip time is taken for the first.
    #[must_use]
    pub const fn ns2() -> Self {
        Self {
            initial: Micros(3_000_000),
            min: Micros(200_000),
            max: Micros(60_000_000),
            granularity: Micros(0),
            tick: Micros(10_000),
            phase: Micros(0),
        }
    }

    /// Linux since 2011: as before, with 1 s at first.
    #[must_use]
    pub const fn linux() -> Self {
        Self { initial: Micros(1_000_000), ..Self::linux_2_6_8() }
    }
}

/// Turns round-trip times into a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetransmissionTimeout {
    settings: TimeoutSettings,
    /// `SRTT` times 8, in microseconds (or ticks); `None` before the first.
    smoothed_8: Option<u64>,
    /// `RTTVAR` times 4, in microseconds (or ticks).
    variation_4: u64,
    /// Without doubling.
    base: Micros,
    doublings: u32,
}

impl RetransmissionTimeout {
    /// That of a new flow.
    ///
    /// # Errors
    ///
    /// If the least timeout is zero or above the most, or the first is above the most.
    pub const fn new(settings: TimeoutSettings) -> Result<Self, SettingsError> {
        let TimeoutSettings { initial, min, max, .. } = settings;
        if min.0 == 0 || min.0 > max.0 || initial.0 == 0 || initial.0 > max.0 {
            return Err(SettingsError::Timeout { min_us: min.0, initial_us: initial.0, max_us: max.0 });
        }
        Ok(Self { settings, smoothed_8: None, variation_4: 0, base: initial, doublings: 0 })
    }

    /// The timeout as it is now, doublings and all.
    #[must_use]
    pub fn timeout(&self) -> Micros {
        if self.doublings == 0 {
            return self.base;
        }
        // 2^63 us are more than any bound.
        let doubled = self.base.0.saturating_mul(1 << self.doublings.min(62));
        Micros(doubled.min(self.settings.max.0))
    }

    /// The smoothed round-trip time; `None` before the first.
    #[must_use]
    pub fn smoothed(&self) -> Option<Micros> {
        self.smoothed_8.map(|smoothed| Micros(smoothed * self.unit() / 8))
    }

    /// The smoothed deviation of round-trip times from their mean.
    #[must_use]
    pub const fn variation(&self) -> Micros {
        Micros(self.variation_4 * self.unit() / 4)
    }

    /// Microseconds that the estimates are counted in.
    const fn unit(&self) -> u64 {
        if self.settings.tick.0 == 0 { 1 } else { self.settings.tick.0 }
    }

    /// How often the timeout was doubled since the last round-trip time.
    #[must_use]
    pub const fn doublings(&self) -> u32 {
        self.doublings
    }

    /// A segment that was sent once was acknowledged after `round_trip`.
    pub fn on_round_trip(&mut self, round_trip: Micros) {
        let sample = round_trip.0.min(self.settings.max.0);
        let smoothed = match self.smoothed_8 {
            None => {
                self.variation_4 = 2 * sample;
                8 * sample
            }
            Some(smoothed) => {
                let deviation = (smoothed / 8).abs_diff(sample);
                self.variation_4 = self.variation_4 - self.variation_4 / 4 + deviation;
                smoothed - smoothed / 8 + sample
            }
        };
        self.smoothed_8 = Some(smoothed);
        let timeout = smoothed / 8 + self.variation_4.max(self.settings.granularity.0);
        self.base = Micros(timeout.clamp(self.settings.min.0, self.settings.max.0));
        self.doublings = 0;
    }

    /// A segment that was sent once, at `sent`, was acknowledged at `now`: [`Self::on_round_trip`] by the clock that is set.
    pub fn on_acknowledged(&mut self, sent: Time, now: Time) {
        let tick = self.settings.tick.0;
        if tick == 0 {
            return self.on_round_trip(now.since(sent));
        }
        let phase = self.settings.phase.0;
        let ticks = ((now.0 + phase) / tick).saturating_sub((sent.0 + phase) / tick).max(1);
        let smoothed = match self.smoothed_8 {
            None => {
                self.variation_4 = 2 * ticks;
                8 * ticks
            }
            Some(smoothed) => {
                let mean = smoothed / 8;
                let deviation = mean.abs_diff(ticks);
                self.variation_4 = (self.variation_4 + deviation - self.variation_4 / 4).max(1);
                (smoothed + ticks - mean).max(1)
            }
        };
        self.smoothed_8 = Some(smoothed);
        let timeout = (self.variation_4 + smoothed / 8).saturating_mul(tick);
        self.base = Micros(timeout.clamp(self.settings.min.0, self.settings.max.0));
        self.doublings = 0;
    }

    /// The timer went off.
    pub const fn on_timeout(&mut self) {
        self.doublings = self.doublings.saturating_add(1);
        if self.settings.tick.0 > 0 && self.doublings >= 4 {
            self.smoothed_8 = None;
        }
    }

    /// The connection opened, but its SYN had timed out: start from 3 s if there is less (RFC 6298, section 5.7).
    pub fn on_late_open(&mut self) {
        if self.smoothed_8.is_none() {
            self.base = Micros(self.base.0.max(3_000_000).min(self.settings.max.0));
            self.doublings = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn follows_the_formulas_by_hand() {
        let mut timeout = RetransmissionTimeout::new(TimeoutSettings {
            initial: Micros(1_000_000),
            min: Micros(1_000),
            max: Micros(60_000_000),
            granularity: Micros(1_000),
            ..TimeoutSettings::rfc6298()
        })
        .unwrap();
        assert_eq!(timeout.timeout(), Micros(1_000_000));
        // R = 100 ms: SRTT 100, RTTVAR 50, RTO 100 + 200.
        timeout.on_round_trip(Micros(100_000));
        assert_eq!(timeout.smoothed(), Some(Micros(100_000)));
        assert_eq!(timeout.variation(), Micros(50_000));
        assert_eq!(timeout.timeout(), Micros(300_000));
        // R = 180: RTTVAR 50 + (80 - 50) / 4 = 57.5, SRTT 100 + 80 / 8 = 110, RTO 110 + 230.
        timeout.on_round_trip(Micros(180_000));
        assert_eq!(timeout.smoothed(), Some(Micros(110_000)));
        assert_eq!(timeout.variation(), Micros(57_500));
        assert_eq!(timeout.timeout(), Micros(340_000));
        // R = 110: RTTVAR 57.5 * 3 / 4 = 43.125, SRTT stays, RTO 110 + 172.5.
        timeout.on_round_trip(Micros(110_000));
        assert_eq!(timeout.timeout(), Micros(282_500));
    }

    #[test]
    fn doubles_up_to_its_bound_until_there_is_a_round_trip_time() {
        let mut timeout = RetransmissionTimeout::new(TimeoutSettings::rfc6298()).unwrap();
        timeout.on_round_trip(Micros(10_000));
        let mut seconds = Vec::new();
        for _ in 0..8 {
            seconds.push(timeout.timeout().0 / 1_000_000);
            timeout.on_timeout();
        }
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        for _ in 0..200 {
            timeout.on_timeout();
        }
        assert_eq!(timeout.timeout(), Micros(60_000_000));
        timeout.on_round_trip(Micros(10_000));
        assert_eq!(timeout.timeout(), Micros(1_000_000));
    }

    #[test]
    fn linux_adds_its_least_to_the_round_trip_time() {
        let mut timeout = RetransmissionTimeout::new(TimeoutSettings::linux_2_6_8()).unwrap();
        assert_eq!(timeout.timeout(), Micros(3_000_000));
        for _ in 0..100 {
            timeout.on_round_trip(Micros(30_000));
        }
        assert_eq!(timeout.timeout(), Micros(230_000));
    }

    #[test]
    fn ns2_counts_in_ticks() {
        let mut timeout = RetransmissionTimeout::new(TimeoutSettings::ns2()).unwrap();
        assert_eq!(timeout.timeout(), Micros(3_000_000));
        // From 7 to 68 ms: ticks at 10, 20, .. 60. SRTT8 48, RTTVAR4 12: 12 + 6 ticks, and no less than 200 ms.
        timeout.on_acknowledged(Time(7_000), Time(68_000));
        assert_eq!((timeout.smoothed(), timeout.variation()), (Some(Micros(60_000)), Micros(30_000)));
        assert_eq!(timeout.timeout(), Micros(200_000));
        // 25 ticks: d = 19, SRTT8 67, RTTVAR4 12 + 19 - 3 = 28: 28 + 8 ticks.
        timeout.on_acknowledged(Time(100_000), Time(350_000));
        assert_eq!(timeout.timeout(), Micros(360_000));
        // 1 tick, the least: d = -7, SRTT8 60, RTTVAR4 28 + 7 - 7: 28 + 7 ticks.
        timeout.on_acknowledged(Time(401_000), Time(408_000));
        assert_eq!(timeout.timeout(), Micros(350_000));
        // With another phase there is a tick between the two.
        let settings = TimeoutSettings { phase: Micros(5_000), min: Micros(1_000), ..TimeoutSettings::ns2() };
        let mut shifted = RetransmissionTimeout::new(settings).unwrap();
        shifted.on_acknowledged(Time(7_000), Time(68_000));
        // Ticks at 15, 25, .. 65: 6 of them; with 4 ms less, 5: 10 + 5.
        assert_eq!(shifted.timeout(), Micros(180_000));
        let mut shifted = RetransmissionTimeout::new(settings).unwrap();
        shifted.on_acknowledged(Time(7_000), Time(64_000));
        assert_eq!(shifted.timeout(), Micros(150_000));
    }

    #[test]
    fn ns2_forgets_after_four_doublings() {
        let mut timeout = RetransmissionTimeout::new(TimeoutSettings::ns2()).unwrap();
        timeout.on_acknowledged(Time(0), Time(100_000));
        let mut seen = Vec::new();
        for _ in 0..8 {
            seen.push((timeout.timeout().0 / 100_000, timeout.smoothed().is_some()));
            timeout.on_timeout();
        }
        // 20 + 10 ticks.
        let want = [3, 6, 12, 24, 48, 96, 192, 384].map(|tenths| (tenths, tenths < 48));
        assert_eq!(seen, want);
        assert_eq!(timeout.timeout(), Micros(60_000_000));
        timeout.on_acknowledged(Time(0), Time(50_000));
        assert_eq!((timeout.smoothed(), timeout.timeout()), (Some(Micros(50_000)), Micros(200_000)));
    }

    #[test]
    fn a_lost_syn_makes_the_first_timeout_three_seconds() {
        let mut timeout = RetransmissionTimeout::new(TimeoutSettings::rfc6298()).unwrap();
        timeout.on_timeout();
        timeout.on_late_open();
        assert_eq!(timeout.timeout(), Micros(3_000_000));
    }

    #[test]
    fn refuses_bounds_that_cross() {
        let bounds = |min, initial, max| {
            RetransmissionTimeout::new(TimeoutSettings {
                initial: Micros(initial),
                min: Micros(min),
                max: Micros(max),
                granularity: Micros(0),
                ..TimeoutSettings::rfc6298()
            })
            .map(|_| ())
        };
        assert_eq!(bounds(1, 1, 1), Ok(()));
        for (min, initial, max) in [(0, 1, 1), (2, 1, 1), (1, 2, 1), (1, 0, 1)] {
            let want = SettingsError::Timeout { min_us: min, initial_us: initial, max_us: max };
            assert_eq!(bounds(min, initial, max), Err(want));
        }
    }

    proptest! {
        #[test]
        fn stays_within_its_bounds(samples in proptest::collection::vec(0_u64..200_000_000, 1..100)) {
            let settings = TimeoutSettings::linux();
            let mut timeout = RetransmissionTimeout::new(settings).unwrap();
            for sample in samples {
                if sample % 7 == 0 {
                    timeout.on_timeout();
                } else {
                    timeout.on_round_trip(Micros(sample));
                }
                prop_assert!(timeout.timeout() >= settings.min);
                prop_assert!(timeout.timeout() <= settings.max);
            }
        }

        #[test]
        fn comes_to_rest_on_a_steady_path(round_trip in 1_000_u64..1_000_000) {
            let mut timeout = RetransmissionTimeout::new(TimeoutSettings::linux()).unwrap();
            timeout.on_round_trip(Micros(3 * round_trip));
            for _ in 0..200 {
                timeout.on_round_trip(Micros(round_trip));
            }
            let smoothed = timeout.smoothed().unwrap().0;
            prop_assert!(smoothed.abs_diff(round_trip) <= 1, "{smoothed} after {round_trip}");
        }
    }
}
