//! BBR, version 1: a model of the path (bottleneck bandwidth, round-trip propagation time) instead of losses.
//!
//! - `BtlBw`: the largest delivery rate of the last 10 round trips. `RTprop`: the least round-trip time of the last 10 s.
//! - Pacing rate: `pacing_gain * BtlBw`, less 1 %. Window: `cwnd_gain * BtlBw * RTprop` and three segments, 4 at least.
//! - *Startup*: both gains 2885/1000, until the bandwidth has grown by less than 25 % for three round trips.
//!   *Drain*: the inverse, until what is on its way is no more than the pipe holds.
//!   *ProbeBw*: gains 5/4, 3/4, and six times 1, each for one `RTprop`; the window's gain is 2.
//!   *ProbeRtt*: four segments for 200 ms and one round trip, if the least round-trip time was not seen again for 10 s.
//! - Loss is no signal. In the first round trip of a recovery no more is sent than leaves (packet conservation), after a
//!   timeout it starts with one segment; then the window comes back.
//!
//! Sources: N. Cardwell, Y. Cheng, C. S. Gunn, S. Hassas Yeganeh, V. Jacobson, "BBR: Congestion-Based Congestion Control",
//! ACM Queue 14 (5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00; for gains and bounds Linux' `tcp_bbr`, whose
//! behaviour this follows.
//!
//! It lives on [`crate::RateSample`]s: without them it stays in Startup with its initial window. It needs a sender that
//! paces, and one with selective acknowledgements: Startup may lose most of a window in a small buffer, and NewReno makes
//! good one segment in a round trip.
//!
//! Units: bits per second of payload, bytes, microseconds; gains in 256ths as Linux has them.
//!
//! What differs from Linux: the largest rate of the last 10 rounds is exact (Linux keeps three estimates); which phase of
//! ProbeBw comes first is drawn from a seed. **Not there of version 1:** the long-term estimate for policers (`lt_bw`), the
//! allowance for bunched acknowledgements (`extra_acked`, 2019), the larger allowance for segmentation offload. **Not there
//! of versions 2 and 3:** bounds from losses and marks (`inflight_hi`, `inflight_lo`), the REFILL and CRUISE phases, the
//! Reno-like wait between probes.

mod path;
mod window;

use crate::controller::{Ack, Controller, Flight, RateSample};
use crate::scale::mul_div;
use crate::settings::{InitialWindow, SettingsError, check_segment};
use guestright_units::{BitsPerSecond, Micros, Time};
use path::{Path, Pipe};

/// BBR's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BbrSettings {
    /// Payload of a full segment, in bytes.
    pub segment: u32,
    /// Bytes of header around it: the pacing rate counts them, the model of the path does not.
    pub header: u8,
    /// The window of a new flow: ten segments in Linux.
    pub initial_window: InitialWindow,
    /// Which of the phases of ProbeBw comes first: any but the one with the gain of 3/4.
    pub seed: u64,
}

impl BbrSettings {
    /// As in Linux, with IPv4 and TCP headers without options.
    #[must_use]
    pub const fn linux(segment: u32, seed: u64) -> Self {
        Self { segment, header: 40, initial_window: InitialWindow::Rfc6928, seed }
    }
}

/// What BBR is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BbrPhase {
    /// Looking for the bandwidth, twice as fast each round trip.
    Startup,
    /// Emptying the queue that Startup has made.
    Drain,
    /// Sending at the bandwidth, probing for more.
    ProbeBw {
        /// Which of the eight gains.
        gain: u8,
    },
    /// Nearly silent, to see the path without a queue.
    ProbeRtt,
}

/// 2/ln(2): the least gain that doubles the rate each round trip.
const HIGH_GAIN: u64 = 256 * 2_885 / 1_000 + 1;
const DRAIN_GAIN: u64 = 256 * 1_000 / 2_885;
const WINDOW_GAIN: u64 = 512;
const UNIT: u64 = 256;
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
const PROBE_RTT_TIME: Micros = Micros(200_000);
/// Startup is over if the bandwidth does not grow by that, in 256ths, in so many rounds.
const FULL_GROWTH: u64 = UNIT * 5 / 4;
const FULL_ROUNDS: u8 = 3;

/// The controller of BBR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bbr {
    settings: BbrSettings,
    path: Path,
    phase: BbrPhase,
    /// When the gain of ProbeBw was taken.
    cycle_began: Time,
    /// Startup: the bandwidth that is to be surpassed, and for how many rounds it was not.
    full_bandwidth: u64,
    full_rounds: u8,
    full_reached: bool,
    /// ProbeRtt: when it may end, and whether a round trip has gone by.
    probe_rtt_until: Option<Time>,
    probe_rtt_round: bool,
    /// Nothing was on its way for a while: no fresh look at RTprop is needed.
    after_idle: bool,
    window: u64,
    /// The window to come back to after a recovery, a timeout or ProbeRtt.
    prior_window: u64,
    /// In the first round trip of a recovery.
    conserving: bool,
    /// A timeout was not made good yet: what had been sent then, up to this offset, is not acknowledged.
    timed_out: Option<u64>,
    pacing: u64,
}

impl Bbr {
    /// A flow's controller.
    ///
    /// # Errors
    ///
    /// If the segment's size cannot be.
    pub fn new(settings: BbrSettings) -> Result<Self, SettingsError> {
        check_segment(settings.segment)?;
        let window = settings.initial_window.bytes(settings.segment);
        let mut bbr = Self {
            path: Path::default(),
            phase: BbrPhase::Startup,
            cycle_began: Time(0),
            full_bandwidth: 0,
            full_rounds: 0,
            full_reached: false,
            probe_rtt_until: None,
            probe_rtt_round: false,
            after_idle: false,
            window,
            prior_window: 0,
            conserving: false,
            timed_out: None,
            pacing: 0,
            settings,
        };
        // Linux: a millisecond stands for a round-trip time that is not known.
        bbr.pacing = bbr.paced(path::rate(window, Micros(1_000)), HIGH_GAIN);
        Ok(bbr)
    }

    /// What it is doing.
    #[must_use]
    pub const fn phase(&self) -> BbrPhase {
        self.phase
    }

    /// BtlBw: bits of payload per second; 0 before the first sample.
    #[must_use]
    pub fn bandwidth(&self) -> u64 {
        self.path.bandwidth()
    }

    /// RTprop, as far as it is known.
    #[must_use]
    pub const fn least_round_trip(&self) -> Option<Micros> {
        self.path.least_round_trip()
    }

    const fn pacing_gain(&self) -> u64 {
        match self.phase {
            BbrPhase::Startup => HIGH_GAIN,
            BbrPhase::Drain => DRAIN_GAIN,
            BbrPhase::ProbeBw { gain } => CYCLE[(gain % 8) as usize],
            BbrPhase::ProbeRtt => UNIT,
        }
    }

    const fn window_gain(&self) -> u64 {
        match self.phase {
            BbrPhase::Startup | BbrPhase::Drain => HIGH_GAIN,
            BbrPhase::ProbeBw { .. } => WINDOW_GAIN,
            BbrPhase::ProbeRtt => UNIT,
        }
    }

    fn pipe(&self) -> Pipe {
        Pipe {
            segment: self.settings.segment.into(),
            initial: self.settings.initial_window.bytes(self.settings.segment),
            phase: self.phase,
        }
    }

    /// A pacing rate for `bandwidth` of payload: headers on top, less 1 %.
    fn paced(&self, bandwidth: u64, gain: u64) -> u64 {
        let segment = u64::from(self.settings.segment);
        let full = segment + u64::from(self.settings.header);
        mul_div(bandwidth, gain * 99 * full, 25_600 * segment).max(1)
    }

    fn model(&mut self, ack: &Ack, sample: &RateSample) {
        if self.phase == BbrPhase::ProbeRtt {
            self.path.ignore_until(sample.delivered.saturating_add(ack.in_flight));
        }
        let round = self.path.on_sample(sample);
        if round {
            self.conserving = false;
        }
        self.cycle(ack);
        if round && !sample.application_limited {
            self.look_for_the_top();
        }
        self.drain(ack);
        self.probe_round_trip(ack, sample, round);
    }

    /// Startup ends when the bandwidth does not grow any more.
    fn look_for_the_top(&mut self) {
        if self.full_reached {
            return;
        }
        let bandwidth = self.path.bandwidth();
        if u128::from(bandwidth) * u128::from(UNIT)
            >= u128::from(self.full_bandwidth) * u128::from(FULL_GROWTH)
        {
            self.full_bandwidth = bandwidth;
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full_reached = self.full_rounds >= FULL_ROUNDS;
    }

    fn drain(&mut self, ack: &Ack) {
        if self.phase == BbrPhase::Startup && self.full_reached {
            self.phase = BbrPhase::Drain;
        }
        if self.phase == BbrPhase::Drain && ack.in_flight <= self.path.pipe(UNIT, self.pipe()) {
            self.probe_bandwidth(ack.now);
        }
    }

    /// ProbeBw, with any phase but the second.
    fn probe_bandwidth(&mut self, now: Time) {
        let first = u8::try_from(mix(self.settings.seed) % 7).unwrap_or(0);
        // 0, or 2 to 7.
        self.phase = BbrPhase::ProbeBw { gain: if first == 0 { 0 } else { first + 1 } };
        self.cycle_began = now;
    }

    /// The next gain of ProbeBw, if it is time.
    fn cycle(&mut self, ack: &Ack) {
        let BbrPhase::ProbeBw { gain } = self.phase else { return };
        let least = self.path.least_round_trip().unwrap_or(Micros(0));
        let over = ack.now.since(self.cycle_began) > least;
        // Linux: what was on its way before this acknowledgement.
        let in_flight = ack.in_flight.saturating_add(ack.bytes);
        let next = match gain {
            // Until the queue shows it, or a loss.
            0 => over && (self.conserving || in_flight >= self.path.pipe(CYCLE[0], self.pipe())),
            // Until the queue is gone.
            1 => over || in_flight <= self.path.pipe(UNIT, self.pipe()),
            _ => over,
        };
        if next {
            self.phase = BbrPhase::ProbeBw { gain: (gain + 1) % 8 };
            self.cycle_began = ack.now;
        }
    }

    /// RTprop, and the phase that looks for it.
    fn probe_round_trip(&mut self, ack: &Ack, sample: &RateSample, round: bool) {
        let expired = self.path.on_round_trip(ack.round_trip, ack.now);
        if expired && !self.after_idle && self.phase != BbrPhase::ProbeRtt {
            self.phase = BbrPhase::ProbeRtt;
            self.prior_window = self.saved_window();
            self.probe_rtt_until = None;
        }
        if self.phase == BbrPhase::ProbeRtt {
            match self.probe_rtt_until {
                None if ack.in_flight <= self.pipe().least() => {
                    self.probe_rtt_until = Some(ack.now + PROBE_RTT_TIME);
                    self.probe_rtt_round = false;
                    self.path.next_round(sample.delivered);
                }
                None => {}
                Some(until) => {
                    self.probe_rtt_round |= round;
                    if self.probe_rtt_round && ack.now > until {
                        self.end_probe_rtt(ack.now);
                    }
                }
            }
        }
        self.after_idle = false;
    }

    fn end_probe_rtt(&mut self, now: Time) {
        self.path.refresh(now);
        self.window = self.window.max(self.prior_window);
        if self.full_reached {
            self.probe_bandwidth(now);
        } else {
            self.phase = BbrPhase::Startup;
        }
    }

    fn set_pacing(&mut self) {
        let bandwidth = self.path.bandwidth();
        if bandwidth == 0 {
            return;
        }
        let rate = self.paced(bandwidth, self.pacing_gain());
        // Startup: an early sample that is too low slows nothing down.
        if self.full_reached || rate > self.pacing {
            self.pacing = rate;
        }
    }
}

/// The finaliser of SplitMix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014): seeds that are numbers in a row differ in all bits.
const fn mix(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl Controller for Bbr {
    fn window(&self) -> u64 {
        self.window
    }

    fn pacing(&self) -> Option<BitsPerSecond> {
        BitsPerSecond::new(self.pacing)
    }

    fn wants_rate(&self) -> bool {
        true
    }

    fn on_late_open(&mut self) {
        self.window = self.settings.segment.into();
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.leave_timeout(ack.acknowledged);
        self.acknowledged(ack);
    }

    fn on_loss(&mut self, flight: &Flight) {
        self.conserve(flight);
    }

    fn on_recovery_ack(&mut self, ack: &Ack) {
        self.acknowledged(ack);
    }

    fn on_recovered(&mut self, ack: &Ack) {
        self.conserving = false;
        self.window = self.window.max(self.prior_window);
        self.acknowledged(ack);
    }

    fn on_timeout(&mut self, flight: &Flight) {
        self.collapse(flight);
    }

    fn on_idle(&mut self, _idle: Micros) {
        self.after_idle = true;
        if matches!(self.phase, BbrPhase::ProbeBw { .. }) {
            let bandwidth = self.path.bandwidth();
            if bandwidth > 0 {
                self.pacing = self.paced(bandwidth, UNIT);
            }
        }
    }
}

#[cfg(test)]
mod tests;
