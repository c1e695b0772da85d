//! Where the instructions of a hot path go: a flame graph of a path of `guard/`.
//!
//! Callgrind keeps the callers of each function apart, up to [`CALLERS`] of them, so that what it writes is a list of stacks with what
//! each cost. The graph is an SVG that a browser shows, and `.folded` is the same for other tools.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use crate::guard;
use crate::workspace;

const FOLDER: &str = "target/profile";
const ROUNDS: &str = "25";
/// Deeper stacks lose their roots.
const CALLERS: &str = "--separate-callers=32";
/// What takes less than this part of all is left out.
const SHARE_MIN: f64 = 0.001;
/// In units of the picture.
const WIDTH: f64 = 1_200.0;
const ROW: f64 = 17.0;
/// A letter of the font is about so wide.
const LETTER: f64 = 6.6;

/// A function, called by those above it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Frame {
    /// With all that it calls.
    cost: u64,
    calls: BTreeMap<String, Frame>,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let program = guard::build()?;
    let paths = guard::paths(&program)?;
    let [path] = arguments else { bail!("profile takes one path of {}", paths.join(", ")) };
    ensure!(paths.contains(path), "there is no path {path}, but {}", paths.join(", "));
    let folder = workspace::root().join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("make {FOLDER}"))?;
    let out = folder.join(format!("{path}.callgrind"));
    let mut command = Command::new("valgrind");
    command.args([
        "--tool=callgrind",
        "--compress-strings=no",
        "--compress-pos=no",
        "--dump-line=no",
        CALLERS,
    ]);
    command.arg(format!("--callgrind-out-file={}", out.display()));
    command.arg(&program).args([path, ROUNDS]).stdin(Stdio::null());
    let output = command.output().context("start valgrind")?;
    ensure!(output.status.success(), "valgrind failed:\n{}", String::from_utf8_lossy(&output.stderr));
    let stacks = stacks(&fs::read_to_string(&out).with_context(|| format!("read {}", out.display()))?);
    ensure!(!stacks.is_empty(), "{} has no costs in it", out.display());
    let folded: String = stacks.iter().map(|(stack, cost)| format!("{} {cost}\n", stack.join(";"))).collect();
    for (end, text) in [("folded", folded), ("svg", svg(path, &tree(&stacks)))] {
        let file = folder.join(format!("{path}.{end}"));
        fs::write(&file, text).with_context(|| format!("write {}", file.display()))?;
        println!("{FOLDER}/{path}.{end}");
    }
    Ok(())
}

/// What each stack cost by itself, root first, from what Callgrind has written.
fn stacks(text: &str) -> BTreeMap<Vec<String>, u64> {
    let mut stacks = BTreeMap::new();
    let (mut stack, mut is_of_a_call) = (Vec::new(), false);
    for line in text.lines() {
        if let Some(names) = line.strip_prefix("fn=") {
            stack = names.split('\'').rev().map(str::to_owned).collect();
        } else if line.starts_with("calls=") {
            // The next line is what the call cost, which stands where it was spent as well.
            is_of_a_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let cost = line.split_whitespace().nth(1).and_then(|cost| cost.parse::<u64>().ok());
            if let (Some(cost), false) = (cost, is_of_a_call) {
                *stacks.entry(stack.clone()).or_default() += cost;
            }
            is_of_a_call = false;
        }
    }
    stacks
}

fn tree(stacks: &BTreeMap<Vec<String>, u64>) -> Frame {
    let mut root = Frame::default();
    for (stack, cost) in stacks {
        let mut frame = &mut root;
        frame.cost += cost;
        for name in stack {
            frame = frame.calls.entry(name.clone()).or_default();
            frame.cost += cost;
        }
    }
    root
}

#[expect(clippy::cast_precision_loss, reason = "a picture is not that exact")]
fn svg(path: &str, root: &Frame) -> String {
    let depth = depth(root, root.cost as f64 * SHARE_MIN);
    let height = ROW * (depth as f64 + 2.0);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"monospace\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"4\" y=\"13\">{path}: {} instructions, with what prepares it</text>",
        root.cost
    );
    draw(&mut out, root, root.cost as f64, 0.0, 0);
    out.push_str("</svg>\n");
    out
}

#[expect(clippy::cast_precision_loss, reason = "a picture is not that exact")]
fn depth(frame: &Frame, cost_min: f64) -> usize {
    let shown = frame.calls.values().filter(|called| called.cost as f64 >= cost_min);
    shown.map(|called| 1 + depth(called, cost_min)).max().unwrap_or(0)
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a picture"
)]
fn draw(out: &mut String, frame: &Frame, all: f64, left: f64, row: usize) {
    let mut left = left;
    for (name, called) in &frame.calls {
        let share = called.cost as f64 / all;
        if share < SHARE_MIN {
            continue;
        }
        let (width, top) = (share * WIDTH, ROW * (row as f64 + 1.0) + 4.0);
        // The same function has the same colour everywhere.
        let hue = name.bytes().fold(0_u32, |sum, byte| (sum * 31 + u32::from(byte)) % 50) + 10;
        let name = escaped(name);
        let room = ((width - 4.0) / LETTER) as usize;
        let label: String = if room > 2 { name.chars().take(room).collect() } else { String::new() };
        // An entity that was cut is none.
        let label =
            label.rfind('&').filter(|at| !label[*at..].contains(';')).map_or(&*label, |at| &label[..at]);
        let _ = writeln!(
            out,
            "<g><title>{name}: {} ({:.1} %)</title><rect x=\"{left:.2}\" y=\"{top}\" width=\"{width:.2}\" height=\"{:.0}\" \
             fill=\"hsl({hue},80%,72%)\" stroke=\"#fff\" stroke-width=\"0.5\"/><text x=\"{:.2}\" y=\"{}\">{label}</text></g>",
            called.cost,
            share * 100.0,
            ROW - 1.0,
            left + 2.0,
            top + 12.0,
        );
        draw(out, called, all, left, row + 1);
        left += width;
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str = "\
events: Ir

fl=a.rs
fn=main
0 10
cfn=seal'main
calls=2 0
0 90

fn=seal'main
0 30
fi=b.rs
0 5
cfn=aes<u8>'seal'main
calls=1 0
0 55

fn=aes<u8>'seal'main
0 55
";

    #[test]
    fn a_call_counts_where_it_was_spent_and_once() {
        let stacks = stacks(WRITTEN);
        let folded: Vec<_> = stacks.iter().map(|(stack, cost)| (stack.join(";"), *cost)).collect();
        let want = [("main", 10), ("main;seal", 35), ("main;seal;aes<u8>", 55)];
        assert_eq!(folded, want.map(|(stack, cost)| (stack.to_owned(), cost)));
        let root = tree(&stacks);
        assert_eq!((root.cost, root.calls["main"].calls["seal"].cost), (100, 90));
    }

    #[test]
    fn the_graph_has_each_function_as_wide_as_its_share_and_is_xml() {
        let svg = svg("seal", &tree(&stacks(WRITTEN)));
        assert!(svg.contains("aes&lt;u8&gt;: 55 (55.0 %)") && svg.contains("width=\"660.00\""), "{svg}");
        assert_eq!(svg.matches("<rect").count(), 4, "{svg}");
    }
}
