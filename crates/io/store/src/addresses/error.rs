use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why the records of addresses did not do what they were asked.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressesError {
    #[error("cannot open the address records {}: {reason}; check that its directory exists and is ours to write", path.display())]
    Open { path: PathBuf, reason: String },
    #[error("the address records {} are in use by another process; ask that one, or stop it first", path.display())]
    InUse { path: PathBuf },
    #[error("{} is a database of another program, and was not changed; move it away", path.display())]
    NotOurs { path: PathBuf },
    #[error("the address records {} have format {got}, this program knows {want}, and changed nothing; use the program that wrote them, or remove the file", path.display())]
    Newer { path: PathBuf, got: i64, want: i64 },
    #[error("the address records {} are damaged: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("no space is left for the address records {}; make room", path.display())]
    DiskFull { path: PathBuf },
    #[error("cannot {doing} in {}: {reason}; is its directory ours to write, and the disk sound?", path.display())]
    Failed { path: PathBuf, doing: &'static str, reason: String },
}

impl AddressesError {
    /// What SQLite said, in our words.
    pub(super) fn from_sqlite(path: &Path, doing: &'static str, error: &rusqlite::Error) -> Self {
        let (path, reason) = (path.to_owned(), error.to_string());
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::InUse { path },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged { path, reason },
            Some(ErrorCode::DiskFull) => Self::DiskFull { path },
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                Self::Open { path, reason }
            }
            // A row or a table that is not as it was written.
            None => Self::Damaged { path, reason },
            Some(_) if reason.starts_with("no such ") => Self::Damaged { path, reason },
            Some(_) => Self::Failed { path, doing, reason },
        }
    }
}
