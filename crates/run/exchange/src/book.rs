//! What was known of other homes, kept over a new start.

use guestright_directory::{Book, BookLimits};
use guestright_units::Time;
use std::path::Path;

/// A kept book is not longer.
const BOOK_MAX: usize = 8 * 1_024 * 1_024;

/// What was known before. A book that cannot be read is not worth stopping for.
pub(crate) fn read_book(file: &Path, now: Time) -> Book {
    let limits = BookLimits::default();
    let fresh = || Book::new(limits);
    if !file.exists() {
        return fresh();
    }
    let read = || {
        let bytes = guestright_keys::read_to_limit(file, BOOK_MAX)?;
        Ok::<_, Box<dyn std::error::Error>>(Book::restore(&bytes, limits, now.unix_seconds())?)
    };
    read().unwrap_or_else(|error| {
        tracing::warn!(%error, "what was known of other homes is lost");
        fresh()
    })
}
