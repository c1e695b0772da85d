//! Whether an address can be reached from the Internet.

use std::fmt;
use std::net::Ipv4Addr;

/// From where an address can be reached (RFC 6890 and the RFCs that it names).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Public,
    /// Only from within the provider's network: 100.64.0.0/10 (RFC 6598), carrier-grade NAT.
    Carrier,
    /// Only from within a private network (RFC 1918): the router is behind another router.
    Private,
    /// From nowhere: no address at all, or one for other purposes.
    Nowhere,
}

impl Reach {
    /// Where `address` can be reached from.
    #[must_use]
    pub fn of(address: Ipv4Addr) -> Self {
        let [first, second, ..] = address.octets();
        if first == 100 && (64..128).contains(&second) {
            Self::Carrier
        } else if address.is_private() {
            Self::Private
        } else if first == 0
            || first >= 224
            || address.is_loopback()
            || address.is_link_local()
            || address.is_documentation()
            || (first == 198 && (18..20).contains(&second))
        {
            Self::Nowhere
        } else {
            Self::Public
        }
    }

    /// What the household can do about it; nothing if all is well.
    #[must_use]
    pub fn advice(self) -> Option<&'static str> {
        match self {
            Self::Public => None,
            Self::Carrier => Some(
                "your provider shares one address among many households (carrier-grade NAT): ask it for a public IPv4 \
                 address, often free of charge, or put the home on a computer that has one",
            ),
            Self::Private => Some(
                "your router is behind another router: map the same ports there, too, or set one of the two to bridge \
                 mode",
            ),
            Self::Nowhere => {
                Some("your router has no address in the Internet at the moment: check its connection")
            }
        }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "public",
            Self::Carrier => "shared by the provider (carrier-grade NAT)",
            Self::Private => "private, behind another router",
            Self::Nowhere => "no address of the Internet",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_who_can_reach_an_address() {
        let cases = [
            ("8.8.8.8", Reach::Public),
            ("100.63.255.255", Reach::Public),
            ("100.64.0.0", Reach::Carrier),
            ("100.127.255.255", Reach::Carrier),
            ("100.128.0.0", Reach::Public),
            ("10.1.2.3", Reach::Private),
            ("172.31.0.1", Reach::Private),
            ("172.32.0.1", Reach::Public),
            ("192.168.1.1", Reach::Private),
            ("0.0.0.0", Reach::Nowhere),
            ("127.0.0.1", Reach::Nowhere),
            ("169.254.1.1", Reach::Nowhere),
            ("198.19.0.1", Reach::Nowhere),
            ("203.0.113.1", Reach::Nowhere),
            ("255.255.255.255", Reach::Nowhere),
        ];
        for (address, want) in cases {
            let reach = Reach::of(address.parse().unwrap());
            assert_eq!(reach, want, "{address}");
            assert_eq!(reach.advice().is_none(), want == Reach::Public);
        }
    }
}
