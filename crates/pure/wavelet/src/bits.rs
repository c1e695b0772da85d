//! Single bits, the highest of a byte first.

/// Writes until there is no room.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    bytes: &'a mut [u8],
    bits: usize,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(bytes: &'a mut [u8]) -> Self {
        bytes.fill(0);
        Self { bytes, bits: 0 }
    }

    /// The bit, if there is room.
    pub(crate) fn bit(&mut self, bit: bool) {
        if let Some(byte) = self.bytes.get_mut(self.bits / 8) {
            *byte |= u8::from(bit) << (7 - self.bits % 8);
            self.bits += 1;
        }
    }

    /// The lowest `count` bits of `value`, the highest of them first.
    pub(crate) fn bits(&mut self, value: usize, count: u32) {
        for shift in (0..count).rev() {
            self.bit(value >> shift & 1 == 1);
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.bits == self.bytes.len() * 8
    }

    /// Bytes that were begun.
    pub(crate) fn bytes(&self) -> usize {
        self.bits.div_ceil(8)
    }
}

/// Reads until there is nothing more.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    bits: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, bits: 0 }
    }

    pub(crate) fn bit(&mut self) -> Option<bool> {
        let byte = self.bytes.get(self.bits / 8)?;
        let bit = byte >> (7 - self.bits % 8) & 1 == 1;
        self.bits += 1;
        Some(bit)
    }

    pub(crate) fn bits(&mut self, count: u32) -> Option<usize> {
        (0..count).try_fold(0, |value, _| Some(value << 1 | usize::from(self.bit()?)))
    }
}
