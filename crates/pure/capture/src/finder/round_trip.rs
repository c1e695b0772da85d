//! Round trips from RTCP: RFC 3550, section 6.4.1.
//!
//! A receiver's report names the last sender report that it got, and for how long it kept it. Between the two, as the
//! place of the capture saw them, lies that time and the way from there to the receiver and back. That is the half of
//! a call's round trip beyond the place; the other half is told by the reports in the other direction.

use crate::rtcp::{Reception, SenderReport};
use crate::stamp::Stamp;
use guestright_units::Micros;
use std::collections::{BTreeMap, VecDeque};

/// Sender reports that wait for their answer.
const REPORTS_MAX: usize = 10_000;
/// A longer round trip is not believed: a clock was set.
const NANOS_MAX: i64 = 10_000_000_000;
/// The receiver's clock ticks in 2^-16 s, so a round trip may look this much shorter than it is.
const NANOS_MIN: i64 = -200_000;

/// What RTCP tells of a way there and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// How often it was told.
    pub count: u64,
    pub least: Micros,
    pub mean: Micros,
    pub most: Micros,
}

impl RoundTrip {
    fn one(span: Micros) -> Self {
        Self { count: 1, least: span, mean: span, most: span }
    }

    /// With one more.
    pub(super) fn with(before: Option<Self>, span: Micros) -> Self {
        let Some(before) = before else { return Self::one(span) };
        let count = before.count.saturating_add(1);
        let sum = u128::from(before.mean.0) * u128::from(before.count) + u128::from(span.0);
        let mean = Micros(u64::try_from(sum / u128::from(count)).unwrap_or(u64::MAX));
        Self { count, least: before.least.min(span), mean, most: before.most.max(span) }
    }

    /// The way that consists of both.
    pub(super) fn and(self, other: Self) -> Self {
        let sum = |a: Micros, b: Micros| Micros(a.0.saturating_add(b.0));
        Self {
            count: self.count.min(other.count),
            least: sum(self.least, other.least),
            mean: sum(self.mean, other.mean),
            most: sum(self.most, other.most),
        }
    }
}

/// Source, clock in its report, interface.
type Key = (u32, u32, u32);

/// Sender reports, and when they passed.
#[derive(Clone, Debug, Default)]
pub(super) struct Echoes {
    passed: BTreeMap<Key, Stamp>,
    order: VecDeque<Key>,
}

impl Echoes {
    pub(super) fn sent(&mut self, report: &SenderReport, interface: u32, at: Stamp) {
        let key = (report.ssrc, report.clock, interface);
        if self.passed.insert(key, at).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > REPORTS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.passed.remove(&oldest);
        }
    }

    /// The way from here to the reporter and back, if it answers a report that passed here.
    pub(super) fn returned(&self, reception: &Reception, interface: u32, at: Stamp) -> Option<Micros> {
        if reception.last_report == 0 {
            return None;
        }
        let sent = self.passed.get(&(reception.ssrc, reception.last_report, interface))?;
        let kept = i64::try_from((u64::from(reception.since_last_report) * 1_000_000_000) >> 16).ok()?;
        let nanos = at.nanos_since(*sent).checked_sub(kept)?;
        (NANOS_MIN..=NANOS_MAX).contains(&nanos).then(|| Micros(u64::try_from(nanos).unwrap_or(0) / 1_000))
    }
}
