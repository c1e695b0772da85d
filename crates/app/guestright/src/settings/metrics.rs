//! `[metrics]` in `ap.toml` and `home.toml`: figures for an operator's monitoring.

use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The ports unless others are named: home and access point are often on one computer.
pub(super) const HOME_METRICS_PORT: u16 = 7278;
pub(super) const AP_METRICS_PORT: u16 = 7279;

/// Where monitoring programs fetch metrics besides the socket beside the state.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MetricsSettings {
    /// Whoever reaches this address may read them; they name nobody. Otherwise only programs on this computer do.
    listen: Option<SocketAddr>,
}

impl MetricsSettings {
    pub(super) fn for_loop(&self, port: u16) -> SocketAddr {
        self.listen.unwrap_or(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
    }
}
