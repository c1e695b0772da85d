//! TCP-Real: the receiver measures how fast waves of segments come in, and that steers the sender (paper C, sections 2
//! and 3.1). **A reading of the text, not the original.**
//!
//! The paper describes TCP-Real in two paragraphs; the articles it cites say little more of what a program would have to
//! do, and no code was found. What follows is one way of reading them. Each choice is marked, and every piece can be
//! switched off to see what it does ([`RealSettings`]). None was tuned.
//!
//! From the text:
//! - "The receiver measures the data-receiving rate and attaches the result to its ACKs." The rate is that of a *wave*.
//! - "If there is no receiving rate decrease", `cwnd` grows by `alpha = 1` segment each round-trip time.
//! - "If the magnitude of the decrease is small", `cwnd` stays.
//! - Otherwise `cwnd` is reduced "multiplicatively by gamma"; `gamma = 1/8`.
//! - "Rate and timeout adjustments are aborted whenever the receiving rate indicates sufficient availability of bandwidth."
//!   Loss is either congestion, answered by `beta = 1/2` as standard TCP does, or a random error, answered by a
//!   retransmission only.
//!
//! Choices:
//! 1. A wave is as many segments as fit the window when it begins. It ends early when nothing is on its way. A segment that is
//!    sent again belongs to the wave that is being sent then.
//! 2. The rate of a wave is its bytes that came in, over the time from its first segment to the next wave's first one
//!    ([`WaveMeter`]).
//! 3. A decrease is small if it is by no more than `delta = 1/8`.
//! 4. "Reduced by gamma" takes gamma away: `cwnd = max((1 - gamma) cwnd, 2 SMSS)`. The slow start threshold is lowered to the
//!    reduced window if it is above, so that the window grows by `alpha` from there. A window of two segments or less stays
//!    as it is, and so does its threshold.
//! 5. A wave in which the window was never full, or the application had nothing more to send at some time, says how fast the
//!    application spoke, not what the path can carry. It is taken for "no decrease", and no later wave is compared with it.
//! 6. Loss is a random error if the last report told of no decrease or of a small one. Before the first report it is
//!    congestion.
//! 7. A timeout is judged in the same way. After a random error the first segment that is not acknowledged is sent again, it
//!    alone, and the timer starts anew; window, threshold, the next timeout's length, what is known of other segments and a
//!    recovery that goes on stay as they are. (Or everything is sent again, with the window kept:
//!    [`RealSettings::go_back`].) A second timeout without a report between them is congestion, as if it were the first.
//! 8. Slow start below the threshold is as in standard TCP, held by a decrease.
//! 9. In a recovery reports are noted but do not move the window: what was lost lowers the rate of its wave by itself. In a
//!    recovery from a random error nothing else moves it either.
//! 10. A mark (ECN) is congestion.
//! 11. A decrease is one of the rate that came in, whoever caused it: the sender's own reduction (gamma, beta) lowers the rate
//!     of a wave that the path would have carried faster, so that one step by gamma can bring about the next.
//! 12. The report between two timeouts of choice 7 is any new one, also of a wave that was sent before the first of them.
//! 13. Reports on duplicate acknowledgements are not read: the text compares "when new data is acknowledged". Jitter, which
//!     section 5.1 names beside the rate, is not looked at: there is no number for it.
//!
//! A second implementation, written from the same text without a look at this one, reads six of these differently:
//! [`RealReadings`].
//!
//! A weakness of any such rule: at a full bottleneck the rate of arrival is constant, so congestion looks like a random
//! error there.

mod meter;
mod waves;

pub use meter::WaveMeter;

use crate::aimd::{Aimd, AimdSettings};
use crate::controller::{Ack, Controller, Flight, Sent, WaveReport};
use crate::millionths::Millionths;
use crate::reno::RenoSettings;
use crate::settings::SettingsError;
use guestright_units::Micros;
use waves::Waves;

/// The parameters of our reading of TCP-Real, and what of it is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealSettings {
    /// All that is Reno's.
    pub reno: RenoSettings,
    /// Segments that the window grows by in a round-trip time: more than 0, up to 100.
    pub alpha: Millionths,
    /// The part of the window that is kept when a loss means congestion: more than 0, less than 1.
    pub beta: Millionths,
    /// The part of the window that is given up when the receiving rate falls: 0 to 1, not 1.
    pub gamma: Millionths,
    /// A fall of the receiving rate by no more than this part of it is small: 0 to 1.
    pub delta: Millionths,
    /// Whether losses are told apart by the receiving rate. If not, each is congestion.
    pub classifier: bool,
    /// Whether the receiving rate moves the window: growth held back, gamma. If not, the window moves as standard TCP's.
    pub waves: bool,
    /// Whether timeouts are judged by the receiving rate. If not, each is congestion.
    pub timeout: bool,
    /// Whether everything is sent again after a timeout that was taken for a random error too. If not, one segment is
    /// (choice 7).
    pub go_back: bool,
    /// Whether waves in which the application set the pace are set aside (choice 5). If not, they are compared like all
    /// others.
    pub ignore_application_limited: bool,
    /// Readings that differ from the choices above.
    pub readings: RealReadings,
}

impl RealSettings {
    /// All pieces in use, with the paper's alpha, beta and gamma.
    #[must_use]
    pub const fn new(reno: RenoSettings) -> Self {
        Self {
            reno,
            alpha: Millionths::ONE,
            beta: Millionths::HALF,
            gamma: Millionths(125_000),
            delta: Millionths(125_000),
            classifier: true,
            waves: true,
            timeout: true,
            go_back: false,
            ignore_application_limited: true,
            readings: RealReadings::OURS,
        }
    }
}

/// Where the text allows two readings, and a second implementation (`tests/second`) that was written without a look at this
/// one reads it differently. All off: as the choices above have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealReadings {
    /// Choice 1: segments that are sent again belong to no wave.
    pub again: bool,
    /// Choice 5: a wave in which the window was full is compared, although the application had nothing more to send.
    pub drained: bool,
    /// Choice 5: after a wave that is not compared, the next is compared with the last one that was.
    pub reference: bool,
    /// Choice 12: of waves that are compared alone.
    pub spared: bool,
    /// Choice 9: gamma reduces the window in a recovery too.
    pub recovery: bool,
    /// Choice 4: the threshold is lowered to a window of two segments or less.
    pub low: bool,
}

impl RealReadings {
    /// The choices above.
    pub const OURS: Self =
        Self { again: false, drained: false, reference: false, spared: false, recovery: false, low: false };

    /// All of the second implementation's.
    pub const SECOND: Self =
        Self { again: true, drained: true, reference: true, spared: true, recovery: true, low: true };

    /// Their names in settings: none of the second implementation's, each by itself, all.
    pub const NAMED: [(&'static str, Self); 8] = [
        ("ours", Self::OURS),
        ("again", Self { again: true, ..Self::OURS }),
        ("drained", Self { drained: true, ..Self::OURS }),
        ("reference", Self { reference: true, ..Self::OURS }),
        ("spared", Self { spared: true, ..Self::OURS }),
        ("recovery", Self { recovery: true, ..Self::OURS }),
        ("low", Self { low: true, ..Self::OURS }),
        ("second", Self::SECOND),
    ];
}

/// What the last report says of the receiving rate, compared with the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trend {
    /// No decrease: there is bandwidth.
    Steady,
    /// A small decrease.
    Falling,
    /// A large decrease: there is not.
    Fallen,
}

/// Whether there is a recovery, and from what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovering {
    No,
    FromError,
    FromCongestion,
}

/// The controller of TCP-Real.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Real {
    settings: RealSettings,
    aimd: Aimd,
    waves: Waves,
    /// Bytes and time of the wave that the next one is compared with.
    reference: Option<(u64, Micros)>,
    /// The number of the last report.
    reported: Option<u32>,
    /// `None` before the first report.
    trend: Option<Trend>,
    /// Whether a timeout was taken for a random error since the last report.
    forgiven: bool,
    recovery: Recovering,
    /// Whether the last timeout was taken for a random error.
    error: bool,
}

impl Real {
    /// A flow's controller.
    ///
    /// # Errors
    ///
    /// If alpha, beta, gamma, delta or a setting of Reno's cannot be.
    pub fn new(settings: RealSettings) -> Result<Self, SettingsError> {
        settings.gamma.check("gamma", Millionths::ZERO, Millionths(999_999))?;
        settings.delta.check("delta", Millionths::ZERO, Millionths::ONE)?;
        let aimd = AimdSettings {
            alpha: settings.alpha,
            beta: settings.beta,
            ..AimdSettings::standard(settings.reno)
        };
        Ok(Self {
            aimd: Aimd::new(aimd)?,
            waves: Waves::default(),
            reference: None,
            reported: None,
            trend: None,
            forgiven: false,
            recovery: Recovering::No,
            error: false,
            settings,
        })
    }

    /// What the receiving rate does; `None` before the first report.
    #[must_use]
    pub const fn trend(&self) -> Option<Trend> {
        self.trend
    }

    /// Whether there is, by the last report, bandwidth enough: a loss is a random error then.
    #[must_use]
    pub const fn has_bandwidth(&self) -> bool {
        matches!(self.trend, Some(Trend::Steady | Trend::Falling))
    }

    fn report(&mut self, ack: &Ack) {
        let Some(report) = ack.wave else { return };
        if self.reported.is_some_and(|last| report.number <= last) {
            return;
        }
        self.reported = Some(report.number);
        let readings = self.settings.readings;
        let path_limited = self.waves.was_path_limited(report.number, readings.drained, ack.window_limited);
        if self.settings.ignore_application_limited && !path_limited {
            self.trend = Some(Trend::Steady);
            self.reference = self.reference.filter(|_| readings.reference);
            self.forgiven &= readings.spared;
            return;
        }
        self.forgiven = false;
        let trend = self.compare(&report);
        self.trend = Some(trend);
        self.reference = Some((report.bytes, report.interval));
        let moves = self.recovery == Recovering::No || readings.recovery;
        if trend == Trend::Fallen && self.settings.waves && moves {
            let window = self.aimd.fine_window();
            let reduced =
                self.settings.gamma.complement().of(window).max(2 * self.aimd.segment()).min(window);
            if reduced < window || readings.low {
                self.aimd.set(reduced, self.aimd.slow_start_threshold().min(reduced));
            }
        }
    }

    fn compare(&self, report: &WaveReport) -> Trend {
        let Some((bytes, interval)) = self.reference else { return Trend::Steady };
        // r = bytes / interval; compared without dividing.
        let now = u128::from(report.bytes) * u128::from(interval.0);
        let before = u128::from(bytes) * u128::from(report.interval.0);
        let kept = u128::from(self.settings.delta.complement().0);
        if now >= before {
            Trend::Steady
        } else if now.saturating_mul(1_000_000) >= before.saturating_mul(kept) {
            Trend::Falling
        } else {
            Trend::Fallen
        }
    }

    fn may_grow(&self) -> bool {
        !self.settings.waves || matches!(self.trend, None | Some(Trend::Steady))
    }
}

impl Controller for Real {
    fn window(&self) -> u64 {
        self.aimd.window()
    }

    fn slow_start_threshold(&self) -> u64 {
        self.aimd.slow_start_threshold()
    }

    fn wave(&self) -> Option<u32> {
        self.waves.stamp()
    }

    fn on_late_open(&mut self) {
        self.aimd.on_late_open();
    }

    fn on_sent(&mut self, sent: &Sent) {
        if sent.again && self.settings.readings.again {
            self.waves.on_sent_outside();
        } else {
            self.waves.on_sent(sent, self.window(), self.aimd.segment());
        }
        self.aimd.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.recovery = Recovering::No;
        self.report(ack);
        if self.may_grow() {
            self.aimd.on_ack(ack);
        }
    }

    fn on_duplicate_ack(&mut self, flight: &Flight) {
        self.aimd.on_duplicate_ack(flight);
    }

    fn on_loss(&mut self, flight: &Flight) {
        if self.settings.classifier && self.has_bandwidth() {
            self.recovery = Recovering::FromError;
        } else {
            self.recovery = Recovering::FromCongestion;
            self.aimd.on_loss(flight);
        }
    }

    fn on_recovery_ack(&mut self, ack: &Ack) {
        self.report(ack);
        if self.recovery == Recovering::FromCongestion {
            self.aimd.on_recovery_ack(ack);
        }
    }

    fn on_recovered(&mut self, ack: &Ack) {
        if self.recovery != Recovering::FromError {
            self.aimd.on_recovered(ack);
        }
        self.report(ack);
        self.recovery = Recovering::No;
    }

    fn on_timeout(&mut self, flight: &Flight) {
        // The first one that is taken for congestion, if the one before was not.
        let flight = &Flight { repeated: flight.repeated && !self.error, ..*flight };
        self.error = self.settings.timeout && self.has_bandwidth() && !self.forgiven;
        if self.error {
            self.forgiven = true;
        } else {
            self.aimd.on_timeout(flight);
        }
        if self.goes_back() {
            self.recovery = Recovering::No;
        }
    }

    fn on_mark(&mut self, flight: &Flight) {
        self.aimd.on_mark(flight);
    }

    fn on_idle_timeout(&mut self) {
        self.aimd.on_idle_timeout();
    }

    /// Of the last timeout: to be asked after [`Controller::on_timeout`].
    fn backs_off(&self) -> bool {
        !self.error
    }

    fn goes_back(&self) -> bool {
        !self.error || self.settings.go_back
    }

    fn on_idle(&mut self, idle: Micros) {
        self.aimd.on_idle(idle);
    }
}

#[cfg(test)]
mod tests;
