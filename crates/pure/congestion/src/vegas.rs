//! TCP Vegas: keeps so many segments in the queues of the path, and no more (L. S. Brakmo and L. L. Peterson, "TCP Vegas:
//! End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8), 1995).
//!
//! Once for each round trip, with `base` the least round-trip time and `rtt` the mean of those of the last one:
//!
//! - `Expected = W / base`, `Actual = L / rtt`, where `L` segments were sent in that round trip and `W` are on their way;
//!   `diff = (Expected - Actual) * base`, rounded: the segments that wait in queues.
//! - Congestion avoidance: `diff < alpha`: the window grows by a segment over the next round trip; `diff > beta`: it
//!   shrinks by one at once; else it stays.
//! - Slow start: every other round trip the window doubles, in between it stays, so that the measure holds. Over with
//!   `diff > gamma`; the window goes down by an eighth then.
//! - A window that is not used (more than two segments are free) does not grow.
//!
//! Losses: [`Controller::fine_timeout`] is `17/16 (SRTT + deviation)`, kept with more resolution than the coarse timeout; a
//! segment older than that is lost with the first duplicate. The window goes down by a quarter, to half if the segment had
//! been sent before, to two if it was three or less; and only if the segment was sent after the last decrease. Each such
//! loss makes the fine timeout longer, by an eighth or to twice. A timeout: two segments.
//!
//! The paper leaves open what these are in detail; where it does, this is as ns-2.35 has it (`tcp-vegas.cc`, which follows
//! USC's NetBSD-Vegas). What only ns-2 does is in [`VegasSettings::own_inflation`] and [`VegasSettings::late_window`].
//!
//! The window is kept in segments with a fraction (IEEE doubles, plain arithmetic: the same on any computer).

use crate::controller::{Ack, Controller, Flight, Sent, WINDOW_MAX};
use crate::millionths::Millionths;
use crate::settings::{SettingsError, check_segment};
use guestright_units::{Micros, Time};

/// What Vegas is set to. Windows and bounds are in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VegasSettings {
    /// SMSS: payload of a full segment, in bytes.
    pub segment: u32,
    /// Fewer segments than this in queues: the window grows.
    pub alpha: Millionths,
    /// More segments than this in queues: the window shrinks. At least `alpha`.
    pub beta: Millionths,
    /// More segments than this in queues: slow start is over.
    pub gamma: Millionths,
    /// The window of a new flow.
    pub initial_window: u32,
    /// The window after a timeout.
    pub restart_window: u32,
    /// Where slow start ends, at the latest.
    pub initial_threshold: u32,
    /// The most that a flow may have on its way: ns-2's `window_`.
    pub window_max: u32,
    /// Whether duplicates in a recovery are put on top of the window here, as ns-2's Vegas does, and not by the sender.
    /// To be set with [`crate::RecoveryKind::Vegas`], and only then.
    pub own_inflation: bool,
    /// Whether a flow starts with one segment, and has its initial window once the first is acknowledged and another
    /// acknowledgement comes. So ns-2's Vegas does, for want of a SYN.
    pub late_window: bool,
}

impl VegasSettings {
    /// As the paper has it: alpha 1, beta 3, gamma 1, two segments at first.
    #[must_use]
    pub const fn paper(segment: u32) -> Self {
        Self {
            segment,
            alpha: Millionths::ONE,
            beta: Millionths(3_000_000),
            gamma: Millionths::ONE,
            initial_window: 2,
            restart_window: 2,
            initial_threshold: u32::MAX,
            window_max: u32::MAX,
            own_inflation: false,
            late_window: false,
        }
    }

    /// As ns-2.35's `Agent/TCP/Vegas` with `window_` set to `window_max`. Belongs to [`crate::RecoveryKind::Vegas`].
    #[must_use]
    pub const fn ns2(segment: u32, window_max: u32) -> Self {
        Self {
            initial_threshold: window_max,
            window_max,
            own_inflation: true,
            late_window: true,
            ..Self::paper(segment)
        }
    }

    fn check(&self) -> Result<(), SettingsError> {
        check_segment(self.segment)?;
        self.beta.check("beta of Vegas", Millionths::ZERO, Millionths(1_000_000_000))?;
        self.alpha.check("alpha of Vegas", Millionths::ZERO, self.beta)?;
        self.gamma.check("gamma of Vegas", Millionths::ZERO, Millionths(1_000_000_000))?;
        if self.initial_window == 0 || self.restart_window == 0 || self.window_max == 0 {
            return Err(SettingsError::Segments { name: "a window of Vegas", got: 0, min: 1, max: u32::MAX });
        }
        if self.initial_threshold < 2 {
            let got = self.initial_threshold;
            return Err(SettingsError::Segments {
                name: "the threshold of Vegas",
                got,
                min: 2,
                max: u32::MAX,
            });
        }
        Ok(())
    }
}

/// The controller of Vegas.
#[derive(Clone, Debug, PartialEq)]
pub struct Vegas {
    settings: VegasSettings,
    window: f64,
    threshold: u32,
    /// Segments that the next acknowledgements add each: one, a part of one, or none.
    increase: f64,
    /// Slow start: whether the window grew in the last round trip.
    grows: bool,
    /// Microseconds; infinite before the first.
    base: f64,
    /// Round-trip times since the round trip began: their sum in microseconds, their number.
    sum: f64,
    count: u32,
    /// The round trip ends when this offset is acknowledged; when it began.
    begin: u64,
    begin_at: Time,
    fine: Fine,
    /// What the window was set to by the last loss.
    reduced_to: f64,
    /// When the window was reduced last, if ever.
    reduced_at: Option<Time>,
    /// Duplicates in a row.
    duplicates: u32,
}

/// The fine-grained timeout, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fine {
    /// Eight times the smoothed round-trip time, four times its deviation; `None` before the first.
    smoothed: Option<(f64, f64)>,
    timeout: f64,
}

impl Fine {
    /// The first acknowledgement has come.
    fn start(&mut self, round_trip: f64) {
        self.smoothed = Some((8.0 * round_trip, round_trip));
        self.timeout = (2.0 * round_trip + round_trip) / 2.0;
    }

    fn sample(&mut self, round_trip: f64) {
        let (smoothed, deviation) = self.smoothed.unwrap_or((8.0 * round_trip, round_trip));
        let off = round_trip - smoothed / 8.0;
        let smoothed = smoothed + off;
        let deviation = deviation + (off.abs() - deviation / 4.0);
        self.smoothed = Some((smoothed, deviation));
        let timeout = (smoothed / 4.0 + deviation) / 2.0;
        self.timeout = timeout + timeout / 16.0;
    }

    fn back_off(&mut self, again: bool) {
        let more = if again { self.timeout } else { self.timeout / 8.0 };
        // A day: only so that it stays finite.
        self.timeout = (self.timeout + more).min(86_400e6);
    }
}

impl Vegas {
    /// A flow's controller.
    ///
    /// # Errors
    ///
    /// If the segment's size, a window or a bound cannot be.
    pub fn new(settings: VegasSettings) -> Result<Self, SettingsError> {
        settings.check()?;
        Ok(Self {
            window: f64::from(if settings.late_window { 1 } else { settings.initial_window }),
            threshold: settings.initial_threshold,
            increase: 0.0,
            grows: true,
            base: f64::INFINITY,
            sum: 0.0,
            count: 0,
            begin: 0,
            begin_at: Time(0),
            fine: Fine { smoothed: None, timeout: f64::INFINITY },
            reduced_to: 0.0,
            reduced_at: None,
            duplicates: 0,
            settings,
        })
    }

    /// Whether the window is below the threshold.
    #[must_use]
    pub fn in_slow_start(&self) -> bool {
        self.window < f64::from(self.threshold)
    }

    /// The least round-trip time, by Vegas's rules; `None` before the first.
    #[must_use]
    pub fn base_round_trip(&self) -> Option<Micros> {
        self.base.is_finite().then(|| micros(self.base))
    }

    /// The window in segments, with its fraction.
    #[must_use]
    pub const fn window_segments(&self) -> f64 {
        self.window
    }

    fn segments(&self, bytes: u64) -> f64 {
        float(bytes) / f64::from(self.settings.segment)
    }

    /// Whole segments that may be on their way.
    fn usable(&self) -> u32 {
        whole(self.window).min(self.settings.window_max)
    }

    /// New data was acknowledged: everything that Vegas decides.
    fn acknowledged(&mut self, ack: &Ack) {
        if self.fine.smoothed.is_none() {
            // The first acknowledgement: its round trip is since the first segment was sent.
            let round_trip = float(ack.now.since(self.begin_at).0).max(1.0);
            self.base = round_trip;
            self.fine.start(round_trip);
        }
        if self.settings.late_window && ack.acknowledged - ack.bytes == u64::from(self.settings.segment) {
            self.window = f64::from(self.settings.initial_window);
        }
        if self.settings.own_inflation && self.duplicates > 3 && self.window > self.reduced_to {
            self.window = self.reduced_to;
            self.threshold = 2;
        }
        self.duplicates = 0;
        let on_its_way = self.segments(ack.next - ack.acknowledged) + 1.0;
        if ack.acknowledged > self.begin {
            self.round(ack, on_its_way);
        }
        if self.increase == 1.0 && !self.in_slow_start() {
            self.increase = 0.0;
        }
        if self.increase > 0.0 && self.window - on_its_way <= 2.0 {
            self.window = (self.window + self.increase).min(self.window_most());
        }
        // The first segment's is the first acknowledgement's, and counted there.
        let first = ack.acknowledged == u64::from(self.settings.segment) && self.settings.late_window;
        if let (Some(round_trip), false) = (ack.round_trip, first) {
            let round_trip = float(round_trip.0).max(1.0);
            self.sum += round_trip;
            self.count += 1;
            self.base = self.base.min(round_trip);
            self.fine.sample(round_trip);
        }
    }

    /// Once for each round trip.
    fn round(&mut self, ack: &Ack, on_its_way: f64) {
        let round_trip = if self.count > 0 {
            self.sum / f64::from(self.count)
        } else {
            float(ack.now.since(self.begin_at).0)
        };
        self.sum = 0.0;
        self.count = 0;
        let sent = self.segments(ack.next - self.begin);
        if round_trip > 0.0 {
            if round_trip < self.base || sent <= 1.0 {
                self.base = round_trip;
            }
            // `(Expected - Actual) * base`, with no more divisions than it takes: round-trip times of once and twice the base
            // are common, and give numbers that lie at the border. Rounded towards zero, as ns-2 does it.
            let diff = on_its_way - sent * self.base / round_trip;
            self.decide((diff + 0.5).trunc());
        }
        self.begin = ack.next;
        self.begin_at = ack.now;
    }

    fn decide(&mut self, diff: f64) {
        let VegasSettings { alpha, beta, gamma, .. } = self.settings;
        if self.in_slow_start() {
            self.grows = !self.grows;
            self.increase = 0.0;
            if self.grows && diff > segments(gamma) {
                self.threshold = 2;
                self.window = (self.window - self.window / 8.0).max(2.0);
            } else if self.grows {
                self.increase = 1.0;
            }
        } else if diff > segments(beta) {
            self.window = (self.window - 1.0).max(2.0);
            self.increase = 0.0;
        } else {
            self.increase = if diff < segments(alpha) { 1.0 / self.window } else { 0.0 };
        }
    }

    fn window_most(&self) -> f64 {
        float(WINDOW_MAX / u64::from(self.settings.segment))
    }

    fn timed_out(&mut self, now: Option<Time>) {
        // ns-2 takes the half of what it may use, and no fraction.
        let half = self.window.min(f64::from(self.settings.window_max)) / 2.0;
        self.threshold = whole(half).max(2);
        self.window = f64::from(self.settings.restart_window);
        self.reduced_to = 0.0;
        self.duplicates = 0;
        self.reduced_at = now.or(self.reduced_at);
    }
}

impl Controller for Vegas {
    fn window(&self) -> u64 {
        // ns-2's is nothing where duplicates came after a timeout: it waits for the next one.
        let least = u32::from(!self.settings.own_inflation);
        u64::from(self.usable().max(least)) * u64::from(self.settings.segment)
    }

    fn slow_start_threshold(&self) -> u64 {
        u64::from(self.threshold) * u64::from(self.settings.segment)
    }

    fn on_late_open(&mut self) {
        self.window = 1.0;
    }

    fn on_sent(&mut self, sent: &Sent) {
        if sent.offset != 0 || self.fine.smoothed.is_some() {
            return;
        }
        if self.settings.late_window && sent.again {
            // ns-2 counts time from the first segment, and from anew when that is sent again after a timeout; when it last
            // reduced the window it still counts from the old one, so that for as long no loss reduces it again.
            self.reduced_at = self.reduced_at.map(|at| at + sent.now.since(self.begin_at));
        }
        self.begin_at = sent.now;
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.acknowledged(ack);
    }

    fn on_duplicate_ack(&mut self, flight: &Flight) {
        self.duplicates = flight.duplicates;
        if self.settings.own_inflation && self.duplicates > 3 {
            self.window = (self.window + 1.0).min(self.window_most());
        }
    }

    fn on_loss(&mut self, flight: &Flight) {
        self.duplicates = flight.duplicates;
        let usable = self.usable();
        self.fine.back_off(flight.transmissions > 1);
        if flight.transmissions > 0 && self.reduced_at.is_none_or(|at| at < flight.first_sent) {
            let reduced = match usable {
                0..=3 => 2,
                usable if flight.transmissions > 1 => usable / 2,
                usable => usable - usable / 4,
            };
            self.reduced_to = f64::from(reduced);
            let inflation = if self.settings.own_inflation { f64::from(self.duplicates) } else { 0.0 };
            self.window = self.reduced_to + inflation;
            self.reduced_at = Some(flight.now);
            if !self.settings.own_inflation {
                // Congestion avoidance goes on from here.
                self.threshold = 2;
            }
        }
        if flight.transmissions == 1 {
            self.duplicates = 3;
        }
    }

    fn on_recovery_ack(&mut self, ack: &Ack) {
        if let Some(round_trip) = ack.round_trip {
            self.fine.sample(float(round_trip.0).max(1.0));
        }
    }

    fn on_recovered(&mut self, ack: &Ack) {
        self.acknowledged(ack);
    }

    fn on_timeout(&mut self, flight: &Flight) {
        self.timed_out(Some(flight.now));
    }

    fn on_mark(&mut self, flight: &Flight) {
        // As a loss, but nothing is to be sent again (RFC 3168, section 6.1.2).
        let usable = self.usable();
        self.window = f64::from(if usable <= 3 { 2 } else { usable - usable / 4 });
        self.threshold = 2;
        self.reduced_at = Some(flight.now);
    }

    fn on_idle_timeout(&mut self) {
        self.timed_out(None);
    }

    fn fine_timeout(&self) -> Option<Micros> {
        self.fine.smoothed.map(|_| micros(self.fine.timeout))
    }

    fn on_idle(&mut self, _idle: Micros) {
        self.window = self.window.min(f64::from(self.settings.restart_window));
    }
}

/// Counts and microseconds of a flow stay far below 2^53.
#[expect(clippy::cast_precision_loss, reason = "counts and times of a flow are below 2^53")]
const fn float(count: u64) -> f64 {
    count as f64
}

fn segments(millionths: Millionths) -> f64 {
    f64::from(millionths.0) / 1e6
}

/// The whole part of what is not negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "that is what is wanted; too much saturates"
)]
const fn whole(segments: f64) -> u32 {
    segments as u32
}

/// Rounded up, so that what is not older by a part of a microsecond is not older.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are positive; too much saturates"
)]
fn micros(time: f64) -> Micros {
    let down = time as u64;
    Micros(down + u64::from(float(down) < time))
}

#[cfg(test)]
mod tests;
