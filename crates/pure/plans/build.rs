//! Makes one list of all plans in the repository's folder `experiments`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Where they are, from here.
const EXPERIMENTS: &str = "../../../experiments";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let root = Path::new(&variable("CARGO_MANIFEST_DIR")?).join(EXPERIMENTS);
    println!("cargo::rerun-if-changed={}", root.display());
    let mut plans = Vec::new();
    if root.is_dir() {
        find(&root, &mut plans)?;
    }
    plans.sort_by_key(|plan| plan.with_extension(""));
    let mut code = String::from("&[\n");
    for plan in &plans {
        let name = plan.strip_prefix(&root).map_err(io::Error::other)?.with_extension("");
        let name: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
        writeln!(code, "    ({:?}, include_str!({plan:?})),", name.join("/")).map_err(io::Error::other)?;
    }
    code.push(']');
    fs::write(Path::new(&variable("OUT_DIR")?).join("plans.rs"), code)
}

#[expect(clippy::disallowed_methods, reason = "Cargo's words to a build script are in its environment")]
fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(io::Error::other)
}

/// Every plan in a folder and in those within it; what is in `inference` is about plans, and is none.
fn find(folder: &Path, plans: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name == "inference") {
            continue;
        }
        if path.is_dir() {
            println!("cargo::rerun-if-changed={}", path.display());
            find(&path, plans)?;
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            plans.push(path);
        }
    }
    Ok(())
}
