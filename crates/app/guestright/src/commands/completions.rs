use anyhow::Context;
use guestright_cli::failure::Outcome;
use std::io::Write;
use std::path::PathBuf;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright completions bash > /etc/bash_completion.d/guestright")]
pub(crate) struct Completions {
    /// Which shell
    shell: clap_complete::Shell,
}

impl Completions {
    pub(crate) fn run(self, out: &mut impl Write) -> Outcome {
        clap_complete::generate(self.shell, &mut crate::command_line(), "guestright", out);
        Ok(())
    }
}

/// Write the manual pages into a directory
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright manual /usr/local/share/man/man1")]
pub(crate) struct Manual {
    /// An existing directory
    directory: PathBuf,
}

impl Manual {
    pub(crate) fn run(self, out: &mut impl Write) -> Outcome {
        clap_mangen::generate_to(crate::command_line(), &self.directory).with_context(|| {
            format!(
                "write manual pages to {}, which must be a directory that is there",
                self.directory.display()
            )
        })?;
        writeln!(out, "wrote the manual pages to {}", self.directory.display())?;
        Ok(())
    }
}
