//! Files of receipts, as `receipt export` writes them: one bundle in base64 on each line.

use crate::export::{self, Exported};
use crate::{access_point, home};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use guestright_error::{OrFail as _, RunError};
use guestright_receipt::{Bundle, Receipt, ReceiptError, Rules, Verified};
use guestright_store::{Limits, Outcome, Store, StoreError};
use guestright_units::UnixSeconds;
use std::ops::ControlFlow;
use std::path::Path;

/// A file of receipts that was read.
#[derive(Debug)]
pub struct ReceiptFile<'a> {
    path: &'a Path,
    text: String,
}

/// A line of a file, checked.
#[derive(Debug)]
pub struct VerifiedLine {
    /// From 1.
    pub number: usize,
    pub verified: Verified,
}

/// What a store had of receipts that were given to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Receipts that it did not have, or had with a lower weight.
    pub new: u64,
    /// Receipts that it had, with this weight or a higher one.
    pub known: u64,
}

impl<'a> ReceiptFile<'a> {
    /// # Errors
    /// It cannot be read.
    pub fn read(path: &'a Path) -> Result<Self, RunError> {
        let text = std::fs::read_to_string(path).or_config(|| format!("read {}", path.display()))?;
        Ok(Self { path, text })
    }

    /// Each line that is not empty, with its number from 1.
    fn bundles(&self) -> impl Iterator<Item = Result<(usize, Bundle), RunError>> {
        let lines = self.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        lines.map(|(index, line)| {
            let location = || format!("{}, line {}", self.path.display(), index + 1);
            let bytes = STANDARD.decode(line.trim()).map_err(|error| {
                RunError::config(format!("{} is not of `receipt export`: {error}", location()))
            })?;
            Ok((index + 1, Bundle::parse(&bytes).or_config(location)?))
        })
    }

    /// Checks line after line, each receipt on its own merits, by this computer's clock.
    ///
    /// Each item is an error where the line is no bundle.
    pub fn verified(&self) -> impl Iterator<Item = Result<VerifiedLine, RunError>> {
        self.bundles().map(|bundle| {
            let (number, bundle) = bundle?;
            Ok(VerifiedLine { number, verified: verify(&bundle, guestright_clock::unix_seconds()) })
        })
    }

    /// Puts the receipts that count into the store at `store`, which is made if it is not there. The others are named to
    /// `on_refused`, with their line.
    ///
    /// # Errors
    /// A line is no bundle; then nothing is changed, and no store is made. The store cannot be used, or `on_refused` fails.
    pub fn import(
        &self,
        store: &Path,
        receipts_max: u64,
        mut on_refused: impl FnMut(usize, &ReceiptError) -> Result<(), RunError>,
    ) -> Result<Imported, RunError> {
        self.bundles().try_for_each(|bundle| bundle.map(drop))?;
        let mut store = Store::open(store, Limits { receipts_max, own_team: None }).map_err(unusable)?;
        let mut imported = Imported::default();
        for bundle in self.bundles() {
            let (number, bundle) = bundle?;
            let now = guestright_clock::unix_seconds();
            let verified = verify(&bundle, now);
            verified.refused.iter().try_for_each(|error| on_refused(number, error))?;
            let with_certificate = |receipt: &Receipt| {
                Some((receipt.clone(), verified.certificates.get(&receipt.certificate())?.clone()))
            };
            let items: Vec<_> = verified.receipts.iter().filter_map(with_certificate).collect();
            for outcome in store.put(&items, now).map_err(unusable)?.outcomes {
                match outcome {
                    Outcome::New | Outcome::Raised(_) => imported.new += 1,
                    Outcome::Known | Outcome::Lower { .. } => imported.known += 1,
                }
            }
        }
        Ok(imported)
    }
}

fn verify(bundle: &Bundle, now: UnixSeconds) -> Verified {
    bundle.verify(|_| None, &Rules::default(), now, &mut guestright_clock::rng())
}

/// All receipts of the store at `path`: from the home or the access point that has it open, or from the store itself.
///
/// # Errors
/// There is none, it cannot be used, or the program that runs does not show it.
pub fn export_store(path: &Path) -> Result<Exported, RunError> {
    if !path.exists() {
        return Err(RunError::config(format!("there is no store {}", path.display()))
            .with_hint("it is receipts.sqlite in the `state` directory of a home or an access point"));
    }
    let state = path.parent().unwrap_or(Path::new("."));
    for socket in [home::socket(state), access_point::socket(state)] {
        if let Some(exported) = export::fetch(&socket)? {
            return Ok(exported);
        }
    }
    let store = Store::open(path, Limits { receipts_max: u64::MAX, own_team: None }).map_err(unusable)?;
    let mut exported = Exported::default();
    let mut bundle = Bundle::default();
    let read = store.for_each_receipt(|receipt, certificate| {
        exported.count += 1;
        let certificate = certificate.to_vec();
        if !bundle.certificates.contains(&certificate) {
            bundle.certificates.push(certificate);
        }
        bundle.receipts.push(receipt.to_vec());
        if bundle.receipts.len() == Bundle::RECEIPTS_MAX {
            exported.lines.push(STANDARD.encode(std::mem::take(&mut bundle).emit()));
        }
        ControlFlow::Continue(())
    });
    read.map_err(unusable)?;
    if !bundle.receipts.is_empty() {
        exported.lines.push(STANDARD.encode(bundle.emit()));
    }
    Ok(exported)
}

/// A store that another program has open is the system's to give; any other one is a file that is wrong.
fn unusable(error: StoreError) -> RunError {
    if matches!(error, StoreError::InUse { .. }) {
        return RunError::network(error).with_hint(
            "stop the program that has it open; `receipt export` reads from one that runs, by its state directory",
        );
    }
    RunError::config(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_export_makes_no_store() {
        let folder = tempfile::tempdir().unwrap();
        let (file, store) = (folder.path().join("receipts.txt"), folder.path().join("receipts.sqlite"));
        let empty = STANDARD.encode(Bundle::default().emit());
        std::fs::write(&file, format!("{empty}\n\n*\n")).unwrap();
        let read = ReceiptFile::read(&file).unwrap();
        let error = read.import(&store, 10, |_, _| Ok(())).unwrap_err().sentence();
        assert!(error.contains("receipts.txt, line 3 is not of `receipt export`"), "{error}");
        assert!(!store.exists());
        let lines: Vec<_> = read.verified().map(|line| line.map(|line| line.number).ok()).collect();
        assert_eq!(lines, [Some(1), None], "what is before the damage is checked");
    }
}
