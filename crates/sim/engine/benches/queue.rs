//! What the queue costs: the hold model, in which each event that is taken schedules another, with as many events
//! waiting as the number says. One item is one event taken and one put in.
//!
//! `cargo bench -p guestright-engine --bench queue`

#[path = "queue/calendar.rs"]
mod calendar;

use calendar::Calendar;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use guestright_engine::{Instant, Queue, Streams};
use guestright_units::Seed;
use rand::Rng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// As large as the events of a world: which part, which station, an epoch.
type Event = [u32; 4];

const SIZES: [usize; 5] = [10, 100, 1_000, 10_000, 100_000];
/// Events per sample.
const HOLDS: usize = 20_000;

fn main() {
    divan::main();
}

/// A queue to be measured.
trait Hold {
    fn new() -> Self;
    fn push(&mut self, at: u64, event: Event);
    fn pop(&mut self) -> (u64, Event);
}

impl Hold for Queue<Event> {
    fn new() -> Self {
        Self::new()
    }

    fn push(&mut self, at: u64, event: Event) {
        Self::push(self, Instant(at), event);
    }

    fn pop(&mut self) -> (u64, Event) {
        let (at, event) = Self::pop(self).expect("as many events wait as at the start");
        (at.0, event)
    }
}

impl Hold for Calendar<Event> {
    fn new() -> Self {
        Self::new()
    }

    fn push(&mut self, at: u64, event: Event) {
        Self::push(self, at, event);
    }

    fn pop(&mut self) -> (u64, Event) {
        Self::pop(self).expect("as many events wait as at the start")
    }
}

/// The standard library's heap, with the same promise on events at the same time.
struct Standard {
    heap: BinaryHeap<Reverse<(u64, u64, Event)>>,
    scheduled: u64,
}

impl Hold for Standard {
    fn new() -> Self {
        Self { heap: BinaryHeap::new(), scheduled: 0 }
    }

    fn push(&mut self, at: u64, event: Event) {
        self.heap.push(Reverse((at, self.scheduled, event)));
        self.scheduled += 1;
    }

    fn pop(&mut self) -> (u64, Event) {
        let Reverse((at, _, event)) = self.heap.pop().expect("as many events wait as at the start");
        (at, event)
    }
}

/// How far ahead events are scheduled, in nanoseconds; drawn beforehand, so that chance is not measured.
fn distances(shape: Shape) -> Vec<u64> {
    let mut chance = Streams::new(Seed::from_number(1)).stream("hold", 0);
    let mut draw = move || {
        let uniform = f64::from(chance.next_u32()) / f64::from(u32::MAX);
        let exponential = -(1.0 - uniform * 0.999_999).ln();
        match shape {
            Shape::Exponential => exponential * 20_000_000.0,
            // A radio beside streams of voice: most is due within a frame, some in 20 ms.
            Shape::Radio if chance.next_u32().is_multiple_of(4) => 20_000_000.0,
            Shape::Radio => exponential * 300_000.0,
        }
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few seconds at most")]
    (0..65_536).map(|_| draw() as u64).collect()
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Exponential,
    Radio,
}

#[divan::bench(types = [Queue<Event>, Standard, Calendar<Event>], args = SIZES)]
fn exponential<Q: Hold>(bencher: Bencher<'_, '_>, size: usize) {
    hold::<Q>(bencher, size, Shape::Exponential);
}

#[divan::bench(types = [Queue<Event>, Standard, Calendar<Event>], args = SIZES)]
fn radio<Q: Hold>(bencher: Bencher<'_, '_>, size: usize) {
    hold::<Q>(bencher, size, Shape::Radio);
}

fn hold<Q: Hold>(bencher: Bencher<'_, '_>, size: usize, shape: Shape) {
    let distances = distances(shape);
    let mut queue = Q::new();
    for number in 0..size {
        queue.push(distances[number % distances.len()], [0; 4]);
    }
    let mut next = 0;
    let mut hold = |count: usize| {
        for _ in 0..count {
            let (at, event) = queue.pop();
            queue.push(at + distances[next], black_box(event));
            next = (next + 1) % distances.len();
        }
    };
    hold(5 * size);
    bencher.counter(ItemsCount::new(HOLDS)).bench_local(|| hold(HOLDS));
}
