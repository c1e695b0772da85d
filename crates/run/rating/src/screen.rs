//! What is shown while an interface is watched: a screen for people, lines of JSON for programs.

use crate::line::{self, Line};
use crate::tally::{Now, Tally};
use guestright_capture::Report;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// More streams are not shown at once: the worst are.
const ROWS_MAX: usize = 20;
/// The cursor to the first line, and nothing behind it (ECMA-48: CUP, ED).
const CLEAR: &str = "\u{1b}[H\u{1b}[J";

fn active(interface: &str, report: &Report) -> Vec<Line> {
    let streams = report.streams.iter().enumerate();
    let mut active: Vec<Line> =
        streams.flat_map(|(number, stream)| line::lines(interface, number, stream)).collect();
    line::sort_worst_first(&mut active);
    active
}

/// A screen.
pub fn look(interface: &str, report: &Report, tally: &Tally, now: &Now) -> String {
    let mut active = active(interface, report);
    let left_out = active.len().saturating_sub(ROWS_MAX);
    active.truncate(ROWS_MAX);
    let mut out = format!(
        "{CLEAR}{interface}: {} packets of UDP, {} {} now; ended: {}. Ctrl-C ends.\n",
        report.counts.packets,
        now.active,
        if now.active == 1 { "stream" } else { "streams" },
        tally.to_text()
    );
    if now.own_drops > 0 {
        let _ = writeln!(
            out,
            "{} packets were dropped by this computer before they were looked at: not the network's loss",
            now.own_drops
        );
    }
    out.push('\n');
    out.push_str(&line::table(&active));
    if left_out > 0 {
        let _ = writeln!(out, " and {left_out} more that are no worse");
    }
    out
}

/// One line: the counts, and all streams that go on, worst first.
pub fn look_json(interface: &str, report: &Report, tally: &Tally, now: &Now) -> Value {
    let streams: Vec<Value> = active(interface, report).iter().map(Line::to_json).collect();
    json!({
        "event": "now",
        "last": report.counts.last.map(|at| at.to_string()),
        "packets": report.counts.packets,
        "own_drops": now.own_drops,
        "ended": tally.streams,
        "streams": streams,
    })
}

/// One line for a stream that has ended.
pub fn ended_json(line: &Line) -> Value {
    json!({ "event": "ended", "stream": line.to_json() })
}
