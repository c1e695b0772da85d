//! Events that come from outside, between two of the queue's.

use guestright_engine::{Agenda, Instant, Queue};

/// The queue of events at a time between two of them.
pub(crate) struct At<'a, E>(pub(crate) Instant, pub(crate) &'a mut Queue<E>);

impl<E> Agenda<E> for At<'_, E> {
    fn now(&self) -> Instant {
        self.0
    }

    fn schedule(&mut self, at: Instant, event: E) {
        self.1.push(at, event);
    }
}
