//! What receipts cost a processor, suite by suite.
//!
//! In: a suite of signatures, and how often it is measured. Out: [`ReceiptCost`], the time of a thread for signing and for
//! verifying one receipt, as text ([`text`]) or JSON ([`in_json`]) beside paper A's Table 1. [`time_us`] is the clock of that,
//! and of other work's cost.
//!
//! It is a crate of its own because it has to be built for a router's processor, where the rest of the laboratory does not
//! go: `cargo xtask router --receipts PROCESSOR` runs the example `receipt_cost` there and here.

mod measure;
mod stopwatch;
mod table;

pub use measure::{ReceiptCost, Sample, measure, suites};
pub use stopwatch::time_us;
pub use table::{in_json, text};
