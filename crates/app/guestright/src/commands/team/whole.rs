//! `guestright team backup --all` and its `restore`: everything that a household would miss, in one encrypted file.

use crate::settings::{self, ApSettings, HomeSettings};
use guestright_cli::failure::Outcome;
use guestright_cli::files::PassphraseArgs;
use guestright_cli::output::Output;
use guestright_team::backup::{self, Collection, Destinations};
use serde_json::json;
use std::path::Path;

/// What goes into a backup.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    pub(super) team: &'a Path,
    pub(super) home: Option<&'a Path>,
    pub(super) ap: Option<&'a Path>,
}

/// Writes everything into `file`. Says how many files, and of how many bytes.
pub(super) fn back_up(
    file: &Path,
    wanted: &Wanted<'_>,
    passphrase: Option<&str>,
    json: bool,
    out: &mut Output,
) -> Outcome {
    let mut files = Collection::default();
    if let Some(path) = wanted.home {
        add_home(&mut files, path)?;
    }
    if let Some(path) = wanted.ap {
        add_ap(&mut files, path)?;
    }
    files.add_team(wanted.team)?;
    let backup::Written { files: count, bytes } = files.write(file, passphrase)?;
    let shown = file.display();
    if json {
        let answer =
            json!({ "file": file, "files": count, "bytes": bytes, "encrypted": passphrase.is_some() });
        return Ok(writeln!(out, "{answer}")?);
    }
    writeln!(out, "wrote {shown}: {count} files, {bytes} bytes")?;
    match passphrase {
        Some(_) => {
            writeln!(out, "with its passphrase it is the whole household: keep both, and not together")?
        }
        None => writeln!(out, "it is NOT encrypted: whoever reads it has the team's key and all others")?,
    }
    Ok(())
}

fn add_home(files: &mut Collection, path: &Path) -> Outcome {
    let settings: HomeSettings = settings::read(path)?;
    let known = settings.for_loop(path)?;
    let gateway = known.gateway.map(|gateway| gateway.directory);
    let named = [Some(settings::beside(path, &settings.key)), Some(known.certificate)];
    let named = named.into_iter().chain([known.revocations, known.renewal, gateway]).flatten();
    let others = backup::files_named_in(path, &settings::read(path)?);
    Ok(files.add_home(path, named.chain(others), &known.state)?)
}

fn add_ap(files: &mut Collection, path: &Path) -> Outcome {
    let settings: ApSettings = settings::read(path)?;
    let named = [&settings.key, &settings.certificate].map(|each| settings::beside(path, each));
    Ok(files.add_access_point(path, named)?)
}

/// Puts everything back. First it is read to its end, then written beside, then given its names.
pub(super) fn restore(
    file: &Path,
    destinations: &Destinations,
    passphrase: &PassphraseArgs,
    replace: bool,
    json: bool,
    out: &mut Output,
) -> Outcome {
    let ask = passphrase.asker(file)?;
    let backup::Restored { files, directories } = backup::restore(file, destinations, ask, replace)?;
    if json {
        return Ok(writeln!(out, "{}", json!({ "files": files }))?);
    }
    writeln!(out, "restored {} files into:", files.len())?;
    for directory in directories {
        writeln!(out, "  {}", directory.display())?;
    }
    writeln!(
        out,
        "what happened after the backup is not in it: revocations since then have to be made again"
    )?;
    Ok(())
}
