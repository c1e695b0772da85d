//! A release: everything that somebody downloads, in one folder, with sums, a bill of materials and where it comes from.
//!
//! The same commit gives the same bytes in any folder: paths of this computer are taken out of programs, and the only date is
//! the commit's. `docs/releases.md` says what is in it and how one is made.

mod container;
mod contents;
mod materials;
mod provenance;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::package::{Kind, PRODUCTS, Stage, check_tools};
use crate::router::Target;
use crate::steps::{cargo, execute, output};
use crate::workspace::Renamed;
use crate::{openwrt, workspace};
use contents::Contents;

/// The program of a person's computer that needs no library of the system: all but the sound card, whose library finds its
/// plugins while it runs.
const PORTABLE: [(&str, &str); 2] =
    [("guestright", "access-point,computer,dns,exchange,opus,sms"), ("guestright-lab", "opus")];

/// The processor of `PORTABLE` and of the packages.
const HERE: &str = "x86_64";

const INSTALLER: &str = "packaging/release/install.sh";

/// `release [--draft] [--routers NAMES|none] [--programs FOLDER] [--portable FOLDER] [--into FOLDER]`
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let wanted = Wanted::read(arguments)?;
    ensure!(std::env::consts::ARCH == HERE, "releases are made on {HERE}");
    let target = workspace::target_directory()?;
    let version = crate::package::version()?;
    if !wanted.draft {
        check_is_ready(&version)?;
    }
    check_tools()?;
    materials::check_tool()?;
    container::check_tool()?;
    let mut contents = Contents::new(&wanted.into.clone().unwrap_or_else(|| target.join("release-files")))?;
    add_packages(&mut contents, &target, wanted.programs.as_deref())?;
    add_portable(&mut contents, &target, &version, wanted.portable.as_deref())?;
    for router in &wanted.routers {
        add_router(&mut contents, &target, &version, *router)?;
    }
    openwrt::make(contents.folder())?;
    for (product, features) in PORTABLE {
        materials::add(&mut contents, product, features, &version)?;
    }
    contents.copy(&workspace::root().join(INSTALLER), "install.sh")?;
    provenance::write(contents.folder(), &version, &wanted)?;
    contents.write_sums()
}

/// What the command line asks for.
struct Wanted {
    /// Of a tree that is not a version yet.
    draft: bool,
    routers: Vec<Target>,
    /// Folders with both programs, built before.
    programs: Option<PathBuf>,
    portable: Option<PathBuf>,
    into: Option<PathBuf>,
}

impl Wanted {
    fn read(arguments: &[String]) -> Result<Self> {
        let all = Target::all().to_vec();
        let mut wanted = Self { draft: false, routers: all, programs: None, portable: None, into: None };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                "--draft" => wanted.draft = true,
                "--routers" => wanted.routers = routers(value()?)?,
                "--programs" => wanted.programs = Some(PathBuf::from(value()?)),
                "--portable" => wanted.portable = Some(PathBuf::from(value()?)),
                "--into" => wanted.into = Some(PathBuf::from(value()?)),
                other => bail!(
                    "`{other}` is none of --draft, --routers NAMES, --programs FOLDER, --portable FOLDER and --into FOLDER"
                ),
            }
        }
        ensure!(
            wanted.draft || (wanted.programs.is_none() && wanted.portable.is_none()),
            "a release is built from its commit: --programs and --portable go with --draft only"
        );
        Ok(wanted)
    }
}

fn routers(names: &str) -> Result<Vec<Target>> {
    if names == "none" {
        return Ok(Vec::new());
    }
    names.split(',').map(Target::named).collect()
}

/// A version has a heading in the changelog and a commit without changes after it.
fn check_is_ready(version: &str) -> Result<()> {
    let changelog =
        fs::read_to_string(workspace::root().join("CHANGELOG.md")).context("read CHANGELOG.md")?;
    ensure!(
        is_in_changelog(&changelog, version),
        "CHANGELOG.md has no heading `## [{version}] – DAY`: what is not released yet is made with --draft"
    );
    let changes = output(&mut workspace::git(&["status", "--porcelain"]))?;
    ensure!(
        changes.is_empty(),
        "commit first, or say --draft; changed since the last commit:\n{}",
        changes.trim_end()
    );
    Ok(())
}

fn is_in_changelog(changelog: &str, version: &str) -> bool {
    changelog.lines().any(|line| line.starts_with(&format!("## [{version}]")))
}

/// Cargo with the release's flags.
fn build(command: &mut Command, target: &Path) -> Result<()> {
    let folder = target.join("release-build");
    let renamed = Renamed::new(&workspace::root(), &folder);
    // Zig has the C library of what is linked by it; for others the second flag changes nothing.
    let flags = format!("{} -C link-self-contained=no", renamed.rustc_flags());
    command.env("RUSTFLAGS", flags).env("CFLAGS", renamed.c_flags()).env("CXXFLAGS", renamed.c_flags());
    execute(command.env("CARGO_TARGET_DIR", folder)).map(drop)
}

/// Packages for Debian and RPM, from programs that use the system's libraries.
fn add_packages(contents: &mut Contents, target: &Path, built: Option<&Path>) -> Result<()> {
    let programs = match built {
        Some(folder) => folder.to_owned(),
        None => {
            let mut command = cargo(&["build", "--locked", "--release"]);
            command.args(PRODUCTS.map(|product| format!("--package={product}")));
            build(&mut command, target)?;
            target.join("release-build/release")
        }
    };
    let stage = Stage::new(&target.join("package/stage"), &programs.join(PRODUCTS[0]))?;
    for kind in [Kind::Deb, Kind::Rpm] {
        for product in PRODUCTS {
            stage.make(kind, product, None, false, contents.folder())?;
        }
    }
    Ok(())
}

/// An archive of both programs for any Linux, and images of containers with one each.
fn add_portable(contents: &mut Contents, target: &Path, version: &str, built: Option<&Path>) -> Result<()> {
    let programs = match built {
        Some(folder) => folder.to_owned(),
        None => build_portable(target)?,
    };
    let stage = Stage::new(&target.join("package/stage-portable"), &programs.join(PRODUCTS[0]))?;
    let mut files = Vec::new();
    for product in PRODUCTS {
        files.extend(stage.portable(product)?);
    }
    contents.add_archive(&format!("guestright-{version}-{HERE}-linux"), files)?;
    for product in PRODUCTS {
        container::add(contents, &stage, product, version)?;
    }
    Ok(())
}

fn build_portable(target: &Path) -> Result<PathBuf> {
    let triple = format!("{HERE}-unknown-linux-musl");
    for (product, features) in PORTABLE {
        let mut command = crate::router::zigbuild();
        command.args(["--locked", "--release", "--target", &triple, "--package", product]);
        command.args(["--no-default-features", "--features", features]);
        build(&mut command, target)?;
    }
    Ok(target.join("release-build").join(triple).join("release"))
}

fn add_router(contents: &mut Contents, target: &Path, version: &str, router: Target) -> Result<()> {
    router.build(target)?;
    let program = router.program(target);
    let bytes = fs::read(&program).with_context(|| format!("read {}", program.display()))?;
    contents.add_archive(
        &format!("guestright-router-{version}-{}-linux", router.processor),
        vec![contents::file("bin/guestright", 0o755, bytes)],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Wanted> {
        Wanted::read(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_command_line_says_what_is_in_it() {
        assert_eq!(read(&[]).unwrap().routers.len(), 6);
        let wanted = read(&["--draft", "--routers", "mipsel,arm", "--programs", "built"]).unwrap();
        assert_eq!(
            wanted.routers.iter().map(|router| router.processor).collect::<Vec<_>>(),
            ["mipsel", "arm"]
        );
        assert!(wanted.draft && wanted.programs.is_some());
        for (wrong, words) in [
            (&["--routers", "z80"][..], "`z80` is none of"),
            (&["--programs", "built"], "go with --draft only"),
            (&["--into"], "--into needs a value"),
            (&["--fast"], "`--fast` is none of"),
        ] {
            let error = read(wrong).err().unwrap().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn what_has_no_heading_of_its_own_is_not_released() {
        let changelog = "# Changelog\n\n## [Unreleased] – 0.2.0\n\n## [0.1.0] – 2026-12-01\n";
        assert!(is_in_changelog(changelog, "0.1.0"));
        assert!(!is_in_changelog(changelog, "0.2.0"));
        assert!(!is_in_changelog(changelog, "0.1"));
    }
}
