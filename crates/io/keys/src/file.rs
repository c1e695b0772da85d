//! Reading no more than allowed, and writing so that a crash leaves the old file or the new one.

use crate::KeysError;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Reads a whole file that has at most `max` bytes.
///
/// # Errors
/// [`KeysError::System`], `NotAFile` or `TooLarge`.
pub fn read_to_limit(path: &Path, max: usize) -> Result<Vec<u8>, KeysError> {
    read_open(&open(path)?, path, max)
}

/// Opens a file for reading. A pipe would keep us waiting, so it is not opened.
pub(crate) fn open(path: &Path) -> Result<File, KeysError> {
    let fail = |error: std::io::Error| KeysError::system("read", path, &error);
    if !fs::metadata(path).map_err(fail)?.is_file() {
        return Err(KeysError::NotAFile { path: path.to_owned() });
    }
    File::open(path).map_err(fail)
}

pub(crate) fn read_open(file: &File, path: &Path, max: usize) -> Result<Vec<u8>, KeysError> {
    // With room from the start no copy of a secret is left behind by growing.
    let mut bytes = Vec::with_capacity(max + 1);
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    file.take(limit).read_to_end(&mut bytes).map_err(|error| KeysError::system("read", path, &error))?;
    if bytes.len() > max {
        let path = path.to_owned();
        return Err(KeysError::TooLarge { path, max });
    }
    Ok(bytes)
}

/// Writes a file that did not exist; on failure there is none.
pub(crate) fn create(path: &Path, bytes: &[u8], mode: u32) -> Result<(), KeysError> {
    let fail = |error: std::io::Error| KeysError::system("write", path, &error);
    let mut file = match create_new(path, mode) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(KeysError::Exists { path: path.to_owned() });
        }
        Err(error) => return Err(fail(error)),
    };
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.and_then(|()| sync_directory(path)).map_err(|error| {
        // It is ours and incomplete; if it cannot be removed the first error says more.
        let _ = fs::remove_file(path);
        fail(error)
    })
}

/// Writes a file that its owner alone can read, or replaces the one that is there as a whole.
///
/// # Errors
/// [`KeysError::System`]: the old file is still there, if there was one.
pub fn replace_private(path: &Path, bytes: &[u8]) -> Result<(), KeysError> {
    replace(path, bytes, 0o600)
}

/// Writes a file, or replaces the one that is there as a whole.
pub(crate) fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<(), KeysError> {
    let fail = |error: std::io::Error| KeysError::system("write", path, &error);
    let (mut file, beside) = create_beside(path, mode).map_err(fail)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.and_then(|()| fs::rename(&beside, path)).map_err(|error| {
        let _ = fs::remove_file(&beside);
        fail(error)
    })?;
    sync_directory(path).map_err(fail)
}

/// A new file in the same directory, so that it can be renamed; what an earlier crash left is passed over.
fn create_beside(path: &Path, mode: u32) -> std::io::Result<(File, PathBuf)> {
    const ATTEMPTS_MAX: u32 = 100;
    let name = path.file_name().ok_or(ErrorKind::IsADirectory)?;
    let mut attempt = 0;
    loop {
        let mut beside = name.to_owned();
        beside.push(format!(".new-{}-{attempt}", std::process::id()));
        let beside = path.with_file_name(beside);
        match create_new(&beside, mode) {
            Ok(file) => return Ok((file, beside)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && attempt < ATTEMPTS_MAX => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

fn create_new(path: &Path, mode: u32) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

/// Has the file's name on the disk, or that it has gone from there, and not only its bytes.
///
/// # Errors
/// The directory cannot be opened or synced.
pub fn sync_directory(path: &Path) -> std::io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}
