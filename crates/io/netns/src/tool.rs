//! Running the system's own programs and turning their failures into sentences.

use std::process::{Command, Output};

use guestright_command::Known;
pub(crate) use guestright_command::{command_line as line, system_command as command};

use crate::NetnsError;

const KNOWN: Known = Known { package, hint };

/// Runs a program to its end and returns what it printed.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<String, NetnsError> {
    let mut command = command(program);
    command.args(arguments);
    let output = output(&mut command)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command to its end; anything but success is an error.
pub(crate) fn output(command: &mut Command) -> Result<Output, NetnsError> {
    let output = command.output();
    Ok(KNOWN.require_success(command, output)?)
}

/// Why a command did not start: most often its package is not installed.
pub(crate) fn start_error(command: &Command, error: &std::io::Error) -> NetnsError {
    KNOWN.start_error(command, error).into()
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
