//! Reno's window: slow start and congestion avoidance (RFC 5681, section 3.1).
//!
//! - Slow start, `cwnd < ssthresh`: `cwnd += min(N, SMSS)` for each acknowledgement of `N` new bytes (equation (2)).
//! - Congestion avoidance: `cwnd += SMSS * SMSS / cwnd` (equation (3)). Whole bytes are added, and what is left over is
//!   kept for the next time: rounding it down, as the RFC lets one, would let a window of 600 segments of 1000 bytes
//!   grow by 0.6 segments in a round trip instead of by one. The RFC leaves open which of the two holds at
//!   `cwnd = ssthresh`; here it is congestion avoidance.
//! - Loss: `ssthresh = max(FlightSize / 2, 2 SMSS)` (equation (4)), `cwnd = ssthresh`. Or half of `cwnd`, if so set.
//! - Timeout: the same threshold unless the segment had timed out before, `cwnd = 1 SMSS`.
//! - After a pause longer than the timeout: `cwnd = min(IW, cwnd)` (section 4.1).
//!
//! `cwnd` may step over `ssthresh` by less than one increase; the RFC does not say to stop there.

use crate::controller::{Ack, Controller, Flight, WINDOW_MAX};
use crate::settings::{Increase, InitialWindow, RecoveryExit, SettingsError, WindowUnit, check_segment};
use guestright_units::Micros;

/// What RFC 5681 leaves to its implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenoSettings {
    /// SMSS: payload of a full segment, in bytes.
    pub segment: u32,
    /// The window of a new flow, and at most that of one that had paused.
    pub initial_window: InitialWindow,
    /// The first slow start threshold, in bytes; `u64::MAX`: slow start until the first loss.
    pub initial_threshold: u64,
    /// How acknowledgements make the window grow.
    pub increase: Increase,
    /// The window at the end of a recovery.
    pub exit: RecoveryExit,
    /// Whether a loss halves the congestion window, as Linux and ns-2 do, instead of FlightSize, as RFC 5681 asks. FlightSize
    /// is whole segments, so it is half a segment less on average; and less than that in a flow which has less to send.
    pub halve_window: bool,
    /// Whether the window grows although it was not what had kept the sender back. RFC 5681 lets it, RFC 7661 and Linux
    /// do not.
    pub grow_unused: bool,
    /// Whether the window is taken back after a pause (RFC 5681, section 4.1).
    pub restart_after_idle: bool,
    /// What the window is counted in.
    pub unit: WindowUnit,
    /// No more than this is halved by a loss, in bytes: ns-2's `window_`. `u64::MAX`: whatever there is.
    pub halved_max: u64,
    /// Whether a segment that times out again lowers the threshold again, as in ns-2. RFC 5681 says it must not.
    pub lower_repeatedly: bool,
}

impl RenoSettings {
    /// As RFC 5681 has it: initial window of RFC 3390, no byte counting, growth also when the window is not used.
    #[must_use]
    pub const fn rfc5681(segment: u32) -> Self {
        Self {
            segment,
            initial_window: InitialWindow::Rfc3390,
            initial_threshold: u64::MAX,
            increase: Increase::Rfc5681,
            exit: RecoveryExit::Flight,
            halve_window: false,
            grow_unused: true,
            restart_after_idle: true,
            unit: WindowUnit::Bytes,
            halved_max: u64::MAX,
            lower_repeatedly: false,
        }
    }

    /// As computers had it in 2004 to 2006 (Linux 2.6.8): two segments at first, an acknowledgement counts as one
    /// whatever it covers, no growth of an unused window.
    ///
    /// Not modelled of Linux: rate halving, cwnd moderation, undo.
    #[must_use]
    pub const fn linux_2_6_8(segment: u32) -> Self {
        Self {
            initial_window: InitialWindow::Segments(2),
            increase: Increase::PerAck,
            halve_window: true,
            grow_unused: false,
            ..Self::rfc5681(segment)
        }
    }

    /// As today's: ten segments at first (RFC 6928), bytes are counted up to two segments (RFC 3465).
    #[must_use]
    pub const fn modern(segment: u32) -> Self {
        Self {
            initial_window: InitialWindow::Rfc6928,
            increase: Increase::ByteCounting { limit: 2 },
            ..Self::linux_2_6_8(segment)
        }
    }

    /// As ns-2.35 has it by default, with `window_` set to `window` segments: the window is counted in segments, and the first
    /// threshold is `window`. What ns-2 does at the end of a pause is the sender's business there: see
    /// [`Controller::on_idle_timeout`].
    #[must_use]
    pub const fn ns2(segment: u32, window: u32) -> Self {
        let bytes = window as u64 * segment as u64;
        Self {
            segment,
            initial_window: InitialWindow::Segments(2),
            initial_threshold: if window < 2 { 2 * segment as u64 } else { bytes },
            increase: Increase::PerAck,
            exit: RecoveryExit::Grow,
            halve_window: true,
            grow_unused: true,
            restart_after_idle: true,
            unit: WindowUnit::Segments,
            halved_max: bytes,
            lower_repeatedly: true,
        }
    }
}

/// The controller of Reno and of NewReno: additive increase, multiplicative decrease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reno {
    settings: RenoSettings,
    window: u64,
    threshold: u64,
    /// Congestion avoidance: bytes acknowledged towards the next segment of window, with byte counting; otherwise what was
    /// left over of the last division.
    counted: u64,
    /// The window in 2^-32 segments, if it is counted in segments; `window` has its whole ones then.
    parts: u64,
}

/// A segment has so many parts.
const WHOLE: u64 = 1 << 32;

impl Reno {
    /// A flow's controller.
    ///
    /// # Errors
    ///
    /// If a setting cannot be: the segment's size, the limit of byte counting, a first threshold below two segments.
    pub fn new(settings: RenoSettings) -> Result<Self, SettingsError> {
        check_segment(settings.segment)?;
        if let Increase::ByteCounting { limit } = settings.increase
            && !(1..=2).contains(&limit)
        {
            return Err(SettingsError::CountingLimit { got: limit });
        }
        let min = 2 * u64::from(settings.segment);
        if settings.initial_threshold < min {
            return Err(SettingsError::Window { got: settings.initial_threshold, min, max: u64::MAX });
        }
        Ok(Self {
            window: settings.initial_window.bytes(settings.segment),
            threshold: settings.initial_threshold,
            counted: 0,
            parts: (settings.initial_window.bytes(settings.segment) / u64::from(settings.segment)) * WHOLE,
            settings,
        })
    }

    fn in_segments(&self) -> bool {
        self.settings.unit == WindowUnit::Segments
    }

    /// Sets the window to `parts` of segments.
    fn set_parts(&mut self, parts: u64) {
        let most = WINDOW_MAX / self.segment() * WHOLE;
        self.parts = parts.min(most);
        self.window = (self.parts / WHOLE).max(1) * self.segment();
    }

    /// One more acknowledgement, with a window in segments: one segment, or `1 / cwnd`.
    fn open_parts(&mut self) {
        let slow_start = u128::from(self.parts) * u128::from(self.segment())
            < u128::from(self.threshold) * u128::from(WHOLE);
        let more = if slow_start {
            WHOLE
        } else {
            u64::try_from((1_u128 << 64) / u128::from(self.parts.max(1))).unwrap_or(WHOLE).min(WHOLE)
        };
        self.set_parts(self.parts + more);
    }

    /// Half of the window in parts, and in bytes of whole segments: at least two.
    fn half_parts(&self) -> (u64, u64) {
        let most = u128::from(self.settings.halved_max) * u128::from(WHOLE) / u128::from(self.segment());
        let half = self.parts.min(u64::try_from(most).unwrap_or(u64::MAX)) / 2;
        (half, (half / WHOLE).max(2) * self.segment())
    }

    /// Whether the window is below the threshold.
    #[must_use]
    pub const fn in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// Puts the window and the threshold where an algorithm of this family wants them (bytes). Counted in segments, the
    /// threshold becomes whole ones, at least two, as in ns-2.
    pub(crate) fn set(&mut self, window: u64, threshold: u64) {
        let segment = self.segment();
        self.window = window.clamp(segment, WINDOW_MAX);
        self.threshold = threshold;
        self.counted = 0;
        // Rounded up, so that the same number of bytes comes out again.
        let parts = (u128::from(self.window) * u128::from(WHOLE)).div_ceil(segment.into());
        self.parts = u64::try_from(parts).unwrap_or(u64::MAX);
        if self.in_segments() {
            self.set_parts(self.parts);
            if threshold != u64::MAX {
                self.threshold = (threshold / segment).max(2) * segment;
            }
        }
    }

    /// The window in bytes; that of a part of a segment too, which [`Controller::window`] leaves away when it is counted in
    /// segments.
    pub(crate) fn fine_window(&self) -> u64 {
        if !self.in_segments() {
            return self.window;
        }
        let bytes = u128::from(self.parts) * u128::from(self.segment()) / u128::from(WHOLE);
        u64::try_from(bytes).unwrap_or(WINDOW_MAX).max(self.segment())
    }

    fn segment(&self) -> u64 {
        self.settings.segment.into()
    }

    /// Equation (4).
    fn halved(&self, flight: &Flight) -> u64 {
        let whole = if self.settings.halve_window { self.window } else { flight.in_flight };
        (whole.min(self.settings.halved_max) / 2).max(2 * self.segment()).min(WINDOW_MAX)
    }

    fn slow_start(&self, bytes: u64) -> u64 {
        let segment = self.segment();
        match self.settings.increase {
            Increase::PerAck => segment,
            Increase::Rfc5681 => bytes.min(segment),
            Increase::ByteCounting { limit } => bytes.min(u64::from(limit) * segment),
        }
    }

    fn congestion_avoidance(&mut self, bytes: u64) -> u64 {
        let segment = self.segment();
        match self.settings.increase {
            Increase::PerAck | Increase::Rfc5681 => {
                self.counted += segment * segment;
                let more = self.counted / self.window;
                self.counted %= self.window;
                more
            }
            Increase::ByteCounting { .. } => {
                self.counted += bytes;
                if self.counted < self.window {
                    return 0;
                }
                self.counted -= self.window;
                segment
            }
        }
    }
}

impl Controller for Reno {
    fn window(&self) -> u64 {
        self.window
    }

    fn slow_start_threshold(&self) -> u64 {
        self.threshold
    }

    fn on_late_open(&mut self) {
        self.window = self.segment();
        self.parts = WHOLE;
    }

    fn on_ack(&mut self, ack: &Ack) {
        if ack.bytes == 0 || !(ack.window_limited || self.settings.grow_unused) {
            return;
        }
        if self.in_segments() {
            self.open_parts();
            return;
        }
        let more = if self.in_slow_start() {
            self.slow_start(ack.bytes)
        } else {
            self.congestion_avoidance(ack.bytes)
        };
        self.window = (self.window + more).min(WINDOW_MAX);
    }

    fn on_loss(&mut self, flight: &Flight) {
        if self.in_segments() {
            let (half, threshold) = self.half_parts();
            self.threshold = threshold;
            self.set_parts(half);
            return;
        }
        self.threshold = self.halved(flight);
        self.window = self.threshold;
        self.counted = 0;
    }

    fn on_recovery_ack(&mut self, ack: &Ack) {
        if ack.deflated > 0 {
            let window = self.window.saturating_sub(ack.deflated);
            if self.in_segments() {
                let off = u128::from(ack.deflated) * u128::from(WHOLE) / u128::from(self.segment());
                let off = u64::try_from(off).unwrap_or(u64::MAX);
                self.set_parts(self.parts.saturating_sub(off).max(WHOLE));
            } else {
                self.window = window.max(self.segment());
            }
        }
    }

    fn on_recovered(&mut self, ack: &Ack) {
        let threshold = self.threshold.min(WINDOW_MAX);
        self.window = match self.settings.exit {
            RecoveryExit::Threshold => threshold,
            RecoveryExit::Flight => threshold.min(ack.in_flight.max(self.segment()) + self.segment()),
            RecoveryExit::Grow => return self.on_ack(ack),
        };
        self.parts = self.window / self.segment() * WHOLE;
    }

    fn on_timeout(&mut self, flight: &Flight) {
        if !flight.repeated || self.settings.lower_repeatedly {
            self.threshold = if self.in_segments() { self.half_parts().1 } else { self.halved(flight) };
        }
        self.window = self.segment();
        self.parts = WHOLE;
        self.counted = 0;
    }

    fn on_mark(&mut self, flight: &Flight) {
        // As a loss, but nothing is to be sent again (RFC 3168, section 6.1.2).
        self.on_loss(flight);
    }

    fn on_idle_timeout(&mut self) {
        self.window = self.segment();
        self.parts = WHOLE;
        self.counted = 0;
    }

    fn on_idle(&mut self, _idle: Micros) {
        if self.settings.restart_after_idle {
            let window = self.window.min(self.settings.initial_window.bytes(self.settings.segment));
            if window < self.window {
                self.window = window;
                self.parts = window / self.segment() * WHOLE;
            }
            self.counted = 0;
        }
    }
}

#[cfg(test)]
mod tests;
