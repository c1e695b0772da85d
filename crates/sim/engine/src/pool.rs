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
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
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
            self.places[index as usize] = Some(packet);
            return Key(index);
        }
        let index = u32::try_from(self.places.len()).expect("fewer than 2^32 packets are in use at once");
        self.places.push(Some(packet));
        Key(index)
    }

    /// The packet.
    ///
    /// # Panics
    ///
    /// If it was taken out: a part of the simulation has forgotten that it handed the packet on.
    #[must_use]
    pub fn get(&self, key: Key) -> &T {
        self.places[key.index()].as_ref().expect("the packet is still in the pool")
    }

    /// The packet, to be changed.
    ///
    /// # Panics
    ///
    /// If it was taken out.
    pub fn get_mut(&mut self, key: Key) -> &mut T {
        self.places[key.index()].as_mut().expect("the packet is still in the pool")
    }

    /// Takes the packet out.
    ///
    /// # Panics
    ///
    /// If it was taken out before.
    pub fn remove(&mut self, key: Key) -> T {
        let packet = self.places[key.index()].take().expect("the packet is still in the pool");
        self.free.push(key.0);
        packet
    }

    /// How many packets are in use.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether no packet is in use.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
