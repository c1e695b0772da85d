//! Programs of others that say what they read.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// A program, be it among those for administrators, where an ordinary user's shell does not look.
pub(crate) fn command(program: &str) -> Command {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin");
    let mut command = Command::new(program);
    command.env("PATH", path);
    command
}

/// What a program has to say. Where it is not installed the test fails: `scripts/setup.sh test` installs it.
pub(crate) fn run(program: &str, arguments: &[&str], input: &[u8]) -> Output {
    let child = command(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.unwrap_or_else(|error| panic!("{program}: {error}; sh scripts/setup.sh test"));
    // Whoever has seen enough does not read on.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// What it prints, if it is content.
pub(crate) fn read(program: &str, arguments: &[&str], input: &[u8]) -> String {
    let output = run(program, arguments, input);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// A script in Python, with the text on its standard input.
pub(crate) fn python(script: &str, input: &[u8]) -> String {
    read("python3", &["-c", script], input)
}

pub(crate) fn is_well_formed(xml: &[u8]) -> bool {
    run("xmllint", &["--noout", "--nonet", "-"], xml).status.success()
}

/// A program that goes on; ended with the test, whatever becomes of it.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
