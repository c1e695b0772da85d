//! The program that stays: on or off as was said last, whatever ends it.

use crate::loops;
use crate::settings::{VisitSettings, beside, read};
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::files::PassphraseArgs;
use guestright_cli::output::Output;
use guestright_host::notify;
use guestright_host::private::make_private_directory;
use guestright_host::visit::background::{self, Loaded};
use guestright_privileges::Needs;
use std::io::Write;
use std::path::{Path, PathBuf};

fn load(file: &VisitSettings, config: &Path, json: bool) -> Result<Loaded, Failure> {
    let settings = file.for_loop(config, json)?;
    let passphrase = PassphraseArgs::of_file(file.passphrase_file.as_ref().map(|it| beside(config, it)));
    let credentials =
        passphrase.credentials(&beside(config, &file.key), &beside(config, &file.certificate))?;
    Ok(Loaded { settings, credentials })
}

/// Runs until it is asked to stop; with `until_down`, until it is switched off.
pub(super) fn run(config: &Path, until_down: bool, json: bool, out: &mut Output) -> Outcome {
    let config = std::path::absolute(config).map_err(Failure::network)?;
    let file: VisitSettings = read(&config)?;
    let control = beside(&config, &file.control);
    let first = load(&file, &config, json)?;
    background::make_door(&control, &file.group)?;
    make_private_directory(&first.settings.state)?;
    let tunnel = first.settings.tunnel.clone();
    let files =
        [Some(&first.settings.state), Some(&first.settings.certificate), tunnel.as_ref(), Some(&control)]
            .map(|it| it.map(PathBuf::as_path));
    let files: Vec<_> = files.into_iter().flatten().collect();
    let needs = Needs { network: true, ..Needs::default() }.with_files(&files);
    loops::run_in_background(needs, async |stop| {
        let again = || Ok(load(&read(&config)?, &config, json)?);
        background::run(&control, first, again, until_down, stop, &mut Announcing { out, line: Vec::new() })
            .await
    })
}

/// Notifies systemd of how it stands. The first line comes when the kill switch is closed, and not before: units of the
/// network wait for that.
struct Announcing<'a, 'b> {
    out: &'a mut Output<'b>,
    line: Vec<u8>,
}

impl Write for Announcing<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = Write::write(self.out, bytes)?;
        self.line.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        notify::serving(&String::from_utf8_lossy(&std::mem::take(&mut self.line)));
        Write::flush(self.out)
    }
}
