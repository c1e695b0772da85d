//! The household's page: built, and in Debian's Chromium.
//!
//! Over real programs it is driven by a test of theirs, which waits for this command because it takes Node, a browser and the page
//! itself in the program.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Result, bail};

use crate::steps::{Steps, cargo, execute};
use crate::workspace;

/// In `web/`: what it takes, whether the types hold, the tests without a browser, and the page.
const BUILD: [&[&str]; 4] = [
    &["ci", "--ignore-scripts", "--no-audit", "--no-fund"],
    &["run", "check"],
    &["run", "unit"],
    &["run", "build"],
];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    let mut steps = Steps::default();
    match words.as_slice() {
        [] => {
            build(&mut steps);
            recorded(&mut steps);
            programs(&mut steps);
        }
        ["build"] => build(&mut steps),
        ["recorded"] => recorded(&mut steps),
        ["programs"] => programs(&mut steps),
        other => bail!("page takes build, recorded or programs, got `{}`", other.join(" ")),
    }
    steps.finish()
}

fn build(steps: &mut Steps) {
    for arguments in BUILD {
        steps.run(&format!("page: npm {}", arguments.join(" ")), || execute(&mut npm(arguments)));
    }
}

/// Every view in every state, from recordings.
fn recorded(steps: &mut Steps) {
    steps.run("page: recordings in a browser", || execute(&mut npm(&["run", "browser"])));
}

/// Every view and action, in a town of network namespaces.
fn programs(steps: &mut Steps) {
    steps.run("page: real programs in a browser", || {
        let mut command = cargo(&["test", "--workspace", "--all-features", "--test", "system", "--"]);
        command.args(["--ignored", "browser::", "--test-threads", "1"]);
        execute(command.env("PATH", path()))
    });
}

fn npm(arguments: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.args(arguments).current_dir(workspace::root().join("web")).env("PATH", path());
    command
}

/// With Node where `scripts/setup.sh page` puts it.
fn path() -> OsString {
    let mut path = workspace::root().join("target/node/bin").into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    path
}
