//! TCP Westwood: how fast acknowledgements come in sets the window after a loss (paper C, section 3.2, Algorithm 1).
//!
//! - An estimate of the bandwidth follows the acknowledgements: [`WestwoodFilter`].
//! - Loss: `ssthresh = max(BWE * RTTmin, 2 SMSS)`, and `cwnd = ssthresh` if it was larger; it is never raised.
//! - Timeout: the same threshold, `cwnd = 1 SMSS`.
//! - Everything else is [`Reno`]'s.
//!
//! Sources: S. Mascolo, C. Casetti, M. Gerla, M. Y. Sanadidi, R. Wang, "TCP Westwood: Bandwidth Estimation for Enhanced
//! Transport over Wireless Links", MobiCom 2001; the ns-2 module of UCLA, version 1.3 of 2002, for what it says of
//! duplicate acknowledgements and of ticks; for Westwood+ A. Dell'Aera, L. A. Grieco, S. Mascolo, "Linux 2.4
//! Implementation of Westwood+ TCP with Rate-Halving", ICC 2004, and Linux' `tcp_westwood`.
//!
//! Units: bits per second of payload, in 1024ths; times in microseconds.
//!
//! What the sources leave open, and what is done here:
//! - The pole: the paper has 19/21 exactly, the ns-2 module 0.9047 and 0.0476 (its estimate is 0.1 % lower). Here 19/21.
//! - The first sample: the ns-2 module measures it from the start of the simulation. Here from the first segment sent.
//! - Two acknowledgements at the same time: the formula divides by zero. Here the time between them is a microsecond at
//!   least, and a sample at most 2^40 bit/s.
//! - Without a round-trip time there is no `RTTmin`: the threshold is two segments then (the module takes 5 s, which is
//!   any threshold at all).
//! - A mark (ECN): as a loss, without a recovery.
//! - The first samples after a silence are low, since the silence counts. That is Algorithm 1, and kept.

use crate::controller::{Ack, Controller, Flight, Sent, WINDOW_MAX, forward, to_reno};
use crate::reno::{Reno, RenoSettings};
use crate::scale::mul_div;
use crate::settings::{RecoveryExit, SettingsError, WindowUnit};
use guestright_units::{Micros, Time};

/// How samples of bandwidth become an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WestwoodFilter {
    /// The paper's Algorithm 1: `BWE = 19/21 BWE + (sample + last sample) / 21`, a sample for each acknowledgement,
    /// whatever time has gone by. Type 1 of the ns-2 module.
    FixedPole,
    /// With a time constant (MobiCom 2001, equation (4); type 3 of the ns-2 module): for a sample after `D`
    /// `BWE = ((2 tau / D - 1) BWE + sample + last sample) / (2 tau / D + 1)`, and a sample of zero for each `tau / 2` without
    /// an acknowledgement.
    TimeConstant {
        /// tau: 1 s in the module. 10 ms to 1000 s.
        tau: Micros,
    },
    /// Westwood+: one sample for each round-trip time (50 ms at least), smoothed twice by 1/8.
    Plus,
}

/// What Westwood needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WestwoodSettings {
    /// All that is Reno's.
    pub reno: RenoSettings,
    pub filter: WestwoodFilter,
    /// Round-trip times are rounded to this, at least to one of it, before the least is taken; `None`: they are not. ns-2's
    /// clock ticks every 10 ms.
    pub tick: Option<Micros>,
    /// Whether the threshold after a timeout is divided by a number from 1 to 4 that grows with losses in slow start and
    /// goes back to 1 with one in congestion avoidance (the ns-2 module's `a`; its authors had given it up for losses).
    pub divide_on_timeout: bool,
}

impl WestwoodSettings {
    /// The paper's: Algorithm 1.
    #[must_use]
    pub const fn algorithm_1(reno: RenoSettings) -> Self {
        Self { reno, filter: WestwoodFilter::FixedPole, tick: None, divide_on_timeout: false }
    }

    /// As the ns-2 module of 2002: Algorithm 1, ticks of 10 ms, a divisor on timeouts.
    #[must_use]
    pub const fn ns2(reno: RenoSettings) -> Self {
        Self { tick: Some(Micros(10_000)), divide_on_timeout: true, ..Self::algorithm_1(reno) }
    }

    #[must_use]
    pub const fn plus(reno: RenoSettings) -> Self {
        Self { filter: WestwoodFilter::Plus, ..Self::algorithm_1(reno) }
    }

    fn check(&self) -> Result<(), SettingsError> {
        if let WestwoodFilter::TimeConstant { tau } = self.filter {
            check_time("tau", tau, 10_000, 1_000_000_000)?;
        }
        self.tick.map_or(Ok(()), |tick| check_time("the tick", tick, 1, 1_000_000))
    }
}

const fn check_time(name: &'static str, got: Micros, min_us: u64, max_us: u64) -> Result<(), SettingsError> {
    if got.0 < min_us || got.0 > max_us {
        return Err(SettingsError::Duration { name, got_us: got.0, min_us, max_us });
    }
    Ok(())
}

/// A rate is kept in so many parts of a bit per second.
const PARTS: u64 = 1_024;
/// 2^40 bit/s.
const SAMPLE_MAX: u64 = PARTS << 40;
/// Linux: no sample of Westwood+ over a shorter time.
const PLUS_TIME_MIN: Micros = Micros(50_000);
/// More silence than that leaves nothing of an estimate.
const SILENCES_MAX: u64 = 200;

/// The controller of TCP Westwood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Westwood {
    settings: WestwoodSettings,
    reno: Reno,
    /// BWE, in `PARTS` of bit/s.
    estimate: u64,
    /// Westwood+: smoothed once. The others: the last sample.
    sample: u64,
    /// When the last acknowledgement came; before the first: when the first segment was sent.
    last_ack: Option<Time>,
    /// Segments that duplicates have told of and no new acknowledgement has covered yet.
    unaccounted: u64,
    /// Payload of a segment, as the last acknowledgements show.
    size: u64,
    least_round_trip: Option<Micros>,
    round_trip: Option<Micros>,
    /// Westwood+: bytes acknowledged since, and since when.
    gathered: u64,
    gathered_since: Option<Time>,
    /// The module's `a`, in quarters.
    divisor: u32,
}

impl Westwood {
    /// A flow's controller.
    ///
    /// # Errors
    ///
    /// If a setting of Reno's, the filter's time constant or the tick cannot be.
    pub fn new(settings: WestwoodSettings) -> Result<Self, SettingsError> {
        settings.check()?;
        Ok(Self {
            reno: Reno::new(settings.reno)?,
            estimate: 0,
            sample: 0,
            last_ack: None,
            unaccounted: 0,
            size: settings.reno.segment.into(),
            least_round_trip: None,
            round_trip: None,
            gathered: 0,
            gathered_since: None,
            divisor: 0,
            settings,
        })
    }

    /// BWE: the estimate of the bandwidth, in bits of payload per second.
    #[must_use]
    pub const fn bandwidth(&self) -> u64 {
        self.estimate / PARTS
    }

    /// RTTmin, as far as it is known.
    #[must_use]
    pub const fn least_round_trip(&self) -> Option<Micros> {
        self.least_round_trip
    }

    /// `BWE * RTTmin` in bytes; two segments at least.
    #[must_use]
    pub fn pipe(&self) -> u64 {
        self.pipe_over(4)
    }

    /// The same, divided by so many quarters.
    fn pipe_over(&self, quarters: u32) -> u64 {
        let least = self.least_round_trip.map_or(0, |least| least.0);
        // At most 2^52 parts of bit/s times microseconds; 2^10 parts and 8 * 10^6 of them are a byte.
        let mut bytes = mul_div(4 * self.estimate, least, 8_000_000 * PARTS * u64::from(quarters.max(1)));
        let segment = u64::from(self.settings.reno.segment);
        if self.settings.reno.unit == WindowUnit::Segments {
            bytes = bytes / segment * segment;
        }
        bytes.clamp(2 * segment, WINDOW_MAX)
    }

    /// What an acknowledgement says of bandwidth and of round trips.
    fn measure(&mut self, ack: &Ack) {
        if let Some(round_trip) = ack.round_trip {
            self.round_trip = Some(round_trip);
            let rounded = match self.settings.tick {
                Some(tick) => Micros((round_trip.0.saturating_add(tick.0 / 2) / tick.0).max(1) * tick.0),
                None => Micros(round_trip.0.max(1)),
            };
            self.least_round_trip = Some(self.least_round_trip.map_or(rounded, |least| least.min(rounded)));
        }
        if ack.bytes == 0 {
            return;
        }
        let segments = if ack.segments == 0 {
            ack.bytes.div_ceil(self.settings.reno.segment.into())
        } else {
            ack.segments.into()
        };
        self.size = (ack.bytes / segments).max(1);
        // Duplicates have told of some of these already.
        let counted = self.unaccounted.min(segments - 1);
        self.unaccounted -= counted;
        match self.settings.filter {
            WestwoodFilter::Plus => self.gather(ack.bytes.saturating_sub(counted * self.size), ack.now),
            WestwoodFilter::FixedPole | WestwoodFilter::TimeConstant { .. } => {
                // An acknowledgement of more than two segments follows one that was lost: count two.
                self.filter((segments - counted).min(2) * self.size, ack.now);
            }
        }
    }

    /// A duplicate acknowledgement: a segment has arrived.
    fn measure_duplicate(&mut self, now: Time) {
        // As many as a window has segments, no more.
        self.unaccounted = (self.unaccounted + 1).min(WINDOW_MAX);
        match self.settings.filter {
            WestwoodFilter::Plus => self.gather(self.size, now),
            WestwoodFilter::FixedPole | WestwoodFilter::TimeConstant { .. } => self.filter(self.size, now),
        }
    }

    fn filter(&mut self, bytes: u64, now: Time) {
        let Some(last) = self.last_ack.replace(now) else { return };
        let mut interval = Micros(now.since(last).0.max(1));
        if let WestwoodFilter::TimeConstant { tau } = self.settings.filter {
            interval = self.silence(interval, tau);
        }
        let sample = rate(bytes, interval);
        let sum = sample + self.sample;
        self.estimate = match self.settings.filter {
            WestwoodFilter::TimeConstant { tau } => weigh(self.estimate, sum, tau, interval),
            WestwoodFilter::FixedPole | WestwoodFilter::Plus => (19 * self.estimate + sum) / 21,
        };
        self.sample = sample;
    }

    /// Samples of zero for each half of tau in which nothing came. What is left of the interval.
    fn silence(&mut self, interval: Micros, tau: Micros) -> Micros {
        let half = Micros(tau.0 / 2);
        let mut silences = interval.0 / half.0;
        let mut rest = Micros(interval.0 % half.0);
        // The module: less than 10 ms is no interval of its own.
        if silences > 0 && rest.0 < 10_000 {
            silences -= 1;
            rest = half;
        }
        for _ in 0..silences.min(SILENCES_MAX) {
            self.estimate = weigh(self.estimate, self.sample, tau, half);
            self.sample = 0;
        }
        rest
    }

    /// Westwood+: a sample when a round trip is over.
    fn gather(&mut self, bytes: u64, now: Time) {
        self.gathered = self.gathered.saturating_add(bytes);
        let since = *self.gathered_since.get_or_insert(self.last_ack.unwrap_or(now));
        let interval = now.since(since);
        let Some(round_trip) = self.round_trip else { return };
        if interval <= round_trip.max(PLUS_TIME_MIN) {
            return;
        }
        let sample = rate(self.gathered, interval);
        if self.estimate == 0 && self.sample == 0 {
            self.sample = sample;
            self.estimate = sample;
        } else {
            self.sample = (7 * self.sample + sample) / 8;
            self.estimate = (7 * self.estimate + self.sample) / 8;
        }
        self.gathered = 0;
        self.gathered_since = Some(now);
    }
}

/// In `PARTS` of bit/s.
fn rate(bytes: u64, interval: Micros) -> u64 {
    mul_div(bytes, 8_000_000 * PARTS, interval.0.max(1)).min(SAMPLE_MAX)
}

/// `((2 tau / D - 1) estimate + sum) / (2 tau / D + 1)`, multiplied by `D`. `D` is no longer than `tau`.
fn weigh(estimate: u64, sum: u64, tau: Micros, interval: Micros) -> u64 {
    let (double, interval) = (2 * u128::from(tau.0), u128::from(interval.0.min(2 * tau.0)));
    let weighed = (double - interval) * u128::from(estimate) + interval * u128::from(sum);
    u64::try_from(weighed / (double + interval)).unwrap_or(SAMPLE_MAX)
}

impl Controller for Westwood {
    forward!(to_reno: window slow_start_threshold on_late_open on_idle_timeout backs_off on_idle);

    fn on_sent(&mut self, sent: &Sent) {
        self.last_ack.get_or_insert(sent.now);
        self.reno.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.measure(ack);
        self.reno.on_ack(ack);
    }

    fn on_duplicate_ack(&mut self, flight: &Flight) {
        self.measure_duplicate(flight.now);
        self.reno.on_duplicate_ack(flight);
    }

    /// The third duplicate: it counts as one too.
    fn on_loss(&mut self, flight: &Flight) {
        self.measure_duplicate(flight.now);
        self.divisor = if self.reno.in_slow_start() { (self.divisor + 1).min(16) } else { 4 };
        let (window, pipe) = (self.reno.fine_window(), self.pipe());
        self.reno.on_loss(flight);
        self.reno.set(window.min(pipe), pipe);
    }

    fn on_recovery_ack(&mut self, ack: &Ack) {
        self.measure(ack);
        self.reno.on_recovery_ack(ack);
    }

    fn on_recovered(&mut self, ack: &Ack) {
        self.measure(ack);
        let window = self.window();
        self.reno.on_recovered(ack);
        // Reno would go up to the threshold, which may be above what the window was.
        if self.settings.reno.exit != RecoveryExit::Grow && self.window() > window {
            let threshold = self.slow_start_threshold();
            self.reno.set(window, threshold);
        }
    }

    fn on_timeout(&mut self, flight: &Flight) {
        self.divisor = if self.reno.in_slow_start() { (self.divisor + 4).min(16) } else { 4 };
        let quarters = if self.settings.divide_on_timeout { self.divisor.max(4) } else { 4 };
        let pipe = self.pipe_over(quarters);
        self.reno.on_timeout(flight);
        let window = self.window();
        self.reno.set(window, pipe);
    }

    fn on_mark(&mut self, _flight: &Flight) {
        let (window, pipe) = (self.reno.fine_window(), self.pipe());
        self.reno.set(window.min(pipe), pipe);
    }
}

#[cfg(test)]
mod tests;
