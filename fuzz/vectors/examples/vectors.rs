//! Writes `docs/vectors/*.json`: `cargo run -p guestright-vectors --example vectors`.
//!
//! With the feature `legacy-suites` it also makes `legacy.json`, if there is none: its keys are new ones.

use std::io::{Error, Result};
use std::path::Path;

fn main() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/vectors");
    let write = |name: &str, value: &serde_json::Value| {
        let text = serde_json::to_string_pretty(value).map_err(Error::other)?;
        std::fs::write(folder.join(name), text + "\n")
    };
    for (name, value) in guestright_vectors::files() {
        write(name, &value)?;
    }
    #[cfg(feature = "legacy-suites")]
    if !folder.join("legacy.json").exists() {
        write("legacy.json", &guestright_vectors::legacy::make())?;
    }
    Ok(())
}
