//! `guestright team backup --all` and its `restore`: everything that a household would miss, in one encrypted file.

use crate::control;
use crate::settings::{self, ApSettings, HomeSettings};
use anyhow::{Context, anyhow};
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::files::PassphraseArgs;
use guestright_cli::output::Output;
use guestright_host::archive::{ArchiveReader, ArchiveWriter, Entry, Root};
use guestright_host::home;
use guestright_store::Store;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
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

/// What goes into a backup.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    pub(super) team: &'a Path,
    pub(super) home: Option<&'a Path>,
    pub(super) ap: Option<&'a Path>,
}

/// A file on its way into a backup.
struct Found {
    entry: Entry,
    at: PathBuf,
}

/// Files, of each root each once. What two roots share is in the backup for both: they may be restored to two destinations.
#[derive(Default)]
struct Collection {
    found: Vec<Found>,
    seen: BTreeSet<(Root, PathBuf)>,
}

impl Collection {
    /// Adds a file, or all files of a directory. `as_path` is where it is to be found in the backup.
    fn add(&mut self, root: Root, base: &Path, path: &Path, depth: usize) -> Result<(), Failure> {
        let fail = || format!("read {}", path.display());
        let real = fs::canonicalize(path).with_context(fail).map_err(Failure::config)?;
        let metadata = fs::metadata(&real).with_context(fail).map_err(Failure::config)?;
        if metadata.is_dir() {
            // What programs keep is not the team's, though it may lie in its directory.
            if depth == 0 || (root == Root::Team && real.join(home::STORE).exists()) {
                return Ok(());
            }
            let mut inside = Vec::new();
            for entry in fs::read_dir(&real).with_context(fail).map_err(Failure::config)? {
                inside.push(entry.with_context(fail).map_err(Failure::config)?.path());
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
}

/// Not what a program of ours has left half written, nor doors, nor what is of today.
fn is_wanted(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_store = name == home::STORE || name.starts_with(&format!("{}-", home::STORE));
    let is_half = name.contains(".new-") || name.ends_with(".new") || name.ends_with(".restoring");
    !(is_store || is_half || name.ends_with(".sock") || name.ends_with(".copy") || OF_TODAY.contains(&&*name))
}

/// A copy of the store, gone when this is dropped.
struct Copied(PathBuf);

impl Drop for Copied {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
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
    // It is no part of itself, nor is an older one that lies in the team's directory.
    let mut rng = guestright_clock::rng();
    let mut copied = None;
    if let Some(path) = wanted.home {
        copied = add_home(&mut files, path)?;
    }
    if let Some(path) = wanted.ap {
        add_ap(&mut files, path)?;
    }
    let team = base(wanted.team)?;
    files.add(Root::Team, &team, &team, DEPTH_MAX)?;
    let mut archive = ArchiveWriter::create(file, passphrase, &mut rng)?;
    let (mut count, mut bytes) = (0_u64, 0_u64);
    for Found { mut entry, at } in files.found {
        let mut content =
            File::open(&at).with_context(|| format!("read {}", at.display())).map_err(Failure::config)?;
        // As of this moment: what is replaced as a whole is read as a whole.
        entry.len = content.metadata().map_err(Failure::config)?.len();
        if is_backup(&mut content)? {
            continue;
        }
        archive.add(&entry, &mut content)?;
        (count, bytes) = (count + 1, bytes + entry.len);
    }
    archive.finish()?;
    drop(copied);
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

/// Backups are not put into backups.
fn is_backup(file: &mut File) -> Result<bool, Failure> {
    use std::io::{Read, Seek};
    let mut beginning = Vec::new();
    Read::take(&*file, 17).read_to_end(&mut beginning).map_err(Failure::config)?;
    file.rewind().map_err(Failure::config)?;
    Ok(beginning == b"guestright backup")
}

fn base(directory: &Path) -> Result<PathBuf, Failure> {
    fs::canonicalize(directory)
        .with_context(|| format!("read {}", directory.display()))
        .map_err(Failure::config)
}

/// The directory of a settings file, and the file in it.
fn settings_base(path: &Path) -> Result<(PathBuf, PathBuf), Failure> {
    let real = base(path)?;
    let directory = real.parent().unwrap_or(Path::new("/")).to_path_buf();
    Ok((directory, real))
}

fn add_settings(files: &mut Collection, root: Root, path: &Path) -> Result<PathBuf, Failure> {
    let (directory, real) = settings_base(path)?;
    files.add(root, &directory, &real, 0)?;
    if let Some(found) = files.found.last_mut() {
        found.entry.is_settings = true;
    }
    Ok(directory)
}

fn add_home(files: &mut Collection, path: &Path) -> Result<Option<Copied>, Failure> {
    let settings: HomeSettings = settings::read(path)?;
    let directory = add_settings(files, Root::Home, path)?;
    let known = settings.for_loop(path)?;
    let named = [Some(settings::beside(path, &settings.key)), Some(known.certificate.clone())];
    let gateway = known.gateway.as_ref().map(|gateway| gateway.directory.clone());
    let others = [known.revocations.clone(), known.renewal.clone(), gateway];
    let extra = named_in(path)?;
    let state = known.state.exists().then(|| known.state.clone());
    for each in named.into_iter().chain(others).flatten().chain(extra).chain(state) {
        files.add(Root::Home, &directory, &each, DEPTH_MAX)?;
    }
    let store = known.state.join(home::STORE);
    if !store.exists() {
        return Ok(None);
    }
    let copy = copy_store(&known.state, &store)?;
    let metadata = fs::metadata(&copy.0).map_err(Failure::config)?;
    let real = base(&store)?;
    files.push(Root::Home, &directory, &real, copy.0.clone(), &metadata);
    Ok(Some(copy))
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

/// By the home if it runs, which alone can read its store; else by ourselves.
fn copy_store(state: &Path, store: &Path) -> Result<Copied, Failure> {
    let copy = Copied(home::store_copy(store));
    match control::ask_within(&home::socket(state), "backup", COPY_MAX)? {
        Some(answer) => match answer["error"].as_str() {
            Some(error) => {
                return Err(Failure::network(anyhow!("the home could not copy its store: {error}")));
            }
            None if answer["copy"].is_string() => {}
            None => {
                return Err(Failure::network(anyhow!("the home is too busy to copy its store: try again")));
            }
        },
        None => {
            let _ = fs::remove_file(&copy.0);
            Store::copy_closed(store, &copy.0).map_err(Failure::network)?;
        }
    }
    Ok(copy)
}

fn add_ap(files: &mut Collection, path: &Path) -> Result<(), Failure> {
    let settings: ApSettings = settings::read(path)?;
    let directory = add_settings(files, Root::Ap, path)?;
    // Its receipts are at home within a minute; its other state is of today.
    for each in [&settings.key, &settings.certificate] {
        files.add(Root::Ap, &directory, &settings::beside(path, each), 0)?;
    }
    Ok(())
}

/// Where a backup goes.
#[derive(Debug)]
pub(super) struct Destinations {
    /// The team's directory; otherwise where it was.
    pub(super) team: Option<PathBuf>,
    /// `home.toml`; otherwise where it was.
    pub(super) home: Option<PathBuf>,
    /// `ap.toml`; otherwise where it was.
    pub(super) ap: Option<PathBuf>,
}

impl Destinations {
    /// Where an entry goes.
    fn target(&self, entry: &Entry) -> Result<PathBuf, Failure> {
        let of_settings = |given: &Option<PathBuf>| match given {
            Some(path) if entry.is_settings => Ok(path.clone()),
            Some(path) => Ok(path.parent().unwrap_or(Path::new(".")).join(&entry.path)),
            None => Ok(entry.root_path.join(&entry.path)),
        };
        match entry.root {
            Root::Team => {
                let root = self.team.as_ref().unwrap_or(&entry.root_path);
                Ok(root.join(&entry.path))
            }
            Root::Home => of_settings(&self.home),
            Root::Ap => of_settings(&self.ap),
            Root::Anywhere => Ok(entry.path.clone()),
        }
    }
}

/// Whether this file is a whole backup, and not one of a key.
pub(super) fn is_whole(file: &Path) -> Result<bool, Failure> {
    let mut file =
        File::open(file).with_context(|| format!("read {}", file.display())).map_err(Failure::config)?;
    is_backup(&mut file)
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
    let given = std::cell::OnceCell::new();
    let open = || ArchiveReader::open(file, || given.get_or_init(&ask).clone());
    let mut archive = open()?;
    let (mut targets, mut seen) = (Vec::new(), BTreeSet::new());
    while let Some(entry) = archive.next_entry()? {
        let target = destinations.target(&entry)?;
        if entry.path.file_name().is_some_and(|name| name == home::STORE) {
            check_stopped(&target)?;
        }
        if target.exists() && !replace {
            return Err(Failure::config(anyhow!("{} exists already", target.display())).hint(
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
        let entry =
            archive.next_entry()?.ok_or_else(|| Failure::config(anyhow!("the backup has changed")))?;
        if is_first {
            written.push((write_beside(&mut archive, &entry, &target)?, target));
        }
    }
    let mut directories = BTreeSet::new();
    for (beside, target) in &written {
        let fail = || format!("write {}", target.display());
        remove_log(target)?;
        fs::rename(beside, target).with_context(fail).map_err(Failure::config)?;
        directories.extend(target.parent().map(Path::to_path_buf));
    }
    for directory in &directories {
        let sync = File::open(directory).and_then(|it| it.sync_all());
        sync.with_context(|| format!("write {}", directory.display())).map_err(Failure::config)?;
    }
    let count = written.len();
    if json {
        let files: Vec<_> = written.iter().map(|(_, target)| target).collect();
        return Ok(writeln!(out, "{}", json!({ "files": files }))?);
    }
    writeln!(out, "restored {count} files into:")?;
    for directory in directories {
        writeln!(out, "  {}", directory.display())?;
    }
    writeln!(
        out,
        "what happened after the backup is not in it: revocations since then have to be made again"
    )?;
    Ok(())
}

/// A home must not find another store under its feet.
fn check_stopped(store: &Path) -> Result<(), Failure> {
    let state = store.parent().unwrap_or(Path::new("."));
    if control::ask(&home::socket(state), "status")?.is_some() {
        return Err(Failure::config(anyhow!("a home runs with {}", state.display()))
            .hint("stop it first: guestright home off"));
    }
    Ok(())
}

/// A write-ahead log of the store that was there would be taken for the new one's.
fn remove_log(target: &Path) -> Result<(), Failure> {
    if target.file_name().is_some_and(|name| name == home::STORE) {
        for end in ["-wal", "-shm", "-journal"] {
            let mut name = target.as_os_str().to_owned();
            name.push(end);
            super::renewal::remove(Path::new(&name))?;
        }
    }
    Ok(())
}

fn write_beside(archive: &mut ArchiveReader, entry: &Entry, target: &Path) -> Result<PathBuf, Failure> {
    let fail = || format!("write {}", target.display());
    if let Some(parent) = target.parent() {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(parent);
        made.with_context(|| format!("make {}", parent.display())).map_err(Failure::config)?;
    }
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".restoring");
    let beside = target.with_file_name(name);
    // Of a restore that was killed.
    super::renewal::remove(&beside)?;
    let mut write = || -> Result<(), Failure> {
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside);
        let mut file = made.with_context(fail).map_err(Failure::config)?;
        let mut buffer = Zeroizing::new(vec![0; 64 * 1_024]);
        loop {
            match archive.read_content(&mut buffer)? {
                0 => break,
                read => file.write_all(&buffer[..read]).with_context(fail).map_err(Failure::config)?,
            }
        }
        let mode = fs::Permissions::from_mode(entry.mode & 0o777);
        file.set_permissions(mode).and_then(|()| file.sync_all()).with_context(fail).map_err(Failure::config)
    };
    write().inspect_err(|_| drop(fs::remove_file(&beside)))?;
    Ok(beside)
}
