//! A file beside the store that says which store it is, so that one that was emptied is not taken for a new one.

use crate::StoreError;
use rusqlite::{Connection, OptionalExtension, params};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The name in the store's own table under which the same number stands.
const NAME: &str = "store";

/// Where it is: the store's name and `.id`.
fn marker(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".id");
    PathBuf::from(name)
}

/// Before anything is made: whether a store was here that is gone.
pub(crate) fn refuse_emptied(path: &Path) -> Result<(), StoreError> {
    let marker = marker(path);
    let is_empty =
        fs::metadata(path).map_or_else(|error| error.kind() == ErrorKind::NotFound, |it| it.len() == 0);
    if is_empty && marker.exists() {
        return Err(StoreError::Emptied { path: path.to_owned(), marker });
    }
    Ok(())
}

/// Compares the number in the store with the one beside it; a new store gets one.
pub(crate) fn check(connection: &Connection, path: &Path, count: u64) -> Result<(), StoreError> {
    let fail = |error: rusqlite::Error| StoreError::from_sqlite(path, "read which store it is", &error);
    let marker = marker(path);
    let kept = connection
        .query_row("SELECT value FROM state WHERE key = ?", [NAME], |row| row.get::<_, i64>(0))
        .optional()
        .map_err(fail)?;
    let noted = match fs::read_to_string(&marker) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(StoreError::Open { path: marker, reason: error.to_string() }),
    };
    match (kept, noted) {
        (Some(number), Some(text)) if text == line(number) => Ok(()),
        (None, Some(_)) if count == 0 => Err(StoreError::Emptied { path: path.to_owned(), marker }),
        (_, Some(_)) => Err(StoreError::Replaced { path: path.to_owned(), marker }),
        (Some(number), None) => write(&marker, number),
        (None, None) => {
            let number =
                connection.query_row("SELECT random()", [], |row| row.get::<_, i64>(0)).map_err(fail)?;
            connection
                .execute("INSERT INTO state (key, value) VALUES (?, ?)", params![NAME, number])
                .map_err(fail)?;
            write(&marker, number)
        }
    }
}

fn line(number: i64) -> String {
    format!("{:016x}\n", number.cast_unsigned())
}

fn write(marker: &Path, number: i64) -> Result<(), StoreError> {
    let fail =
        |error: std::io::Error| StoreError::Open { path: marker.to_owned(), reason: error.to_string() };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(marker).map_err(fail)?;
    file.write_all(line(number).as_bytes()).and_then(|()| file.sync_all()).map_err(fail)
}
