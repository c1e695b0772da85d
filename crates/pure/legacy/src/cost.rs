//! What protecting one second of conversation costs, as work that somebody else times (Tables 10 to 14 of paper D).
//!
//! Nothing here reads a clock: a [`Work`] does what one end of a tool does with one second of speech, once each time that
//! it is run. Whoever has a clock runs it often enough and divides.
//!
//! Each tool's module has a function `work` that returns its own.

mod long_text;
mod pace;

pub use long_text::long_texts;
pub(crate) use pace::Pace;

use std::fmt;

/// One second of conversation, of one tool with one cipher, at one end.
pub struct Work {
    /// What is done, unique among all of a tool: `rc4 running`.
    pub name: &'static str,
    pub end: End,
    /// What the codec makes of this second, in bytes.
    pub codec_bytes: usize,
    /// What goes over the network for it, in bytes of UDP payload; 0 where only a part of a tool is measured that sends
    /// nothing.
    pub wire_bytes: usize,
    /// Does it once, and returns a number that depends on the result, so that no compiler leaves it out: see [`digest`].
    pub run: Box<dyn FnMut() -> u64 + Send>,
}

/// An end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Encrypts and authenticates.
    Sender,
    /// Checks and decrypts.
    Receiver,
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work")
            .field("name", &self.name)
            .field("end", &self.end)
            .field("codec_bytes", &self.codec_bytes)
            .field("wire_bytes", &self.wire_bytes)
            .finish_non_exhaustive()
    }
}

/// What [`Work::run`] returns of its result: all of it has to be there, and looking at it costs next to nothing.
pub fn digest(bytes: &[u8]) -> u64 {
    let bytes = std::hint::black_box(bytes);
    let last = bytes.last_chunk().map_or(0, |last| u64::from_le_bytes(*last));
    last ^ u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
