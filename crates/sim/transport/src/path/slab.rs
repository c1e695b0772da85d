//! What packets carry, by place.

/// Small things in use, each at a place. Places are used again, the last one first: once it has grown, it allocates
/// nothing. Unlike [`guestright_engine::Pool`] it does not find out whether a place is in use.
#[derive(Clone, Debug)]
pub(super) struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slab<T> {
    pub(super) const fn new() -> Self {
        Self { items: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub(super) fn insert(&mut self, item: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.items[index as usize] = item;
            return index;
        }
        let index = u32::try_from(self.items.len()).expect("fewer than 2^32 packets are on their way");
        self.items.push(item);
        index
    }

    #[inline]
    pub(super) fn remove(&mut self, index: u32) -> T {
        self.free.push(index);
        self.items[index as usize]
    }
}
