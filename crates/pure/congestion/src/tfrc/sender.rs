//! The sender's machine (section 4).

use super::{TfrcData, TfrcFeedback, equation};
use crate::settings::{InitialWindow, SettingsError, check_segment};
use guestright_units::{BitsPerSecond, Micros, Time};

/// `t_mbi`: at least a packet in so many seconds.
const LONGEST_PAUSE_S: f64 = 64.0;
/// `q`: how much of the round-trip time stays.
const SMOOTHING: f64 = 0.9;
/// Before the first feedback.
const FIRST_TIMEOUT: Micros = Micros(2_000_000);
/// Reports of the last two round trips; there is one in each, and one for each loss event.
const RECEIVED_MAX: usize = 32;
/// 2^37 bytes per second: no rate is above 1.1 Tbit/s.
const RATE_MAX: f64 = 137_438_953_472.0;

/// The sender's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TfrcSenderSettings {
    /// `s`: bytes of a segment.
    pub segment: u32,
    /// The window that the first rate stands for, once there is a round-trip time (section 4.2).
    pub initial_window: InitialWindow,
    /// Whether the rate follows changes of the round-trip time at once, against oscillations (section 4.5; the RFC leaves it
    /// to the implementation).
    pub damping: bool,
    /// No datagram leaves sooner than this after the one before it; 0: whenever the rate lets it.
    pub interval_min: Micros,
}

impl TfrcSenderSettings {
    /// As RFC 5348 has it, without its option.
    #[must_use]
    pub const fn rfc5348(segment: u32) -> Self {
        Self { segment, initial_window: InitialWindow::Rfc3390, damping: false, interval_min: Micros(0) }
    }

    /// For small packets, such as those of voice (TFRC-SP, RFC 4828): they get in bytes what a TCP with segments of 1460 bytes
    /// gets, headers counted, but no more than a packet each 10 ms.
    ///
    /// Their [`TfrcData::bytes`] are to be the payload and 40 bytes of header: then the equation's rate, multiplied by
    /// payload / (payload + 40) as the RFC asks, is the rate of the payload. The receiver has to be
    /// [`super::TfrcReceiverSettings::rfc4828`].
    #[must_use]
    pub const fn rfc4828() -> Self {
        Self { interval_min: Micros(10_000), ..Self::rfc5348(1_460) }
    }
}

/// The sender of one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct TfrcSender {
    settings: TfrcSenderSettings,
    sequence: u64,
    /// `X`: allowed bytes per second.
    rate: f64,
    /// What the equation gives; none before the first loss.
    by_equation: Option<f64>,
    /// `R`, in seconds.
    round_trip_s: Option<f64>,
    /// `R_sqmean` and the root of the last sample.
    roots: Option<(f64, f64)>,
    /// `p`.
    loss_event_rate: f64,
    /// `X_recv_set`: what came in, and when it was told.
    received: Vec<(Time, f64)>,
    /// `tld`: when the rate was doubled last.
    doubled: Time,
    /// When the next datagram may leave.
    next: Time,
    /// From when on that is counted, and for how many bytes.
    counted: (Time, u32),
    no_feedback_at: Option<Time>,
    /// Whether anything was sent since that timer was set.
    sent_since: bool,
    limits: Limits,
}

/// Whether the rate, not the application, was what had kept the sender back (section 8.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Limits {
    /// Two times at which the sender had used up its rate.
    first: Option<Time>,
    second: Option<Time>,
    /// When what the last feedback tells of was sent, and when that feedback came.
    reported: Option<Time>,
    came: Option<Time>,
}

impl Limits {
    fn on_limited(&mut self, now: Time) {
        if self.first <= self.reported {
            self.first = Some(now);
        } else if self.second <= self.came {
            self.second = Some(now);
        }
    }

    /// Whether the application alone set the pace in the round trip that this feedback tells of.
    fn on_feedback(&mut self, echo: Time, round_trip_s: f64, now: Time) -> bool {
        let old = echo.0.checked_sub(micros(round_trip_s).0).map(Time);
        let new = Some(echo);
        let within = |at: Option<Time>| old < at && at <= new;
        let limited_by_rate = within(self.first) || within(self.second);
        self.reported = new;
        self.came = Some(now);
        if self.first <= new && self.second > new {
            self.first = self.second;
        }
        !limited_by_rate
    }
}

impl TfrcSender {
    /// A flow's sender, at `now`.
    ///
    /// # Errors
    ///
    /// If the segment's size cannot be.
    pub fn new(settings: TfrcSenderSettings, now: Time) -> Result<Self, SettingsError> {
        check_segment(settings.segment)?;
        Ok(Self {
            sequence: 0,
            // One segment a second, until there is a round-trip time.
            rate: f64::from(settings.segment),
            by_equation: None,
            round_trip_s: None,
            roots: None,
            loss_event_rate: 0.0,
            received: vec![(now, f64::INFINITY)],
            doubled: now,
            next: now,
            counted: (now, 0),
            no_feedback_at: None,
            sent_since: false,
            limits: Limits::default(),
            settings,
        })
    }

    /// `X`: the rate that is allowed.
    #[must_use]
    pub fn rate(&self) -> BitsPerSecond {
        // Between 8 * s / 64 and 2^40.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded by RATE_MAX")]
        let bits = (self.rate * 8.0) as u64;
        BitsPerSecond::new(bits.max(1)).unwrap_or(BitsPerSecond(std::num::NonZeroU64::MIN))
    }

    /// `R`, rounded to microseconds; `None` before the first feedback.
    #[must_use]
    pub fn round_trip(&self) -> Option<Micros> {
        self.round_trip_s.map(|seconds| micros(seconds).max(Micros(1)))
    }

    /// `p`, as the receiver reported it last.
    #[must_use]
    pub const fn loss_event_rate(&self) -> f64 {
        self.loss_event_rate
    }

    /// From when on the next datagram may leave.
    #[must_use]
    pub const fn next_at(&self) -> Time {
        self.next
    }

    /// A datagram with `bytes` leaves: its header. `more`: the application has another one that waits for the rate.
    pub fn send(&mut self, bytes: u32, more: bool, now: Time) -> TfrcData {
        let data = TfrcData { sequence: self.sequence, sent: now, round_trip: self.round_trip(), bytes };
        self.sequence += 1;
        self.counted = (self.next.max(now), bytes);
        self.reschedule();
        self.sent_since = true;
        if self.no_feedback_at.is_none() {
            self.no_feedback_at = Some(now + FIRST_TIMEOUT);
        }
        if more {
            self.limits.on_limited(now);
        }
        data
    }

    /// The time that `bytes` take at the rate of the moment (section 4.6).
    fn pause(&self, bytes: u32) -> Micros {
        let mut rate = self.rate;
        if self.settings.damping
            && let Some((mean, last)) = self.roots
            && last > 0.0
        {
            rate = (rate * mean / last).max(self.least());
        }
        micros(f64::from(bytes) / rate).max(self.settings.interval_min)
    }

    /// A rate that changes moves the datagram that is next (section 4.6): the first feedback ends the second that the first
    /// datagram would have taken.
    fn reschedule(&mut self) {
        let (since, bytes) = self.counted;
        self.next = since + self.pause(bytes);
    }

    /// The receiver reports.
    pub fn on_feedback(&mut self, feedback: &TfrcFeedback, now: Time) {
        let sample = now.since(feedback.echo).0.saturating_sub(feedback.delay.0).max(1);
        let first = self.round_trip_s.is_none();
        let round_trip_s = self.measure(seconds(Micros(sample)));
        let application_limited = self.limits.on_feedback(feedback.echo, round_trip_s, now);
        let p = if feedback.loss_event_rate > 0.0 { feedback.loss_event_rate.min(1.0) } else { 0.0 };
        let worse = p > self.loss_event_rate;
        self.loss_event_rate = p;
        self.by_equation = equation(self.settings.segment, round_trip_s, p);
        if first {
            self.rate = self.initial_rate(round_trip_s);
            self.doubled = now;
        }
        let limit = self.receive_limit(feedback.received, application_limited, worse, round_trip_s, now);
        self.adjust(limit, round_trip_s, now);
        self.reschedule();
        self.set_timer(now);
    }

    fn measure(&mut self, sample_s: f64) -> f64 {
        let smoothed =
            self.round_trip_s.map_or(sample_s, |old| SMOOTHING * old + (1.0 - SMOOTHING) * sample_s);
        self.round_trip_s = Some(smoothed);
        let root = sample_s.sqrt();
        let mean = self.roots.map_or(root, |(mean, _)| SMOOTHING * mean + (1.0 - SMOOTHING) * root);
        self.roots = Some((mean, root));
        smoothed
    }

    /// Section 4.3, step (4): `recv_limit`, and `X_recv_set`.
    fn receive_limit(
        &mut self,
        received: Option<f64>,
        application_limited: bool,
        worse: bool,
        round_trip_s: f64,
        now: Time,
    ) -> f64 {
        let Some(mut received) = received.filter(|rate| *rate >= 0.0) else {
            return 2.0 * self.largest_received();
        };
        if application_limited {
            if worse {
                for (_, old) in &mut self.received {
                    *old *= 0.5;
                }
                received *= 0.85;
            }
            // Only the largest stays, of those that were measured.
            let largest = self
                .received
                .iter()
                .map(|(_, rate)| *rate)
                .filter(|rate| rate.is_finite())
                .fold(received, f64::max);
            self.received.clear();
            self.received.push((now, largest));
            return if worse { largest } else { 2.0 * largest };
        }
        let two_round_trips = micros(2.0 * round_trip_s);
        self.received.retain(|(at, _)| now.since(*at) <= two_round_trips);
        if self.received.len() == RECEIVED_MAX {
            self.received.remove(0);
        }
        self.received.push((now, received));
        2.0 * self.largest_received()
    }

    fn largest_received(&self) -> f64 {
        self.received.iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
    }

    /// The rate: by the equation, or doubled in slow start.
    fn adjust(&mut self, limit: f64, round_trip_s: f64, now: Time) {
        if let Some(by_equation) = self.by_equation {
            self.rate = by_equation.min(limit).max(self.least());
        } else if seconds(now.since(self.doubled)) >= round_trip_s {
            self.rate = (2.0 * self.rate).min(limit).max(self.initial_rate(round_trip_s));
            self.doubled = now;
        }
        self.rate = self.rate.min(RATE_MAX);
    }

    /// When [`Self::on_timeout`] is to be called: the nofeedback timer.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<Time> {
        self.no_feedback_at
    }

    /// The nofeedback timer (section 4.4).
    pub fn on_timeout(&mut self, now: Time) {
        if self.no_feedback_at.is_none_or(|at| now < at) {
            return;
        }
        let received = self.largest_received();
        match (self.round_trip_s, self.by_equation) {
            (None, _) => {
                if self.sent_since {
                    self.rate = (0.5 * self.rate).max(self.least());
                }
            }
            // Idle, with a rate that is low anyway: it stays.
            (Some(round_trip_s), Some(_))
                if !self.sent_since && received < self.initial_rate(round_trip_s) => {}
            (Some(round_trip_s), None)
                if !self.sent_since && self.rate < 2.0 * self.initial_rate(round_trip_s) => {}
            (Some(_), None) => self.rate = (0.5 * self.rate).max(self.least()),
            // Twice what came in was the bound, or the equation was.
            (Some(_), Some(by_equation)) => {
                let limit = if by_equation > 2.0 * received { received } else { 0.5 * by_equation };
                let limit = limit.max(self.least());
                self.received.clear();
                self.received.push((now, 0.5 * limit));
                self.rate = by_equation.min(limit).max(self.least());
            }
        }
        self.reschedule();
        self.set_timer(now);
    }

    /// `max(4 R, 2 s / X)`.
    fn set_timer(&mut self, now: Time) {
        let two_segments = 2.0 * f64::from(self.settings.segment) / self.rate;
        let timeout = self.round_trip_s.map_or(seconds(FIRST_TIMEOUT), |round_trip| 4.0 * round_trip);
        self.no_feedback_at = Some(now + micros(timeout.max(two_segments)).max(Micros(1)));
        self.sent_since = false;
    }

    /// `W_init / R`.
    fn initial_rate(&self, round_trip_s: f64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let window = self.settings.initial_window.bytes(self.settings.segment) as f64;
        (window / round_trip_s).min(RATE_MAX)
    }

    /// `s / t_mbi`.
    fn least(&self) -> f64 {
        f64::from(self.settings.segment) / LONGEST_PAUSE_S
    }
}

fn seconds(time: Micros) -> f64 {
    time.as_seconds()
}

/// Rounded down.
fn micros(seconds: f64) -> Micros {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` stops at the bounds of u64"
    )]
    Micros((seconds * 1e6) as u64)
}
