//! Keys as text.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use zeroize::Zeroizing;

/// A key that stands in a file in hexadecimal. Wiped when dropped, never printed.
#[derive(Clone, Default)]
pub struct HexKey(Zeroizing<Vec<u8>>);

/// More than any suite wants.
const BYTES_MAX: usize = 64;

impl HexKey {
    /// Takes the bytes.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self(Zeroizing::new(bytes.to_vec()))
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The key as text.
    #[must_use]
    pub fn to_hex(&self) -> Zeroizing<String> {
        to_hex(&self.0)
    }

    fn parse(text: &str) -> Option<Self> {
        if !text.len().is_multiple_of(2) || text.len() > 2 * BYTES_MAX || !text.is_ascii() {
            return None;
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(text.len() / 2));
        for [high, low] in text.as_bytes().as_chunks().0 {
            let digit =
                |letter: u8| char::from(letter).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            bytes.push(digit(*high)? << 4 | digit(*low)?);
        }
        Some(Self(bytes))
    }
}

/// Bytes in hexadecimal.
pub(super) fn to_hex(bytes: &[u8]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(bytes.len() * 2));
    for byte in bytes {
        for digit in [byte >> 4, byte & 0x0f] {
            text.push(char::from_digit(u32::from(digit), 16).expect("four bits are one digit"));
        }
    }
    text
}

impl fmt::Debug for HexKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HexKey({} bytes)", self.0.len())
    }
}

impl Serialize for HexKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_hex())
    }
}

impl<'de> Deserialize<'de> for HexKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Visitor)
    }
}

struct Visitor;

impl de::Visitor<'_> for Visitor {
    type Value = HexKey;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a key in hexadecimal, of at most {BYTES_MAX} bytes")
    }

    /// The message does not repeat what was there: it may be most of a key.
    fn visit_str<E: de::Error>(self, text: &str) -> Result<HexKey, E> {
        HexKey::parse(text).ok_or_else(|| E::custom("not a key in hexadecimal of at most 64 bytes"))
    }
}
