//! `[retention]` in `ap.toml`: how long it is kept who had which address.

use anyhow::anyhow;
use guestright_cli::failure::Failure;
use guestright_host::access_point::retention::Keep;
use serde::{Deserialize, Serialize};

/// All of it. Without this table nothing is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RetentionSettings {
    /// `off`, or from `1h` to `30d`.
    addresses: String,
}

impl Default for RetentionSettings {
    fn default() -> Self {
        Self { addresses: "off".to_owned() }
    }
}

impl RetentionSettings {
    pub(crate) fn for_loop(&self) -> Result<Option<Keep>, Failure> {
        Keep::parse(&self.addresses)
            .map_err(|error| Failure::config(anyhow!("[retention] addresses: {error}")))
    }
}
