//! Puts the commit that it is built from into the program, so that its results name it.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    name_commit();
}

/// Sets `GUESTRIGHT_COMMIT` to the last commit, unless whoever builds has set it or there is no Git. Changes that are not
/// committed are not seen.
fn name_commit() {
    println!("cargo::rerun-if-env-changed=GUESTRIGHT_COMMIT");
    if env::var_os("GUESTRIGHT_COMMIT").is_some() {
        return;
    }
    // The log of HEAD grows with each commit and each checkout. A file that is not there would always count as changed.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]).filter(|path| Path::new(path).is_file()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    // Of this repository, not of one that the sources were unpacked in.
    let is_ours = git(&["ls-files", "--error-unmatch", "build.rs"]).is_some();
    if let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]).filter(|_| is_ours) {
        println!("cargo::rustc-env=GUESTRIGHT_COMMIT={commit} (the last before it was built)");
    }
}

/// What Git says, if it is there and has no complaint.
fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
