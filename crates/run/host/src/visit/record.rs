//! Where a visit is found from any directory: a record of its state directory among what runs on this computer.
//!
//! The file names the network that the visit is in, because programs in other network namespaces share `/run`. It stays
//! when the visit is killed, so that its kill switch can be opened from anywhere, and goes with the next start of the
//! computer, as the switch does.

use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// For everybody, if root visits.
const SHARED: &str = "/run/guestright";
/// A record is not longer.
const LEN_MAX: u64 = 8_192;

/// Whether something keeps this computer's traffic back that a visit has closed, whose directory nobody knows. For root
/// alone to say.
pub fn is_guarded() -> bool {
    guestright_firewall::KillSwitch::is_closed().unwrap_or_default()
}

/// The state directory of the visit that runs in this network, or was killed in it.
pub fn running() -> Option<PathBuf> {
    directories().into_iter().find_map(|directory| read(&file(&directory)?))
}

/// A visit's record, while it runs.
#[derive(Debug)]
pub(super) struct Record(Option<PathBuf>);

impl Record {
    /// Writes one where this user may. Who cannot be found is found by `--state`.
    pub(super) fn write(state: &Path) -> Self {
        let write = || {
            let directory = directories().into_iter().next()?;
            let state = fs::canonicalize(state).ok()?;
            let mode = if directory == Path::new(SHARED) { 0o755 } else { 0o700 };
            fs::DirBuilder::new().recursive(true).mode(mode).create(&directory).ok()?;
            let file = file(&directory)?;
            let text = json!({ "state": state.to_str()?, "pid": std::process::id() }).to_string();
            // In one piece: somebody may read it now.
            let new = file.with_extension("new");
            fs::write(&new, text).and_then(|()| fs::rename(&new, &file)).ok()?;
            Some(file)
        };
        let written = write();
        if written.is_none() {
            tracing::debug!("`visit status` finds this visit by --state only");
        }
        Self(written)
    }

    /// What a killed visit with this directory has left behind is gone.
    pub(super) fn forget(state: &Path) {
        let state = fs::canonicalize(state).ok();
        let files = directories().into_iter().filter_map(|directory| file(&directory));
        files.filter(|file| state.is_some() && read(file) == state).for_each(|file| remove(&file));
    }

    /// The visit is over, and has left nothing behind.
    pub(super) fn remove(self) {
        let Some(file) = self.0 else { return };
        let pid = parse(&file).and_then(|record| record["pid"].as_u64());
        // Another visit may have come after this one.
        if pid == Some(std::process::id().into()) {
            remove(&file);
        }
    }
}

/// Takes a record away, and with the last one its directory.
fn remove(file: &Path) {
    let _ = fs::remove_file(file);
    if let Some(directory) = file.parent() {
        let _ = fs::remove_dir(directory); // There may be others.
    }
}

/// Where records are, this user's own directory first.
fn directories() -> Vec<PathBuf> {
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(|runtime| Path::new(&runtime).join("guestright"));
    let own = own.filter(|own| own.is_absolute() && !rustix::process::geteuid().is_root());
    own.into_iter().chain([SHARED.into()]).collect()
}

/// The record of this network: namespaces(7), `/proc/self/ns/net`.
fn file(directory: &Path) -> Option<PathBuf> {
    let network = fs::metadata("/proc/self/ns/net").ok()?.ino();
    Some(directory.join(format!("visit-{network}.json")))
}

/// What a record says that this user or root has written: what it names may be cleaned up with root's rights.
fn read(file: &Path) -> Option<PathBuf> {
    let owner = fs::symlink_metadata(file).ok().filter(fs::Metadata::is_file)?.uid();
    let own = rustix::process::geteuid().as_raw();
    let record = parse(file).filter(|_| owner == 0 || owner == own)?;
    record["state"].as_str().map(PathBuf::from)
}

fn parse(file: &Path) -> Option<Value> {
    let is_short = fs::metadata(file).is_ok_and(|file| file.len() <= LEN_MAX);
    serde_json::from_slice(&fs::read(file).ok().filter(|_| is_short)?).ok()
}
