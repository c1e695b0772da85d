//! As much of DER (ITU-T X.690) as PKCS#12 needs.

use zeroize::Zeroizing;

/// Tags of universal types.
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const OCTETS: u8 = 0x04;
pub(crate) const NULL: u8 = 0x05;
pub(crate) const OBJECT: u8 = 0x06;
pub(crate) const BMP_STRING: u8 = 0x1e;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;
/// `[0]`, around something.
pub(crate) const EXPLICIT_0: u8 = 0xa0;
/// `[0]`, in place of a primitive type's own tag.
pub(crate) const IMPLICIT_0: u8 = 0x80;

/// One element. Most of what is in here is secret, or becomes so by the next layer: all of it is wiped.
pub(crate) type Element = Zeroizing<Vec<u8>>;

/// An element of these contents.
pub(crate) fn element(tag: u8, contents: &[u8]) -> Element {
    let length = contents.len().to_be_bytes();
    let skipped = length.iter().take_while(|byte| **byte == 0).count();
    let mut out = Zeroizing::new(Vec::with_capacity(contents.len() + 2 + length.len()));
    out.push(tag);
    match (&length[skipped..], contents.len()) {
        (_, short @ 0..=0x7f) => out.push(u8::try_from(short).expect("below 128")),
        (long, _) => {
            out.push(0x80 | u8::try_from(long.len()).expect("at most 8"));
            out.extend_from_slice(long);
        }
    }
    out.extend_from_slice(contents);
    out
}

/// An element of elements.
pub(crate) fn nested(tag: u8, parts: &[Element]) -> Element {
    let mut contents = Zeroizing::new(Vec::with_capacity(parts.iter().map(|part| part.len()).sum()));
    parts.iter().for_each(|part| contents.extend_from_slice(part));
    element(tag, &contents)
}

/// A set: its elements in the order of their bytes (X.690, section 11.6).
pub(crate) fn set(mut parts: Vec<Element>) -> Element {
    parts.sort_by(|a, b| a.as_slice().cmp(b));
    nested(SET, &parts)
}

/// A number that is not negative.
pub(crate) fn integer(number: u32) -> Element {
    let bytes = number.to_be_bytes();
    let skipped = bytes.iter().take_while(|byte| **byte == 0).count().min(3);
    let mut contents = Vec::new();
    if bytes[skipped] & 0x80 != 0 {
        contents.push(0);
    }
    contents.extend_from_slice(&bytes[skipped..]);
    element(INTEGER, &contents)
}

/// Whether this is one element, whole, and no more; what is inside is not looked at.
pub(crate) fn is_sequence(der: &[u8]) -> bool {
    let length = match der {
        [SEQUENCE, short @ 0..=0x7f, ..] => 2 + usize::from(*short),
        [SEQUENCE, 0x81, a, ..] => 3 + usize::from(*a),
        [SEQUENCE, 0x82, a, b, ..] => 4 + usize::from(u16::from_be_bytes([*a, *b])),
        _ => return false,
    };
    der.len() == length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_as_short_as_they_can_be() {
        let head = |length: usize| element(OCTETS, &vec![7; length])[..4].to_vec();
        assert_eq!(element(NULL, &[]).as_slice(), [5, 0]);
        assert_eq!(head(0x7f), [4, 0x7f, 7, 7]);
        assert_eq!(head(0x80), [4, 0x81, 0x80, 7]);
        assert_eq!(head(0x1234), [4, 0x82, 0x12, 0x34]);
    }

    #[test]
    fn numbers_are_not_negative() {
        for (number, want) in
            [(0, &[2, 1, 0][..]), (127, &[2, 1, 127]), (128, &[2, 2, 0, 128]), (2_048, &[2, 2, 8, 0])]
        {
            assert_eq!(integer(number).as_slice(), want);
        }
    }

    #[test]
    fn knows_a_whole_sequence() {
        let long = element(SEQUENCE, &[0; 300]);
        assert!(is_sequence(&long) && is_sequence(&[0x30, 0]) && is_sequence(&element(SEQUENCE, &[0; 200])));
        assert!(
            !is_sequence(&long[..299])
                && !is_sequence(&[])
                && !is_sequence(&[4, 0])
                && !is_sequence(&[0x30, 0, 0])
        );
    }
}
