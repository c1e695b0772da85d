//! The two halves of a security association: what seals and what opens.

use std::fmt;
use std::ops::Range;

use zeroize::Zeroizing;

use super::cipher::{Cipher, Layout, Vectors};
use super::error::{OpenError, SealError};
use super::keys::Keys;
use super::lifetime::{Lifetime, LifetimeEvent, Meter, Usage};
use super::replay::ReplayWindow;
use super::suite::{HEADER_LEN, Suite, TRAILER_LEN};

/// What both halves are made from.
#[derive(Clone, Debug)]
pub struct SaParameters {
    /// The index that says which association a packet is for. 0 to 255 are reserved (RFC 4303, section 2.1).
    pub spi: u32,
    /// Suite and keys.
    pub keys: Keys,
    /// Whether sequence numbers have 64 bits, of which 32 are sent (RFC 4303, section 2.2.1).
    pub extended_sequence: bool,
    /// What it may carry.
    pub lifetime: Lifetime,
    /// The longest ESP packet, from SPI to check value, in bytes.
    pub packet_len_max: usize,
}

/// The longest ESP packet that fits into an IPv4 packet, in bytes.
pub const PACKET_LEN_MAX: usize = 65_535 - 20;

/// The next header of a dummy packet (RFC 4303, section 2.6).
pub const NEXT_HEADER_DUMMY: u8 = 59;

/// The half that seals.
pub struct OutboundSa {
    spi: u32,
    suite: Suite,
    cipher: Cipher,
    vectors: Vectors,
    extended_sequence: bool,
    /// `None` once every number was used.
    next_sequence: Option<u64>,
    /// The last number that may be used for now.
    sequence_limit: u64,
    packet_len_max: usize,
    meter: Meter,
}

impl OutboundSa {
    /// Starts with that sequence number; 0, which is never sent, counts as 1.
    ///
    /// With the same keys a number must never be used twice: whoever starts again has to start behind the last one.
    /// `iv_seed` is chance, secret and different each time; only the suites with CBC use it.
    #[must_use]
    pub fn new(parameters: &SaParameters, first_sequence: u64, iv_seed: &Zeroizing<[u8; 32]>) -> Self {
        let suite = parameters.keys.suite();
        let mut sa = Self {
            spi: parameters.spi,
            suite,
            cipher: Cipher::new(&parameters.keys),
            vectors: Vectors::new(suite, iv_seed),
            extended_sequence: parameters.extended_sequence,
            next_sequence: None,
            sequence_limit: u64::MAX,
            packet_len_max: parameters.packet_len_max.min(PACKET_LEN_MAX),
            meter: Meter::new(parameters.lifetime),
        };
        sa.next_sequence = Some(first_sequence.max(1)).filter(|first| *first <= sa.last_sequence());
        sa
    }

    fn last_sequence(&self) -> u64 {
        if self.extended_sequence { u64::MAX } else { u64::from(u32::MAX) }
    }

    /// Where the payload has to lie in the buffer of [`seal_in_place`](Self::seal_in_place).
    #[must_use]
    pub fn payload_offset(&self) -> usize {
        self.suite.payload_offset()
    }

    /// Uses no number behind `last` until told otherwise: for who writes down beforehand which numbers may have been
    /// used when it starts again with the same keys.
    pub fn set_sequence_limit(&mut self, last: u64) {
        self.sequence_limit = last;
    }

    /// The number of the next packet; `None` once every number was used.
    #[must_use]
    pub fn next_sequence(&self) -> Option<u64> {
        self.next_sequence
    }

    /// What was sealed so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.meter.usage()
    }

    /// What has happened to the lifetime since it was last asked.
    pub fn poll_event(&mut self) -> Option<LifetimeEvent> {
        self.meter.poll_event()
    }

    /// Seals `payload` into the beginning of `out`; gives the length of the packet.
    ///
    /// # Errors
    /// [`SealError`]; then no sequence number was used.
    #[inline]
    pub fn seal(&mut self, next_header: u8, payload: &[u8], out: &mut [u8]) -> Result<usize, SealError> {
        let offset = self.suite.payload_offset();
        let length = self.check(payload.len(), out.len())?;
        out[offset..offset + payload.len()].copy_from_slice(payload);
        self.finish(next_header, payload.len(), &mut out[..length])
    }

    /// Seals the payload that lies at [`payload_offset`](Self::payload_offset) of `buffer`, without moving it; gives
    /// the length of the packet, which begins at the beginning of the buffer.
    ///
    /// # Errors
    /// [`SealError`]; then no sequence number was used.
    #[inline]
    pub fn seal_in_place(
        &mut self,
        next_header: u8,
        payload_len: usize,
        buffer: &mut [u8],
    ) -> Result<usize, SealError> {
        let length = self.check(payload_len, buffer.len())?;
        self.finish(next_header, payload_len, &mut buffer[..length])
    }

    /// The length of the packet, if it may be made.
    fn check(&self, payload_len: usize, room: usize) -> Result<usize, SealError> {
        let limit = self.packet_len_max;
        let packet = self.suite.packet_len(payload_len.min(PACKET_LEN_MAX));
        if payload_len > PACKET_LEN_MAX || packet > limit {
            return Err(SealError::Oversized { got: payload_len, packet, limit });
        }
        if packet > room {
            return Err(SealError::Room { got: room, want: packet });
        }
        if self.meter.would_expire(payload_len) {
            return Err(SealError::Expired);
        }
        match self.next_sequence {
            None => Err(SealError::SequencesUsedUp),
            Some(next) if next > self.sequence_limit => Err(SealError::NotReserved),
            Some(_) => Ok(packet),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "halves of a number, and a pad length below 16")]
    fn finish(&mut self, next_header: u8, payload_len: usize, packet: &mut [u8]) -> Result<usize, SealError> {
        let sequence = self.next_sequence.ok_or(SealError::SequencesUsedUp)?;
        self.next_sequence = sequence.checked_add(1).filter(|next| *next <= self.last_sequence());
        let text_start = self.suite.payload_offset();
        let text_end = packet.len() - self.suite.icv_len();
        packet[..4].copy_from_slice(&self.spi.to_be_bytes());
        packet[4..HEADER_LEN].copy_from_slice(&(sequence as u32).to_be_bytes());
        self.vectors.write(sequence, &mut packet[HEADER_LEN..text_start]);
        let padding = &mut packet[text_start + payload_len..text_end - TRAILER_LEN];
        for (value, byte) in (1..).zip(padding.iter_mut()) {
            *byte = value;
        }
        packet[text_end - 2] = padding.len() as u8;
        packet[text_end - 1] = next_header;
        let high = self.extended_sequence.then_some((sequence >> 32) as u32);
        self.cipher.seal(packet, Layout { text_start, text_end }, high);
        self.meter.count(payload_len);
        Ok(packet.len())
    }
}

impl fmt::Debug for OutboundSa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutboundSa")
            .field("spi", &self.spi)
            .field("suite", &self.suite)
            .field("next_sequence", &self.next_sequence)
            .finish_non_exhaustive()
    }
}

/// A packet that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedPacket {
    /// Where the payload lies in the buffer that was given.
    pub payload: Range<usize>,
    /// What the payload is: 4 and 41 in tunnel mode, a transport protocol in transport mode.
    pub next_header: u8,
    /// The whole sequence number.
    pub sequence: u64,
}

/// The half that opens.
pub struct InboundSa {
    spi: u32,
    suite: Suite,
    cipher: Cipher,
    extended_sequence: bool,
    window: ReplayWindow,
    packet_len_max: usize,
    meter: Meter,
}

impl InboundSa {
    /// Makes it with an anti-replay window of that many numbers, see [`ReplayWindow::new`].
    #[must_use]
    pub fn new(parameters: &SaParameters, window: u32) -> Self {
        Self {
            spi: parameters.spi,
            suite: parameters.keys.suite(),
            cipher: Cipher::new(&parameters.keys),
            extended_sequence: parameters.extended_sequence,
            window: ReplayWindow::new(window),
            packet_len_max: parameters.packet_len_max.min(PACKET_LEN_MAX),
            meter: Meter::new(parameters.lifetime),
        }
    }

    /// The largest sequence number that was authenticated; 0 before the first.
    #[must_use]
    pub fn highest_sequence(&self) -> u64 {
        self.window.highest()
    }

    /// What was opened so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.meter.usage()
    }

    /// What has happened to the lifetime since it was last asked.
    pub fn poll_event(&mut self) -> Option<LifetimeEvent> {
        self.meter.poll_event()
    }

    /// Opens an ESP packet, SPI first, in place.
    ///
    /// In the order of RFC 4303, section 3.4: is it new, is it authentic, and only then what is in it. An authentic
    /// packet takes its place in the window whatever its padding.
    ///
    /// # Errors
    /// [`OpenError`]. The encrypted part of the packet is then not to be used.
    pub fn open(&mut self, packet: &mut [u8]) -> Result<OpenedPacket, OpenError> {
        let layout = self.layout(packet)?;
        let (sequence, high) = self.sequence(packet)?;
        self.window.check(sequence)?;
        if self.meter.would_expire(layout.text_end - layout.text_start - TRAILER_LEN) {
            return Err(OpenError::Expired);
        }
        self.cipher.open(packet, layout, high).map_err(|_| OpenError::WrongIcv { sequence })?;
        self.window.commit(sequence)?;
        let text = &packet[layout.text_start..layout.text_end];
        let (payload_len, next_header) = trim(text).ok_or(OpenError::WrongPad { sequence })?;
        self.meter.count(payload_len);
        if next_header == NEXT_HEADER_DUMMY {
            return Err(OpenError::Dummy { sequence });
        }
        let payload = layout.text_start..layout.text_start + payload_len;
        Ok(OpenedPacket { payload, next_header, sequence })
    }

    /// Checks everything that can be told from lengths and the index.
    fn layout(&self, packet: &[u8]) -> Result<Layout, OpenError> {
        let (got, want) = (packet.len(), self.suite.packet_len(0));
        if got < want {
            return Err(OpenError::Truncated { got, want });
        }
        if got > self.packet_len_max {
            return Err(OpenError::Oversized { got, limit: self.packet_len_max });
        }
        let (got, want) = (half(packet, 0), self.spi);
        if got != want {
            return Err(OpenError::WrongSpi { got, want });
        }
        let layout =
            Layout { text_start: self.suite.payload_offset(), text_end: packet.len() - self.suite.icv_len() };
        let (got, want) = (layout.text_end - layout.text_start, self.suite.alignment());
        if !got.is_multiple_of(want) {
            return Err(OpenError::Misaligned { got, want });
        }
        Ok(layout)
    }

    /// The whole sequence number, and the half of it that is authenticated but not sent.
    fn sequence(&self, packet: &[u8]) -> Result<(u64, Option<u32>), OpenError> {
        let low = half(packet, 4);
        if !self.extended_sequence {
            return Ok((u64::from(low), None));
        }
        let before_the_first = super::replay::ReplayError::TooOld(u64::from(low));
        let sequence = self.window.extend(low).ok_or(before_the_first)?;
        Ok((sequence, Some((sequence >> 32) as u32)))
    }
}

/// Four bytes; the packet was found long enough.
fn half(packet: &[u8], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&packet[at..at + 4]);
    u32::from_be_bytes(bytes)
}

/// The length of the payload and the next header; nothing if the padding is not 1, 2, 3, … (RFC 4303, section 2.4).
/// The text is authentic, so that there is nothing to learn from how long this takes.
fn trim(text: &[u8]) -> Option<(usize, u8)> {
    let (rest, &[pad_len, next_header]) = text.split_last_chunk()?;
    let payload_len = rest.len().checked_sub(usize::from(pad_len))?;
    let is_counting = rest[payload_len..].iter().zip(1..=u8::MAX).all(|(byte, want)| *byte == want);
    is_counting.then_some((payload_len, next_header))
}

impl fmt::Debug for InboundSa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InboundSa")
            .field("spi", &self.spi)
            .field("suite", &self.suite)
            .field("highest_sequence", &self.window.highest())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
