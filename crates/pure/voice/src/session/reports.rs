use super::{Config, Delay};
use crate::reports::{Schedule, round_trip};
use guestright_units::{Micros, Seed, Time};
use guestright_wire::rtcp::{Ntp, ReportBlock, SenderInfo};
use std::collections::VecDeque;

/// What both sides have told each other.
#[derive(Debug)]
pub(super) struct Reports {
    schedule: Schedule,
    own_error: Option<Micros>,
    peer_error: Option<Micros>,
    /// The peer's wall clock at a point of its media clock, both in µs.
    mapping: Option<(Time, u64)>,
    round_trips: VecDeque<Micros>,
    pub(super) round_trip_min: Option<Micros>,
    sent_since_report: bool,
    /// What the peer said about us last.
    pub(super) peer_block: Option<ReportBlock>,
    pub(super) reports_received: u64,
}

/// The longest of the last round trips bounds the delay: one that is shorter may have been measured at another moment.
const ROUND_TRIPS: usize = 3;

impl Reports {
    pub(super) fn new(config: &Config, seed: &Seed, now: Time) -> Self {
        Self {
            schedule: Schedule::new(seed, config.rate, config.report_every, now),
            own_error: config.clock_error,
            peer_error: None,
            mapping: None,
            round_trips: VecDeque::new(),
            round_trip_min: None,
            sent_since_report: false,
            peer_block: None,
            reports_received: 0,
        }
    }

    pub(super) fn due(&self) -> Time {
        self.schedule.due()
    }

    pub(super) fn sent_media(&mut self) {
        self.sent_since_report = true;
    }

    pub(super) fn sent(&mut self, bytes: usize, now: Time) {
        self.sent_since_report = false;
        self.schedule.sent(bytes, now);
    }

    /// Nothing could be sent; the next report is planned as if it had gone.
    pub(super) fn skip(&mut self, now: Time) {
        self.schedule.sent(0, now);
    }

    /// Whether media was sent since the last report.
    pub(super) fn has_sent_media(&self) -> bool {
        self.sent_since_report
    }

    pub(super) fn saw(&mut self, bytes: usize) {
        self.reports_received += 1;
        self.schedule.saw(bytes);
    }

    pub(super) fn restart_source(&mut self) {
        self.mapping = None;
    }

    pub(super) fn on_sender_report(&mut self, info: &SenderInfo, media: Option<u64>, now: Time) {
        // A sender without a wall clock says 0 (RFC 3550, section 6.4.1).
        if let Some(media) = media.filter(|_| info.ntp != Ntp(0)) {
            self.mapping = Some((info.ntp.to_unix(now), media));
        }
    }

    pub(super) fn on_blocks(&mut self, blocks: &[ReportBlock], own: u32, now: Time) {
        for block in blocks.iter().filter(|block| block.ssrc == own) {
            self.peer_block = Some(*block);
            let Some(measured) = round_trip(block, Ntp::from_unix(now)) else { continue };
            if self.round_trips.len() == ROUND_TRIPS {
                self.round_trips.pop_front();
            }
            self.round_trips.push_back(measured);
            self.round_trip_min = Some(self.round_trip_min.map_or(measured, |least| least.min(measured)));
        }
    }

    pub(super) fn on_clock_error(&mut self, error: Micros) {
        self.peer_error = Some(error);
    }

    /// The last round trip.
    pub(super) fn round_trip(&self) -> Option<Micros> {
        self.round_trips.back().copied()
    }

    /// By both wall clocks: how long what was made at this media time was on its way. In µs, and wrong by their errors.
    pub(super) fn delay_of(&self, media: u64, now: Time) -> Option<i64> {
        let (at, at_media) = self.mapping?;
        let since = media.cast_signed().checked_sub(at_media.cast_signed())?;
        let sent = at.0.cast_signed().checked_add(since)?;
        now.0.cast_signed().checked_sub(sent)
    }

    /// What is known of a measured delay.
    pub(super) fn delay(&self, measured: Option<i64>) -> Option<Delay> {
        let error =
            self.own_error.zip(self.peer_error).map(|(own, peer)| Micros(own.0.saturating_add(peer.0)));
        Delay::new(measured, error, self.round_trips.iter().max().copied())
    }
}
