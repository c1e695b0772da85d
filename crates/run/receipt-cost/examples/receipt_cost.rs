//! Prints what receipts cost the processor that runs it, as JSON; the argument is how often each time is taken (21).
//!
//! `cargo xtask router --receipts PROCESSOR` builds it for a router's processor and for this computer's.

#![expect(clippy::print_stdout, reason = "a program for another program to read")]

use guestright_receipt_cost::{in_json, measure, suites};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let samples = std::env::args().nth(1).map_or(Ok(21), |word| word.parse())?;
    let costs = suites().iter().map(|suite| measure(*suite, samples)).collect::<Result<Vec<_>, _>>()?;
    println!("{}", in_json(&costs));
    Ok(())
}
