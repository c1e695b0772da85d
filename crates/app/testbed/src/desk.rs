//! A folder in which the program is run, without a network.

use crate::succeeded;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

#[derive(Debug)]
pub struct Desk {
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl Desk {
    /// An empty folder. `program` is the path of the program that command lines are for.
    pub fn new(program: &str) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), program: program.into() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(line.split_whitespace()).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    pub fn try_run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Runs a command line that must succeed.
    pub fn run(&self, line: &str) -> String {
        let output = self.try_run(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        succeeded(&output)
    }

    pub fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.run(line)).unwrap()
    }

    /// Runs a command line that must fail; its exit code and its words.
    pub fn fail(&self, line: &str) -> (i32, String) {
        let output = self.try_run(line);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{line} succeeded");
        assert!(!words.contains("panicked"), "{line}: {words}");
        (output.status.code().expect("it is not killed"), words)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}
