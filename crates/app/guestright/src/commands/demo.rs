use crate::failure::Outcome;
use std::io::Write;
/// The whole community on this computer
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright demo")]
pub(crate) struct Demo {}
impl Demo {
    pub(crate) fn run(self, _out: &mut impl Write) -> Outcome {
        Ok(())
    }
}
