//! File transfers, over connections that are there.

use crate::voice::Pair;
use guestright_emulator::{Ready, Wait};
use rustix::net::{SendFlags, Shutdown, shutdown};
use std::io;
use std::time::Instant;

/// As much as is written or read at once.
const PIECE: usize = 64 << 10;
/// How often one is served before the next.
const PIECES_MAX: usize = 4;
/// The token of a near socket is so much above that of its far one.
const NEAR: u64 = 1 << 32;

/// One transfer.
#[derive(Debug)]
struct Transfer {
    pair: Pair,
    start: Instant,
    to_send: u64,
    progress: Progress,
}

/// How far one has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) received: u64,
    /// When its sender knew that everything had arrived.
    pub(super) finished: Option<Instant>,
}

/// All of a run.
#[derive(Debug)]
pub(super) struct Transfers {
    all: Vec<Transfer>,
    wait: Wait,
}

impl Transfers {
    /// Each sends so many bytes from its own start on; more than can be sent until the end, if it is to have none.
    pub(super) fn new(pairs: Vec<Pair>, starts: &[Instant], bytes: u64) -> io::Result<Self> {
        let wait = Wait::new()?;
        let mut all = Vec::new();
        for ((pair, start), token) in pairs.into_iter().zip(starts).zip(0..) {
            wait.add(&pair.far, token, false)?;
            all.push(Transfer { pair, start: *start, to_send: bytes, progress: Progress::default() });
        }
        Ok(Self { all, wait })
    }

    /// Until all are at their end, or the run is. `on_end` is told of each that is.
    ///
    /// # Errors
    /// If the kernel refuses to wait, or a connection breaks.
    pub(super) fn run(&mut self, end: Instant, mut on_end: impl FnMut(usize)) -> io::Result<()> {
        let mut waiting: Vec<usize> = (0..self.all.len()).collect();
        waiting.sort_unstable_by_key(|flow| self.all[*flow].start);
        let mut waiting = waiting.into_iter().peekable();
        let mut running = self.all.len();
        let (mut ready, mut buffer) = (Vec::new(), vec![0; PIECE]);
        while running > 0 {
            let now = Instant::now();
            if now >= end {
                return Ok(());
            }
            while let Some(flow) = waiting.next_if(|flow| self.all[*flow].start <= now) {
                self.wait.add(&self.all[flow].pair.near, NEAR + flow as u64, true)?;
            }
            let next = waiting.peek().map_or(end, |flow| self.all[*flow].start);
            self.wait.wait(Some(next.min(end)), &mut ready)?;
            for Ready { token, readable, writable } in ready.drain(..) {
                match (token.checked_sub(NEAR), readable, writable) {
                    (Some(flow), _, true) => {
                        let transfer = &mut self.all[index(flow)];
                        if transfer.fill(&buffer)? {
                            self.wait.change(&transfer.pair.near, token, false)?;
                        }
                    }
                    (Some(flow), true, false) => {
                        let transfer = &mut self.all[index(flow)];
                        if transfer.is_acknowledged(&mut buffer)? {
                            self.wait.remove(&transfer.pair.near)?;
                            running -= 1;
                            on_end(index(flow));
                        }
                    }
                    (None, true, _) => {
                        let transfer = &mut self.all[index(token)];
                        if transfer.drain(&mut buffer)? {
                            self.wait.remove(&transfer.pair.far)?;
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    pub(super) fn progress(&self) -> impl Iterator<Item = (Progress, &Pair)> {
        self.all.iter().map(|transfer| (transfer.progress, &transfer.pair))
    }
}

impl Transfer {
    /// Gives the kernel as much as it takes, and tells it when that was all. True: now it was.
    fn fill(&mut self, buffer: &[u8]) -> io::Result<bool> {
        for _ in 0..PIECES_MAX {
            let piece = usize::try_from(self.to_send).unwrap_or(PIECE).min(buffer.len());
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match rustix::net::send(&self.pair.near, &buffer[..piece], flags) {
                Ok(length) => self.to_send -= length as u64,
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
            if self.to_send == 0 {
                shutdown(&self.pair.near, Shutdown::Write)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes what is there. True: the other end has closed, so that was all, and this one has closed too.
    fn drain(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        for _ in 0..PIECES_MAX {
            match rustix::io::read(&self.pair.far, &mut *buffer) {
                Ok(0) if self.to_send > 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(0) => {
                    shutdown(&self.pair.far, Shutdown::Write)?;
                    return Ok(true);
                }
                Ok(length) => self.progress.received += length as u64,
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }

    /// True: the receiver has closed its end, which it does when it has everything, so its acknowledgement is here.
    fn is_acknowledged(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        match rustix::io::read(&self.pair.near, &mut *buffer) {
            Ok(0) => {
                self.progress.finished = Some(Instant::now());
                Ok(true)
            }
            Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "a receiver has sent something")),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn index(token: u64) -> usize {
    usize::try_from(token).unwrap_or(usize::MAX)
}
