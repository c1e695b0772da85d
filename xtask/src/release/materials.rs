//! What a program is made of: a bill of materials in CycloneDX, by cargo-cyclonedx.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::contents::Contents;
use crate::steps::{cargo, check_cargo_tool, execute, output};
use crate::workspace;

/// The version that the calls below are written for; `scripts/setup.sh` installs the same.
const VERSION: &str = "0.5.9";

/// Before anything is built for an hour.
pub(super) fn check_tool() -> Result<()> {
    check_cargo_tool("cargo-cyclonedx", VERSION, "release")
}

/// Writes what a program with these features is made of.
pub(super) fn add(contents: &mut Contents, product: &str, features: &str, version: &str) -> Result<()> {
    let folder = format!("crates/app/{product}");
    let name = format!("{product}-{version}.cdx");
    let mut command = cargo(&["cyclonedx", "--quiet", "--format", "json", "--spec-version", "1.5"]);
    command.args(["--manifest-path", &format!("{folder}/Cargo.toml"), "--override-filename", &name]);
    command.args(["--no-default-features", "--features", features, "--target", "x86_64-unknown-linux-musl"]);
    // With a date it leaves out the number that is another each time.
    command.env("SOURCE_DATE_EPOCH", crate::package::commit_date()?);
    execute(&mut command)?;
    // It writes beside manifests, of everything of ours that is in the program.
    let mut text = None;
    for written in written(&format!("{name}.json"))? {
        if written.starts_with(workspace::root().join(&folder)) {
            text = Some(fs::read_to_string(&written).with_context(|| format!("read {}", written.display()))?);
        }
        fs::remove_file(&written).with_context(|| format!("remove {}", written.display()))?;
    }
    let text = text.with_context(|| format!("cargo-cyclonedx wrote nothing for {product}"))?;
    let text = text.replace(&workspace::root().display().to_string(), "");
    let missing: Vec<_> = linked(product, features)?.difference(&components(&text)?).cloned().collect();
    ensure!(missing.is_empty(), "the bill of {product} lacks what Cargo links: {}", missing.join(", "));
    contents.write(&format!("{name}.json"), text.as_bytes())
}

fn written(name: &str) -> Result<Vec<PathBuf>> {
    let folders = workspace::packages()?.into_iter().map(|package| workspace::root().join(package.folder));
    Ok(folders.map(|folder| folder.join(name)).filter(|path| path.is_file()).collect())
}

/// Name and version of every component.
fn components(text: &str) -> Result<BTreeSet<String>> {
    let bill: Value = serde_json::from_str(text).context("parse the bill of materials")?;
    let field = |component: &Value, name: &str| component[name].as_str().unwrap_or_default().to_owned();
    let components = workspace::array(&bill["components"]).iter();
    Ok(components.map(|one| format!("{} {}", field(one, "name"), field(one, "version"))).collect())
}

/// What Cargo says that the program depends on, itself left out.
fn linked(product: &str, features: &str) -> Result<BTreeSet<String>> {
    let mut command = cargo(&["tree", "--package", product, "--no-default-features", "--features", features]);
    command.args(["--edges", "normal", "--prefix", "none", "--format", "{p}"]);
    let text = output(command.args(["--target", "x86_64-unknown-linux-musl"]))?;
    let linked = text.lines().skip(1).filter_map(|line| {
        let mut words = line.split_whitespace();
        Some(format!("{} {}", words.next()?, words.next()?.trim_start_matches('v')))
    });
    Ok(linked.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_read_by_name_and_version() {
        let text = r#"{"components": [{"name": "nom", "version": "8.0.0", "type": "library"}]}"#;
        assert_eq!(components(text).unwrap(), BTreeSet::from(["nom 8.0.0".to_owned()]));
        assert!(components("{}").unwrap().is_empty());
        assert!(components("[").is_err());
    }
}
