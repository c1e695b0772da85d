//! How many bytes the program has, and whose they are.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::printed;
use crate::steps::Done;

/// The most crates in the table; the rest is one line.
const ROWS_MAX: usize = 40;

/// Checks that the program is static and within its budget.
pub(super) fn check(program: &Path, budget: u64) -> Result<Done> {
    let segments =
        printed(Command::new("readelf").args(["--program-headers", "--dynamic", "--wide"]).arg(program))?;
    ensure!(!segments.contains("INTERP") && !segments.contains("(NEEDED)"), "it is not static:\n{segments}");
    let bytes = std::fs::metadata(program).with_context(|| format!("look at {}", program.display()))?.len();
    println!("{bytes} bytes, budget {budget}");
    within(bytes, budget)
}

fn within(bytes: u64, budget: u64) -> Result<Done> {
    ensure!(
        bytes <= budget,
        "the program has {bytes} bytes, {} more than its budget of {budget}: `cargo xtask router --table PROCESSOR` says whose they are, where the program has its symbols",
        bytes.saturating_sub(budget)
    );
    Ok(Done::Passed)
}

/// Prints whose the bytes of functions and constants with a name are, as Markdown. The program has its symbols.
pub(super) fn print_table(program: &Path) -> Result<Done> {
    let symbols = printed(Command::new("nm").args(["--print-size", "--demangle", "--radix=d"]).arg(program))?;
    let mut crates = BTreeMap::<String, u64>::new();
    for line in symbols.lines() {
        let mut fields = line.splitn(4, ' ');
        let (Some(_), Some(size), Some(kind), Some(name)) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let Ok(size) = size.parse::<u64>() else { continue };
        // `b`: memory that is nothing in the file.
        if kind.eq_ignore_ascii_case("b") {
            continue;
        }
        *crates.entry(owner(name).to_owned()).or_default() += size;
    }
    let mut rows: Vec<_> = crates.into_iter().collect();
    rows.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let all: u64 = rows.iter().map(|(_, bytes)| bytes).sum();
    println!("| crate | bytes | % |\n| --- | --- | --- |");
    let share = |bytes: u64| bytes * 1_000 / all.max(1);
    let row = |name: &str, bytes: u64| {
        println!("| {name} | {bytes} | {}.{} |", share(bytes) / 10, share(bytes) % 10);
    };
    rows.iter().take(ROWS_MAX).for_each(|(name, bytes)| row(name, *bytes));
    row("others", rows.iter().skip(ROWS_MAX).map(|(_, bytes)| bytes).sum());
    row("all that has a name", all);
    Ok(Done::Passed)
}

/// The crate in a demangled name: the first word of a path. C has no paths.
fn owner(name: &str) -> &str {
    if !name.contains("::") {
        return if name.starts_with("sqlite3") { "C: SQLite" } else { "C and assembly" };
    }
    let name = name.trim_start_matches(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    let name =
        ["dyn ", "mut ", "const "].iter().fold(name, |name, word| name.strip_prefix(word).unwrap_or(name));
    name.split("::").next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_over_the_budget_is_too_much() {
        assert!(within(4_500_000, 4_500_000).is_ok());
        let text = within(4_500_001, 4_500_000).err().unwrap().to_string();
        assert!(text.contains("4500001 bytes, 1 more than its budget of 4500000"), "{text}");
    }

    #[test]
    fn bytes_are_those_of_the_crate_whose_code_it_is() {
        assert_eq!(owner("tokio::runtime::Runtime::new"), "tokio");
        assert_eq!(owner("<clap_builder::Command as core::fmt::Debug>::fmt"), "clap_builder");
        assert_eq!(owner("<&mut toml::de::Deserializer as serde::Deserializer>::x"), "toml");
        assert_eq!(owner("sqlite3VdbeExec"), "C: SQLite");
        assert_eq!(owner("memcpy"), "C and assembly");
    }
}
