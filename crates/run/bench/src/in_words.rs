//! Plans and testbeds, as people read them.

use crate::numbers::counted;
use crate::plan_files::Source;
use guestright_experiment::{Plan, SettingInfo, Testbed};
use std::fmt::Write as _;

/// How long a line of text gets, in characters.
const WIDTH: usize = 110;

/// A plan: its title and question, and how much there is of it.
#[must_use]
pub fn plan(source: &Source, plan: &Plan) -> String {
    let mut text = format!("{}: {}\n", source.name, plan.title());
    paragraph(plan.question(), &mut text);
    let (quick, full) = (plan.quick().run_count(), plan.run_count());
    let (testbed, full, claims) =
        (plan.testbed().name(), counted(full, "run"), counted(plan.claims(), "claim"));
    let _ = writeln!(text, "    testbed {testbed}, {full}, {quick} with --quick, {claims}");
    text
}

/// A testbed: what can be set, and what is measured.
#[must_use]
pub fn testbed(testbed: &dyn Testbed) -> String {
    let mut text = format!("{}\n", testbed.name());
    paragraph(testbed.describe(), &mut text);
    text += "  settings\n";
    for info in testbed.settings() {
        let _ = writeln!(text, "    {} = {}{}", info.name, default(info), unit(info.unit));
        let _ = writeln!(text, "        {} ({})", info.about, info.wanted());
    }
    text += "  metrics\n";
    for metric in testbed.metrics() {
        let _ = writeln!(text, "    {}{}\n        {}", metric.name, unit(metric.unit), metric.about);
    }
    text
}

/// The default as a plan would have it.
fn default(info: &SettingInfo) -> String {
    let value = info.default();
    match value.kind() {
        "text" => format!("{:?}", value.to_string()),
        _ => value.to_string(),
    }
}

fn unit(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" [{unit}]") }
}

/// Text in lines of a length that can be read, with a margin.
fn paragraph(words: &str, text: &mut String) {
    let mut line = String::new();
    for word in words.split_whitespace() {
        if !line.is_empty() && line.chars().count() + word.chars().count() + 5 > WIDTH {
            let _ = writeln!(text, "   {line}");
            line.clear();
        }
        line.push(' ');
        line.push_str(word);
    }
    if !line.is_empty() {
        let _ = writeln!(text, "   {line}");
    }
}
