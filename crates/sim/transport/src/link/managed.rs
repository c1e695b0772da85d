//! A link whose queue decides when a packet leaves it: RED, CoDel, fq_codel.
//!
//! What is sent next is not known when a packet comes, so there is an event at the end of each transmission and one for
//! each arrival. Times are those of [`super::Link`]: with [`Discipline::DropTail`] it does exactly the same.

use super::{Delivered, LinkBase, LinkEvent, LinkOutput, LinkSettings, LinkStatus};
use crate::error::SettingsError;
use crate::errors::Errors;
use crate::link_number::LinkNumber;
use crate::queue::{Discipline, Dropped, ManagedQueue, Packet, Verdict};
use guestright_engine::{Agenda, Instant, Streams};
use std::collections::VecDeque;

/// The most packets that wait, whatever the settings say.
const WAITING_MAX: usize = 1 << 24;

/// One direction of a cable, with a queue that is managed.
#[derive(Clone, Debug)]
pub struct ManagedLink {
    base: LinkBase,
    queue: ManagedQueue,
    sending: Option<OnTheWay>,
    /// Those that have left, with the time of their arrival.
    wire: VecDeque<OnTheWay>,
    /// For when an event is scheduled that tells of an arrival.
    expected_at: Option<Instant>,
    outputs: Outputs,
}

#[derive(Clone, Copy, Debug)]
struct OnTheWay {
    packet: Packet,
    marked: bool,
    /// The end of this part of its way.
    until: Instant,
}

/// What the world is to be told.
#[derive(Clone, Debug, Default)]
struct Outputs {
    waiting: VecDeque<LinkOutput>,
    /// Packets that were dropped after they had been taken.
    discarded: u64,
}

impl Dropped for Outputs {
    fn drop_packet(&mut self, packet: Packet) {
        self.discarded += 1;
        self.waiting.push_back(LinkOutput::Dropped { key: packet.key });
    }
}

impl LinkStatus for ManagedLink {
    fn base(&self) -> &LinkBase {
        &self.base
    }
}

impl ManagedLink {
    /// A link with this queue and these errors; its chance is that of the link of this number.
    ///
    /// # Errors
    ///
    /// If a setting of the link, of the discipline or of the errors cannot be.
    pub fn new(
        number: LinkNumber,
        settings: LinkSettings,
        discipline: Discipline,
        errors: &Errors,
        streams: &Streams,
    ) -> Result<Self, SettingsError> {
        settings.check(number)?;
        let errors = super::error_model(number, &settings, errors, streams)?;
        Ok(Self {
            base: LinkBase::new(number, settings, errors),
            queue: ManagedQueue::new(number, &settings, discipline, streams)?,
            sending: None,
            wire: VecDeque::new(),
            expected_at: None,
            outputs: Outputs::default(),
        })
    }

    /// Packets in the queue after the last call, the one being sent among them.
    #[must_use]
    pub fn queue_len(&self) -> usize {
        self.queue.len() + usize::from(self.sending.is_some())
    }

    /// Packets that were taken and have neither arrived nor been dropped.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.queue_len() + self.wire.len()
    }

    /// Puts a packet into the queue. False: it is dropped, its key is still the caller's. True: it is taken; it, or
    /// others in its place, may be dropped later, which [`ManagedLink::poll_output`] tells.
    pub fn enqueue(&mut self, packet: Packet, agenda: &mut impl Agenda<LinkEvent>) -> bool {
        let now = agenda.now();
        self.leave(now, agenda);
        let has_room = self.has_room(packet.bytes);
        let taken = self.queue.enqueue(packet, now, has_room) == Verdict::Taken;
        if taken {
            self.base.stats.taken += 1;
            self.base.stats.taken_bytes += u64::from(packet.bytes);
            if self.sending.is_none() {
                self.transmit(now, agenda);
            }
            while self.is_overfull() && self.queue.shed(&mut self.outputs) {}
            let queued = u32::try_from(self.queue_len()).unwrap_or(u32::MAX);
            self.base.stats.queue_max = self.base.stats.queue_max.max(queued);
        } else {
            self.base.stats.dropped += 1;
        }
        self.count_discarded();
        self.expect_next(agenda);
        taken
    }

    /// The end of a transmission, or an arrival; what comes of it is there to be polled.
    ///
    /// # Panics
    ///
    /// If the event is of another link.
    pub fn handle(&mut self, event: LinkEvent, agenda: &mut impl Agenda<LinkEvent>) {
        assert_eq!(event.link, self.base.number, "the event of another link");
        let now = agenda.now();
        self.leave(now, agenda);
        while let Some(packet) = self.wire.pop_front_if(|packet| packet.until <= now) {
            self.deliver(packet);
        }
        self.count_discarded();
        self.expect_next(agenda);
    }

    /// What has arrived or was dropped.
    pub fn poll_output(&mut self) -> Option<LinkOutput> {
        self.outputs.waiting.pop_front()
    }

    fn has_room(&self, bytes: u32) -> bool {
        let sending = self.sending.map_or(0, |sending| u64::from(sending.packet.bytes));
        self.queue.len() < WAITING_MAX
            && self.base.settings.queue_max.has_room(self.queue_len(), self.queue.bytes() + sending, bytes)
    }

    /// Whether more is in the queue than the limit allows.
    fn is_overfull(&self) -> bool {
        let sending = self.sending.map_or(0, |sending| u64::from(sending.packet.bytes));
        !self.base.settings.queue_max.holds(self.queue_len(), self.queue.bytes() + sending)
            || self.queue.len() > WAITING_MAX
    }

    /// Puts what has left the transmitter on the wire, and what comes next on the transmitter.
    fn leave(&mut self, now: Instant, agenda: &mut impl Agenda<LinkEvent>) {
        if let Some(sent) = self.sending.take_if(|sending| sending.until <= now) {
            self.wire.push_back(OnTheWay { until: sent.until + self.base.settings.delay, ..sent });
            self.transmit(now, agenda);
        }
    }

    fn transmit(&mut self, now: Instant, agenda: &mut impl Agenda<LinkEvent>) {
        let Some((packet, marked)) = self.queue.dequeue(now, &mut self.outputs) else { return };
        let duration = self.base.settings.transmission_time(packet.bytes);
        let until = now + duration;
        self.base.stats.busy += duration;
        self.base.stats.marked += u64::from(marked);
        self.sending = Some(OnTheWay { packet, marked, until });
        agenda.schedule(until, LinkEvent { link: self.base.number });
    }

    fn deliver(&mut self, arrived: OnTheWay) {
        let OnTheWay { packet: Packet { key, bytes, .. }, marked, .. } = arrived;
        let lost = self.base.loses(bytes);
        self.outputs.waiting.push_back(LinkOutput::Delivered(Delivered { key, bytes, lost, marked }));
    }

    fn count_discarded(&mut self) {
        self.base.stats.dropped += self.outputs.discarded;
        self.base.stats.discarded += self.outputs.discarded;
        self.outputs.discarded = 0;
    }

    /// Has the next arrival told, once.
    fn expect_next(&mut self, agenda: &mut impl Agenda<LinkEvent>) {
        let next = self.wire.front().map(|packet| packet.until);
        if next.is_some() && next != self.expected_at {
            agenda.schedule(next.unwrap_or(Instant::NEVER), LinkEvent { link: self.base.number });
        }
        self.expected_at = next;
    }
}
