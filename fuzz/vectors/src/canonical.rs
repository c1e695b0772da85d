//! A second opinion on deterministic CBOR: RFC 8949 §4.2.1, for the few types that our objects have.

/// What some bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One array of numbers, strings and such arrays, nested so deep, in the one deterministic form.
    Plain(usize),
    /// It has a type that no object of ours has: a map, a tag, a simple value, a float. Not judged.
    Other,
    /// It is cut off, goes on, or could be written shorter.
    Wrong,
}

struct Reader<'a> {
    rest: &'a [u8],
}

/// What `bytes` are.
pub fn judge(bytes: &[u8]) -> Form {
    let mut reader = Reader { rest: bytes };
    match reader.item(0) {
        Ok(0) => Form::Wrong, // It is no array.
        Ok(depth) if reader.rest.is_empty() => Form::Plain(depth),
        Ok(_) => Form::Wrong,
        Err(form) => form,
    }
}

/// The first bytes of an item: its major type and number, in the shortest form.
pub fn head(major: u8, number: u64) -> Vec<u8> {
    let major = major << 5;
    let bytes = number.to_be_bytes();
    match number {
        0..24 => vec![major | bytes[7]],
        24..0x100 => vec![major | 24, bytes[7]],
        0x100..0x1_0000 => [&[major | 25], &bytes[6..]].concat(),
        0x1_0000..0x1_0000_0000 => [&[major | 26], &bytes[4..]].concat(),
        _ => [&[major | 27], &bytes[..]].concat(),
    }
}

/// A byte string.
pub fn string(content: &[u8]) -> Vec<u8> {
    [head(2, u64::try_from(content.len()).expect("a length fits")), content.to_vec()].concat()
}

/// A whole number.
pub fn integer(number: i64) -> Vec<u8> {
    match u64::try_from(number) {
        Ok(number) => head(0, number),
        Err(_) => head(1, (!number).cast_unsigned()),
    }
}

impl Reader<'_> {
    /// Reads one item; gives how deep its arrays are nested.
    fn item(&mut self, depth: usize) -> Result<usize, Form> {
        let before = self.rest;
        let first = self.read_bytes(1)?[0];
        let (major, short) = (first >> 5, first & 31);
        if major > 4 {
            return Err(Form::Other);
        }
        let width = match short {
            0..24 => 0,
            24..28 => 1 << (short - 24),
            _ => return Err(Form::Wrong),
        };
        let number = self.read_bytes(width)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let number = if width == 0 { u64::from(short) } else { number };
        if !before.starts_with(&head(major, number)) {
            return Err(Form::Wrong);
        }
        match major {
            2 | 3 => {
                let content = self.read_bytes(usize::try_from(number).map_err(|_| Form::Wrong)?)?;
                let is_text = major == 2 || std::str::from_utf8(content).is_ok();
                if is_text { Ok(0) } else { Err(Form::Wrong) }
            }
            4 if depth == 32 => Err(Form::Other),
            4 => {
                let mut deepest = 0;
                for _ in 0..number {
                    deepest = deepest.max(self.item(depth + 1)?);
                }
                Ok(deepest + 1)
            }
            _ => Ok(0),
        }
    }

    fn read_bytes(&mut self, length: usize) -> Result<&[u8], Form> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Form::Wrong)?;
        self.rest = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_deterministic_from_other_bytes() {
        #[rustfmt::skip]
        let cases: [(&[u8], Form); 12] = [
            (&[0x80],                         Form::Plain(1)),
            (&[0x82, 0x01, 0x81, 0x41, 0xff], Form::Plain(2)),
            (&[0x81, 0x38, 0x18],             Form::Plain(1)), // −25.
            (&[0x81, 0x18, 0x17],             Form::Wrong),    // 23 in two bytes.
            (&[0x81, 0x19, 0x00, 0xff],       Form::Wrong),
            (&[0x9f, 0xff],                   Form::Wrong),    // No length.
            (&[0x81, 0x61, 0xff],             Form::Wrong),    // Not UTF-8.
            (&[0x80, 0x80],                   Form::Wrong),
            (&[0x82, 0x01],                   Form::Wrong),
            (&[0x01],                         Form::Wrong),
            (&[0x81, 0xa0],                   Form::Other),
            (&[],                             Form::Wrong),
        ];
        for (bytes, want) in cases {
            assert_eq!(judge(bytes), want, "{bytes:02x?}");
        }
    }

    #[test]
    fn numbers_have_one_head() {
        assert_eq!(integer(-19), [0x32]);
        assert_eq!(integer(-65_601), [0x3a, 0x00, 0x01, 0x00, 0x40]);
        assert_eq!(head(0, 1 << 32), [0x1b, 0, 0, 0, 1, 0, 0, 0, 0]);
    }
}
