//! A program of strongSwan's or of L2TP's, with a directory of ours as its `/run`.
//!
//! These programs have places for their process-id files built in. In a mount namespace of its own each finds our
//! directory there. Two programs of util-linux do it: `unshare` makes the namespace, `setpriv` has the kernel end the
//! program when the thread that started it ends, however that happens.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use guestright_command::system_command;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::StrongswanError;
use crate::leftover;

/// How many of its last lines are kept for an error.
const LOG_LINES_MAX: usize = 12;
/// Longer lines are cut: they are for people.
const LINE_BYTES_MAX: usize = 300;
/// How long a program may take to end when it is asked to.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// `$1` becomes `/run`, `$2`, if there is one, `/etc/ppp`; the rest is the command. A directory of ours may itself
/// lie below `/run`, so that comes last.
const SCRIPT: &str = "run=$1 ppp=$2; shift 2; { [ -z \"$ppp\" ] || mount --bind \"$ppp\" /etc/ppp; } && \
                      { [ /run -ef /var/run ] || mount --bind \"$run\" /var/run; } && \
                      mount --bind \"$run\" /run && exec \"$@\"";

/// What to start.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// For messages, and for the file with its process id.
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Vec<(&'static str, OsString)>,
    /// The directory that it sees as `/run`.
    pub(crate) run: PathBuf,
    /// The directory that it sees as `/etc/ppp`, if any.
    pub(crate) ppp: Option<PathBuf>,
}

/// A running program. Ended and waited for when dropped.
#[derive(Debug)]
pub(crate) struct Running {
    name: &'static str,
    child: Child,
    run: PathBuf,
    log: Log,
}

/// The last lines that a program wrote.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<VecDeque<String>>>);

impl Launch {
    /// Starts it, after an earlier one of the same name and directory has been ended. `on_end` is called from another
    /// thread when nobody writes to its outputs any more.
    pub(crate) fn start(&self, on_end: impl FnOnce() + Send + 'static) -> Result<Running, StrongswanError> {
        leftover::end(&self.run, self.name)?;
        let broken = |error: std::io::Error| StrongswanError::Start {
            program: self.name.to_owned(),
            reason: error.to_string(),
        };
        // Both outputs in one pipe, so that lines keep their order.
        let (output, input) = std::io::pipe().map_err(broken)?;
        let mut command = self.command();
        command.stdin(Stdio::null()).stdout(input.try_clone().map_err(broken)?).stderr(input);
        let child = command.spawn().map_err(broken)?;
        drop(command); // It holds the pipe's other end.
        let log = Log::default();
        let (name, kept) = (self.name, log.clone());
        let reader = std::thread::Builder::new().name(format!("{name}-log"));
        let running = Running { name, child, run: self.run.clone(), log };
        leftover::remember(&self.run, name, running.child.id())?;
        let read = move || {
            let lines = BufReader::new(output).split(b'\n').map_while(Result::ok);
            lines.for_each(|line| kept.add(name, &line));
            on_end();
        };
        reader.spawn(read).map_err(broken)?;
        Ok(running)
    }

    fn command(&self) -> Command {
        let mut command = system_command("setpriv");
        command.args(["--pdeathsig", "TERM", "unshare", "--mount", "sh", "-c", SCRIPT, self.name]);
        command.arg(&self.run).arg(self.ppp.as_deref().unwrap_or(Path::new("")));
        command.arg(&self.program).args(&self.arguments);
        command.env(leftover::MARK, &self.run);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl Running {
    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its status, if it has ended.
    pub(crate) fn ended(&mut self) -> Option<String> {
        match self.child.try_wait() {
            Ok(status) => status.map(|status| status.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }

    pub(crate) fn last_words(&self) -> String {
        self.log.text()
    }

    /// Asks it to end, insists after a while, and waits.
    pub(crate) fn end(&mut self) {
        if self.ended().is_none()
            && let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
            && let Err(error) = end_process(pid)
        {
            tracing::warn!(program = self.name, %error, "it did not end when asked to");
        }
        // It may have ended by itself between the two.
        let _ = self.child.kill();
        let _ = self.child.wait();
        leftover::forget(&self.run, self.name);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

impl Log {
    fn add(&self, program: &'static str, line: &[u8]) {
        let line = String::from_utf8_lossy(&line[..line.len().min(LINE_BYTES_MAX)]);
        // Names and addresses of people are in there.
        tracing::debug!(program, "{line}");
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LOG_LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(line.into_owned());
    }

    fn text(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.is_empty() { "nothing".to_owned() } else { Vec::from(lines.clone()).join("; ") }
    }
}

/// Asks a process to end (`SIGTERM`), waits, and ends it (`SIGKILL`). Returns once it has ended.
pub(crate) fn end_process(pid: Pid) -> rustix::io::Result<()> {
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Err(rustix::io::Errno::SRCH) => return Ok(()),
        other => other?,
    };
    for signal in [Signal::TERM, Signal::KILL] {
        match pidfd_send_signal(&process, signal) {
            Err(rustix::io::Errno::SRCH) => return Ok(()),
            other => other?,
        }
        if wait_for_end(process.as_fd())? {
            return Ok(());
        }
    }
    Err(rustix::io::Errno::TIMEDOUT)
}

/// Whether the process ended in time.
fn wait_for_end(process: std::os::fd::BorrowedFd<'_>) -> rustix::io::Result<bool> {
    let deadline = Instant::now() + END_PATIENCE;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(|_| rustix::io::Errno::INVAL)?;
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}
