//! `[web]` in `home.toml`: the household's page.

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Where the page is besides the socket beside the home's state, and members' tunnels.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WebSettings {
    /// Here whoever has a link of `guestright home web` comes in, from the home's start on.
    pub(crate) listen: Vec<SocketAddr>,
    /// The team's directory with its key, if members are to be added, renewed and revoked on the page. Whoever takes over the home
    /// has the team then.
    pub(crate) team: Option<PathBuf>,
}
