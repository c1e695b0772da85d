//! `[web]` in `home.toml`: the household's page.

use guestright_host::home::page;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Where the page is besides the socket beside the home's state, and members' tunnels.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WebSettings {
    /// Here whoever has a link of `guestright home web` may look, from the home's start on.
    listen: Vec<SocketAddr>,
}

impl WebSettings {
    pub(super) fn for_loop(&self) -> page::Settings {
        page::Settings { listen: self.listen.clone() }
    }
}
