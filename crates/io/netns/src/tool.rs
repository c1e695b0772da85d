//! Running the system's own programs and turning their failures into sentences.

use std::ffi::OsString;
use std::process::{Command, Output};

use crate::NetnsError;

/// Where administration programs live when a user's PATH lacks them, as on Debian.
const SYSTEM_PATHS: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/bin"];

/// A command with a search path that finds administration programs, and messages in English.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("PATH", search_path()).env("LC_ALL", "C");
    command
}

/// The caller's PATH, with the directories of administration programs after it.
pub(crate) fn search_path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    for directory in SYSTEM_PATHS {
        if !path.is_empty() {
            path.push(":");
        }
        path.push(directory);
    }
    path
}

/// Runs a program to its end and returns what it printed.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<String, NetnsError> {
    let mut command = command(program);
    command.args(arguments);
    let output = output(&mut command)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command to its end; anything but success is an error.
pub(crate) fn output(command: &mut Command) -> Result<Output, NetnsError> {
    let output = command.output().map_err(|error| start_error(command, &error))?;
    if output.status.success() {
        return Ok(output);
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(NetnsError::Failed {
        command: line(command),
        status: output.status.to_string(),
        hint: hint(&stderr),
        stderr,
    })
}

/// Why a command did not start: most often its package is not installed.
pub(crate) fn start_error(command: &Command, error: &std::io::Error) -> NetnsError {
    let program = command.get_program().to_string_lossy().into_owned();
    match package(&program) {
        Some(package) if error.kind() == std::io::ErrorKind::NotFound => {
            NetnsError::Missing { program, package }
        }
        _ => NetnsError::Start { command: line(command), reason: error.to_string() },
    }
}

/// A command line as one would type it, for messages.
pub(crate) fn line(command: &Command) -> String {
    let mut line = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

fn package(program: &str) -> Option<&'static str> {
    match program {
        "ip" | "bridge" => Some("iproute2"),
        "ethtool" => Some("ethtool"),
        "unshare" | "setpriv" | "mount" => Some("util-linux"),
        "sh" => Some("dash"),
        _ => None,
    }
}

fn hint(stderr: &str) -> &'static str {
    let refused = ["Operation not permitted", "Permission denied", "must be superuser"];
    if refused.iter().any(|words| stderr.contains(words)) {
        " Run inside a Sandbox, or as root."
    } else if stderr.contains("File exists") {
        " Something of that name is there already; an earlier run may have left it."
    } else {
        ""
    }
}
