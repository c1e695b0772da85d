//! Whether a hot path takes more instructions than it did: valgrind counts them, so a busy computer changes nothing.
//!
//! A path is done [`ROUNDS`] times and twice as often; the difference is what a round costs, without what prepares it. The counts that
//! are expected stand in [`BASELINE`]. Whoever changes one by more than [`TOLERANCE`] writes the new one there (`--bless`), and says
//! why in the commit.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::steps::{cargo, is_installed, messages};
use crate::workspace;

const BASELINE: &str = "guard/baseline.toml";
const ROUNDS: u64 = 25;
/// By this part a count may differ.
const TOLERANCE: f64 = 0.03;
/// What the ciphers look for: with others they take other ways.
const PROCESSOR: [&str; 2] = ["aes", "avx2"];

const HEAD: &str = "\
# Instructions of a round of each hot path, as valgrind counts them (x86-64 with AES and AVX2, profile `guard`).
# `cargo xtask guard` compares, `cargo xtask guard --bless` writes this. A commit that changes a line says why.
";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    let program = build()?;
    match &words[..] {
        [] => compare(&program),
        ["--bless"] => bless(&program),
        ["--try"] => try_all(&program),
        other => bail!("guard takes --bless or --try, got `{}`", other.join(" ")),
    }
}

/// The program with the paths.
pub(crate) fn build() -> Result<PathBuf> {
    ensure!(is_installed("valgrind"), "valgrind is not installed: sh scripts/setup.sh all");
    let processor = fs::read_to_string("/proc/cpuinfo").context("read /proc/cpuinfo")?;
    for feature in PROCESSOR {
        let has = processor.split_whitespace().any(|word| word == feature);
        ensure!(
            has,
            "the counts are those of a processor with {}, and this one has no {feature}",
            PROCESSOR.join(" and ")
        );
    }
    let arguments =
        ["bench", "--profile", "guard", "--package", "guestright-guard", "--bench", "guard", "--no-run"];
    let messages = messages(&mut cargo(&arguments))?;
    let mut executables = messages.lines().filter_map(|message| {
        let message: Value = serde_json::from_str(message).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    });
    executables.next_back().context("Cargo built no program")
}

pub(crate) fn paths(program: &Path) -> Result<Vec<String>> {
    let output = Command::new(program).output().context("start the guard's program")?;
    let names = String::from_utf8(output.stdout).context("names of paths")?;
    let names: Vec<_> = names.lines().map(str::to_owned).collect();
    ensure!(output.status.success() && !names.is_empty(), "the guard's program lists no paths");
    Ok(names)
}

/// Instructions of so many rounds of a path, with what prepares them.
fn count(program: &Path, path: &str, rounds: u64) -> Result<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
    command.arg(program).args([path, &rounds.to_string()]).stdin(Stdio::null());
    let output = command.output().context("start valgrind")?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "valgrind or `{path}` failed:\n{text}");
    parse_count(&text).with_context(|| format!("valgrind has counted nothing:\n{text}"))
}

/// `==123== I   refs:      1,234,567`
fn parse_count(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains("refs:"))?;
    line.rsplit(' ').next()?.replace(',', "").parse().ok()
}

/// What a round costs, if `more` rounds cost what [`ROUNDS`] should.
fn round(program: &Path, path: &str, more: u64) -> Result<u64> {
    let [few, many] = [ROUNDS, ROUNDS + more].map(|rounds| count(program, path, rounds));
    Ok(many?.saturating_sub(few?) / ROUNDS)
}

fn baseline() -> Result<BTreeMap<String, u64>> {
    let text = fs::read_to_string(workspace::root().join(BASELINE)).context(BASELINE)?;
    parse_baseline(&text)
}

fn parse_baseline(text: &str) -> Result<BTreeMap<String, u64>> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (path, count) = line.split_once(" = ").with_context(|| format!("{BASELINE}: `{line}`"))?;
            let count = count.replace('_', "").parse();
            Ok((path.to_owned(), count.with_context(|| format!("{BASELINE}: `{line}`"))?))
        })
        .collect()
}

/// By which part it is more, or less if negative.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn change(expected: u64, got: u64) -> f64 {
    got as f64 / expected.max(1) as f64 - 1.0
}

fn compare(program: &Path) -> Result<()> {
    let expected = baseline()?;
    let paths = paths(program)?;
    let mut wrong: Vec<_> = expected.keys().filter(|path| !paths.contains(path)).cloned().collect();
    println!("{:<24} {:>12} {:>12}", "instructions of a round", "expected", "counted");
    for path in &paths {
        let got = round(program, path, ROUNDS)?;
        match expected.get(path) {
            Some(&expected) => {
                let change = change(expected, got);
                let mark = if change.abs() > TOLERANCE { "  CHANGED" } else { "" };
                println!("{path:<24} {expected:>12} {got:>12} {:>+7.2} %{mark}", change * 100.0);
                if !mark.is_empty() {
                    wrong.push(path.clone());
                }
            }
            None => {
                println!("{path:<24} {:>12} {got:>12}", "-");
                wrong.push(path.clone());
            }
        }
    }
    ensure!(
        wrong.is_empty(),
        "not as {BASELINE} has it: {}. Is it meant? Then `cargo xtask guard --bless`, and the commit says why",
        wrong.join(", ")
    );
    println!("guard: {} paths, none changed by more than {:.0} %", paths.len(), TOLERANCE * 100.0);
    Ok(())
}

fn bless(program: &Path) -> Result<()> {
    let mut text = HEAD.to_owned();
    for path in paths(program)? {
        text.push_str(&format!("{path} = {}\n", round(program, &path, ROUNDS)?));
    }
    fs::write(workspace::root().join(BASELINE), text).context(BASELINE)
}

/// Makes each path slower in turn, by a round in [`ROUNDS`], and looks whether that is seen.
fn try_all(program: &Path) -> Result<()> {
    let expected = baseline()?;
    let mut unseen = Vec::new();
    for path in paths(program)? {
        let slower = round(program, &path, ROUNDS + 1)?;
        let change =
            change(*expected.get(&path).with_context(|| format!("{path} is not in {BASELINE}"))?, slower);
        println!("{path:<24} a round more: {:>+7.2} %", change * 100.0);
        if change <= TOLERANCE {
            unseen.push(path);
        }
    }
    ensure!(unseen.is_empty(), "four per cent more were not seen: {}", unseen.join(", "));
    println!("guard: four per cent more are seen in each path");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valgrinds_count_is_read() {
        let text = "==7== Cachegrind, a cache and branch-prediction profiler\n==7== \n==7== I   refs:      4,281,907\n";
        assert_eq!(parse_count(text), Some(4_281_907));
        assert_eq!(parse_count("==7== error\n"), None);
    }

    #[test]
    fn a_baseline_is_read_and_a_bad_line_is_named() {
        let text = format!("{HEAD}esp-seal = 1_200\nrelay = 7\n");
        let read: Vec<_> = parse_baseline(&text).unwrap().into_iter().collect();
        assert_eq!(read, [("esp-seal".to_owned(), 1_200), ("relay".to_owned(), 7)]);
        assert!(parse_baseline("relay 7").unwrap_err().to_string().contains("relay 7"));
    }

    #[test]
    fn the_baseline_has_the_paths_that_there_are() {
        let folder = workspace::root().join("guard/benches/guard");
        let mut paths = std::collections::BTreeSet::new();
        for file in fs::read_dir(folder).unwrap() {
            let text = fs::read_to_string(file.unwrap().path()).unwrap();
            let Some((_, list)) = text.split_once("const PATHS") else { continue };
            let list = list.split_once("];").unwrap().0;
            paths.extend(list.split("(\"").skip(1).map(|rest| rest.split_once('"').unwrap().0.to_owned()));
        }
        assert_eq!(baseline().unwrap().into_keys().collect::<std::collections::BTreeSet<_>>(), paths);
    }

    #[test]
    fn three_in_a_hundred_are_the_most() {
        assert!(change(1_000, 1_030) <= TOLERANCE + 1e-9 && change(1_000, 1_031) > TOLERANCE);
        assert!(change(1_000, 969) < -TOLERANCE);
    }
}
