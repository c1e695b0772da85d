//! Plans of experiments.

use crate::seeds::Seed;
use guestright_experiment::Plan;

/// A plan: what is read knows its name, and every mistake is told.
pub fn plan(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match Plan::parse(&text, guestright_world::testbeds()) {
        Ok(plan) => assert!(text.contains(plan.name()), "{}", plan.name()),
        Err(error) => assert!(!error.mistakes.is_empty(), "refused, and nothing is wrong with it"),
    }
}

pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    let plans = [
        ("table", include_str!("../../experiments/paper-a/table-1.toml")),
        ("playout", include_str!("../../experiments/paper-d/playout-default.toml")),
        ("security", include_str!("../../experiments/paper-d/security-share.toml")),
    ];
    seeds.extend(plans.map(|(name, text)| ("plan", name.to_owned(), text.as_bytes().to_vec())));
}
