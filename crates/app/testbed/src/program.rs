//! A running program: what it prints, and how it ends.

use crate::{PATIENCE, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

/// A running program. Killed and waited for when dropped.
#[derive(Debug)]
pub struct Program {
    child: Child,
    lines: Receiver<String>,
    log: PathBuf,
}

impl Program {
    /// Starts `command`, its standard error in the file `log` after what is there.
    pub fn start(command: &mut Command, log: &Path) -> Self {
        Self::start_with(command, Stdio::null(), log)
    }

    /// The same, with a pipe in place of a keyboard: see [`Program::type_line`].
    pub fn start_typing(command: &mut Command, log: &Path) -> Self {
        Self::start_with(command, Stdio::piped(), log)
    }

    fn start_with(command: &mut Command, input: Stdio, log: &Path) -> Self {
        let file = File::options().create(true).append(true).open(log).unwrap();
        command.stdin(input).stdout(Stdio::piped()).stderr(file);
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines, log: log.to_owned() }
    }

    pub fn type_line(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap()
    }

    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap()).into_owned()
    }

    /// Waits for a line that `wanted` accepts; lines before it are passed over.
    pub fn hear_line(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        self.next_line(wanted).unwrap_or_else(|(_, skipped)| self.in_vain(what, &skipped))
    }

    /// The line that `wanted` accepts; or why there is none, and what was passed over.
    fn next_line(&self, wanted: impl Fn(&str) -> bool) -> Result<String, (RecvTimeoutError, Vec<String>)> {
        let deadline = Instant::now() + PATIENCE;
        let mut skipped = Vec::new();
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) if wanted(&line) => return Ok(line),
                Ok(line) => skipped.push(line),
                Err(why) => return Err((why, skipped)),
            }
        }
    }

    fn in_vain(&self, what: &str, skipped: &[String]) -> ! {
        panic!("waited in vain for it {what}; it said {skipped:?}\n{}", self.log())
    }

    /// Waits for a line of JSON that `wanted` accepts; lines before it are passed over.
    pub fn hear(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        parse(&self.hear_line(what, |line| wanted(&parse(line))))
    }

    /// The same; nothing if it ends first.
    pub fn hear_or_end(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        match self.next_line(|line| wanted(&parse(line))) {
            Ok(line) => Some(parse(&line)),
            Err((RecvTimeoutError::Disconnected, _)) => None,
            Err((RecvTimeoutError::Timeout, skipped)) => self.in_vain(what, &skipped),
        }
    }

    /// Waits for its end; gives what it said and nobody has heard yet.
    pub fn rest(&mut self) -> Vec<String> {
        self.wait();
        // The channel closes when all was read.
        self.lines.iter().collect()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end, within [`PATIENCE`].
    pub fn wait(&mut self) -> ExitStatus {
        let child = &mut self.child;
        until("a program to end", || child.try_wait().unwrap().is_some());
        child.wait().unwrap()
    }

    /// Ends it as nobody can expect.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Its resident memory in KiB: now (`VmRSS`) or at its largest (`VmHWM`).
    pub fn memory_kib(&self, which: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(which)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or(Value::Null)
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
