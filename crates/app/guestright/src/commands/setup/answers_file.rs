//! Answers as a file: TOML, unknown keys refused. The journal keeps them in the same form.

use anyhow::{Context as _, anyhow};
use guestright_cli::failure::Failure;
use guestright_setup::{Answers, HomeAnswer, Splash, SplashCertificate, Subnet, TeamAnswer, WifiAnswer};
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct AnswersFile {
    uplink: Option<String>,
    ports: Option<Vec<String>>,
    vlan: Option<u16>,
    bridge: Option<String>,
    network: Option<String>,
    members_network: Option<String>,
    wifi: Option<WifiTable>,
    team: TeamTable,
    home: HomeTable,
    guests: GuestsTable,
    splash: Option<SplashTable>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WifiTable {
    enabled: Option<bool>,
    interface: Option<String>,
    ssid: Option<String>,
    country: Option<String>,
    channel: Option<u8>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TeamTable {
    members: Vec<String>,
    keep_key: bool,
    join: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct HomeTable {
    endpoint: Option<String>,
    port_mapping: bool,
    networks: Vec<String>,
    allowance_bytes_per_day: Option<u64>,
    at: Option<String>,
}

impl Default for HomeTable {
    fn default() -> Self {
        Self {
            endpoint: None,
            port_mapping: true,
            networks: Vec::new(),
            allowance_bytes_per_day: None,
            at: None,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct GuestsTable {
    down_bits_per_second: Option<u64>,
    up_bits_per_second: Option<u64>,
    household_networks: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SplashTable {
    household: String,
    trial: Option<String>,
    name: Option<String>,
    certificate: Option<String>,
    certificate_key: Option<String>,
}

impl AnswersFile {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let read = || {
            let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
            toml::from_str(&text).with_context(|| format!("understand {}", path.display()))
        };
        read().map_err(|error: anyhow::Error| {
            Failure::config(error).hint("`guestright setup --help` shows such a file")
        })
    }

    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        toml::from_str(text)
            .context("understand the answers in the journal of setup")
            .map_err(Failure::config)
    }

    pub(super) fn text(&self) -> Result<String, Failure> {
        toml::to_string(self).map_err(Failure::bug)
    }

    pub(super) fn answers(self) -> Result<Answers, Failure> {
        Ok(Answers {
            uplink: self.uplink,
            ports: self.ports,
            vlan: self.vlan,
            bridge: self.bridge,
            network: self.network.map(|text| network("network", &text)).transpose()?,
            members_network: self
                .members_network
                .map(|text| network("members_network", &text))
                .transpose()?,
            wifi: wifi(self.wifi),
            team: self.team.answer()?,
            home_networks: networks("home.networks", &self.home.networks)?,
            allowance_bytes_per_day: self.home.allowance_bytes_per_day,
            home: self.home.answer()?,
            household_networks: networks("guests.household_networks", &self.guests.household_networks)?,
            down_bits_per_second: self.guests.down_bits_per_second,
            up_bits_per_second: self.guests.up_bits_per_second,
            splash: self.splash.map(SplashTable::answer).transpose()?,
        })
    }

    pub(super) fn of(answers: &Answers) -> Self {
        let texts = |list: &[Subnet]| list.iter().map(ToString::to_string).collect();
        let home = HomeTable {
            networks: texts(&answers.home_networks),
            allowance_bytes_per_day: answers.allowance_bytes_per_day,
            ..HomeTable::default()
        };
        Self {
            uplink: answers.uplink.clone(),
            ports: answers.ports.clone(),
            vlan: answers.vlan,
            bridge: answers.bridge.clone(),
            network: answers.network.map(|network| network.to_string()),
            members_network: answers.members_network.map(|network| network.to_string()),
            wifi: match answers.wifi.clone() {
                WifiAnswer::IfPossible => None,
                WifiAnswer::Off => Some(WifiTable { enabled: Some(false), ..WifiTable::default() }),
                WifiAnswer::On { interface, ssid, country, channel } => {
                    Some(WifiTable { enabled: Some(true), interface, ssid, country, channel })
                }
            },
            team: match answers.team.clone() {
                TeamAnswer::New { members, keep_key } => TeamTable { members, keep_key, join: None },
                TeamAnswer::Join { code } => TeamTable { join: Some(code), ..TeamTable::default() },
            },
            home: match answers.home.clone() {
                HomeAnswer::Here { endpoint, port_mapping } => HomeTable { endpoint, port_mapping, ..home },
                HomeAnswer::At(at) => HomeTable { at: Some(at), ..home },
            },
            guests: GuestsTable {
                down_bits_per_second: answers.down_bits_per_second,
                up_bits_per_second: answers.up_bits_per_second,
                household_networks: texts(&answers.household_networks),
            },
            splash: answers.splash.clone().map(|Splash { household, trial, certificate }| SplashTable {
                household,
                trial,
                name: certificate.as_ref().map(|it| it.name.clone()),
                certificate: certificate.as_ref().map(|it| it.chain.clone()),
                certificate_key: certificate.map(|it| it.key),
            }),
        }
    }
}

impl TeamTable {
    fn answer(self) -> Result<TeamAnswer, Failure> {
        match self.join {
            None => Ok(TeamAnswer::New { members: self.members, keep_key: self.keep_key }),
            Some(code) if self.members.is_empty() && !self.keep_key => Ok(TeamAnswer::Join { code }),
            Some(_) => Err(Failure::config(anyhow!("[team] has both `join` and a new team's answers"))
                .hint("members of an existing team are added by its founder")),
        }
    }
}

impl HomeTable {
    fn answer(self) -> Result<HomeAnswer, Failure> {
        match self.at {
            None => Ok(HomeAnswer::Here { endpoint: self.endpoint, port_mapping: self.port_mapping }),
            Some(at) if self.endpoint.is_none() => Ok(HomeAnswer::At(at)),
            Some(_) => Err(Failure::config(anyhow!("[home] has both `at` and `endpoint`"))
                .hint("`at` is for a home on another computer, `endpoint` for one on this")),
        }
    }
}

impl SplashTable {
    fn answer(self) -> Result<Splash, Failure> {
        let certificate = match (self.name, self.certificate, self.certificate_key) {
            (Some(name), Some(chain), Some(key)) => Some(SplashCertificate { name, chain, key }),
            (None, None, None) => None,
            _ => {
                return Err(Failure::config(anyhow!("[splash] has a part of a certificate"))
                    .hint("give `name`, `certificate` and `certificate_key`, or none of them"));
            }
        };
        Ok(Splash { household: self.household, trial: self.trial, certificate })
    }
}

fn wifi(table: Option<WifiTable>) -> WifiAnswer {
    match table {
        None => WifiAnswer::IfPossible,
        Some(WifiTable { enabled: Some(false), .. }) => WifiAnswer::Off,
        Some(WifiTable { interface, ssid, country, channel, .. }) => {
            WifiAnswer::On { interface, ssid, country, channel }
        }
    }
}

fn network(what: &str, text: &str) -> Result<Subnet, Failure> {
    text.parse().map_err(|want| Failure::config(anyhow!("`{what}` is {text:?}; it has to be {want}")))
}

fn networks(what: &str, list: &[String]) -> Result<Vec<Subnet>, Failure> {
    list.iter().map(|text| network(what, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_in_the_help_is_understood_and_comes_back() {
        // Without the two that contradict others in it.
        let file: String = super::super::ANSWERS
            .lines()
            .skip(2)
            .filter(|line| !line.contains("join =") && !line.contains("at ="))
            .map(|line| format!("{}\n", line.trim()))
            .collect();
        let answers = AnswersFile::parse(&file).unwrap().answers().unwrap();
        assert_eq!(answers.vlan, Some(73));
        let again =
            AnswersFile::parse(&AnswersFile::of(&answers).text().unwrap()).unwrap().answers().unwrap();
        assert_eq!(again, answers);
        let empty = AnswersFile::parse("").unwrap().answers().unwrap();
        assert_eq!(empty, Answers::default());
    }

    #[test]
    fn unknown_keys_and_contradictions_are_refused() {
        for text in ["uplnk = \"eth0\"", "[wifi]\nssdi = \"x\"", "[team]\nmember = \"x\"", "vlan = 70000"] {
            assert!(AnswersFile::parse(text).is_err(), "{text}");
        }
        for text in [
            "[team]\njoin = \"x\"\nmembers = [\"alice\"]",
            "[home]\nat = \"192.0.2.5:7274\"\nendpoint = \"x\"",
            "network = \"10.73.0.1/24\"",
        ] {
            assert!(AnswersFile::parse(text).unwrap().answers().is_err(), "{text}");
        }
    }
}
