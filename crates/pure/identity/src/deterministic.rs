//! Deterministic CBOR (RFC 8949, section 4.2.1), read once from the left.
//!
//! The first fault decides what is wrong, as design note 0001 (section 5) says, so that every program names the same one.
//! That is why this is no library's reader: each has an order and names of its own, and accepts first what is refused then.
//! No memory is set aside for what a length claims.

use crate::IdentityError;
use ciborium::Value;

/// How many arrays may lie within each other, the outermost included.
const DEPTH_MAX: usize = 6;

/// What an item is (RFC 8949, section 3.1), of those that some object has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Major {
    Unsigned,
    Negative,
    Bytes,
    Text,
    Array,
    /// In a COSE_Sign1 alone.
    Map,
}

/// Reads items from the left.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The items of an array that is all there is.
    pub(crate) fn whole_array(bytes: &'a [u8]) -> Result<Vec<Value>, IdentityError> {
        let mut reader = Self::new(bytes);
        let count = reader.expect(Major::Array, "it is not an array")?;
        let items = reader.items(count, 1)?;
        reader.end()?;
        Ok(items)
    }

    /// The beginning of an array of `count` items.
    pub(crate) fn array_of(&mut self, count: u64) -> Result<(), IdentityError> {
        let got = self.expect(Major::Array, "it is not an array")?;
        if got == count { Ok(()) } else { Err(IdentityError::Malformed("it has another number of parts")) }
    }

    /// A map without entries.
    pub(crate) fn empty_map(&mut self) -> Result<(), IdentityError> {
        let entries = self.expect(Major::Map, "a header is not a map")?;
        if entries == 0 { Ok(()) } else { Err(IdentityError::NotCanonical) }
    }

    /// The content of a byte string.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], IdentityError> {
        let length = self.expect(Major::Bytes, "a part is not a byte string")?;
        self.take(length)
    }

    /// A whole number, with sign.
    pub(crate) fn integer(&mut self) -> Result<i128, IdentityError> {
        match self.head()? {
            (Major::Unsigned, number) => Ok(number.into()),
            (Major::Negative, number) => Ok(-1 - i128::from(number)),
            _ => Err(IdentityError::Malformed("it is not a whole number")),
        }
    }

    /// That there is nothing more.
    pub(crate) fn end(&self) -> Result<(), IdentityError> {
        if self.at == self.bytes.len() { Ok(()) } else { Err(IdentityError::NotCanonical) }
    }

    fn items(&mut self, count: u64, depth: usize) -> Result<Vec<Value>, IdentityError> {
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(self.item(depth)?);
        }
        Ok(items)
    }

    fn item(&mut self, depth: usize) -> Result<Value, IdentityError> {
        let integer = |number| ciborium::value::Integer::try_from(number).expect("it has 64 bits and a sign");
        Ok(match self.head()? {
            (Major::Unsigned, number) => Value::from(number),
            (Major::Negative, number) => Value::Integer(integer(-1 - i128::from(number))),
            (Major::Bytes, length) => Value::Bytes(self.take(length)?.to_vec()),
            (Major::Text, length) => {
                let text = std::str::from_utf8(self.take(length)?);
                Value::Text(text.map_err(|_| IdentityError::Malformed("a text is not UTF-8"))?.to_owned())
            }
            (Major::Array, _) if depth == DEPTH_MAX => {
                return Err(IdentityError::Malformed("its arrays are nested too deep"));
            }
            (Major::Array, count) => Value::Array(self.items(count, depth + 1)?),
            (Major::Map, _) => return Err(Self::odd()),
        })
    }

    /// The number of an item's head, if it is of this kind.
    fn expect(&mut self, want: Major, otherwise: &'static str) -> Result<u64, IdentityError> {
        let first = *self.bytes.get(self.at).ok_or_else(|| self.truncated())?;
        if Self::major(first) != Some(want) {
            return Err(IdentityError::Malformed(otherwise));
        }
        Ok(self.head()?.1)
    }

    /// The beginning of an item: its kind and its number, in the shortest form.
    fn head(&mut self) -> Result<(Major, u64), IdentityError> {
        let [first] = *self.take(1)? else { return Err(self.truncated()) };
        let major = Self::major(first).ok_or_else(Self::odd)?;
        let width = match (major, first & 0x1f) {
            (_, short @ 0..24) => return Ok((major, short.into())),
            (_, short @ 24..28) => 1_u64 << (short - 24),
            (Major::Bytes | Major::Text | Major::Array | Major::Map, 31) => {
                return Err(IdentityError::NotCanonical); // Its length is left open.
            }
            _ => return Err(IdentityError::Malformed("it is not CBOR")),
        };
        let number = self.take(width)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let shorter = if width == 1 { number < 24 } else { number >> (width * 4) == 0 };
        if shorter { Err(IdentityError::NotCanonical) } else { Ok((major, number)) }
    }

    fn major(first: u8) -> Option<Major> {
        let all = [Major::Unsigned, Major::Negative, Major::Bytes, Major::Text, Major::Array, Major::Map];
        all.get(usize::from(first >> 5)).copied()
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], IdentityError> {
        let rest = &self.bytes[self.at..];
        let taken = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        let taken = taken.ok_or_else(|| self.truncated())?;
        self.at += taken.len();
        Ok(taken)
    }

    fn truncated(&self) -> IdentityError {
        IdentityError::Truncated { got: self.bytes.len() }
    }

    fn odd() -> IdentityError {
        IdentityError::Malformed("it has items other than numbers, bytes, text and arrays")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The kind of a refusal, or how many items there are.
    fn read(bytes: &[u8]) -> Result<usize, &'static str> {
        let items = Reader::whole_array(bytes);
        items.map(|items| items.len()).map_err(|error| {
            let cut = IdentityError::Truncated { got: bytes.len() };
            if error == cut {
                "truncated"
            } else if error == IdentityError::NotCanonical {
                "not-canonical"
            } else {
                assert!(matches!(error, IdentityError::Malformed(_)), "{error}");
                "malformed"
            }
        })
    }

    #[test]
    fn the_first_fault_from_the_left_decides() {
        #[rustfmt::skip]
        let cases: [(&str, &[u8], Result<usize, &str>); 24] = [
            ("nothing",                            &[],                                 Err("truncated")),
            ("no items",                           &[0x80],                             Ok(0)),
            ("one of each",                        &[0x85, 1, 0x20, 0x41, 9, 0x61, b'a', 0x81, 0], Ok(5)),
            ("no array",                           &[0x41, 0],                          Err("malformed")),
            ("no array, and cut",                  &[0x42, 0],                          Err("malformed")),
            ("an item is missing",                 &[0x82, 1],                          Err("truncated")),
            ("bytes are missing",                  &[0x81, 0x42, 1],                    Err("truncated")),
            ("a number's bytes are missing",       &[0x81, 0x19, 1],                    Err("truncated")),
            ("23 in two bytes",                    &[0x81, 0x18, 23],                   Err("not-canonical")),
            ("24 in two bytes",                    &[0x81, 0x18, 24],                   Ok(1)),
            ("255 in three bytes",                 &[0x81, 0x19, 0, 255],               Err("not-canonical")),
            ("65,535 in five bytes",               &[0x81, 0x1a, 0, 0, 255, 255],       Err("not-canonical")),
            ("2^32 − 1 in nine bytes",             &[0x81, 0x3b, 0, 0, 0, 0, 255, 255, 255, 255], Err("not-canonical")),
            ("a long length, and cut",             &[0x81, 0x59, 0, 1],                 Err("not-canonical")),
            ("an open length",                     &[0x9f, 0xff],                       Err("not-canonical")),
            ("an open number",                     &[0x81, 0x1f],                       Err("malformed")),
            ("a length that is none",              &[0x81, 0x5c],                       Err("malformed")),
            ("a map, and cut",                     &[0x82, 0xa1],                       Err("malformed")),
            ("a tag",                              &[0x81, 0xc2, 0x41, 1],              Err("malformed")),
            ("null",                               &[0x81, 0xf6],                       Err("malformed")),
            ("no UTF-8",                           &[0x81, 0x61, 0xff],                 Err("malformed")),
            ("six arrays",                         &[0x81, 0x81, 0x81, 0x81, 0x81, 0x80], Ok(1)),
            ("seven arrays",                       &[0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x80], Err("malformed")),
            ("a byte behind",                      &[0x80, 0],                          Err("not-canonical")),
        ];
        for (name, bytes, want) in cases {
            assert_eq!(read(bytes), want, "{name}");
        }
    }

    #[test]
    fn a_length_that_lies_costs_no_memory() {
        for head in [0x9b_u8, 0x5b, 0x7b] {
            let bytes = [&[0x81, head][..], &u64::MAX.to_be_bytes()].concat();
            assert_eq!(read(&bytes), Err("truncated"));
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_in_the_same_way(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let bytes = [&[0x82], &bytes[..]].concat();
            if let Ok(items) = Reader::whole_array(&bytes) {
                prop_assert_eq!(crate::cose::encode(items), bytes);
            }
        }

        #[test]
        fn what_is_cut_is_truncated(numbers in prop::collection::vec(any::<i64>(), 1..9), at in any::<prop::sample::Index>()) {
            let bytes = crate::cose::encode(numbers.into_iter().map(Value::from).collect());
            prop_assert_eq!(read(&bytes[..at.index(bytes.len())]), Err("truncated"));
        }
    }
}
