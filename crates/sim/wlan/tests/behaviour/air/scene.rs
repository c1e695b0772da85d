//! Radios with a clock, and what came of it with its time.

use guestright_engine::{Instant, Key, Part, Pool, Queue, Streams};
use guestright_units::Seed;
use guestright_wlan::{Config, Event, Msdu, OnAir, Output, StationId, Wlan};

/// What happens in a scene.
#[derive(Clone, Copy, Debug)]
enum Due {
    Arrival { from: StationId, msdu: Msdu },
    Radio(Event),
}

/// Radios, and packets that arrive at set times.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) radio: Wlan,
    queue: Queue<Due>,
    keys: Pool<u64>,
    /// What came out, and when.
    pub(crate) outputs: Vec<(Instant, Output)>,
    /// Packets for which there was no room.
    pub(crate) refused: Vec<(Instant, Key)>,
    pub(crate) air: Vec<OnAir>,
}

impl Scene {
    pub(crate) fn new(config: &Config, seed: u64) -> Self {
        let mut radio =
            Wlan::new(config, &Streams::new(Seed::from_number(seed))).expect("a good configuration");
        radio.tap(true);
        let mut queue = Queue::new();
        radio.start(&mut Part::new(&mut queue, Due::Radio));
        let (outputs, refused, air) = (Vec::new(), Vec::new(), Vec::new());
        Self { radio, queue, keys: Pool::new(), outputs, refused, air }
    }

    /// A packet will arrive at station `from`, for `to`.
    pub(crate) fn arrive(&mut self, at_us: u64, from: u16, to: u16, bytes: u32) -> Key {
        let key = self.keys.insert(at_us);
        let msdu = Msdu { key, bytes, to: StationId(to) };
        self.queue.push(Instant(at_us * 1_000), Due::Arrival { from: StationId(from), msdu });
        key
    }

    /// Goes on until nothing is due before `end_us`.
    pub(crate) fn run(&mut self, end_us: u64) {
        while self.queue.next_at().is_some_and(|at| at.0 < end_us * 1_000) {
            let Some((now, due)) = self.queue.pop() else { return };
            let mut agenda = Part::new(&mut self.queue, Due::Radio);
            match due {
                Due::Radio(event) => self.radio.handle(event, &mut agenda),
                Due::Arrival { from, msdu } => {
                    if !self.radio.enqueue(from, msdu, &mut agenda) {
                        self.refused.push((now, msdu.key));
                    }
                }
            }
            self.outputs.extend(std::iter::from_fn(|| self.radio.poll_output()).map(|output| (now, output)));
            self.air.extend(std::iter::from_fn(|| self.radio.poll_air()));
        }
    }
}
