//! What a call's handle and the thread that carries it have in common.

use crate::socket::Port;
use guestright_relay::{Call, Channel, Side};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A call's number; no other call of this program has had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// What the thread and the handle have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) id: CallId,
    /// Held for a datagram, or for a question. Nobody waits while holding it.
    pub(crate) call: Mutex<Call>,
    pub(crate) a: Ends,
    pub(crate) b: Ends,
}

#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) address: IpAddr,
    pub(crate) media: Port,
    pub(crate) control: Option<Port>,
}

impl Shared {
    pub(crate) fn call(&self) -> MutexGuard<'_, Call> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn port(&self, side: Side, channel: Channel) -> Option<&Port> {
        let ends = self.ends(side);
        match channel {
            Channel::Media => Some(&ends.media),
            Channel::Control => ends.control.as_ref(),
        }
    }

    pub(crate) fn all_ports(&self) -> impl Iterator<Item = &Port> {
        [&self.a, &self.b].into_iter().flat_map(|ends| std::iter::once(&ends.media).chain(&ends.control))
    }

    pub(crate) fn ends(&self, side: Side) -> &Ends {
        match side {
            Side::A => &self.a,
            Side::B => &self.b,
        }
    }
}
