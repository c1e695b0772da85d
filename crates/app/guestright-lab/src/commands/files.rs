//! What is printed of a folder of results.

use guestright_bench::folder::Finished;
use guestright_bench::verdicts;
use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use std::path::Path;

/// How much is printed of what was found, and with which exit code the program says it.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Printing {
    /// Print what was found as JSON
    #[arg(long, conflicts_with = "details")]
    json: bool,
    /// Print settings, tables and every number too, as they stand in the report
    #[arg(long)]
    details: bool,
    /// Which verdicts make the exit code 1
    #[arg(long, value_enum, value_name = "VERDICTS", default_value_t = FailOn::Unjudged)]
    fail_on: FailOn,
}

/// Which verdicts are a failure of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    /// None: the exit code says only whether there is a report
    Never,
    /// Those that could not be computed, as when runs are missing
    Unjudged,
    /// \"does not reproduce\"
    Contradicted,
    /// Both
    Any,
}

impl From<FailOn> for verdicts::FailOn {
    fn from(fail_on: FailOn) -> Self {
        let (unjudged, contradicted) = match fail_on {
            FailOn::Never => (false, false),
            FailOn::Unjudged => (true, false),
            FailOn::Contradicted => (false, true),
            FailOn::Any => (true, true),
        };
        Self { unjudged, contradicted }
    }
}

impl Printing {
    /// Whether somebody reads along.
    pub(super) const fn is_text(self) -> bool {
        !self.json
    }
}

/// Prints what was found, and says where it is. Fails on the verdicts that were named.
pub(super) fn show(folder: &Path, finished: &[Finished], printing: Printing, out: &mut Output) -> Outcome {
    if printing.json {
        writeln!(out, "{}", verdicts::in_json(folder, finished))?;
    } else {
        write!(out, "{}", verdicts::in_text(folder, finished, printing.details))?;
    }
    out.flush()?;
    Ok(verdicts::FailOn::from(printing.fail_on).check(finished)?)
}
