use crate::sent::SentLog;
use guestright_congestion::{Ack, Controller, Flight, RetransmissionTimeout, Sent, TimeoutSettings};
use guestright_units::Time;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::ControllerMetrics;
use std::any::Any;
use std::time::Instant;

/// One of our controllers, as quinn sees it.
#[derive(Clone, Debug)]
pub struct Adapter<C> {
    controller: C,
    /// When the connection began: time 0 of the controller.
    start: Instant,
    initial_window: u64,
    mtu: u64,
    /// Bytes sent since the start.
    next: u64,
    in_flight: u64,
    last_sent: Time,
    sent: SentLog,
    /// For the length of a pause only: quinn has its own timers.
    timeout: RetransmissionTimeout,
    granularity: AckGranularity,
    /// What the ACK frame under way has acknowledged so far: the sizes of packets, when the newest was sent.
    sizes: Vec<u64>,
    newest_sent: Time,
    /// A loss or a mark of a packet sent up to here has been reacted to.
    reacted: Option<Time>,
    is_recovering: bool,
    /// Whether nothing was acknowledged since persistent congestion was found.
    has_timed_out: bool,
}

/// What a controller is told of an ACK frame, which acknowledges two packets as a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckGranularity {
    /// All of it at once. Right for what measures rates, or counts bytes.
    #[default]
    Frames,
    /// Its packets one after the other, at the same time, the round-trip time with the last. Right for what counts
    /// acknowledgements, and for Vegas, which stops growing where an acknowledgement leaves more than two segments of the
    /// window unused.
    Packets,
}

/// The acknowledgement of a packet of `bytes`, as a part of `whole`, of which `left` bytes come after it.
fn part(whole: &Ack, bytes: u64, left: u64) -> Ack {
    let is_last = left == 0;
    Ack {
        bytes,
        acknowledged: whole.acknowledged.saturating_sub(left),
        in_flight: whole.in_flight + left,
        round_trip: whole.round_trip.filter(|_| is_last),
        segments: 1,
        rate: whole.rate.filter(|_| is_last),
        ..*whole
    }
}

impl<C: Controller> Adapter<C> {
    /// Around `controller`, from `now` on.
    pub fn new(controller: C, granularity: AckGranularity, now: Instant, mtu: u16) -> Self {
        let mtu = u64::from(mtu);
        let timeout = RetransmissionTimeout::new(TimeoutSettings::rfc6298());
        Self {
            start: now,
            initial_window: controller.window().max(2 * mtu),
            controller,
            mtu,
            next: 0,
            in_flight: 0,
            last_sent: Time(0),
            sent: SentLog::default(),
            timeout: timeout.expect("the bounds of RFC 6298 can be"),
            granularity,
            sizes: Vec::new(),
            newest_sent: Time(0),
            reacted: None,
            is_recovering: false,
            has_timed_out: false,
        }
    }

    /// The controller inside.
    pub const fn controller(&self) -> &C {
        &self.controller
    }

    fn time(&self, at: Instant) -> Time {
        let micros = at.saturating_duration_since(self.start).as_micros();
        Time(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    /// Whether the loss or mark of a packet sent at `sent` tells something new.
    fn is_news(&self, sent: Time) -> bool {
        self.reacted.is_none_or(|reacted| sent > reacted)
    }

    fn flight(&self, now: Time, first_sent: Time) -> Flight {
        Flight {
            now,
            in_flight: self.in_flight,
            next: self.next,
            repeated: self.has_timed_out,
            first_sent,
            transmissions: 1,
            ..Flight::default()
        }
    }

    /// The pause before what is sent at `now`.
    fn report_pause(&mut self, now: Time) {
        let pause = now.since(self.last_sent);
        if self.next > 0 && self.in_flight == 0 && pause > self.timeout.timeout() {
            self.controller.on_idle(pause);
        }
    }

    fn acknowledge(&mut self, now: Time, application_limited: bool) {
        let newest_sent = std::mem::take(&mut self.newest_sent);
        let mut sizes = std::mem::take(&mut self.sizes);
        let round_trip = now.since(newest_sent);
        self.timeout.on_round_trip(round_trip);
        self.has_timed_out = false;
        let bytes = sizes.iter().sum();
        let whole = Ack {
            now,
            bytes,
            acknowledged: self.next.saturating_sub(self.in_flight),
            next: self.next,
            in_flight: self.in_flight,
            round_trip: Some(round_trip),
            window_limited: !application_limited,
            segments: u32::try_from(sizes.len()).unwrap_or(u32::MAX),
            rate: self.sent.sample(application_limited),
            wave: self.sent.wave(),
            ..Ack::default()
        };
        let is_news = self.is_news(newest_sent);
        match self.granularity {
            AckGranularity::Frames => self.report_ack(&whole, is_news),
            AckGranularity::Packets => {
                let mut left = bytes;
                for size in &sizes {
                    left -= size;
                    self.report_ack(&part(&whole, *size, left), is_news);
                }
            }
        }
        sizes.clear();
        self.sizes = sizes;
    }

    fn report_ack(&mut self, ack: &Ack, is_news: bool) {
        if !self.is_recovering {
            self.controller.on_ack(ack);
        } else if is_news {
            self.is_recovering = false;
            self.controller.on_recovered(ack);
        } else {
            self.controller.on_recovery_ack(ack);
        }
    }

    /// quinn's `on_sent`.
    fn send(&mut self, now: Instant, bytes: u64) {
        let now = self.time(now);
        self.report_pause(now);
        let alone = self.in_flight == 0;
        self.in_flight += bytes;
        let sent =
            Sent { now, offset: self.next, bytes, in_flight: self.in_flight, again: false, last: false };
        self.next += bytes;
        self.last_sent = now;
        self.controller.on_sent(&sent);
        self.sent.on_sent(now, self.controller.wave(), alone);
    }

    /// quinn's `on_ack`.
    fn gather(&mut self, now: Instant, sent: Instant, bytes: u64) {
        let (now, sent) = (self.time(now), self.time(sent));
        self.sent.on_delivered(now, sent, bytes);
        self.sizes.push(bytes);
        self.newest_sent = self.newest_sent.max(sent);
    }

    /// quinn's `on_end_acks`.
    fn end_gathering(&mut self, now: Instant, in_flight: u64, application_limited: bool) {
        // Packets that only acknowledge are not in flight, but were told as sent.
        self.in_flight = in_flight;
        if !self.sizes.is_empty() {
            self.acknowledge(self.time(now), application_limited);
        }
    }

    /// quinn's `on_congestion_event`.
    fn react(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        let (now, sent) = (self.time(now), self.time(sent));
        let flight = self.flight(now, sent);
        self.in_flight = self.in_flight.saturating_sub(lost_bytes);
        if is_persistent {
            self.has_timed_out = true;
            self.is_recovering = false;
            self.reacted = Some(now);
            self.controller.on_timeout(&flight);
        } else if self.is_news(sent) {
            self.reacted = Some(now);
            if lost_bytes == 0 {
                self.controller.on_mark(&flight);
            } else {
                self.is_recovering = true;
                self.controller.on_loss(&flight);
            }
        }
    }

    /// quinn waits while what is in flight and a packet of the MTU reach the window: it must be two at least.
    fn usable_window(&self) -> u64 {
        self.controller.window().max(2 * self.mtu)
    }
}

impl<C: Controller + Clone + Send + Sync + 'static> quinn_proto::congestion::Controller for Adapter<C> {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        self.send(now, bytes);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, _app_limited: bool, _rtt: &RttEstimator) {
        self.gather(now, sent, bytes);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        self.end_gathering(now, in_flight, app_limited);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        self.react(now, sent, is_persistent, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = new_mtu.into();
    }

    fn window(&self) -> u64 {
        self.usable_window()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.ssthresh = Some(self.controller.slow_start_threshold());
        metrics.pacing_rate = self.controller.pacing().map(|rate| rate.0.get());
        metrics
    }

    fn clone_box(&self) -> Box<dyn quinn_proto::congestion::Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
pub(crate) mod tests;
