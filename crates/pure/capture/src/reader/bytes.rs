//! Numbers in the order of the computer that wrote them.

/// Which byte of a number comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    /// The number of two bytes at `at`, if it is there.
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let two = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Self::Little => u16::from_le_bytes(two),
            Self::Big => u16::from_be_bytes(two),
        })
    }

    /// The number of four bytes at `at`, if it is there.
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let four = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Self::Little => u32::from_le_bytes(four),
            Self::Big => u32::from_be_bytes(four),
        })
    }

    /// The number of eight bytes with a sign at `at`, if it is there.
    pub(super) fn i64(self, bytes: &[u8], at: usize) -> Option<i64> {
        let eight = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Self::Little => i64::from_le_bytes(eight),
            Self::Big => i64::from_be_bytes(eight),
        })
    }
}
