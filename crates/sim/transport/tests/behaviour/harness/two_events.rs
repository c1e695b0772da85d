//! A link as textbooks have it: a queue, a transmitter that tells when it is done, and a wire. Two events per packet.
//!
//! The tests compare the real one with it, and the benchmark its speed.

use guestright_engine::{Agenda, Key};
use guestright_transport::{LinkSettings, QueueLimit};
use std::collections::VecDeque;

/// What happens in it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TwoEvents {
    /// The last bit of a packet has left.
    Left,
    /// A packet has arrived.
    Arrived(Key, u32),
}

pub(crate) struct TextbookLink {
    settings: LinkSettings,
    /// The first is being sent.
    queue: VecDeque<(Key, u32)>,
    bytes: u64,
    output: Option<(Key, u32)>,
}

impl TextbookLink {
    pub(crate) fn new(settings: LinkSettings) -> Self {
        Self { settings, queue: VecDeque::new(), bytes: 0, output: None }
    }

    pub(crate) fn queue_len(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn enqueue(&mut self, key: Key, bytes: u32, agenda: &mut impl Agenda<TwoEvents>) -> bool {
        let room = match self.settings.queue_max {
            QueueLimit::Packets(max) => self.queue.len() < max as usize,
            QueueLimit::Bytes(max) => self.queue.is_empty() || self.bytes + u64::from(bytes) <= max,
        };
        if room {
            self.queue.push_back((key, bytes));
            self.bytes += u64::from(bytes);
            if self.queue.len() == 1 {
                self.transmit(agenda);
            }
        }
        room
    }

    pub(crate) fn handle(&mut self, event: TwoEvents, agenda: &mut impl Agenda<TwoEvents>) {
        match event {
            TwoEvents::Left => {
                let (key, bytes) = self.queue.pop_front().expect("a packet was being sent");
                self.bytes -= u64::from(bytes);
                agenda.schedule(agenda.now() + self.settings.delay, TwoEvents::Arrived(key, bytes));
                if !self.queue.is_empty() {
                    self.transmit(agenda);
                }
            }
            TwoEvents::Arrived(key, bytes) => self.output = Some((key, bytes)),
        }
    }

    pub(crate) fn poll_output(&mut self) -> Option<(Key, u32)> {
        self.output.take()
    }

    fn transmit(&self, agenda: &mut impl Agenda<TwoEvents>) {
        let duration = self.settings.transmission_time(self.queue[0].1);
        agenda.schedule(agenda.now() + duration, TwoEvents::Left);
    }
}
