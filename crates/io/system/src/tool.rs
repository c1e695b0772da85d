//! Running the system's programs.

use crate::SystemError;
use guestright_command::{Known, command_line, system_command};
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use serde_json::Value;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

const KNOWN: Known = Known { package, hint: |_| "" };

fn package(program: &str) -> Option<&'static str> {
    Some(match program {
        "ip" | "bridge" => "iproute2",
        "iw" => "iw",
        "dnsmasq" => "dnsmasq-base",
        "hostapd" => "hostapd",
        "setsid" => "util-linux",
        "systemctl" | "systemd-sysusers" => "systemd",
        _ => return None,
    })
}

/// A program of the system that the kernel ends when we end, so that nothing is changed any more after setup was killed.
/// What it starts in the background goes on.
///
/// The signal comes when the thread that starts the program ends (prctl(2), `PR_SET_PDEATHSIG`).
#[expect(unsafe_code, reason = "what runs between fork and exec is restricted")]
fn tool(program: &str) -> Command {
    let mut command = system_command(program);
    let own = getpid();
    let before_exec = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // Whoever ended before that call sends no signal any more.
        if getppid() == Some(own) { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
    };
    // SAFETY: it makes two system calls, and neither allocates nor locks.
    unsafe { command.pre_exec(before_exec) };
    command
}

/// What the program printed; anything but success is an error.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<String, SystemError> {
    let mut command = tool(program);
    command.args(arguments).stdin(Stdio::null());
    let output = command.output();
    let output = KNOWN.require_success(&command, output)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether the program ended well; it may be missing.
pub(crate) fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let mut command = tool(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// What `ip -json …` answered: a list.
pub(crate) fn ip_json(arguments: &[&str]) -> Result<Vec<Value>, SystemError> {
    let all = [&["-json"], arguments].concat();
    let text = run("ip", &all)?;
    if text.trim().is_empty() {
        return Ok(Vec::new()); // What it says of an empty list.
    }
    serde_json::from_str(&text).map_err(|error| {
        let mut command = system_command("ip");
        command.args(all);
        SystemError::Answer { command: command_line(&command), reason: error.to_string() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;

    #[test]
    fn a_program_ends_with_the_thread_that_started_it() {
        let start = || tool("sleep").arg("600").spawn().unwrap();
        let mut child = std::thread::spawn(start).join().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
    }
}
