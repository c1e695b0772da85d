//! A connection that ends when no byte passed for too long, in either direction.
//!
//! hyper ends a connection whose first request does not arrive in time; but not one that is silent after its first request
//! (hyper's pull request 3828), nor one whose client does not read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

#[derive(Debug)]
pub(crate) struct Idle<S> {
    stream: S,
    idle_max: Duration,
    timeout: Pin<Box<Sleep>>,
}

impl<S> Idle<S> {
    pub(crate) fn new(stream: S, idle_max: Duration) -> Self {
        Self { stream, idle_max, timeout: Box::pin(sleep(idle_max)) }
    }

    /// Whether bytes passed, or for how long none have.
    fn note<T>(&mut self, passed: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if passed.is_ready() {
            self.timeout.as_mut().reset(Instant::now() + self.idle_max);
            return passed;
        }
        ready!(self.timeout.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Idle<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.note(read, context)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Idle<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    const MAX: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn silence_ends_a_connection_and_bytes_keep_it() {
        let (mut client, server) = duplex(64);
        let mut server = Idle::new(server, MAX);
        for _ in 0..3 {
            tokio::time::advance(MAX - Duration::from_secs(1)).await;
            client.write_all(b"x").await.unwrap();
            assert_eq!(server.read_u8().await.unwrap(), b'x');
        }
        assert_eq!(server.read_u8().await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_is_left() {
        let (_client, server) = duplex(64);
        let mut server = Idle::new(server, MAX);
        assert_eq!(server.write_all(&[0; 65]).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
