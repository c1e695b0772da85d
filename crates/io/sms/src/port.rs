//! A serial line, or anything else that is a file and can be waited for.

use rustix::fs::{Mode, OFlags};
use rustix::termios::{ControlModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// An open line.
pub(crate) struct Port {
    file: AsyncFd<OwnedFd>,
}

impl Port {
    /// Opens the line and makes it raw: eight bits, no echo, no translation, no modem lines.
    ///
    /// `speed` in bits per second is set where the line has one; USB modems and pseudo-terminals do not care.
    pub(crate) fn open(path: &Path, speed: u32) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::empty())?;
        let mut line = tcgetattr(&file)?;
        line.make_raw();
        line.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD;
        line.control_modes -= ControlModes::CRTSCTS;
        line.special_codes[SpecialCodeIndex::VMIN] = 1;
        line.special_codes[SpecialCodeIndex::VTIME] = 0;
        line.set_speed(speed)?;
        tcsetattr(&file, OptionalActions::Now, &line)?;
        // SAFETY: an `OwnedFd` names one open file from now until it is dropped, and `AsyncFd` drops it only after it
        // has taken back the registration.
        #[expect(unsafe_code, reason = "tokio wants our word that the descriptor stays the same")]
        let file = unsafe { AsyncFd::register(file) }?;
        Ok(Self { file })
    }
}

impl AsyncRead for Port {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.file.poll_read_ready(cx))?;
            let space = buf.initialize_unfilled();
            if let Ok(read) = guard.try_io(|file| Ok(rustix::io::read(file.get_ref(), &mut *space)?)) {
                buf.advance(read?);
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl AsyncWrite for Port {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.file.poll_write_ready(cx))?;
            if let Ok(written) = guard.try_io(|file| Ok(rustix::io::write(file.get_ref(), bytes)?)) {
                return Poll::Ready(written);
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
