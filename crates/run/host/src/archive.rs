//! Files in one encrypted file, as `team backup --all` writes it: entry after entry, none of which has to be in memory whole.
//!
//! Inside the encryption (`identity`'s [`Sealer`]): length (32 bits, big-endian) and JSON of an [`Entry`], then so many bytes as it
//! says; at the end a length of zero. The file appears under its name when it is whole and on the disk, or not at all.

use guestright_error::{OrFail as _, RunError};
use guestright_identity::{Opener, Sealer, VaultError};
use rand::CryptoRng;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};
use zeroize::Zeroizing;

/// The JSON of an entry is not longer.
const ENTRY_LEN_MAX: usize = 16 * 1_024;

/// What a file is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Root {
    /// The team's directory.
    Team,
    /// The directory of `home.toml`.
    Home,
    /// The directory of `ap.toml`.
    Ap,
    /// The file system: its path is absolute.
    Anywhere,
}

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub root: Root,
    /// Where it was, below its root.
    pub path: PathBuf,
    /// Permissions, as of `chmod`.
    pub mode: u32,
    pub len: u64,
    /// Where its root was.
    pub root_path: PathBuf,
    /// Whether it is the settings file of its root.
    #[serde(default)]
    pub is_settings: bool,
}

impl Entry {
    /// Whether its path stays below its root.
    fn is_tame(&self) -> bool {
        let mut parts = self.path.components();
        if self.root == Root::Anywhere && parts.next() != Some(Component::RootDir) {
            return false;
        }
        let mut count = 0;
        let tame = parts.all(|part| {
            count += 1;
            matches!(part, Component::Normal(_))
        });
        tame && count > 0
    }
}

/// An archive that is being written.
#[derive(Debug)]
pub struct ArchiveWriter {
    path: PathBuf,
    /// It has this name until it is whole.
    beside: PathBuf,
    file: BufWriter<File>,
    sealer: Sealer,
    piece: Zeroizing<Vec<u8>>,
}

impl ArchiveWriter {
    /// Begins one. Without a passphrase anybody can read it.
    ///
    /// # Errors
    /// There is such a file, or none can be made there.
    pub fn create(path: &Path, passphrase: Option<&str>, rng: &mut impl CryptoRng) -> Result<Self, RunError> {
        let fail = || format!("write {}", path.display());
        if path.exists() {
            return Err(RunError::config(format!("{} exists already", path.display()))
                .with_hint("name another file; an older backup is never overwritten"));
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".new-{}", std::process::id()));
        let beside = path.with_file_name(name);
        let file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside).or_config(fail)?;
        let (sealer, beginning) = Sealer::new(passphrase, rng);
        let piece = Zeroizing::new(Vec::with_capacity(Sealer::PIECE_MAX));
        let (path, file) = (path.to_path_buf(), BufWriter::new(file));
        let mut archive = Self { path, beside, file, sealer, piece };
        archive.file.write_all(&beginning).or_config(fail)?;
        Ok(archive)
    }

    /// Adds a file: as many bytes of `content` as the entry says.
    ///
    /// # Errors
    /// It cannot be read or written, or has become shorter.
    pub fn add(&mut self, entry: &Entry, content: &mut impl Read) -> Result<(), RunError> {
        let header = serde_json::to_vec(entry).map_err(RunError::bug)?;
        let length = u32::try_from(header.len()).map_err(RunError::bug)?;
        self.push(&length.to_be_bytes())?;
        self.push(&header)?;
        let mut left = entry.len;
        let mut buffer = Zeroizing::new(vec![0; Sealer::PIECE_MAX]);
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let read =
                content.read(&mut buffer[..most]).or_config(|| format!("read {}", entry.path.display()))?;
            if read == 0 {
                return Err(RunError::config(format!(
                    "{} became shorter while it was read: try again",
                    entry.path.display()
                )));
            }
            left -= read as u64;
            self.push(&buffer[..read])?;
        }
        Ok(())
    }

    /// Has it on the disk, under its name.
    ///
    /// # Errors
    /// It cannot be written; then there is none.
    pub fn finish(mut self) -> Result<(), RunError> {
        self.push(&0_u32.to_be_bytes())?;
        self.flush(true)?;
        let fail = || format!("write {}", self.path.display());
        self.file.flush().and_then(|()| self.file.get_ref().sync_all()).or_config(fail)?;
        std::fs::rename(&self.beside, &self.path).or_config(fail)?;
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new("."))).and_then(|it| it.sync_all()).or_config(fail)
    }

    fn push(&mut self, mut bytes: &[u8]) -> Result<(), RunError> {
        while !bytes.is_empty() {
            if self.piece.len() == Sealer::PIECE_MAX {
                self.flush(false)?;
            }
            let (now, later) = bytes.split_at(bytes.len().min(Sealer::PIECE_MAX - self.piece.len()));
            self.piece.extend_from_slice(now);
            bytes = later;
        }
        Ok(())
    }

    fn flush(&mut self, is_last: bool) -> Result<(), RunError> {
        let sealed = self.sealer.seal(&self.piece, is_last);
        self.piece.clear();
        self.file.write_all(&sealed).or_config(|| format!("write {}", self.path.display()))
    }
}

impl Drop for ArchiveWriter {
    fn drop(&mut self) {
        // If it is whole it has its own name by now.
        let _ = std::fs::remove_file(&self.beside);
    }
}

/// An archive that is being read.
#[derive(Debug)]
pub struct ArchiveReader {
    path: PathBuf,
    file: BufReader<File>,
    opener: Opener,
    piece: Zeroizing<Vec<u8>>,
    at: usize,
    is_last: bool,
    left: u64,
}

impl ArchiveReader {
    /// Opens one. `ask` is called if it is encrypted, and only then.
    ///
    /// # Errors
    /// It is no archive, or the passphrase does not open it.
    pub fn open(path: &Path, ask: impl FnOnce() -> Option<Zeroizing<String>>) -> Result<Self, RunError> {
        let refuse = |error: VaultError| RunError::config(format!("{}: {error}", path.display()));
        let mut file = BufReader::new(File::open(path).or_config(|| format!("read {}", path.display()))?);
        let mut read = |length: usize| {
            let mut bytes = vec![0; length];
            let early = |_| refuse(VaultError::NotABackup("it ends too early".to_owned()));
            file.read_exact(&mut bytes).map_err(early).map(|()| bytes)
        };
        let beginning = read(Opener::BEGINNING)?;
        let header = read(Opener::header_len(&beginning).map_err(refuse)?)?;
        let passphrase = if Opener::is_encrypted(&header).map_err(refuse)? { ask() } else { None };
        let opener = Opener::new(&header, passphrase.as_ref().map(|text| text.as_str())).map_err(refuse)?;
        let (path, piece) = (path.to_path_buf(), Zeroizing::new(Vec::new()));
        Ok(Self { path, file, opener, piece, at: 0, is_last: false, left: 0 })
    }

    /// The next file, nothing at the end of a whole archive. What was not read of the one before is passed over.
    ///
    /// # Errors
    /// It is damaged or cut off, or names a file that no archive of ours does.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, RunError> {
        let mut passed = Zeroizing::new(vec![0; Sealer::PIECE_MAX]);
        while self.left > 0 {
            self.read_content(&mut passed)?;
        }
        let mut length = [0; 4];
        self.fill(&mut length)?;
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if length == 0 {
            return if self.is_last && self.at == self.piece.len() {
                Ok(None)
            } else {
                Err(self.refuse("more follows its end"))
            };
        }
        if length > ENTRY_LEN_MAX {
            return Err(self.refuse("the name of a file in it is too long"));
        }
        let mut header = vec![0; length];
        self.fill(&mut header)?;
        let entry: Entry =
            serde_json::from_slice(&header).map_err(|error| self.refuse(&error.to_string()))?;
        if !entry.is_tame() {
            return Err(self.refuse("a file in it would be outside of where it belongs"));
        }
        self.left = entry.len;
        Ok(Some(entry))
    }

    /// Reads on in the current file; 0 at its end.
    ///
    /// # Errors
    /// It is damaged or cut off.
    pub fn read_content(&mut self, buffer: &mut [u8]) -> Result<usize, RunError> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if most == 0 {
            return Ok(0);
        }
        self.more()?;
        let piece = &self.piece[self.at..];
        let read = most.min(piece.len());
        buffer[..read].copy_from_slice(&piece[..read]);
        self.at += read;
        self.left -= read as u64;
        Ok(read)
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RunError> {
        let mut filled = 0;
        while filled < buffer.len() {
            self.more()?;
            let piece = &self.piece[self.at..];
            let read = piece.len().min(buffer.len() - filled);
            buffer[filled..filled + read].copy_from_slice(&piece[..read]);
            self.at += read;
            filled += read;
        }
        Ok(())
    }

    /// Something to read in the current piece.
    fn more(&mut self) -> Result<(), RunError> {
        while self.at == self.piece.len() {
            if self.is_last {
                return Err(self.refuse("it ends too early"));
            }
            let mut head = [0; 4];
            let early = |_| ();
            self.file.read_exact(&mut head).map_err(early).map_err(|()| self.refuse("it ends too early"))?;
            let length = self.opener.piece_len(head).map_err(|error| self.refuse(&error.to_string()))?;
            let mut sealed = vec![0; length];
            self.file
                .read_exact(&mut sealed)
                .map_err(early)
                .map_err(|()| self.refuse("it ends too early"))?;
            let opened = self.opener.open(head, &sealed);
            let (piece, is_last) = opened.map_err(|error| self.refuse(&error.to_string()))?;
            (self.piece, self.is_last, self.at) = (piece, is_last, 0);
        }
        Ok(())
    }

    fn refuse(&self, why: &str) -> RunError {
        RunError::config(format!("{}: {why}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    fn entry(root: Root, path: &str, len: u64) -> Entry {
        Entry { root, path: path.into(), mode: 0o600, len, root_path: "/srv".into(), is_settings: false }
    }

    fn write(path: &Path, passphrase: Option<&str>, files: &[(Entry, Vec<u8>)]) -> Result<(), RunError> {
        let mut archive = ArchiveWriter::create(path, passphrase, &mut StdRng::seed_from_u64(1))?;
        for (entry, content) in files {
            archive.add(entry, &mut content.as_slice())?;
        }
        archive.finish()
    }

    fn read(path: &Path, passphrase: &str) -> Result<Vec<(Entry, Vec<u8>)>, RunError> {
        let mut archive = ArchiveReader::open(path, || Some(Zeroizing::new(passphrase.to_owned())))?;
        let mut files = Vec::new();
        while let Some(entry) = archive.next_entry()? {
            let (mut content, mut buffer) = (Vec::new(), [0; 1_000]);
            loop {
                match archive.read_content(&mut buffer)? {
                    0 => break,
                    read => content.extend_from_slice(&buffer[..read]),
                }
            }
            files.push((entry, content));
        }
        Ok(files)
    }

    #[test]
    fn files_come_back_as_they_were_and_a_cut_or_a_changed_byte_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("backup");
        let large: Vec<u8> = (0..200_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        let files = [
            (entry(Root::Team, "team.key", 3), b"key".to_vec()),
            (entry(Root::Home, "state/store", 200_000), large),
            (entry(Root::Anywhere, "/etc/empty", 0), Vec::new()),
        ];
        write(&path, Some("horse"), &files).unwrap();
        assert_eq!(read(&path, "horse").unwrap(), files);
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1, "nothing is left beside it");
        let wrong = read(&path, "cow").unwrap_err().to_string();
        assert!(wrong.ends_with("backup: the passphrase does not open it"), "{wrong}");
        let exists = write(&path, Some("horse"), &files).unwrap_err().to_string();
        assert!(exists.contains("exists already"), "{exists}");
        let whole = std::fs::read(&path).unwrap();
        for cut in [0, 10, 100, 70_000, whole.len() - 1] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert!(read(&path, "horse").is_err(), "cut at {cut}");
        }
        let mut changed = whole.clone();
        changed[100_000] ^= 1;
        std::fs::write(&path, &changed).unwrap();
        let damaged = read(&path, "horse").unwrap_err().to_string();
        assert!(damaged.contains("damaged"), "{damaged}");
    }

    #[test]
    fn what_fails_in_the_middle_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("backup");
        let short = [(entry(Root::Team, "team.key", 30), b"key".to_vec())];
        let error = write(&path, None, &short).unwrap_err().to_string();
        assert!(error.contains("shorter"), "{error}");
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
    }

    #[test]
    fn no_file_gets_out_of_its_root() {
        let directory = tempfile::tempdir().unwrap();
        for (number, (root, name)) in [
            (Root::Team, "../x"),
            (Root::Team, "/etc/passwd"),
            (Root::Team, ""),
            (Root::Home, "a/../../x"),
            (Root::Anywhere, "etc/passwd"),
            (Root::Anywhere, "/etc/../x"),
        ]
        .into_iter()
        .enumerate()
        {
            let path = directory.path().join(number.to_string());
            write(&path, None, &[(entry(root, name, 0), Vec::new())]).unwrap();
            let error = read(&path, "").unwrap_err().to_string();
            assert!(error.contains("outside"), "{name}: {error}");
        }
    }
}
