use crate::study_program;
use guestright_cli::failure::Outcome;
use std::ffi::OsString;

/// Measure: the experiments of the papers, in virtual time and on real networks (program guestright-lab)
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "Example:
  guestright lab --help
  guestright lab list
  guestright lab run paper-a paper-b --quick"
)]
pub(crate) struct Lab {
    /// What `guestright-lab` is told
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

impl Lab {
    /// `log`: what this program was told about its log, for the other one.
    pub(crate) fn run(self, log: Vec<OsString>) -> Outcome {
        Err(study_program::hand_over(log.into_iter().chain(self.arguments)))
    }
}
