//! The file itself: made, recognised, and removed.

use super::AddressesError;
use rusqlite::Connection;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// `grad` in the file's header: a database of somebody else is never written to.
const APPLICATION_ID: i64 = 0x6772_6164;
const FORMAT: i64 = 1;
/// Records stand in slots, which are appended empty, overwritten where they are, and never removed. SQLite overwrites what it
/// frees (`secure_delete`), but not what it leaves behind when it moves a row to another page: so no row ever moves.
const TABLES: &str = "
    CREATE TABLE slot (
        id      INTEGER PRIMARY KEY,
        content BLOB NOT NULL
    ) STRICT;
    CREATE TABLE state (
        name  TEXT PRIMARY KEY,
        value INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    INSERT INTO state VALUES ('steady', 0);
";

/// Overwrites the file and what SQLite has beside it, and removes them; false if there was none. For a file that is damaged, or
/// that nobody wants any more. Nobody may have it open.
///
/// # Errors
/// One of them cannot be removed.
pub fn remove_addresses(path: &Path) -> io::Result<bool> {
    let mut was_there = false;
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let file = PathBuf::from(name);
        match OpenOptions::new().write(true).open(&file) {
            Ok(open) => {
                // A disk that is full or broken may refuse that; then it is removed all the same.
                let _ = overwrite(open);
                fs::remove_file(&file)?;
                was_there |= suffix.is_empty();
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(was_there)
}

fn overwrite(mut file: File) -> io::Result<()> {
    let length = file.metadata()?.len();
    file.rewind()?;
    io::copy(&mut io::repeat(0).take(length), &mut file)?;
    file.flush()?;
    file.sync_all()
}

/// Makes an empty file for its owner alone, unless there is one, which becomes its owner's alone.
pub(super) fn make_private(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            fs::set_permissions(path, Permissions::from_mode(0o600))
        }
        made => made.map(drop),
    }
}

/// Locks the file for this connection, checks that it is ours, and makes its tables if it is new.
pub(super) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), AddressesError> {
    let fail = |error: rusqlite::Error| AddressesError::from_sqlite(path, "prepare the table", &error);
    connection.busy_timeout(std::time::Duration::ZERO).map_err(fail)?;
    // Before the first read: nobody else has the file from then on, and the log's index is in memory.
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE").map_err(fail)?;
    let is_new = recognise(connection, path)?;
    for (name, value) in [
        ("secure_delete", "ON"),
        ("journal_mode", "WAL"),
        ("synchronous", "NORMAL"),
        ("trusted_schema", "OFF"),
        ("cell_size_check", "ON"),
        ("temp_store", "MEMORY"),
    ] {
        connection.pragma_update(None, name, value).map_err(fail)?;
    }
    connection.pragma_update(None, "cache_size", "-1024").map_err(fail)?;
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Exclusive).map_err(fail)?;
    if is_new {
        transaction.execute_batch(TABLES).map_err(fail)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(fail)?;
        transaction.pragma_update(None, "user_version", FORMAT).map_err(fail)?;
    }
    transaction.commit().map_err(fail)
}

/// Whether the file is a new one; an error if it is not ours.
fn recognise(connection: &Connection, path: &Path) -> Result<bool, AddressesError> {
    let fail = |error: rusqlite::Error| AddressesError::from_sqlite(path, "read the header", &error);
    let number = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(fail);
    let (application, format) = (number("PRAGMA application_id")?, number("PRAGMA user_version")?);
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    match (application, format) {
        (APPLICATION_ID, FORMAT) => Ok(false),
        (APPLICATION_ID, got) => Err(AddressesError::Newer { path: path.to_owned(), got, want: FORMAT }),
        (0, 0) if tables == 0 => Ok(true),
        _ => Err(AddressesError::NotOurs { path: path.to_owned() }),
    }
}
