//! What can go wrong between us and the disk, in words that say what to do.

use guestright_identity::CertificateRef;
use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why the store did not do what it was asked. Nothing of a refused call is kept.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// The file cannot be opened or made.
    #[error("cannot open the receipt store {}: {reason}; check that its directory exists and is ours to write", path.display())]
    Open {
        /// The store's file.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// Another process, or another part of this one, has it open.
    #[error("the receipt store {} is in use by another process; stop that one first", path.display())]
    InUse {
        /// The store's file.
        path: PathBuf,
    },
    /// The file is something else. It was not changed.
    #[error("{} is not a receipt store: {reason}; nothing was changed, name another file", path.display())]
    NotAStore {
        path: PathBuf,
        /// What it is instead.
        reason: String,
    },
    /// A later version of this program wrote it. It was not changed.
    #[error("the receipt store {} has format {got}, this program knows up to {want}, and changed nothing; use a newer program, or take its receipts along: `guestright receipt export` by the newer one, `import` into another store by this one", path.display())]
    Newer {
        /// The store's file.
        path: PathBuf,
        got: i64,
        /// The newest format that we know.
        want: i64,
    },
    /// An earlier version of this program wrote it, and nothing but looking was wanted.
    #[error("the receipt store {} is of an earlier version; start the home once, which brings it up to date", path.display())]
    Older { path: PathBuf },
    /// The file is damaged.
    #[error(
        "the receipt store {} is damaged: {reason}; keep a copy, move it away, and the receipts \
         will come in again as their holders show them",
        path.display()
    )]
    Damaged {
        /// The store's file.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
    /// Receipts were kept here, and the file is gone or empty.
    #[error(
        "the receipt store {} is empty, and was not: all that others owe would be forgotten; put the file back from a \
         backup, or remove {} to begin anew",
        path.display(),
        marker.display()
    )]
    Emptied {
        /// The store's file.
        path: PathBuf,
        /// What says that there was one.
        marker: PathBuf,
    },
    /// It is not the store that was here before.
    #[error(
        "the receipt store {} is another one than was here before; put that one back, or remove {} to use this one",
        path.display(),
        marker.display()
    )]
    Replaced {
        /// The store's file.
        path: PathBuf,
        /// What says which one it was.
        marker: PathBuf,
    },
    #[error("no space is left for the receipt store {}; make room, nothing was acknowledged", path.display())]
    DiskFull {
        /// The store's file.
        path: PathBuf,
    },
    /// Anything else that the disk or SQLite refused.
    #[error("cannot {doing} in the receipt store {}: {reason}", path.display())]
    Failed {
        /// The store's file.
        path: PathBuf,
        /// What we wanted to do.
        doing: &'static str,
        /// SQLite's words.
        reason: String,
    },
    /// A receipt was handed in with a certificate that is not its own.
    #[error("a receipt came with certificate {got}, it points at {want}")]
    OtherCertificate {
        /// The certificate that came along.
        got: CertificateRef,
        /// The one that the receipt needs.
        want: CertificateRef,
    },
    /// The writer has as much to do as it may have; ask again later.
    #[error("the store is busy: {queue_max} requests are waiting already; ask again in a moment")]
    Busy {
        /// How many may wait.
        queue_max: usize,
    },
    /// The writer has stopped; the request was not carried out.
    #[error("the store has been closed")]
    Stopped,
}

impl StoreError {
    /// Something in the file is not as it was written.
    pub(crate) fn damaged(path: &Path, reason: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), reason: reason.to_string() }
    }

    /// What SQLite said, in our words.
    pub(crate) fn from_sqlite(path: &Path, doing: &'static str, error: &rusqlite::Error) -> Self {
        let (path, reason) = (path.to_owned(), error.to_string());
        let is = |code| error.sqlite_error_code() == Some(code);
        if is(ErrorCode::DatabaseBusy) || is(ErrorCode::DatabaseLocked) {
            Self::InUse { path }
        } else if is(ErrorCode::NotADatabase) {
            Self::NotAStore { path, reason }
        } else if is(ErrorCode::DatabaseCorrupt) {
            Self::Damaged { path, reason }
        } else if is(ErrorCode::DiskFull) {
            Self::DiskFull { path }
        } else if is(ErrorCode::SystemIoFailure) {
            let reason =
                "the disk did not read or write; is its directory ours to write, and the disk sound?"
                    .to_owned();
            Self::Failed { path, doing, reason }
        } else if reason.starts_with("no such ") {
            Self::Damaged { path, reason: "a part of it is missing".to_owned() }
        } else if is(ErrorCode::CannotOpen) || is(ErrorCode::ReadOnly) || is(ErrorCode::PermissionDenied) {
            Self::Open { path, reason }
        } else {
            Self::Failed { path, doing, reason }
        }
    }
}
