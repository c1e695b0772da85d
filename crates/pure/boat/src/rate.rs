//! How many bytes a second the talker's codec may make, from what the listener reports every 5 s (paper D, section 4.1).
//!
//! The paper gives the shape: more loss than an upper threshold, and the rate goes down, the more the larger the jitter; less
//! than a lower one, and it goes up. The ladder, the thresholds and all that follows here are ours:
//!
//! - The talker goes up one step at a time, after [`Config::clean_reports`] clean reports, or after each as long as there
//!   was never any loss. The new step is a *trial* until as many clean reports have come at it.
//! - A step at which there was loss is left alone for a while, twice as long each time, so that a narrow path is not filled
//!   again and again only to see whether it is still narrow. One that failed before has to work for as long before the
//!   next one is tried.
//! - A trial that fails goes back to the step before it, whatever the jitter: that one is known to work.
//! - The first report after a fall still tells of the queue which was there before, and is not held against the new step.
//!   If the next one does, the queue does not drain by itself: the rate goes one step lower until a report is clean, and
//!   then back.
//! - Heavy loss says how much came through: the rate falls at once to the highest step that would have.
//! - A missing report is as bad as loss, but says nothing about the step: the rate comes back with the reports, one step
//!   with each. A report of a pause, with next to no packets expected, says nothing at all.
//!
//! Invariants: the rate is always a step of the ladder, and moves only in [`RateControl::handle_report`] and
//! [`RateControl::handle_timeout`]; a report that is not newer than the last one changes nothing.

use super::Report;
use guestright_units::{Micros, Time};

/// The steps of paper D's codec, from 700 to 8,000 bytes a second; those between are ours.
const LADDER: [u32; 9] = [700, 850, 1_000, 1_400, 2_000, 2_800, 4_000, 5_600, 8_000];

/// What can be chosen about rate control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Rates of the codec in bytes a second, rising; an empty ladder stands for the usual one.
    pub ladder: Vec<u32>,
    /// Where to begin, in bytes a second: the highest step that is not above it.
    pub rate_at_first: u32,
    /// How often the listener reports.
    pub interval: Micros,
    /// How long after a report the next one counts as missing.
    pub missing_after: Micros,
    /// More loss than this goes down: packets lost or late of a thousand.
    pub loss_high_permille: u32,
    /// Less loss than this goes up.
    pub loss_low_permille: u32,
    /// More packets lost of a thousand than this tell how much the path can carry.
    pub loss_heavy_permille: u32,
    /// Each of these that the jitter exceeds makes a fall one step deeper, in µs.
    pub jitter_steps_us: [u32; 2],
    /// So many clean reports in a row go up, and confirm a step.
    pub clean_reports: u32,
    /// A report of fewer packets says nothing.
    pub expected_min: u32,
    /// How long a step with loss is left alone after it failed for the first time.
    pub retry_after: Micros,
    /// The longest time that it is left alone.
    pub retry_after_max: Micros,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            ladder: LADDER.to_vec(),
            rate_at_first: 2_000,
            interval: Micros::from_seconds(5),
            missing_after: Micros::from_millis(7_500),
            loss_high_permille: 50,
            loss_low_permille: 10,
            loss_heavy_permille: 200,
            jitter_steps_us: [20_000, 50_000],
            clean_reports: 2,
            expected_min: 10,
            retry_after: Micros::from_seconds(60),
            retry_after_max: Micros::from_seconds(480),
        }
    }
}

/// A step that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Failure {
    /// How often in a row.
    times: u32,
    /// Not again before this.
    until: Option<Time>,
}

impl Failure {
    fn is_over(self, now: Time) -> bool {
        self.until.is_none_or(|until| until <= now)
    }
}

/// What the present step has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Nothing in particular.
    Usual,
    /// We came up to it and do not know yet whether it works.
    Trial,
    /// We came down to it, and the next report tells of what was before.
    Fallen,
    /// We came down to it, and that report has come.
    Settling,
    /// Below the step that is meant, until a queue is drained or reports come again. The same two.
    Below {
        /// Whether the next report tells of what was before.
        is_new: bool,
    },
}

/// The talker's rate.
#[derive(Clone, Debug)]
pub struct RateControl {
    config: Config,
    /// Never empty.
    ladder: Vec<u32>,
    failures: Vec<Failure>,
    step: usize,
    /// Where we are, or mean to come back to from below.
    meant: usize,
    standing: Standing,
    /// When we came to the present step.
    since: Time,
    /// There was loss, ever.
    has_lost: bool,
    /// Clean reports in a row.
    clean: u32,
    last_number: Option<u32>,
    deadline: Time,
}

impl RateControl {
    /// Begins at [`Config::rate_at_first`].
    #[must_use]
    pub fn new(config: Config, now: Time) -> Self {
        let mut ladder = if config.ladder.is_empty() { LADDER.to_vec() } else { config.ladder.clone() };
        ladder.sort_unstable();
        ladder.dedup();
        let step = ladder.iter().rposition(|rate| *rate <= config.rate_at_first).unwrap_or(0);
        let deadline = now + config.missing_after;
        Self {
            failures: vec![Failure::default(); ladder.len()],
            ladder,
            step,
            meant: step,
            since: now,
            has_lost: false,
            standing: Standing::Usual,
            clean: 0,
            last_number: None,
            deadline,
            config,
        }
    }

    /// What the codec may make, in bytes a second.
    #[must_use]
    pub fn rate(&self) -> u32 {
        self.ladder.get(self.step).copied().unwrap_or(LADDER[0])
    }

    /// What a packet of this length may have, in bytes: 34 for 850 bytes a second and 40 ms.
    #[must_use]
    pub fn packet_bytes(&self, packet: Micros) -> usize {
        let bytes = u64::from(self.rate()).saturating_mul(packet.0) / 1_000_000;
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Takes a report of the listener's. One that is not newer than the last one is ignored.
    pub fn handle_report(&mut self, report: &Report, now: Time) {
        if self.last_number.is_some_and(|last| report.number <= last) {
            return;
        }
        self.last_number = Some(report.number);
        self.deadline = now + self.config.missing_after;
        if report.expected < self.config.expected_min.max(1) {
            return;
        }
        let of_thousand = |packets: u32| {
            let permille = u64::from(packets) * 1_000 / u64::from(report.expected);
            u32::try_from(permille.min(1_000)).unwrap_or(1_000)
        };
        let lost = report.expected.saturating_sub(report.received);
        let missed = of_thousand(lost.saturating_add(report.late));
        if missed > self.config.loss_high_permille {
            self.fall(of_thousand(lost), report.jitter_us, now);
        } else if missed < self.config.loss_low_permille {
            self.rise(now);
        } else {
            self.clean = 0;
        }
    }

    /// Time has passed: a report may be missing.
    pub fn handle_timeout(&mut self, now: Time) {
        if now < self.deadline {
            return;
        }
        self.deadline = now + self.config.interval;
        self.clean = 0;
        if self.standing == Standing::Trial {
            self.meant = self.step.saturating_sub(1);
        }
        self.step = self.step.saturating_sub(1);
        self.standing = Standing::Below { is_new: true };
    }

    /// When it wants [`RateControl::handle_timeout`].
    #[must_use]
    pub fn poll_timeout(&self) -> Time {
        self.deadline
    }

    /// There was loss.
    fn fall(&mut self, lost_permille: u32, jitter_us: u32, now: Time) {
        self.clean = 0;
        self.has_lost = true;
        let heavy = lost_permille > self.config.loss_heavy_permille;
        match self.standing {
            Standing::Trial => {
                self.fail(self.step, now);
                self.step = self.step.saturating_sub(1);
                (self.meant, self.standing) = (self.step, Standing::Fallen);
            }
            Standing::Fallen if !heavy => self.standing = Standing::Settling,
            Standing::Below { is_new: true } if !heavy => self.standing = Standing::Below { is_new: false },
            Standing::Settling if !heavy => {
                self.step = self.step.saturating_sub(1);
                self.standing = Standing::Below { is_new: true };
            }
            Standing::Usual | Standing::Fallen | Standing::Settling | Standing::Below { .. } => {
                self.fail(self.meant, now);
                self.step = self.lower(heavy.then_some(lost_permille), jitter_us);
                (self.meant, self.standing) = (self.step, Standing::Fallen);
            }
        }
    }

    /// The step to fall to from the present one.
    fn lower(&self, heavy_permille: Option<u32>, jitter_us: u32) -> usize {
        let deeper = self.config.jitter_steps_us.iter().filter(|most| jitter_us > **most).count();
        let step = self.step.saturating_sub(1 + deeper);
        let Some(lost) = heavy_permille else { return step };
        let came = u64::from(self.rate()) * u64::from(1_000_u32.saturating_sub(lost)) / 1_000;
        step.min(self.ladder.iter().rposition(|rate| u64::from(*rate) <= came).unwrap_or(0))
    }

    /// There was none. Enough of that confirms the present step, and leads to the next one if that may be tried.
    fn rise(&mut self, now: Time) {
        self.clean = self.clean.saturating_add(1);
        if matches!(self.standing, Standing::Below { .. }) && self.step < self.meant {
            self.step += 1;
            self.clean = 0;
            let is_there = self.step == self.meant;
            self.standing = if is_there { Standing::Usual } else { Standing::Below { is_new: false } };
            return;
        }
        if self.clean < self.config.clean_reports && self.has_lost {
            return;
        }
        self.standing = Standing::Usual;
        for failure in self.failures.iter_mut().take(self.step) {
            *failure = Failure::default();
        }
        let next = self.step + 1;
        if self.is_sure(now) && self.failures.get(next).is_some_and(|failure| failure.is_over(now)) {
            (self.step, self.meant, self.since) = (next, next, now);
            self.standing = Standing::Trial;
            self.clean = 0;
        }
    }

    /// Whether the present step has shown that it works: one that failed before may fill a queue slowly.
    fn is_sure(&self, now: Time) -> bool {
        let has_failed = self.failures.get(self.step).is_some_and(|failure| failure.times > 0);
        !has_failed || now.since(self.since) >= self.config.retry_after
    }

    /// Leaves a step alone for a while.
    fn fail(&mut self, step: usize, now: Time) {
        let Config { retry_after, retry_after_max, .. } = self.config;
        if let Some(failure) = self.failures.get_mut(step) {
            let wait = retry_after.0.saturating_mul(1 << failure.times.min(16)).min(retry_after_max.0);
            failure.times = failure.times.saturating_add(1);
            failure.until = Some(now + Micros(wait));
        }
    }
}

#[cfg(test)]
mod tests;
