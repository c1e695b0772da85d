//! What an exchange needs to know, read and checked.

use guestright_directory::sms::WhoMayAsk;
use guestright_directory::{Contact, HomeHint, HostName, TelephoneNumber};
use guestright_error::{OrFail as _, RunError};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Calls between members.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The port of SIP at the gateway's address.
    pub sip_port: u16,
    /// What members may write after `@` besides the gateway's address.
    pub domains: Vec<String>,
    pub media_port_first: u16,
    pub media_port_last: u16,
    /// Calls at a time.
    pub calls_max: usize,
    /// Calls of one member, or with one other home.
    pub calls_each_max: usize,
    /// Whether a call is refused that would break others at the household's access points, by their reckoning.
    pub admit: bool,
    /// Whether people who are no contacts may call.
    pub strangers: bool,
    /// Homes that are asked where others are, and to which members' records are handed.
    pub peers: Vec<HomeHint>,
    /// People elsewhere, by the names that members call them.
    pub contacts: Vec<Contact>,
    /// The DNS as another way to find homes.
    pub dns: Option<DnsSettings>,
    /// Short messages as another way.
    pub sms: Option<SmsSettings>,
}

/// Homes are looked up in the DNS, and members' records put there if there is a zone for them.
#[derive(Clone, Debug)]
pub struct DnsSettings {
    /// Who is asked; otherwise those in `/etc/resolv.conf`.
    pub resolver: Option<SocketAddr>,
    /// How long a caller waits for it.
    pub wait_max: Duration,
    pub zone: Option<DnsZone>,
}

/// Where members' records are put.
#[derive(Clone, Debug)]
pub struct DnsZone {
    /// The zone's primary server.
    pub server: SocketAddr,
    /// The zone's name.
    pub zone: String,
    /// The key for updates, as `tsig-keygen` writes it: the owner's file alone (mode 600).
    pub key_file: PathBuf,
    pub names: MemberNames,
    /// How long others may keep a record, in seconds.
    pub ttl_seconds: u32,
    /// Whether SRV, A and AAAA records are written too, for people.
    pub for_people: bool,
}

/// The names that members' records have in the DNS.
#[derive(Clone, Debug, Default)]
pub struct MemberNames {
    /// The name of each member, with `{member}` for what it is called here.
    pub template: Option<String>,
    /// Names of some members. Without a template only these have one.
    pub own: BTreeMap<String, String>,
}

/// Homes are asked for by short message, and contacts who ask are answered. Each message costs money.
#[derive(Clone, Debug)]
pub struct SmsSettings {
    pub line: SmsLine,
    /// Who gets an answer.
    pub who_may_ask: WhoMayAsk,
    /// Whether numbers on cards that members' telephones send along are asked too, besides those of the contacts.
    pub ask_numbers_on_cards: bool,
    /// Short messages in a day, questions and answers together; each is about three.
    pub messages_per_day: u32,
    /// How long a caller waits for an answer, in seconds.
    pub wait_seconds: u64,
}

/// What carries short messages.
#[derive(Clone, Debug)]
pub enum SmsLine {
    /// An operator's message centre. SMPP is in the clear.
    Smpp {
        /// Host and port.
        server: String,
        /// Our name there.
        system_id: String,
        /// The password: the owner's file alone (mode 600).
        password_file: PathBuf,
        /// What the operator says.
        system_type: String,
        number: TelephoneNumber,
    },
    /// A modem. Its SIM has to be for this alone.
    Modem {
        device: PathBuf,
        /// Bits per second on its line.
        speed: u32,
        /// The SIM's PIN: the owner's file alone (mode 600).
        pin_file: Option<PathBuf>,
    },
}

impl MemberNames {
    /// What stands for a member's name in the template.
    pub const MEMBER: &str = "{member}";

    /// The name that a member's record has; none if it is to have none.
    ///
    /// # Errors
    /// What the settings say is no host's name.
    pub fn name_of(&self, member: &str) -> Result<Option<HostName>, RunError> {
        let filled_in = || self.template.as_ref().map(|name| name.replace(Self::MEMBER, member));
        let Some(name) = self.own.get(member).cloned().or_else(filled_in) else { return Ok(None) };
        let read = HostName::new(&name).or_config(|| format!("take {name} for {member} in [voice.dns]"));
        read.map(Some).map_err(|error| {
            error.with_hint(format!(
                "names in the DNS have letters of ASCII: give {member} one of its own in `names`"
            ))
        })
    }
}
