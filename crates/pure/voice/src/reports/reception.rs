use guestright_units::{Micros, Time};
use guestright_wire::rtcp::{Ntp, ReportBlock};

/// The sums behind a report on one source's packets (RFC 3550, appendices A.3 and A.8).
///
/// Sequence numbers come in wide ([`guestright_wire::rtp::Widen`]), so nothing wraps here.
#[derive(Clone, Debug)]
pub struct Reception {
    clock_rate: u32,
    base: u64,
    highest: u64,
    received: u64,
    expected_prior: u64,
    received_prior: u64,
    /// In 1/16 ticks, as in the appendix.
    jitter: u64,
    transit: Option<i64>,
    last_report: Option<(Ntp, Time)>,
}

impl Reception {
    /// For a source whose first packet has this wide sequence number.
    ///
    /// - `clock_rate`: ticks of the payload's clock in a second; 0 counts as 1.
    #[must_use]
    pub fn new(clock_rate: u32, first: u64) -> Self {
        Self {
            clock_rate: clock_rate.max(1),
            base: first,
            highest: first,
            received: 0,
            expected_prior: 0,
            received_prior: 0,
            jitter: 0,
            transit: None,
            last_report: None,
        }
    }

    /// Counts a packet.
    ///
    /// - `sequence`, `timestamp`: wide.
    pub fn packet(&mut self, sequence: u64, timestamp: u64, arrival: Time) {
        self.count_only(sequence);
        let ticks = u128::from(arrival.0) * u128::from(self.clock_rate) / 1_000_000;
        let ticks = i64::try_from(ticks).unwrap_or(i64::MAX);
        let transit = ticks.wrapping_sub(timestamp.cast_signed());
        if let Some(before) = self.transit {
            let change = transit.wrapping_sub(before).unsigned_abs().min(1 << 32);
            // J += (|D| - J) / 16, with J in sixteenths and rounded as in appendix A.8.
            self.jitter = (self.jitter + change).saturating_sub((self.jitter + 8) >> 4);
        }
        self.transit = Some(transit);
    }

    /// Counts a packet whose timestamp says nothing about when it was sent, such as a key press (RFC 4733).
    pub fn count_only(&mut self, sequence: u64) {
        self.received += 1;
        self.base = self.base.min(sequence);
        self.highest = self.highest.max(sequence);
    }

    /// Another codec with another clock.
    pub fn set_clock_rate(&mut self, clock_rate: u32) {
        let clock_rate = clock_rate.max(1);
        self.jitter = self.jitter.saturating_mul(u64::from(clock_rate)) / u64::from(self.clock_rate);
        self.clock_rate = clock_rate;
        self.transit = None;
    }

    /// Forgets the last transit time: after a pause or a step of the sender's clock a change means nothing.
    pub fn restart_jitter(&mut self) {
        self.transit = None;
    }

    /// Notes a sender's report of this source, for [`ReportBlock::last_report`].
    pub fn sender_report(&mut self, ntp: Ntp, arrival: Time) {
        self.last_report = Some((ntp, arrival));
    }

    /// Interarrival jitter (RFC 3550, section 6.4.1).
    #[must_use]
    pub fn jitter(&self) -> Micros {
        Micros((self.jitter >> 4).saturating_mul(1_000_000) / u64::from(self.clock_rate))
    }

    /// Packets that should have come so far.
    #[must_use]
    pub fn expected(&self) -> u64 {
        if self.received == 0 { 0 } else { self.highest - self.base + 1 }
    }

    /// Packets that came, duplicates too.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// A report, and the beginning of the next interval.
    pub fn report(&mut self, ssrc: u32, now: Time) -> ReportBlock {
        let expected = self.expected();
        let expected_interval = expected.saturating_sub(self.expected_prior);
        let received_interval = self.received - self.received_prior;
        (self.expected_prior, self.received_prior) = (expected, self.received);
        let lost_interval = expected_interval.saturating_sub(received_interval);
        let fraction_lost = (lost_interval * 256).checked_div(expected_interval).unwrap_or(0).min(255);
        let lost = i64::try_from(expected).unwrap_or(i64::MAX) - i64::try_from(self.received).unwrap_or(0);
        let lost = lost.clamp(-(1 << 23), (1 << 23) - 1);
        let (last_report, delay_since) = self.last_report.map_or((0, 0), |(ntp, arrival)| {
            let delay = u128::from(now.since(arrival).0) * 65_536 / 1_000_000;
            (ntp.middle(), u32::try_from(delay).unwrap_or(u32::MAX))
        });
        // Cycles are counted from the first packet, as the appendix does, whatever number the widening began with.
        let cycles = (self.highest >> 16).saturating_sub(self.base >> 16);
        let highest = cycles << 16 | self.highest & 0xffff;
        ReportBlock {
            ssrc,
            fraction_lost: u8::try_from(fraction_lost).unwrap_or(u8::MAX),
            cumulative_lost: i32::try_from(lost).expect("it was brought between -2^23 and 2^23"),
            highest_sequence: u32::try_from(highest & 0xffff_ffff).expect("32 bits"),
            jitter: u32::try_from(self.jitter >> 4).unwrap_or(u32::MAX),
            last_report,
            delay_since,
        }
    }
}

/// The round trip that a report on our own packets shows: now, less the report that it repeats, less how long the other
/// side held it (RFC 3550, section 6.4.1). Nothing if it repeats none, or if the sum is below zero.
#[must_use]
pub fn round_trip(block: &ReportBlock, now: Ntp) -> Option<Micros> {
    if block.last_report == 0 {
        return None;
    }
    let ticks = now.middle().wrapping_sub(block.last_report).wrapping_sub(block.delay_since);
    // Two clocks and two roundings may make a short way look shorter than nothing by a tick or so.
    if ticks > u32::MAX - 64 {
        return Some(Micros(0));
    }
    (ticks < 1 << 31).then(|| Micros(u64::from(ticks) * 1_000_000 / 65_536))
}
