/// Which packet of a [`Pool`]; good until the packet is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(u32);

impl Key {
    /// The place in the pool, for tables beside it.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Packets in use, each behind a small key. Places are used again, the last one first, so a pool that has grown to
/// what a run needs allocates nothing.
#[derive(Clone, Debug)]
pub struct Pool<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Pool<T> {
    /// An empty pool.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a packet in.
    ///
    /// # Panics
    ///
    /// With more than 2^32 packets at once.
    pub fn insert(&mut self, packet: T) -> Key {
        if let Some(index) = self.free.pop() {
            self.slots[index as usize] = Some(packet);
            return Key(index);
        }
        let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 packets are in use at once");
        self.slots.push(Some(packet));
        Key(index)
    }

    /// The packet.
    ///
    /// # Panics
    ///
    /// If it was taken out: a part of the simulation has forgotten that it handed the packet on.
    #[must_use]
    pub fn get(&self, key: Key) -> &T {
        self.slots[key.index()].as_ref().expect("the packet is still in the pool")
    }

    /// The packet, to be changed.
    ///
    /// # Panics
    ///
    /// If it was taken out.
    pub fn get_mut(&mut self, key: Key) -> &mut T {
        self.slots[key.index()].as_mut().expect("the packet is still in the pool")
    }

    /// Takes the packet out.
    ///
    /// # Panics
    ///
    /// If it was taken out before.
    pub fn remove(&mut self, key: Key) -> T {
        let packet = self.slots[key.index()].take().expect("the packet is still in the pool");
        self.free.push(key.0);
        packet
    }

    /// How many packets are in use.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether no packet is in use.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u8),
        Remove(prop::sample::Index),
        Change(prop::sample::Index, u8),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            3 => any::<u8>().prop_map(Step::Insert),
            2 => any::<prop::sample::Index>().prop_map(Step::Remove),
            1 => (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(index, value)| Step::Change(index, value)),
        ];
        proptest::collection::vec(step, 0..200)
    }

    proptest! {
        #[test]
        fn keeps_what_was_put_in_and_uses_places_again(steps in steps()) {
            let mut pool = Pool::new();
            let mut plain = BTreeMap::new();
            let mut most = 0;
            for step in steps {
                let chosen = |index: prop::sample::Index| plain.keys().nth(index.index(plain.len().max(1))).copied();
                match step {
                    Step::Insert(value) => {
                        prop_assert_eq!(plain.insert(pool.insert(value), value), None, "a key in use was given again");
                    }
                    Step::Remove(index) => if let Some(key) = chosen(index) {
                        prop_assert_eq!(Some(pool.remove(key)), plain.remove(&key));
                    },
                    Step::Change(index, value) => if let Some(key) = chosen(index) {
                        *pool.get_mut(key) = value;
                        plain.insert(key, value);
                    },
                }
                most = most.max(plain.len());
                prop_assert_eq!(pool.len(), plain.len());
                prop_assert_eq!(pool.is_empty(), plain.is_empty());
                for (key, value) in &plain {
                    prop_assert_eq!(pool.get(*key), value);
                    prop_assert!(key.index() < most, "a free place was not used");
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "the packet is still in the pool")]
    fn a_packet_that_was_taken_out_is_not_there() {
        let mut pool = Pool::new();
        let key = pool.insert('a');
        pool.remove(key);
        let _ = pool.get(key);
    }
}
