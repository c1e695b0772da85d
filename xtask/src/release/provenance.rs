//! Where a release comes from, as in-toto's statement with SLSA's predicate (<https://slsa.dev/spec/v1.0/provenance>).
//!
//! It is not signed: it says what to repeat in order to get the same bytes, and whoever repeats it needs to believe nobody.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::Wanted;
use super::contents::{sum, sums};
use crate::router::with_zig;
use crate::steps::output;
use crate::workspace;

const NAME: &str = "provenance.json";

/// What takes part in the making besides the sources, by what it says of itself.
const TOOLS: [(&str, &[&str]); 5] = [
    ("rustc", &["rustc", "--version"]),
    ("cargo-zigbuild", &["cargo-zigbuild", "--version"]),
    ("cargo-deb", &["cargo", "deb", "--version"]),
    ("cargo-generate-rpm", &["cargo", "generate-rpm", "--version"]),
    ("umoci", &["umoci", "--version"]),
];

const ROUTERS_TOOL: (&str, &[&str]) =
    ("rustc of routers' programs", &["rustup", "run", "nightly", "rustc", "--version"]);

/// Writes it for every file that is in the folder.
pub(super) fn write(folder: &Path, version: &str, wanted: &Wanted) -> Result<()> {
    let commit = output(&mut workspace::git(&["rev-parse", "HEAD"]))?;
    let lock = fs::read(workspace::root().join("Cargo.lock")).context("read Cargo.lock")?;
    let mut materials = vec![
        json!({ "name": "source", "digest": { "gitCommit": commit.trim() } }),
        json!({ "name": "Cargo.lock", "digest": { "sha256": sum(&lock) } }),
    ];
    let routers = Some(ROUTERS_TOOL).filter(|_| !wanted.routers.is_empty());
    for (name, words) in TOOLS.into_iter().chain(routers) {
        let mut command = Command::new(words[0]);
        let text = output(with_zig(&mut command).args(&words[1..]).current_dir(workspace::root()))?;
        materials.push(json!({ "name": name, "annotations": { "version": text.trim() } }));
    }
    let parameters = json!({ "command": "cargo xtask release", "version": version, "draft": wanted.draft });
    let statement = statement(&sums(folder)?, &parameters, &materials);
    let text = serde_json::to_string_pretty(&statement).context("write JSON")?;
    fs::write(folder.join(NAME), text + "\n").with_context(|| format!("write {NAME}"))
}

fn statement(sums: &[(String, String)], parameters: &Value, materials: &[Value]) -> Value {
    let subject = |(name, sum): &(String, String)| json!({ "name": name, "digest": { "sha256": sum } });
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": sums.iter().map(subject).collect::<Vec<_>>(),
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:guestright:release:1",
                "externalParameters": parameters,
                "resolvedDependencies": materials,
            },
            "runDetails": { "builder": { "id": "urn:guestright:builder:unsigned" } },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_a_subject() {
        let sums = [("a".to_owned(), "00".to_owned()), ("b".to_owned(), "01".to_owned())];
        let statement = statement(&sums, &json!({}), &[]);
        assert_eq!(statement.pointer("/subject/1/digest/sha256"), Some(&json!("01")));
        assert_eq!(statement.pointer("/subject/0/name"), Some(&json!("a")));
    }
}
