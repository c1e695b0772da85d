//! Keys as text.

use std::fmt;

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
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

    /// The key itself.
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
        if !text.len().is_multiple_of(2) || text.len() > 2 * BYTES_MAX {
            return None;
        }
        // Into a buffer that is wiped: part of a mistyped key is a secret too.
        let mut bytes = Zeroizing::new(vec![0; text.len() / 2]);
        HEXLOWER_PERMISSIVE.decode_mut(text.as_bytes(), &mut bytes).ok()?;
        Some(Self(bytes))
    }
}

/// Bytes in hexadecimal.
pub(super) fn to_hex(bytes: &[u8]) -> Zeroizing<String> {
    Zeroizing::new(HEXLOWER.encode(bytes))
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
