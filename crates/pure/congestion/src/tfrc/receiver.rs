//! The receiver's machine (section 6).

use super::equation::loss_event_rate_for;
use super::history::LossHistory;
use super::{TfrcData, TfrcFeedback};
use crate::settings::{SettingsError, check_segment};
use guestright_units::{Micros, Time};

/// The receiver's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TfrcReceiverSettings {
    /// `s`: bytes of a segment, as the sender counts them.
    pub segment: u32,
    /// Whether old intervals count less when the open one is long (section 5.5; the RFC leaves it to the implementation).
    pub discounting: bool,
    /// Whether a loss interval of no more than two round trips counts as its packets divided by those of them that were lost
    /// (RFC 4828, section 3): many small packets lost at once are more than one event then.
    pub short_intervals: bool,
}

impl TfrcReceiverSettings {
    /// As RFC 5348 advises: with discounting.
    #[must_use]
    pub const fn rfc5348(segment: u32) -> Self {
        Self { segment, discounting: true, short_intervals: false }
    }

    /// For small packets (RFC 4828): see [`super::TfrcSenderSettings::rfc4828`].
    #[must_use]
    pub const fn rfc4828() -> Self {
        Self { short_intervals: true, ..Self::rfc5348(1_460) }
    }
}

/// No round trip is longer, whatever the sender says: 64 s.
const ROUND_TRIP_MAX: Micros = Micros(64_000_000);

/// Bytes since a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gathered {
    since: Time,
    bytes: u64,
}

/// The receiver of one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct TfrcReceiver {
    settings: TfrcReceiverSettings,
    history: LossHistory,
    /// The datagram that came last: when it was sent, when it came.
    last: Option<(Time, Time)>,
    round_trip: Option<Micros>,
    /// Since the last feedback, and between the two before.
    gathered: Option<Gathered>,
    before: Option<Gathered>,
    /// The rate of the last feedback that had one, in bytes per second.
    received: Option<f64>,
    reported: f64,
    feedback_at: Option<Time>,
    /// Whether data came since the last feedback.
    fresh: bool,
}

impl TfrcReceiver {
    /// A flow's receiver.
    ///
    /// # Errors
    ///
    /// If the segment's size cannot be.
    pub fn new(settings: TfrcReceiverSettings) -> Result<Self, SettingsError> {
        check_segment(settings.segment)?;
        Ok(Self {
            history: LossHistory::new(settings.discounting, settings.short_intervals),
            last: None,
            round_trip: None,
            gathered: None,
            before: None,
            received: None,
            reported: 0.0,
            feedback_at: None,
            fresh: false,
            settings,
        })
    }

    /// `p` as it is now.
    #[must_use]
    pub fn loss_event_rate(&self) -> f64 {
        self.history.loss_event_rate()
    }

    /// A datagram came in, with or without a mark of congestion (ECN). What to send back now, if anything.
    pub fn on_data(&mut self, data: &TfrcData, marked: bool, now: Time) -> Option<TfrcFeedback> {
        let first = self.last.is_none();
        if self.last.is_none_or(|(sent, _)| data.sent >= sent) {
            self.last = Some((data.sent, now));
        }
        if let Some(round_trip) = data.round_trip {
            self.round_trip = Some(round_trip.clamp(Micros(1), ROUND_TRIP_MAX));
        }
        self.fresh = true;
        let gathered = self.gathered.get_or_insert(Gathered { since: now, bytes: 0 });
        gathered.bytes = gathered.bytes.saturating_add(data.bytes.into());
        let round_trip = self.round_trip.unwrap_or(Micros(0));
        let (segment, rate) = (self.settings.segment, self.rate(now));
        let new = self
            .history
            .on_packet(data.sequence, marked, now, round_trip, || first_interval(segment, rate, round_trip));
        let increased = new && self.history.loss_event_rate() > self.reported;
        if first || increased || self.round_trip.is_none() {
            return self.report(now);
        }
        if self.feedback_at.is_none() {
            self.feedback_at = Some(now + round_trip);
        }
        None
    }

    /// When [`Self::on_timeout`] is to be called.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<Time> {
        self.feedback_at
    }

    /// The feedback timer: what to send, if data came since the last feedback.
    pub fn on_timeout(&mut self, now: Time) -> Option<TfrcFeedback> {
        if self.feedback_at.is_none_or(|at| now < at) {
            return None;
        }
        if self.fresh {
            return self.report(now);
        }
        // Nothing came: nothing to say before the next datagram does.
        self.feedback_at = None;
        None
    }

    fn report(&mut self, now: Time) -> Option<TfrcFeedback> {
        let (sent, came) = self.last?;
        let first = self.feedback_at.is_none()
            && self.before.is_none()
            && self.reported == 0.0
            && self.received.is_none();
        if let Some(rate) = self.rate(now) {
            self.received = Some(rate);
        }
        let received = if first { None } else { self.received };
        self.before = self.gathered.replace(Gathered { since: now, bytes: 0 });
        self.fresh = false;
        self.reported = self.history.loss_event_rate();
        self.feedback_at = self.round_trip.map(|round_trip| now + round_trip);
        Some(TfrcFeedback { echo: sent, delay: now.since(came), received, loss_event_rate: self.reported })
    }

    /// How fast data comes in: since the last feedback, or since the one before if that was less than a round trip ago.
    fn rate(&self, now: Time) -> Option<f64> {
        let gathered = self.gathered?;
        let round_trip = self.round_trip.unwrap_or(Micros(0));
        let elapsed = now.since(gathered.since);
        let (bytes, elapsed) = match self.before {
            Some(before) if elapsed < round_trip => {
                (gathered.bytes.saturating_add(before.bytes), now.since(before.since).max(round_trip))
            }
            Some(_) | None => (gathered.bytes, elapsed.max(round_trip)),
        };
        (elapsed.0 > 0).then(|| float(bytes) * 1e6 / float(elapsed.0))
    }
}

/// What stands for the interval before the first loss: the one for which the equation gives the rate at which data came in
/// (section 6.3.1); half a segment for each round trip if there is none yet.
fn first_interval(segment: u32, rate: Option<f64>, round_trip: Micros) -> f64 {
    if round_trip.0 == 0 {
        return 1.0;
    }
    let round_trip_s = float(round_trip.0) / 1e6;
    let least = 0.5 * f64::from(segment) / round_trip_s;
    1.0 / loss_event_rate_for(segment, round_trip_s, rate.unwrap_or(least).max(least))
}

#[expect(clippy::cast_precision_loss, reason = "an error of 10^-16 of a rate")]
fn float(count: u64) -> f64 {
    count as f64
}
