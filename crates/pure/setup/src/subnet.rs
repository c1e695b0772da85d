//! IPv4 networks, as far as choosing a free one needs.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// An IPv4 network: its first address and the length of its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subnet {
    first: Ipv4Addr,
    prefix: u8,
}

impl Subnet {
    /// The network with this prefix that `address` is in; nothing if there is no such prefix.
    #[must_use]
    pub fn new(address: Ipv4Addr, prefix: u8) -> Option<Self> {
        (prefix <= 32).then(|| Self { first: Ipv4Addr::from_bits(address.to_bits() & mask(prefix)), prefix })
    }

    #[must_use]
    pub fn first(self) -> Ipv4Addr {
        self.first
    }

    #[must_use]
    pub fn prefix(self) -> u8 {
        self.prefix
    }

    /// The address at this index in the network; the last one if there are not so many.
    #[must_use]
    pub fn at(self, index: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first.to_bits() | (index & !mask(self.prefix)))
    }

    /// How many addresses it has, as far as that can be counted.
    #[must_use]
    pub fn count(self) -> u32 {
        (!mask(self.prefix)).saturating_add(1)
    }

    /// The mask, as it was written before prefixes.
    #[must_use]
    pub fn mask(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(mask(self.prefix))
    }

    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        let shorter = mask(self.prefix.min(other.prefix));
        self.first.to_bits() & shorter == other.first.to_bits() & shorter
    }

    #[must_use]
    pub fn contains(self, address: Ipv4Addr) -> bool {
        address.to_bits() & mask(self.prefix) == self.first.to_bits()
    }
}

fn mask(prefix: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0)
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

impl FromStr for Subnet {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WANT: &str = "a network such as 10.73.0.0/24, named by its first address";
        let (address, prefix) = text.split_once('/').ok_or(WANT)?;
        let address: Ipv4Addr = address.parse().map_err(|_| WANT)?;
        let subnet = Self::new(address, prefix.parse().map_err(|_| WANT)?).ok_or(WANT)?;
        if subnet.first == address { Ok(subnet) } else { Err(WANT) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn subnet(text: &str) -> Subnet {
        text.parse().unwrap()
    }

    #[test]
    fn networks_overlap_if_one_is_inside_the_other() {
        let cases = [
            ("10.73.0.0/24", "10.73.0.0/24", true),
            ("10.73.0.0/24", "10.0.0.0/8", true),
            ("10.73.0.0/24", "10.73.0.128/25", true),
            ("10.73.0.0/24", "10.73.1.0/24", false),
            ("0.0.0.0/0", "192.0.2.1/32", true),
        ];
        for (a, b, want) in cases {
            assert_eq!(subnet(a).overlaps(subnet(b)), want, "{a} {b}");
            assert_eq!(subnet(b).overlaps(subnet(a)), want, "{b} {a}");
        }
    }

    #[test]
    fn only_the_first_address_names_a_network() {
        for text in ["10.73.0.1/24", "10.73.0.0", "10.73.0.0/33", "fd00::/64", ""] {
            assert!(text.parse::<Subnet>().is_err(), "{text}");
        }
        assert_eq!(
            (subnet("10.73.0.0/24").mask(), subnet("10.73.0.0/24").count()),
            ([255, 255, 255, 0].into(), 256)
        );
    }

    proptest! {
        #[test]
        fn parse_inverts_display(bits: u32, prefix in 0_u8..=32) {
            let subnet = Subnet::new(Ipv4Addr::from_bits(bits), prefix).unwrap();
            prop_assert_eq!(subnet.to_string().parse(), Ok(subnet));
            prop_assert!(subnet.contains(Ipv4Addr::from_bits(bits)));
        }
    }
}
