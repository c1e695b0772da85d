//! `guestright team backup --all` and its `restore`: everything that a household would miss, in one encrypted file.

use crate::settings::{self, ApSettings, HomeSettings};
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::files::PassphraseArgs;
use guestright_cli::output::Output;
use guestright_host::archive::Root;
use guestright_team::backup::{self, Collection, Destinations};
use serde_json::json;
use std::path::{Path, PathBuf};

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
    let directory = files.add_settings(Root::Home, path)?;
    let known = settings.for_loop(path)?;
    let named = [Some(settings::beside(path, &settings.key)), Some(known.certificate.clone())];
    let gateway = known.gateway.as_ref().map(|gateway| gateway.directory.clone());
    let others = [known.revocations.clone(), known.renewal.clone(), gateway];
    let extra = named_in(path)?;
    let state = known.state.exists().then(|| known.state.clone());
    for each in named.into_iter().chain(others).flatten().chain(extra).chain(state) {
        files.add_named(Root::Home, &directory, &each)?;
    }
    files.add_store(&directory, &known.state)?;
    Ok(())
}

/// Files that other settings name: secrets of calls and of IKEv2. Those that are not there are nobody's loss.
fn named_in(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let table: toml::Table = settings::read(path)?;
    let mut found = Vec::new();
    let mut tables = vec![&table];
    while let Some(table) = tables.pop() {
        for (name, value) in table {
            let is_file = name.ends_with("_file")
                || ["certificate", "certificate_key", "team_secret"].contains(&name.as_str());
            match value {
                toml::Value::Table(inner) => tables.push(inner),
                toml::Value::String(text) if is_file => found.push(settings::beside(path, Path::new(text))),
                toml::Value::String(_)
                | toml::Value::Integer(_)
                | toml::Value::Float(_)
                | toml::Value::Boolean(_)
                | toml::Value::Datetime(_)
                | toml::Value::Array(_) => {}
            }
        }
    }
    found.retain(|path| path.is_file());
    Ok(found)
}

fn add_ap(files: &mut Collection, path: &Path) -> Outcome {
    let settings: ApSettings = settings::read(path)?;
    let directory = files.add_settings(Root::Ap, path)?;
    // Its receipts are at home within a minute; its other state is of today.
    for each in [&settings.key, &settings.certificate] {
        files.add_named(Root::Ap, &directory, &settings::beside(path, each))?;
    }
    Ok(())
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
