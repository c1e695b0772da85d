//! The GSM 7-bit default alphabet (3GPP TS 23.038 section 6.2.1), as far as it takes to show what people have sent.

/// The characters 0 to 127. The escape (27) stands for a space, as for those who know no extensions.
const BASIC: &str = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\u{20}ÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";

/// The septets that are packed into these octets, at most so many (TS 23.038 section 6.1.2.1).
pub(super) fn unpack(octets: &[u8], count: usize) -> Vec<u8> {
    let mut septets = Vec::with_capacity(count);
    let (mut bits, mut have) = (0_u16, 0);
    for &octet in octets {
        bits |= u16::from(octet) << have;
        have += 8;
        while have >= 7 && septets.len() < count {
            septets.push(low_seven(bits));
            bits >>= 7;
            have -= 7;
        }
    }
    septets
}

/// Packs septets into octets; the last one is filled up with zeros.
pub(super) fn pack(septets: &[u8]) -> Vec<u8> {
    let mut octets = Vec::with_capacity((septets.len() * 7).div_ceil(8));
    let (mut bits, mut have) = (0_u16, 0);
    for &septet in septets {
        bits |= u16::from(septet & 0x7f) << have;
        have += 7;
        if have >= 8 {
            octets.push(bits.to_le_bytes()[0]);
            bits >>= 8;
            have -= 8;
        }
    }
    if have > 0 {
        octets.push(bits.to_le_bytes()[0]);
    }
    octets
}

fn low_seven(bits: u16) -> u8 {
    bits.to_le_bytes()[0] & 0x7f
}

/// The text that the septets stand for.
pub(super) fn text(septets: &[u8]) -> String {
    let show = |&septet: &u8| BASIC.chars().nth(usize::from(septet & 0x7f)).unwrap_or('?');
    septets.iter().map(show).collect()
}

/// The septets that stand for a text; nothing if it has other characters.
pub(super) fn septets(text: &str) -> Option<Vec<u8>> {
    let find = |wanted: char| {
        let index = BASIC.chars().position(|c| c == wanted)?;
        u8::try_from(index).ok()
    };
    text.chars().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn packs_as_the_published_examples_do() {
        // "hellohello", the example of most introductions to PDU mode; and seven and eight carriage returns' worth.
        let packed = [0xe8, 0x32, 0x9b, 0xfd, 0x46, 0x97, 0xd9, 0xec, 0x37];
        assert_eq!(pack(&septets("hellohello").unwrap()), packed);
        assert_eq!(text(&unpack(&packed, 10)), "hellohello");
        assert_eq!(BASIC.chars().count(), 128);
        assert_eq!(septets("@Aa§à").unwrap(), [0, 0x41, 0x61, 0x5f, 0x7f]);
        assert_eq!(septets("€"), None);
    }

    proptest! {
        #[test]
        fn unpack_inverts_pack(mut septets: Vec<u8>) {
            septets.iter_mut().for_each(|septet| *septet &= 0x7f);
            prop_assert_eq!(unpack(&pack(&septets), septets.len()), septets);
        }
    }
}
