//! AMR in RTP: RFC 4867, sections 4.3 (bandwidth-efficient) and 4.4 (octet-aligned).
//!
//! One channel, no checksums, no interleaving: what SDP means if it says nothing of them.

use crate::{Activity, AmrPacking, CodecError};

const CODEC: &str = "amr";
/// 12.2 kbit/s: 244 bits.
pub(super) const FRAME_BYTES_MAX: usize = 31;
/// As many as a payload here may have: 240 ms. Others write up to 10.
pub(super) const FRAMES_MAX: usize = 12;
/// A description of noise.
const SILENCE: u8 = 8;
/// Nothing was sent, or it was lost.
pub(super) const NO_DATA: u8 = 15;
/// The sender wants no other mode (section 4.3.1).
pub(super) const NO_REQUEST: u8 = 15;

/// Bits of a frame by its kind (3GPP TS 26.101, table 1 to 3).
const fn bits(kind: u8) -> Option<usize> {
    match kind {
        0 => Some(95),
        1 => Some(103),
        2 => Some(118),
        3 => Some(134),
        4 => Some(148),
        5 => Some(159),
        6 => Some(204),
        7 => Some(244),
        SILENCE => Some(39),
        NO_DATA => Some(0),
        _ => None,
    }
}

/// 20 ms of speech.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// FT: a mode, [`SILENCE`] or [`NO_DATA`].
    pub(super) kind: u8,
    /// Q: not damaged on its way.
    pub(super) is_good: bool,
    /// The bits, first the upper one of the first byte; 0 after their end.
    pub(super) bytes: [u8; FRAME_BYTES_MAX],
}

/// The frames of one payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frames {
    frames: [Frame; FRAMES_MAX],
    count: usize,
}

impl Frame {
    /// `None` if there is no such kind of frame, or fewer bytes than it has.
    pub(super) fn new(kind: u8, is_good: bool, from: &[u8]) -> Option<Self> {
        let mut reader = Bits { bytes: from, at: 0 };
        Some(Self { kind, is_good, bytes: reader.read_frame(bits(kind)?)? })
    }

    pub(super) const fn lost() -> Self {
        Self { kind: NO_DATA, is_good: true, bytes: [0; FRAME_BYTES_MAX] }
    }
}

impl Default for Frames {
    fn default() -> Self {
        Self { frames: [Frame::lost(); FRAMES_MAX], count: 0 }
    }
}

impl Frames {
    pub(super) fn as_slice(&self) -> &[Frame] {
        &self.frames[..self.count]
    }

    /// One more. There have to be fewer than [`FRAMES_MAX`].
    pub(super) fn push(&mut self, frame: Frame) {
        self.frames[self.count] = frame;
        self.count += 1;
    }

    pub(super) fn activity(&self) -> Activity {
        let has = |kinds: std::ops::RangeInclusive<u8>| {
            self.as_slice().iter().any(|frame| kinds.contains(&frame.kind))
        };
        if has(0..=7) {
            Activity::Speech
        } else if has(SILENCE..=SILENCE) {
            Activity::Silence
        } else {
            Activity::Nothing
        }
    }

    /// Writes a payload and says how long it is. It needs room for 1 byte, and 32 for each frame.
    pub(super) fn pack(&self, request: u8, packing: AmrPacking, payload: &mut [u8]) -> usize {
        payload.fill(0);
        let mut writer = BitsMut { bytes: payload, at: 0 };
        let aligned = packing == AmrPacking::OctetAligned;
        let align = |writer: &mut BitsMut<'_>| {
            if aligned {
                writer.at = writer.at.next_multiple_of(8);
            }
        };
        writer.put(&[request << 4], 4);
        align(&mut writer);
        for (at, frame) in self.as_slice().iter().enumerate() {
            let more = u8::from(at + 1 < self.count);
            writer.put(&[more << 7 | frame.kind << 3 | u8::from(frame.is_good) << 2], 6);
            align(&mut writer);
        }
        for frame in self.as_slice() {
            writer.put(&frame.bytes, bits(frame.kind).unwrap_or(0));
            align(&mut writer);
        }
        writer.at.div_ceil(8)
    }

    /// Reads a payload: the mode wanted of us, and the frames.
    pub(super) fn unpack(payload: &[u8], packing: AmrPacking) -> Result<(u8, Self), CodecError> {
        let short = CodecError::Length { codec: CODEC, got: payload.len() };
        let wrong = |why| CodecError::Payload { codec: CODEC, why };
        let mut reader = Bits { bytes: payload, at: 0 };
        let align = |reader: &mut Bits<'_>| {
            if packing == AmrPacking::OctetAligned {
                reader.at = reader.at.next_multiple_of(8);
            }
        };
        let request = reader.read(4).ok_or_else(|| short.clone())? >> 4;
        align(&mut reader);
        let mut all = Self::default();
        loop {
            let entry = reader.read(6).ok_or_else(|| short.clone())?;
            align(&mut reader);
            if all.count == FRAMES_MAX {
                return Err(wrong("more than 12 frames"));
            }
            let kind = entry >> 3 & 15;
            if bits(kind).is_none() {
                // Section 4.3.2: such a packet is thrown away as a whole.
                return Err(wrong("a kind of frame that there is not"));
            }
            all.push(Frame { kind, is_good: entry >> 2 & 1 == 1, bytes: [0; FRAME_BYTES_MAX] });
            if entry >> 7 == 0 {
                break;
            }
        }
        for frame in &mut all.frames[..all.count] {
            let length = bits(frame.kind).unwrap_or(0);
            frame.bytes = reader.read_frame(length).ok_or_else(|| short.clone())?;
            align(&mut reader);
        }
        // Less than a byte may be left over, as padding.
        if reader.at.div_ceil(8) == payload.len() {
            Ok((request, all))
        } else {
            Err(wrong("more bytes than frames"))
        }
    }
}

struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    /// Up to eight bits, at the upper end of a byte.
    fn read(&mut self, count: usize) -> Option<u8> {
        if self.at + count > self.bytes.len() * 8 {
            return None;
        }
        let (byte, shift) = (self.at / 8, self.at % 8);
        let two = u16::from(*self.bytes.get(byte)?) << 8
            | u16::from(self.bytes.get(byte + 1).copied().unwrap_or(0));
        self.at += count;
        let [upper, _] = (two << shift).to_be_bytes();
        let mask = u8::MAX.checked_shl(8 - u32::try_from(count).ok()?).unwrap_or(0);
        Some(upper & mask)
    }

    fn read_frame(&mut self, bits: usize) -> Option<[u8; FRAME_BYTES_MAX]> {
        let mut frame = [0; FRAME_BYTES_MAX];
        for (at, byte) in frame.iter_mut().enumerate().take(bits.div_ceil(8)) {
            *byte = self.read((bits - at * 8).min(8))?;
        }
        Some(frame)
    }
}

struct BitsMut<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl BitsMut<'_> {
    /// Puts bits where there are only zeros; `from` has zeros after its last bit, or the rest is written over later.
    fn put(&mut self, from: &[u8], count: usize) {
        for (byte, value) in from.iter().enumerate().take(count.div_ceil(8)) {
            let length = (count - byte * 8).min(8);
            let kept = if length == 8 { *value } else { *value & !(u8::MAX >> length) };
            let two = (u16::from(kept) << 8 >> (self.at % 8)).to_be_bytes();
            let at = self.at / 8;
            self.bytes[at] |= two[0];
            if two[1] != 0 {
                self.bytes[at + 1] |= two[1];
            }
            self.at += length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The examples of RFC 4867, sections 4.3.5.1 (one frame of 7.4 kbit/s) and 4.4.5.1's header.
    #[test]
    fn headers_are_those_of_the_rfc() {
        let mut frames = Frames::default();
        frames.push(Frame { kind: 4, is_good: true, bytes: [0xff; FRAME_BYTES_MAX] });
        let mut payload = [0; 100];
        let length = frames.pack(15, AmrPacking::BandwidthEfficient, &mut payload);
        // 4 bits request, 0, FT 4 and 1; 148 bits; 2 bits of padding.
        assert_eq!(length, 20);
        assert_eq!(payload[..2], [0b1111_0010, 0b0111_1111]);
        assert_eq!(payload[19], 0b1111_1100);
        let length = frames.pack(6, AmrPacking::OctetAligned, &mut payload);
        assert_eq!(length, 1 + 1 + 19);
        assert_eq!(payload[..3], [0b0110_0000, 0b0010_0100, 0xff]);
        assert_eq!(payload[20], 0b1111_0000);
    }

    #[test]
    fn what_is_no_payload_is_refused() {
        let aligned = |bytes: &[u8]| Frames::unpack(bytes, AmrPacking::OctetAligned).map(drop);
        let wrong = |why| Err(CodecError::Payload { codec: CODEC, why });
        assert_eq!(aligned(&[]), Err(CodecError::Length { codec: CODEC, got: 0 }));
        assert_eq!(aligned(&[0xf0]), Err(CodecError::Length { codec: CODEC, got: 1 }));
        assert_eq!(aligned(&[0xf0, 7 << 3]), Err(CodecError::Length { codec: CODEC, got: 2 }));
        assert_eq!(aligned(&[0xf0, 9 << 3]), wrong("a kind of frame that there is not"));
        assert_eq!(aligned(&[0xf0, 15 << 3, 0]), wrong("more bytes than frames"));
        assert_eq!(aligned(&[[0xf0].as_slice(), &[0xf8; 20]].concat()), wrong("more than 12 frames"));
        assert_eq!(aligned(&[0xf0, 15 << 3]), Ok(()));
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(
            kinds in prop::collection::vec((prop::sample::select(&[0_u8, 1, 2, 3, 4, 5, 6, 7, 8, 15]), any::<bool>()), 1..=FRAMES_MAX),
            noise: [u8; FRAME_BYTES_MAX], request in 0_u8..16, aligned: bool,
        ) {
            let packing = if aligned { AmrPacking::OctetAligned } else { AmrPacking::BandwidthEfficient };
            let mut frames = Frames::default();
            for (kind, is_good) in kinds {
                frames.push(Frame::new(kind, is_good, &noise).unwrap());
            }
            let mut payload = [0xaa; 400];
            let length = frames.pack(request, packing, &mut payload);
            prop_assert_eq!(Frames::unpack(&payload[..length], packing), Ok((request, frames)));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>, aligned: bool) {
            let packing = if aligned { AmrPacking::OctetAligned } else { AmrPacking::BandwidthEfficient };
            if let Ok((_, frames)) = Frames::unpack(&bytes, packing) {
                prop_assert!(!frames.as_slice().is_empty());
            }
        }
    }
}
