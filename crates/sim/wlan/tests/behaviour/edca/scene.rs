//! Stations that always have something to send, in one category each.

use guestright_engine::{Key, Nanos, Pool, Queue, Streams};
use guestright_units::Seed;
use guestright_wlan::edca::{CategoryStats, Config, Edca, Event};
use guestright_wlan::{AccessCategory, Msdu, Output, StationId};

/// Who always sends what to whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Greedy {
    pub(crate) from: u16,
    pub(crate) to: u16,
    pub(crate) category: AccessCategory,
    pub(crate) bytes: u32,
}

impl Greedy {
    pub(crate) const fn best_effort(from: u16, to: u16) -> Self {
        Self { from, to, category: AccessCategory::BestEffort, bytes: 1_500 }
    }
}

#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) radio: Edca,
    pub(crate) queue: Queue<Event>,
    pub(crate) key: Key,
    greedy: Vec<Greedy>,
    pub(crate) delivered: u64,
    pub(crate) dropped: u64,
}

impl Scene {
    /// Each of `greedy` has so many packets in its queue at any time.
    pub(crate) fn new(config: &Config, greedy: &[Greedy], kept: usize, seed: u64) -> Self {
        let radio = Edca::new(config, &Streams::new(Seed::from_number(seed))).expect("a good configuration");
        let key = Pool::new().insert(());
        let mut scene =
            Self { radio, queue: Queue::new(), key, greedy: greedy.to_vec(), delivered: 0, dropped: 0 };
        for one in greedy {
            for _ in 0..kept {
                scene.send(*one);
            }
        }
        scene
    }

    pub(crate) fn send(&mut self, one: Greedy) {
        let msdu = Msdu { key: self.key, bytes: one.bytes, to: StationId(one.to) };
        assert!(
            self.radio.enqueue(StationId(one.from), one.category, msdu, &mut self.queue),
            "there is room"
        );
    }

    /// Goes on for so long in simulated time.
    pub(crate) fn run(&mut self, span: Nanos) {
        let end = self.queue.now() + span;
        while self.queue.next_at().is_some_and(|at| at <= end) {
            let (_, event) = self.queue.pop().expect("there is one");
            self.radio.handle(event, &mut self.queue);
            while let Some(output) = self.radio.poll_output() {
                let (from, to) = match output {
                    Output::Delivered { from, msdu, .. } => {
                        self.delivered += 1;
                        (from, msdu.to)
                    }
                    Output::Dropped { station, msdu, .. } => {
                        self.dropped += 1;
                        (station, msdu.to)
                    }
                };
                let one = self.greedy.iter().find(|one| one.from == from.0 && one.to == to.0).copied();
                if let Some(one) = one {
                    self.send(one);
                }
            }
        }
    }

    pub(crate) fn stats(&self, station: u16, category: AccessCategory) -> CategoryStats {
        *self.radio.stats(StationId(station), category)
    }
}

/// Packets that are delivered in a second, over so many seconds.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(crate) fn packets_per_second(config: &Config, greedy: &[Greedy], seconds: u64) -> f64 {
    let mut scene = Scene::new(config, greedy, 600, 1);
    scene.run(Nanos::from_seconds(seconds));
    scene.delivered as f64 / seconds as f64
}
