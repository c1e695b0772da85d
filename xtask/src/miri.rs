//! Tests in Miri, which sees what no test can: reads past the end, what was never written, races.
//!
//! Only crates without sockets and clocks can run there, and of those the ones that compute little: an Ed25519 signature
//! takes it seconds. Our unsafe code calls the system, or is for one processor's instructions (the checksums of
//! `io/tun`, which take the plain way here): what is tried is the safe code around it, and the libraries beneath.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::steps::{Steps, execute};
use crate::workspace;

/// Packages, and the tests of their libraries that need nothing from the system; none: all.
const PACKAGES: [(&str, &[&str]); 3] = [
    ("guestright-units", &[]),
    ("guestright-wire", &[]),
    ("guestright-tun", &["checksum::", "coalesce::", "segment::"]),
];

const INSTALL: &str = "rustup component add miri rust-src --toolchain nightly";

/// Miri takes a hundred times as long, so that a few cases of each property have to do.
const ENVIRONMENT: [(&str, &str); 3] = [
    ("MIRIFLAGS", "-Zmiri-disable-isolation"),
    ("PROPTEST_CASES", "4"),
    ("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true"),
];

pub(crate) fn run() -> Result<()> {
    let is_there = miri(&["--version"]).output().is_ok_and(|output| output.status.success());
    ensure!(is_there, "Miri is not installed ({INSTALL})");
    let mut steps = Steps::default();
    for (package, filters) in PACKAGES {
        steps.run(package, || {
            let arguments = ["test", "--package", package, "--lib", "--"];
            execute(miri(&[&arguments[..], filters].concat()).envs(ENVIRONMENT))
        });
    }
    steps.finish()
}

/// Not the Cargo that runs this: Miri comes with a nightly compiler.
fn miri(arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo", "miri"]).args(arguments).current_dir(workspace::root());
    for inherited in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(inherited);
    }
    command
}
