//! `[dynamic_dns]` in `home.toml`.

use super::{SocketAddr, beside};
use anyhow::{Context as _, anyhow};
use guestright_cli::failure::Failure;
use guestright_directory::HostName;
use guestright_host::home::own_name;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// The home's own name follows its address (RFC 2136).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DynamicDnsSettings {
    /// The home's name.
    pub(crate) name: String,
    /// The primary server of the zone that the name is in.
    pub(crate) server: SocketAddr,
    /// That zone; otherwise what is behind the name's first dot.
    pub(crate) zone: Option<String>,
    /// The key for updates, as `tsig-keygen` writes it: the owner's file alone (mode 600).
    pub(crate) key_file: PathBuf,
    /// How long others may keep the address, in seconds.
    #[serde(default = "default_ttl")]
    pub(crate) ttl_seconds: u32,
    /// The address, if the household knows it better than this computer and its router.
    pub(crate) address: Option<Ipv4Addr>,
}

fn default_ttl() -> u32 {
    60
}

impl DynamicDnsSettings {
    /// What the loop is told; `path` is the settings file's.
    pub(super) fn for_loop(&self, path: &Path) -> Result<own_name::Settings, Failure> {
        let refused = |what: String| Failure::config(anyhow!("[dynamic_dns]: {what}"));
        let name = HostName::new(&self.name)
            .with_context(|| format!("understand name = {:?} in [dynamic_dns]", self.name))
            .map_err(Failure::config)?;
        let behind = self.name.split_once('.').map(|(_, zone)| zone.to_owned());
        let Some(zone) = self.zone.clone().or(behind) else {
            return Err(refused(format!("{} is in no zone; give `zone`", self.name)));
        };
        if self.ttl_seconds == 0 {
            return Err(refused("ttl_seconds is not 0".to_owned()));
        }
        let nobodys =
            |address: &Ipv4Addr| address.is_unspecified() || address.is_multicast() || address.is_loopback();
        if let Some(address) = self.address.filter(nobodys) {
            return Err(refused(format!("{address} is nobody's address")));
        }
        Ok(own_name::Settings {
            name,
            server: self.server,
            zone,
            key_file: beside(path, &self.key_file),
            ttl_seconds: self.ttl_seconds,
            address: self.address,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_error::RunError;

    const GOOD: &str =
        "name = \"home.example.org\"\nserver = \"198.51.100.53:53\"\nkey_file = \"update.key\"\n";

    #[test]
    fn the_zone_is_behind_the_first_dot_unless_it_is_given() {
        for (more, zone) in [("", "example.org"), ("zone = \"org\"\n", "org")] {
            let settings: DynamicDnsSettings = toml::from_str(&format!("{GOOD}{more}")).unwrap();
            let read = settings.for_loop(Path::new("/etc/guestright/home.toml")).unwrap();
            assert_eq!((read.zone.as_str(), read.ttl_seconds, read.address), (zone, 60, None));
            assert_eq!(read.key_file, Path::new("/etc/guestright/update.key"));
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_sentence() {
        for (text, words) in [
            (GOOD.replace("home.example.org", "home"), "zone"),
            (GOOD.replace("home.example.org", "two words"), "name"),
            (format!("{GOOD}ttl_seconds = 0\n"), "ttl_seconds"),
            (format!("{GOOD}address = \"0.0.0.0\"\n"), "nobody"),
        ] {
            let settings: DynamicDnsSettings = toml::from_str(&text).unwrap();
            let refused = settings.for_loop(Path::new("home.toml")).unwrap_err();
            let refused = RunError::from(refused).sentence();
            assert!(refused.contains("[dynamic_dns]") && refused.contains(words), "{refused}");
        }
    }
}
