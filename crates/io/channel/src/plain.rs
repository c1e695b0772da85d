//! Messages on a plain stream, cut by their own Content-Length.

use crate::ChannelError;
use tokio::io::{AsyncRead, AsyncReadExt};

/// At least so much is read at once, where there is so much.
const CHUNK: usize = 1_024;

/// Tells how long the message is that begins with these bytes, once that can be seen.
type Measure = fn(&[u8]) -> Result<Option<usize>, String>;

/// Reads whole messages from a stream.
#[derive(Debug)]
pub struct MessageReader<R> {
    stream: R,
    measure: Measure,
    max: usize,
    buffer: Vec<u8>,
}

impl<R: AsyncRead + Unpin> MessageReader<R> {
    /// A reader of messages of at most `max` bytes, whose length `measure` knows.
    pub fn new(stream: R, measure: Measure, max: usize) -> Self {
        Self { stream, measure, max, buffer: Vec::new() }
    }

    /// What was read and is not a whole message: after an error, what the peer should be told about.
    pub fn rest(&self) -> &[u8] {
        &self.buffer
    }

    /// The next message; nothing at the end.
    ///
    /// # Errors
    /// [`ChannelError::NotAMessage`], `TooLong` or `Io`.
    pub async fn receive(&mut self) -> Result<Option<Vec<u8>>, ChannelError> {
        loop {
            if let Some(length) = (self.measure)(&self.buffer).map_err(ChannelError::NotAMessage)? {
                if length > self.max {
                    return Err(ChannelError::TooLong { max: self.max });
                }
                if self.buffer.len() >= length {
                    let rest = self.buffer.split_off(length);
                    return Ok(Some(std::mem::replace(&mut self.buffer, rest)));
                }
            }
            if self.buffer.len() >= self.max {
                return Err(ChannelError::TooLong { max: self.max });
            }
            // Straight into the buffer: a reader that waits is small, and there may be hundreds of them.
            self.buffer.reserve(CHUNK);
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                let cut = || ChannelError::NotAMessage("it ends in the middle".to_owned());
                return if self.buffer.is_empty() { Ok(None) } else { Err(cut()) };
            }
        }
    }
}
