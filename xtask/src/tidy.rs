//! What is easy to let slip and tedious to review: sizes, names, links, unsafe code, loose ends.

mod length;
mod links;
mod spread;
mod text;
mod thin;
mod words;

use std::fs;

use anyhow::{Context as _, Result};

use crate::rust_text::RustText;
use crate::{steps, workspace};

/// Ends of names of files that people write.
const SOURCES: [&str; 20] = [
    ".bash", ".ci/run", ".css", ".html", ".ini", ".js", ".json", ".md", ".nft", ".py", ".pyi", ".rs",
    ".service", ".sh", ".toml", ".ts", ".tsx", ".yaml", ".yml", "Makefile",
];

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 7] = ["common", "data", "helper", "helpers", "manager", "util", "utils"];

pub(crate) fn run() -> Result<()> {
    let files = workspace::files()?;
    let root = workspace::root();
    let glossary = fs::read_to_string(root.join(words::GLOSSARY)).context(words::GLOSSARY)?;
    let forbidden = words::Forbidden::parse(&glossary);
    let mut problems = Vec::new();
    let mut lengths = Vec::new();
    let mut programs = 0;
    let mut spread = spread::Spread::default();
    for file in &files {
        problems.extend(check_name(file));
        let bytes = fs::read(root.join(file)).with_context(|| format!("read {file}"))?;
        let Ok(content) = String::from_utf8(bytes) else {
            continue;
        };
        problems.extend(text::check_private_paths(file, &content));
        if !SOURCES.iter().any(|end| file.ends_with(end)) {
            continue;
        }
        problems.extend(text::check_line_ends(file, &content));
        if file.ends_with(".rs") {
            let rust = RustText::parse(&content);
            problems.extend(text::check_loose_ends(file, &rust.comments));
            problems.extend(text::check_rust(file, &rust));
            problems.extend(forbidden.check_rust(file, &rust));
            spread.read(file, &rust.code);
        } else {
            problems.extend(text::check_loose_ends(file, &content));
        }
        if file.ends_with(".md") {
            problems.extend(links::check(file, &content, &files));
            problems.extend(forbidden.check_text(file, &content));
        }
        lengths.extend(length::measure(file, &content));
        programs += thin::measure(file, &content).unwrap_or_default();
    }
    problems.extend(length::check(&lengths)?);
    problems.extend(thin::check(programs));
    problems.extend(spread.check());
    steps::report("tidy", &format!("{} files", files.len()), &problems)
}

fn check_name(file: &str) -> Option<String> {
    if file.ends_with("/mod.rs") {
        return Some(format!("{file}: a module `x` is in `x.rs`, next to its folder"));
    }
    let stems = file.split('/').map(|part| part.split('.').next().unwrap_or(part));
    let empty = stems.into_iter().find(|stem| is_empty_name(stem))?;
    Some(format!("{file}: `{empty}` does not say what is inside"))
}

fn is_empty_name(name: &str) -> bool {
    EMPTY_NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_inside() {
        for bad in ["a/mod.rs", "a/utils.rs", "a/common/b.rs", "helpers.py", "web/data/x.ts"] {
            assert!(check_name(bad).is_some(), "{bad}");
        }
        for good in ["a/model.rs", "a/database.rs", "a/commons.rs", ".gitignore", "Makefile"] {
            assert_eq!(check_name(good), None, "{good}");
        }
    }
}
