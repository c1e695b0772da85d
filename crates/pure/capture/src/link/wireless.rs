//! Frames of IEEE 802.11, with or without radiotap in front.

use super::{Inner, by_ether_type, word};

/// Radiotap: its length is in bytes 2 and 3, lowest first. <https://www.radiotap.org/>.
pub(super) fn radiotap(bytes: &[u8]) -> Inner<'_> {
    match bytes {
        [0, _, low, high, ..] => {
            let length = usize::from(u16::from_le_bytes([*low, *high]));
            bytes.get(length..).filter(|_| length >= 8).map_or(Inner::Damaged, frame)
        }
        _ => Inner::Damaged,
    }
}

/// A frame: IEEE 802.11-2020, 9.2.3. Only single data frames in the clear; bundles (A-MSDU) are something else.
pub(super) fn frame(bytes: &[u8]) -> Inner<'_> {
    let [control, flags, ..] = *bytes else { return Inner::Damaged };
    let (kind, subtype) = (control >> 2 & 3, control >> 4);
    // Data with a body: bit 2 of the subtype means "no data".
    if control & 3 != 0 || kind != 2 || subtype & 4 != 0 {
        return Inner::Other;
    }
    if flags & 0x40 != 0 {
        return Inner::Ciphered;
    }
    let quality = subtype & 8 != 0;
    let mut header = 24;
    if flags & 3 == 3 {
        header += 6;
    }
    if quality {
        let bundle = bytes.get(header).is_some_and(|byte| byte & 0x80 != 0);
        if bundle {
            return Inner::Other;
        }
        header += 2;
        if flags & 0x80 != 0 {
            header += 4;
        }
    }
    // LLC and SNAP: RFC 1042.
    let Some(rest) = bytes.get(header..) else { return Inner::Damaged };
    match (rest.starts_with(&[0xaa, 0xaa, 3, 0, 0, 0]), word(rest, 6), rest.get(8..)) {
        (true, Some(kind), Some(payload)) => by_ether_type(kind, payload),
        (true, _, _) => Inner::Damaged,
        (false, _, _) => Inner::Other,
    }
}
