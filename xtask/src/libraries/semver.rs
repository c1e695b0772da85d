//! What a new version breaks, by cargo-semver-checks: it compares what rustdoc says of both.

use std::process::Stdio;

use anyhow::{Context as _, Result};

use super::folders;
use crate::steps::{self, Done, cargo, check_cargo_tool, execute};
use crate::workspace::git;

/// `scripts/setup.sh` installs the same.
const VERSION: &str = "0.51.0";

/// Compares with the newest released version, or with a revision. Only default features: the others are for measurements, and
/// need libraries of the system.
pub(super) fn run(revision: Option<&str>) -> Result<Done> {
    let Some(baseline) = revision.map(str::to_owned).or(newest_release()?) else {
        return Ok(Done::Skipped(
            "there is no released version (a tag such as v0.1.0) to compare with".into(),
        ));
    };
    steps::output(&mut git(&["rev-parse", "--verify", "--quiet", &format!("{baseline}^{{commit}}")]))
        .with_context(|| format!("there is no revision {baseline}"))?;
    check_cargo_tool("cargo-semver-checks", VERSION, "libraries")?;
    let (old, new): (Vec<_>, Vec<_>) =
        folders()?.into_iter().partition(|(_, folder)| is_in(&baseline, &format!("{folder}/Cargo.toml")));
    for (name, _) in new {
        println!("{name}: not in {baseline}, so that nothing can break");
    }
    if old.is_empty() {
        return Ok(Done::Skipped(format!("none of the libraries is in {baseline}")));
    }
    let mut check =
        cargo(&["semver-checks", "check-release", "--default-features", "--baseline-rev", &baseline]);
    execute(check.args(old.iter().flat_map(|(name, _)| ["--package", name])))
}

/// The tag with the largest version, if there is one.
fn newest_release() -> Result<Option<String>> {
    let tags = steps::output(&mut git(&["tag", "--list", "v[0-9]*", "--sort=-version:refname"]))?;
    Ok(newest(&tags).map(str::to_owned))
}

/// The first of the tags, in falling order, that names a version which is no trial.
fn newest(tags: &str) -> Option<&str> {
    tags.lines().map(str::trim).find(|tag| !tag.is_empty() && !tag.contains('-'))
}

fn is_in(revision: &str, path: &str) -> bool {
    let mut command = git(&["cat-file", "-e", &format!("{revision}:{path}")]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_release_is_no_trial() {
        assert_eq!(newest("v0.10.0-rc.1\nv0.9.1\nv0.9.0\n"), Some("v0.9.1"));
        assert_eq!(newest(""), None);
        assert_eq!(newest("v0.1.0-beta\n"), None);
    }
}
