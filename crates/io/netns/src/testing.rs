//! For tests in namespaces: a test starts itself again inside a sandbox, and waits with patience.
//!
//! ```no_run
//! use guestright_netns::testing;
//!
//! #[test]
//! fn a_host_is_reached() {
//!     if !testing::inside("a_host_is_reached") {
//!         return; // It has run inside, and passed.
//!     }
//!     // Here a `World` can be built.
//! }
//! ```

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Sandbox;

/// Long enough for a crowded computer; nothing waits for it unless something is broken.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Between two looks at what is waited for there is at least this time, and [`PAUSE_FACTOR`] times what the last look took, so
/// that looking leaves the processors to what is waited for: some start a program to look.
const INTERVAL: Duration = Duration::from_millis(20);
const INTERVAL_MAX: Duration = Duration::from_millis(200);
const PAUSE_FACTOR: u32 = 4;

/// Inside a sandbox: prepares it and says yes. Outside: runs the test of this name inside one, and says no.
///
/// # Panics
/// If the test fails inside, or is not there, or this computer can make no sandboxes.
#[must_use]
pub fn inside(test: &str) -> bool {
    inside_with(test, |_| {})
}

/// As [`inside`]; `arrange` may add arguments and variables to the command that runs the test.
///
/// # Panics
/// As [`inside`].
#[must_use]
#[expect(clippy::print_stdout, reason = "what the test prints inside belongs to the test outside")]
pub fn inside_with(test: &str, arrange: impl FnOnce(&mut Command)) -> bool {
    if Sandbox::inside() {
        Sandbox::prepare().expect("a sandbox can be prepared");
        return true;
    }
    let mode = Sandbox::probe().expect("this computer can make sandboxes");
    let program = std::env::current_exe().expect("a running program has a file");
    let mut command = Sandbox::command(mode, &program, ["--exact", test, "--nocapture"]);
    arrange(command.stdin(Stdio::null()));
    let output = command.output().expect("the test can be started again");
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "inside: {text}\n{stderr}");
    false
}

/// Waits until `done`, and says how long that took.
///
/// # Panics
/// If it is not done within [`PATIENCE`]; `what` says what was waited for.
pub fn until(what: &str, done: impl FnMut() -> bool) -> Duration {
    until_within(PATIENCE, what, done)
}

/// The same for what may take longer.
///
/// # Panics
/// If it is not done within `patience`; `what` says what was waited for.
pub fn until_within(patience: Duration, what: &str, mut done: impl FnMut() -> bool) -> Duration {
    let started = Instant::now();
    loop {
        let look = Instant::now();
        if done() {
            return started.elapsed();
        }
        assert!(started.elapsed() < patience, "waited in vain for {what}");
        pause_after(look);
    }
}

/// Waits for as long as there should be between a look that began at `look` and has just ended, and the next.
pub fn pause_after(look: Instant) {
    std::thread::sleep((look.elapsed() * PAUSE_FACTOR).clamp(INTERVAL, INTERVAL_MAX));
}

/// Waits until `got` returns what is wanted.
///
/// # Panics
/// If it does not within [`PATIENCE`]; the message has what it returned last.
pub fn eventually<T: PartialEq + std::fmt::Debug>(wanted: T, mut got: impl FnMut() -> T) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let look = Instant::now();
        let last = got();
        if last == wanted || look > deadline {
            assert_eq!(last, wanted);
            return;
        }
        pause_after(look);
    }
}
