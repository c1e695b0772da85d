//! A link between two routers.

use super::config::Bottleneck;
use super::wheel::Wheel;
use super::{Marks, Parcel, Step};
use crate::error::SettingsError;
use crate::errors::Errors;
use crate::link::{LinkEvent, LinkOutput, LinkSettings, LinkStats, LinkStatus, ManagedLink, QueueLimit};
use crate::link_number::LinkNumber;
use crate::queue::{Discipline, Ecn, Packet};
use guestright_engine::{Agenda, Instant, Nanos, Pool, Streams};

/// One direction of a link between two routers.
#[derive(Clone, Debug)]
pub(super) enum Line {
    DropTail(Plain),
    Managed(Box<Managed>),
}

/// Drop-tail: the time of arrival is known when a packet enters the queue. The same rule as that of [`crate::Link`].
#[derive(Clone, Debug)]
pub(super) struct Plain {
    clock: LineClock,
    delay: Nanos,
    free_at: u64,
    /// When the packets in the queue leave: a ring.
    leaves: Box<[u64]>,
    first: usize,
    queued: usize,
    stats: LinkStats,
}

/// How long packets take at a rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineClock {
    rate: u64,
    /// If it is a whole number.
    ns_per_byte: u64,
}

impl LineClock {
    pub(super) const fn new(rate: u64) -> Self {
        let whole = rate > 0 && 8_000_000_000 % rate == 0;
        Self { rate, ns_per_byte: if whole { 8_000_000_000 / rate } else { 0 } }
    }

    /// Rounded up to a nanosecond.
    #[inline]
    pub(super) const fn of(self, bytes: u32) -> u64 {
        if self.ns_per_byte != 0 {
            return bytes as u64 * self.ns_per_byte;
        }
        (bytes as u64 * 8_000_000_000).div_ceil(self.rate)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Managed {
    link: ManagedLink,
    parcels: Pool<Parcel>,
}

/// What comes out of a managed line.
pub(super) enum Output {
    Arrived(Parcel),
    Dropped(Parcel),
}

impl Line {
    pub(super) fn new(number: u32, settings: &Bottleneck, streams: &Streams) -> Result<Self, SettingsError> {
        let link = LinkSettings {
            delay: settings.delay,
            queue_max: QueueLimit::Packets(settings.buffer),
            ..LinkSettings::bare(settings.rate)
        };
        let number = LinkNumber(number);
        // Checks the settings, whatever the discipline.
        crate::link::Link::new(number, link)?;
        if settings.discipline == Discipline::DropTail {
            return Ok(Self::DropTail(Plain {
                clock: LineClock::new(settings.rate),
                delay: settings.delay,
                free_at: 0,
                leaves: vec![0; settings.buffer as usize].into(),
                first: 0,
                queued: 0,
                stats: LinkStats::default(),
            }));
        }
        let link = ManagedLink::new(number, link, settings.discipline, &Errors::None, streams)?;
        Ok(Self::Managed(Box::new(Managed { link, parcels: Pool::new() })))
    }

    /// What the line has done. `now`: until when.
    pub(super) fn stats(&self, now: Instant) -> LinkStats {
        match self {
            Self::DropTail(line) => {
                // What is taken now, but sent later, counts when it is sent.
                let busy = line.stats.busy - Nanos(line.free_at.saturating_sub(now.0));
                LinkStats { busy, ..line.stats }
            }
            Self::Managed(line) => line.link.stats(),
        }
    }

    /// Packets on the line that are not events of their own.
    pub(super) fn parcels(&self) -> usize {
        match self {
            Self::DropTail(_) => 0,
            Self::Managed(line) => line.parcels.len(),
        }
    }
}

impl Plain {
    /// A packet comes. When it arrives at the far end; `None`: the queue is full.
    #[inline]
    pub(super) fn enqueue(&mut self, now: Instant, bytes: u16) -> Option<Instant> {
        while self.queued > 0 && self.leaves[self.first] <= now.0 {
            self.queued -= 1;
            self.first = self.index_after(1);
        }
        if self.queued == self.leaves.len() {
            self.stats.dropped += 1;
            return None;
        }
        let duration = self.clock.of(u32::from(bytes));
        self.free_at = self.free_at.max(now.0) + duration;
        let last = self.index_after(self.queued);
        self.leaves[last] = self.free_at;
        self.queued += 1;
        self.stats.taken += 1;
        self.stats.taken_bytes += u64::from(bytes);
        self.stats.busy += Nanos(duration);
        self.stats.queue_max = self.stats.queue_max.max(u32::try_from(self.queued).unwrap_or(u32::MAX));
        Some(Instant(self.free_at) + self.delay)
    }

    /// A packet has arrived at the far end.
    #[inline]
    pub(super) fn arrived(&mut self, bytes: u16) {
        self.stats.delivered += 1;
        self.stats.delivered_bytes += u64::from(bytes);
    }

    const fn index_after(&self, after: usize) -> usize {
        let index = self.first + after;
        if index < self.leaves.len() { index } else { index - self.leaves.len() }
    }
}

impl Managed {
    /// A packet comes; false: it is dropped.
    pub(super) fn enqueue(&mut self, parcel: Parcel, wheel: &mut Wheel<Parcel>) -> bool {
        let key = self.parcels.insert(parcel);
        let ecn = if parcel.has(Marks::CAPABLE) { Ecn::Classic } else { Ecn::Not };
        let packet = Packet { key, bytes: u32::from(parcel.bytes), flow: parcel.flow, ecn };
        let taken = self.link.enqueue(packet, &mut LineAgenda { wheel });
        if !taken {
            self.parcels.remove(key);
        }
        taken
    }

    pub(super) fn handle(&mut self, wheel: &mut Wheel<Parcel>) {
        let link = self.link.number();
        self.link.handle(LinkEvent { link }, &mut LineAgenda { wheel });
    }

    pub(super) fn poll_output(&mut self) -> Option<Output> {
        Some(match self.link.poll_output()? {
            LinkOutput::Delivered(packet) => {
                let parcel = self.parcels.remove(packet.key);
                let marked = if packet.marked { Marks::MARKED.0 } else { 0 };
                Output::Arrived(Parcel { marks: Marks(parcel.marks.0 | marked), ..parcel })
            }
            LinkOutput::Dropped { key } => Output::Dropped(self.parcels.remove(key)),
        })
    }
}

/// Events of a managed line.
struct LineAgenda<'a> {
    wheel: &'a mut Wheel<Parcel>,
}

impl Agenda<LinkEvent> for LineAgenda<'_> {
    fn now(&self) -> Instant {
        self.wheel.now()
    }

    fn schedule(&mut self, at: Instant, event: LinkEvent) {
        self.wheel.push(at, Parcel::event(Step::Line, event.link.0));
    }
}
