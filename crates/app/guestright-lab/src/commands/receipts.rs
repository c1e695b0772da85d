//! `guestright-lab receipts`: paper A's Table 1, measured on this computer.

use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_receipt_cost::{ReceiptCost, in_json, measure, suites, text};

/// Measure what signing and verifying a receipt costs this computer, beside paper A's Table 1
///
/// The member's device signs, the access point verifies. The paper's suites (RSA with 1024 and 2048 bits, ECDSA on
/// secp160r1 and secp224r1) are in programs that were built with the feature legacy-suites; those that are used today are in
/// all. Times are those of one thread on the processor, whatever else runs; each is the median of the samples. The paper's
/// are of a router with a 200 MHz MIPS processor, so ratios compare and times do not.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab receipts
  guestright-lab receipts --samples 101 --json")]
pub(crate) struct Receipts {
    /// How often each time is taken
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    samples: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Receipts {
    pub(super) fn run(&self, out: &mut Output) -> Outcome {
        let cost = |suite: &_| measure(*suite, self.samples).map_err(Failure::bug);
        let costs: Vec<ReceiptCost> = suites().iter().map(cost).collect::<Result<_, _>>()?;
        if self.json {
            writeln!(out, "{}", in_json(&costs))?;
        } else {
            write!(out, "{}", text(&costs))?;
        }
        Ok(())
    }
}
