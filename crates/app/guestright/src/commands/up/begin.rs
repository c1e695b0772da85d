//! The first `up`: files are put where they stay, and the program is started, by systemd where that runs.

use crate::settings::{VisitSettings, beside, read};
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::files::PassphraseArgs;
use guestright_cli::output::Output;
use guestright_host::HomeAddress;
use guestright_host::visit::install::{self, MemberFiles};
use guestright_host::visit::{background, resident};
use std::path::{Path, PathBuf};
use tracing::level_filters::LevelFilter;

/// A member's files.
#[derive(Debug, clap::Args)]
pub(super) struct Files {
    /// Your secret key
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Your certificate; otherwise the file of your key's name that ends in .cert
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// WireGuard's configuration of the way home; otherwise the file of your key's name that ends in .conf
    #[arg(long, value_name = "FILE", requires = "key")]
    tunnel: Option<PathBuf>,
    /// Your team's home, by name or address; otherwise where the tunnel ends
    #[arg(long, value_name = "NAME[:PORT]", requires = "key")]
    home: Option<HomeAddress>,
}

impl Files {
    pub(super) fn are_given(&self) -> bool {
        self.key.is_some()
    }

    /// Copies the files beside the settings file, and writes that, unless it is there: then only what is said is changed.
    pub(super) fn put(&self, config: &Path, out: &mut Output) -> Result<HomeAddress, Failure> {
        let key = self.key.clone().ok_or_else(|| Failure::bug(anyhow!("no key")))?;
        let certificate = self.certificate.clone().unwrap_or_else(|| key.with_extension("cert"));
        let tunnel = self.tunnel.clone().unwrap_or_else(|| key.with_extension("conf"));
        // Everything is looked at before anything is changed.
        let given = PassphraseArgs::default().credentials(&key, &certificate)?.certificate;
        let put = MemberFiles { key, certificate, tunnel }.put(&given, self.home.as_ref(), config)?;
        if put.is_renewed {
            writeln!(out, "your certificate has been renewed here, and ends later than this one: it stays")?;
        }
        writeln!(out, "your files are in {}, and {} says so", put.directory.display(), config.display())?;
        Ok(put.home)
    }
}

/// Starts the program, and returns when it is on its way.
pub(super) fn start(config: &Path, log: LevelFilter, out: &mut Output) -> Outcome {
    // A mistake in the settings is told here, and not in a log.
    let settings: VisitSettings = read(config).map_err(|failure| {
        failure.hint("the first `guestright up` wants your files: --key, --certificate, --tunnel; see `guestright up --help`")
    })?;
    settings.for_loop(config, false)?;
    if !rustix::process::geteuid().is_root() {
        return Err(Failure::user(anyhow!("only root can start the visitor's program"))
            .hint("sudo guestright up; afterwards members of the group guestright need no sudo"));
    }
    let state = beside(config, &settings.state);
    background::want(&state, true)?;
    if resident::is_systemd() && config == Path::new(crate::settings::visit::FILE) {
        let program = std::env::current_exe().map_err(Failure::network)?;
        if let Some(unit) = install::start_unit(&program)? {
            writeln!(out, "{} is made: the visitor starts with the computer from now on", unit.display())?;
        }
        return Ok(());
    }
    Ok(resident::start(config, &state, &log.to_string())?)
}
