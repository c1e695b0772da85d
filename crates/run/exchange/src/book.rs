//! What the exchange reads from disk: members, their records, and the book.

use super::super::gateway::Gateway;
use crate::gateway_files::GatewayFiles;
use anyhow::Context;
use guestright_cli::failure::Failure;
use guestright_directory::{Book, BookLimits, Record};
use guestright_identity::KeyId;
use guestright_signalling::Member;
use guestright_units::{TeamId, Time};
use std::path::Path;

/// No record of a member is longer; the file has nothing else in it.
const RECORD_MAX: usize = Record::LEN_MAX;
/// A kept book is not longer.
const BOOK_MAX: usize = 8 * 1_024 * 1_024;

/// The members with their keys, and their records as far as they have left any.
pub(super) fn read_members(gateway: &Gateway) -> Result<(Vec<Member>, Vec<Record>), Failure> {
    let mut members = Vec::new();
    let mut records = Vec::new();
    for (name, address, key) in gateway.members() {
        let Ok(key) = key.parse::<TeamId>().map(|id| KeyId(id.0)) else {
            tracing::warn!("a member's file names no key: the member cannot be called from elsewhere");
            continue;
        };
        records.extend(read_record(gateway.files(), name)?);
        members.push(Member { name: name.to_owned(), key, address: address.into() });
    }
    Ok((members, records))
}

/// A member's word on where its home is, if it has left one.
fn read_record(files: &GatewayFiles, name: &str) -> Result<Option<Record>, Failure> {
    let path = files.record_path(name);
    if !path.exists() {
        return Ok(None);
    }
    let read = || {
        let bytes = guestright_keys::read_to_limit(&path, RECORD_MAX)?;
        Ok::<_, anyhow::Error>(Record::parse(&bytes)?)
    };
    read().map(Some).with_context(|| format!("read {}", path.display())).map_err(Failure::config)
}

/// What was known before. A book that cannot be read is not worth stopping for.
pub(super) fn read_book(file: &Path, now: Time) -> Book {
    let limits = BookLimits::default();
    let fresh = || Book::new(limits);
    if !file.exists() {
        return fresh();
    }
    let read = || {
        let bytes = guestright_keys::read_to_limit(file, BOOK_MAX)?;
        Ok::<_, anyhow::Error>(Book::restore(&bytes, limits, now.unix_seconds())?)
    };
    read().unwrap_or_else(|error| {
        tracing::warn!(%error, "what was known of other homes is lost");
        fresh()
    })
}
