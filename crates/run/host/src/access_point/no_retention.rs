//! Who had which address when, in a program that does not keep it.

use super::Loop;
use crate::absent::Absent;
use guestright_error::RunError;
use guestright_roaming::access_point::{Address, SessionStatus};
use guestright_store::addresses::remove_addresses;
use guestright_units::Bytes;
use serde_json::{Value, json};
use std::path::Path;
use tokio::sync::oneshot;

/// Nothing is kept for any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep(Absent);

impl Keep {
    pub fn hours(self) -> u64 {
        match self.0 {}
    }
}

/// What is wrong, if a program that kept records has left some that cannot be removed.
#[derive(Debug)]
pub(super) struct Retention {
    trouble: Option<String>,
}

impl Retention {
    /// Removes what another program has kept before it returns: nobody who wants none of it kept is to find it.
    #[expect(clippy::unnecessary_wraps, reason = "it is as where records are kept")]
    pub(super) fn open(state: &Path, _: Option<Keep>) -> Result<Self, RunError> {
        let file = state.join("addresses.sqlite");
        let trouble = match remove_addresses(&file) {
            Ok(false) => None,
            Ok(true) => {
                tracing::warn!(name: "addresses_removed", "this program keeps no records of addresses: all of them are removed");
                None
            }
            Err(error) => {
                let trouble = format!("cannot remove {}: {error}; remove it by hand", file.display());
                tracing::error!(
                    trouble,
                    "not all that is to be kept of addresses is kept; guests are served as ever"
                );
                Some(trouble)
            }
        };
        Ok(Self { trouble })
    }

    pub(super) fn session_ends(&self, _: &SessionStatus) {}

    pub(super) fn trial_begins(&self, _: Address) {}

    pub(super) fn trial_ends(&self, _: Address, _: Bytes) {}

    /// For `status`: null if all is well.
    pub(super) fn status(&self) -> Value {
        let trouble = self.trouble.as_ref();
        trouble
            .map_or(Value::Null, |trouble| json!({ "keep_seconds": null, "records": 0, "trouble": trouble }))
    }
}

pub(super) fn session_begins(_: &Loop, _: Address) {}

pub(super) fn change(_: &mut Loop, _: Option<Keep>) {}

pub(super) fn is_question(_: &str) -> bool {
    false
}

pub(super) fn answer(_: &Loop, _: &str, _: oneshot::Sender<Value>) {}
