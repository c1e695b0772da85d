//! Stations that always have something to send.

use guestright_engine::{Key, Nanos, Pool, Queue, Streams};
use guestright_units::Seed;
use guestright_wlan::{Config, Event, Msdu, Output, StationId, Wlan};

/// Radios, some of which always have something to send.
#[derive(Debug)]
pub(crate) struct Saturated {
    pub(crate) radio: Wlan,
    queue: Queue<Event>,
    key: Key,
    bytes: u32,
    to: Vec<StationId>,
    pub(crate) delivered: u64,
    pub(crate) dropped: u64,
    /// From the queue to the receiver, in the order of delivery, where they are wanted.
    pub(crate) delays: Option<Vec<Nanos>>,
}

impl Saturated {
    /// `flows` are senders and receivers; each sender has two packets in its queue at any time.
    pub(crate) fn new(config: &Config, flows: &[(u16, u16)], bytes: u32, seed: u64) -> Self {
        let radio = Wlan::new(config, &Streams::new(Seed::from_number(seed))).expect("a good configuration");
        let to = vec![StationId::EVERYBODY; config.stations.len()];
        let key = Pool::new().insert(());
        let mut cell =
            Self { radio, queue: Queue::new(), key, bytes, to, delivered: 0, dropped: 0, delays: None };
        cell.radio.start(&mut cell.queue);
        for &(from, to) in flows {
            cell.to[usize::from(from)] = StationId(to);
            cell.send(StationId(from));
            cell.send(StationId(from));
        }
        cell
    }

    fn send(&mut self, from: StationId) {
        let msdu = Msdu { key: self.key, bytes: self.bytes, to: self.to[usize::from(from.0)] };
        assert!(self.radio.enqueue(from, msdu, &mut self.queue), "there is room for two");
    }

    /// Handles one event.
    fn step(&mut self) {
        let (now, event) = self.queue.pop().expect("somebody always wants to send");
        self.radio.handle(event, &mut self.queue);
        while let Some(output) = self.radio.poll_output() {
            match output {
                Output::Delivered { from, queued_at, .. } => {
                    self.delays.iter_mut().for_each(|delays| delays.push(now.since(queued_at)));
                    self.delivered += 1;
                    self.send(from);
                }
                Output::Dropped { station, .. } => {
                    self.dropped += 1;
                    self.send(station);
                }
            }
        }
    }

    /// Goes on for so long in simulated time.
    pub(crate) fn run(&mut self, span: Nanos) {
        let end = self.queue.now() + span;
        while self.queue.next_at().is_some_and(|at| at < end) {
            self.step();
        }
    }
}
