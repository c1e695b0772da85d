//! `visit.toml`: a visitor that stays on.

use super::beside;
use guestright_cli::failure::Failure;
use guestright_host::{HomeAddress, PROTOCOL_PORT, visit};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the settings are, unless somebody says otherwise.
pub(crate) const FILE: &str = "/etc/guestright/visit.toml";

/// `visit.toml`. Paths are relative to the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VisitSettings {
    /// The member's secret key.
    pub(crate) key: PathBuf,
    /// The certificate that its team made for it.
    pub(crate) certificate: PathBuf,
    /// A file with the key's passphrase, if it has one.
    pub(crate) passphrase_file: Option<PathBuf>,
    /// WireGuard's configuration of the way home.
    pub(crate) tunnel: PathBuf,
    /// The team's home: a name or an address, and a port unless it is the usual one.
    pub(crate) home: HomeAddress,
    /// Where the program keeps its state.
    #[serde(default = "default_state")]
    pub(crate) state: PathBuf,
    /// Where it answers `guestright status`, `up` and `down`.
    #[serde(default = "default_control")]
    pub(crate) control: PathBuf,
    /// Whose members may ask it, besides root.
    #[serde(default = "default_group")]
    pub(crate) group: String,
    /// Interfaces of networks inside this computer, which the kill switch leaves alone; a name may end in `*`.
    #[serde(default = "default_local_interfaces")]
    pub(crate) local_interfaces: Vec<String>,
    /// The interface to access points; otherwise that of the default route.
    pub(crate) interface: Option<String>,
    /// The port of access points.
    #[serde(default = "default_port")]
    pub(crate) port: u16,
    /// How often the home is asked for new receipts.
    #[serde(default = "default_update")]
    pub(crate) update_seconds: u64,
}

fn default_state() -> PathBuf {
    "/var/lib/guestright/visit".into()
}

pub(crate) fn default_control() -> PathBuf {
    "/run/guestright-visit/control.sock".into()
}

fn default_group() -> String {
    "guestright".to_owned()
}

/// What virtual machines and containers make.
fn default_local_interfaces() -> Vec<String> {
    ["docker*", "br-*", "virbr*", "lxcbr*", "lxdbr*", "incusbr*", "podman*", "cni*", "vnet*"]
        .map(str::to_owned)
        .into()
}

fn default_port() -> u16 {
    PROTOCOL_PORT
}

fn default_update() -> u64 {
    60
}

impl VisitSettings {
    /// What the loop is told; `path` is the settings file's.
    pub(crate) fn for_loop(&self, path: &Path, json: bool) -> Result<visit::Settings, Failure> {
        if self.update_seconds == 0 {
            return Err(Failure::config(anyhow::anyhow!("update_seconds is 0; it must be 1 or more")));
        }
        Ok(visit::Settings {
            state: beside(path, &self.state),
            certificate: beside(path, &self.certificate),
            home: Some(self.home.clone()),
            tunnel: Some(beside(path, &self.tunnel)),
            access_point: None,
            port: self.port,
            interface: self.interface.clone(),
            transport: visit::Transport::Tcp,
            update_every: Duration::from_secs(self.update_seconds),
            json,
            stay: Some(visit::Stay { local_interfaces: self.local_interfaces.clone() }),
        })
    }
}
