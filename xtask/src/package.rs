//! Packages for Debian and for RPM's distributions, by cargo-deb and cargo-generate-rpm, and their tests.
//!
//! What is in them is in the manifests of both programs. Here is made what they cannot name: completions and manual
//! pages, which the programs print, and units with the path of a packaged program. The same commit and the same programs
//! give the same bytes. `docs/packages.md` says what the tests prove.

mod contents;
mod roots;
mod stage;
mod verdicts;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::steps::{cargo, check_cargo_tool, execute};
use crate::workspace;
pub(crate) use stage::{Stage, commit_date, version};

/// The programs; each is a package of the same name.
pub(crate) const PRODUCTS: [&str; 2] = ["guestright", "guestright-lab"];

/// What makes packages, and the versions that the manifests are written for; `scripts/setup.sh` installs the same.
const TOOLS: [(&str, &str); 2] = [("cargo-deb", "3.8.0"), ("cargo-generate-rpm", "0.21.1")];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Deb,
    Rpm,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let began = Instant::now();
    let wanted = Wanted::read(arguments)?;
    let target = workspace::target_directory()?;
    let program = match (&wanted.program, &wanted.profile) {
        (Some(program), None) => program.clone(),
        (None, profile) => build(&target, profile.as_deref().unwrap_or("release"))?,
        (Some(_), Some(_)) => bail!("--program is built already: --profile does not go with it"),
    };
    check_tools()?;
    let folder = target.join("package");
    match wanted.task {
        Task::Make(kind) => {
            let stage = Stage::new(&folder.join("stage"), &program)?;
            for product in PRODUCTS {
                let package = stage.make(kind, product, wanted.version.as_deref(), false, &folder)?;
                println!("{}", package.display());
            }
            Ok(())
        }
        Task::Test => roots::test(&folder, &program, began),
    }
}

enum Task {
    Make(Kind),
    Test,
}

/// What the command line asks for.
struct Wanted {
    task: Task,
    program: Option<PathBuf>,
    profile: Option<String>,
    version: Option<String>,
}

impl Wanted {
    fn read(arguments: &[String]) -> Result<Self> {
        let mut words = arguments.iter();
        let task = match words.next().map(String::as_str) {
            Some("deb") => Task::Make(Kind::Deb),
            Some("rpm") => Task::Make(Kind::Rpm),
            Some("test") => Task::Test,
            other => {
                bail!(
                    "`package` is followed by deb, rpm, openwrt or test, not by `{}`",
                    other.unwrap_or_default()
                )
            }
        };
        let mut wanted = Self { task, program: None, profile: None, version: None };
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                "--program" => {
                    let path = value()?;
                    let found = Path::new(path).canonicalize().with_context(|| format!("find {path}"))?;
                    wanted.program = Some(found);
                }
                "--profile" => wanted.profile = Some(value()?.clone()),
                "--version" => wanted.version = Some(value()?.clone()),
                other => bail!("`{other}` is none of --program PATH, --profile NAME and --version VERSION"),
            }
        }
        Ok(wanted)
    }
}

fn build(target: &Path, profile: &str) -> Result<PathBuf> {
    let mut build = cargo(&["build", "--locked", "--profile", profile]);
    execute(build.args(PRODUCTS.map(|product| format!("--package={product}"))))?;
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(target.join(folder).join(PRODUCTS[0]))
}

pub(crate) fn check_tools() -> Result<()> {
    TOOLS.into_iter().try_for_each(|(tool, version)| check_cargo_tool(tool, version, "package"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_says_what_is_made() {
        let read =
            |words: &[&str]| Wanted::read(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let wanted = read(&["rpm", "--profile", "demo", "--version", "1.2.3"]).unwrap();
        assert!(matches!(wanted.task, Task::Make(Kind::Rpm)));
        assert_eq!((wanted.profile.as_deref(), wanted.version.as_deref()), (Some("demo"), Some("1.2.3")));
        for wrong in [&[][..], &["tar"], &["deb", "--version"], &["deb", "--fast"]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
