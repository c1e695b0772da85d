use guestright_congestion::WaveReport;
use guestright_units::Micros;
use std::num::NonZeroU32;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow(pub u32);

/// Marks of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Opens the connection.
    pub syn: bool,
    /// `ack`, `window` and `echo` mean something.
    pub ack: bool,
    /// The stream ends with this segment; takes the place of one byte behind the last.
    pub fin: bool,
    /// The bytes were sent before. Not on a real wire: for captures and counts.
    pub again: bool,
    /// The packet may be marked instead of dropped: ECT (RFC 3168). Of the IP header.
    pub capable: bool,
    /// The packet met congestion and was marked: CE (RFC 3168). Of the IP header; the network sets it.
    pub marked: bool,
    /// The receiver has seen a mark: ECE (RFC 3168).
    pub echo: bool,
    /// The sender has reduced its window for a mark: CWR (RFC 3168).
    pub reduced: bool,
}

/// A TCP segment, without its payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Offset of the first byte of payload.
    pub seq: u64,
    /// Everything before this offset has arrived.
    pub ack: u64,
    pub flow: Flow,
    /// How many bytes from `ack` on the receiver has room for.
    pub window: u32,
    /// When it was sent, in microseconds modulo 2^32: TSval of RFC 7323.
    pub stamp: u32,
    /// The stamp of the segment that is acknowledged: TSecr of RFC 7323.
    pub echo: u32,
    /// Bytes of payload.
    pub len: u16,
    pub flags: Flags,
    /// The wave that it belongs to, counted from 1 (TCP-Real; `None`: no waves).
    pub wave: Option<NonZeroU32>,
    /// What the receiver says of the last wave that it has seen whole (TCP-Real).
    pub report: Option<Report>,
    /// What has arrived behind gaps (RFC 2018).
    pub sack: Sack,
}

/// A [`WaveReport`] as it goes over the wire, in 12 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    wave: NonZeroU32,
    bytes: u32,
    /// Microseconds.
    interval: u32,
}

impl Report {
    /// That of `report`; bytes and time as far as 32 bits hold.
    #[must_use]
    pub fn new(report: WaveReport) -> Self {
        Self {
            wave: NonZeroU32::MIN.saturating_add(report.number),
            bytes: u32::try_from(report.bytes).unwrap_or(u32::MAX),
            interval: u32::try_from(report.interval.0).unwrap_or(u32::MAX),
        }
    }

    /// What it says.
    #[must_use]
    pub const fn read(self) -> WaveReport {
        WaveReport {
            number: self.wave.get() - 1,
            bytes: self.bytes as u64,
            interval: Micros(self.interval as u64),
        }
    }
}

/// Blocks of an acknowledgement (RFC 2018): up to three, as many as there is room for beside timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    /// From how many bytes behind `ack` on, and how many bytes; none if these are 0.
    blocks: [(u32, u32); Self::MAX],
}

impl Sack {
    /// The most blocks.
    pub const MAX: usize = 3;

    /// Adds the block from `first` to before `end`, both behind `ack`; the first one is that of the segment that came last.
    /// Not if there is no room, or it is further from `ack` than a window can be.
    pub fn push(&mut self, ack: u64, first: u64, end: u64) {
        let Some(free) = self.blocks.iter_mut().find(|(_, len)| *len == 0) else { return };
        if let (Ok(from), Ok(len)) = (u32::try_from(first - ack), u32::try_from(end - first)) {
            *free = (from, len);
        }
    }

    /// Whether there is no block.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.blocks[0].1 == 0
    }

    /// The blocks of an acknowledgement of `ack`: first offset, and the one behind the last.
    pub fn blocks(self, ack: u64) -> impl Iterator<Item = (u64, u64)> {
        self.blocks
            .into_iter()
            .take_while(|(_, len)| *len > 0)
            .map(move |(from, len)| (ack + u64::from(from), ack + u64::from(from) + u64::from(len)))
    }

    /// Bytes of the option, padding and all: 2 of padding, 2 of kind and length, 8 for each block.
    #[must_use]
    pub fn option_bytes(self) -> u32 {
        match self.blocks.iter().filter(|(_, len)| *len > 0).count() {
            0 => 0,
            1 => 12,
            2 => 20,
            _ => 28,
        }
    }
}

impl Segment {
    /// Offset behind the last byte of payload, and behind FIN.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.seq + self.len as u64 + self.flags.fin as u64
    }
}

/// Bytes of IPv4 and TCP header without options.
pub(super) const HEADER_BYTES: u32 = 40;

/// Bytes of the timestamps option, padding and all (RFC 7323, appendix A).
pub(super) const TIMESTAMPS_BYTES: u32 = 12;

/// Bytes of the option for the largest segment, in a SYN.
pub(super) const SYN_BYTES: u32 = 4;

/// Bytes of the IP packet that carries `segment`; with `syn_packet`, one that opens a connection is headers alone.
pub(crate) fn packet_bytes(segment: &Segment, header_bytes: u32, timestamps: bool, syn_packet: bool) -> u32 {
    if segment.flags.syn && syn_packet {
        return header_bytes;
    }
    let options =
        if timestamps { TIMESTAMPS_BYTES } else { 0 } + if segment.flags.syn { SYN_BYTES } else { 0 };
    header_bytes + options + segment.sack.option_bytes() + u32::from(segment.len)
}
