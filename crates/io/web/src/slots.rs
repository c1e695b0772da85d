//! How many connections a door holds, and how many of them are one peer's.

use crate::Peer;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub connections_max: usize,
    /// So that nobody takes all of a door. A browser opens six to one server.
    pub connections_per_peer_max: usize,
}

/// The connections of one door.
#[derive(Debug)]
pub struct Slots {
    config: Config,
    open: usize,
    by_peer: BTreeMap<Peer, usize>,
}

impl Slots {
    pub fn new(config: Config) -> Self {
        Self { config, open: 0, by_peer: BTreeMap::new() }
    }

    /// Whether one more may be open. If so it is, until [`Slots::leave`].
    pub fn enter(&mut self, peer: Peer) -> bool {
        // The socket's one user may have all of it.
        let of_peer_max = match peer {
            Peer::Local => self.config.connections_max,
            Peer::Address(_) => self.config.connections_per_peer_max,
        };
        let of_peer = self.by_peer.get(&peer).copied().unwrap_or(0);
        if self.open >= self.config.connections_max || of_peer >= of_peer_max {
            return false;
        }
        self.by_peer.insert(peer, of_peer + 1);
        self.open += 1;
        true
    }

    /// One of the peer's connections has ended.
    pub fn leave(&mut self, peer: Peer) {
        let of_peer = self.by_peer.get_mut(&peer).expect("who leaves has entered");
        *of_peer -= 1;
        if *of_peer == 0 {
            self.by_peer.remove(&peer);
        }
        self.open -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{IpAddr, Ipv4Addr};

    const CONFIG: Config = Config { connections_max: 32, connections_per_peer_max: 8 };

    fn peer(number: u8) -> Peer {
        Peer::from(IpAddr::from(Ipv4Addr::new(192, 0, 2, number)))
    }

    #[test]
    fn a_peer_has_eight_and_a_door_thirty_two() {
        let mut slots = Slots::new(CONFIG);
        for number in 1..=4 {
            let entered = (0..20).filter(|_| slots.enter(peer(number))).count();
            assert_eq!(entered, 8);
        }
        assert!(!slots.enter(peer(5)), "the door is full");
        slots.leave(peer(1));
        assert!(slots.enter(peer(5)) && !slots.enter(peer(6)));
        let mut slots = Slots::new(CONFIG);
        assert_eq!((0..40).filter(|_| slots.enter(Peer::Local)).count(), 32);
    }

    proptest! {
        #[test]
        fn all_that_leave_make_room_again(steps in prop::collection::vec((any::<bool>(), 1_u8..6), 0..300)) {
            let mut slots = Slots::new(CONFIG);
            let mut open: BTreeMap<Peer, usize> = BTreeMap::new();
            for (enters, number) in steps {
                let of_peer = open.entry(peer(number)).or_default();
                if enters {
                    *of_peer += usize::from(slots.enter(peer(number)));
                } else if *of_peer > 0 {
                    *of_peer -= 1;
                    slots.leave(peer(number));
                }
                prop_assert!(*of_peer <= 8);
                prop_assert!(open.values().sum::<usize>() <= 32);
                prop_assert_eq!(open.values().sum::<usize>(), slots.open);
            }
        }
    }
}
