//! The whole program, started for real: on the command line, on the loopback, and in network namespaces on the real kernel.
//!
//! Every test that needs a network starts itself again inside a sandbox, which the kernel clears away however the
//! test ends.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test says what broke by panicking, and prints what it measured"
)]

mod advise;
mod artifact;
mod cli;
mod esp;
mod netns;
mod plans;
mod shards;
mod traffic;
mod wireguard;

use std::process::{Command, Stdio};

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_guestright-lab");

fn guestright_lab() -> Command {
    let mut command = Command::new(PROGRAM);
    command.stdin(Stdio::null());
    command
}
