//! `[voice]` in `home.toml`.

mod ways;

pub(crate) use ways::{DnsSettings, SmsSettings};

use super::SocketAddr;
use anyhow::{Context as _, anyhow};
use guestright_cli::failure::Failure;
use guestright_directory::{Address, Contact, HomeHint};
use guestright_identity::KeyId;
use guestright_units::TeamId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Calls between members. Needs `[gateway]` and `[links]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct VoiceSettings {
    /// The same as in `[links]`, where it stood before.
    pub(crate) listen: Option<SocketAddr>,
    /// The port of SIP at the gateway's address.
    pub(crate) sip_port: u16,
    /// What members may write after `@` besides the gateway's address.
    pub(crate) domains: Vec<String>,
    /// The ports of media.
    pub(crate) media_port_first: u16,
    pub(crate) media_port_last: u16,
    /// Calls at a time.
    pub(crate) calls_max: usize,
    /// Calls of one member, or with one other home.
    pub(crate) calls_each_max: usize,
    /// Whether a call is refused that would break others at the household's access points.
    pub(crate) admit: bool,
    /// Whether people who are no contacts may call.
    pub(crate) strangers: bool,
    /// Homes that are asked where others are, and to which members' records are handed: `KEY@host:port`.
    pub(crate) peers: Vec<String>,
    /// People elsewhere, by the names that members call them.
    pub(crate) contacts: BTreeMap<String, VoiceContact>,
    /// The DNS as another way to find homes.
    pub(crate) dns: Option<DnsSettings>,
    /// Short messages as another way.
    pub(crate) sms: Option<SmsSettings>,
}

/// A contact: its card, or what would be on it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum VoiceContact {
    /// `guestright:contact?…`
    Card(String),
    /// Written out.
    Fields(ContactFields),
}

/// A contact, written out.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContactFields {
    /// Its key: 48 hexadecimal digits.
    pub(crate) member: String,
    /// Homes that may know where it is, its own first: `KEY@host:port`.
    #[serde(default)]
    pub(crate) homes: Vec<String>,
    /// Its name in the DNS.
    pub(crate) dns: Option<String>,
    /// Its telephone number.
    pub(crate) telephone: Option<String>,
}

impl Default for VoiceSettings {
    fn default() -> Self {
        Self {
            listen: None,
            sip_port: 5_060,
            domains: vec!["home".to_owned()],
            media_port_first: 20_000,
            media_port_last: 29_999,
            calls_max: 256,
            calls_each_max: 8,
            admit: false,
            strangers: true,
            peers: Vec::new(),
            contacts: BTreeMap::new(),
            dns: None,
            sms: None,
        }
    }
}

impl VoiceSettings {
    /// Where other homes are awaited, as `[links]` says now.
    pub(super) fn listen(&self) -> Option<SocketAddr> {
        self.listen
    }

    pub(super) fn forget_listen(&mut self) {
        self.listen = None;
    }

    /// The contacts, read.
    fn contacts(&self) -> Result<Vec<Contact>, Failure> {
        let read = |(name, contact): (&String, &VoiceContact)| {
            let what = || format!("understand the contact {name} in [voice.contacts]");
            let read = match contact {
                VoiceContact::Card(card) => Contact::parse(card).map_err(anyhow::Error::from),
                VoiceContact::Fields(fields) => fields.contact(name),
            };
            let mut contact = read.with_context(what).map_err(Failure::config)?;
            contact.name.clone_from(name);
            Ok(contact)
        };
        self.contacts.iter().map(read).collect()
    }

    /// The peers, read.
    fn peers(&self) -> Result<Vec<HomeHint>, Failure> {
        let read = |text: &String| {
            hint(text)
                .with_context(|| format!("understand the peer {text} in [voice]"))
                .map_err(Failure::config)
        };
        self.peers.iter().map(read).collect()
    }

    /// Refuses what cannot be.
    fn check(&self) -> Result<(), Failure> {
        let (first, last) = (self.media_port_first, self.media_port_last);
        let fits =
            self.sip_port != 0 && first >= 1_024 && first < last && !(first..=last).contains(&self.sip_port);
        if !fits || self.calls_max == 0 || self.calls_each_max == 0 {
            return Err(Failure::config(anyhow!(
                "[voice]: ports and limits must not be 0, and media ports begin at 1024"
            )));
        }
        self.dns.as_ref().map_or(Ok(()), DnsSettings::check)?;
        self.sms.as_ref().map_or(Ok(()), SmsSettings::check)
    }

    /// What the exchange is told; `path` is the settings file's.
    pub(super) fn for_loop(&self, path: &Path) -> Result<guestright_exchange::Settings, Failure> {
        self.check()?;
        Ok(guestright_exchange::Settings {
            sip_port: self.sip_port,
            domains: self.domains.clone(),
            media_port_first: self.media_port_first,
            media_port_last: self.media_port_last,
            calls_max: self.calls_max,
            calls_each_max: self.calls_each_max,
            admit: self.admit,
            strangers: self.strangers,
            peers: self.peers()?,
            contacts: self.contacts()?,
            dns: self.dns.as_ref().map(|dns| dns.for_loop(path)),
            sms: self.sms.as_ref().map(|sms| sms.for_loop(path)).transpose()?,
        })
    }
}

impl ContactFields {
    fn contact(&self, name: &str) -> Result<Contact, anyhow::Error> {
        let mut contact = Contact::new(name, key(&self.member)?)?;
        contact.homes = self.homes.iter().map(|home| hint(home)).collect::<Result<_, _>>()?;
        if contact.homes.len() > Contact::HOMES_MAX {
            return Err(anyhow!("at most {} homes", Contact::HOMES_MAX));
        }
        contact.dns = self.dns.as_deref().map(guestright_directory::HostName::new).transpose()?;
        contact.telephone = self.telephone.as_deref().map(str::parse).transpose()?;
        Ok(contact)
    }
}

/// Keys' and teams' names are written alike.
fn key(text: &str) -> Result<KeyId, anyhow::Error> {
    let id = text.parse::<TeamId>().map_err(|_| anyhow!("{text:?} is not a key's 48 hexadecimal digits"))?;
    Ok(KeyId(id.0))
}

/// `KEY@host:port` or `host:port`.
fn hint(text: &str) -> Result<HomeHint, anyhow::Error> {
    let (own, address) = match text.split_once('@') {
        Some((own, address)) => (Some(key(own)?), address),
        None => (None, text),
    };
    let address: Address = address.parse().with_context(|| format!("understand {address:?}"))?;
    Ok(HomeHint { address, key: own })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contacts_are_cards_or_written_out() {
        let id = "ab".repeat(24);
        let text = format!(
            "peers = [\"{id}@192.0.2.1:7275\"]\n[contacts]\nbob = \"guestright:contact?name=Robert&id={id}\"\n\
             carol = {{ member = \"{id}\", homes = [\"{id}@home.example\"] }}\n"
        );
        let settings: VoiceSettings = toml::from_str(&text).unwrap();
        let contacts = settings.contacts().unwrap();
        assert_eq!((contacts[0].name.as_str(), contacts[0].member), ("bob", KeyId([0xab; 24])));
        let home = &contacts[1].homes[0];
        assert_eq!(
            (home.address.to_string().as_str(), home.key),
            ("home.example:7275", Some(KeyId([0xab; 24])))
        );
        assert_eq!(settings.peers().unwrap().len(), 1);
        assert!(settings.check().is_ok());
    }

    #[test]
    fn what_cannot_be_is_refused_and_named() {
        let refused = |text: &str| {
            let settings: VoiceSettings = toml::from_str(text).unwrap();
            let all = settings.contacts().map(drop).and_then(|()| settings.peers().map(drop));
            all.and_then(|()| settings.check()).unwrap_err().to_string()
        };
        assert!(refused("[contacts]\nbob = \"tel:1\"").contains("bob"));
        assert!(refused("[contacts]\nbob = { member = \"ab\" }").contains("bob"));
        assert!(refused("peers = [\"a b\"]").contains("a b"));
        assert!(refused("media_port_first = 5000").contains("[voice]"));
    }
}
