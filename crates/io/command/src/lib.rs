//! Administration programs of the system: `ip`, `nft`, `tc` and others.
//!
//! In: a command line, and what the caller knows of the program ([`Known`]). Out: its output, or a [`CommandError`] that
//! says what to do.
//!
//! Invariants: programs are found where a user's PATH lacks their directories, and messages are in English, so that
//! hints can be chosen by them.

use std::ffi::{OsStr, OsString};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Where administration programs live when a user's PATH lacks them, as on Debian.
const SYSTEM_PATHS: [&str; 5] = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"];

/// Why a program did not do what it was started for.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum CommandError {
    /// It is not on this computer.
    #[error("`{program}` is not installed; install the package {package} (`apt install {package}`)")]
    Missing {
        program: String,
        /// The Debian and Ubuntu package that has it.
        package: &'static str,
    },
    /// It is there but would not start.
    #[error("could not start `{command}`: {reason}")]
    Start {
        /// The command line.
        command: String,
        /// The system's words.
        reason: String,
    },
    /// It ran and refused.
    #[error("`{command}` failed ({status}): {stderr}{hint}")]
    Failed {
        /// The command line.
        command: String,
        /// Its exit status.
        status: String,
        /// What it wrote to standard error.
        stderr: String,
        /// What to do about it, when we know; starts with a space.
        hint: &'static str,
    },
}

/// What a caller knows of the programs that it runs.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The Debian and Ubuntu package that has a program.
    pub package: fn(program: &str) -> Option<&'static str>,
    /// What to do about a failure, by what was written to standard error; empty, or starts with a space.
    pub hint: fn(stderr: &str) -> &'static str,
}

impl Known {
    /// The output of a command that has ended; anything but success is an error.
    ///
    /// # Errors
    /// The program is missing, did not start, or failed.
    pub fn require_success(
        &self,
        command: &Command,
        output: Result<Output, Error>,
    ) -> Result<Output, CommandError> {
        let output = output.map_err(|error| self.start_error(command, &error))?;
        if output.status.success() {
            return Ok(output);
        }
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(CommandError::Failed {
            command: command_line(command),
            status: output.status.to_string(),
            hint: (self.hint)(&stderr),
            stderr,
        })
    }

    /// Why a command did not start: most often its package is not installed.
    #[must_use]
    pub fn start_error(&self, command: &Command, error: &Error) -> CommandError {
        let program = name(command);
        match (self.package)(&program) {
            Some(package) if error.kind() == ErrorKind::NotFound => {
                CommandError::Missing { program, package }
            }
            _ => CommandError::Start { command: command_line(command), reason: error.to_string() },
        }
    }
}

/// A command with a search path that finds administration programs, and messages in English.
///
/// The program's place is looked for here: the standard library starts a program that it has to look for on another path
/// than its own by copying all of this process's page tables first.
#[must_use]
pub fn system_command(program: &str) -> Command {
    let path = search_path();
    let found = find_on(&path, program);
    let mut command = Command::new(found.as_deref().unwrap_or(Path::new(program)));
    command.env("PATH", path).env("LC_ALL", "C");
    command
}

/// The first place on the search path that has the program.
#[must_use]
pub fn find_program(program: &str) -> Option<PathBuf> {
    find_on(&search_path(), program)
}

fn find_on(path: &OsStr, program: &str) -> Option<PathBuf> {
    let mut candidates = std::env::split_paths(path).map(|directory| directory.join(program));
    candidates.find(|file| file.is_absolute() && is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// The caller's PATH, with the directories of administration programs after it.
fn search_path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    for directory in SYSTEM_PATHS {
        if !path.is_empty() {
            path.push(":");
        }
        path.push(directory);
    }
    path
}

/// The name that a command's program is called by.
fn name(command: &Command) -> String {
    let program = Path::new(command.get_program());
    program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned()
}

/// A command line as one would type it, for messages.
#[must_use]
pub fn command_line(command: &Command) -> String {
    let mut line = name(command);
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}
