//! The libraries that others are meant to use: whether they could be published, and what a new version of them breaks.
//!
//! Nothing here uploads anything; `docs/libraries.md` says how that is done. The check of the manifests takes no time and
//! is part of `lint`. The others build every library anew, and are for whoever changes one or makes a release.

mod contents;
mod manifest;
mod semver;

use anyhow::{Context as _, Result, bail};

use crate::steps::{self, Done, Steps, cargo, execute};
use crate::workspace;

/// What others want.
const WANTED: [&str; 5] = [
    "guestright-identity",
    "guestright-quality",
    "guestright-receipt",
    "guestright-reciprocity",
    "guestright-tunnel",
];

/// What those depend on, and therefore has to be published too.
const NEEDED: [&str; 2] = ["guestright-units", "guestright-wire"];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => all(),
        ["manifests"] => check_manifests(),
        ["package"] => package().map(drop),
        ["semver"] => print_skipped(&semver::run(None)?),
        ["semver", revision] => print_skipped(&semver::run(Some(revision))?),
        _ => {
            bail!(
                "`libraries` is followed by manifests, package or semver [REVISION], not by `{}`",
                words.join(" ")
            )
        }
    }
}

fn all() -> Result<()> {
    let mut steps = Steps::default();
    steps.run("manifests", || check_manifests().map(|()| Done::Passed));
    steps.run("package", package);
    steps.run("semver", || semver::run(None));
    steps.finish()
}

fn print_skipped(done: &Done) -> Result<()> {
    if let Done::Skipped(why) = done {
        println!("nothing done: {why}");
    }
    Ok(())
}

/// Whether each library has what crates.io asks for, and depends on nothing that is not published.
pub(crate) fn check_manifests() -> Result<()> {
    let problems = manifest::check(&workspace::metadata()?, &|path| path.is_file());
    steps::report("libraries", &format!("{} manifests", all_names().count()), &problems)
}

/// Packs all of them, and builds each from its package with the others' packages, as crates.io would have them.
fn package() -> Result<Done> {
    let mut problems = Vec::new();
    for name in all_names() {
        let listed = steps::output(&mut cargo(&["package", "--list", "--allow-dirty", "--package", name]))?;
        problems.extend(contents::check(name, &listed));
    }
    steps::report("contents", &format!("{} packages", all_names().count()), &problems)?;
    let mut publish = cargo(&["publish", "--dry-run", "--locked"]);
    execute(publish.args(all_names().flat_map(|name| ["--package", name])))
}

fn all_names() -> impl Iterator<Item = &'static str> {
    NEEDED.into_iter().chain(WANTED)
}

/// The folder of each library, relative to the root.
fn folders() -> Result<Vec<(&'static str, String)>> {
    let packages = workspace::packages()?;
    let folder = |name: &'static str| {
        let package = packages.iter().find(|package| package.name == name);
        package.map(|package| (name, package.folder.clone())).with_context(|| format!("find {name}"))
    };
    all_names().map(folder).collect()
}
