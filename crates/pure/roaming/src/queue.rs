//! What waits to be fetched from a machine, with a limit.

use std::collections::VecDeque;

/// What an item is worth when its queue is full: the oldest of the least worth gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Worth {
    /// An answer to what anybody can send, or news of it. Its sender asks again if it cares.
    Reply,
    /// A message in a session, or news of a decision. Timers repeat the message.
    Session,
    /// A message between the programs of the team. Timers repeat it too, but it stands for many visitors.
    Team,
    /// State that exists nowhere else, or an order that has to be carried out: it never gives way. Its machine sees to it
    /// that there is not more of it than it has a limit for.
    Durable,
}

/// A queue that never has more than `max` items, unless they are all durable.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    items: VecDeque<Item<T>>,
    durable: usize,
    max: usize,
}

#[derive(Debug)]
struct Item<T> {
    worth: Worth,
    value: T,
}

impl<T> Queue<T> {
    pub(crate) fn new(max: usize) -> Self {
        Self { items: VecDeque::new(), durable: 0, max }
    }

    /// Puts an item at the end. When the queue is full, the oldest item of the least worth is dropped, or this one if it
    /// is worth less than all others. Whether anything was dropped.
    pub(crate) fn push(&mut self, worth: Worth, value: T) -> bool {
        let is_full = self.items.len() >= self.max;
        if is_full {
            // `min_by_key` finds the first of equals, which is the oldest.
            let least = self.items.iter().enumerate().min_by_key(|(_, item)| item.worth);
            match least.map(|(index, item)| (index, item.worth)) {
                Some((_, least)) if least > worth => return true,
                Some((index, least)) if least < Worth::Durable => drop(self.items.remove(index)),
                Some(_) => {
                    self.append(worth, value);
                    return false;
                }
                None => return worth < Worth::Durable, // A limit of none.
            }
        }
        self.append(worth, value);
        is_full
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        let item = self.items.pop_front()?;
        self.durable -= usize::from(item.worth == Worth::Durable);
        Some(item.value)
    }

    /// Whether it is full of what never gives way: then nothing may be taken in that would add to it.
    pub(crate) fn is_blocked(&self) -> bool {
        self.durable >= self.max
    }

    /// Drops what fits, because something newer replaces it.
    pub(crate) fn remove_if(&mut self, mut fits: impl FnMut(&T) -> bool) {
        self.items.retain(|item| !fits(&item.value));
        self.durable = self.items.iter().filter(|item| item.worth == Worth::Durable).count();
    }

    fn append(&mut self, worth: Worth, value: T) {
        self.durable += usize::from(worth == Worth::Durable);
        self.items.push_back(Item { worth, value });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(mut queue: Queue<u32>) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn the_oldest_of_the_least_worth_gives_way() {
        let mut queue = Queue::new(4);
        for (worth, value) in [(Worth::Durable, 1), (Worth::Session, 2), (Worth::Reply, 3), (Worth::Reply, 4)]
        {
            assert!(!queue.push(worth, value));
        }
        assert!(queue.push(Worth::Reply, 5));
        assert!(queue.push(Worth::Team, 6));
        assert!(queue.push(Worth::Team, 7));
        assert!(queue.push(Worth::Reply, 8), "worth less than all that is there");
        assert_eq!(drain(queue), [1, 2, 6, 7]);
    }

    #[test]
    fn what_is_durable_is_never_dropped() {
        let mut queue = Queue::new(2);
        assert!(!queue.push(Worth::Reply, 0));
        assert!(!queue.is_blocked());
        assert!(!queue.push(Worth::Durable, 1));
        assert!(queue.push(Worth::Durable, 2));
        assert!(queue.is_blocked());
        assert!(!queue.push(Worth::Durable, 3));
        assert!(queue.push(Worth::Team, 4));
        assert_eq!(queue.pop(), Some(1));
        assert!(queue.is_blocked());
        queue.remove_if(|value| *value == 2);
        assert!(!queue.is_blocked());
        assert_eq!(drain(queue), [3]);
        let mut none = Queue::new(0);
        assert!(none.push(Worth::Team, 1) && none.is_blocked());
        assert_eq!(drain(none), []);
    }
}
