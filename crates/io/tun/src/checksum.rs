//! The Internet's checksum (RFC 1071).

/// A sum that is not folded yet, in the computer's own byte order (RFC 1071 §2 (B)).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum(u64);

impl Sum {
    /// The sum with `bytes` added. Only the last piece that is added may have an odd length.
    pub(crate) fn add(self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<4>();
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        Self(self.0 + sum_words(words) + u64::from(u32::from_ne_bytes(last)))
    }

    /// The sum with a number in network order added.
    pub(crate) fn add_u16(self, number: u16) -> Self {
        Self(self.0 + u64::from(number.to_be()))
    }

    /// The 16 bits of the sum, as they stand in memory.
    pub(crate) fn fold(self) -> [u8; 2] {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        #[expect(clippy::cast_possible_truncation, reason = "folded to 16 bits in the line before")]
        let folded = sum as u16;
        folded.to_ne_bytes()
    }

    /// The checksum: the complement of the sum, as it stands in memory.
    pub(crate) fn checksum(self) -> [u8; 2] {
        self.fold().map(|byte| !byte)
    }

    /// Whether bytes that contain their checksum are what was sent.
    pub(crate) fn verifies(self) -> bool {
        self.fold() == [0xff, 0xff]
    }
}

/// Whole words of 32 bits into 64: no carry is lost in packets of up to 64 KB, and the compiler can use what the
/// processor has to add several at once.
#[inline(always)]
fn sum_plainly(words: &[[u8; 4]]) -> u64 {
    words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum()
}

#[cfg(target_arch = "x86_64")]
fn sum_words(words: &[[u8; 4]]) -> u64 {
    /// The same, compiled for processors with AVX2.
    #[target_feature(enable = "avx2")]
    fn with_avx2(words: &[[u8; 4]]) -> u64 {
        sum_plainly(words)
    }
    if words.len() < 32 || !std::is_x86_feature_detected!("avx2") {
        return sum_plainly(words);
    }
    #[expect(unsafe_code, reason = "the compiler cannot know which processor this will run on")]
    // SAFETY: the processor has AVX2, as was asked in the line before.
    unsafe {
        with_avx2(words)
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn sum_words(words: &[[u8; 4]]) -> u64 {
    sum_plainly(words)
}

/// The pseudo header of TCP or UDP over IPv4 (RFC 9293 §3.1) or IPv6 (RFC 8200 §8.1), from the packet's IP header.
pub(crate) fn pseudo_header(packet: &[u8], v6: bool, protocol: u8, length: usize) -> Sum {
    let addresses = if v6 { &packet[8..40] } else { &packet[12..20] };
    let sum = Sum::default().add(addresses).add_u16(u16::from(protocol));
    // A length above 65,535 cannot be: IP's own length fields have 16 bits.
    sum.add_u16(u16::try_from(length).unwrap_or(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_that_of_rfc_1071() {
        // The example of RFC 1071 §3: the sum is ddf2.
        let sum = Sum::default().add(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.fold(), [0xdd, 0xf2]);
        assert_eq!(sum.checksum(), [0x22, 0x0d]);
    }

    #[test]
    fn any_length_sums_as_16_bit_words_do() {
        let bytes: Vec<u8> = (0..2_000_u32).map(|at| (at * 31 % 251).to_le_bytes()[0]).collect();
        for length in [0, 1, 2, 3, 4, 5, 7, 20, 39, 40, 1_399, 1_400, 1_999] {
            let plain: u32 = bytes[..length]
                .chunks(2)
                .map(|pair| u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from))
                .sum();
            let folded = (plain & 0xffff) + (plain >> 16);
            let folded = u16::try_from((folded & 0xffff) + (folded >> 16)).unwrap();
            assert_eq!(Sum::default().add(&bytes[..length]).fold(), folded.to_be_bytes(), "{length}");
        }
    }
}
