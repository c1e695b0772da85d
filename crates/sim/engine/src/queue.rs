use crate::time::Instant;
use std::marker::PhantomData;

/// Where a part of a simulation puts its events.
pub trait Agenda<E> {
    /// What time it is.
    fn now(&self) -> Instant;

    /// Has `event` handed over at `at`; at once, behind what is due now, if that is past.
    fn schedule(&mut self, at: Instant, event: E);
}

/// Events in the order of their time; at the same time, in the order in which they were scheduled.
#[derive(Clone, Debug)]
pub struct Queue<E> {
    heap: Vec<Entry<E>>,
    now: Instant,
    scheduled: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    at: Instant,
    order: u64,
    event: E,
}

/// Children of a node: four fit a cache line together, and the heap is half as deep as with two.
const ARITY: usize = 4;

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Self { heap: Vec::new(), now: Instant::START, scheduled: 0 }
    }
}

impl<E> Queue<E> {
    /// An empty queue at the start of a run.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What time it is: that of the event that was taken last.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// When the next event is due.
    #[must_use]
    pub fn next_at(&self) -> Option<Instant> {
        self.heap.first().map(|entry| entry.at)
    }

    /// How many events wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether no event waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// How many events were ever scheduled.
    #[must_use]
    pub const fn scheduled(&self) -> u64 {
        self.scheduled
    }

    /// Puts an event in; one that lies in the past is due now.
    pub fn push(&mut self, at: Instant, event: E) {
        let entry = Entry { at: at.max(self.now), order: self.scheduled, event };
        self.scheduled += 1;
        self.heap.push(entry);
        let mut place = self.heap.len() - 1;
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.heap[parent].is_before(&self.heap[place]) {
                break;
            }
            self.heap.swap(parent, place);
            place = parent;
        }
    }

    /// Takes the next event, and moves time on to it.
    pub fn pop(&mut self) -> Option<(Instant, E)> {
        if self.heap.is_empty() {
            return None;
        }
        let Entry { at, event, .. } = self.heap.swap_remove(0);
        self.sift_down();
        self.now = at;
        Some((at, event))
    }

    fn sift_down(&mut self) {
        let mut place = 0;
        loop {
            let first = place * ARITY + 1;
            let last = (first + ARITY).min(self.heap.len());
            let Some(least) = (first..last).reduce(|least, child| {
                if self.heap[child].is_before(&self.heap[least]) { child } else { least }
            }) else {
                return;
            };
            if self.heap[place].is_before(&self.heap[least]) {
                return;
            }
            self.heap.swap(place, least);
            place = least;
        }
    }
}

impl<E> Entry<E> {
    fn is_before(&self, other: &Self) -> bool {
        (self.at, self.order) < (other.at, other.order)
    }
}

impl<E> Agenda<E> for Queue<E> {
    fn now(&self) -> Instant {
        self.now
    }

    fn schedule(&mut self, at: Instant, event: E) {
        self.push(at, event);
    }
}

/// The events of one part in the queue of the whole: `Inner` becomes `Outer` on its way in.
#[derive(Debug)]
pub struct Part<'a, Outer, Inner> {
    queue: &'a mut Queue<Outer>,
    wrap: fn(Inner) -> Outer,
    inner: PhantomData<Inner>,
}

impl<'a, Outer, Inner> Part<'a, Outer, Inner> {
    /// A view of `queue` in which events go in by way of `wrap`.
    pub fn new(queue: &'a mut Queue<Outer>, wrap: fn(Inner) -> Outer) -> Self {
        Self { queue, wrap, inner: PhantomData }
    }
}

impl<Outer, Inner> Agenda<Inner> for Part<'_, Outer, Inner> {
    fn now(&self) -> Instant {
        self.queue.now()
    }

    fn schedule(&mut self, at: Instant, event: Inner) {
        self.queue.push(at, (self.wrap)(event));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn gives_events_by_time_and_then_by_turn(times in proptest::collection::vec(0..50_u64, 0..200)) {
            let mut queue = Queue::new();
            for (number, at) in times.iter().enumerate() {
                queue.push(Instant(*at), number);
            }
            let mut expected: Vec<_> = times.iter().copied().zip(0..).collect();
            expected.sort_unstable();
            let got: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(at, number)| (at.0, number)).collect();
            prop_assert_eq!(got, expected);
        }
    }

    #[test]
    fn the_past_is_now() {
        let mut queue = Queue::new();
        queue.push(Instant(10), 'a');
        assert_eq!(queue.pop(), Some((Instant(10), 'a')));
        queue.push(Instant(3), 'b');
        assert_eq!(queue.pop(), Some((Instant(10), 'b')));
    }
}
