//! Where a home can be reached: an address or a name, and a port.

use crate::{AddressError, RecordError};
use ciborium::Value;
use guestright_identity::{IdentityError, cose};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU16;
use std::str::FromStr;

/// The TCP port on which a home takes links of other homes, unless somebody says otherwise.
pub const LINK_PORT: NonZeroU16 = NonZeroU16::new(7275).expect("7275 is not zero");

/// A name in the DNS, in small letters. An underscore may begin a label, as in the names of services.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(String);

/// A host by address or by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// An IPv6 address, never a mapped IPv4 one.
    V6(Ipv6Addr),
    /// A name that has to be looked up.
    Name(HostName),
}

/// A host and a TCP port. No address is unspecified, multicast or broadcast.
///
/// A record may still name a private or a loopback address: whether to call there is for the program to decide.
/// Nothing is trusted because of it, since the link wants the key that the record names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    host: Host,
    port: NonZeroU16,
}

impl HostName {
    /// No name is longer, so that a record stays short. The DNS would allow 253 (RFC 1035 section 2.3.4).
    pub const LEN_MAX: usize = 100;

    /// The name; capitals become small letters, and a last dot is dropped.
    ///
    /// # Errors
    /// [`AddressError::Name`].
    pub fn new(text: &str) -> Result<Self, AddressError> {
        let lower = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let refused = AddressError::Name { max: Self::LEN_MAX };
        let labels_fit = lower.split('.').all(is_label);
        let last_is_number =
            lower.rsplit('.').next().is_none_or(|last| last.bytes().all(|b| b.is_ascii_digit()));
        if lower.len() > Self::LEN_MAX || !labels_fit || last_is_number {
            return Err(refused);
        }
        Ok(Self(lower))
    }

    /// The name as text, without a last dot.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// RFC 1123 section 2.1; an underscore in front as in RFC 8552.
fn is_label(label: &str) -> bool {
    let rest = label.strip_prefix('_').unwrap_or(label);
    let plain = rest.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    (1..=63).contains(&label.len())
        && !rest.is_empty()
        && plain
        && !rest.starts_with('-')
        && !rest.ends_with('-')
}

impl Address {
    /// The address.
    ///
    /// # Errors
    /// [`AddressError::Nobody`] or [`AddressError::Mapped`].
    pub fn new(host: Host, port: NonZeroU16) -> Result<Self, AddressError> {
        match &host {
            Host::V4(ip) if ip.is_unspecified() || ip.is_multicast() || ip.is_broadcast() => {
                Err(AddressError::Nobody)
            }
            Host::V6(ip) if ip.is_unspecified() || ip.is_multicast() => Err(AddressError::Nobody),
            Host::V6(ip) if ip.to_ipv4_mapped().is_some() => Err(AddressError::Mapped),
            Host::V4(_) | Host::V6(_) | Host::Name(_) => Ok(Self { host, port }),
        }
    }

    pub fn host(&self) -> &Host {
        &self.host
    }

    pub fn port(&self) -> NonZeroU16 {
        self.port
    }

    /// `[host, port]`: four or 16 bytes, or text; and a number.
    pub(crate) fn to_item(&self) -> Value {
        let host = match &self.host {
            Host::V4(ip) => Value::Bytes(ip.octets().to_vec()),
            Host::V6(ip) => Value::Bytes(ip.octets().to_vec()),
            Host::Name(name) => Value::Text(name.0.clone()),
        };
        Value::Array(vec![host, Value::from(self.port.get())])
    }

    pub(crate) fn from_item(item: &Value) -> Result<Self, RecordError> {
        let malformed = || RecordError::Refused(IdentityError::Malformed("an address is a host and a port"));
        let [host, port] = item.as_array().map(Vec::as_slice).unwrap_or_default() else {
            return Err(malformed());
        };
        let port = u16::try_from(cose::number(port, "a port is a number")?).ok().and_then(NonZeroU16::new);
        let port = port.ok_or(AddressError::Port)?;
        let host = match (host.as_bytes().map(Vec::as_slice), host.as_text()) {
            (Some(&[a, b, c, d]), _) => Host::V4(Ipv4Addr::new(a, b, c, d)),
            (Some(bytes), _) => {
                Host::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).map_err(|_| malformed())?))
            }
            (None, Some(text)) => {
                let name = HostName::new(text)?;
                if name.as_str() != text {
                    return Err(IdentityError::NotCanonical.into());
                }
                Host::Name(name)
            }
            (None, None) => return Err(malformed()),
        };
        Ok(Self::new(host, port)?)
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(ip) => ip.fmt(f),
            Self::V6(ip) => ip.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

impl fmt::Display for Address {
    /// `192.0.2.1:7275`, `[2001:db8::1]:7275` or `home.example:7275`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::V6(ip) => write!(f, "[{ip}]:{}", self.port),
            Host::V4(_) | Host::Name(_) => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl Address {
    /// What [`Address`] prints; where no port is given it is `port`.
    ///
    /// # Errors
    /// [`AddressError`]: no name, no address of one host, or no port.
    ///
    /// ```
    /// use guestright_directory::Address;
    ///
    /// let port = std::num::NonZeroU16::new(7274).unwrap();
    /// assert_eq!(Address::parse("home.example", port).unwrap().to_string(), "home.example:7274");
    /// ```
    pub fn parse(text: &str, port: NonZeroU16) -> Result<Self, AddressError> {
        if let Ok(ip) = text.parse::<Ipv6Addr>() {
            return Self::new(Host::V6(ip), port);
        }
        let (host, given) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':').ok_or(AddressError::Port)?)),
            None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        };
        let is_number = |port: &&str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
        let port = match given {
            None => port,
            Some(given) => {
                let port = Some(given).filter(is_number).and_then(|port| port.parse().ok());
                port.ok_or(AddressError::Port)?
            }
        };
        let host = if text.starts_with('[') {
            Host::V6(host.parse().map_err(|_| AddressError::Name { max: HostName::LEN_MAX })?)
        } else {
            match host.parse() {
                Ok(ip) => Host::V4(ip),
                Err(_) => Host::Name(HostName::new(host)?),
            }
        };
        Self::new(host, port)
    }
}

impl FromStr for Address {
    type Err = AddressError;

    /// As [`Address::parse`], with [`LINK_PORT`].
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text, LINK_PORT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_prints() {
        for text in ["192.0.2.1:7275", "[2001:db8::1]:1", "home.example:65535", "_gr.a-b.example:9"] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
            assert_eq!(Address::from_item(&address.to_item()), Ok(address));
        }
        let defaults = [("192.0.2.1", "192.0.2.1:7275"), ("2001:db8::1", "[2001:db8::1]:7275")];
        for (text, want) in defaults.into_iter().chain([("Home.Example.", "home.example:7275")]) {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), want);
        }
    }

    #[test]
    fn refuses_what_no_home_has() {
        let name = AddressError::Name { max: HostName::LEN_MAX };
        let long = format!("{}.example", "a".repeat(64));
        let longer = format!("{}example", "abcdefg.".repeat(13));
        #[rustfmt::skip]
        let cases = [
            ("0.0.0.0:1", AddressError::Nobody), ("224.0.0.1:1", AddressError::Nobody),
            ("255.255.255.255:1", AddressError::Nobody), ("[::]:1", AddressError::Nobody),
            ("[ff02::1]:1", AddressError::Nobody), ("[::ffff:192.0.2.1]:1", AddressError::Mapped),
            ("home.example:0", AddressError::Port), ("home.example:+1", AddressError::Port),
            ("home.example:", AddressError::Port), ("home.example:65536", AddressError::Port),
            ("", name), ("-a.example", name), ("a..example", name), ("a_b.example", name),
            ("1.2.3", name), ("a b", name), (&long, name), (&longer, name), ("[home.example]:1", name),
        ];
        for (text, want) in cases {
            assert_eq!(text.parse::<Address>(), Err(want), "{text}");
        }
    }
}
