//! The parts from the text.

use super::{Config, ConfigError, Fault, Interface, Network, Peer, PresharedKey, PrivateKey, PublicKey};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::str::FromStr;

/// What `wg-quick` alone acts on (wg-quick(8), "CONFIGURATION").
const WG_QUICK: [&str; 6] = ["PreUp", "PostUp", "PreDown", "PostDown", "Table", "SaveConfig"];
const INTERFACE: [&str; 6] = ["PrivateKey", "Address", "DNS", "MTU", "ListenPort", "FwMark"];
const PEER: [&str; 5] = ["PublicKey", "PresharedKey", "AllowedIPs", "Endpoint", "PersistentKeepalive"];
/// An unknown key is shown up to this length.
const SHOWN_MAX: usize = 24;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    None,
    Interface,
    Peer,
}

/// What was read so far.
struct Reader {
    section: Section,
    has_interface: bool,
    private_key: Option<PrivateKey>,
    /// Everything of the interface but its key, which stands in `private_key` once it is known.
    interface: Interface,
    peers: Vec<(Option<PublicKey>, Peer)>,
    known: BTreeSet<PublicKey>,
    ignored: Vec<String>,
}

pub(super) fn parse(text: &str) -> Result<Config, ConfigError> {
    if text.len() > Config::LEN_MAX {
        let fault = Fault::TooLong { got: text.len(), max: Config::LEN_MAX };
        return Err(ConfigError { line: 1, fault });
    }
    let mut reader = Reader {
        section: Section::None,
        has_interface: false,
        private_key: None,
        interface: Interface::new(PrivateKey::from_bytes([0; 32])),
        peers: Vec::new(),
        known: BTreeSet::new(),
        ignored: Vec::new(),
    };
    let mut line = 0;
    // Some editors put a mark in front of everything.
    for each in text.strip_prefix('\u{feff}').unwrap_or(text).lines() {
        line += 1;
        let each = each.split_once('#').map_or(each, |(before, _)| before).trim();
        if !each.is_empty() {
            reader.line(each).map_err(|fault| ConfigError { line, fault })?;
        }
    }
    reader.finish().map_err(|fault| ConfigError { line: line.max(1), fault })
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), Fault> {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            return self.begin(name.trim());
        }
        let (key, value) = line.split_once('=').ok_or(Fault::NoSetting)?;
        let (key, value) = (key.trim(), value.trim());
        let (section, keys): (_, &[&'static str]) = match self.section {
            Section::Peer => ("[Peer]", &PEER),
            Section::Interface | Section::None => ("[Interface]", &INTERFACE),
        };
        let find = |names: &[&'static str]| names.iter().copied().find(|name| name.eq_ignore_ascii_case(key));
        match find(keys) {
            Some(key) if self.section == Section::None => Err(Fault::NoSection { key }),
            Some(key) if self.section == Section::Peer => self.peer(key, value),
            Some(key) => self.interface(key, value),
            None if self.section == Section::Interface && find(&WG_QUICK).is_some() => {
                if self.ignored.len() == Config::VALUES_MAX {
                    return Err(Fault::TooMany { what: "settings of wg-quick", max: Config::VALUES_MAX });
                }
                self.ignored.push(key.to_owned());
                Ok(())
            }
            None => Err(Fault::UnknownKey { section, key: shown(key) }),
        }
    }

    fn begin(&mut self, name: &str) -> Result<(), Fault> {
        self.end_peer()?;
        if name.eq_ignore_ascii_case("Interface") {
            if self.has_interface {
                return Err(Fault::Again("[Interface]"));
            }
            self.has_interface = true;
            self.section = Section::Interface;
        } else if name.eq_ignore_ascii_case("Peer") {
            if self.peers.len() == Config::PEERS_MAX {
                return Err(Fault::TooMany { what: "peers", max: Config::PEERS_MAX });
            }
            self.peers.push((None, Peer::new(PublicKey([0; 32]))));
            self.section = Section::Peer;
        } else {
            return Err(Fault::UnknownSection);
        }
        Ok(())
    }

    fn interface(&mut self, key: &'static str, value: &str) -> Result<(), Fault> {
        let interface = &mut self.interface;
        match key {
            "PrivateKey" => once(&mut self.private_key, key, value)?,
            "Address" => extend(&mut interface.addresses, key, value)?,
            "DNS" => {
                for each in values(key, value)? {
                    match each.parse::<IpAddr>() {
                        Ok(address) => interface.dns.push(address),
                        Err(_) if super::network::is_name(each) => interface.search.push(each.to_owned()),
                        Err(_) => {
                            return Err(Fault::Value { key, want: "addresses of resolvers, or domains" });
                        }
                    }
                }
                limit(key, interface.dns.len().max(interface.search.len()))?;
            }
            "MTU" => {
                interface.mtu = Some(number(key, value, 576, 65_535, "a number of bytes from 576 to 65535")?)
            }
            "ListenPort" => {
                let port: u16 = number(key, value, 0, 65_535, "a port from 0 to 65535")?;
                interface.listen_port = (port != 0).then_some(port);
            }
            _ => interface.fwmark = mark(key, value)?,
        }
        Ok(())
    }

    fn peer(&mut self, key: &'static str, value: &str) -> Result<(), Fault> {
        let Some((public_key, peer)) = self.peers.last_mut() else {
            return Err(Fault::NoSection { key });
        };
        match key {
            "PublicKey" => once(public_key, key, value)?,
            "PresharedKey" => once::<PresharedKey>(&mut peer.preshared_key, key, value)?,
            "AllowedIPs" => {
                extend(&mut peer.allowed_ips, key, value)?;
                peer.allowed_ips.iter_mut().for_each(|network| *network = network.first());
            }
            "Endpoint" => once(&mut peer.endpoint, key, value)?,
            _ => {
                let want = "a number of seconds from 0 to 65535, or off";
                let off = value.eq_ignore_ascii_case("off");
                let seconds = if off { 0 } else { number(key, value, 0, 65_535, want)? };
                peer.persistent_keepalive = (seconds != 0).then_some(seconds);
            }
        }
        Ok(())
    }

    /// A peer is complete once the next section begins.
    fn end_peer(&mut self) -> Result<(), Fault> {
        let Some((public_key, peer)) = self.peers.last_mut() else { return Ok(()) };
        let missing = Fault::Missing { section: "[Peer]", key: "PublicKey" };
        peer.public_key = public_key.ok_or(missing)?;
        if self.section == Section::Peer && !self.known.insert(peer.public_key) {
            return Err(Fault::Again("[Peer] with the same `PublicKey`"));
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Config, Fault> {
        self.end_peer()?;
        let missing = Fault::Missing { section: "[Interface]", key: "PrivateKey" };
        self.interface.private_key = self.private_key.ok_or(missing)?;
        let peers = self.peers.into_iter().map(|(_, peer)| peer).collect();
        Ok(Config { interface: self.interface, peers, ignored: self.ignored })
    }
}

/// The value of a key that stands in a section once. `wg` lets the last one win, and nobody means that.
fn once<T: FromStr<Err = &'static str>>(
    slot: &mut Option<T>,
    key: &'static str,
    value: &str,
) -> Result<(), Fault> {
    if slot.is_some() {
        return Err(Fault::Again(key));
    }
    *slot = Some(value.parse().map_err(|want| Fault::Value { key, want })?);
    Ok(())
}

/// The networks in `value`, after those of earlier lines.
fn extend(networks: &mut Vec<Network>, key: &'static str, value: &str) -> Result<(), Fault> {
    for each in values(key, value)? {
        networks.push(each.parse().map_err(|want| Fault::Value { key, want })?);
    }
    limit(key, networks.len())
}

/// What stands between commas. Nothing at all is no value; nothing between two commas is a mistake.
fn values<'a>(key: &'static str, value: &'a str) -> Result<Vec<&'a str>, Fault> {
    if value.is_empty() {
        return Ok(Vec::new());
    }
    let found: Vec<_> = value.split(',').map(str::trim).collect();
    limit(key, found.len())?;
    Ok(found)
}

fn limit(key: &'static str, count: usize) -> Result<(), Fault> {
    let fits = count <= Config::VALUES_MAX;
    if fits { Ok(()) } else { Err(Fault::TooMany { what: key, max: Config::VALUES_MAX }) }
}

fn number(key: &'static str, value: &str, min: u16, max: u16, want: &'static str) -> Result<u16, Fault> {
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let number = value.parse().ok().filter(|number| digits && (min..=max).contains(number));
    number.ok_or(Fault::Value { key, want })
}

/// A mark: `off`, a number, or `0x` and hexadecimal digits.
fn mark(key: &'static str, value: &str) -> Result<Option<u32>, Fault> {
    let fault = Fault::Value { key, want: "a number of 32 bits, decimal or after 0x hexadecimal, or off" };
    if value.eq_ignore_ascii_case("off") {
        return Ok(None);
    }
    let (digits, radix) = match value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (value, 10),
    };
    if digits.starts_with('+') {
        return Err(fault);
    }
    let mark = u32::from_str_radix(digits, radix).map_err(|_| fault)?;
    Ok((mark != 0).then_some(mark))
}

/// An unknown key, safe to print: a long word could be a secret in the wrong place.
fn shown(key: &str) -> String {
    let plain = key.len() <= SHOWN_MAX && key.chars().all(|letter| letter.is_ascii_alphanumeric());
    if plain { key.to_owned() } else { "(not shown)".to_owned() }
}
