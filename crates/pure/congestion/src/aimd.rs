//! TCP(alpha, beta): additive increase by alpha, multiplicative decrease to beta (paper C, section 3.1).
//!
//! - Congestion avoidance: `cwnd += alpha` segments for each round-trip time.
//! - Loss: `ssthresh = max(beta * W, 2 SMSS)`, `cwnd = ssthresh`, where `W` is what Reno would halve.
//! - Everything else (slow start, timeouts, pauses) is [`Reno`]'s. With `alpha = 1, beta = 1/2` all of it is.
//!
//! **beta is what is kept**, not what is taken away: the paper's text has the window "decreased to beta W", and its
//! equation (1) is that of Y. R. Yang and S. S. Lam, "General AIMD Congestion Control", ICNP 2000, who define it so. (Other
//! authors call beta what is taken away; at 1/2 there is no difference. The paper's equation (2) as printed mixes the two:
//! see [`crate::model`].)
//!
//! What the source leaves open: the threshold after a timeout. Here it is by beta too, as after any loss; Yang and Lam's
//! model knows no slow start threshold.
//!
//! Friendly pairs of alpha and beta: [`crate::model::friendly_alpha`].

use crate::controller::{Ack, Controller, Flight, WINDOW_MAX, forward, to_reno};
use crate::millionths::Millionths;
use crate::reno::{Reno, RenoSettings};
use crate::settings::{Increase, SettingsError};
use guestright_units::Micros;

/// The parameters of TCP(alpha, beta).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AimdSettings {
    /// All that is not alpha and beta.
    pub reno: RenoSettings,
    /// Segments that the window grows by in a round-trip time: more than 0, up to 100.
    pub alpha: Millionths,
    /// The part of the window that is kept at a loss: more than 0, less than 1.
    pub beta: Millionths,
    /// Whether one half is kept, whatever beta is, at the first loss of a flow, at each in slow start (which goes over what the
    /// path carries by as much), and at each timeout. So it is in ns-2 (`decrease_num_`, `first_decrease_`).
    pub halve_in_slow_start: bool,
}

impl AimdSettings {
    /// Standard TCP: alpha 1, beta 1/2.
    #[must_use]
    pub const fn standard(reno: RenoSettings) -> Self {
        Self { reno, alpha: Millionths::ONE, beta: Millionths::HALF, halve_in_slow_start: false }
    }

    /// Smooth and friendly to standard TCP by Yang and Lam's rule `alpha = 4 (1 - beta^2) / 3`, with their beta of 7/8:
    /// alpha is 0.3125.
    #[must_use]
    pub const fn smooth(reno: RenoSettings) -> Self {
        Self { alpha: Millionths(312_500), beta: Millionths(875_000), ..Self::standard(reno) }
    }

    fn check(&self) -> Result<(), SettingsError> {
        self.alpha.check("alpha", Millionths(1), Millionths(100_000_000))?;
        self.beta.check("beta", Millionths(1), Millionths(999_999))
    }
}

/// The controller of TCP(alpha, beta).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aimd {
    settings: AimdSettings,
    reno: Reno,
    /// Congestion avoidance: what the divisions left over, in millionths of byte^2 (with byte counting: of bytes).
    counted: u128,
    /// Whether the window was reduced before.
    reduced: bool,
}

impl Aimd {
    /// A flow's controller.
    ///
    /// # Errors
    ///
    /// If alpha, beta or a setting of Reno's cannot be.
    pub fn new(settings: AimdSettings) -> Result<Self, SettingsError> {
        settings.check()?;
        Ok(Self { reno: Reno::new(settings.reno)?, counted: 0, reduced: false, settings })
    }

    /// Whether the window is below the threshold.
    #[must_use]
    pub const fn in_slow_start(&self) -> bool {
        self.reno.in_slow_start()
    }

    /// Whether all is as Reno does it.
    fn is_standard(&self) -> bool {
        self.settings.alpha == Millionths::ONE && self.settings.beta == Millionths::HALF
    }

    pub(crate) fn segment(&self) -> u64 {
        self.settings.reno.segment.into()
    }

    /// Puts window and threshold somewhere else (bytes).
    pub(crate) fn set(&mut self, window: u64, threshold: u64) {
        self.reno.set(window, threshold);
        self.counted = 0;
    }

    /// The window in bytes, parts of segments and all.
    pub(crate) fn fine_window(&self) -> u64 {
        self.reno.fine_window()
    }

    fn decreased(&self, flight: &Flight) -> u64 {
        let reno = &self.settings.reno;
        let whole = if reno.halve_window { self.fine_window() } else { flight.in_flight };
        self.settings.beta.of(whole.min(reno.halved_max)).max(2 * self.segment()).min(WINDOW_MAX)
    }

    /// What congestion avoidance adds for an acknowledgement of `bytes`.
    fn increase(&mut self, bytes: u64) -> u64 {
        let window = u128::from(self.fine_window()) * 1_000_000;
        let alpha = u128::from(self.settings.alpha.0);
        let segment = u128::from(self.segment());
        let more = match self.settings.reno.increase {
            Increase::PerAck | Increase::Rfc5681 => {
                // alpha * SMSS * SMSS / cwnd.
                self.counted += alpha * segment * segment;
                let more = self.counted / window;
                self.counted %= window;
                more
            }
            Increase::ByteCounting { .. } => {
                // A segment for each cwnd / alpha bytes.
                self.counted += alpha * u128::from(bytes);
                if self.counted < window {
                    return 0;
                }
                self.counted -= window;
                segment
            }
        };
        u64::try_from(more).unwrap_or(WINDOW_MAX).min(WINDOW_MAX)
    }
}

impl Controller for Aimd {
    forward!(
        to_reno: window slow_start_threshold on_late_open on_sent on_duplicate_ack
            on_recovery_ack on_recovered on_idle_timeout backs_off
    );

    fn on_ack(&mut self, ack: &Ack) {
        if self.is_standard() || self.in_slow_start() {
            self.reno.on_ack(ack);
            return;
        }
        if ack.bytes == 0 || !(ack.window_limited || self.settings.reno.grow_unused) {
            return;
        }
        let more = self.increase(ack.bytes);
        let threshold = self.reno.slow_start_threshold();
        self.reno.set(self.fine_window() + more, threshold);
    }

    fn on_loss(&mut self, flight: &Flight) {
        let halves = self.settings.halve_in_slow_start && (!self.reduced || self.in_slow_start());
        let decreased = self.decreased(flight);
        self.reduced = true;
        self.reno.on_loss(flight);
        if !halves && !self.is_standard() {
            self.set(decreased, decreased);
        }
    }

    fn on_timeout(&mut self, flight: &Flight) {
        let decreased = self.decreased(flight);
        self.reduced = true;
        self.reno.on_timeout(flight);
        let halves = self.settings.halve_in_slow_start || self.is_standard();
        if !halves && (!flight.repeated || self.settings.reno.lower_repeatedly) {
            let window = self.window();
            self.set(window, decreased);
        }
    }

    fn on_mark(&mut self, flight: &Flight) {
        // As a loss, but nothing is to be sent again (RFC 3168, section 6.1.2).
        self.on_loss(flight);
    }

    fn on_idle(&mut self, idle: Micros) {
        self.reno.on_idle(idle);
        self.counted = 0;
    }
}

#[cfg(test)]
mod tests;
