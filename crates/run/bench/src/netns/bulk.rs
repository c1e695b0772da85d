//! File transfers without end, beside the calls.

use crate::voice::{Pair, Span};
use guestright_emulator::{Ready, Wait};
use guestright_engine::Instant as Moment;
use rustix::net::SendFlags;
use std::io;
use std::time::{Duration, Instant};

/// As much as is written or read at once.
const PIECE: usize = 64 << 10;
/// How often one is served before the next.
const PIECES_MAX: usize = 4;
/// The token of a near socket is so much above that of its far one.
const NEAR: u64 = 1 << 32;

/// Transfers over connections, each from its own start.
#[derive(Debug)]
pub(super) struct Transfers {
    pub(super) pairs: Vec<Pair>,
    /// From the beginning of the run.
    pub(super) starts: Vec<Moment>,
}

impl Transfers {
    /// Sends until the end, and gives how many bytes of each were received.
    ///
    /// # Errors
    /// If the kernel refuses to wait, or a connection breaks.
    pub(super) fn run(self, span: Span) -> io::Result<Vec<u64>> {
        let mut wait = Wait::new()?;
        let mut received = vec![0; self.pairs.len()];
        for (pair, token) in self.pairs.iter().zip(0..) {
            wait.add(&pair.far, token, false)?;
        }
        let mut starts: Vec<(Instant, usize)> = (0..)
            .zip(&self.starts)
            .map(|(flow, at)| (span.begin + Duration::from_nanos(at.0), flow))
            .collect();
        starts.sort_unstable();
        let mut starts = starts.into_iter().peekable();
        let (mut ready, mut buffer) = (Vec::new(), vec![0; PIECE]);
        loop {
            let now = Instant::now();
            if now >= span.end {
                return Ok(received);
            }
            while let Some((_, flow)) = starts.next_if(|(at, _)| *at <= now) {
                wait.add(&self.pairs[flow].near, NEAR + flow as u64, true)?;
            }
            let next = starts.peek().map_or(span.end, |(at, _)| *at);
            wait.wait(Some(next.min(span.end)), &mut ready)?;
            for Ready { token, readable, writable } in ready.drain(..) {
                match (token.checked_sub(NEAR), readable, writable) {
                    (Some(flow), _, true) => fill(&self.pairs[index(flow)], &buffer)?,
                    (None, true, _) => {
                        received[index(token)] += drain(&self.pairs[index(token)], &mut buffer)?
                    }
                    _ => {}
                }
            }
        }
    }
}

fn fill(pair: &Pair, buffer: &[u8]) -> io::Result<()> {
    for _ in 0..PIECES_MAX {
        match rustix::net::send(&pair.near, buffer, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(_) => {}
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn drain(pair: &Pair, buffer: &mut [u8]) -> io::Result<u64> {
    let mut received = 0;
    for _ in 0..PIECES_MAX {
        match rustix::io::read(&pair.far, &mut *buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => received += length as u64,
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => return Ok(received),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(received)
}

fn index(token: u64) -> usize {
    usize::try_from(token).unwrap_or(usize::MAX)
}
