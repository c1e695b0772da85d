//! `[gateway.ikev2]` and `[gateway.l2tp]` in `home.toml`.

use super::beside;
use anyhow::anyhow;
use guestright_cli::failure::Failure;
use guestright_host::home::ikev2;
use guestright_strongswan::{DataPlane, Profile};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// Clients of IKEv2, through strongSwan. Paths are relative to the settings file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Ikev2Settings {
    pub(crate) profile: IkeProfile,
    pub(crate) data_plane: IkeDataPlane,
    /// For clients that log in by name and password: the gateway's X.509 certificate, and its issuers' after it.
    pub(crate) certificate: Option<PathBuf>,
    /// The key of that certificate.
    pub(crate) certificate_key: Option<PathBuf>,
    /// A file with the secret that all share who come by IKEv1, on its first line.
    pub(crate) team_secret: Option<PathBuf>,
}

impl Ikev2Settings {
    /// What the loop is told; `path` is the settings file's.
    pub(super) fn for_loop(&self, path: &Path) -> Result<ikev2::Settings, Failure> {
        let certificate = match (&self.certificate, &self.certificate_key) {
            (Some(certificate), Some(key)) => {
                let [certificate, key] = [certificate, key].map(|file| beside(path, file));
                Some(ikev2::CertificateFiles { certificate, key })
            }
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                return Err(Failure::config(anyhow!(
                    "[gateway.ikev2] needs both certificate and certificate_key, or neither"
                )));
            }
        };
        Ok(ikev2::Settings {
            profile: match self.profile {
                IkeProfile::Modern => Profile::Modern,
                IkeProfile::LegacyPaper => Profile::LegacyPaper,
            },
            data_plane: match self.data_plane {
                IkeDataPlane::Auto => None,
                IkeDataPlane::Kernel => Some(DataPlane::Kernel),
                IkeDataPlane::Userspace => Some(DataPlane::Userspace),
            },
            certificate,
            team_secret: self.team_secret.as_ref().map(|file| beside(path, file)),
        })
    }
}

impl L2tpSettings {
    pub(super) fn for_loop(&self, _: &Path) -> Result<ikev2::L2tpSettings, Failure> {
        Ok(ikev2::L2tpSettings { listen: self.listen })
    }
}

/// Clients of L2TP in IPsec. They need a `team_secret`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct L2tpSettings {
    /// The address that clients call; otherwise the first of the uplink.
    pub(crate) listen: Option<Ipv4Addr>,
}

/// Which suites are offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum IkeProfile {
    /// Today's.
    #[default]
    Modern,
    /// The papers' besides, which are broken: for experiments.
    LegacyPaper,
}

/// Who encrypts packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum IkeDataPlane {
    /// The kernel if it can, else strongSwan.
    #[default]
    Auto,
    /// The kernel.
    Kernel,
    /// strongSwan.
    Userspace,
}
