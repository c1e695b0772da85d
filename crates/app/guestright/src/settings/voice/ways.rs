//! `[voice.dns]` and `[voice.sms]`: other ways than homes' directory to find a home, and to be found.

use crate::settings::beside;
use anyhow::{Context as _, anyhow};
use guestright_cli::failure::Failure;
use guestright_directory::{TelephoneNumber, sms};
use guestright_exchange::{DnsZone, MemberNames, SmsLine};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Homes are looked up in the DNS, and members' records put there if there is a server to tell.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DnsSettings {
    /// Who is asked; otherwise those in `/etc/resolv.conf`.
    pub(crate) resolver: Option<SocketAddr>,
    /// How long a caller waits for it, in seconds.
    pub(crate) wait_seconds: u64,
    /// The primary server of the zone that members' names are in.
    pub(crate) server: Option<SocketAddr>,
    /// That zone.
    pub(crate) zone: Option<String>,
    /// The key for updates, as `tsig-keygen` writes it: the owner's file alone (mode 600).
    pub(crate) key_file: Option<PathBuf>,
    /// The name of each member, with `{member}` for what it is called here.
    pub(crate) name: Option<String>,
    /// Names of some members. Without `name`, only these are put into the DNS.
    pub(crate) names: BTreeMap<String, String>,
    /// How long others may keep a record, in seconds.
    pub(crate) ttl_seconds: u32,
    /// Whether SRV, A and AAAA records are written too, for people.
    pub(crate) for_people: bool,
}

/// Homes are asked for by short message, and contacts who ask are answered. Each message costs money.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SmsSettings {
    /// An operator's message centre.
    pub(crate) smpp: Option<SmppSettings>,
    /// A modem's line. Its SIM has to be for this alone.
    pub(crate) modem: Option<PathBuf>,
    /// Bits per second on it.
    pub(crate) modem_speed: u32,
    /// The SIM's PIN: the owner's file alone (mode 600).
    pub(crate) pin_file: Option<PathBuf>,
    /// Who gets an answer.
    pub(crate) who_may_ask: WhoMayAsk,
    /// Whether numbers on cards that members' telephones send along are asked too, besides those of `[voice.contacts]`.
    pub(crate) ask_numbers_on_cards: bool,
    /// Short messages in a day, questions and answers together; each is about three.
    pub(crate) messages_per_day: u32,
    /// How long a caller waits for an answer, in seconds.
    pub(crate) wait_seconds: u64,
}

/// How to log in at a message centre. SMPP is in the clear.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SmppSettings {
    /// Host and port.
    pub(crate) server: String,
    /// Our name there.
    pub(crate) system_id: String,
    /// The password: the owner's file alone (mode 600).
    pub(crate) password_file: PathBuf,
    /// What the operator says.
    #[serde(default)]
    pub(crate) system_type: String,
    /// Our number.
    pub(crate) number: String,
}

/// Who gets an answer by short message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WhoMayAsk {
    /// `[voice.contacts]` with a telephone number, who prove that they are.
    Contacts,
    Anyone,
    Nobody,
}

impl Default for DnsSettings {
    fn default() -> Self {
        Self {
            resolver: None,
            wait_seconds: 10,
            server: None,
            zone: None,
            key_file: None,
            name: None,
            names: BTreeMap::new(),
            ttl_seconds: 300,
            for_people: false,
        }
    }
}

impl Default for SmsSettings {
    fn default() -> Self {
        Self {
            smpp: None,
            modem: None,
            modem_speed: 115_200,
            pin_file: None,
            who_may_ask: WhoMayAsk::Contacts,
            ask_numbers_on_cards: false,
            messages_per_day: 120,
            wait_seconds: 60,
        }
    }
}

impl DnsSettings {
    /// What the exchange is told; `path` is the settings file's.
    pub(super) fn for_loop(&self, path: &Path) -> guestright_exchange::DnsSettings {
        guestright_exchange::DnsSettings {
            resolver: self.resolver,
            wait_max: Duration::from_secs(self.wait_seconds),
            zone: self.zone(path),
        }
    }

    /// Where members' records are put into the DNS, if they are to be.
    fn zone(&self, path: &Path) -> Option<DnsZone> {
        Some(DnsZone {
            server: self.server?,
            zone: self.zone.clone()?,
            key_file: beside(path, self.key_file.as_deref()?),
            names: self.member_names(),
            ttl_seconds: self.ttl_seconds,
            for_people: self.for_people,
        })
    }

    fn member_names(&self) -> MemberNames {
        MemberNames { template: self.name.clone(), own: self.names.clone() }
    }

    pub(super) fn check(&self) -> Result<(), Failure> {
        let refused = |what: &str| Err(Failure::config(anyhow!("[voice.dns]: {what}")));
        let configured = [self.server.is_some(), self.zone.is_some(), self.key_file.is_some()];
        let names = self.name.is_some() || !self.names.is_empty();
        if configured.contains(&true) != configured.iter().all(|is_set| *is_set) || names != configured[0] {
            return refused("server, zone, key_file, and name or names go together");
        }
        if self.name.as_ref().is_some_and(|name| !name.contains(MemberNames::MEMBER)) {
            return refused("name has to have {member} in it, since every member needs a name of its own");
        }
        if !(1..=60).contains(&self.wait_seconds) || self.ttl_seconds == 0 {
            return refused("wait_seconds is 1 to 60, and ttl_seconds is not 0");
        }
        let names = self.member_names();
        Ok(self.names.keys().try_for_each(|member| names.name_of(member).map(drop))?)
    }
}

impl SmsSettings {
    /// What the exchange is told; `path` is the settings file's.
    pub(super) fn for_loop(&self, path: &Path) -> Result<guestright_exchange::SmsSettings, Failure> {
        Ok(guestright_exchange::SmsSettings {
            line: self.line(path)?,
            who_may_ask: match self.who_may_ask {
                WhoMayAsk::Contacts => sms::WhoMayAsk::Contacts,
                WhoMayAsk::Anyone => sms::WhoMayAsk::Anyone,
                WhoMayAsk::Nobody => sms::WhoMayAsk::Nobody,
            },
            ask_numbers_on_cards: self.ask_numbers_on_cards,
            messages_per_day: self.messages_per_day,
            wait_seconds: self.wait_seconds,
        })
    }

    fn line(&self, path: &Path) -> Result<SmsLine, Failure> {
        match (&self.smpp, &self.modem) {
            (Some(smpp), None) => Ok(SmsLine::Smpp {
                server: smpp.server.clone(),
                system_id: smpp.system_id.clone(),
                password_file: beside(path, &smpp.password_file),
                system_type: smpp.system_type.clone(),
                number: smpp.number()?,
            }),
            (None, Some(device)) => Ok(SmsLine::Modem {
                device: beside(path, device),
                speed: self.modem_speed,
                pin_file: self.pin_file.as_ref().map(|file| beside(path, file)),
            }),
            (Some(_), Some(_)) | (None, None) => {
                Err(Failure::config(anyhow!("[voice.sms]: needs smpp or modem, and not both")))
            }
        }
    }

    pub(super) fn check(&self) -> Result<(), Failure> {
        let refused = |what: &str| Err(Failure::config(anyhow!("[voice.sms]: {what}")));
        if self.smpp.is_some() == self.modem.is_some() {
            return refused("needs smpp or modem, and not both");
        }
        if self.pin_file.is_some() && self.modem.is_none() {
            return refused("pin_file goes with modem");
        }
        if let Some(smpp) = &self.smpp {
            smpp.number()?;
            // SMPP 3.4, section 5.2: with the zero at their ends, 16, 13 and so on.
            if smpp.system_id.len() > 15 || smpp.system_type.len() > 12 || !smpp.server.contains(':') {
                return refused(
                    "smpp: server is HOST:PORT, system_id has 15 letters at most, system_type 12",
                );
            }
        }
        if !(1..=120).contains(&self.wait_seconds) || self.messages_per_day == 0 {
            return refused("wait_seconds is 1 to 120, and messages_per_day is not 0");
        }
        Ok(())
    }
}

impl SmppSettings {
    pub(crate) fn number(&self) -> Result<TelephoneNumber, Failure> {
        let read = self.number.parse().context("understand the number in [voice.sms]");
        read.map_err(Failure::config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::VoiceSettings;

    fn read(text: &str) -> Result<VoiceSettings, String> {
        let settings: VoiceSettings = toml::from_str(text).map_err(|error| error.to_string())?;
        settings.check().map_err(|failure| failure.to_string())?;
        Ok(settings)
    }

    #[test]
    fn ways_are_understood() {
        let settings = read(
            "[dns]\nserver = \"192.0.2.1:53\"\nzone = \"example\"\nkey_file = \"a.key\"\nname = \"{member}.example\"\n\
             names = { bob = \"robert.example\" }\n\
             [sms]\nsmpp = { server = \"a:1\", system_id = \"x\", password_file = \"p\", number = \"+12025550142\" }\n",
        );
        let settings = settings.unwrap().for_loop(Path::new("/etc/home.toml")).unwrap();
        let zone = settings.dns.unwrap().zone.unwrap();
        let name = |member: &str| zone.names.name_of(member).unwrap().unwrap().to_string();
        assert_eq!((name("alice"), name("bob")), ("alice.example".to_owned(), "robert.example".to_owned()));
        assert_eq!(zone.key_file, Path::new("/etc/a.key"));
        let Some(SmsLine::Smpp { password_file, .. }) = settings.sms.map(|sms| sms.line) else { panic!() };
        assert_eq!(password_file, Path::new("/etc/p"));
        assert!(read("[dns]\n[sms]\nmodem = \"/dev/ttyUSB2\"\n").is_ok());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        #[rustfmt::skip]
        let cases = [
            ("[dns]\nserver = \"192.0.2.1:53\"\n", "go together"),
            ("[dns]\nname = \"{member}.example\"\n", "go together"),
            ("[dns]\nserver = \"192.0.2.1:53\"\nzone = \"a\"\nkey_file = \"k\"\nname = \"b.a\"\n", "{member}"),
            ("[dns]\nserver = \"192.0.2.1:53\"\nzone = \"a\"\nkey_file = \"k\"\nnames = { x = \"a b\" }\n", "for x"),
            ("[dns]\nwait_seconds = 0\n", "wait_seconds"),
            ("[dns]\nsecret = \"c2VjcmV0\"\n", "secret"),
            ("[sms]\n", "smpp or modem"),
            ("[sms]\nmodem = \"a\"\nsmpp = { server = \"a:1\", system_id = \"x\", password_file = \"p\", number = \"+12025550142\" }\n", "not both"),
            ("[sms]\nsmpp = { server = \"a:1\", system_id = \"x\", password_file = \"p\", number = \"1\" }\n", "number"),
            ("[sms]\nsmpp = { server = \"a:1\", system_id = \"x\", password = \"p\", number = \"+12025550142\" }\n", "password"),
            ("[sms]\nmodem = \"a\"\nmessages_per_day = 0\n", "messages_per_day"),
            ("[sms]\nmodem = \"a\"\nwho_may_ask = \"friends\"\n", "who_may_ask"),
        ];
        for (text, want) in cases {
            let refused = read(text).unwrap_err();
            assert!(refused.contains(want), "{text}: {refused}");
        }
    }
}
