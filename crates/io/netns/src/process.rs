//! A program running on one of the hosts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};

use rustix::process::{Pid, Signal, kill_process};

use guestright_command::CommandError;

use crate::NetnsError;

/// A program on a host, with its output in a file. Killed and waited for when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    line: String,
    log: PathBuf,
}

impl Process {
    pub(crate) fn new(child: Child, line: String, log: &Path) -> Self {
        Self { child, line, log: log.to_owned() }
    }

    /// The process id, in the namespace that made it.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The command line, for messages.
    #[must_use]
    pub fn line(&self) -> &str {
        &self.line
    }

    /// Where its output goes.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// What it wrote so far; empty if the file cannot be read.
    #[must_use]
    pub fn output(&self) -> String {
        fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Its status, if it has ended.
    ///
    /// # Errors
    /// The system would not say.
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>, NetnsError> {
        self.child.try_wait().map_err(|error| start(&self.line, &error))
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// The system would not say.
    pub fn wait(&mut self) -> Result<ExitStatus, NetnsError> {
        self.child.wait().map_err(|error| start(&self.line, &error))
    }

    /// Asks it to end (`SIGTERM`) and does not wait. One that has ended already is left alone.
    ///
    /// # Errors
    /// The signal could not be sent.
    pub fn terminate(&mut self) -> Result<(), NetnsError> {
        if self.try_wait()?.is_some() {
            return Ok(());
        }
        // Not waited for yet, so the number still means our child.
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.expect("the kernel numbers processes from 1 and below 2^22");
        kill_process(pid, Signal::TERM).map_err(|error| start(&self.line, &error.into()))
    }

    /// Ends it at once (`SIGKILL`) and waits until it is gone.
    ///
    /// # Errors
    /// The signal could not be sent.
    pub fn kill(&mut self) -> Result<ExitStatus, NetnsError> {
        self.child.kill().map_err(|error| start(&self.line, &error))?;
        self.wait()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Err(error) = self.kill() {
            tracing::warn!(%error, "a process of the sandbox could not be ended");
        }
    }
}

fn start(line: &str, error: &std::io::Error) -> NetnsError {
    CommandError::Start { command: line.to_owned(), reason: error.to_string() }.into()
}
