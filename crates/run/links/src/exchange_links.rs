//! The exchange's share of the links: homes by their keys.

use crate::LinkEvent;
use crate::links::Shared;
use crate::table::{Called, Sent};
use guestright_directory::{HomeHint, LinkId};
use guestright_identity::KeyId;
use guestright_ordered::OrderedMap;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Links as the exchange knows them: those of which [`ExchangeLinks::recv`] has given the beginning and not the end, so
/// that its machines know of no link later than this does.
#[derive(Debug)]
pub struct ExchangeLinks {
    shared: Arc<Shared>,
    events: mpsc::Receiver<LinkEvent>,
    open: OrderedMap<LinkId, KeyId>,
}

impl ExchangeLinks {
    pub(crate) fn new(shared: Arc<Shared>, events: mpsc::Receiver<LinkEvent>) -> Self {
        Self { shared, events, open: OrderedMap::new() }
    }

    /// What has happened. None once the links have ended. Nothing is lost if this is dropped while it waits.
    pub async fn recv(&mut self) -> Option<LinkEvent> {
        loop {
            let event = self.events.recv().await?;
            match &event {
                LinkEvent::Up(linked) => drop(self.open.insert(linked.link, linked.home)),
                // Those that the exchange has removed itself are no news.
                LinkEvent::Frame(link, _) | LinkEvent::Down(link) if !self.open.contains_key(link) => {
                    continue;
                }
                LinkEvent::Frame(..) | LinkEvent::Down(_) | LinkEvent::Failed(_) => {}
            }
            return Some(event);
        }
    }

    /// Whether there is a link to this home.
    pub fn is_up(&self, home: KeyId) -> bool {
        self.open.values().any(|open| *open == home)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.open.len()
    }

    /// Whose link it is.
    pub fn home(&self, link: LinkId) -> Option<KeyId> {
        self.open.get(&link).copied()
    }

    /// Calls a home; what comes of it is an event.
    pub fn connect(&self, hint: HomeHint) {
        let called = self.shared.table().call(&hint);
        if called == Called::Begin {
            self.shared.call(hint);
        }
    }

    /// A link is no more, or is not to be. The home that has none any more, if so.
    pub fn remove(&mut self, link: LinkId) -> Option<KeyId> {
        let home = self.open.remove(&link)?;
        self.shared.table().close(link);
        self.shared.wake();
        (!self.is_up(home)).then_some(home)
    }

    /// A home that was called could not be reached. The home that cannot be sent what was held for it.
    pub fn failed(&self, hint: &HomeHint) -> Option<KeyId> {
        self.shared.table().call_failed(hint)
    }

    /// Sends to a home; over a new link if there is none and it is known where it was. Whether that may work.
    pub fn send(&self, home: KeyId, message: Vec<u8>) -> bool {
        let sent = self.shared.table().send_to_home(home, message, self.shared.now());
        match sent {
            Sent::Queued => true,
            Sent::Call(hint) => {
                self.connect(hint);
                true
            }
            Sent::Refused => false,
        }
    }

    /// Sends on a link. Whether that may work.
    pub fn send_on(&self, link: LinkId, message: Vec<u8>) -> bool {
        self.shared.table().send_on(link, message, self.shared.now())
    }
}
