use crate::study_program;
use guestright_cli::failure::Outcome;
use std::ffi::OsString;

/// Run one end of a tunnel by itself (program guestright-lab)
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "Example:
  guestright tunnel --help
  guestright tunnel wireguard --config home.conf --interface wg0"
)]
pub(crate) struct Tunnel {
    /// What `guestright-lab tunnel` is told
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

impl Tunnel {
    /// `log`: what this program was told about its log, for the other one.
    pub(crate) fn run(self, log: Vec<OsString>) -> Outcome {
        Err(study_program::hand_over(log.into_iter().chain(["tunnel".into()]).chain(self.arguments)))
    }
}
