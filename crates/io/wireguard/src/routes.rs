use guestright_tunnel::wireguard::Network;
use std::collections::HashMap;
use std::net::IpAddr;

/// Which network belongs to whom; the longest network that has an address decides.
#[derive(Debug)]
pub(crate) struct Routes<T> {
    v4: Family<T>,
    v6: Family<T>,
}

/// The networks of one family of addresses, by the number of bits. There are few different numbers.
#[derive(Debug)]
struct Family<T> {
    /// Longest first. Addresses are in the highest bits.
    lengths: Vec<(u8, HashMap<u128, T>)>,
}

impl<T> Routes<T> {
    pub(crate) fn new() -> Self {
        Self { v4: Family { lengths: Vec::new() }, v6: Family { lengths: Vec::new() } }
    }

    /// The owner of the longest network with this address.
    pub(crate) fn find(&self, address: IpAddr) -> Option<&T> {
        self.family(address).find(bits(address))
    }

    /// Gives a network to an owner. Who had it has it no longer.
    pub(crate) fn insert(&mut self, network: Network, owner: T) {
        let first = bits(network.first().address());
        self.family_mut(network.address()).length(network.prefix()).insert(first, owner);
    }

    /// Takes the networks away from every owner for whom `keep` is false.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        for family in [&mut self.v4, &mut self.v6] {
            for (_, networks) in &mut family.lengths {
                networks.retain(|_, owner| keep(owner));
            }
            family.lengths.retain(|(_, networks)| !networks.is_empty());
        }
    }

    fn family(&self, address: IpAddr) -> &Family<T> {
        if address.is_ipv4() { &self.v4 } else { &self.v6 }
    }

    fn family_mut(&mut self, address: IpAddr) -> &mut Family<T> {
        if address.is_ipv4() { &mut self.v4 } else { &mut self.v6 }
    }
}

impl<T> Family<T> {
    fn find(&self, address: u128) -> Option<&T> {
        self.lengths.iter().find_map(|(length, networks)| networks.get(&(address & mask(*length))))
    }

    fn length(&mut self, length: u8) -> &mut HashMap<u128, T> {
        let at = self.lengths.binary_search_by(|(other, _)| length.cmp(other)).unwrap_or_else(|at| {
            self.lengths.insert(at, (length, HashMap::new()));
            at
        });
        &mut self.lengths[at].1
    }
}

/// An address in the highest bits.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()) << 96,
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

fn mask(length: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_longest_network_decides() {
        let mut routes = Routes::new();
        let networks =
            ["0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.3/32", "::/0", "fd00::/8", "fd00::1/128"];
        for network in networks {
            routes.insert(network.parse().unwrap(), network);
        }
        #[rustfmt::skip]
        let cases = [
            ("192.0.2.1", "0.0.0.0/0"), ("10.2.0.1", "10.0.0.0/8"), ("10.1.2.4", "10.1.0.0/16"),
            ("10.1.2.3", "10.1.2.3/32"), ("2001:db8::1", "::/0"), ("fd00::2", "fd00::/8"), ("fd00::1", "fd00::1/128"),
        ];
        for (address, want) in cases {
            assert_eq!(routes.find(address.parse().unwrap()), Some(&want), "{address}");
        }
        routes.retain(|network| *network == "10.0.0.0/8");
        assert_eq!(routes.find("10.1.2.3".parse().unwrap()), Some(&"10.0.0.0/8"));
        assert_eq!(routes.find("192.0.2.1".parse().unwrap()), None);
        assert_eq!(routes.find("fd00::1".parse().unwrap()), None);
    }

    proptest! {
        #[test]
        fn finds_what_a_search_through_all_finds(
            networks in prop::collection::vec((any::<[u8; 2]>(), 0_u8..=16), 0..20),
            address in any::<[u8; 2]>(),
        ) {
            let network = |bytes: [u8; 2], length| Network::new([bytes[0], bytes[1], 0, 0].into(), length).unwrap();
            let address = IpAddr::from([address[0], address[1], 0, 0]);
            let mut routes = Routes::new();
            let mut best: Option<(u8, usize)> = None;
            for (owner, (bytes, length)) in networks.iter().enumerate() {
                routes.insert(network(*bytes, *length), owner);
                let longer = best.is_none_or(|(other, _)| *length >= other);
                if network(*bytes, *length).contains(address) && longer {
                    best = Some((*length, owner));
                }
            }
            prop_assert_eq!(routes.find(address).copied(), best.map(|(_, owner)| owner));
        }
    }
}
