//! Running `nft`, `tc` and `ip`, and turning their failures into sentences.

use std::io::{ErrorKind, Write as _};
use std::process::{Command, Output, Stdio};

use guestright_command::{CommandError, Known, system_command};
use serde_json::Value;

use crate::FirewallError;

const KNOWN: Known = Known { package, hint };

/// Applies a ruleset text: all of it, or nothing.
pub(crate) fn nft(text: &str) -> Result<(), FirewallError> {
    run("nft", &["-f", "-"], text).map(|_| ())
}

/// A table as nft prints it, without what its counters have counted; nothing if it is not there or cannot be read.
pub(crate) fn nft_table(family: &str, table: &str) -> Option<String> {
    run("nft", &["--stateless", "list", "table", family, table], "").ok()
}

/// Asks nft; the objects of the answer, in order.
///
/// The question goes as arguments: nft 1.0.6 answers nothing in JSON to a `list` that it reads from a file.
pub(crate) fn nft_list(what: &[&str]) -> Result<Vec<Value>, FirewallError> {
    let arguments = [&["-j", "list"], what].concat();
    let mut answer = json("nft", &arguments)?;
    match answer["nftables"].take() {
        Value::Array(objects) => Ok(objects),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Err(unreadable("nft", &arguments, "no list of objects"))
        }
    }
}

/// Runs several tc commands in one process; stops at the first that fails.
pub(crate) fn tc(text: &str) -> Result<(), FirewallError> {
    run("tc", &["-batch", "-"], text).map(|_| ())
}

/// Runs several ip commands about a family of addresses (`-4`, `-6`) in one process, or none if there are none; stops at the first
/// that fails, which is the one that the error names.
pub(crate) fn ip(family: &str, commands: &[String]) -> Result<(), FirewallError> {
    if commands.is_empty() {
        return Ok(());
    }
    let result = run("ip", &[family, "-batch", "-"], &(commands.join("\n") + "\n"));
    result.map(|_| ()).map_err(|mut error| {
        if let FirewallError::Command(CommandError::Failed { command, stderr, .. }) = &mut error
            && let Some(failed) = failed(stderr, commands)
        {
            *command = format!("ip {family} {failed}");
        }
        error
    })
}

/// The command of a batch that failed, as ip and tc say it: `Command failed -:3`.
fn failed<'a>(stderr: &str, commands: &'a [String]) -> Option<&'a String> {
    let number = stderr.lines().find_map(|line| line.strip_prefix("Command failed -:"))?;
    commands.get(number.trim().parse::<usize>().ok()?.checked_sub(1)?)
}

/// Runs a program that answers in JSON.
pub(crate) fn json(program: &str, arguments: &[&str]) -> Result<Value, FirewallError> {
    let answer = run(program, arguments, "")?;
    if answer.trim().is_empty() {
        return Ok(Value::Array(Vec::new())); // iproute2's way to say that there is nothing.
    }
    serde_json::from_str(&answer).map_err(|error| unreadable(program, arguments, &error.to_string()))
}

/// Runs a program to its end with `input` to read, and returns what it printed.
pub(crate) fn run(program: &str, arguments: &[&str], input: &str) -> Result<String, FirewallError> {
    let mut command = system_command(program);
    command.args(arguments);
    let output = output(&mut command, input);
    let output = KNOWN.require_success(&command, output)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// An answer in a form that we do not know.
pub(crate) fn unreadable(program: &str, arguments: &[&str], reason: &str) -> FirewallError {
    FirewallError::Answer { command: line(program, arguments), reason: reason.to_owned() }
}

fn output(command: &mut Command, input: &str) -> std::io::Result<Output> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // These programs read all of their input before they answer, so writing first cannot lock up.
    if let Some(mut stdin) = child.stdin.take()
        && let Err(error) = stdin.write_all(input.as_bytes())
        && error.kind() != ErrorKind::BrokenPipe
    {
        return Err(error);
    }
    child.wait_with_output()
}

#[expect(clippy::unnecessary_wraps, reason = "the signature is that of `Known`")]
fn package(program: &str) -> Option<&'static str> {
    Some(if program == "nft" { "nftables" } else { "iproute2" })
}

fn line(program: &str, arguments: &[&str]) -> String {
    format!("{program} {}", arguments.join(" "))
}

fn hint(stderr: &str) -> &'static str {
    if ["Operation not permitted", "Permission denied"].iter().any(|words| stderr.contains(words)) {
        " Run as root, or with the NET_ADMIN capability."
    } else if stderr.contains("Operation not supported") || stderr.contains("kind is unknown") {
        " This kernel lacks a part that we need: nf_tables with NAT, connection tracking, reject, limit and \
         connlimit; sch_htb for shaping."
    } else if stderr.contains("No such file or directory") {
        " Our table or an entry of it is gone, or the kernel lacks a module; something else may have flushed the \
         ruleset. Restart the access point."
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_a_batch_that_failed_is_found() {
        let commands = ["rule add preference 70", "rule add preference 71"].map(str::to_owned);
        let stderr = "RTNETLINK answers: File exists\nCommand failed -:2\n";
        assert_eq!(failed(stderr, &commands), Some(&commands[1]));
        for odd in ["", "Command failed -:0", "Command failed -:3", "Command failed -:x"] {
            assert_eq!(failed(odd, &commands), None, "{odd}");
        }
    }
}
