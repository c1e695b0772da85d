use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why results could not be written or read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResultsError {
    /// The system refused.
    #[error("cannot {doing} {}: {reason}{hint}", path.display())]
    System {
        /// What we wanted to do.
        doing: &'static str,
        path: PathBuf,
        /// The system's words.
        reason: String,
        /// What to do about it, when we know; starts with a semicolon.
        hint: &'static str,
    },
    /// A file is where the folder, or one above it, should be.
    #[error("cannot make the folder {}: {} is a file; choose another folder with --out", path.display(), file.display())]
    NotAFolder { path: PathBuf, file: PathBuf },
    /// Another program writes there.
    #[error("another program writes to {}; wait until it ends, or choose another folder", path.display())]
    Busy { path: PathBuf },
    /// The file is larger than any that we write.
    #[error("{} has {got} bytes, at most {max} are read; is it the right one?", path.display())]
    TooLarge { path: PathBuf, got: u64, max: u64 },
    /// The columns of a table are not as long as each other.
    #[error("the column `{column}` has {got} rows, the first one has {want}")]
    Ragged {
        column: String,
        got: usize,
        /// The first one's.
        want: usize,
    },
    /// It is no table in Parquet that we could have written.
    #[error("this is no table of ours in Parquet: {reason}")]
    Parquet {
        /// What is wrong with it.
        reason: String,
    },
    /// The picture cannot be drawn.
    #[error("the picture cannot be drawn: {reason}")]
    Picture {
        /// What is wrong with it.
        reason: String,
    },
}

impl ResultsError {
    pub(crate) fn system(doing: &'static str, path: &Path, error: &std::io::Error) -> Self {
        let hints = [
            (ErrorKind::NotFound, "; check the name, and that its folder exists"),
            (ErrorKind::PermissionDenied, "; check who owns it and its folder, or choose another with --out"),
            (ErrorKind::StorageFull, "; make room on that disk, or choose another folder with --out"),
            (ErrorKind::ReadOnlyFilesystem, "; choose a folder on another disk with --out"),
        ];
        let known = hints.iter().find(|(kind, _)| *kind == error.kind());
        let hint = known.map_or("", |(_, hint)| hint);
        Self::System { doing, path: path.to_owned(), reason: error.to_string(), hint }
    }
}
