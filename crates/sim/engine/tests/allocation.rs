//! A run that has grown to what it needs allocates nothing.

use guestright_engine::{Agenda, Instant, Nanos, Part, Pool, Queue, Streams};
use guestright_units::Seed;
use rand::Rng;

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrival(u32),
    Radio(guestright_engine::Key),
}

#[derive(Debug)]
struct Packet {
    created: Instant,
}

/// Streams whose packets wait somewhere for a while: up to 50 ms, so that some hundred are on their way.
struct World {
    queue: Queue<Event>,
    pool: Pool<Packet>,
    chance: guestright_engine::Stream,
    delivered: u64,
    delay: u64,
}

impl World {
    fn new(streams: u32) -> Self {
        let mut queue = Queue::new();
        for stream in 0..streams {
            queue.push(Instant(u64::from(stream) * 1_000), Event::Arrival(stream));
        }
        let chance = Streams::new(Seed::from_number(1)).stream("delay", 0);
        Self { queue, pool: Pool::new(), chance, delivered: 0, delay: 0 }
    }

    fn run(&mut self, events: u64) {
        for _ in 0..events {
            let (now, event) = self.queue.pop().expect("streams never end");
            match event {
                Event::Arrival(stream) => {
                    self.queue.push(now + Nanos::from_millis(20), Event::Arrival(stream));
                    let key = self.pool.insert(Packet { created: now });
                    let wait = Nanos(u64::from(self.chance.next_u32() % 50_000_000));
                    let mut radio = Part::new(&mut self.queue, Event::Radio);
                    let at = radio.now() + wait;
                    radio.schedule(at, key);
                }
                Event::Radio(key) => {
                    let packet = self.pool.remove(key);
                    self.delivered += 1;
                    self.delay += now.since(packet.created).0;
                }
            }
        }
    }
}

#[test]
fn a_run_that_has_grown_allocates_nothing() {
    let mut world = World::new(100);
    world.run(100_000);
    let (delivered, waiting) = (world.delivered, world.queue.len());
    let info = allocation_counter::measure(|| world.run(1_000_000));
    assert!(world.delivered - delivered > 400_000, "it did run");
    assert!(waiting > 200, "packets were on their way");
    assert_eq!(info.count_total, 0, "{info:?}");
    let mean = world.delay / world.delivered;
    assert!((24_000_000..26_000_000).contains(&mean), "{mean} ns is not the mean of 0 to 50 ms");
}

#[test]
fn allocations_are_seen() {
    let mut queue = Queue::new();
    let info = allocation_counter::measure(|| queue.push(Instant::START, 1));
    assert!(info.count_total > 0);
}
