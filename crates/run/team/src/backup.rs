//! Everything that a household would miss, in one encrypted file, and back.

use crate::directory::remove;
use guestright_error::{OrFail as _, RunError};
use guestright_host::archive::{ArchiveReader, ArchiveWriter, Entry, Root};
use guestright_host::private::make_private_directory;
use guestright_host::{control, home};
use guestright_store::Store;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use zeroize::Zeroizing;

/// How deep directories are followed.
const DEPTH_MAX: usize = 4;
/// A store of a million receipts takes seconds to be copied.
const COPY_MAX: Duration = Duration::from_secs(600);
/// What says how the network is right now, and would be wrong on any other day.
const OF_TODAY: [&str; 6] =
    ["firewall.json", "gateway-firewall.json", "calls-meter.json", "meter.json", "switch.json", "strongswan"];

/// A file on its way into a backup.
#[derive(Debug)]
struct Found {
    entry: Entry,
    at: PathBuf,
}

/// Files, of each root each once. What two roots share is in the backup for both: they may be restored to two destinations.
#[derive(Debug, Default)]
pub struct Collection {
    found: Vec<Found>,
    seen: BTreeSet<(Root, PathBuf)>,
    /// The copy of the store, until it is in the backup.
    copied: Option<Copied>,
}

impl Collection {
    /// The team's directory, with all that is in it.
    ///
    /// # Errors
    /// Something in it cannot be read.
    pub fn add_team(&mut self, directory: &Path) -> Result<(), RunError> {
        let team = base(directory)?;
        self.add(Root::Team, &team, &team, DEPTH_MAX)
    }

    /// A settings file. Gives the directory that the files of its root are named from.
    ///
    /// # Errors
    /// It cannot be read.
    fn add_settings(&mut self, root: Root, path: &Path) -> Result<PathBuf, RunError> {
        let (directory, real) = settings_base(path)?;
        self.add(root, &directory, &real, 0)?;
        if let Some(found) = self.found.last_mut() {
            found.entry.is_settings = true;
        }
        Ok(directory)
    }

    /// A file that settings name, or a directory with all that is in it.
    ///
    /// # Errors
    /// It, or something in it, cannot be read.
    fn add_named(&mut self, root: Root, directory: &Path, path: &Path) -> Result<(), RunError> {
        self.add(root, directory, path, DEPTH_MAX)
    }

    /// A home: its settings file, what that names, and the home's state with its store.
    ///
    /// # Errors
    /// Something of it cannot be read.
    pub fn add_home(
        &mut self,
        settings: &Path,
        named: impl IntoIterator<Item = PathBuf>,
        state: &Path,
    ) -> Result<(), RunError> {
        let directory = self.add_settings(Root::Home, settings)?;
        let state_there = state.exists().then(|| state.to_path_buf());
        for each in named.into_iter().chain(state_there) {
            self.add_named(Root::Home, &directory, &each)?;
        }
        self.add_store(&directory, state)
    }

    /// An access point: its settings file and what that names. Its receipts are at home within a minute; its other state is of
    /// today.
    ///
    /// # Errors
    /// Something of it cannot be read.
    pub fn add_access_point(
        &mut self,
        settings: &Path,
        named: impl IntoIterator<Item = PathBuf>,
    ) -> Result<(), RunError> {
        let directory = self.add_settings(Root::Ap, settings)?;
        named.into_iter().try_for_each(|each| self.add_named(Root::Ap, &directory, &each))
    }

    /// The store of the home with this state, if it has one.
    ///
    /// # Errors
    /// It cannot be copied.
    fn add_store(&mut self, directory: &Path, state: &Path) -> Result<(), RunError> {
        let store = state.join(home::STORE);
        if !store.exists() {
            return Ok(());
        }
        let copy = copy_store(state, &store)?;
        let metadata = fs::metadata(&copy.0).map_err(RunError::config)?;
        let real = base(&store)?;
        self.push(Root::Home, directory, &real, copy.0.clone(), &metadata);
        self.copied = Some(copy);
        Ok(())
    }

    /// Adds a file, or all files of a directory.
    fn add(&mut self, root: Root, base: &Path, path: &Path, depth: usize) -> Result<(), RunError> {
        let fail = || format!("read {}", path.display());
        let real = fs::canonicalize(path).or_config(fail)?;
        let metadata = fs::metadata(&real).or_config(fail)?;
        if metadata.is_dir() {
            // What programs keep is not the team's, though it may lie in its directory.
            if depth == 0 || (root == Root::Team && real.join(home::STORE).exists()) {
                return Ok(());
            }
            let mut inside = Vec::new();
            for entry in fs::read_dir(&real).or_config(fail)? {
                inside.push(entry.or_config(fail)?.path());
            }
            inside.sort();
            return inside
                .iter()
                .filter(|path| is_wanted(path))
                .try_for_each(|path| self.add(root, base, path, depth - 1));
        }
        if metadata.is_file() && self.seen.insert((root, real.clone())) {
            self.push(root, base, &real, real.clone(), &metadata);
        }
        Ok(())
    }

    fn push(&mut self, root: Root, base: &Path, named: &Path, at: PathBuf, metadata: &fs::Metadata) {
        let (root, path) = match named.strip_prefix(base) {
            Ok(relative) => (root, relative.to_path_buf()),
            Err(_) => (Root::Anywhere, named.to_path_buf()),
        };
        let (mode, len) = (metadata.mode() & 0o777, metadata.len());
        let root_path = base.to_path_buf();
        let entry = Entry { root, path, mode, len, root_path, is_settings: false };
        self.found.push(Found { entry, at });
    }

    /// Writes everything into `file`, encrypted if there is a passphrase.
    ///
    /// # Errors
    /// A file cannot be read, or the backup not be written.
    pub fn write(self, file: &Path, passphrase: Option<&str>) -> Result<Written, RunError> {
        let mut rng = guestright_clock::rng();
        let mut archive = ArchiveWriter::create(file, passphrase, &mut rng)?;
        let mut written = Written { files: 0, bytes: 0 };
        let Self { found, copied, .. } = self;
        for Found { mut entry, at } in found {
            let mut content = File::open(&at).or_config(|| format!("read {}", at.display()))?;
            // As of this moment: what is replaced as a whole is read as a whole.
            entry.len = content.metadata().map_err(RunError::config)?.len();
            // It is no part of itself, nor is an older one that lies in the team's directory.
            if is_backup(&mut content)? {
                continue;
            }
            archive.add(&entry, &mut content)?;
            written = Written { files: written.files + 1, bytes: written.bytes + entry.len };
        }
        archive.finish()?;
        drop(copied);
        Ok(written)
    }
}

/// The files that a home's settings name besides those of the home itself: secrets of calls, of IKEv2, certificates for TLS.
/// Those that are not there are nobody's loss. Relative paths begin at the directory of `settings`.
pub fn files_named_in(settings: &Path, table: &toml::Table) -> Vec<PathBuf> {
    let directory = settings.parent().unwrap_or(Path::new("."));
    let mut found = Vec::new();
    let mut tables = vec![table];
    while let Some(table) = tables.pop() {
        for (name, value) in table {
            let is_file = name.ends_with("_file")
                || ["certificate", "certificate_key", "team_secret"].contains(&name.as_str());
            match value {
                toml::Value::Table(inner) => tables.push(inner),
                toml::Value::String(text) if is_file => found.push(directory.join(text)),
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
    found
}

/// What is in a new backup.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    pub files: u64,
    pub bytes: u64,
}

/// Not what a program of ours has left half written, nor doors, nor what is of today.
fn is_wanted(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_store = name == home::STORE || name.starts_with(&format!("{}-", home::STORE));
    let is_half = name.contains(".new-") || name.ends_with(".new") || name.ends_with(".restoring");
    !(is_store || is_half || name.ends_with(".sock") || name.ends_with(".copy") || OF_TODAY.contains(&&*name))
}

/// A copy of the store, gone when this is dropped.
#[derive(Debug)]
struct Copied(PathBuf);

impl Drop for Copied {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Backups are not put into backups.
fn is_backup(file: &mut File) -> Result<bool, RunError> {
    use std::io::{Read, Seek};
    let mut beginning = Vec::new();
    Read::take(&*file, 17).read_to_end(&mut beginning).map_err(RunError::config)?;
    file.rewind().map_err(RunError::config)?;
    Ok(beginning == b"guestright backup")
}

fn base(directory: &Path) -> Result<PathBuf, RunError> {
    fs::canonicalize(directory).or_config(|| format!("read {}", directory.display()))
}

/// The directory of a settings file, and the file in it.
fn settings_base(path: &Path) -> Result<(PathBuf, PathBuf), RunError> {
    let real = base(path)?;
    let directory = real.parent().unwrap_or(Path::new("/")).to_path_buf();
    Ok((directory, real))
}

/// By the home if it runs, which alone can read its store; else by ourselves.
fn copy_store(state: &Path, store: &Path) -> Result<Copied, RunError> {
    let copy = Copied(home::store_copy(store));
    match control::ask_within(&home::socket(state), "backup", COPY_MAX)? {
        Some(answer) => match answer["error"].as_str() {
            Some(error) => {
                return Err(RunError::network(format!("the home could not copy its store: {error}")));
            }
            None if answer["copy"].is_string() => {}
            None => {
                return Err(RunError::network("the home is too busy to copy its store: try again"));
            }
        },
        None => {
            let _ = fs::remove_file(&copy.0);
            Store::copy_closed(store, &copy.0).map_err(RunError::network)?;
        }
    }
    Ok(copy)
}

/// Where a backup goes.
#[derive(Debug)]
pub struct Destinations {
    /// The team's directory; otherwise where it was.
    pub team: Option<PathBuf>,
    /// `home.toml`; otherwise where it was.
    pub home: Option<PathBuf>,
    /// `ap.toml`; otherwise where it was.
    pub ap: Option<PathBuf>,
}

impl Destinations {
    /// Where an entry goes.
    fn target(&self, entry: &Entry) -> PathBuf {
        let of_settings = |given: &Option<PathBuf>| match given {
            Some(path) if entry.is_settings => path.clone(),
            Some(path) => path.parent().unwrap_or(Path::new(".")).join(&entry.path),
            None => entry.root_path.join(&entry.path),
        };
        match entry.root {
            Root::Team => self.team.as_ref().unwrap_or(&entry.root_path).join(&entry.path),
            Root::Home => of_settings(&self.home),
            Root::Ap => of_settings(&self.ap),
            Root::Anywhere => entry.path.clone(),
        }
    }
}

/// Whether this file is a whole backup, and not one of a key.
///
/// # Errors
/// It cannot be read.
pub fn is_whole(file: &Path) -> Result<bool, RunError> {
    let mut file = File::open(file).or_config(|| format!("read {}", file.display()))?;
    is_backup(&mut file)
}

/// Puts everything back. First it is read to its end, then written beside, then given its names.
///
/// # Errors
/// It cannot be read to its end, something is in the way, or cannot be written.
pub fn restore(
    file: &Path,
    destinations: &Destinations,
    ask: impl Fn() -> Option<Zeroizing<String>>,
    replace: bool,
) -> Result<Restored, RunError> {
    let given = std::cell::OnceCell::new();
    let open = || ArchiveReader::open(file, || given.get_or_init(&ask).clone());
    let mut archive = open()?;
    let (mut targets, mut seen) = (Vec::new(), BTreeSet::new());
    while let Some(entry) = archive.next_entry()? {
        let target = destinations.target(&entry);
        if entry.path.file_name().is_some_and(|name| name == home::STORE) {
            check_stopped(&target)?;
        }
        if target.exists() && !replace {
            return Err(RunError::config(format!("{} exists already", target.display())).with_hint(
                "nothing was changed: move it away, restore to another place, or say --replace to give up what is there",
            ));
        }
        // What two roots share may come back to one place.
        let is_first = seen.insert(target.clone());
        targets.push((target, is_first));
    }
    let mut archive = open()?;
    let mut written = Vec::new();
    for (target, is_first) in targets {
        let entry = archive.next_entry()?.ok_or_else(|| RunError::config("the backup has changed"))?;
        if is_first {
            written.push((write_beside(&mut archive, &entry, &target)?, target));
        }
    }
    let mut directories = BTreeSet::new();
    for (beside, target) in &written {
        let fail = || format!("write {}", target.display());
        remove_log(target)?;
        fs::rename(beside, target).or_config(fail)?;
        directories.extend(target.parent().map(Path::to_path_buf));
    }
    for directory in &directories {
        let sync = File::open(directory).and_then(|it| it.sync_all());
        sync.or_config(|| format!("write {}", directory.display()))?;
    }
    let files = written.into_iter().map(|(_, target)| target).collect();
    Ok(Restored { files, directories })
}

/// What was put back.
#[derive(Debug)]
pub struct Restored {
    pub files: Vec<PathBuf>,
    /// That they are in.
    pub directories: BTreeSet<PathBuf>,
}

/// A home must not find another store under its feet.
fn check_stopped(store: &Path) -> Result<(), RunError> {
    let state = store.parent().unwrap_or(Path::new("."));
    if control::ask(&home::socket(state), "status")?.is_some() {
        return Err(RunError::config(format!("a home runs with {}", state.display()))
            .with_hint("stop it first: guestright home off"));
    }
    Ok(())
}

/// A write-ahead log of the store that was there would be taken for the new one's.
fn remove_log(target: &Path) -> Result<(), RunError> {
    if target.file_name().is_some_and(|name| name == home::STORE) {
        for end in ["-wal", "-shm", "-journal"] {
            let mut name = target.as_os_str().to_owned();
            name.push(end);
            remove(Path::new(&name))?;
        }
    }
    Ok(())
}

fn write_beside(archive: &mut ArchiveReader, entry: &Entry, target: &Path) -> Result<PathBuf, RunError> {
    let fail = || format!("write {}", target.display());
    if let Some(parent) = target.parent() {
        make_private_directory(parent)?;
    }
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".restoring");
    let beside = target.with_file_name(name);
    // Of a restore that was killed.
    remove(&beside)?;
    let mut write = || -> Result<(), RunError> {
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside);
        let mut file = made.or_config(fail)?;
        let mut buffer = Zeroizing::new(vec![0; 64 * 1_024]);
        loop {
            match archive.read_content(&mut buffer)? {
                0 => break,
                read => file.write_all(&buffer[..read]).or_config(fail)?,
            }
        }
        let mode = fs::Permissions::from_mode(entry.mode & 0o777);
        file.set_permissions(mode).and_then(|()| file.sync_all()).or_config(fail)
    };
    write().inspect_err(|_| drop(fs::remove_file(&beside)))?;
    Ok(beside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_settings_name_are_found_where_they_are_and_only_if_they_are_there() {
        let directory = tempfile::tempdir().unwrap();
        let there = |name: &str| {
            let path = directory.path().join(name);
            fs::write(&path, "").unwrap();
            path
        };
        let table = "key = \"home.key\"\n[voice]\nsecret_file = \"voice\"\nport = 5060\n\
                     [gateway.ikev2]\nteam_secret = \"psk\"\ncertificate = \"gone.pem\"\n";
        let want = BTreeSet::from([there("voice"), there("psk")]);
        there("home.key");
        let found = files_named_in(&directory.path().join("home.toml"), &table.parse().unwrap());
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), want);
    }
}
