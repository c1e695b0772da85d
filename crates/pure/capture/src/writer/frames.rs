use super::{WriteError, length16, length32};
use crate::reader::LinkType;
use crate::stamp::Stamp;

/// The longest frame that Wireshark takes, in bytes: `WTAP_MAX_PACKET_SIZE_STANDARD`.
pub const FRAME_MAX: usize = 262_144;

/// Longer comments are cut, at a character.
const COMMENT_MAX: usize = 1_024;

/// Writes pcapng: one section, any number of interfaces of any link type, frames as they are, times in nanoseconds.
///
/// It appends to a byte string that the caller gives, and that the caller writes to a file when it likes.
///
/// ```
/// # use guestright_capture::{FrameWriter, LinkType, Stamp, WriteError};
/// # fn main() -> Result<(), WriteError> {
/// let mut out = Vec::new();
/// let mut writer = FrameWriter::new("guestright lab", &mut out);
/// let radio = writer.interface("channel 1", LinkType::IEEE_802_11, Some(4), &mut out);
/// let acknowledgement = [0xd4, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0x21, 0x3a, 0x96, 0xbe];
/// writer.frame(radio, Stamp(1_250), &acknowledgement, "", &mut out)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct FrameWriter {
    interfaces: u32,
}

impl FrameWriter {
    /// Writes the beginning of a file to `out`: which program wrote it.
    pub fn new(program: &str, out: &mut Vec<u8>) -> Self {
        block(0x0a0d_0d0a, out, |out| {
            out.extend(0x1a2b_3c4d_u32.to_le_bytes());
            out.extend(1_u16.to_le_bytes());
            out.extend(0_u16.to_le_bytes());
            // The length of the section is not known.
            out.extend(u64::MAX.to_le_bytes());
            option(4, clipped(program).as_bytes(), out);
            end_of_options(out);
        });
        Self { interfaces: 0 }
    }

    /// Describes an interface: its name, what its frames begin with, and how many bytes of frame check sequence they
    /// end with, where the link type leaves that open (IEEE 802.11 does). Frames are written by the number that it
    /// gives.
    pub fn interface(
        &mut self,
        name: &str,
        link: LinkType,
        check_bytes: Option<u8>,
        out: &mut Vec<u8>,
    ) -> u32 {
        block(1, out, |out| {
            out.extend(link.0.to_le_bytes());
            out.extend(0_u16.to_le_bytes());
            out.extend(0_u32.to_le_bytes());
            option(2, clipped(name).as_bytes(), out);
            option(9, &[9], out);
            if let Some(bytes) = check_bytes {
                option(13, &[bytes], out);
            }
            end_of_options(out);
        });
        self.interfaces += 1;
        self.interfaces - 1
    }

    /// Writes a frame as it was on the link, with words about it that Wireshark shows; none if they are empty.
    ///
    /// # Errors
    ///
    /// When it is longer than [`FRAME_MAX`], or the interface was not described; nothing is written then.
    pub fn frame(
        &mut self,
        interface: u32,
        at: impl Into<Stamp>,
        frame: &[u8],
        comment: &str,
        out: &mut Vec<u8>,
    ) -> Result<(), WriteError> {
        if frame.len() > FRAME_MAX {
            return Err(WriteError::FrameTooLong { got: frame.len() });
        }
        if interface >= self.interfaces {
            return Err(WriteError::Interface { got: interface, known: self.interfaces });
        }
        let Stamp(nanos) = at.into();
        block(6, out, |out| {
            let (high, low) = ((nanos >> 32).to_le_bytes(), (nanos & 0xffff_ffff).to_le_bytes());
            let length = length32(frame.len()).to_le_bytes();
            out.extend(interface.to_le_bytes());
            out.extend(&high[..4]);
            out.extend(&low[..4]);
            out.extend(length);
            out.extend(length);
            out.extend(frame);
            pad(out, frame.len());
            if !comment.is_empty() {
                option(1, clipped(comment).as_bytes(), out);
                end_of_options(out);
            }
        });
        Ok(())
    }
}

/// A block: kind, length, body, length.
fn block(kind: u32, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    let length = length32(out.len() - start + 4).to_le_bytes();
    out.extend(length);
    out[start + 4..start + 8].copy_from_slice(&length);
}

fn option(code: u16, value: &[u8], out: &mut Vec<u8>) {
    let value = &value[..value.len().min(COMMENT_MAX)];
    out.extend(code.to_le_bytes());
    out.extend(length16(value.len()).to_le_bytes());
    out.extend(value);
    pad(out, value.len());
}

fn end_of_options(out: &mut Vec<u8>) {
    out.extend([0; 4]);
}

fn pad(out: &mut Vec<u8>, length: usize) {
    out.extend(std::iter::repeat_n(0, length.next_multiple_of(4) - length));
}

/// As much of a text as an option may have, cut at a character.
fn clipped(text: &str) -> &str {
    let end = (0..=text.len().min(COMMENT_MAX)).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}
