//! Events by time, at a cost that does not depend on how many wait.
//!
//! Two wheels: the first has a slot for every 8 µs of the next 33 ms, the second one for every 33 ms of the next two
//! minutes; what lies further is kept aside. A slot is a list. When its time comes it is sorted, by time and by the turn
//! in which events were scheduled; there are seldom more than a few in it. An event is moved once at most, unless it lies
//! far in the future.
//!
//! Where many events wait they are not in the processor's cache any more when their time comes. So the links of the lists are
//! apart from the events, in a table that is small enough to stay there: a slot's events are found without waiting for one
//! after the other, and fetched all at once.
//!
//! The order is the same as that of [`guestright_engine::Queue`]; see the test. Once it has grown, it allocates nothing.

use guestright_engine::Instant;

/// A slot of the first wheel is 2^13 ns long.
const SLOT_BITS: u32 = 13;
/// Slots of a wheel, as a power of two.
const WHEEL_BITS: u32 = 12;
const SLOTS: u64 = 1 << WHEEL_BITS;
const MASK: u64 = SLOTS - 1;
const NONE: u32 = u32::MAX;
/// After so many turns of the first wheel it is seen what of the far future has come near.
const FAR_EVERY: u64 = SLOTS / 2;

/// Events in the order of their time; at the same time, in the order in which they were scheduled.
#[derive(Clone, Debug)]
pub(super) struct Wheel<E> {
    nodes: Vec<Node<E>>,
    /// What comes after each node in its list.
    next: Vec<u32>,
    /// The first free node.
    free: u32,
    near: Slots,
    /// Those of later turns of the first wheel.
    later: Slots,
    /// First of the list of those later still.
    far: u32,
    far_count: u32,
    /// Slots before this one have been emptied into `ready`.
    scan: u64,
    /// What is due next, in order, from `first` on.
    ready: Vec<Due>,
    first: usize,
    now: u64,
    turn: u32,
    len: usize,
    scheduled: u64,
}

#[derive(Clone, Copy, Debug)]
struct Node<E> {
    at: u64,
    turn: u32,
    event: E,
}

#[derive(Clone, Copy, Debug)]
struct Due {
    at: u64,
    turn: u32,
    node: u32,
}

impl Due {
    /// Turns wrap around; two events of the same time are never half a round apart.
    const fn is_before(self, other: Self) -> bool {
        self.at < other.at || (self.at == other.at && self.turn.wrapping_sub(other.turn) > u32::MAX / 2)
    }
}

/// The slots of a wheel: the first node of each, and which have one.
#[derive(Clone, Debug)]
struct Slots {
    heads: Box<[u32]>,
    used: Box<[u64]>,
    count: usize,
}

impl Slots {
    fn new() -> Self {
        let words = 1 << (WHEEL_BITS - 6);
        Self { heads: vec![NONE; 1 << WHEEL_BITS].into(), used: vec![0; words].into(), count: 0 }
    }

    /// Puts a node in; gives the one that is to come after it.
    fn put(&mut self, slot: u64, node: u32) -> u32 {
        let bucket = bucket_of(slot);
        self.used[bucket >> 6] |= 1 << (bucket & 63);
        self.count += 1;
        std::mem::replace(&mut self.heads[bucket], node)
    }

    /// Takes the whole list of a slot. `count` is the caller's to correct.
    fn remove_list(&mut self, slot: u64) -> u32 {
        let bucket = bucket_of(slot);
        self.used[bucket >> 6] &= !(1 << (bucket & 63));
        std::mem::replace(&mut self.heads[bucket], NONE)
    }

    /// The first slot with something in it, from `from` to the end of the turn that it is in.
    fn next_in_turn(&self, from: u64) -> Option<u64> {
        let bucket = bucket_of(from);
        let mut word = bucket >> 6;
        let mut bits = self.used[word] & (u64::MAX << (bucket & 63));
        loop {
            if bits != 0 {
                let found = (word as u64) << 6 | u64::from(bits.trailing_zeros());
                return Some((from & !MASK) | found);
            }
            word += 1;
            bits = *self.used.get(word)?;
        }
    }
}

const fn bucket_of(slot: u64) -> usize {
    (slot & MASK) as usize
}

impl<E: Copy> Wheel<E> {
    pub(super) fn new() -> Self {
        Self {
            nodes: Vec::new(),
            next: Vec::new(),
            free: NONE,
            near: Slots::new(),
            later: Slots::new(),
            far: NONE,
            far_count: 0,
            scan: 0,
            ready: Vec::with_capacity(64),
            first: 0,
            now: 0,
            turn: 0,
            len: 0,
            scheduled: 0,
        }
    }

    pub(super) const fn now(&self) -> Instant {
        Instant(self.now)
    }

    pub(super) const fn scheduled(&self) -> u64 {
        self.scheduled
    }

    /// All that wait, in no order.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &E> {
        let mut free = vec![false; self.nodes.len()];
        let mut node = self.free;
        while node != NONE {
            free[node as usize] = true;
            node = self.next[node as usize];
        }
        self.nodes.iter().zip(free).filter(|(_, free)| !free).map(|(node, _)| &node.event)
    }

    /// Puts an event in; one that lies in the past is due now.
    #[inline]
    pub(super) fn push(&mut self, at: Instant, event: E) {
        let at = at.0.max(self.now);
        let turn = self.turn;
        self.turn = self.turn.wrapping_add(1);
        self.len += 1;
        self.scheduled += 1;
        let node = self.keep(Node { at, turn, event });
        self.insert(node, at, turn);
    }

    /// Takes the next event that is due at `until` or before, and moves time on to it.
    #[inline]
    pub(super) fn pop(&mut self, until: Instant) -> Option<E> {
        if self.first == self.ready.len() && !self.refill() {
            return None;
        }
        let due = self.ready[self.first];
        if due.at > until.0 {
            return None;
        }
        self.first += 1;
        self.now = due.at;
        self.len -= 1;
        self.next[due.node as usize] = self.free;
        self.free = due.node;
        Some(self.nodes[due.node as usize].event)
    }

    fn keep(&mut self, node: Node<E>) -> u32 {
        if self.free == NONE {
            let index = u32::try_from(self.nodes.len()).expect("fewer than 2^32 events wait");
            assert!(index < NONE, "fewer than 2^32 events wait");
            self.nodes.push(node);
            self.next.push(NONE);
            return index;
        }
        let index = self.free;
        self.free = self.next[index as usize];
        self.nodes[index as usize] = node;
        index
    }

    /// Puts a node where its time belongs.
    #[inline]
    fn insert(&mut self, node: u32, at: u64, turn: u32) {
        let slot = at >> SLOT_BITS;
        let next = if slot < self.scan {
            self.put_ready(Due { at, turn, node });
            return;
        } else if slot - self.scan < SLOTS {
            self.near.put(slot, node)
        } else if (slot >> WHEEL_BITS) - (self.scan >> WHEEL_BITS) < SLOTS {
            self.later.put(slot >> WHEEL_BITS, node)
        } else {
            self.far_count += 1;
            std::mem::replace(&mut self.far, node)
        };
        self.next[node as usize] = next;
    }

    fn put_ready(&mut self, due: Due) {
        if self.first == self.ready.len() {
            self.ready.clear();
            self.first = 0;
        }
        let index = self.first + self.ready[self.first..].partition_point(|other| other.is_before(due));
        self.ready.insert(index, due);
    }

    /// Empties the next slot with something in it into `ready`, which is empty. False: nothing waits.
    fn refill(&mut self) -> bool {
        if self.len == 0 {
            return false;
        }
        self.ready.clear();
        self.first = 0;
        loop {
            // At the start of a turn its events come down from the second wheel.
            if self.scan & MASK == 0 {
                self.start_turn();
            }
            if let Some(slot) = self.near.next_in_turn(self.scan) {
                self.empty(slot);
                return true;
            }
            self.scan = ((self.scan >> WHEEL_BITS) + 1) << WHEEL_BITS;
            self.skip_turns();
        }
    }

    /// Moves `scan`, at the start of a turn, over turns without anything.
    fn skip_turns(&mut self) {
        if self.near.count > 0 {
            return;
        }
        let turn = self.scan >> WHEEL_BITS;
        let limit = if self.far_count > 0 { turn.next_multiple_of(FAR_EVERY) } else { u64::MAX };
        // In what is left of this round of the second wheel; then from its start.
        let next = self.later.next_in_turn(turn).or_else(|| self.later.next_in_turn((turn & !MASK) + SLOTS));
        let next = next.unwrap_or(limit).min(limit);
        if next != u64::MAX {
            self.scan = next << WHEEL_BITS;
        }
    }

    fn start_turn(&mut self) {
        let turn = self.scan >> WHEEL_BITS;
        if self.far_count > 0 && turn.is_multiple_of(FAR_EVERY) {
            let list = std::mem::replace(&mut self.far, NONE);
            self.far_count = 0;
            self.replace(list);
        }
        let list = self.later.remove_list(turn);
        let moved = self.replace(list);
        self.later.count -= moved;
    }

    /// Places the nodes of a list anew; gives how many there were.
    fn replace(&mut self, mut list: u32) -> usize {
        let mut count = 0;
        while list != NONE {
            let Node { at, turn, .. } = self.nodes[list as usize];
            let next = self.next[list as usize];
            self.insert(list, at, turn);
            list = next;
            count += 1;
        }
        count
    }

    fn empty(&mut self, slot: u64) {
        self.scan = slot + 1;
        let mut list = self.near.remove_list(slot);
        while list != NONE {
            let Node { at, turn, .. } = self.nodes[list as usize];
            self.ready.push(Due { at, turn, node: list });
            list = self.next[list as usize];
        }
        self.near.count -= self.ready.len();
        // Lists are backwards, and short.
        for index in 1..self.ready.len() {
            let due = self.ready[index];
            let mut hole = index;
            while hole > 0 && due.is_before(self.ready[hole - 1]) {
                self.ready[hole] = self.ready[hole - 1];
                hole -= 1;
            }
            self.ready[hole] = due;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_engine::Queue;
    use proptest::prelude::*;

    #[test]
    fn the_end_of_time_is_a_time() {
        let mut wheel = Wheel::new();
        wheel.push(Instant(1 << 52), 'z');
        wheel.push(Instant::START, 'a');
        wheel.push(Instant(1 << 52), 'y');
        let order: String = std::iter::from_fn(|| wheel.pop(Instant::NEVER)).collect();
        assert_eq!(order, "azy");
        assert_eq!(wheel.waiting().count(), 0);
    }

    proptest! {
        /// Against the engine's queue, with spans from nothing to beyond both wheels.
        #[test]
        fn gives_events_as_the_engine_does(
            turn in prop_oneof![Just(0), Just(u32::MAX - 20)],
            steps in proptest::collection::vec(
                proptest::option::weighted(0.6, prop_oneof![
                    0..3_u64, 0..20_000_u64, 0..50_000_000_u64, 0..500_000_000_u64, 0..400_000_000_000_u64,
                ]),
                0..300,
            ),
        ) {
            let mut wheel = Wheel { turn, ..Wheel::new() };
            let mut queue = Queue::new();
            for (number, step) in steps.iter().enumerate() {
                if let Some(span) = *step {
                    let at = Instant(queue.now().0 + span);
                    queue.push(at, number);
                    wheel.push(at, number);
                } else {
                    // Sometimes nothing is due yet.
                    let until = Instant(queue.now().0 + 10_000_000);
                    let due = queue.next_at().is_some_and(|at| at <= until);
                    let want = if due { queue.pop() } else { None };
                    prop_assert_eq!(wheel.pop(until), want.map(|(_, event)| event));
                    prop_assert!(!due || wheel.now() == queue.now());
                }
                prop_assert_eq!(wheel.waiting().count(), queue.len());
            }
            while let Some((at, event)) = queue.pop() {
                prop_assert_eq!(wheel.pop(Instant::NEVER), Some(event));
                prop_assert_eq!(wheel.now(), at);
            }
            prop_assert_eq!(wheel.pop(Instant::NEVER), None);
        }
    }
}
