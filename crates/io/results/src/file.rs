//! Files that are there whole or not at all.

use crate::ResultsError;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

/// Writes a file: beside its place at first, and then into it, so that nobody ever finds half of it. Folders that are
/// missing are made.
///
/// # Errors
///
/// When the system refuses.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), ResultsError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_folder(folder)?;
    let write = || {
        let mut file = tempfile::Builder::new()
            .prefix(".new-")
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)) // The umask takes from it.
            .tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| ResultsError::system("write", path, &error))
}

/// Makes a folder and those above it, unless they are there.
///
/// # Errors
///
/// When the system refuses.
pub fn make_folder(path: &Path) -> Result<(), ResultsError> {
    std::fs::create_dir_all(path).map_err(|error| match path.ancestors().find(|part| part.is_file()) {
        Some(file) => ResultsError::NotAFolder { path: path.to_owned(), file: file.to_owned() },
        None => ResultsError::system("make the folder", path, &error),
    })
}

/// Reads a file of at most `max` bytes.
///
/// # Errors
///
/// When the system refuses, or the file is larger.
pub fn read(path: &Path, max: u64) -> Result<Vec<u8>, ResultsError> {
    let read = || {
        let mut bytes = Vec::new();
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        file.take(max + 1).read_to_end(&mut bytes)?;
        Ok((bytes, size))
    };
    let (bytes, size) = read().map_err(|error| ResultsError::system("read", path, &error))?;
    let got = size.max(bytes.len() as u64);
    if got > max {
        return Err(ResultsError::TooLarge { path: path.to_owned(), got, max });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er/rows.csv");
        write(&path, b"first").unwrap();
        write(&path, b"second").unwrap();
        assert_eq!(read(&path, 6).unwrap(), b"second");
        let names: Vec<_> = std::fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    #[test]
    fn what_is_too_large_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, b"1234567").unwrap();
        assert_eq!(read(&path, 6), Err(ResultsError::TooLarge { path: path.clone(), got: 7, max: 6 }));
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        write(&file, b"").unwrap();
        let error = write(&file.join("below"), b"").unwrap_err().to_string();
        assert!(error.starts_with("cannot make the folder "), "{error}");
        assert_eq!(
            make_folder(&file.join("deep/er")),
            Err(ResultsError::NotAFolder { path: file.join("deep/er"), file: file.clone() })
        );
        let error = make_folder(&file).unwrap_err().to_string();
        assert!(error.ends_with("/file is a file; choose another folder with --out"), "{error}");
        let error = read(&folder.path().join("none"), 1).unwrap_err().to_string();
        assert!(error.contains("none") && error.contains("check the name"), "{error}");
    }
}
