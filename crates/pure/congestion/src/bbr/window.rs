//! BBR's window.

use super::{Bbr, BbrPhase, HIGH_GAIN, path};
use crate::controller::{Ack, Flight, WINDOW_MAX};

impl Bbr {
    /// New data was acknowledged: the model, the pacing rate, the window.
    pub(super) fn acknowledged(&mut self, ack: &Ack) {
        if self.path.least_round_trip().is_none()
            && let Some(round_trip) = ack.round_trip
        {
            // The first pacing rate was for a round trip of a millisecond.
            let initial = self.settings.initial_window.bytes(self.settings.segment);
            self.pacing = self.paced(path::rate(initial, round_trip), HIGH_GAIN);
        }
        let delivered = match ack.rate {
            Some(sample) => {
                self.model(ack, &sample);
                sample.delivered
            }
            None => {
                self.path.on_round_trip(ack.round_trip, ack.now);
                ack.acknowledged
            }
        };
        self.set_pacing();
        self.set_window(ack, delivered);
    }

    fn set_window(&mut self, ack: &Ack, delivered: u64) {
        let acknowledged = ack.bytes.min(WINDOW_MAX);
        // While conserving, the sender's inflation of the window lets a segment go for each that has left.
        if !self.conserving && ack.rate.is_some() {
            let target = self.path.pipe(self.window_gain(), self.pipe());
            let grown = self.window.saturating_add(acknowledged);
            if self.full_reached {
                self.window = grown.min(target);
            } else if self.window < target || delivered < self.pipe().initial {
                self.window = grown;
            }
            self.window = self.window.max(self.pipe().least());
        }
        if self.phase == BbrPhase::ProbeRtt {
            self.window = self.window.min(self.pipe().least());
        }
        self.window = self.window.clamp(self.settings.segment.into(), WINDOW_MAX);
    }

    /// The window to come back to: that before the first of a loss, a timeout, ProbeRtt.
    pub(super) fn saved_window(&self) -> u64 {
        if self.conserving || self.timed_out.is_some() || self.phase == BbrPhase::ProbeRtt {
            self.prior_window.max(self.window)
        } else {
            self.window
        }
    }

    /// A recovery begins: what leaves may be followed by as much.
    pub(super) fn conserve(&mut self, flight: &Flight) {
        self.prior_window = self.saved_window();
        self.conserving = true;
        let segment = u64::from(self.settings.segment);
        self.window = flight.in_flight.saturating_add(segment).clamp(segment, WINDOW_MAX);
    }

    /// A timeout: all that was on its way is taken for lost.
    pub(super) fn collapse(&mut self, flight: &Flight) {
        self.prior_window = self.saved_window();
        // After a second one the sender's next offset may lie before what the first one is to make good.
        self.timed_out = Some(self.timed_out.map_or(flight.next, |sent| sent.max(flight.next)));
        self.conserving = false;
        self.full_bandwidth = 0;
        self.full_rounds = 0;
        self.window = self.settings.segment.into();
    }

    /// The timeout was made good: everything up to there is acknowledged.
    pub(super) fn leave_timeout(&mut self, acknowledged: u64) {
        if self.timed_out.take_if(|sent| *sent <= acknowledged).is_some() {
            self.window = self.window.max(self.prior_window);
        }
    }
}
