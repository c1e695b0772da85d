//! Binary arithmetic coding whose bytes can be cut anywhere.
//!
//! A range coder with carry (Martin, "Range encoding: an algorithm for removing redundancy from a digitised message",
//! 1979; in its binary form). Two things make any beginning of its bytes useful. The encoder counts only bytes that no
//! carry can change any more. The decoder knows how many bytes it lacks, so how far off its code may be; a bit that the
//! missing bytes could still decide otherwise is not complete.

/// Below this, the range gets another byte.
const RANGE_MIN: u32 = 1 << 24;

/// Codes bits, one by one, in either direction.
pub(crate) trait Binary {
    /// The next bit, whose probability to be zero is `zero` of 65,536, neither none nor all. An encoder writes `wanted`;
    /// a decoder does not look at it. `None`: there is no room, or no more to read.
    fn bit(&mut self, zero: u16, wanted: bool) -> Option<bool>;
}

/// Writes until there is no room.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    bytes: &'a mut [u8],
    length: usize,
    low: u64,
    range: u32,
    /// The last byte that a carry may still change, and how many bytes of 255 follow it.
    held: Option<u8>,
    held_full: usize,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, length: 0, low: 0, range: u32::MAX, held: None, held_full: 0 }
    }

    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(self.length) {
            *slot = byte;
            self.length += 1;
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "single bytes are taken out")]
    fn shift(&mut self) {
        if self.low < 0xff00_0000 || self.low > 0xffff_ffff {
            let carry = (self.low >> 32) as u8;
            if let Some(held) = self.held {
                self.push(held.wrapping_add(carry));
            }
            for _ in 0..std::mem::take(&mut self.held_full) {
                self.push(0xff_u8.wrapping_add(carry));
            }
            self.held = Some((self.low >> 24) as u8);
        } else {
            self.held_full += 1;
        }
        self.low = (self.low & 0x00ff_ffff) << 8;
    }

    /// Writes as few bytes as make everything so far complete, whatever came after them.
    pub(crate) fn finish(mut self) -> usize {
        let end = self.low + u64::from(self.range);
        let fitting = (1..=4_u32).find_map(|bytes| {
            let step = 1_u64 << (32 - 8 * bytes);
            let value = self.low.div_ceil(step) * step;
            (value + step <= end).then_some((bytes, value))
        });
        if let Some((bytes, value)) = fitting {
            self.low = value;
            (0..=bytes).for_each(|_| self.shift());
        }
        self.length
    }
}

impl Binary for Writer<'_> {
    fn bit(&mut self, zero: u16, wanted: bool) -> Option<bool> {
        let bound = (self.range >> 16) * u32::from(zero);
        if wanted {
            self.low += u64::from(bound);
            self.range -= bound;
        } else {
            self.range = bound;
        }
        while self.range < RANGE_MIN {
            self.range <<= 8;
            self.shift();
        }
        (self.length < self.bytes.len()).then_some(wanted)
    }
}

/// Reads until the bytes decide nothing more.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    bytes: std::slice::Iter<'a, u8>,
    range: u32,
    /// How far above the lower end of the range the code is, if all that is missing were zero.
    code: u64,
    /// By how much that may be too little.
    unknown: u64,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let mut reader = Self { bytes: bytes.iter(), range: u32::MAX, code: 0, unknown: 0 };
        (0..4).for_each(|_| reader.shift());
        // No encoder writes more, and what is below the range stays below it.
        reader.code = reader.code.min(u64::from(reader.range - 1));
        reader
    }

    fn shift(&mut self) {
        let byte = self.bytes.next();
        self.code = self.code << 8 | u64::from(byte.copied().unwrap_or(0));
        self.unknown = self.unknown << 8 | if byte.is_some() { 0 } else { 0xff };
    }
}

impl Binary for Reader<'_> {
    fn bit(&mut self, zero: u16, _wanted: bool) -> Option<bool> {
        let bound = (self.range >> 16) * u32::from(zero);
        let bit = self.code >= u64::from(bound);
        if bit {
            self.code -= u64::from(bound);
            self.range -= bound;
        } else if self.code + self.unknown < u64::from(bound) {
            self.range = bound;
        } else {
            return None;
        }
        while self.range < RANGE_MIN {
            self.range <<= 8;
            self.shift();
        }
        Some(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_read_of_any_beginning_was_written(
            bits in prop::collection::vec((1..=u16::MAX, any::<bool>()), 0..2_000),
            kept in 0_usize..600,
        ) {
            let mut bytes = [0; 8_000];
            let mut writer = Writer::new(&mut bytes);
            for (zero, bit) in &bits {
                prop_assert_eq!(writer.bit(*zero, *bit), Some(*bit));
            }
            let length = writer.finish();

            let mut whole = Reader::new(&bytes[..length]);
            for (zero, bit) in &bits {
                prop_assert_eq!(whole.bit(*zero, false), Some(*bit));
            }
            let mut part = Reader::new(&bytes[..kept.min(length)]);
            for (zero, bit) in &bits {
                match part.bit(*zero, false) {
                    Some(got) => prop_assert_eq!(got, *bit),
                    None => break,
                }
            }
        }

        #[test]
        fn with_less_room_the_same_begins(
            bits in prop::collection::vec((1..=u16::MAX, any::<bool>()), 0..2_000),
            room in 0_usize..300,
        ) {
            let write = |bytes: &mut [u8]| {
                let mut writer = Writer::new(bytes);
                for (zero, bit) in &bits {
                    if writer.bit(*zero, *bit).is_none() {
                        break;
                    }
                }
                writer.finish()
            };
            let (mut whole, mut part) = ([0; 8_000], vec![0; room]);
            let (all, some) = (write(&mut whole), write(&mut part));
            prop_assert_eq!(some, all.min(room));
            prop_assert_eq!(&part[..some], &whole[..some]);
        }
    }
}
