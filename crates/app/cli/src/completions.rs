//! The commands that both programs have: completions and manual pages, from the command line as data.

use crate::failure::Outcome;
use crate::output::Output;
use guestright_error::OrFail as _;
use std::path::PathBuf;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright completions bash > /etc/bash_completion.d/guestright
  guestright-lab completions bash > /etc/bash_completion.d/guestright-lab")]
pub struct Completions {
    /// Which shell
    shell: clap_complete::Shell,
}

impl Completions {
    /// Prints those of a program.
    ///
    /// # Errors
    /// None; whoever does not read to the end ends the program.
    pub fn run(self, mut program: clap::Command, out: &mut Output) -> Outcome {
        let name = program.get_name().to_owned();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, name, &mut script);
        // It panics where nobody reads to the end.
        Ok(out.write_all(&script)?)
    }
}

/// Write the manual pages into a directory
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright manual /usr/local/share/man/man1
  guestright-lab manual /usr/local/share/man/man1")]
pub struct Manual {
    /// An existing directory
    directory: PathBuf,
}

impl Manual {
    /// Writes those of a program: one for each command that is not hidden.
    ///
    /// # Errors
    /// If the directory is not there, or a page cannot be written.
    pub fn run(self, program: clap::Command, out: &mut Output) -> Outcome {
        clap_mangen::generate_to(program, &self.directory).or_config(|| {
            format!(
                "write manual pages to {}, which must be a directory that is there",
                self.directory.display()
            )
        })?;
        writeln!(out, "wrote the manual pages to {}", self.directory.display())?;
        Ok(())
    }
}
