//! What receipts cost a router's processor: in software, beside this computer's own and beside paper A's Table 1.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{Target, printed, run};
use crate::steps::{Done, execute};
use crate::workspace;

const PACKAGE: &str = "guestright-receipt-cost";
const EXAMPLE: &str = "receipt_cost";

/// How often each time is taken; the median counts.
const SAMPLES: &str = "41";

/// Builds the same program for both processors, with the flags of a router's, and prints what both measure.
pub(super) fn measure(target: Target, folder: &Path) -> Result<Done> {
    let here = Target::named(std::env::consts::ARCH)?;
    let (theirs, ours) = (build(target, folder)?, build(here, folder)?);
    let emulated = read(&printed(Command::new(run::emulator(target)).arg(theirs).arg(SAMPLES))?)?;
    let own = read(&printed(Command::new(ours).arg(SAMPLES))?)?;
    let suites = |costs: &[Cost]| costs.iter().map(|cost| cost.suite.clone()).collect::<Vec<_>>();
    ensure!(suites(&emulated) == suites(&own), "not the same suites: {emulated:?}, {own:?}");
    print!("{}", table(target.processor, &emulated, &own));
    Ok(Done::Passed)
}

fn build(target: Target, folder: &Path) -> Result<PathBuf> {
    let mut command = target.cargo("zigbuild", PACKAGE, &workspace::root(), folder);
    execute(command.args(["--example", EXAMPLE]))?;
    Ok(folder.join(target.triple).join("router/examples").join(EXAMPLE))
}

/// A suite's times of one thread, in µs.
#[derive(Clone, Debug, PartialEq)]
struct Cost {
    suite: String,
    sign_us: f64,
    verify_us: f64,
}

fn read(text: &str) -> Result<Vec<Cost>> {
    let json: Value = serde_json::from_str(text).context("parse what the example printed")?;
    let cost = |one: &Value| {
        let time = |name: &str| one[name].as_f64().with_context(|| format!("no {name} in {one}"));
        Ok(Cost {
            suite: one["suite"].as_str().context("a suite without a name")?.to_owned(),
            sign_us: time("sign_us")?,
            verify_us: time("verify_us")?,
        })
    };
    let costs: Vec<Cost> = workspace::array(&json["suites"]).iter().map(cost).collect::<Result<_>>()?;
    ensure!(!costs.is_empty(), "no suites in {json}");
    Ok(costs)
}

/// As Markdown: times, receipts a second, and how many times slower the processor in software is.
fn table(processor: &str, emulated: &[Cost], own: &[Cost]) -> String {
    let mut text = format!(
        "| | {processor} in QEMU, ms | a second | this computer, ms | a second | times slower |\n\
         | --- | --- | --- | --- | --- | --- |\n"
    );
    for (theirs, ours) in emulated.iter().zip(own) {
        for (work, slow, fast) in
            [("sign", theirs.sign_us, ours.sign_us), ("verify", theirs.verify_us, ours.verify_us)]
        {
            text.push_str(&format!(
                "| {} {work} | {:.3} | {:.0} | {:.4} | {:.0} | {:.1} |\n",
                theirs.suite,
                slow / 1e3,
                1e6 / slow,
                fast / 1e3,
                1e6 / fast,
                slow / fast
            ));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_become_rates_and_a_ratio() {
        let cost = |sign_us, verify_us| {
            let json = format!(
                r#"{{"suites": [{{"suite": "one", "sign_us": {sign_us}, "verify_us": {verify_us}}}]}}"#
            );
            read(&json).unwrap()
        };
        let text = table("mipsel", &cost(2_000.0, 4_000.0), &cost(100.0, 500.0));
        assert!(text.contains("| one sign | 2.000 | 500 | 0.1000 | 10000 | 20.0 |"), "{text}");
        assert!(text.contains("| one verify | 4.000 | 250 | 0.5000 | 2000 | 8.0 |"), "{text}");
        assert!(read(r#"{"suites": [{"suite": "one", "sign_us": 1.0}]}"#).is_err());
        assert!(read("{}").is_err());
        assert!(read("[").is_err());
    }
}
