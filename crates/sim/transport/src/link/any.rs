//! Either kind of link, for networks that need not care which.

use super::{Delivered, Link, LinkBase, LinkEvent, LinkSettings, LinkStatus, ManagedLink};
use crate::error::SettingsError;
use crate::errors::Errors;
use crate::link_number::LinkNumber;
use crate::queue::{Discipline, Packet};
use guestright_engine::{Agenda, Instant, Key, Streams};

/// What comes of a packet that a link has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkOutput {
    /// It is at the far end.
    Delivered(Delivered),
    /// The queue has dropped it.
    Dropped {
        /// Which packet; the key is the caller's again.
        key: Key,
    },
}

/// A link with one event per packet where the queue is drop-tail, and one with a managed queue where it is not.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "every packet goes through the plain link, and a box is a jump more"
)]
pub enum AnyLink {
    /// Drop-tail.
    Plain(Link),
    /// Anything else.
    Managed(Box<ManagedLink>),
}

impl LinkStatus for AnyLink {
    fn base(&self) -> &LinkBase {
        match self {
            Self::Plain(link) => link.base(),
            Self::Managed(link) => link.base(),
        }
    }
}

impl AnyLink {
    /// A link with this queue and these errors. Its chance is that of the link of this number: the same number meets the
    /// same errors in every run with the same seed.
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
        Ok(match discipline {
            Discipline::DropTail => Self::Plain(Link::with_errors(number, settings, errors, streams)?),
            Discipline::Red(_) | Discipline::CoDel(_) | Discipline::FqCoDel(_) => {
                Self::Managed(Box::new(ManagedLink::new(number, settings, discipline, errors, streams)?))
            }
        })
    }

    /// Packets in the queue at `now`, the one being sent among them.
    #[must_use]
    pub fn queue_len(&mut self, now: Instant) -> usize {
        match self {
            Self::Plain(link) => link.queue_len(now),
            Self::Managed(link) => link.queue_len(),
        }
    }

    /// Packets that were taken and have neither arrived nor been dropped.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        match self {
            Self::Plain(link) => link.in_flight(),
            Self::Managed(link) => link.in_flight(),
        }
    }

    /// Puts a packet into the queue. False: it is dropped, its key is still the caller's. After this, as after
    /// [`AnyLink::handle`], [`AnyLink::poll_output`] is to be called until there is nothing.
    #[inline]
    pub fn enqueue(&mut self, packet: Packet, agenda: &mut impl Agenda<LinkEvent>) -> bool {
        match self {
            Self::Plain(link) => link.enqueue(packet.key, packet.bytes, agenda),
            Self::Managed(link) => link.enqueue(packet, agenda),
        }
    }

    /// Something happens that the link has scheduled.
    ///
    /// # Panics
    ///
    /// If the event is of another link, or what came of the one before was not polled.
    #[inline]
    pub fn handle(&mut self, event: LinkEvent, agenda: &mut impl Agenda<LinkEvent>) {
        match self {
            Self::Plain(link) => link.handle(event, agenda),
            Self::Managed(link) => link.handle(event, agenda),
        }
    }

    /// What has arrived or was dropped.
    #[inline]
    pub fn poll_output(&mut self) -> Option<LinkOutput> {
        match self {
            Self::Plain(link) => link.poll_output().map(LinkOutput::Delivered),
            Self::Managed(link) => link.poll_output(),
        }
    }
}
