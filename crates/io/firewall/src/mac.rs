//! Hardware addresses.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::FirewallError;

/// An Ethernet hardware address of one station: never a group's, never all zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MacAddress([u8; 6]);

impl MacAddress {
    /// Takes six bytes in the order of transmission.
    ///
    /// # Errors
    /// A group address (lowest bit of the first byte set, IEEE 802-2014 section 8.2) or all zero.
    pub fn new(bytes: [u8; 6]) -> Result<Self, FirewallError> {
        let address = Self(bytes);
        if bytes[0] & 1 == 1 || bytes == [0; 6] {
            return Err(FirewallError::Mac { got: address.to_string() });
        }
        Ok(address)
    }

    /// The six bytes in the order of transmission.
    #[must_use]
    pub fn bytes(self) -> [u8; 6] {
        self.0
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl FromStr for MacAddress {
    type Err = FirewallError;

    fn from_str(text: &str) -> Result<Self, FirewallError> {
        let wrong = || FirewallError::Mac { got: text.to_owned() };
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next().ok_or_else(wrong)?;
            if part.len() != 2 || !part.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(wrong());
            }
            *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
        }
        if parts.next().is_some() {
            return Err(wrong());
        }
        Self::new(bytes)
    }
}

impl TryFrom<String> for MacAddress {
    type Error = FirewallError;

    fn try_from(text: String) -> Result<Self, FirewallError> {
        text.parse()
    }
}

impl From<MacAddress> for String {
    fn from(address: MacAddress) -> Self {
        address.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        let address: MacAddress = "02:00:5E:10:00:0a".parse().unwrap();
        assert_eq!(address.to_string(), "02:00:5e:10:00:0a");
        assert_eq!(address.to_string().parse(), Ok(address));
    }

    #[test]
    fn reads_nothing_else() {
        #[rustfmt::skip]
        let cases = [
            "", "02", "02:00:5e:10:00", "02:00:5e:10:00:0a:0b", "02-00-5e-10-00-0a", "2:0:5e:10:0:a",
            "02:00:5e:10:00:+a", "02:00:5e:10:00:0g", " 02:00:5e:10:00:0a", "ff:ff:ff:ff:ff:ff",
            "01:00:5e:00:00:01", "00:00:00:00:00:00",
        ];
        for text in cases {
            assert!(text.parse::<MacAddress>().is_err(), "{text:?}");
        }
    }
}
