//! Puts the plans of the repository into the program, so that an installed one has them; and the commit that it is built
//! from, so that its results name it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Where they are, from here.
const EXPERIMENTS: &str = "../../../experiments";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    name_commit();
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join(EXPERIMENTS);
    println!("cargo::rerun-if-changed={}", root.display());
    let mut plans = Vec::new();
    if root.is_dir() {
        find(&root, &mut plans)?;
    }
    plans.sort();
    let mut code = String::from("&[\n");
    for plan in &plans {
        let name = plan.strip_prefix(&root).map_err(io::Error::other)?.with_extension("");
        let name: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
        writeln!(code, "    ({:?}, include_str!({plan:?})),", name.join("/")).map_err(io::Error::other)?;
    }
    code.push(']');
    fs::write(Path::new(&env::var("OUT_DIR").map_err(io::Error::other)?).join("plans.rs"), code)
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

/// Every plan in a folder and in those within it.
fn find(folder: &Path, plans: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            println!("cargo::rerun-if-changed={}", path.display());
            find(&path, plans)?;
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            plans.push(path);
        }
    }
    Ok(())
}
