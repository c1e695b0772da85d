//! The benchmarks, one package after the other, so that they do not disturb each other.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::steps::{Done, Steps, cargo, execute};
use crate::workspace;

/// The packages whose cost we watch, and the features that their benchmarks take.
const PACKAGES: [(&str, &str); 16] = [
    ("guestright-receipt", "legacy-suites"),
    ("guestright-reciprocity", ""),
    ("guestright-store", ""),
    ("guestright-tunnel", "aws-lc"),
    ("guestright-quality", ""),
    ("guestright-capture", ""),
    ("guestright-voice", ""),
    ("guestright-boat", ""),
    ("guestright-codec", ""),
    ("guestright-media", ""),
    ("guestright-engine", ""),
    ("guestright-wlan", ""),
    ("guestright-transport", ""),
    ("guestright-quic", ""),
    ("guestright-world", ""),
    ("guestright-lab", ""),
];

/// Leading arguments that name packages choose them; the rest goes to the benchmarks.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let is_package = |argument: &&String| PACKAGES.iter().any(|(name, _)| name == argument);
    let chosen: Vec<&String> = arguments.iter().take_while(is_package).collect();
    let arguments = &arguments[chosen.len()..];
    let packages = workspace::packages()?;
    let mut steps = Steps::default();
    for (name, features) in PACKAGES {
        if !chosen.is_empty() && !chosen.iter().any(|chosen| *chosen == name) {
            continue;
        }
        let package = packages.iter().find(|package| package.name == name);
        let package = package.with_context(|| format!("no package {name} in the workspace"))?;
        if name == "guestright-lab" {
            fetch_peers()?;
        }
        steps.run(name, || {
            if !package.has_benches {
                return Ok(Done::Skipped("it has no benchmarks".to_owned()));
            }
            let command = ["bench", "--package", name, "--features", features, "--bench", "*", "--"];
            execute(cargo(&command).args(arguments))
        });
    }
    steps.finish()
}

/// Builds the tunnels of others that no distribution has in a current version. One that cannot be had is missing
/// in the tables, no more.
fn fetch_peers() -> Result<()> {
    let root = peers()?;
    let bin = root.join("bin");
    let root_word = root.to_string_lossy().into_owned();
    fetch(&bin.join("boringtun-cli"), || cargo(&["install", "--root", &root_word, "boringtun-cli"]));
    fetch(&bin.join("wireguard"), || {
        let mut command = Command::new("go");
        command.args(["install", "golang.zx2c4.com/wireguard@latest"]).env("GOBIN", &bin);
        command
    });
    Ok(())
}

/// Beside the build's own directories, where the benchmark looks for them.
fn peers() -> Result<PathBuf> {
    Ok(workspace::target_directory()?.join("peers"))
}

fn fetch(file: &Path, command: impl Fn() -> Command) {
    if file.exists() {
        return;
    }
    // Downloads fail now and then, seldom twice.
    for _ in 0..2 {
        match execute(&mut command()) {
            Ok(_) => return,
            Err(error) => eprintln!("{error:#}"),
        }
    }
    eprintln!("going on without {}", file.display());
}
