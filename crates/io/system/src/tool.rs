//! Running the system's programs.

use crate::SystemError;
use guestright_command::{Known, command_line, system_command};
use serde_json::Value;
use std::process::Stdio;

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

/// What the program printed; anything but success is an error.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<String, SystemError> {
    let mut command = system_command(program);
    command.args(arguments).stdin(Stdio::null());
    let output = command.output();
    let output = KNOWN.require_success(&command, output)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether the program ended well; it may be missing.
pub(crate) fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let mut command = system_command(program);
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
