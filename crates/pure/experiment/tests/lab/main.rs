//! Plans, results, verdicts and reports, on a testbed whose numbers are known.

#![expect(clippy::unwrap_used, reason = "tests end where something is not as it should be")]

mod bands;
mod claims;
mod comparison;
mod edges;
mod escaping;
mod invariants;
mod maps;
mod measures;
mod mistakes;
mod pages;
mod pictures;
mod plans;
mod properties;
mod reading;
mod report;
mod scopes;
mod settings;
mod tables;
mod testbed;
mod verdicts;
