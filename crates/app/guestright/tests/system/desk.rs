//! A folder in which the program is run, without a network.

use crate::town::{guestright, succeeded};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

pub(crate) struct Desk {
    folder: tempfile::TempDir,
    /// What every command line begins with.
    words: &'static [&'static str],
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self::of(&[])
    }

    /// For command lines that begin with `words`.
    pub(crate) fn of(words: &'static [&'static str]) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), words }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = guestright();
        command.args(self.words).args(line.split_whitespace()).current_dir(self.folder.path());
        command
    }

    pub(crate) fn try_run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Runs a command line that must succeed.
    pub(crate) fn run(&self, line: &str) -> String {
        let output = self.try_run(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        succeeded(&output)
    }

    pub(crate) fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.run(line)).unwrap()
    }

    /// Runs a command line that must fail; its exit code and its words.
    pub(crate) fn fail(&self, line: &str) -> (i32, String) {
        let output = self.try_run(line);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "guestright {line} succeeded");
        assert!(!words.contains("panicked"), "guestright {line}: {words}");
        (output.status.code().expect("it is not killed"), words)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}
