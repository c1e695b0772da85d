//! `[phones]` in `home.toml`.

use anyhow::anyhow;
use guestright_cli::failure::Failure;
use guestright_host::home::phones;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::ops::RangeInclusive;

/// Long enough to pick up a phone, and not as long as a screen stays where others see it.
const PAGE_SECONDS: RangeInclusive<u64> = 5..=3_600;

/// Members' phones, which join Wi-Fi by certificates that the home makes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HomePhonesSettings {
    /// Whether there may be any.
    pub(crate) enabled: bool,
    /// What people call the household; it stands on their phones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) household: Option<String>,
    /// Where the page is, while somebody fetches a phone's files; otherwise at this computer's address, port 7276.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) page: Option<SocketAddr>,
    /// How long a link of the page works.
    pub(crate) page_seconds: u64,
    /// The household's own Wi-Fi, where a phone makes no tunnel.
    pub(crate) wifi_at_home: Vec<String>,
    /// Whether a phone tunnels home from other Wi-Fi too.
    pub(crate) tunnel_elsewhere: bool,
}

impl Default for HomePhonesSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            household: None,
            page: None,
            page_seconds: 900,
            wifi_at_home: Vec::new(),
            tunnel_elsewhere: false,
        }
    }
}

impl HomePhonesSettings {
    /// What the loop is told; nothing if there are to be none.
    pub(super) fn for_loop(&self) -> Result<Option<phones::Settings>, Failure> {
        if !PAGE_SECONDS.contains(&self.page_seconds) {
            let (got, least, most) = (self.page_seconds, PAGE_SECONDS.start(), PAGE_SECONDS.end());
            let what = anyhow!("page_seconds in [phones] is {got}; it must be {least} to {most}");
            return Err(Failure::config(what));
        }
        Ok(self.enabled.then(|| phones::Settings {
            name: self.household.clone(),
            page: self.page,
            page_seconds: self.page_seconds,
            wifi_at_home: self.wifi_at_home.clone(),
            tunnel_elsewhere: self.tunnel_elsewhere,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_household_may_decline_and_a_link_has_an_end() {
        let read = |text: &str| toml::from_str::<HomePhonesSettings>(text).unwrap().for_loop();
        assert_eq!(read("").unwrap().unwrap().page_seconds, 900);
        assert!(read("enabled = false").unwrap().is_none());
        for text in ["page_seconds = 4", "page_seconds = 86400"] {
            assert!(read(text).unwrap_err().to_string().contains("page_seconds"), "{text}");
        }
        assert!(toml::from_str::<HomePhonesSettings>("page = \"everywhere\"").is_err());
    }
}
