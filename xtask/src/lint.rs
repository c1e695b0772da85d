//! Everything that can be found without running the program.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::rust_text::has_word;
use crate::steps::{Done, Steps, cargo, execute, is_ci, is_installed, output};
use crate::workspace::{self, Room};
use crate::{deny, layers, libraries, tidy};

const WASM: &str = "wasm32-unknown-unknown";

/// Sealed packages that are not built for it. quinn-proto there brings ring, whose C needs clang, and a browser's clock and
/// entropy, although neither it nor these use any (design note 0006). EAP-TLS has ring by rustls (design note 0014).
const NOT_FOR_WASM: [&str; 3] = ["guestright-quinn-control", "guestright-quic", "guestright-eap"];

pub(crate) fn run() -> Result<()> {
    let mut steps = Steps::default();
    steps.run("rustfmt", || execute(&mut cargo(&["fmt", "--all", "--check"])));
    steps.run("layers", || layers::run().map(|()| Done::Passed));
    steps.run("tidy", || tidy::run().map(|()| Done::Passed));
    steps.run("libraries", || libraries::check_manifests().map(|()| Done::Passed));
    steps.run("deny", deny::run);
    steps.run("shellcheck", shellcheck);
    steps.run("clippy", || {
        execute(&mut cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--all-features",
            "--keep-going",
            "--",
            "-D",
            "warnings",
        ]))
    });
    // What is a feature's is not missed where it is left out: nothing else builds this before a release.
    steps.run("a router's program", || {
        execute(&mut cargo(&["check", "--package", "guestright", "--no-default-features"]))
    });
    steps.run("rustdoc", || {
        // All features, because documentation may point at what only a feature brings.
        let mut command = cargo(&["doc", "--no-deps", "--workspace", "--all-features"]);
        execute(command.env("RUSTDOCFLAGS", "-D warnings"))
    });
    steps.run(WASM, wasm);
    steps.finish()
}

fn shellcheck() -> Result<Done> {
    if !is_installed("shellcheck") {
        return skip("shellcheck is not installed");
    }
    let root = workspace::root();
    let scripts: Vec<_> = workspace::files()?.into_iter().filter(|file| is_shell(&root.join(file))).collect();
    execute(Command::new("shellcheck").args(scripts).current_dir(root))
}

/// Init scripts have other ends of names, or none: their first line says what they are. Those for a router say `shell=dash`
/// to shellcheck, whose busybox came after the version in Debian 12; what differs they do not use.
fn is_shell(path: &Path) -> bool {
    let named = path.extension().is_some_and(|extension| extension == "sh" || extension == "bash");
    named || first_line(path).is_some_and(|line| line.starts_with("#!") && has_shell(&line))
}

fn has_shell(line: &str) -> bool {
    ["sh", "bash", "dash"].iter().any(|shell| has_word(line, shell))
}

fn first_line(path: &Path) -> Option<String> {
    let text = std::fs::read(path).ok()?;
    String::from_utf8(text).ok()?.lines().next().map(str::to_owned)
}

/// What builds for a computer without files, clocks and sockets does not use them.
fn wasm() -> Result<Done> {
    if !has_wasm_target()? {
        if !is_installed("rustup") {
            return skip("there is no rustup to install the target with");
        }
        let mut add = Command::new("rustup");
        add.args(["target", "add", WASM]).current_dir(workspace::root());
        execute(&mut add).or_else(|_| execute(&mut add))?;
    }
    let packages = workspace::packages()?;
    let sealed = packages.iter().filter(|package| Room::of(&package.folder).is_sealed());
    let sealed = sealed.filter(|package| !NOT_FOR_WASM.contains(&package.name.as_str()));
    let selected = sealed.flat_map(|package| ["--package", package.name.as_str()]);
    execute(cargo(&["check", "--lib", "--no-default-features", "--target", WASM]).args(selected))
}

fn has_wasm_target() -> Result<bool> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(workspace::root()))?;
    Ok(Path::new(sysroot.trim()).join("lib/rustlib").join(WASM).is_dir())
}

/// On a laptop a check may be left out for want of its tool; where changes are judged it may not.
fn skip(why: &str) -> Result<Done> {
    if is_ci() {
        bail!("{why}");
    }
    Ok(Done::Skipped(why.to_owned()))
}
