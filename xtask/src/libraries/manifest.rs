//! What crates.io asks of a manifest, and what we do.

use std::path::Path;

use serde_json::Value;

use super::{WANTED, all_names};
use crate::workspace::array;

/// crates.io takes at most so many keywords, and as many categories.
const KEYWORDS_MAX: usize = 5;

/// Letters of a keyword.
const KEYWORD_LEN_MAX: usize = 20;

/// Those of crates.io's categories (<https://crates.io/category_slugs>) that may be ours. It takes no others.
const CATEGORIES: [&str; 11] = [
    "algorithms",
    "authentication",
    "cryptography",
    "data-structures",
    "date-and-time",
    "encoding",
    "multimedia::audio",
    "network-programming",
    "parser-implementations",
    "science",
    "simulation",
];

/// What stands beside the manifest.
const FILES: [&str; 3] = ["README.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Features that need a library or a compiler of the system, which a builder of documentation may lack.
const FEATURES_OF_THE_SYSTEM: [&str; 2] = ["aws-lc", "legacy-suites"];

/// The only registry that they are for.
const REGISTRY: &str = "crates-io";

/// What is wrong, in sentences. `metadata` is what `cargo metadata --no-deps` prints.
pub(super) fn check(metadata: &Value, is_file: &dyn Fn(&Path) -> bool) -> Vec<String> {
    let packages = array(&metadata["packages"]);
    let find = |name: &str| packages.iter().find(|package| package["name"] == name);
    let mut problems = Vec::new();
    for name in all_names() {
        let Some(package) = find(name) else {
            problems.push(format!("{name}: there is no such package"));
            continue;
        };
        let mut found = check_fields(package);
        found.extend(check_words(package));
        found.extend(check_files(package, is_file));
        found.extend(check_dependencies(package, packages));
        if WANTED.contains(&name) && !has_example(package) {
            found.push("it has no example".to_owned());
        }
        problems.extend(found.into_iter().map(|problem| format!("{name}: {problem}")));
    }
    for package in packages {
        let name = text(package, "name");
        if !all_names().any(|published| published == name) && !is_private(package) {
            problems.push(format!(
                "{name}: it could be published, and is not on the list; say `publish = false`"
            ));
        }
    }
    problems
}

fn check_fields(package: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    if package["publish"] != serde_json::json!([REGISTRY]) {
        problems.push(format!(
            "say `publish = [\"{REGISTRY}\"]`, so that it is published there and nowhere else"
        ));
    }
    for field in ["description", "license", "rust_version", "readme"] {
        if text(package, field).is_empty() {
            problems.push(format!("it has no {}", field.replace('_', "-")));
        }
    }
    let documentation = format!("https://docs.rs/{}", text(package, "name"));
    if text(package, "documentation") != documentation {
        problems.push(format!("its documentation is at {documentation}"));
    }
    for field in ["repository", "homepage"] {
        if text(package, field).contains("example.") {
            problems.push(format!("its {field} is no real address; leave it out until there is one"));
        }
    }
    let features = package["features"].as_object();
    let has = |feature: &&str| features.is_some_and(|features| features.contains_key(*feature));
    if package["metadata"]["docs"]["rs"]["all-features"] == true
        && let Some(feature) = FEATURES_OF_THE_SYSTEM.iter().find(|feature| has(feature))
    {
        problems.push(format!("docs.rs is to build all features, and {feature} needs what it may lack"));
    }
    problems
}

/// Keywords and categories: crates.io refuses the upload for a wrong one.
fn check_words(package: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    for field in ["keywords", "categories"] {
        let words = array(&package[field]);
        if !(1..=KEYWORDS_MAX).contains(&words.len()) {
            problems.push(format!("it has {} {field}; 1 to {KEYWORDS_MAX} are allowed", words.len()));
        }
        for word in words.iter().filter_map(Value::as_str) {
            let is_good = if field == "keywords" { is_keyword(word) } else { CATEGORIES.contains(&word) };
            if !is_good {
                problems.push(format!("crates.io does not take `{word}` among its {field}"));
            }
        }
    }
    problems
}

fn is_keyword(word: &str) -> bool {
    word.len() <= KEYWORD_LEN_MAX
        && word.starts_with(|letter: char| letter.is_ascii_alphanumeric())
        && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-+".contains(letter))
}

fn check_files(package: &Value, is_file: &dyn Fn(&Path) -> bool) -> Vec<String> {
    let Some(folder) = Path::new(text(package, "manifest_path")).parent() else {
        return vec!["it has no folder".to_owned()];
    };
    let missing = FILES.iter().filter(|file| !is_file(&folder.join(file)));
    missing.map(|file| format!("{file} is not beside its manifest")).collect()
}

/// Whoever installs it needs its dependencies from crates.io. What only its tests need may be ours alone, if the manifest names
/// no version of it: then Cargo leaves it out of the package.
fn check_dependencies(package: &Value, packages: &[Value]) -> Vec<String> {
    let mut problems = Vec::new();
    for dependency in array(&package["dependencies"]) {
        let (name, has_version) = (text(dependency, "name"), text(dependency, "req") != "*");
        let Some(ours) = packages.iter().find(|package| package["name"] == name) else {
            if dependency["path"].is_string() || text(dependency, "source").starts_with("git+") {
                problems.push(format!("{name} is not on crates.io"));
            }
            continue;
        };
        let is_published = all_names().any(|published| published == name);
        let is_dev = dependency["kind"] == "dev";
        if is_published && !has_version && !is_dev {
            problems.push(format!("it names no version of {name}; say `version` beside `path`"));
        }
        if is_published && has_version && !fits(text(dependency, "req"), text(ours, "version")) {
            let (got, want) = (text(dependency, "req"), text(ours, "version"));
            problems.push(format!("it wants {name} {got}, which is at {want}"));
        }
        if !is_published && (has_version || !is_dev) {
            problems.push(format!("it depends on {name}, which is not published"));
        }
    }
    problems
}

/// Whether the requirement names exactly this version: all of them have one number, and go up together.
fn fits(requirement: &str, version: &str) -> bool {
    requirement.trim_start_matches(['^', '=']).trim() == version
}

fn has_example(package: &Value) -> bool {
    array(&package["targets"])
        .iter()
        .any(|target| array(&target["kind"]).iter().any(|kind| kind == "example"))
}

fn is_private(package: &Value) -> bool {
    package["publish"].as_array().is_some_and(Vec::is_empty)
}

/// A field that is text; anything else is none.
fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
