//! Running `wg` and `ip`, and turning their failures into sentences. Secrets go through standard input: arguments can
//! be seen by everybody on the computer.

use crate::WireGuardError;
use guestright_command::system_command;
use std::io::{ErrorKind, Write as _};
use std::process::Stdio;

/// Runs a program to its end with `input` to read, and returns what it printed.
pub(super) fn run(program: &'static str, arguments: &[&str], input: &str) -> Result<String, WireGuardError> {
    let failed = |reason: String| WireGuardError::Failed { command: line(program, arguments), reason };
    let child = system_command(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let package = if program == "wg" { "wireguard-tools" } else { "iproute2" };
            return Err(WireGuardError::Missing { program, package });
        }
        Err(error) => return Err(failed(error.to_string())),
    };
    // If the program ends before it has read everything, its exit status says why.
    let _ = child.stdin.take().expect("stdin is a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// The command as it would be typed.
pub(super) fn line(program: &str, arguments: &[&str]) -> String {
    std::iter::once(program).chain(arguments.iter().copied()).collect::<Vec<_>>().join(" ")
}
