//! What is in the checkout: its files, its packages, and the room of each.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::steps;

/// Directories that are nobody's source, where there is no Git to ask.
const NOT_SOURCE: [&str; 3] = [".git", "target", "node_modules"];

/// A room holds the crates with the same permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Room {
    Base,
    Pure,
    Sim,
    Io,
    Run,
    App,
    Bindings,
    /// `xtask`, `tests` and `fuzz`.
    Tools,
}

impl Room {
    /// The room of a path relative to the root.
    pub(crate) fn of(path: &str) -> Self {
        let mut parts = path.split('/');
        match (parts.next(), parts.next()) {
            (Some("crates"), Some("base")) => Self::Base,
            (Some("crates"), Some("pure")) => Self::Pure,
            (Some("crates"), Some("sim")) => Self::Sim,
            (Some("crates"), Some("io")) => Self::Io,
            (Some("crates"), Some("run")) => Self::Run,
            (Some("crates"), Some("app")) => Self::App,
            (Some("bindings"), _) => Self::Bindings,
            _ => Self::Tools,
        }
    }

    /// Whether its crates may neither wait nor touch anything outside.
    pub(crate) fn is_sealed(self) -> bool {
        self <= Self::Sim
    }
}

/// A package of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Its folder, relative to the root, with `/`.
    pub(crate) folder: String,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) has_benches: bool,
}

/// A direct dependency as the manifest writes it.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Its folder, relative to the root, if it is one of ours.
    pub(crate) folder: Option<String>,
    pub(crate) dev: bool,
}

pub(crate) fn root() -> PathBuf {
    let own = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let own = PathBuf::from(own);
    own.parent().expect("xtask lies below the root").to_owned()
}

/// Folders of the computer that builds, and what a program knows them as: so it is the same from any folder.
pub(crate) struct Renamed(Vec<(PathBuf, &'static str)>);

impl Renamed {
    /// For a checkout and the folder that it is built in.
    pub(crate) fn new(root: &Path, target: &Path) -> Self {
        let folder_of = |variable: &str, usual: &str| {
            let named = std::env::var_os(variable).map(PathBuf::from);
            named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(usual)))
        };
        let folders = [
            (Some(root.to_owned()), "/guestright"),
            (folder_of("CARGO_HOME", ".cargo"), "/cargo"),
            // The standard library's sources, where it is built too.
            (folder_of("RUSTUP_HOME", ".rustup"), "/rustup"),
            // The last one that fits counts: this one mostly lies in the first.
            (Some(target.to_owned()), "/target"),
        ];
        Self(folders.into_iter().filter_map(|(from, to)| Some((from?, to))).collect())
    }

    pub(crate) fn rustc_flags(&self) -> String {
        self.flags("--remap-path-prefix")
    }

    pub(crate) fn c_flags(&self) -> String {
        self.flags("-ffile-prefix-map")
    }

    fn flags(&self, flag: &str) -> String {
        let flags = self.0.iter().map(|(from, to)| format!("{flag}={}={to}", from.display()));
        flags.collect::<Vec<_>>().join(" ")
    }
}

/// What Cargo says of the workspace.
pub(crate) fn metadata() -> Result<Value> {
    let text = steps::output(&mut steps::cargo(&["metadata", "--no-deps", "--format-version", "1"]))?;
    serde_json::from_str(&text).context("parse `cargo metadata`")
}

/// Where Cargo builds.
pub(crate) fn target_directory() -> Result<PathBuf> {
    let metadata = metadata()?;
    let target =
        metadata["target_directory"].as_str().context("`cargo metadata` names no target directory")?;
    Ok(target.into())
}

/// Git in the root. As root in somebody else's checkout it refuses without the first two words.
pub(crate) fn git(words: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.args(["-c", "safe.directory=*"]).args(words).current_dir(root());
    command
}

pub(crate) fn packages() -> Result<Vec<Package>> {
    let metadata = metadata()?;
    let packages = array(&metadata["packages"]).iter().map(|package| read_package(package, &root()));
    packages.collect::<Option<_>>().context("a package of `cargo metadata` lacks a field")
}

/// The files of the checkout relative to its root, with `/`: what Git tracks or would if asked to add everything.
pub(crate) fn files() -> Result<BTreeSet<String>> {
    let root = root();
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    if root.join(".git").exists()
        && let Ok(text) = steps::output(&mut git(&list))
    {
        let listed = text.split('\0').filter(|path| !path.is_empty() && root.join(path).is_file());
        return Ok(listed.map(str::to_owned).collect());
    }
    let mut files = BTreeSet::new();
    walk(&root, &root, &mut files)?;
    Ok(files)
}

/// An array of JSON; anything else is an empty one.
pub(crate) fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn read_package(package: &Value, root: &Path) -> Option<Package> {
    let manifest = Path::new(package["manifest_path"].as_str()?);
    let is_bench = |target: &Value| array(&target["kind"]).iter().any(|kind| kind == "bench");
    Some(Package {
        name: package["name"].as_str()?.to_owned(),
        folder: relative(manifest.parent()?, root)?,
        dependencies: array(&package["dependencies"])
            .iter()
            .map(|dependency| {
                Some(Dependency {
                    name: dependency["name"].as_str()?.to_owned(),
                    folder: dependency["path"].as_str().and_then(|path| relative(Path::new(path), root)),
                    dev: dependency["kind"] == "dev",
                })
            })
            .collect::<Option<_>>()?,
        has_benches: array(&package["targets"]).iter().any(is_bench),
    })
}

fn relative(path: &Path, root: &Path) -> Option<String> {
    Some(path.strip_prefix(root).ok()?.to_str()?.replace('\\', "/"))
}

fn walk(folder: &Path, root: &Path, files: &mut BTreeSet<String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && !NOT_SOURCE.iter().any(|name| entry.file_name() == *name) {
            walk(&entry.path(), root, files)?;
        } else if kind.is_file() {
            files.extend(relative(&entry.path(), root));
        }
    }
    Ok(())
}
