/// Which connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
}

/// A TCP segment, without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Offset of the first byte of payload.
    pub seq: u64,
    /// Everything before this offset has arrived.
    pub ack: u64,
    /// Which connection.
    pub flow: Flow,
    /// How many bytes from `ack` on the receiver has room for.
    pub window: u32,
    /// When it was sent, in microseconds modulo 2^32: TSval of RFC 7323.
    pub stamp: u32,
    /// The stamp of the segment that is acknowledged: TSecr of RFC 7323.
    pub echo: u32,
    /// Bytes of payload.
    pub len: u16,
    /// Marks.
    pub flags: Flags,
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

pub(crate) fn packet_bytes(segment: &Segment, header_bytes: u32, timestamps: bool) -> u32 {
    let options =
        if timestamps { TIMESTAMPS_BYTES } else { 0 } + if segment.flags.syn { SYN_BYTES } else { 0 };
    header_bytes + options + u32::from(segment.len)
}
