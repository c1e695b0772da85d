//! What is at a path, and putting that back.

use crate::SystemError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::{AtFlags, CWD, Gid, Uid, chownat};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// A file that is noted whole has at most so many bytes; nothing that setup replaces is larger.
const BYTES_MAX: u64 = 4 << 20;

/// Permissions: the mode's lower twelve bits, and the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Access {
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum PathState {
    Absent,
    File {
        #[serde(flatten)]
        access: Access,
        /// In base64.
        bytes: String,
    },
    Symlink {
        target: PathBuf,
    },
    Directory {
        #[serde(flatten)]
        access: Access,
    },
}

impl PathState {
    /// A file as it is to be.
    pub(crate) fn file(access: Access, bytes: &[u8]) -> Self {
        Self::File { access, bytes: STANDARD.encode(bytes) }
    }

    pub(crate) fn read(path: &Path) -> Result<Self, SystemError> {
        let fail = |error: std::io::Error| SystemError::file("look at", path, &error);
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Self::Absent);
            }
            Err(error) => return Err(fail(error)),
        };
        let access = Access { mode: metadata.mode() & 0o7777, uid: metadata.uid(), gid: metadata.gid() };
        if metadata.is_symlink() {
            return Ok(Self::Symlink { target: fs::read_link(path).map_err(fail)? });
        }
        if metadata.is_dir() {
            return Ok(Self::Directory { access });
        }
        if !metadata.is_file() || metadata.len() > BYTES_MAX {
            return Err(SystemError::InTheWay { path: path.to_owned() });
        }
        Ok(Self::file(access, &fs::read(path).map_err(fail)?))
    }

    /// Makes the path so: a file as a whole or not at all.
    pub(crate) fn write(&self, path: &Path) -> Result<(), SystemError> {
        let beside = beside(path);
        remove(&beside)?;
        match self {
            Self::Absent => return remove(path),
            Self::File { access, bytes } => write_file(&beside, *access, bytes, path)?,
            Self::Symlink { target } => {
                symlink(target, &beside).map_err(|error| SystemError::file("make", path, &error))?;
            }
            Self::Directory { access } => return make_directory(path, *access),
        }
        let moved = fs::rename(&beside, path).map_err(|error| SystemError::file("write", path, &error));
        moved.and_then(|()| sync_parent(path))
    }
}

/// Where a file is written before it takes its place. Always the same, so that nothing is left of a kill.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.guestright-new"))
}

fn write_file(beside: &Path, access: Access, bytes: &str, path: &Path) -> Result<(), SystemError> {
    let fail = |error: std::io::Error| SystemError::file("write", path, &error);
    let bytes = STANDARD.decode(bytes).map_err(|error| fail(std::io::Error::other(error.to_string())))?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(beside).map_err(fail)?;
    file.write_all(&bytes).map_err(fail)?;
    set_access(beside, access)?;
    file.sync_all().map_err(fail)
}

fn make_directory(path: &Path, access: Access) -> Result<(), SystemError> {
    match fs::create_dir(path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => {}
        Err(error) => return Err(SystemError::file("make", path, &error)),
    }
    set_access(path, access)?;
    sync_parent(path)
}

/// Owner first: changing it takes special bits of the mode away.
pub(crate) fn set_access(path: &Path, access: Access) -> Result<(), SystemError> {
    let fail = |error: std::io::Error| SystemError::file("give an owner to", path, &error);
    let (uid, gid) = (Uid::from_raw(access.uid), Gid::from_raw(access.gid));
    let now = fs::symlink_metadata(path).map_err(fail)?;
    if (now.uid(), now.gid()) != (access.uid, access.gid) {
        chownat(CWD, path, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| fail(error.into()))?;
    }
    let mode = fs::Permissions::from_mode(access.mode);
    fs::set_permissions(path, mode).map_err(|error| SystemError::file("set the mode of", path, &error))
}

/// Removes whatever is there, also a directory with everything in it.
pub(crate) fn remove(path: &Path) -> Result<(), SystemError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(SystemError::file("remove", path, &error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Has a name on the disk, not only the bytes.
pub(crate) fn sync_parent(path: &Path) -> Result<(), SystemError> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    File::open(parent)
        .and_then(|file| file.sync_all())
        .map_err(|error| SystemError::file("write", parent, &error))
}
