//! What the system tests of `guestright` and `guestright-lab` share.
//!
//! In: the path of a program that Cargo built, and the name of a test. Out: the test again inside a sandbox of namespaces
//! ([`inside`]), a running program whose lines are waited for ([`Program`]), or a folder in which command lines are tried
//! ([`Desk`]). Of a command line: whether every command explains itself ([`help`]).

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test says what broke by panicking, and prints what it measured"
)]

mod desk;
pub mod help;
mod program;

pub use desk::Desk;
pub use program::Program;

use guestright_netns::{Sandbox, testing};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

/// Long enough for a crowded computer; nothing waits for it unless something is broken. How long things take is
/// printed, and never judged: that is what `docs/measurements.md` is for.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// No test in a sandbox goes on for longer, unless it says so.
const LIFE_MAX: Duration = Duration::from_secs(300);

/// Outside: runs the test of this name in a sandbox and returns false. Inside: returns true, with the sandbox ready
/// to be filled.
#[must_use]
pub fn inside(test: &str) -> bool {
    inside_within(test, LIFE_MAX)
}

/// The same, for a test that may take so long.
#[must_use]
pub fn inside_within(test: &str, life_max: Duration) -> bool {
    let inside = is_inside(test, life_max);
    if inside {
        Sandbox::prepare().unwrap();
    }
    inside
}

/// The same, for a test that starts sandboxes of its own: here is what they find around them, an empty `/run` that
/// is none of theirs.
#[must_use]
pub fn inside_for_sandboxes(test: &str) -> bool {
    let inside = is_inside(test, LIFE_MAX);
    if inside {
        let mount = ["-t", "tmpfs", "-o", "mode=755,size=16m", "around", "/run"];
        assert!(Command::new("mount").args(mount).status().unwrap().success());
        // mount(8) makes its own directory where there is none.
        std::fs::create_dir_all("/run/mount").unwrap();
    }
    inside
}

fn is_inside(test: &str, life_max: Duration) -> bool {
    if Sandbox::inside() {
        // When process 1 of the sandbox ends, so does everything in it.
        thread::spawn(move || {
            thread::sleep(life_max);
            eprintln!("the test took more than {life_max:?}");
            std::process::exit(1);
        });
        return true;
    }
    let mode = Sandbox::probe().expect("this computer can make sandboxes");
    let program = std::env::current_exe().unwrap();
    let mut command = Sandbox::command(mode, &program, ["--exact", test, "--nocapture", "--include-ignored"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "inside: {text}\n{stderr}");
    false
}

/// Waits until something is done; panics with `what` after [`PATIENCE`].
pub fn until(what: &str, done: impl FnMut() -> bool) {
    until_within(PATIENCE, what, done);
}

/// The same for what may take longer.
///
/// # Panics
/// It does not come about in that time.
pub fn until_within(patience: Duration, what: &str, done: impl FnMut() -> bool) {
    testing::until_within(patience, what, done);
}

/// What a program printed, which must have succeeded.
pub fn succeeded(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}: {stdout}{stderr}", output.status);
    stdout
}
