//! What stands in certificates instead of names.

use data_encoding::{BASE32_NOPAD, HEXLOWER, HEXLOWER_PERMISSIVE};
use guestright_wire::name;
use rand::CryptoRng;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Text that is no realm, label or serial number.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ParseError {
    #[error("`{0}` is no realm: a name as in the DNS, in small letters, of at most 200 characters")]
    Realm(String),
    #[error("`{0}` is no label of a phone: 16 letters and digits of base32")]
    Label(String),
    #[error("`{0}` is no serial number: 1 to 20 bytes, in hexadecimal digits")]
    Serial(String),
}

/// The part behind the `@` of a phone's identity: by it an access point finds the home.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Realm(String);

impl Realm {
    /// The longest realm: an identity with it still fits RADIUS, and the home's name the DNS.
    const BYTES_MAX: usize = 200;

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name in the home's certificate, which phones are configured with. The DNS need not know it.
    #[must_use]
    pub fn server_name(&self) -> String {
        format!("home.{}", self.0)
    }
}

impl FromStr for Realm {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() <= Self::BYTES_MAX && name::is_domain(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(ParseError::Realm(text.chars().take(64).collect()))
        }
    }
}

impl fmt::Display for Realm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a phone is called in its certificate: 80 bits of chance, as 16 characters of base32. Only its home knows whose
/// phone that is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label([u8; 10]);

impl Label {
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        let mut bytes = [0; 10];
        rng.fill_bytes(&mut bytes);
        Self(bytes)
    }
}

impl FromStr for Label {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || ParseError::Label(text.chars().take(64).collect());
        if text.len() != 16 || text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(refused());
        }
        let bytes = BASE32_NOPAD.decode(text.to_ascii_uppercase().as_bytes()).map_err(|_| refused())?;
        bytes.try_into().map(Self).map_err(|_| refused())
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE32_NOPAD.encode(&self.0).to_ascii_lowercase())
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Label({self})")
    }
}

/// The number of a certificate, without leading zeros. By it a certificate is revoked.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Serial(Vec<u8>);

impl Serial {
    /// A positive number has at most 20 bytes (RFC 5280, section 4.1.2.2), but others may have made it.
    pub(crate) fn from_number(bytes: &[u8]) -> Self {
        let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
        Self(bytes[first..].to_vec())
    }

    /// Sixteen bytes of chance; the first is none of those that would change the number's length or sign.
    pub(crate) fn generate(rng: &mut impl CryptoRng) -> Self {
        let mut bytes = vec![0; 16];
        rng.fill_bytes(&mut bytes);
        bytes[0] = bytes[0] & 0x3f | 0x40;
        Self(bytes)
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl FromStr for Serial {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok();
        let bytes = bytes.filter(|bytes| (1..=20).contains(&bytes.len()));
        let bytes = bytes.ok_or_else(|| ParseError::Serial(text.chars().take(64).collect()))?;
        Ok(Self::from_number(&bytes))
    }
}

impl fmt::Display for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        HEXLOWER.encode_write(&self.0, f)
    }
}

impl fmt::Debug for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Serial({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    #[test]
    fn parse_inverts_display() {
        let mut rng = StdRng::seed_from_u64(1);
        for _ in 0..100 {
            let (label, serial) = (Label::generate(&mut rng), Serial::generate(&mut rng));
            assert_eq!(label.to_string().parse(), Ok(label));
            assert_eq!(serial.to_string().parse(), Ok(serial));
        }
    }

    #[test]
    fn what_is_no_label_or_serial_number_is_refused() {
        for text in [
            "",
            "abcdefghijklmno",
            "abcdefghijklmnop2",
            "ABCDEFGHIJKLMNOP",
            "abcdefghijklmno1",
            "äbcdefghijklmno",
        ] {
            assert_eq!(text.parse::<Label>(), Err(ParseError::Label(text.to_owned())));
        }
        for text in ["", "f", "xx", &"00".repeat(21)] {
            assert_eq!(text.parse::<Serial>(), Err(ParseError::Serial(text.to_owned())));
        }
        assert_eq!("0007".parse::<Serial>(), "07".parse());
    }

    #[test]
    fn a_realm_is_a_name_with_a_dot() {
        let long = format!("{}.example", "a".repeat(64));
        for text in ["", "example", "Example.org", "a..b", "-a.b", "a-.b", "a_b.c", "a.b.", "ä.org", &long] {
            assert!(text.parse::<Realm>().is_err(), "{text}");
        }
        let realm: Realm = "0123456789abcdef.guestright.alt".parse().unwrap();
        assert_eq!(realm.server_name(), "home.0123456789abcdef.guestright.alt");
    }
}
