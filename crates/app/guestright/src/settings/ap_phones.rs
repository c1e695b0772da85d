//! `[phones]` in `ap.toml`: phones that join the Wi-Fi by 802.1X.

use super::{ApSettings, beside};
use anyhow::anyhow;
use guestright_cli::failure::Failure;
use guestright_firewall::Tunnels;
use guestright_host::access_point::{phones, radsec};
use guestright_profile::IKE_PORTS;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// All of it. Without this table no phone joins.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ApPhonesSettings {
    /// Where hostapd asks; it reports at the port after this one.
    pub(crate) radius: SocketAddr,
    /// Where hostapd awaits orders to let a station go.
    pub(crate) disconnect: SocketAddr,
    /// What both share; otherwise `radius.secret` in the state directory. It is made if it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) secret_file: Option<PathBuf>,
    /// Whether hostapd is told in a sentence why a station is refused.
    pub(crate) reply_message: bool,
    /// Where radios elsewhere in the household ask inside TLS, and files in PEM: what this access point shows and its key, and
    /// the authority of those who may ask. All of them, or none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) radsec: Option<SocketAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) radsec_certificate: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) radsec_key: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) radsec_authority: Option<PathBuf>,
}

impl Default for ApPhonesSettings {
    fn default() -> Self {
        // The ports that IANA has for RADIUS (RFC 2865, section 3) and for orders to it (RFC 5176, section 2.1).
        let [radius, disconnect] = [1_812, 3_799].map(|port| (Ipv4Addr::LOCALHOST, port).into());
        Self {
            radius,
            disconnect,
            secret_file: None,
            reply_message: true,
            radsec: None,
            radsec_certificate: None,
            radsec_key: None,
            radsec_authority: None,
        }
    }
}

impl ApPhonesSettings {
    fn radsec(&self, path: &Path) -> Result<Option<radsec::Settings>, Failure> {
        let [certificate, key, authority] =
            [&self.radsec_certificate, &self.radsec_key, &self.radsec_authority]
                .map(|file| file.as_ref().map(|file| beside(path, file)));
        match (self.radsec, certificate, key, authority) {
            (None, None, None, None) => Ok(None),
            (Some(address), Some(certificate), Some(key), Some(authority)) => {
                Ok(Some(radsec::Settings { address, certificate, key, authority }))
            }
            _ => Err(Failure::config(anyhow!("[phones] has some of what RadSec needs, and not all"))
                .hint("give radsec, radsec_certificate, radsec_key and radsec_authority, or none of them")),
        }
    }
}

impl ApSettings {
    /// What the loop is told of phones; `path` is the settings file's.
    pub(crate) fn phones_for_loop(&self, path: &Path) -> Result<Option<phones::Settings>, Failure> {
        let Some(own) = &self.phones else { return Ok(None) };
        let secret_file = match &own.secret_file {
            Some(file) => beside(path, file),
            None => beside(path, &self.state).join("radius.secret"),
        };
        let settings = phones::Settings {
            radius: own.radius,
            disconnect: own.disconnect,
            secret_file,
            reply_message: own.reply_message,
            radsec: own.radsec(path)?,
        };
        settings.check()?;
        Ok(Some(settings))
    }

    /// What passes to and from tunnels without a session. Phones that come by 802.1X tunnel home by IKEv2, before anybody
    /// has signed.
    pub(super) fn tunnels_for_loop(&self) -> Result<Option<Tunnels>, Failure> {
        let rules = self.tunnels.rules();
        match (&self.phones, rules) {
            (Some(_), Some(mut rules)) => {
                rules.ports.extend(IKE_PORTS);
                Ok(Some(rules))
            }
            (Some(_), None) => {
                Err(Failure::config(anyhow!("[phones] needs [tunnels], which are not enabled"))
                    .hint("phones tunnel home before their homes sign: enable [tunnels], or remove [phones]"))
            }
            (None, rules) => Ok(rules),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(more: &str) -> ApSettings {
        let text = "key = \"k\"\ncertificate = \"c\"\nhome = \"127.0.0.1:1\"\nvisitor_interface = \"br0\"\n\
                    uplink_interface = \"wan0\"\n";
        toml::from_str(&format!("{text}{more}")).unwrap()
    }

    fn for_loop(more: &str) -> Result<guestright_host::access_point::Settings, String> {
        settings(more).for_loop(Path::new("/srv/ap.toml")).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn phones_are_off_unless_there_is_the_table_and_usual_with_an_empty_one() {
        assert_eq!(for_loop("").unwrap().phones, None);
        let usual = for_loop("[phones]\n").unwrap().phones.unwrap();
        assert_eq!(usual.radius, "127.0.0.1:1812".parse().unwrap());
        assert_eq!(usual.disconnect, "127.0.0.1:3799".parse().unwrap());
        assert_eq!(usual.secret_file, Path::new("/srv/ap-state/radius.secret"));
        let own = for_loop("[phones]\nsecret_file = \"s\"\nreply_message = false\n").unwrap().phones.unwrap();
        assert_eq!((own.secret_file.as_path(), own.reply_message), (Path::new("/srv/s"), false));
    }

    #[test]
    fn radius_stays_on_this_computer() {
        let refused = for_loop("[phones]\nradius = \"0.0.0.0:1812\"\n").unwrap_err();
        assert!(refused.contains("loopback"), "{refused}");
        let refused = for_loop("[phones]\ndisconnect = \"192.168.1.2:3799\"\n").unwrap_err();
        assert!(refused.contains("loopback"), "{refused}");
    }

    #[test]
    fn radsec_is_off_or_whole_and_in_the_household() {
        let with = |more: &str| for_loop(&format!("[phones]\n{more}"));
        assert_eq!(with("").unwrap().phones.unwrap().radsec, None);
        let files = "radsec_certificate = \"c.pem\"\nradsec_key = \"k.pem\"\nradsec_authority = \"a.pem\"\n";
        let whole = with(&format!("radsec = \"192.168.1.1:2083\"\n{files}")).unwrap().phones.unwrap();
        assert_eq!(whole.radsec.unwrap().key, Path::new("/srv/k.pem"));
        for some in ["radsec = \"192.168.1.1:2083\"\n", files] {
            assert!(with(some).unwrap_err().contains("not all"), "{some}");
        }
        let refused = with(&format!("radsec = \"0.0.0.0:2083\"\n{files}")).unwrap_err();
        assert!(refused.contains("household's own network"), "{refused}");
    }

    #[test]
    fn with_phones_the_allowance_lets_their_tunnels_through() {
        let ports = |more| for_loop(more).map(|settings| settings.tunnels.map(|tunnels| tunnels.ports));
        assert_eq!(ports(""), Ok(Some([51_820].into())));
        assert_eq!(ports("[phones]\n"), Ok(Some([500, 4_500, 51_820].into())));
        assert_eq!(ports("[phones]\n[tunnels]\nports = [4500]\n"), Ok(Some([500, 4_500].into())));
        assert!(ports("[phones]\n[tunnels]\nenabled = false\n").unwrap_err().contains("[tunnels]"));
    }
}
