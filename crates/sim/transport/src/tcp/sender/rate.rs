//! How fast data is delivered (draft-ietf-ccwg-bbr, section 4.1).
//!
//! Each segment remembers how much had been delivered when it left, and when. When it is acknowledged, what was delivered
//! since, over the longer of the times in which that was sent and acknowledged, is the rate.

use guestright_congestion::RateSample;
use guestright_engine::{Instant, Nanos};
use guestright_units::Micros;
use std::collections::VecDeque;

/// What a segment remembers.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    end: u64,
    sent_at: Instant,
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    application_limited: bool,
}

/// Measures the rate of one flow.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    stamps: VecDeque<Stamp>,
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    /// Up to this count of delivered bytes the application sets the pace; 0: it does not.
    limited_until: u64,
}

impl Meter {
    pub(super) fn new() -> Self {
        Self {
            stamps: VecDeque::with_capacity(32),
            delivered: 0,
            delivered_at: Instant::START,
            first_sent_at: Instant::START,
            limited_until: 0,
        }
    }

    /// A segment up to `end` is sent; `idle`: nothing else is on its way.
    pub(super) fn send(&mut self, seq: u64, end: u64, idle: bool, now: Instant) {
        if idle {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        let stamp = Stamp {
            end,
            sent_at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            application_limited: self.limited_until > 0,
        };
        let from = self.stamps.partition_point(|stamp| stamp.end <= seq);
        for old in self.stamps.range_mut(from..) {
            *old = Stamp { end: old.end, ..stamp };
            if old.end >= end {
                return;
            }
        }
        if self.stamps.back().is_none_or(|last| last.end < end) {
            self.stamps.push_back(stamp);
        }
    }

    /// The application has nothing to send, although the window would let it; `on_its_way` bytes are.
    pub(super) fn limit(&mut self, on_its_way: u64) {
        self.limited_until = (self.delivered + on_its_way).max(1);
    }

    /// `bytes` more have arrived, all before `ack` and some perhaps behind it.
    pub(super) fn deliver(&mut self, ack: u64, bytes: u64, now: Instant) -> Option<RateSample> {
        self.delivered += bytes;
        self.delivered_at = now;
        if self.limited_until > 0 && self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let mut newest: Option<Stamp> = None;
        while let Some(stamp) = self.stamps.front().copied().filter(|stamp| stamp.end <= ack) {
            self.stamps.pop_front();
            if newest.is_none_or(|newest| stamp.delivered >= newest.delivered) {
                newest = Some(stamp);
            }
        }
        let stamp = newest?;
        self.first_sent_at = stamp.sent_at;
        let sending = stamp.sent_at.since(stamp.first_sent_at);
        let acknowledging = now.since(stamp.delivered_at);
        let interval = sending.max(acknowledging);
        Some(RateSample {
            bytes: self.delivered - stamp.delivered,
            interval: micros(interval),
            prior_delivered: stamp.delivered,
            delivered: self.delivered,
            application_limited: stamp.application_limited,
        })
    }
}

const fn micros(span: Nanos) -> Micros {
    Micros(span.0 / 1_000)
}
