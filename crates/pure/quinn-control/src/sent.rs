use guestright_congestion::{RateSample, WaveMeter, WaveReport};
use guestright_units::{Micros, Time};
use std::collections::VecDeque;

/// Instants of sending that are remembered at most. One instant is one burst, so this is seconds of a fast flow; a packet
/// that is older gives no rate.
const INSTANTS_MAX: usize = 4_096;

/// What had been delivered when something was sent: measures the rate of delivery (draft-ietf-ccwg-bbr, section 4.1), and
/// that of waves (TCP-Real), which in QUIC only their acknowledgements show.
///
/// quinn does not say which packet an acknowledgement is for, only when that packet was sent. All packets of one instant
/// share one entry, and belong to the wave of the first.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentLog {
    entries: VecDeque<Entry>,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// That of the newest packet which the acknowledgement under way covers.
    newest: Option<Entry>,
    waves: WaveMeter,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    sent: Time,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    wave: Option<u32>,
}

impl SentLog {
    /// Something leaves, as part of a wave; `alone`: nothing else is on its way.
    pub(crate) fn on_sent(&mut self, now: Time, wave: Option<u32>, alone: bool) {
        if alone {
            self.first_sent = now;
            self.delivered_at = now;
            self.entries.clear();
        }
        if self.entries.back().is_some_and(|entry| entry.sent == now) {
            return;
        }
        if self.entries.len() == INSTANTS_MAX {
            self.entries.pop_front();
        }
        self.entries.push_back(Entry {
            sent: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            wave,
        });
    }

    /// A packet sent at `sent` was acknowledged.
    pub(crate) fn on_delivered(&mut self, now: Time, sent: Time, bytes: u64) {
        self.delivered += bytes;
        self.delivered_at = now;
        let index = self.entries.partition_point(|entry| entry.sent < sent);
        let Some(entry) = self.entries.get(index).filter(|entry| entry.sent == sent) else {
            return;
        };
        if let Some(wave) = entry.wave {
            self.waves.on_segment(wave, bytes, now);
        }
        if self.newest.is_none_or(|newest| newest.sent < sent) {
            self.newest = Some(*entry);
            self.first_sent = self.first_sent.max(sent);
        }
    }

    /// What is known of the last wave whose acknowledgements are over.
    pub(crate) const fn wave(&self) -> Option<WaveReport> {
        self.waves.report()
    }

    /// The acknowledgement is complete.
    pub(crate) fn sample(&mut self, application_limited: bool) -> Option<RateSample> {
        let newest = self.newest.take()?;
        let sending = newest.sent.since(newest.first_sent);
        let acknowledging = self.delivered_at.since(newest.delivered_at);
        Some(RateSample {
            bytes: self.delivered - newest.delivered,
            interval: Micros(sending.0.max(acknowledging.0)),
            prior_delivered: newest.delivered,
            delivered: self.delivered,
            application_limited,
        })
    }
}
