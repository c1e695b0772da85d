//! Lines of `scripted.csv`, and whether our senders do the same.

use super::agents::Agent;
use super::chain;
use super::script::{Script, Trace, scripts};
use super::verdict::{Finding, JUDGE};
use std::fmt::Write;

/// How far apart counts may be: relative.
const COUNTS: f64 = 0.01;
/// How far apart the first recovery may be, in milliseconds.
const RECOVERY_MS: f64 = 1.0;
/// Times that are this near in microseconds are the same: what ns-2 prints has six digits.
const SAME_US: u64 = 2;

/// What ns-2 did in a script.
#[derive(Clone, Debug)]
pub(crate) struct Theirs {
    pub(crate) script: Script,
    pub(crate) agent: Agent,
    /// What it did.
    pub(crate) trace: Trace,
}

/// Reads lines: `script,agent,` and a [`Trace`]. Lines that begin with `#` are passed over.
///
/// # Errors
///
/// Says which line is none.
pub(crate) fn parse(text: &str) -> Result<Vec<Theirs>, String> {
    let scripts = scripts()?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#') && !line.is_empty());
    let theirs = |line: &str| {
        let (name, rest) = line.split_once(',')?;
        let (agent, rest) = rest.split_once(',')?;
        let script = scripts.iter().find(|script| script.name == name)?.clone();
        Some(Theirs { script, agent: Agent::named(agent)?, trace: Trace::parse(rest)? })
    };
    lines.map(|(number, line)| theirs(line).ok_or_else(|| format!("line {number} is no trace"))).collect()
}

/// Runs them all. What must agree, and a table of where traces part.
///
/// # Errors
///
/// If a script cannot be run.
pub(crate) fn compare(all: &[Theirs]) -> Result<(Vec<Finding>, String), String> {
    let mut findings = Vec::new();
    let mut table = format!("{:32} {:>15} {:>15}   packets sent until they part\n", "", "sent", "again");
    for theirs in all {
        let ours = chain::run(theirs.agent, &theirs.script)?;
        let (sent, again) = (theirs.trace.sends.len(), theirs.trace.again().count());
        let until = ours.parts_from(&theirs.trace, SAME_US);
        let until = until.map_or_else(|| "all".to_owned(), |number| number.to_string());
        let name = format!("{}, {}", theirs.script.name, theirs.agent);
        let (our_sent, our_again) = (ours.sends.len(), ours.again().count());
        writeln!(table, "{name:32} {sent:>7} {our_sent:>7} {again:>7} {our_again:>7}   {until}")
            .map_err(|error| error.to_string())?;
        findings.extend(findings_of(&name, &theirs.trace, &ours));
    }
    Ok((findings, table))
}

#[expect(clippy::cast_precision_loss, reason = "counts and microseconds are far below 2^52")]
fn findings_of(name: &str, theirs: &Trace, ours: &Trace) -> Vec<Finding> {
    let label = |what: &str| format!("{name}: {what}");
    let count = |what: &str, theirs: u64, ours: u64| {
        Finding::relative(JUDGE, label(what), theirs as f64, ours as f64, COUNTS)
    };
    let [their_again, our_again] = [theirs, ours].map(|trace| trace.again().count() as u64);
    let mut findings = vec![
        count("packets sent", theirs.sends.len() as u64, ours.sends.len() as u64),
        count("packets heard", theirs.arrived, ours.arrived),
        count("packets sent again", their_again, our_again),
    ];
    // One that never comes is far from any that does.
    let ms = |at: Option<u64>| at.map_or(-1e6, |micros| micros as f64 / 1e3);
    let mut recovery = |what: &str, theirs: Option<u64>, ours: Option<u64>| {
        findings.push(Finding::absolute(JUDGE, label(what), ms(theirs), ms(ours), RECOVERY_MS));
    };
    let [their_first, our_first] = [theirs, ours].map(|trace| trace.first_again().map(|(at, _)| at));
    recovery("first sent again, ms", their_first, our_first);
    recovery("that acknowledged, ms", theirs.again_acknowledged, ours.again_acknowledged);
    findings
}
