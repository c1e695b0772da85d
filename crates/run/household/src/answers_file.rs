//! Answers as a file: TOML, unknown keys refused. The journal keeps them in the same form.

use guestright_error::{OrFail as _, RunError};
use guestright_setup::{Answers, HomeAnswer, Splash, SplashCertificate, Subnet, TeamAnswer, WifiAnswer};
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AnswersFile {
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

/// The answers in a file.
///
/// # Errors
/// It cannot be read, or holds something else, or answers that contradict each other.
pub fn read(path: &Path) -> Result<Answers, RunError> {
    let hint = |error: RunError| error.with_hint("`guestright setup --help` shows such a file");
    let text = std::fs::read_to_string(path).or_config(|| format!("read {}", path.display()));
    let file = toml::from_str::<AnswersFile>(&text.map_err(hint)?);
    file.or_config(|| format!("understand {}", path.display())).map_err(hint)?.answers()
}

/// The answers in the text of a file, as the journal keeps it.
///
/// # Errors
/// It holds something else, or answers that contradict each other.
pub fn parse(text: &str) -> Result<Answers, RunError> {
    let file = toml::from_str::<AnswersFile>(text);
    file.or_config(|| "understand the answers in the journal of setup".to_owned())?.answers()
}

/// The text of a file with these answers.
///
/// # Errors
/// They cannot be written as TOML, which is our mistake.
pub fn text(answers: &Answers) -> Result<String, RunError> {
    toml::to_string(&AnswersFile::of(answers)).map_err(RunError::bug)
}

impl AnswersFile {
    fn answers(self) -> Result<Answers, RunError> {
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

    fn of(answers: &Answers) -> Self {
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
    fn answer(self) -> Result<TeamAnswer, RunError> {
        match self.join {
            None => Ok(TeamAnswer::New { members: self.members, keep_key: self.keep_key }),
            Some(code) if self.members.is_empty() && !self.keep_key => Ok(TeamAnswer::Join { code }),
            Some(_) => Err(RunError::config("[team] has both `join` and a new team's answers")
                .with_hint("members of an existing team are added by its founder")),
        }
    }
}

impl HomeTable {
    fn answer(self) -> Result<HomeAnswer, RunError> {
        match self.at {
            None => Ok(HomeAnswer::Here { endpoint: self.endpoint, port_mapping: self.port_mapping }),
            Some(at) if self.endpoint.is_none() => Ok(HomeAnswer::At(at)),
            Some(_) => Err(RunError::config("[home] has both `at` and `endpoint`")
                .with_hint("`at` is for a home on another computer, `endpoint` for one on this")),
        }
    }
}

impl SplashTable {
    fn answer(self) -> Result<Splash, RunError> {
        let certificate = match (self.name, self.certificate, self.certificate_key) {
            (Some(name), Some(chain), Some(key)) => Some(SplashCertificate { name, chain, key }),
            (None, None, None) => None,
            _ => {
                return Err(RunError::config("[splash] has a part of a certificate")
                    .with_hint("give `name`, `certificate` and `certificate_key`, or none of them"));
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

fn network(what: &str, text: &str) -> Result<Subnet, RunError> {
    text.parse().map_err(|want| RunError::config(format!("`{what}` is {text:?}; it has to be {want}")))
}

fn networks(what: &str, list: &[String]) -> Result<Vec<Subnet>, RunError> {
    list.iter().map(|text| network(what, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_and_contradictions_are_refused() {
        for unknown in ["uplnk = \"eth0\"", "[wifi]\nssdi = \"x\"", "[team]\nmember = \"x\"", "vlan = 70000"]
        {
            let refused = parse(unknown).unwrap_err().sentence();
            assert!(refused.starts_with("understand the answers"), "{unknown}: {refused}");
        }
        for (contradiction, why) in [
            ("[team]\njoin = \"x\"\nmembers = [\"alice\"]", "both `join`"),
            ("[home]\nat = \"192.0.2.5:7274\"\nendpoint = \"x\"", "both `at`"),
            ("network = \"10.73.0.1/24\"", "`network`"),
        ] {
            let refused = parse(contradiction).unwrap_err().sentence();
            assert!(refused.contains(why), "{contradiction}: {refused}");
        }
    }
}
