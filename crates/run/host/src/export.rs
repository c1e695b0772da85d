//! The receipts of a program that runs, page by page over its control socket: its store is locked for everybody else.

use crate::control;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use guestright_error::RunError;
use guestright_identity::MemberId;
use guestright_receipt::{Bundle, SessionKey};
use guestright_store::{Encoded, Store, StoreError, WriterHandle};
use guestright_units::{TeamId, UnixSeconds};
use serde_json::{Value, json};
use std::path::Path;
use tokio::sync::oneshot;

/// What a page is asked for with; a session may follow, after which it begins.
pub(crate) const QUESTION: &str = "export";
/// A page has so many receipts: half a megabyte, and a few milliseconds of the store's thread.
const PAGE: usize = 1_024;

/// Receipts as `receipt export` writes them.
#[derive(Debug, Default)]
pub struct Exported {
    pub count: u64,
    /// One bundle in base64 each.
    pub lines: Vec<String>,
}

/// Fetches all receipts of the program behind `socket`. Nothing if none runs there.
///
/// # Errors
/// It does not answer, or its store fails.
pub fn fetch(socket: &Path) -> Result<Option<Exported>, RunError> {
    let mut exported = Exported::default();
    let mut after = String::new();
    loop {
        let Some(mut page) = control::ask(socket, format!("{QUESTION} {after}").trim_end())? else {
            return Ok(None);
        };
        if let Some(error) = page["error"].as_str() {
            return Err(RunError::network(format!(
                "the running program does not show its receipts: {error}"
            )));
        }
        let lines = page["lines"].as_array_mut().map(std::mem::take).unwrap_or_default();
        exported.lines.extend(lines.iter().filter_map(|line| line.as_str().map(str::to_owned)));
        exported.count += page["count"].as_u64().unwrap_or_default();
        match page["next"].as_str() {
            Some(next) if next != after => after = next.to_owned(),
            _ => return Ok(Some(exported)),
        }
    }
}

/// Answers a question for a page; `after` is where the one before has ended, or nothing.
pub(crate) fn answer(store: &WriterHandle, after: &str, reply: oneshot::Sender<Value>) {
    let after = match after {
        "" => None,
        text => match session(text) {
            Some(session) => Some(session),
            None => return drop(reply.send(json!({ "error": "a page begins after a session" }))),
        },
    };
    let job = move |store: &mut Store| {
        let answer = page(store, after).unwrap_or_else(|error| json!({ "error": error.to_string() }));
        let _ = reply.send(answer); // The asker may have gone.
    };
    if let Err(error) = store.run(job) {
        tracing::warn!(%error, "the store is too busy to be asked");
    }
}

fn page(store: &Store, after: Option<SessionKey>) -> Result<Value, StoreError> {
    let found = store.receipts_after(after, PAGE)?;
    let next = found.last().filter(|_| found.len() == PAGE).map(|(session, _)| name(session));
    Ok(json!({ "lines": bundles(&found), "count": found.len(), "next": next }))
}

/// Bundles in base64.
pub(crate) fn bundles(found: &[(SessionKey, Encoded)]) -> Vec<String> {
    let lines = found.chunks(Bundle::RECEIPTS_MAX).map(|chunk| {
        let mut bundle = Bundle::default();
        for (_, (receipt, certificate)) in chunk {
            if !bundle.certificates.contains(certificate) {
                bundle.certificates.push(certificate.clone());
            }
            bundle.receipts.push(receipt.clone());
        }
        STANDARD.encode(bundle.emit())
    });
    lines.collect()
}

/// A session as it stands in a question for a page.
pub(crate) fn name(session: &SessionKey) -> String {
    let started = session.started.0.to_be_bytes();
    STANDARD.encode([session.provider.0.as_slice(), &started, &session.member.0].concat())
}

pub(crate) fn session(text: &str) -> Option<SessionKey> {
    let bytes = STANDARD.decode(text).ok()?;
    let (provider, rest) = bytes.split_first_chunk::<24>()?;
    let (started, member) = rest.split_first_chunk::<8>()?;
    Some(SessionKey {
        provider: TeamId(*provider),
        member: MemberId(member.try_into().ok()?),
        started: UnixSeconds(u64::from_be_bytes(*started)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_page_ends_the_next_begins() {
        let key = SessionKey {
            provider: TeamId([1; 24]),
            member: MemberId([2; 24]),
            started: UnixSeconds(1_800_000_000),
        };
        assert_eq!(session(&name(&key)), Some(key));
        for wrong in ["", "x", "AAAA", "*"] {
            assert_eq!(session(wrong), None, "{wrong}");
        }
    }
}
