//! Stations by hardware address, and which network they joined.

use crate::attribute::Kind;
use crate::error::RadiusError;
use std::fmt;

/// A station's hardware address. Phones choose it by chance, a new one for each network, and anybody can choose
/// somebody else's: it tells conversations apart and proves nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Station(pub [u8; 6]);

/// What a station joined: Called-Station-Id is the radio's address, then a colon and the network's name (RFC 3580,
/// section 3.20). A name is up to 32 octets of anything (IEEE 802.11).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Network {
    pub bssid: [u8; 6],
    pub ssid: Option<Vec<u8>>,
}

impl Station {
    /// Reads Calling-Station-Id: RFC 3580, section 3.21, has capital digits with hyphens. Small digits and colons are read,
    /// too.
    ///
    /// # Errors
    /// If it is no hardware address.
    pub fn parse(value: &[u8]) -> Result<Self, RadiusError> {
        match read_address(value) {
            Some((address, [])) => Ok(Self(address)),
            _ => Err(RadiusError::Value { kind: Kind::CALLING_STATION_ID, got: value.len() }),
        }
    }
}

impl Network {
    /// Reads Called-Station-Id.
    ///
    /// # Errors
    /// If it does not begin with a hardware address, or the name is too long for one.
    pub fn parse(value: &[u8]) -> Result<Self, RadiusError> {
        let error = RadiusError::Value { kind: Kind::CALLED_STATION_ID, got: value.len() };
        match read_address(value) {
            Some((bssid, [])) => Ok(Self { bssid, ssid: None }),
            Some((bssid, [b':', ssid @ ..])) if ssid.len() <= 32 => {
                Ok(Self { bssid, ssid: Some(ssid.to_vec()) })
            }
            _ => Err(error),
        }
    }

    /// As Called-Station-Id has it.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut value = Station(self.bssid).to_string().into_bytes();
        if let Some(ssid) = &self.ssid {
            value.push(b':');
            value.extend(ssid);
        }
        value
    }
}

/// Six pairs of digits with one kind of sign between them, and what follows.
fn read_address(value: &[u8]) -> Option<([u8; 6], &[u8])> {
    let (text, rest) = value.split_at_checked(17)?;
    let sign = text[2];
    let mut address = [0; 6];
    for (octet, piece) in address.iter_mut().zip(text.chunks(3)) {
        let [high, low] = [piece[0], piece[1]].map(|digit| char::from(digit).to_digit(16));
        *octet = u8::try_from(high? * 16 + low?).ok()?;
        if piece.get(2).is_some_and(|other| *other != sign) {
            return None;
        }
    }
    matches!(sign, b'-' | b':').then_some((address, rest))
}

impl fmt::Display for Station {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, last] = self.0;
        write!(f, "{a:02X}-{b:02X}-{c:02X}-{d:02X}-{e:02X}-{last:02X}")
    }
}

impl fmt::Debug for Station {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_access_points_write() {
        let address = [0x02, 0, 0, 0xab, 0xcd, 0x01];
        for text in ["02-00-00-AB-CD-01", "02-00-00-ab-cd-01", "02:00:00:ab:cd:01"] {
            assert_eq!(Station::parse(text.as_bytes()), Ok(Station(address)), "{text}");
        }
        assert_eq!(Station(address).to_string(), "02-00-00-AB-CD-01");
        let called = |text: &[u8]| Network::parse(text);
        let ssid = |ssid: &[u8]| Network { bssid: address, ssid: Some(ssid.to_vec()) };
        assert_eq!(called(b"02-00-00-AB-CD-01"), Ok(Network { bssid: address, ssid: None }));
        assert_eq!(called(b"02-00-00-AB-CD-01:a: b\xff"), Ok(ssid(b"a: b\xff")));
        assert_eq!(called(b"02:00:00:AB:CD:01:guests"), Ok(ssid(b"guests")));
        assert_eq!(called(&ssid(b"guests").emit()), Ok(ssid(b"guests")));
    }

    #[test]
    fn refuses_what_is_no_address() {
        for text in [
            "",
            "02-00-00-AB-CD",
            "02-00-00-AB-CD-0g",
            "02-00-00-AB-CD:01",
            "020000ABCD01",
            "02.00.00.AB.CD.01",
        ] {
            assert!(Station::parse(text.as_bytes()).is_err(), "{text}");
            assert!(Network::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(Station::parse(b"02-00-00-AB-CD-01:guests").is_err());
        assert!(Network::parse(&[&b"02-00-00-AB-CD-01:"[..], &[b'a'; 33]].concat()).is_err());
        assert!(Network::parse(b"02-00-00-AB-CD-01-").is_err());
    }
}
