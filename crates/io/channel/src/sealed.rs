//! Messages inside a Noise channel.
//!
//! A message is cut into pieces of at most 65,000 bytes. Each piece travels as a 16-bit length and a Noise transport
//! message, whose first plain byte says whether the piece is the last of its message.

use crate::ChannelError;
use snow::TransportState;
use socket2::{SockRef, TcpKeepalive};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

const PIECE_MAX: usize = 65_000;
/// No message is longer; the protocol's own limit is a little lower.
const MESSAGE_MAX: usize = 96 * 1_024;

/// A channel on which both sides know each other.
#[derive(Debug)]
pub struct Channel {
    stream: TcpStream,
    noise: TransportState,
}

/// The sending half of a channel.
#[derive(Debug)]
pub struct Sender {
    stream: OwnedWriteHalf,
    noise: Arc<std::sync::Mutex<TransportState>>,
}

/// The receiving half of a channel.
#[derive(Debug)]
pub struct Receiver {
    stream: OwnedReadHalf,
    noise: Arc<std::sync::Mutex<TransportState>>,
}

const NEVER_POISONED: &str = "nothing panics while it holds the cipher";

impl Channel {
    pub(crate) fn new(stream: TcpStream, noise: TransportState) -> Self {
        // Questions and answers are small and must not wait for each other; without it a call costs 40 ms more.
        let _ = stream.set_nodelay(true);
        // A visitor whose access point has closed cannot say goodbye: find out within two minutes.
        let alive =
            TcpKeepalive::new().with_time(Duration::from_secs(60)).with_interval(Duration::from_secs(15));
        let _ = SockRef::from(&stream).set_tcp_keepalive(&alive.with_retries(4));
        Self { stream, noise }
    }

    /// The two directions, for two tasks.
    pub fn split(self) -> (Sender, Receiver) {
        let (read, write) = self.stream.into_split();
        let noise = Arc::new(std::sync::Mutex::new(self.noise));
        (Sender { stream: write, noise: Arc::clone(&noise) }, Receiver { stream: read, noise })
    }
}

impl Sender {
    /// Sends one message.
    ///
    /// # Errors
    /// [`ChannelError`].
    pub async fn send(&mut self, message: &[u8]) -> Result<(), ChannelError> {
        if message.len() > MESSAGE_MAX {
            return Err(ChannelError::TooLong { max: MESSAGE_MAX });
        }
        let count = message.len().div_ceil(PIECE_MAX).max(1);
        for number in 0..count {
            let piece = &message[number * PIECE_MAX..message.len().min((number + 1) * PIECE_MAX)];
            let plain = [&[u8::from(number + 1 == count)], piece].concat();
            let mut sealed = vec![0; plain.len() + 16];
            let length = self.noise.lock().expect(NEVER_POISONED).write_message(&plain, &mut sealed)?;
            let header = u16::try_from(length).expect("a piece has at most 65017 bytes").to_be_bytes();
            self.stream.write_all(&[&header, &sealed[..length]].concat()).await?;
        }
        Ok(())
    }
}

impl Receiver {
    /// The next message; nothing at the end.
    ///
    /// # Errors
    /// [`ChannelError`].
    pub async fn receive(&mut self) -> Result<Option<Vec<u8>>, ChannelError> {
        let mut message = Vec::new();
        loop {
            let length = match self.stream.read_u16().await {
                Ok(length) => usize::from(length),
                Err(error) if message.is_empty() && error.kind() == std::io::ErrorKind::UnexpectedEof => {
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            };
            let mut sealed = vec![0; length];
            self.stream.read_exact(&mut sealed).await?;
            let mut plain = vec![0; length];
            let length = self.noise.lock().expect(NEVER_POISONED).read_message(&sealed, &mut plain)?;
            let Some((&last, piece)) = plain[..length].split_first() else {
                return Err(ChannelError::NotAMessage("an empty piece".to_owned()));
            };
            message.extend_from_slice(piece);
            if message.len() > MESSAGE_MAX {
                return Err(ChannelError::TooLong { max: MESSAGE_MAX });
            }
            if last == 1 {
                return Ok(Some(message));
            }
        }
    }
}
