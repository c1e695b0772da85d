//! How long to hold a talkspurt.

mod histogram;
mod moon;
mod ramjee;

pub use histogram::Histogram;
pub use moon::Moon;
pub use ramjee::{Ramjee1, Ramjee4};

use guestright_units::{Micros, Time};
use std::collections::VecDeque;

/// A packet's arrival, as a policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The wide sequence number.
    pub sequence: u64,
    /// When it was made, by the sender's media clock, in µs.
    pub media: u64,
    /// When it came.
    pub arrived: Time,
    /// Whether a talkspurt begins with it.
    pub starts_talkspurt: bool,
    /// Sound in it.
    pub duration: Micros,
}

impl Arrival {
    /// `arrived - media` in µs: the delay on the way, plus an unknown constant.
    #[must_use]
    pub fn delay(&self) -> i64 {
        self.arrived.0.cast_signed().wrapping_sub(self.media.cast_signed())
    }
}

/// What an exchange between both sides' clocks has shown, for a policy that sets its clock by such exchanges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// The sender's media clock when it sent the first datagram, in µs.
    pub media: u64,
    /// When that datagram came.
    pub arrived: Time,
    /// The whole round, by the sender's clock.
    pub round_trip: Micros,
}

/// Says when talkspurts are played. It sees only what has arrived.
pub trait Policy: Send {
    /// A name for tables.
    fn name(&self) -> &'static str;

    /// A packet has arrived, not a duplicate; perhaps too late to be played.
    fn arrived(&mut self, arrival: &Arrival);

    /// The talkspurt that begins with `first` is about to be planned: a packet is to be played at `media` + this, in µs,
    /// so this has the unknown constant of [`Arrival::delay`] in it. Asked only in silence.
    fn play_after(&mut self, first: &Arrival) -> i64;

    /// When more sound than this waits, all of it is thrown away before the next packet. Most policies leave that to
    /// [`Config::delay_max`](super::Config::delay_max).
    fn waiting_max(&self) -> Option<Micros> {
        None
    }

    /// An exchange of clocks was completed. Most policies need none.
    fn handshake(&mut self, exchange: &Handshake) {
        let _ = exchange;
    }

    /// The source has changed, or its clock has jumped: everything learnt is void.
    fn restart(&mut self);
}

/// The least of the values within a span of time.
#[derive(Clone, Debug)]
pub struct WindowMinimum {
    span: Micros,
    /// Rising values with the times at which they came.
    rising: VecDeque<(Time, i64)>,
}

/// A minimum over that many rising values is exact enough; more would be somebody filling memory.
const RISING_MAX: usize = 4_096;

impl WindowMinimum {
    /// Over the last `span`.
    #[must_use]
    pub fn new(span: Micros) -> Self {
        Self { span, rising: VecDeque::new() }
    }

    /// Takes a value; gives the least of the span.
    pub fn add(&mut self, value: i64, now: Time) -> i64 {
        while self.rising.back().is_some_and(|(_, last)| *last >= value) {
            self.rising.pop_back();
        }
        if self.rising.len() >= RISING_MAX {
            self.rising.pop_front();
        }
        self.rising.push_back((now, value));
        while self.rising.front().is_some_and(|(at, _)| now.since(*at) > self.span) {
            self.rising.pop_front();
        }
        self.rising.front().map_or(value, |(_, least)| *least)
    }

    /// The least value, if there is one.
    #[must_use]
    pub fn get(&self) -> Option<i64> {
        self.rising.front().map(|(_, least)| *least)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.rising.clear();
    }
}

/// How long the fastest packet is remembered as the base of a delay: long enough for one to get through a queue, short
/// enough for clocks that drift.
pub(super) const BASE_SPAN: Micros = Micros::from_seconds(10);

/// Holds each talkspurt for a fixed time more than the fastest packet of the last 10 s.
#[derive(Clone, Debug)]
pub struct Fixed {
    hold: Micros,
    base: WindowMinimum,
}

impl Fixed {
    /// Holds for `hold`.
    #[must_use]
    pub fn new(hold: Micros) -> Self {
        Self { hold, base: WindowMinimum::new(BASE_SPAN) }
    }
}

impl Policy for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn arrived(&mut self, arrival: &Arrival) {
        self.base.add(arrival.delay(), arrival.arrived);
    }

    fn play_after(&mut self, first: &Arrival) -> i64 {
        self.base.get().unwrap_or_else(|| first.delay()) + self.hold.0.cast_signed()
    }

    fn restart(&mut self) {
        self.base.clear();
    }
}

/// The buffer of paper A (section 4.2): 120 ms long, and played as soon as it is half full, so 60 ms after the first
/// packet of a talkspurt. Give it a [`Config::delay_max`](super::Config::delay_max) of 120 ms.
#[derive(Clone, Debug, Default)]
pub struct PaperA;

impl PaperA {
    /// The whole buffer.
    pub const LENGTH: Micros = Micros::from_millis(120);
}

impl Policy for PaperA {
    fn name(&self) -> &'static str {
        "paper-a"
    }

    fn arrived(&mut self, _: &Arrival) {}

    fn play_after(&mut self, first: &Arrival) -> i64 {
        first.delay() + Self::LENGTH.0.cast_signed() / 2
    }

    fn restart(&mut self) {}
}
