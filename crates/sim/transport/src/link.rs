//! A link: a drop-tail queue, a transmitter, and a wire.
//!
//! A packet of `bytes` is on the transmitter for `(bytes + overhead) * 8 / rate`, rounded up to a nanosecond, and
//! arrives a propagation delay after its last bit has left. The queue is first in, first out, so the time of arrival is
//! known when a packet enters it: one event per packet and hop, and no more than one in the queue of events per link.
//!
//! The limit of the queue counts the packet that is being sent (as Debian's ns-2 does, where a limit of 50 is 49 waiting
//! and one on its way out). A packet whose last bit leaves at this very nanosecond counts no more.

mod any;
mod managed;
mod settings;

pub use any::{AnyLink, LinkOutput};
pub use managed::ManagedLink;
pub use settings::{LinkSettings, QueueLimit};

use crate::error::SettingsError;
use crate::errors::{ErrorModel, Errors};
use crate::link_number::LinkNumber;
use guestright_engine::{Agenda, Instant, Key, Nanos, Stream, Streams};
use std::collections::VecDeque;

/// A packet has arrived at the far end of a link, or (where the queue is managed) has left the transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEvent {
    pub link: LinkNumber,
}

/// What a link hands over at its far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    pub key: Key,
    /// Its length as it was handed in.
    pub bytes: u32,
    /// Whether the link has lost it: it took its time, but is to be thrown away.
    pub lost: bool,
    /// Whether the queue of this link has marked it, instead of dropping it (ECN).
    pub marked: bool,
}

/// What a link has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Packets taken into the queue.
    pub taken: u64,
    /// Bytes taken into the queue, without the overhead of frames.
    pub taken_bytes: u64,
    /// Packets that the queue dropped: because it was full, or as its discipline has it.
    pub dropped: u64,
    /// Those of them that had been taken before.
    pub discarded: u64,
    /// Packets that the queue marked instead of dropping them, and sent.
    pub marked: u64,
    /// Packets that arrived.
    pub delivered: u64,
    /// Bytes that arrived, without the overhead of frames.
    pub delivered_bytes: u64,
    /// Packets that the link lost on the wire.
    pub lost: u64,
    /// The most packets that were in the queue at once, the one being sent among them.
    pub queue_max: u32,
    /// The time for which something was or will be sent, by what was taken so far.
    pub busy: Nanos,
}

impl LinkStats {
    /// What was counted since an earlier time of the same link; `queue_max` is that until now.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            taken: self.taken - before.taken,
            taken_bytes: self.taken_bytes - before.taken_bytes,
            dropped: self.dropped - before.dropped,
            discarded: self.discarded - before.discarded,
            marked: self.marked - before.marked,
            delivered: self.delivered - before.delivered,
            delivered_bytes: self.delivered_bytes - before.delivered_bytes,
            lost: self.lost - before.lost,
            queue_max: self.queue_max,
            busy: Nanos(self.busy.0.saturating_sub(before.busy.0)),
        }
    }
}

/// What links of all kinds have: what they were made with, and what they have done.
#[derive(Clone, Debug)]
pub struct LinkBase {
    number: LinkNumber,
    settings: LinkSettings,
    errors: Option<Box<ErrorModel>>,
    stats: LinkStats,
}

impl LinkBase {
    fn new(number: LinkNumber, settings: LinkSettings, errors: Option<Box<ErrorModel>>) -> Self {
        Self { number, settings, errors, stats: LinkStats::default() }
    }

    /// A packet has come to the end of the wire; or is lost, if this is true.
    ///
    /// To be asked for every packet, so that which draw belongs to which packet depends on nothing else.
    fn loses(&mut self, bytes: u32) -> bool {
        let lost = self.errors.as_mut().is_some_and(|errors| errors.loses());
        if lost {
            self.stats.lost += 1;
        } else {
            self.stats.delivered += 1;
            self.stats.delivered_bytes += u64::from(bytes);
        }
        lost
    }
}

/// What can be asked of links of all kinds.
pub trait LinkStatus {
    fn base(&self) -> &LinkBase;

    fn number(&self) -> LinkNumber {
        self.base().number
    }

    /// What it has done so far.
    fn stats(&self) -> LinkStats {
        self.base().stats
    }
}

/// One direction of a cable. A full-duplex cable is two of them; a store-and-forward switch has one for each port.
#[derive(Clone, Debug)]
pub struct Link {
    base: LinkBase,
    /// From the one that arrives next to the one that was taken last.
    packets: VecDeque<OnTheWay>,
    /// How many at the end of `packets` are still in the queue; the others are on the wire.
    queued: usize,
    queued_bytes: u64,
    /// When the transmitter has nothing left to send.
    free_at: Instant,
    output: Option<Delivered>,
}

#[derive(Clone, Copy, Debug)]
struct OnTheWay {
    key: Key,
    bytes: u32,
    /// When its last bit leaves the transmitter.
    leaves_at: Instant,
}

impl LinkStatus for Link {
    fn base(&self) -> &LinkBase {
        &self.base
    }
}

impl Link {
    /// A link that loses nothing on the wire.
    ///
    /// # Errors
    ///
    /// If the rate is zero, the queue has no room for a packet or for more than its bound, or the link is to lose
    /// packets: that takes [`Link::lossy`].
    pub fn new(number: LinkNumber, settings: LinkSettings) -> Result<Self, SettingsError> {
        settings.check(number)?;
        if settings.loss_per_million > 0 {
            return Err(SettingsError::NoChance { link: number.0 });
        }
        Ok(Self::with(number, settings, None))
    }

    /// A link that loses packets on the wire, each for itself, with the share of the settings.
    ///
    /// # Errors
    ///
    /// If the rate is zero, the queue has no room, or more than all packets are to be lost.
    pub fn lossy(number: LinkNumber, settings: LinkSettings, chance: Stream) -> Result<Self, SettingsError> {
        settings.check(number)?;
        let share = Errors::Bernoulli { per_million: settings.loss_per_million };
        Ok(Self::with(number, settings, Some(Box::new(share.model(number, chance)?))))
    }

    /// A link with these errors; their chance is that of the link of this number, so that the same number meets the
    /// same errors in every run with the same seed.
    ///
    /// # Errors
    ///
    /// If the rate is zero, the queue has no room, the errors cannot be, or the settings ask for losses as well.
    pub fn with_errors(
        number: LinkNumber,
        settings: LinkSettings,
        errors: &Errors,
        streams: &Streams,
    ) -> Result<Self, SettingsError> {
        settings.check(number)?;
        let errors = error_model(number, &settings, errors, streams)?;
        Ok(Self::with(number, settings, errors))
    }

    fn with(number: LinkNumber, settings: LinkSettings, errors: Option<Box<ErrorModel>>) -> Self {
        Self {
            base: LinkBase::new(number, settings, errors),
            packets: VecDeque::new(),
            queued: 0,
            queued_bytes: 0,
            free_at: Instant::START,
            output: None,
        }
    }

    /// Packets in the queue at `now`, the one being sent among them.
    #[must_use]
    pub fn queue_len(&mut self, now: Instant) -> usize {
        self.leave(now);
        self.queued
    }

    /// Packets that were taken and have not arrived.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.packets.len()
    }

    /// Puts a packet of `bytes` (of the network layer; the overhead of the frame is the link's) into the queue. False:
    /// the queue was full, the packet is dropped, the key is still the caller's.
    pub fn enqueue(&mut self, key: Key, bytes: u32, agenda: &mut impl Agenda<LinkEvent>) -> bool {
        let now = agenda.now();
        self.leave(now);
        if !self.base.settings.queue_max.has_room(self.queued, self.queued_bytes, bytes) {
            self.base.stats.dropped += 1;
            return false;
        }
        let duration = self.base.settings.transmission_time(bytes);
        let leaves_at = self.free_at.max(now) + duration;
        self.free_at = leaves_at;
        self.packets.push_back(OnTheWay { key, bytes, leaves_at });
        self.queued += 1;
        self.queued_bytes += u64::from(bytes);
        self.base.stats.taken += 1;
        self.base.stats.taken_bytes += u64::from(bytes);
        self.base.stats.busy += duration;
        self.base.stats.queue_max =
            self.base.stats.queue_max.max(u32::try_from(self.queued).unwrap_or(u32::MAX));
        if self.packets.len() == 1 {
            self.expect_next(agenda);
        }
        true
    }

    /// A packet arrives; it is there to be polled.
    ///
    /// # Panics
    ///
    /// If the event is not one that this link scheduled, or what had arrived before was not polled.
    pub fn handle(&mut self, event: LinkEvent, agenda: &mut impl Agenda<LinkEvent>) {
        assert_eq!(event.link, self.base.number, "the event of another link");
        assert!(self.output.is_none(), "what had arrived on link {} was not polled", self.base.number.0);
        let now = agenda.now();
        let packet =
            self.packets.pop_front().expect("an event is scheduled only while a packet is on its way");
        debug_assert_eq!(
            packet.leaves_at + self.base.settings.delay,
            now,
            "arrivals are taken when they are due"
        );
        if self.queued > self.packets.len() {
            self.forget(packet.bytes);
        }
        if !self.packets.is_empty() {
            self.expect_next(agenda);
        }
        let lost = self.base.loses(packet.bytes);
        self.output = Some(Delivered { key: packet.key, bytes: packet.bytes, lost, marked: false });
    }

    /// What has arrived.
    pub const fn poll_output(&mut self) -> Option<Delivered> {
        self.output.take()
    }

    fn expect_next(&self, agenda: &mut impl Agenda<LinkEvent>) {
        if let Some(packet) = self.packets.front() {
            agenda
                .schedule(packet.leaves_at + self.base.settings.delay, LinkEvent { link: self.base.number });
        }
    }

    /// Takes those out of the queue whose last bit has left.
    fn leave(&mut self, now: Instant) {
        while self.queued > 0 {
            let packet = self.packets[self.packets.len() - self.queued];
            if packet.leaves_at > now {
                return;
            }
            self.forget(packet.bytes);
        }
    }

    fn forget(&mut self, bytes: u32) {
        self.queued -= 1;
        self.queued_bytes -= u64::from(bytes);
    }
}

/// The model of a link's errors, from the stream that is the link's own; none, if it loses nothing.
fn error_model(
    number: LinkNumber,
    settings: &LinkSettings,
    errors: &Errors,
    streams: &Streams,
) -> Result<Option<Box<ErrorModel>>, SettingsError> {
    let share = Errors::Bernoulli { per_million: settings.loss_per_million };
    let errors = match (share.is_none(), errors.is_none()) {
        (false, false) => return Err(SettingsError::ErrorsTwice { link: number.0 }),
        (false, true) => &share,
        (true, _) => errors,
    };
    let model = errors.model(number, streams.stream("link errors", number.0.into()))?;
    Ok(if errors.is_none() { None } else { Some(Box::new(model)) })
}
