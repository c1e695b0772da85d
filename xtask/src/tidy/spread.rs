//! In how many files the methods of one type stand.
//!
//! A machine whose `impl` is cut into many files shares every field between all of them, and its reader hunts for them.
//! It stands whole in one file, or what has a state or a timeout of its own becomes a part with its own fields.

use std::collections::{BTreeMap, BTreeSet};

/// Inherent `impl` blocks of one type may stand in so many files.
const FILES_MAX: usize = 3;

/// What the crates of the workspace define, and of what they implement methods.
#[derive(Debug, Default)]
pub(super) struct Spread {
    crates: BTreeMap<String, Crate>,
}

#[derive(Debug, Default)]
struct Crate {
    /// For each name of a type, the files that define one.
    defined: BTreeMap<String, BTreeSet<String>>,
    /// For each name of a type, the files with methods of one.
    implemented: BTreeMap<String, BTreeSet<String>>,
}

impl Spread {
    /// Takes in a Rust file; `code` is its text without comments and literals.
    pub(super) fn read(&mut self, file: &str, code: &str) {
        let Some((krate, module)) = file.split_once("/src/") else { return };
        if module.split('/').any(|part| matches!(part, "tests" | "tests.rs")) {
            return;
        }
        let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or(code);
        let krate = self.crates.entry(krate.to_owned()).or_default();
        for line_start in line_starts(code) {
            let line = line_start.trim_start();
            if let Some(name) = defined_type(line) {
                krate.defined.entry(name.to_owned()).or_default().insert(module.to_owned());
            }
            if let Some(name) = implemented_type(line) {
                krate.implemented.entry(name.to_owned()).or_default().insert(module.to_owned());
            }
        }
    }

    pub(super) fn check(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for (krate, found) in &self.crates {
            for (name, owner, files) in found.types() {
                if files.len() <= FILES_MAX {
                    continue;
                }
                let files: Vec<&str> = files.into_iter().collect();
                problems.push(format!(
                    "{krate}/src/{owner}: the methods of `{name}` stand in {} files, at most {FILES_MAX}: {}",
                    files.len(),
                    files.join(", ")
                ));
            }
        }
        problems
    }
}

impl Crate {
    /// Each type with its name, the file that defines it, and the files with methods of it.
    fn types(&self) -> Vec<(&str, &str, BTreeSet<&str>)> {
        let mut types: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
        for (name, files) in &self.implemented {
            for file in files {
                // A type of another crate has no methods of ours, so this finds one.
                let Some(owner) = self.owner(name, file) else { continue };
                types.entry((name, owner)).or_default().insert(file);
            }
        }
        types.into_iter().map(|((name, owner), files)| (name, owner, files)).collect()
    }

    /// Of the files that define a type called `name`, the one that is meant in `file`: the file itself, or the one that
    /// shares most of its path. Two modules often have a `Config` each.
    fn owner(&self, name: &str, file: &str) -> Option<&str> {
        let defined = self.defined.get(name)?;
        if let Some(own) = defined.get(file) {
            return Some(own);
        }
        let parts = |path: &str| -> Vec<String> {
            path.trim_end_matches(".rs").split('/').map(str::to_owned).collect()
        };
        let file = parts(file);
        let shared = |other: &String| file.iter().zip(parts(other)).take_while(|(a, b)| **a == *b).count();
        // The last one of equals is as good as any: their modules do not nest.
        defined.iter().max_by_key(|other| shared(other)).map(String::as_str)
    }
}

/// The rest of `code` from the start of each line.
fn line_starts(code: &str) -> impl Iterator<Item = &str> {
    std::iter::once(code).chain(code.match_indices('\n').map(|(at, _)| &code[at + 1..]))
}

/// The name in `pub(crate) struct Name…`, if that is what the line defines.
fn defined_type(line: &str) -> Option<&str> {
    let mut item = line;
    if let Some(after) = item.strip_prefix("pub") {
        item = after.trim_start();
        if item.starts_with('(') {
            item = item.split_once(')')?.1.trim_start();
        }
    }
    let item = ["struct ", "enum ", "union "].iter().find_map(|word| item.strip_prefix(word))?;
    first_name(item)
}

/// The name of the type in `impl<…> path::Name<…> {`; nothing for implementations of traits.
fn implemented_type(line: &str) -> Option<&str> {
    let head = line.strip_prefix("impl").filter(|rest| rest.starts_with(['<', ' ', '\n']))?;
    let head = without_generics(head.trim_start());
    let head = head.split(['{', ';']).next()?.trim();
    // `for<'a>` only stands in bounds, after `where` or within the generics that are gone.
    let head = head.split(" where").next()?.split("\nwhere").next()?;
    if head.contains(" for ") {
        return None;
    }
    let path = head.split('<').next()?;
    first_name(path.rsplit("::").next()?)
}

/// What comes after `<…>` at the beginning of `text`, if that begins so.
fn without_generics(text: &str) -> &str {
    if !text.starts_with('<') {
        return text;
    }
    let mut depth = 0_usize;
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1, // The arrow of `Fn() -> T` closes nothing.
            _ => {}
        }
        if depth == 0 {
            return text[at + 1..].trim_start();
        }
        before = letter;
    }
    text
}

fn first_name(text: &str) -> Option<&str> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    (end > 0).then(|| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(files: &[(&str, &str)]) -> Spread {
        let mut spread = Spread::default();
        for (file, code) in files {
            spread.read(&format!("crates/pure/a/src/{file}"), code);
        }
        spread
    }

    #[test]
    fn finds_what_is_defined_and_implemented() {
        #[rustfmt::skip]
        let cases = [
            ("pub(super) struct A<T> {",                 Some("A"), None),
            ("enum B {",                                 Some("B"), None),
            ("impl A {",                                 None,      Some("A")),
            ("impl<T: Fn() -> u8> crate::x::A<T> {",     None,      Some("A")),
            ("impl<'a, C: Into<Vec<u8>>> A<'a, C>\nwhere\n    C: Copy,\n{", None, Some("A")),
            ("impl Debug for A {",                       None,      None),
            ("impl<T> From<T> for A {",                  None,      None),
            ("implement();",                             None,      None),
            ("let structure = 1;",                       None,      None),
        ];
        for (line, defined, implemented) in cases {
            assert_eq!((defined_type(line), implemented_type(line)), (defined, implemented), "{line}");
        }
    }

    #[test]
    fn four_files_are_too_many() {
        let three =
            [("m.rs", "pub struct M {\n}\nimpl M {\n}\n"), ("m/b.rs", "impl M {}"), ("m/c.rs", "impl M {}")];
        assert_eq!(spread(&three).check(), [""; 0]);
        let four = [&three[..], &[("m/d.rs", "use super::M;\nimpl M {}")]].concat();
        let problems = spread(&four).check();
        assert!(matches!(&problems[..], [one] if one.contains("`M` stand in 4 files")), "{problems:?}");
    }

    #[test]
    fn types_of_one_name_are_told_apart_and_tests_do_not_count() {
        let config = "pub struct Config {\n}\nimpl Config {\n}\n";
        let own: Vec<_> = ["a.rs", "b.rs", "c.rs", "d.rs"].map(|file| (file, config)).to_vec();
        assert_eq!(spread(&own).check(), [""; 0]);
        // Two files for each of two types.
        let near =
            [("a.rs", config), ("a/x.rs", "impl Config {}"), ("b.rs", config), ("b/x.rs", "impl Config {}")];
        assert_eq!(spread(&near).check(), [""; 0]);
        let tests = [
            ("a.rs", config),
            ("a/tests.rs", "impl Config {}"),
            ("a/tests/x.rs", "impl Config {}"),
            ("a/b.rs", "#[cfg(test)]\nmod tests {\nimpl Config {}\n}"),
            ("a/c.rs", "impl Config {}"),
            ("a/d.rs", "impl Config {}"),
        ];
        assert_eq!(spread(&tests).check(), [""; 0]);
    }
}
