use crate::config::{Config, Mac, StationId};
use crate::output::{DropReason, Msdu, Output, Stats};
use guestright_airtime::Rate;
use guestright_airtime::{ACK_BYTES, CTS_BYTES, Phy, RTS_BYTES};
use guestright_engine::{Instant, Stream, Streams};
use rand::Rng;
use std::collections::VecDeque;

/// Who a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    One(StationId),
    Everybody,
    /// A beacon: everybody too, but it is no MSDU.
    Beacon,
}

/// The data frame or beacon that a station would send now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) to: To,
    pub(crate) bytes: u32,
    pub(crate) rate: Rate,
    /// On the air, in ns.
    pub(crate) duration: u64,
    pub(crate) fragment: u8,
    pub(crate) has_more: bool,
    pub(crate) needs_rts: bool,
}

/// What a station does about a frame that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    Again,
    GiveUp,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    msdu: Msdu,
    queued_at: Instant,
}

/// How far the first MSDU of the queue has come.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    short_retries: u8,
    long_retries: u8,
    fragment: u8,
    /// How often this fragment was sent.
    attempts: u32,
    /// Whether the receiver has the whole MSDU.
    is_delivered: bool,
}

/// A station's queue, its retry counts and contention window.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) id: StationId,
    /// Place of its channel.
    pub(crate) channel: u16,
    /// Place among the channel's contenders.
    pub(crate) contender_index: u16,
    pub(crate) signal_dbm: i16,
    pub(crate) stats: Stats,
    /// Whether an exchange of its own is going on, or the timeout after it.
    pub(crate) is_sending: bool,
    pub(crate) is_beacon_due: bool,
    pub(crate) response_rate: Rate,
    /// Length of an ACK or CTS to it, of an RTS from it, and how long it waits for an answer; ns.
    pub(crate) response_time: u64,
    pub(crate) rts_time: u64,
    pub(crate) timeout: u64,
    /// The logarithm of the share of good bits.
    pub(crate) log_good: f64,
    /// The share of its data frames that arrive, apart from bit errors.
    kept: f64,
    queue: VecDeque<Entry>,
    queue_max: usize,
    head: Head,
    /// Number of the MSDU in service.
    pub(crate) sequence: u32,
    rate: Rate,
    broadcast_rate: Rate,
    cw: u32,
    backoffs: Stream,
    errors: Stream,
    /// Of frames that it hears by the way.
    errors_by_the_way: Stream,
}

impl Sender {
    pub(crate) fn new(config: &Config, number: u16, streams: &Streams) -> Self {
        let station = &config.stations[usize::from(number)];
        let phy = &config.phy;
        let rate = station.rate.unwrap_or(phy.data_rate);
        let response_rate = phy.response_rate(rate);
        debug_assert_eq!(ACK_BYTES, CTS_BYTES, "one time for both");
        Self {
            id: StationId(number),
            channel: 0,
            contender_index: 0,
            signal_dbm: station.signal_dbm,
            stats: Stats::default(),
            is_sending: false,
            is_beacon_due: false,
            response_rate,
            response_time: phy.frame_time(ACK_BYTES, response_rate).0,
            rts_time: phy.frame_time(RTS_BYTES, response_rate).0,
            timeout: phy.response_timeout(response_rate).0,
            log_good: libm::log1p(-station.bit_error_rate),
            kept: 1.0 - station.frame_loss,
            queue: VecDeque::new(),
            queue_max: station.queue_max,
            head: Head::default(),
            sequence: 0,
            rate,
            broadcast_rate: phy.broadcast_rate(),
            cw: phy.cw_min,
            backoffs: streams.stream("802.11 backoff", u64::from(number)),
            errors: streams.stream("802.11 bit errors", u64::from(number)),
            errors_by_the_way: streams.stream("802.11 bit errors by the way", u64::from(number)),
        }
    }

    /// Puts an MSDU behind the others; `false` if there is no room.
    #[inline]
    pub(crate) fn push(&mut self, msdu: Msdu, now: Instant) -> bool {
        if self.queue.len() >= self.queue_max {
            self.stats.queue_full += 1;
            return false;
        }
        self.queue.push_back(Entry { msdu, queued_at: now });
        self.stats.accepted += 1;
        self.stats.queued = self.queue.len() as u64;
        self.stats.queued_max = self.stats.queued_max.max(self.stats.queued);
        true
    }

    pub(crate) fn has_frame(&self) -> bool {
        !self.queue.is_empty() || self.is_beacon_due
    }

    pub(crate) fn is_full(&self) -> bool {
        self.queue.len() >= self.queue_max
    }

    /// Drops an MSDU that may go and has waited for too long. The first in the queue may not while it is on the air.
    pub(crate) fn expire(&mut self, mac: &Mac, now: Instant) -> Option<Output> {
        let lifetime = mac.lifetime?;
        let first = usize::from(self.is_sending);
        let entry = self.queue.get(first).filter(|entry| now.since(entry.queued_at) > lifetime)?;
        let Entry { msdu, queued_at } = *entry;
        self.queue.remove(first);
        self.stats.queued = self.queue.len() as u64;
        if first == 0 && self.forget_head() {
            return self.expire(mac, now);
        }
        self.stats.expired += 1;
        Some(Output::Dropped { station: self.id, msdu, queued_at, reason: DropReason::Lifetime })
    }

    /// The next MSDU is a new one. Says whether the receiver had the last.
    fn forget_head(&mut self) -> bool {
        let was_delivered = self.head.is_delivered;
        self.head = Head::default();
        self.sequence = self.sequence.wrapping_add(1);
        was_delivered
    }

    /// The MSDU in service.
    pub(crate) fn msdu(&self) -> Option<Msdu> {
        self.queue.front().map(|entry| entry.msdu)
    }

    /// What it would send now.
    ///
    /// # Panics
    ///
    /// If it has nothing.
    #[inline]
    pub(crate) fn frame(&self, phy: &Phy, mac: &Mac) -> Frame {
        // A beacon goes first, but not between the attempts of another frame.
        if self.is_beacon_due && self.head.attempts == 0 && self.head.fragment == 0 {
            let bytes = mac.beacons.map_or(0, |beacons| beacons.bytes);
            return self.broadcast(To::Beacon, bytes, phy);
        }
        let msdu = self.queue.front().expect("a station that sends has a frame").msdu;
        let (header, body) = (mac.header_bytes(), msdu.bytes + mac.snap_bytes());
        if msdu.to == StationId::EVERYBODY {
            return self.broadcast(To::Everybody, header + body, phy);
        }
        let (bytes, has_more) = match mac.fragmentation_threshold {
            Some(threshold) if header + body > threshold => {
                let piece = threshold - header;
                let rest = body - u32::from(self.head.fragment) * piece;
                (header + rest.min(piece), rest > piece)
            }
            _ => (header + body, false),
        };
        Frame {
            to: To::One(msdu.to),
            bytes,
            rate: self.rate,
            duration: phy.frame_time(bytes, self.rate).0,
            fragment: self.head.fragment,
            has_more,
            needs_rts: mac.rts_threshold.is_some_and(|threshold| bytes > threshold),
        }
    }

    fn broadcast(&self, to: To, bytes: u32, phy: &Phy) -> Frame {
        let rate = self.broadcast_rate;
        let duration = phy.frame_time(bytes, rate).0;
        Frame { to, bytes, rate, duration, fragment: 0, has_more: false, needs_rts: false }
    }

    /// Another attempt begins. Says whether it is not the first.
    pub(crate) fn attempt(&mut self) -> bool {
        self.head.attempts += 1;
        self.head.attempts > 1
    }

    /// The receiver has got the last fragment: says so, unless it had it before.
    #[inline]
    pub(crate) fn deliver(&mut self) -> Option<Output> {
        if self.head.is_delivered {
            return None;
        }
        self.head.is_delivered = true;
        let entry = self.queue.front().expect("what is delivered is in the queue");
        let Entry { msdu, queued_at } = *entry;
        self.stats.delivered += 1;
        self.stats.delivered_bytes += u64::from(msdu.bytes);
        let attempts = self.head.attempts;
        Some(Output::Delivered { station: msdu.to, from: self.id, msdu, queued_at, attempts })
    }

    /// A fragment was acknowledged, and the next one follows. The contention window is reset for each (10.3.3).
    pub(crate) fn next_fragment(&mut self, phy: &Phy) {
        self.head = Head { fragment: self.head.fragment + 1, ..Head::default() };
        self.cw = phy.cw_min;
    }

    /// The frame was sent for good: the next one may come.
    #[inline]
    pub(crate) fn complete(&mut self, to: To, phy: &Phy) {
        if to == To::Beacon {
            self.is_beacon_due = false;
            self.stats.beacons += 1;
            self.sequence = self.sequence.wrapping_add(1);
        } else {
            self.queue.pop_front();
            self.stats.queued = self.queue.len() as u64;
            self.forget_head();
        }
        self.cw = phy.cw_min;
        self.is_sending = false;
    }

    /// A frame failed that was behind an RTS (`is_long`), or was one or needed none.
    pub(crate) fn fail(&mut self, is_long: bool, phy: &Phy, mac: &Mac) -> Retry {
        let (count, limit) = if is_long {
            (&mut self.head.long_retries, mac.retry_limit_long)
        } else {
            (&mut self.head.short_retries, mac.retry_limit_short)
        };
        *count += 1;
        if *count >= limit {
            return Retry::GiveUp;
        }
        self.cw = (self.cw * 2 + 1).min(phy.cw_max);
        self.is_sending = false;
        Retry::Again
    }

    /// Drops the MSDU in service; what is to be said of it.
    pub(crate) fn give_up(&mut self, reason: DropReason, phy: &Phy) -> Option<Output> {
        let Entry { msdu, queued_at } = self.queue.pop_front()?;
        self.stats.queued = self.queue.len() as u64;
        self.cw = phy.cw_min;
        self.is_sending = false;
        if self.forget_head() {
            self.stats.unacknowledged += 1;
            return None;
        }
        match reason {
            DropReason::RetryLimit => self.stats.retry_limit += 1,
            DropReason::Lifetime => self.stats.expired += 1,
            DropReason::Broadcast => self.stats.broadcasts_lost += 1,
        }
        Some(Output::Dropped { station: self.id, msdu, queued_at, reason })
    }

    /// Draws a backoff: slots from 0 to the contention window, with both ends.
    #[inline]
    pub(crate) fn draw(&mut self) -> u32 {
        let slots = if (self.cw + 1).is_power_of_two() {
            self.backoffs.next_u32() & self.cw
        } else {
            // The high half of the product; no slot is likelier than another by more than 2^-16 of its share.
            let product = u64::from(self.backoffs.next_u32()) * u64::from(self.cw + 1);
            u32::try_from(product >> 32).expect("below the contention window")
        };
        self.stats.backoffs += 1;
        self.stats.backoff_slots += u64::from(slots);
        slots
    }

    /// Whether a frame of so many bytes is hit by bit errors, on a link whose share of good bits has this logarithm.
    #[inline]
    pub(crate) fn is_hit(&mut self, bytes: u32, log_good: f64) -> bool {
        is_hit(&mut self.errors, bytes, log_good, 1.0)
    }

    /// The same of a data frame to one station, which may be lost besides.
    #[inline]
    pub(crate) fn is_data_hit(&mut self, bytes: u32, log_good: f64) -> bool {
        is_hit(&mut self.errors, bytes, log_good, self.kept)
    }

    /// The same of a frame that is not for it.
    pub(crate) fn is_hit_by_the_way(&mut self, bytes: u32, log_good: f64) -> bool {
        is_hit(&mut self.errors_by_the_way, bytes, log_good, 1.0)
    }
}

#[inline]
fn is_hit(errors: &mut Stream, bytes: u32, log_good: f64, kept: f64) -> bool {
    if log_good == 0.0 && kept >= 1.0 {
        return false;
    }
    let good = libm::exp(f64::from(bytes) * 8.0 * log_good) * kept;
    #[expect(clippy::cast_precision_loss, reason = "53 bits are what a float holds")]
    let chance = (errors.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    chance >= good
}
