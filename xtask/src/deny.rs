//! What may be among our dependencies: licences, bans, sources and advisories, by cargo-deny and `deny.toml`.

use std::process::{Command, Stdio};

use anyhow::Result;

use crate::steps::{Done, cargo, execute, is_ci};

/// What `deny.toml` can be held against without a network.
const OFFLINE: [&str; 3] = ["bans", "licenses", "sources"];

pub(crate) fn run() -> Result<Done> {
    if !is_installed() {
        let why = "cargo-deny is not installed (sh scripts/setup.sh all)";
        return if is_ci() { Err(anyhow::anyhow!(why)) } else { Ok(Done::Skipped(why.to_owned())) };
    }
    execute(deny(&["check"]).args(OFFLINE))?;
    // The database of advisories is a repository on GitHub, which not every computer reaches.
    let fetched = deny(&["fetch", "db"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !fetched.is_ok_and(|status| status.success()) {
        println!("advisories: not checked, their database could not be fetched");
        return Ok(Done::Passed);
    }
    execute(deny(&["check", "advisories"]).arg("--disable-fetch"))
}

fn is_installed() -> bool {
    let version = deny(&["--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// `cargo deny`, which reads the lock file and does not change it.
fn deny(arguments: &[&str]) -> Command {
    let mut command = cargo(&["deny", "--locked"]);
    command.args(arguments);
    command
}
