use std::net::{IpAddr, Ipv6Addr};

/// Who asks, as far as limits and sessions tell people apart.
///
/// A computer has as many IPv6 addresses as it likes within its network, so a network of 64 bits is one (RFC 4291, section 2.5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Peer {
    /// The program's user, through the socket in the file system.
    Local,
    /// An address, or the first of its network.
    Address(IpAddr),
}

impl From<IpAddr> for Peer {
    fn from(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv6_is_one_peer_and_a_mapped_address_is_ipv4() {
        let peer = |text: &str| Peer::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(peer("2001:db8:0:1::1"), peer("2001:db8:0:1:ffff::2"));
        assert_ne!(peer("2001:db8:0:1::1"), peer("2001:db8:0:2::1"));
        assert_eq!(peer("::ffff:192.0.2.1"), peer("192.0.2.1"));
        assert_ne!(peer("192.0.2.1"), peer("192.0.2.2"));
    }
}
