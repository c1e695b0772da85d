//! CUBIC (RFC 9438), in whole numbers.
//!
//! - Congestion avoidance: `W(t) = C (t - K)^3 + Wmax`, `K = cbrt((Wmax - cwnd_epoch) / C)`, `t` since congestion avoidance
//!   began (section 4.2). For each acknowledgement the window moves towards `target = W(t + RTT)`, bounded by `cwnd` and
//!   `1.5 cwnd`, by `(target - cwnd) / cwnd` of what it acknowledges.
//! - Where standard TCP would have more, the window is that of a TCP(alpha, beta) which is friendly to it:
//!   `alpha = 3 (1 - beta) / (1 + beta)` until it has reached the window before the loss, then 1 (section 4.3).
//! - Loss: `ssthresh = max(beta W, 2 SMSS)`, `cwnd = ssthresh`, `beta = 0.7`; `W` is FlightSize or `cwnd` (section 4.6).
//!   `Wmax = cwnd`, or with fast convergence `cwnd (1 + beta) / 2` if it was below the last `Wmax` (section 4.7).
//! - Timeout: the same threshold, `cwnd = 1 SMSS`; the congestion avoidance that follows has `K = 0` and `Wmax = cwnd`
//!   (section 4.8). Also the first one of a flow that has lost nothing yet.
//! - Slow start is [`Reno`]'s. A mark (ECN) is answered as a loss.
//!
//! Units: windows in bytes, times in microseconds; `C` in segments per second cubed. `K` and `W(t)` are rounded down.
//!
//! What the RFC leaves open: time in which the application had nothing to send does not count for `t` (section 5.8);
//! here it is the time between acknowledgements that did not find the window full, and pauses. The smoothed round-trip time
//! is RFC 6298's. Not there: HyStart++ (RFC 9406), and what section 4.9 does after a loss that was none (spurious
//! retransmission).

mod curve;

use crate::controller::{Ack, Controller, Flight, WINDOW_MAX, forward, to_reno};
use crate::millionths::Millionths;
use crate::reno::{Reno, RenoSettings};
use crate::settings::{SettingsError, WindowUnit};
use curve::{Curve, Friend};
use guestright_units::{Micros, Time};

/// CUBIC's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CubicSettings {
    /// Slow start, the initial window, pauses, the end of a recovery (the window is counted in bytes here, whatever it
    /// says); whether a loss reduces `cwnd` (as Linux does) or
    /// FlightSize (as the RFC says).
    pub reno: RenoSettings,
    /// `C`, in segments per second cubed: 0.4. More than 0, up to 100.
    pub c: Millionths,
    /// The part of the window that is kept at a loss: 0.7. More than 0, less than 1.
    pub beta: Millionths,
    /// Whether a flow that loses before it was back where it lost last gives way to new ones.
    pub fast_convergence: bool,
    /// Whether the window is never below that of a standard TCP.
    pub friendly: bool,
}

impl CubicSettings {
    /// As RFC 9438 has it.
    #[must_use]
    pub const fn rfc9438(reno: RenoSettings) -> Self {
        Self {
            reno,
            c: Millionths(400_000),
            beta: Millionths(700_000),
            fast_convergence: true,
            friendly: true,
        }
    }
}

/// The controller of CUBIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cubic {
    settings: CubicSettings,
    reno: Reno,
    /// The window at the last reduction, or less: fast convergence. `None` before the first, and after a timeout.
    window_max: Option<u64>,
    /// The window just before the last reduction.
    window_prior: u64,
    /// `None` outside congestion avoidance.
    curve: Option<Curve>,
    friend: Friend,
    /// The last acknowledgement that was told of.
    last_ack: Option<Time>,
    /// Times 8.
    smoothed_8: Option<u64>,
    /// What the last division left over, of a product of bytes.
    counted: u128,
}

impl Cubic {
    /// A flow's controller.
    ///
    /// # Errors
    ///
    /// If C, beta or a setting of Reno's cannot be.
    pub fn new(settings: CubicSettings) -> Result<Self, SettingsError> {
        settings.c.check("C", Millionths(1), Millionths(100_000_000))?;
        settings.beta.check("beta", Millionths(1), Millionths(999_999))?;
        Ok(Self {
            reno: Reno::new(RenoSettings { unit: WindowUnit::Bytes, ..settings.reno })?,
            window_max: None,
            window_prior: 0,
            curve: None,
            friend: Friend::default(),
            last_ack: None,
            smoothed_8: None,
            counted: 0,
            settings,
        })
    }

    /// `Wmax` in bytes: where the curve is flat. `None` before the first loss and after a timeout.
    #[must_use]
    pub const fn window_max(&self) -> Option<u64> {
        self.window_max
    }

    /// Whether the window is below the threshold.
    #[must_use]
    pub const fn in_slow_start(&self) -> bool {
        self.reno.in_slow_start()
    }

    fn segment(&self) -> u64 {
        self.settings.reno.segment.into()
    }

    fn measure(&mut self, ack: &Ack) {
        if let Some(round_trip) = ack.round_trip {
            let sample = round_trip.0.min(1_000_000_000);
            let smoothed = self.smoothed_8.map_or(8 * sample, |smoothed| smoothed - smoothed / 8 + sample);
            self.smoothed_8 = Some(smoothed);
        }
    }

    /// The window after an acknowledgement in congestion avoidance.
    fn advance(&mut self, ack: &Ack, curve: &Curve) -> u64 {
        let window = self.window();
        let elapsed = ack.now.since(curve.began());
        self.friend.advance(ack.bytes, window, self.window_prior, &self.settings);
        if self.settings.friendly && curve.window(elapsed) < self.friend.window() {
            return self.friend.window().max(window);
        }
        let smoothed = Micros(self.smoothed_8.unwrap_or(0) / 8);
        let target =
            curve.window(Micros(elapsed.0.saturating_add(smoothed.0))).clamp(window, window + window / 2);
        self.counted += u128::from(target - window) * u128::from(ack.bytes.min(window));
        let more = self.counted / u128::from(window);
        self.counted %= u128::from(window);
        window + u64::try_from(more).unwrap_or(WINDOW_MAX)
    }

    /// Section 4.6, without saying what becomes of `cwnd`: the threshold.
    fn reduced(&mut self, flight: &Flight) -> u64 {
        let window = self.window();
        let whole = if self.settings.reno.halve_window { window } else { flight.in_flight };
        self.window_prior = window;
        let threshold = self
            .settings
            .beta
            .of(whole.min(self.settings.reno.halved_max))
            .max(2 * self.segment())
            .min(WINDOW_MAX);
        self.curve = None;
        self.counted = 0;
        threshold
    }

    /// Section 4.7.
    fn remember(&mut self) {
        let window = self.window();
        let gives_way = self.settings.fast_convergence && self.window_max.is_some_and(|max| window < max);
        self.window_max = Some(if gives_way { (window + self.settings.beta.of(window)) / 2 } else { window });
    }
}

impl Controller for Cubic {
    forward!(to_reno: window slow_start_threshold on_late_open on_sent on_duplicate_ack backs_off);

    fn on_ack(&mut self, ack: &Ack) {
        self.measure(ack);
        let since_last = self.last_ack.replace(ack.now).map_or(Micros(0), |last| ack.now.since(last));
        if self.in_slow_start() {
            self.curve = None;
            self.reno.on_ack(ack);
            return;
        }
        if ack.bytes == 0 {
            return;
        }
        let window = self.window();
        if self.curve.is_none() {
            self.friend = Friend::new(window);
            let max = self.window_max.unwrap_or(window);
            self.curve = Some(Curve::new(ack.now, window, max, self.segment(), self.settings.c));
        } else if !ack.window_limited && !self.settings.reno.grow_unused {
            // Section 5.8: time that the application did not use does not count.
            self.curve = self.curve.map(|curve| curve.delayed(since_last));
            return;
        }
        if let Some(curve) = self.curve
            && (ack.window_limited || self.settings.reno.grow_unused)
        {
            let next = self.advance(ack, &curve).min(WINDOW_MAX);
            let threshold = self.slow_start_threshold();
            self.reno.set(next, threshold);
        }
    }

    fn on_loss(&mut self, flight: &Flight) {
        self.remember();
        let threshold = self.reduced(flight);
        self.reno.on_loss(flight);
        self.reno.set(threshold, threshold);
    }

    fn on_recovery_ack(&mut self, ack: &Ack) {
        self.measure(ack);
        self.last_ack = Some(ack.now);
        self.reno.on_recovery_ack(ack);
    }

    fn on_recovered(&mut self, ack: &Ack) {
        self.measure(ack);
        self.last_ack = Some(ack.now);
        self.reno.on_recovered(ack);
    }

    fn on_timeout(&mut self, flight: &Flight) {
        let threshold = if flight.repeated { self.slow_start_threshold() } else { self.reduced(flight) };
        self.window_max = None;
        self.curve = None;
        self.reno.on_timeout(flight);
        let window = self.window();
        self.reno.set(window, threshold);
    }

    fn on_mark(&mut self, flight: &Flight) {
        self.remember();
        let threshold = self.reduced(flight);
        let window = self.window();
        self.reno.set(threshold.min(window), threshold);
    }

    fn on_idle_timeout(&mut self) {
        self.reno.on_idle_timeout();
        self.curve = None;
    }

    fn on_idle(&mut self, idle: Micros) {
        self.reno.on_idle(idle);
        self.curve = self.curve.map(|curve| curve.delayed(idle));
        self.last_ack = self.last_ack.map(|last| last + idle);
    }
}

#[cfg(test)]
mod tests;
