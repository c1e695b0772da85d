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
///
/// A heap with four children to a node, because four keys fit a cache line and the heap is half as deep as with two.
/// A key holds all that is compared, and where its event is, so that events do not move. Once it has grown, it
/// allocates nothing. `benches/queue.rs` compares it with others.
#[derive(Clone, Debug)]
pub struct Queue<E> {
    /// From the highest bit: time (64 bits), turn (40), place in `events` (24).
    keys: Vec<u128>,
    events: Vec<Option<E>>,
    free: Vec<u32>,
    now: Instant,
    turn: u64,
    scheduled: u64,
}

const ARITY: usize = 4;
const TURN_BITS: u32 = 40;
const SLOT_BITS: u32 = 24;

impl<E> Default for Queue<E> {
    fn default() -> Self {
        let (keys, events, free) = (Vec::new(), Vec::new(), Vec::new());
        Self { keys, events, free, now: Instant::START, turn: 0, scheduled: 0 }
    }
}

impl<E> Queue<E> {
    /// How many events may wait at most.
    pub const WAITING_MAX: usize = 1 << SLOT_BITS;

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
        self.keys.first().map(|key| at_of(*key))
    }

    /// How many events wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether no event waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// How many events were ever scheduled.
    #[must_use]
    pub const fn scheduled(&self) -> u64 {
        self.scheduled
    }

    /// Puts an event in; one that lies in the past is due now.
    ///
    /// # Panics
    ///
    /// With more than [`Queue::WAITING_MAX`] events waiting: a part of the simulation schedules without end.
    #[inline]
    pub fn push(&mut self, at: Instant, event: E) {
        if self.turn >> TURN_BITS != 0 {
            self.renumber();
        }
        let slot = self.keep(event);
        let key = key(at.max(self.now), self.turn, slot);
        self.turn += 1;
        self.scheduled += 1;
        self.keys.push(key);
        self.rise(self.keys.len() - 1, key);
    }

    /// Takes the next event, and moves time on to it.
    #[inline]
    pub fn pop(&mut self) -> Option<(Instant, E)> {
        let last = self.keys.pop()?;
        let first = self.keys.first().copied().unwrap_or(last);
        if !self.keys.is_empty() {
            let leaf = self.sink();
            self.rise(leaf, last);
        }
        let slot = slot_of(first);
        let event = self.events[slot as usize].take().expect("a key's place has an event");
        self.free.push(slot);
        self.now = at_of(first);
        Some((self.now, event))
    }

    fn keep(&mut self, event: E) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.events[slot as usize] = Some(event);
            return slot;
        }
        let slot = self.events.len();
        assert!(slot < Self::WAITING_MAX, "{slot} events wait, and none is taken");
        self.events.push(Some(event));
        u32::try_from(slot).expect("WAITING_MAX is below 2^32")
    }

    /// Puts `key` at `place` or above, where it belongs.
    #[inline]
    fn rise(&mut self, mut position: usize, key: u128) {
        let keys = &mut self.keys[..];
        while position > 0 {
            let parent = (position - 1) / ARITY;
            if keys[parent] < key {
                break;
            }
            keys[position] = keys[parent];
            position = parent;
        }
        keys[position] = key;
    }

    /// Moves the hole at the top down to a leaf. What will fill it came from a leaf and seldom has to rise far, so it
    /// is not compared on the way.
    #[inline]
    fn sink(&mut self) -> usize {
        let keys = &mut self.keys[..];
        let mut hole = 0;
        loop {
            let first = hole * ARITY + 1;
            let Some(children) = keys.get(first..first + ARITY) else { break };
            let (mut least, mut key) = (0, children[0]);
            for (child, &other) in children.iter().enumerate().skip(1) {
                // Without branches: which child is least cannot be foreseen.
                let is_less = other < key;
                least = if is_less { child } else { least };
                key = if is_less { other } else { key };
            }
            keys[hole] = key;
            hole = first + least;
        }
        let first = hole * ARITY + 1;
        let rest = keys.get(first..).unwrap_or_default().iter().copied().enumerate();
        if let Some((least, key)) = rest.min_by_key(|(_, key)| *key) {
            keys[hole] = key;
            hole = first + least;
        }
        hole
    }

    /// Gives turns from 0 again, in the same order, when they are used up: every 2^40 events.
    #[cold]
    fn renumber(&mut self) {
        // A sorted list is a heap.
        self.keys.sort_unstable();
        for (turn, old) in (0..).zip(&mut self.keys) {
            *old = key(at_of(*old), turn, slot_of(*old));
        }
        self.turn = self.keys.len() as u64;
    }
}

const fn key(at: Instant, turn: u64, slot: u32) -> u128 {
    (at.0 as u128) << (TURN_BITS + SLOT_BITS) | (turn as u128) << SLOT_BITS | slot as u128
}

const fn at_of(key: u128) -> Instant {
    Instant((key >> (TURN_BITS + SLOT_BITS)) as u64)
}

const fn slot_of(key: u128) -> u32 {
    (key & ((1 << SLOT_BITS) - 1)) as u32
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

    /// What the queue promises, as slowly as can be: the first of the least.
    #[derive(Default)]
    struct Plain {
        waiting: Vec<(u64, usize)>,
        now: u64,
    }

    impl Plain {
        fn push(&mut self, at: u64, event: usize) {
            self.waiting.push((at.max(self.now), event));
        }

        fn pop(&mut self) -> Option<(Instant, usize)> {
            let first = self.waiting.iter().min().copied()?;
            self.waiting.retain(|entry| *entry != first);
            self.now = first.0;
            Some((Instant(first.0), first.1))
        }
    }

    proptest! {
        #[test]
        fn gives_events_by_time_and_then_by_turn(
            steps in proptest::collection::vec(proptest::option::weighted(0.6, 0..50_u64), 0..400),
            turn in prop_oneof![Just(0), (1_u64 << TURN_BITS) - 200..1 << TURN_BITS],
        ) {
            let mut queue = Queue { turn, ..Queue::new() };
            let mut plain = Plain::default();
            for (number, step) in steps.iter().enumerate() {
                if let Some(at) = *step {
                    queue.push(Instant(at), number);
                    plain.push(at, number);
                } else {
                    prop_assert_eq!(queue.next_at(), plain.waiting.iter().min().map(|(at, _)| Instant(*at)));
                    prop_assert_eq!(queue.pop(), plain.pop());
                }
                prop_assert_eq!(queue.len(), plain.waiting.len());
            }
            while let Some(got) = queue.pop() {
                prop_assert_eq!(Some(got), plain.pop());
            }
            prop_assert!(plain.waiting.is_empty());
            prop_assert_eq!(queue.scheduled(), steps.iter().flatten().count() as u64);
        }
    }

    #[test]
    fn the_end_of_time_is_a_time() {
        let mut queue = Queue::new();
        queue.push(Instant::NEVER, 'z');
        queue.push(Instant::START, 'a');
        queue.push(Instant::NEVER, 'y');
        let order: String = std::iter::from_fn(|| queue.pop()).map(|(_, event)| event).collect();
        assert_eq!(order, "azy");
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
