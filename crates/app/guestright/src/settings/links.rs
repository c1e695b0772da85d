//! `[links]` in `home.toml`.

use super::{IpAddr, SocketAddr, VoiceSettings};
use anyhow::{Context as _, anyhow};
use guestright_cli::failure::Failure;
use guestright_directory::{Address, LINK_PORT};
use guestright_host::home::links;
use serde::{Deserialize, Serialize};

/// Links to homes of other teams.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LinksSettings {
    /// Whether there are any.
    pub(crate) enabled: bool,
    /// Where other homes are awaited; otherwise at every address, at the port of links.
    pub(crate) listen: Option<SocketAddr>,
    /// Where others are to find this home: `host:port`.
    pub(crate) announce: Option<String>,
}

impl Default for LinksSettings {
    fn default() -> Self {
        Self { enabled: true, listen: None, announce: None }
    }
}

impl LinksSettings {
    /// Where other homes are awaited. `[voice]` said so before there was `[links]`, and still may.
    pub(super) fn address(&self, voice: Option<&VoiceSettings>) -> Result<SocketAddr, Failure> {
        match (self.listen, voice.and_then(VoiceSettings::listen)) {
            (Some(own), Some(voice)) if own != voice => {
                let what = anyhow!("other homes are awaited at {own} by [links], and at {voice} by [voice]");
                Err(Failure::config(what).hint("remove `listen` from [voice]"))
            }
            (own, voice) => {
                let default = SocketAddr::new(IpAddr::from([0, 0, 0, 0]), LINK_PORT.get());
                Ok(own.or(voice).unwrap_or(default))
            }
        }
    }

    /// What the loop is told; nothing if there are to be no links.
    pub(super) fn for_loop(&self, voice: Option<&VoiceSettings>) -> Result<Option<links::Settings>, Failure> {
        if !self.enabled && voice.is_some() {
            let what = anyhow!("[voice] needs links to other homes, and [links] declines them");
            return Err(Failure::config(what).hint("remove `enabled = false` from [links]"));
        }
        let listen = self.address(voice)?;
        let announce = self.announce.as_ref().map(|text| announced(text)).transpose()?;
        Ok(self.enabled.then_some(links::Settings { listen, announce }))
    }
}

fn announced(text: &str) -> Result<Address, Failure> {
    text.parse::<Address>()
        .with_context(|| format!("understand announce = {text:?} in [links]"))
        .map_err(Failure::config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(links: &str, voice: Option<&str>) -> Result<Option<links::Settings>, Failure> {
        let voice = voice.map(|text| toml::from_str::<VoiceSettings>(text).unwrap());
        toml::from_str::<LinksSettings>(links).unwrap().for_loop(voice.as_ref())
    }

    #[test]
    fn homes_are_awaited_where_either_section_says() {
        let at = |links, voice| read(links, voice).unwrap().unwrap().listen.to_string();
        let (one, other) = ("listen = \"192.0.2.1:1\"", "listen = \"192.0.2.1:2\"");
        assert_eq!(at("", None), "0.0.0.0:7275");
        assert_eq!(at("", Some("")), "0.0.0.0:7275");
        assert_eq!(at("", Some(other)), "192.0.2.1:2");
        assert_eq!(at(one, Some("")), "192.0.2.1:1");
        assert_eq!(at(one, Some(one)), "192.0.2.1:1");
        let refused = read(one, Some(other)).unwrap_err().to_string();
        assert!(refused.contains("192.0.2.1:1") && refused.contains("192.0.2.1:2"), "{refused}");
    }

    #[test]
    fn a_household_may_decline_but_not_with_calls() {
        assert!(read("enabled = false", None).unwrap().is_none());
        let refused = read("enabled = false", Some("")).unwrap_err().to_string();
        assert!(refused.contains("[voice]") && refused.contains("[links]"), "{refused}");
    }

    #[test]
    fn what_is_announced_is_an_address() {
        let announced = |text: &str| read(&format!("announce = \"{text}\""), None);
        let address = announced("home.example").unwrap().unwrap().announce;
        assert_eq!(address.map(|address| address.to_string()), Some("home.example:7275".to_owned()));
        assert!(announced("a b").unwrap_err().to_string().contains("a b"));
    }
}
