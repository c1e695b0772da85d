use crate::MediaError;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// The ports that media may have, in pairs: an even one, and the odd one above it (RFC 3550, section 11).
#[derive(Debug)]
pub(crate) struct Ports {
    first: u16,
    last: u16,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    taken: BTreeSet<(IpAddr, u16)>,
    next: u64,
}

/// A pair that is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    ports: Arc<Ports>,
    address: IpAddr,
    pub(crate) even: u16,
}

impl Ports {
    /// `start` is where to look first: any number, so that ports are not the same after each start.
    pub(crate) fn new(first: u16, last: u16, start: u64) -> Result<Arc<Self>, MediaError> {
        let even = first.checked_add(first % 2).filter(|even| *even >= 1_024 && *even < last);
        let Some(even) = even else { return Err(MediaError::Range { first, last }) };
        let state = Mutex::new(State { taken: BTreeSet::new(), next: start });
        Ok(Arc::new(Self { first: even, last, state }))
    }

    /// How many pairs there are.
    pub(crate) fn pairs(&self) -> u16 {
        (self.last - self.first).div_ceil(2)
    }

    pub(crate) fn contains(&self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }

    /// Takes the next free pair. Ports that were just given back come last.
    pub(crate) fn allocate(self: &Arc<Self>, address: IpAddr) -> Result<Lease, MediaError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..self.pairs() {
            let pair = u16::try_from(state.next % u64::from(self.pairs())).unwrap_or_default();
            state.next = state.next.wrapping_add(1);
            let even = self.first + 2 * pair;
            if state.taken.insert((address, even)) {
                return Ok(Lease { ports: Arc::clone(self), address, even });
            }
        }
        Err(MediaError::NoPort { address, first: self.first, last: self.last })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut state = self.ports.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.taken.remove(&(self.address, self.even));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn pairs_are_even_within_the_range_and_used_once() {
        let home = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let ports = Ports::new(20_001, 20_009, 77).unwrap();
        let leases: Vec<_> = (0..4).map(|_| ports.allocate(home).unwrap()).collect();
        let mut taken: Vec<_> = leases.iter().map(|lease| lease.even).collect();
        taken.sort_unstable();
        assert_eq!(taken, [20_002, 20_004, 20_006, 20_008]);
        let full = MediaError::NoPort { address: home, first: 20_002, last: 20_009 };
        assert_eq!(ports.allocate(home).unwrap_err(), full);
        // Another address has ports of its own.
        ports.allocate(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2))).unwrap();
        let freed = leases.into_iter().nth(2).unwrap().even;
        assert_eq!(ports.allocate(home).unwrap().even % 2, freed % 2);
    }

    #[test]
    fn a_port_that_was_given_back_is_not_the_next() {
        let home = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let ports = Ports::new(20_000, 20_099, 0).unwrap();
        let first = ports.allocate(home).unwrap().even;
        let later: Vec<_> = (0..49).map(|_| ports.allocate(home).unwrap().even).collect();
        assert!(!later.contains(&first));
        assert_eq!(ports.allocate(home).unwrap().even, first);
    }

    #[test]
    fn senseless_ranges_are_refused() {
        for (first, last) in
            [(20_000, 20_000), (20_001, 20_002), (30_000, 20_000), (80, 90), (u16::MAX, u16::MAX)]
        {
            assert_eq!(Ports::new(first, last, 0).unwrap_err(), MediaError::Range { first, last });
        }
    }
}
