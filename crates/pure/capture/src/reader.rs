//! A reader of pcap and pcapng that takes a file in pieces.

mod bytes;
mod pcap;
mod pcapng;

use crate::error::CaptureError;
use crate::stamp::Stamp;
use bytes::Order;
use pcap::Pcap;
use pcapng::Pcapng;

/// The largest packet or block that is taken into memory. Wireshark's own limit is 256 KiB for a packet (128 MiB for
/// some buses); blocks of other kinds are skipped without being held, however long they are.
pub const BLOCK_MAX: u64 = 16 << 20;

/// What a packet begins with: a number of the registry <https://www.tcpdump.org/linktypes.html>.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// Ethernet, without preamble and check sequence.
    pub const ETHERNET: Self = Self(1);
    /// An IPv4 or IPv6 packet; its first half byte says which.
    pub const IP: Self = Self(101);
    /// A frame of IEEE 802.11.
    pub const IEEE_802_11: Self = Self(105);
    /// A frame of IEEE 802.11 behind a radiotap header.
    pub const RADIOTAP: Self = Self(127);
}

/// One packet of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// When it was captured; `None` for the simple packets of pcapng, which carry no time.
    pub at: Option<Stamp>,
    /// What its bytes begin with.
    pub link: LinkType,
    /// Which interface captured it, counted from 0 over all sections of the file.
    pub interface: u32,
    /// What was captured of it.
    pub bytes: &'a [u8],
    /// How many bytes it had on the wire; never fewer than were captured.
    pub length: u32,
    /// Where its record begins in the file.
    pub offset: u64,
}

/// Reads packets from a file that comes in pieces of any size.
///
/// ```
/// # use guestright_capture::{Reader, CaptureError};
/// # fn main() -> Result<(), CaptureError> {
/// # let pieces = [&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0][..], &[0; 16]];
/// let mut reader = Reader::new();
/// for piece in pieces {
///     reader.feed(piece);
///     while let Some(frame) = reader.next()? {
///         let _ = frame.bytes;
///     }
/// }
/// reader.finish();
/// while let Some(_frame) = reader.next()? {}
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Reader {
    /// Bytes that came and are not used up begin at `start`.
    buffer: Vec<u8>,
    start: usize,
    /// Where `buffer[start]` is in the file.
    offset: u64,
    /// How many more bytes to pass over.
    skip: u64,
    finished: bool,
    format: Format,
}

#[derive(Clone, Debug, Default)]
enum Format {
    #[default]
    Unknown,
    Pcap(Pcap),
    Pcapng(Pcapng),
    /// After an error: nothing more comes.
    Broken,
}

/// What a format makes of the bytes at hand.
enum Step {
    /// It needs this many bytes from here in all.
    Need(u64),
    /// These many were no packet.
    Used(usize),
    /// These many from here are of no interest; they need not be at hand.
    Skip(u64),
    /// A packet, and how many bytes its record has.
    Packet(FrameSpan, usize),
}

/// A [`Frame`] without its bytes: where they are, from the start of the record.
struct FrameSpan {
    at: Option<Stamp>,
    link: LinkType,
    interface: u32,
    from: usize,
    captured: usize,
    length: u32,
}

impl Reader {
    /// A reader before the first byte.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes of the file.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        let passed = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len());
        self.skip -= passed as u64;
        self.offset += passed as u64;
        self.buffer.extend_from_slice(&bytes[passed..]);
    }

    /// Says that the file is over.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// How far into the file the reader has come, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The name of an interface, if the file says it.
    pub fn interface_name(&self, interface: u32) -> Option<&str> {
        match &self.format {
            Format::Pcapng(format) => format.interface_name(interface),
            Format::Unknown | Format::Pcap(_) | Format::Broken => None,
        }
    }

    /// The next packet. `None` when more bytes are needed, or after [`Reader::finish`] when there are no more.
    ///
    /// # Errors
    ///
    /// When the file is none of ours, damaged or cut off. After an error no more packets come.
    #[expect(clippy::should_implement_trait, reason = "what it returns borrows from the reader")]
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        loop {
            match self.step() {
                Ok(Step::Need(want)) => return self.wait(want).map(|()| None),
                Ok(Step::Used(count)) => self.advance(count),
                Ok(Step::Skip(count)) => self.pass(count),
                Ok(Step::Packet(span, count)) => {
                    let (offset, from) = (self.offset, self.start + span.from);
                    self.advance(count);
                    let bytes = &self.buffer[from..from + span.captured];
                    let FrameSpan { at, link, interface, length, .. } = span;
                    return Ok(Some(Frame { at, link, interface, bytes, length, offset }));
                }
                Err(error) => {
                    self.format = Format::Broken;
                    return Err(error);
                }
            }
        }
    }

    fn step(&mut self) -> Result<Step, CaptureError> {
        let bytes = &self.buffer[self.start..];
        match &mut self.format {
            Format::Unknown => {
                let Some(magic) = bytes.first_chunk::<4>() else { return Ok(Step::Need(4)) };
                self.format = recognise(*magic)?;
                Ok(Step::Used(0))
            }
            Format::Pcap(format) => format.step(bytes, self.offset),
            Format::Pcapng(format) => format.step(bytes, self.offset),
            // A broken file is over, whatever else comes.
            Format::Broken if bytes.is_empty() => Ok(Step::Need(0)),
            Format::Broken => Ok(Step::Used(bytes.len())),
        }
    }

    /// Nothing to do without more bytes: fine, unless the file is over within a record.
    fn wait(&mut self, want: u64) -> Result<(), CaptureError> {
        let got = (self.buffer.len() - self.start) as u64;
        if !self.finished || (got == 0 && self.skip == 0 && !matches!(self.format, Format::Unknown)) {
            return Ok(());
        }
        if matches!(self.format, Format::Broken) {
            return Ok(());
        }
        let (got, want) = if self.skip > 0 { (0, self.skip) } else { (got, want) };
        self.format = Format::Broken;
        self.start = self.buffer.len();
        Err(CaptureError::CutOff { offset: self.offset, got, want })
    }

    fn advance(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }

    fn pass(&mut self, count: u64) {
        let here = usize::try_from(count).unwrap_or(usize::MAX).min(self.buffer.len() - self.start);
        self.advance(here);
        self.skip = count - here as u64;
    }
}

fn recognise(magic: [u8; 4]) -> Result<Format, CaptureError> {
    let compressed = |with, command| Err(CaptureError::Compressed { with, command });
    let pcap = |order, per_second, modified| Ok(Format::Pcap(Pcap::new(order, per_second, modified)));
    match magic {
        [0xd4, 0xc3, 0xb2, 0xa1] => pcap(Order::Little, 1_000_000, false),
        [0xa1, 0xb2, 0xc3, 0xd4] => pcap(Order::Big, 1_000_000, false),
        [0x4d, 0x3c, 0xb2, 0xa1] => pcap(Order::Little, 1_000_000_000, false),
        [0xa1, 0xb2, 0x3c, 0x4d] => pcap(Order::Big, 1_000_000_000, false),
        [0x34, 0xcd, 0xb2, 0xa1] => pcap(Order::Little, 1_000_000, true),
        [0xa1, 0xb2, 0xcd, 0x34] => pcap(Order::Big, 1_000_000, true),
        [0x0a, 0x0d, 0x0d, 0x0a] => Ok(Format::Pcapng(Pcapng::default())),
        [0x1f, 0x8b, _, _] => compressed("gzip", "gunzip FILE"),
        [0x28, 0xb5, 0x2f, 0xfd] => compressed("zstd", "unzstd FILE"),
        [0x04, 0x22, 0x4d, 0x18] => compressed("lz4", "unlz4 FILE"),
        [0xfd, b'7', b'z', b'X'] => compressed("xz", "unxz FILE"),
        [b'B', b'Z', b'h', _] => compressed("bzip2", "bunzip2 FILE"),
        [b'P', b'K', 3, 4] => compressed("zip", "unzip FILE"),
        got => Err(CaptureError::Format { got }),
    }
}

fn check_length(length: u64, offset: u64) -> Result<(), CaptureError> {
    if length > BLOCK_MAX {
        Err(CaptureError::TooLong { offset, got: length, max: BLOCK_MAX })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
