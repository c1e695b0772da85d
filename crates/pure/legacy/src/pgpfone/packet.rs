//! Datagrams: type, sequence number, data, and a checksum where they are resent.

use guestright_voice::tool::ToolError;

/// Bytes of data in a datagram at most.
pub const DATA_MAX: usize = 1_024;
/// Type and sequence number.
pub const HEADER_LEN: usize = 3;
/// The checksum at the end of a datagram of a kind that is resent.
pub const CHECKSUM_LEN: usize = 4;

/// What a datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Rings, accepts, refuses: before there is a call.
    Setup = 0,
    /// One of those that are resent has come.
    Ack = 1,
    Voice = 2,
    /// Goes there and back.
    RoundTrip = 3,
    /// Sound came late; nobody sends it in version 2.1.
    ReceptionReport = 4,
    /// A message of the call set-up in clear, resent until it is acknowledged.
    Control = 128,
    ControlEncrypted = 129,
    /// A piece of a file.
    File = 130,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Setup,
        Self::Ack,
        Self::Voice,
        Self::RoundTrip,
        Self::ReceptionReport,
        Self::Control,
        Self::ControlEncrypted,
        Self::File,
    ];

    /// The kind with this number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }

    /// Whether it is resent until it is acknowledged, and has a checksum.
    #[must_use]
    pub const fn is_reliable(self) -> bool {
        self as u8 >= Self::Control as u8
    }

    /// Whether its data is encrypted once there are keys.
    #[must_use]
    pub const fn is_encrypted(self) -> bool {
        !matches!(self, Self::Setup | Self::Ack | Self::Control)
    }
}

/// A datagram of any kind but [`Kind::Setup`], which has no sequence number: see [`Setup`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    pub kind: Kind,
    /// The low 16 bits of its number.
    pub sequence: u16,
    /// What is in it, perhaps encrypted.
    pub data: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads a datagram.
    ///
    /// # Errors
    /// [`ToolError::Malformed`]; [`ToolError::Forged`] if the checksum is wrong.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, ToolError> {
        let Some(([number, high, low], data)) = datagram.split_first_chunk::<HEADER_LEN>() else {
            return Err(ToolError::Malformed("shorter than a header"));
        };
        let kind = Kind::from_number(*number).ok_or(ToolError::Malformed("of an unknown type"))?;
        if kind == Kind::Setup {
            return Err(ToolError::Malformed("of a type without a number"));
        }
        let sequence = u16::from_be_bytes([*high, *low]);
        let data = if kind.is_reliable() { checked(datagram, data)? } else { data };
        if data.len() > DATA_MAX {
            return Err(ToolError::Malformed("longer than 1024 bytes"));
        }
        Ok(Self { kind, sequence, data })
    }

    /// Writes it.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut datagram = Vec::with_capacity(HEADER_LEN + self.data.len() + CHECKSUM_LEN);
        datagram.push(self.kind as u8);
        datagram.extend(self.sequence.to_be_bytes());
        datagram.extend(self.data);
        if self.kind.is_reliable() {
            let checksum = checksum(&datagram);
            datagram.extend(checksum.to_be_bytes());
        }
        datagram
    }
}

fn checked<'a>(datagram: &[u8], data: &'a [u8]) -> Result<&'a [u8], ToolError> {
    let (data, want) =
        data.split_last_chunk::<CHECKSUM_LEN>().ok_or(ToolError::Malformed("shorter than its checksum"))?;
    let got = checksum(&datagram[..datagram.len() - CHECKSUM_LEN]);
    if got == u32::from_be_bytes(*want) { Ok(data) } else { Err(ToolError::Forged) }
}

/// CRC-32 with the polynomial of Ethernet, begun with ones, but not inverted at the end.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(u32::MAX, |crc, byte| TABLE[usize::from(crc.to_le_bytes()[0] ^ byte)] ^ (crc >> 8))
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    let mut byte: u32 = 0;
    while index < 256 {
        let mut crc = byte;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
        byte += 1;
    }
    table
};

/// What is said before there is a call. It has neither number nor checksum nor protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setup {
    Call = 1,
    /// There is a call already.
    Busy = 2,
    /// Looks for those who are there.
    Probe = 3,
    /// Answers both a probe and a call at once: somebody is there.
    ProbeResponse = 4,
    /// A line of text; not done in version 2.1 either.
    Message = 5,
    MessageAck = 6,
    /// The call is taken.
    Accept = 7,
}

impl Setup {
    const ALL: [Self; 7] = [
        Self::Call,
        Self::Busy,
        Self::Probe,
        Self::ProbeResponse,
        Self::Message,
        Self::MessageAck,
        Self::Accept,
    ];

    /// Reads a datagram whose first byte is that of [`Kind::Setup`]. A name may follow, in clear; it is nobody's proof and
    /// is not read.
    ///
    /// # Errors
    /// [`ToolError::Malformed`].
    pub fn parse(datagram: &[u8]) -> Result<Self, ToolError> {
        let [first, number, ..] = datagram else {
            return Err(ToolError::Malformed("shorter than a header"));
        };
        if *first != Kind::Setup as u8 {
            return Err(ToolError::Malformed("of another type"));
        }
        let found = Self::ALL.into_iter().find(|setup| *setup as u8 == *number);
        found.ok_or(ToolError::Malformed("of an unknown kind of set-up"))
    }

    /// Writes it, without a name.
    #[must_use]
    pub fn emit(self) -> Vec<u8> {
        vec![Kind::Setup as u8, self as u8]
    }
}

/// The whole number of which `low` are the last 16 bits and which is nearest to `near`, if there is one of 32 bits.
pub(super) fn widen(low: u16, near: u32) -> Option<u32> {
    let [.., high, last] = near.to_be_bytes();
    let ahead = low.wrapping_sub(u16::from_be_bytes([high, last])).cast_signed();
    near.checked_add_signed(i32::from(ahead))
}
