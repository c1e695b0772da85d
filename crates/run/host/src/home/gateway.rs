//! The gateway of a home: roaming members come home through it and leave for the Internet from here.
//!
//! `Gateway::start` reads the directory that `team gateway init` made, starts WireGuard (`device`), puts up the
//! firewall (`io/firewall`, `GatewayFirewall`), and begins handshakes with the members that an earlier run
//! knew (`memory`), so that stock clients come back without a hand. A thread looks every second where members are. `Gateway::reload` reads the
//! directory again and changes what is different.
//!
//! For the rest of `home`:
//! - `Gateway::member_at` says whose WireGuard tunnel comes from an address right now, and what that member has delegated;
//!   `Gateway::member_named` the latter of anybody;
//! - other ways in (IKEv2, L2TP) get their members' addresses from the same network (`Gateway::network`); the
//!   firewall lets their devices in when `start` is told of them (`OtherWays`).

mod device;
mod memory;

use super::ikev2;
use super::overview::LookAtTunnels;
use crate::gateway_files::{Delegate, GatewayFiles, Member};
use device::Device;
use guestright_error::RunError;
use guestright_firewall::{self as firewall, GatewayFirewall};
use guestright_identity::{Certificate, KeyId, RevocationList};
use guestright_tunnel::wireguard::PublicKey;
use guestright_units::{Bytes, Time, UnixSeconds};
use guestright_wireguard::Status;
use memory::Memory;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often it is looked where members are: at our own WireGuard, and at the kernel's, where that takes a program.
const LOOK_EVERY: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];
/// A member that has not agreed on keys for so long is not there (WireGuard's REJECT_AFTER_TIME, 180 seconds).
const THERE_US: u64 = 180_000_000;

/// The way home for roaming members.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What `team gateway init` and `team member add --qr` have made.
    pub directory: PathBuf,
    /// The name of the device that members' packets come out of.
    pub interface: String,
    /// The interface to the Internet.
    pub uplink_interface: String,
    /// Networks at home that members may reach: first address and prefix length.
    pub home_networks: Vec<(Ipv4Addr, u8)>,
    pub backend: Backend,
    /// Who answers members that ask the gateway for names; otherwise the first resolver in /etc/resolv.conf.
    pub dns_upstream: Option<Ipv4Addr>,
    /// Whether the household's router is asked to let the home's ports through: PCP, NAT-PMP or UPnP.
    pub port_mapping: bool,
    /// Clients of IKEv2.
    pub ikev2: Option<ikev2::Settings>,
    /// Clients of L2TP. They need the team's secret of `ikev2`.
    pub l2tp: Option<ikev2::L2tpSettings>,
}

/// What carries members' packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// The kernel's WireGuard if there is one, else this program's.
    #[default]
    Auto,
    Kernel,
    Userspace,
}

/// Ways in besides WireGuard, as the firewall has to know them.
#[derive(Clone, Debug, Default)]
pub(super) struct OtherWays {
    /// Devices that their members' packets come out of: names, or beginnings followed by `*`.
    pub(super) devices: Vec<String>,
    /// Whether the kernel's IPsec opens members' packets.
    pub(super) kernel_ipsec: bool,
    /// The home's own port, which is open to members from inside.
    pub(super) home_port: Option<u16>,
    /// The page's port at the gateway's address, if members may look.
    pub(super) page_port: Option<u16>,
    /// What members' telephones need.
    pub(super) voice: Option<firewall::VoicePorts>,
}

/// A running gateway. Stopped when dropped, if not before.
#[derive(Debug)]
pub(super) struct Gateway {
    settings: Settings,
    files: GatewayFiles,
    firewall: GatewayFirewall,
    device: Arc<Device>,
    members: Vec<Member>,
    refused: usize,
    lookout: Option<Lookout>,
}

/// The thread that looks where members are.
#[derive(Debug)]
struct Lookout {
    /// It ends when this is dropped.
    end: Sender<()>,
    thread: JoinHandle<()>,
}

/// What a reload has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reloaded {
    pub(super) added: usize,
    pub(super) removed: usize,
    pub(super) members: usize,
}

/// How a member's tunnel is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DeviceStatus {
    pub(super) handshake: Option<UnixSeconds>,
    pub(super) received: Bytes,
    pub(super) sent: Bytes,
}

/// Whose tunnel comes from an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemberAt<'a> {
    pub(super) name: &'a str,
    pub(super) delegate: Option<&'a Delegate>,
}

impl Gateway {
    /// Starts WireGuard and puts up the firewall.
    pub(super) fn start(
        settings: &Settings,
        state: &Path,
        revoked: Option<&RevocationList>,
        other: &OtherWays,
    ) -> Result<Self, RunError> {
        let files = GatewayFiles::open(&settings.directory)?;
        let (members, refused) = admitted(&files, revoked)?;
        let firewall_state = firewall_state(state);
        GatewayFirewall::check_unused(&firewall_state).map_err(RunError::network)?;
        // The rules of an ended run are in force until ours replace them. In a gap between the two, what a server
        // sends again would arrive here untranslated, and this computer would reset the member's flow.
        let device = match Device::open(settings, &files) {
            Ok(device) => Arc::new(device),
            Err(error) => {
                firewall::clean_up(&firewall_state).map_err(RunError::network)?;
                return Err(error);
            }
        };
        let rules = rules(settings, &files, other);
        let firewall = GatewayFirewall::up(&rules, &firewall_state).map_err(RunError::network)?;
        // Members after the rules: a flow whose first packet is forwarded untranslated stays untranslated.
        let mut memory = Memory::open(&state.join("gateway-endpoints"));
        device.admit(&members, &memory)?;
        for member in members.iter().filter(|member| memory.endpoint(&member.public_key).is_some()) {
            device.begin_handshake(&member.public_key);
        }
        let (end, ended) = channel();
        let watched = Arc::clone(&device);
        let every = LOOK_EVERY[usize::from(device.backend() == "kernel")];
        let thread = std::thread::Builder::new().name("gateway-lookout".to_owned()).spawn(move || {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                if let Err(error) = memory.keep(endpoints(&watched)) {
                    tracing::warn!(error = error.sentence(), "where members are could not be kept");
                }
            }
        });
        Ok(Self {
            settings: settings.clone(),
            files,
            firewall,
            device,
            members,
            refused,
            lookout: Some(Lookout { end, thread: thread.map_err(RunError::network)? }),
        })
    }

    /// Reads the directory again: lets new members in, and those that were revoked or removed no more. Nobody else
    /// notices. What `gateway.toml` says of the network and the port needs a new start.
    pub(super) fn reload(&mut self, revoked: Option<&RevocationList>) -> Result<Reloaded, RunError> {
        let files = GatewayFiles::open(&self.settings.directory)?;
        if files.network != self.files.network || files.file.port != self.files.file.port {
            return Err(RunError::config("gateway.toml: network or port is another one")
                .with_hint("stop the home and start it again"));
        }
        let (members, refused) = admitted(&files, revoked)?;
        let keys = |members: &[Member]| members.iter().map(|member| member.public_key).collect::<Vec<_>>();
        let (old, new) = (keys(&self.members), keys(&members));
        self.device.set_members(&members)?;
        self.members = members;
        self.refused = refused;
        self.files = files;
        Ok(Reloaded {
            added: new.iter().filter(|key| !old.contains(key)).count(),
            removed: old.iter().filter(|key| !new.contains(key)).count(),
            members: new.len(),
        })
    }

    /// Whose tunnel comes from this address and port right now.
    pub(super) fn member_at(&self, address: SocketAddr, now: Time) -> Option<MemberAt<'_>> {
        let there = |peer: &Status| {
            peer.address.is_some_and(|from| canonical(from) == canonical(address))
                && peer.agreed.is_some_and(|agreed| (now - agreed).0 < THERE_US)
        };
        let found = self.device.peers().into_iter().find(there)?;
        let member = self.members.iter().find(|member| member.public_key == found.public_key)?;
        Some(MemberAt { name: &member.name, delegate: member.delegate.as_ref() })
    }

    /// The member of this name, if it is let in.
    pub(super) fn member_named(&self, name: &str) -> Option<MemberAt<'_>> {
        let member = self.members.iter().find(|member| member.name == name)?;
        Some(MemberAt { name: &member.name, delegate: member.delegate.as_ref() })
    }

    /// Where the tunnel of the member with this key ends right now, if the member has delegated.
    pub(super) fn endpoint_of(&self, key: KeyId, now: Time) -> Option<SocketAddr> {
        let public_key = self.delegating(key)?.public_key;
        let there = |peer: &Status| {
            peer.public_key == public_key && peer.agreed.is_some_and(|agreed| (now - agreed).0 < THERE_US)
        };
        self.device.peers().into_iter().find(there)?.address.map(canonical)
    }

    /// What was authentic of that member's tunnel, both ways since it began, at most.
    pub(super) fn authentic_of(&self, key: KeyId) -> Option<Bytes> {
        self.device.carried_for(&self.delegating(key)?.public_key)
    }

    fn delegating(&self, key: KeyId) -> Option<&Member> {
        let is_it = |member: &&Member| {
            member.delegate.as_ref().is_some_and(|delegate| delegate.delegation.member_id() == key)
        };
        self.members.iter().find(is_it)
    }

    /// The UDP port that members' tunnels come to.
    pub(super) fn port(&self) -> u16 {
        self.files.file.port
    }

    /// The members' network, and the gateway's own address in it.
    pub(super) fn network(&self) -> ((Ipv4Addr, u8), Ipv4Addr) {
        (self.files.network, self.files.address())
    }

    /// Who is let in: name, address in the network, and the name of the member's key.
    pub(super) fn members(&self) -> impl Iterator<Item = (&str, Ipv4Addr, &str)> {
        self.members.iter().map(|member| (member.name.as_str(), member.address, member.key_id.as_str()))
    }

    /// Whose delegate each key is that signs for a member here: at an access point it stands for the member.
    pub(super) fn members_by_delegate(&self) -> BTreeMap<KeyId, KeyId> {
        let pair = |delegate: &Delegate| (delegate.certificate.subject_id(), delegate.delegation.member_id());
        self.members.iter().filter_map(|member| member.delegate.as_ref().map(pair)).collect()
    }

    /// Whether members come by IKE too, each with a secret that nobody else knows.
    pub(super) fn knows_each_by_ike(&self) -> bool {
        self.settings.ikev2.as_ref().is_some_and(|ikev2| ikev2.team_secret.is_none())
    }

    /// Where each delegate's certificate is, and what it is now.
    pub(super) fn delegates(&self) -> impl Iterator<Item = (PathBuf, Certificate)> {
        let with_delegate = |member: &Member| {
            let certificate = member.delegate.as_ref()?.certificate.clone();
            Some((self.files.delegate_paths(&member.name).1, certificate))
        };
        self.members.iter().filter_map(with_delegate)
    }

    /// Where it is read from, and what is in it.
    pub(super) fn files(&self) -> &GatewayFiles {
        &self.files
    }

    /// The interface to the Internet.
    pub(super) fn uplink(&self) -> &str {
        &self.settings.uplink_interface
    }

    /// Members' names and keys, and when a certificate ends that is here for them.
    pub(super) fn members_shown(&self) -> impl Iterator<Item = (&str, &str, Option<UnixSeconds>)> {
        let ends =
            |member: &Member| member.delegate.as_ref().map(|delegate| delegate.certificate.not_after());
        self.members.iter().map(move |member| (member.name.as_str(), member.key_id.as_str(), ends(member)))
    }

    /// How members' tunnels are, by the members' names: to be called where waiting is no harm, for the kernel's WireGuard is
    /// asked by a program.
    pub(super) fn look_at_tunnels(&self) -> LookAtTunnels {
        let device = Arc::clone(&self.device);
        let names: BTreeMap<PublicKey, String> =
            self.members.iter().map(|member| (member.public_key, member.name.clone())).collect();
        Box::new(move || {
            let status = |peer: Status| DeviceStatus {
                handshake: peer.agreed.map(Time::unix_seconds),
                received: peer.received,
                sent: peer.sent,
            };
            let peers = device.peers().into_iter();
            peers.filter_map(|peer| Some((names.get(&peer.public_key)?.clone(), status(peer)))).collect()
        })
    }

    /// For `home status`.
    pub(super) fn status(&self) -> Value {
        let peers: BTreeMap<PublicKey, Status> =
            self.device.peers().into_iter().map(|peer| (peer.public_key, peer)).collect();
        let member = |member: &Member| {
            let peer = peers.get(&member.public_key);
            json!({
                "name": member.name,
                "address": member.address,
                "endpoint": peer.and_then(|peer| peer.address).map(|address| canonical(address).to_string()),
                "handshake": peer.and_then(|peer| peer.agreed).map(|time| time.unix_seconds().0),
                "received": peer.map_or(0, |peer| peer.received.0),
                "sent": peer.map_or(0, |peer| peer.sent.0),
                "delegation": member.delegate.is_some(),
            })
        };
        let (first, prefix) = self.files.network;
        json!({
            "interface": self.settings.interface,
            "backend": self.device.backend(),
            "endpoint": self.files.endpoint.to_string(),
            "port": self.files.file.port,
            "network": format!("{first}/{prefix}"),
            "members": self.members.iter().map(member).collect::<Vec<_>>(),
            "revoked": self.refused,
            "dropped": self.dropped(),
        })
    }

    /// Packets dropped, by reason: by WireGuard, and by the firewall.
    fn dropped(&self) -> BTreeMap<String, u64> {
        let mut dropped = self.firewall.drops().unwrap_or_else(|error| {
            tracing::warn!(%error, "the gateway's counters could not be read");
            BTreeMap::new()
        });
        dropped.extend(self.device.drops());
        dropped.retain(|_, count| *count != 0);
        dropped
    }

    /// Takes the firewall down and ends WireGuard.
    pub(super) fn stop(mut self) -> Result<(), RunError> {
        self.end_lookout();
        let down = self.firewall.down().map_err(RunError::network);
        // The last one that holds the device ends it.
        drop(self.device);
        down
    }

    fn end_lookout(&mut self) {
        if let Some(Lookout { end, thread }) = self.lookout.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}

/// Puts back what a gateway that was killed has left behind. Says whether there was anything.
pub(super) fn clean_up(settings: &Settings, state: &Path) -> Result<bool, RunError> {
    let file = firewall_state(state);
    let left = file.exists();
    firewall::clean_up(&file).map_err(RunError::network)?;
    let files = GatewayFiles::open(&settings.directory)?;
    Ok(device::clean_up(settings, &files)? || left)
}

fn firewall_state(state: &Path) -> PathBuf {
    state.join("gateway-firewall.json")
}

/// The members that are let in, and how many are not any more.
fn admitted(
    files: &GatewayFiles,
    revoked: Option<&RevocationList>,
) -> Result<(Vec<Member>, usize), RunError> {
    let all = files.members()?;
    let count = all.len();
    let is_revoked = |member: &Member| {
        let listed = revoked.into_iter().flat_map(|list| list.revoked().keys());
        member.is_revoked || listed.into_iter().any(|key| key.to_string() == member.key_id)
    };
    let members: Vec<Member> = all.into_iter().filter(|member| !is_revoked(member)).collect();
    let refused = count - members.len();
    Ok((members, refused))
}

fn rules(settings: &Settings, files: &GatewayFiles, other: &OtherWays) -> firewall::GatewaySettings {
    let (interface, uplink) = (&settings.interface, &settings.uplink_interface);
    let mut rules = firewall::GatewaySettings::new(interface, uplink, files.address(), files.network.1);
    rules.home_networks.clone_from(&settings.home_networks);
    rules.resolver = settings.dns_upstream.or_else(crate::resolver::upstream);
    if rules.resolver.is_none() {
        let address = files.address();
        tracing::warn!(
            name: "no_other_resolver",
            "members ask {address} for names, and no other resolver is known: set dns_upstream, or let the \
                        resolver on this computer listen there"
        );
    }
    rules.other_devices.clone_from(&other.devices);
    rules.kernel_ipsec = other.kernel_ipsec;
    (rules.home_port, rules.page_port) = (other.home_port, other.page_port);
    rules.voice = other.voice;
    rules
}

/// Where each member was last heard from.
fn endpoints(device: &Device) -> BTreeMap<PublicKey, SocketAddr> {
    let known = |peer: Status| Some((peer.public_key, canonical(peer.address?)));
    device.peers().into_iter().filter_map(known).collect()
}

/// IPv4 as IPv4, also on a socket of IPv6.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
