//! The files of a home gateway: `gateway/` in a team's directory (design note 0003, section 4).
//!
//! - `gateway.toml`: endpoint, port, network, resolver.
//! - `gateway.key`: its WireGuard key, in base64 as `wg genkey` writes it.
//! - `NAME.toml`: a member as the gateway sees it, with the member's delegation if there is one.
//! - `NAME.key`, `NAME.cert`: the delegate's key and certificate, for the home to sign with.
//! - `NAME.record`: the member's signed word on where its home is, for others who call it (design note 0004).
//! - `NAME.ike`: a member that comes in by IKEv2 or L2TP; only its address matters here.
//!
//! All of them are for the computer that the home runs on, and for nobody else.

use crate::private::{self, create_private, make_private_directory};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guestright_directory::{Address, AddressError, Host, HostName, LINK_PORT};
use guestright_error::{OrFail as _, RunError};
use guestright_identity::{Certificate, Delegation, KeyId, SecretKey};
use guestright_tunnel::wireguard::{self, HostPort, Network, PresharedKey, PrivateKey, PublicKey};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use zeroize::{Zeroize, Zeroizing};

/// The gateway's directory, in the team's.
pub const DIRECTORY: &str = "gateway";
/// WireGuard's usual port.
pub const PORT: u16 = 51_820;
/// What fits into 1,500 bytes after WireGuard over IPv6 (80 bytes), as stock programs have it.
pub const MTU: u16 = 1_420;
/// Seconds; what WireGuard's authors suggest behind a NAT.
pub const KEEPALIVE: u16 = 25;
/// A file of ours is not longer.
const FILE_MAX: u64 = 64 * 1024;
/// No gateway has more members.
const MEMBERS_MAX: usize = wireguard::Config::PEERS_MAX;

/// `gateway.toml`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayFile {
    /// Where members find the gateway: `host:port`.
    pub endpoint: String,
    /// The UDP port that it listens at; another one than in `endpoint` behind a NAT that translates it.
    #[serde(default = "default_port")]
    pub port: u16,
    /// The network of its members, `address/length`. The first address is the gateway's own.
    pub network: String,
    /// Whom members ask for names; the gateway, if nobody is named.
    #[serde(default)]
    pub dns: Vec<IpAddr>,
    #[serde(default = "default_mtu")]
    pub mtu: u16,
    #[serde(default = "default_keepalive")]
    pub keepalive_seconds: u16,
}

/// `NAME.toml`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerFile {
    /// The member's WireGuard key.
    pub public_key: String,
    /// The secret that it shares with the gateway.
    pub preshared_key: String,
    /// Its address in the network.
    pub address: Ipv4Addr,
    /// The name of its key in the team.
    pub key_id: String,
    /// SHA-256 of its certificate.
    pub certificate: String,
    /// Since when it is let in no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<String>,
    /// What it lets its home sign: a [`Delegation`] in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation: Option<String>,
}

/// Where other homes find the home whose gateway has this endpoint: on the same computer, at the port of links.
pub fn link_address(endpoint: &HostPort) -> Result<Address, AddressError> {
    let host = match &endpoint.host {
        wireguard::Host::Address(IpAddr::V4(address)) => Host::V4(*address),
        wireguard::Host::Address(IpAddr::V6(address)) => Host::V6(*address),
        wireguard::Host::Name(name) => Host::Name(HostName::new(name)?),
    };
    Address::new(host, LINK_PORT)
}

/// A gateway's directory, its settings read and checked.
#[derive(Debug)]
pub struct GatewayFiles {
    path: PathBuf,
    pub endpoint: HostPort,
    pub file: GatewayFile,
    /// The network's first address and its prefix length.
    pub network: (Ipv4Addr, u8),
}

/// A member as the gateway sees it.
#[derive(Clone, Debug)]
pub struct Member {
    pub name: String,
    pub public_key: PublicKey,
    pub preshared_key: PresharedKey,
    pub address: Ipv4Addr,
    pub key_id: String,
    pub is_revoked: bool,
    pub delegate: Option<Delegate>,
}

/// What a home needs to sign for a member: the member's word, and the key that may.
#[derive(Clone, Debug)]
pub struct Delegate {
    pub delegation: Delegation,
    pub key: SecretKey,
    pub certificate: Certificate,
}

fn default_port() -> u16 {
    PORT
}

fn default_mtu() -> u16 {
    MTU
}

fn default_keepalive() -> u16 {
    KEEPALIVE
}

impl Drop for PeerFile {
    fn drop(&mut self) {
        self.preshared_key.zeroize();
    }
}

impl std::fmt::Debug for PeerFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PeerFile({} at {})", self.public_key, self.address)
    }
}

impl GatewayFile {
    fn text(&self) -> Result<String, RunError> {
        let text = to_toml(self)?;
        Ok(format!(
            "# Made by `guestright team gateway init`; `guestright home` reads this directory.\n{text}"
        ))
    }
}

impl GatewayFiles {
    /// Makes a gateway's directory: settings and a fresh key.
    pub fn create(path: &Path, file: &GatewayFile, key: &PrivateKey) -> Result<Self, RunError> {
        let this = Self::check(path.to_owned(), file.clone())?;
        make_private_directory(path)?;
        let text = Zeroizing::new(format!("{}\n", key.to_base64().as_str()));
        create_private(&this.key_path(), text.as_bytes()).map_err(|error| {
            error.with_hint("this team has a gateway; its settings are in gateway.toml beside that file")
        })?;
        create_private(&path.join("gateway.toml"), file.text()?.as_bytes())?;
        Ok(this)
    }

    /// Opens a gateway's directory.
    pub fn open(path: &Path) -> Result<Self, RunError> {
        let settings = path.join("gateway.toml");
        let text = read_limited(&settings).map_err(|error| {
            let refused = fs::File::open(&settings).is_err_and(|it| it.kind() == ErrorKind::PermissionDenied);
            let make = "make a gateway with `guestright team gateway init`";
            error.with_hint(if refused { "use sudo" } else { make })
        })?;
        let file = toml::from_str(&text).or_config(|| format!("understand {}", settings.display()))?;
        Self::check(path.to_owned(), file)
    }

    fn check(path: PathBuf, file: GatewayFile) -> Result<Self, RunError> {
        let wrong = |what: &str, want: &str| RunError::config(format!("gateway.toml: `{what}` is {want}"));
        let endpoint: HostPort = file.endpoint.parse().map_err(|want| wrong("endpoint", want))?;
        let network = parse_network(&file.network).map_err(|want| wrong("network", want))?;
        if file.port == 0 {
            return Err(wrong("port", "a port from 1 to 65535"));
        }
        if !(576..=9_000).contains(&file.mtu) {
            return Err(wrong("mtu", "a number of bytes from 576 to 9000"));
        }
        if file.dns.len() > 8 {
            return Err(wrong("dns", "a list of at most 8 addresses"));
        }
        Ok(Self { path, endpoint, file, network })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The gateway's own address in its network: the first that a computer can have.
    pub fn address(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.network.0.to_bits() + 1)
    }

    /// Whom members ask for names.
    pub fn dns(&self) -> Vec<IpAddr> {
        if self.file.dns.is_empty() { vec![self.address().into()] } else { self.file.dns.clone() }
    }

    fn key_path(&self) -> PathBuf {
        self.path.join("gateway.key")
    }

    fn peer_path(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.toml"))
    }

    /// The gateway's WireGuard key.
    pub fn private_key(&self) -> Result<PrivateKey, RunError> {
        let path = self.key_path();
        let text = Zeroizing::new(read_secret(&path)?);
        text.trim().parse().map_err(|want| RunError::config(format!("{} is not {want}", path.display())))
    }

    /// Nobody else takes an address until the lock is dropped.
    pub fn lock(&self) -> Result<File, RunError> {
        let path = self.path.join("gateway.toml");
        let lock = || {
            let file = File::open(&path)?;
            file.lock()?;
            Ok::<_, std::io::Error>(file)
        };
        lock().or_config(|| format!("lock {}", path.display()))
    }

    /// The names of members with a file here, in order.
    pub fn names(&self) -> Result<Vec<String>, RunError> {
        let mut names = Vec::new();
        for path in self.entries("toml")? {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if name != "gateway" {
                names.push(name);
            }
        }
        if names.len() > MEMBERS_MAX {
            let here = self.path.display();
            return Err(RunError::config(format!(
                "{here} has {} members, at most {MEMBERS_MAX} are served",
                names.len()
            )));
        }
        names.sort();
        Ok(names)
    }

    fn entries(&self, extension: &str) -> Result<Vec<PathBuf>, RunError> {
        let list = || {
            let mut found = Vec::new();
            for entry in fs::read_dir(&self.path)? {
                let path = entry?.path();
                if path.extension().is_some_and(|each| each == extension) {
                    found.push(path);
                }
            }
            Ok::<_, std::io::Error>(found)
        };
        list().or_config(|| format!("read {}", self.path.display()))
    }

    /// The file of a member.
    pub fn peer_file(&self, name: &str) -> Result<Option<PeerFile>, RunError> {
        let path = self.peer_path(name);
        if !path.exists() {
            return Ok(None);
        }
        let text = Zeroizing::new(read_secret(&path)?);
        // An error of the parser would show the line, which may be a secret.
        let parsed = toml::from_str(&text).map_err(|error: toml::de::Error| {
            RunError::config(format!("{}: {}", path.display(), error.message()))
        });
        parsed.map(Some)
    }

    /// Writes the file of a member in place of the one that is there.
    pub fn write_peer(&self, name: &str, peer: &PeerFile) -> Result<(), RunError> {
        let text = Zeroizing::new(to_toml(peer)?);
        private::replace(&self.peer_path(name), text.as_bytes())
    }

    /// Writes the file of a new member.
    pub fn create_peer(&self, name: &str, peer: &PeerFile) -> Result<(), RunError> {
        let text = Zeroizing::new(to_toml(peer)?);
        create_private(&self.peer_path(name), text.as_bytes())
    }

    /// What root has made here belongs to whoever the directory belongs to: the home reads it, and may be no root.
    pub fn hand_over(&self) -> Result<(), RunError> {
        let give = || {
            let owner = fs::metadata(&self.path)?;
            for entry in fs::read_dir(&self.path)? {
                let entry = entry?;
                if entry.metadata()?.uid() != owner.uid() {
                    chown(entry.path(), Some(owner.uid()), Some(owner.gid()))?;
                }
            }
            Ok::<_, std::io::Error>(())
        };
        give().or_config(|| format!("give the files in {} to their directory's owner", self.path.display()))
    }

    /// Where a member's word on where its home is lies: what others find it by.
    pub fn record_path(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.record"))
    }

    /// Where the key and certificate of a member's delegate are.
    pub fn delegate_paths(&self, name: &str) -> (PathBuf, PathBuf) {
        (self.path.join(format!("{name}.key")), self.path.join(format!("{name}.cert")))
    }

    /// An address that nobody has, from the bottom up. Addresses of revoked members stay theirs.
    pub fn free_address(&self) -> Result<Ipv4Addr, RunError> {
        let mut taken = BTreeSet::from([self.address()]);
        for name in self.names()? {
            taken.extend(self.peer_file(&name)?.map(|peer| peer.address));
        }
        for path in self.entries("ike")? {
            taken.extend(ike_address(&path)?);
        }
        let (first, prefix) = self.network;
        let count = 1_u32 << (32 - prefix);
        let mut free = (1..count - 1).map(|number| Ipv4Addr::from_bits(first.to_bits() + number));
        free.find(|address| !taken.contains(address)).ok_or_else(|| {
            RunError::config(format!("every address of {} is taken", self.file.network))
                .with_hint("remove the files of members that are gone from the gateway's directory")
        })
    }

    /// Every member, read and checked.
    pub fn members(&self) -> Result<Vec<Member>, RunError> {
        let mut members = Vec::new();
        let (mut addresses, mut keys) = (BTreeSet::from([self.address()]), BTreeSet::new());
        for name in self.names()? {
            let Some(file) = self.peer_file(&name)? else { continue };
            let member = self.member(name, file)?;
            if !addresses.insert(member.address) || !keys.insert(member.public_key) {
                let path = self.peer_path(&member.name);
                return Err(RunError::config(format!(
                    "{}: its address or key is another member's",
                    path.display()
                )));
            }
            members.push(member);
        }
        Ok(members)
    }

    fn member(&self, name: String, file: PeerFile) -> Result<Member, RunError> {
        let path = self.peer_path(&name);
        let wrong =
            |what: &str, want: &str| RunError::config(format!("{}: `{what}` is {want}", path.display()));
        let public_key = file.public_key.parse().map_err(|want| wrong("public_key", want))?;
        let preshared_key = file.preshared_key.parse().map_err(|want| wrong("preshared_key", want))?;
        let network = Network::new(self.network.0.into(), self.network.1).expect("it was checked");
        if !network.contains(file.address.into()) {
            return Err(wrong("address", &format!("an address in {network}")));
        }
        let delegate = match &file.delegation {
            Some(text) if file.revoked.is_none() => Some(self.delegate(&name, text)?),
            Some(_) | None => None,
        };
        Ok(Member {
            name,
            public_key,
            preshared_key,
            address: file.address,
            key_id: file.key_id.clone(),
            is_revoked: file.revoked.is_some(),
            delegate,
        })
    }

    fn delegate(&self, name: &str, text: &str) -> Result<Delegate, RunError> {
        let path = self.peer_path(name);
        let read = || -> Result<_, Box<dyn std::error::Error + Send + Sync>> {
            let bytes = STANDARD.decode(text).map_err(|error| error.to_string())?;
            Ok(Delegation::parse(&bytes)?)
        };
        let delegation = read().or_config(|| format!("read the delegation in {}", path.display()))?;
        let (key, certificate) = self.delegate_paths(name);
        let secret = guestright_keys::read_secret(&key, || None).map_err(RunError::config)?;
        let certificate = guestright_keys::read_certificate(&certificate).map_err(RunError::config)?;
        if delegation.delegate() != secret.public() || certificate.subject() != secret.public() {
            let path = key.display();
            return Err(RunError::config(format!("{path} is not the key that {name} has delegated to")));
        }
        Ok(Delegate { delegation, key: secret, certificate })
    }
}

impl PeerFile {
    /// The member's word, if it has given any.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn delegation(&self) -> Result<Option<Delegation>, RunError> {
        let read = |text: &String| -> Result<_, Box<dyn std::error::Error + Send + Sync>> {
            let bytes = STANDARD.decode(text).map_err(|error| error.to_string())?;
            Ok(Delegation::parse(&bytes)?)
        };
        let read = self.delegation.as_ref().map(read).transpose();
        read.or_config(|| "read a member's delegation".to_owned())
    }

    /// Notes the member's word.
    pub fn set_delegation(&mut self, delegation: &Delegation) {
        self.delegation = Some(STANDARD.encode(delegation.as_bytes()));
    }
}

/// How a key's name is written in `NAME.toml`.
pub fn key_name(id: KeyId) -> String {
    id.to_string()
}

/// A network for members: private addresses, with room for a gateway and a member.
pub fn parse_network(text: &str) -> Result<(Ipv4Addr, u8), &'static str> {
    const WANT: &str = "a private IPv4 network such as 10.73.5.0/24, with a length from 16 to 30";
    let network: Network = text.parse().map_err(|_| WANT)?;
    let IpAddr::V4(address) = network.address() else { return Err(WANT) };
    let fits = text.contains('/') && network.first() == network && (16..=30).contains(&network.prefix());
    let shared = address.octets()[0] == 100 && address.octets()[1] & 0xc0 == 64; // RFC 6598.
    if fits && (address.is_private() || shared) { Ok((address, network.prefix())) } else { Err(WANT) }
}

/// The address in a file of an IKEv2 or L2TP member.
fn ike_address(path: &Path) -> Result<Option<Ipv4Addr>, RunError> {
    let text = Zeroizing::new(read_secret(path)?);
    let table: toml::Table = toml::from_str(&text).map_err(|error: toml::de::Error| {
        RunError::config(format!("{}: {}", path.display(), error.message()))
    })?;
    Ok(table.get("address").and_then(|value| value.as_str()).and_then(|text| text.parse().ok()))
}

fn read_limited(path: &Path) -> Result<String, RunError> {
    let bytes = guestright_keys::read_to_limit(path, usize::try_from(FILE_MAX).unwrap_or(usize::MAX));
    let text = String::from_utf8(bytes.map_err(RunError::config)?);
    text.map_err(|_| RunError::config(format!("{} is not text", path.display())))
}

pub(crate) fn to_toml(file: &impl Serialize) -> Result<String, RunError> {
    toml::to_string(file).map_err(RunError::bug)
}

/// Reads a file with a secret in it, which nobody else may be able to read.
pub fn read_secret(path: &Path) -> Result<String, RunError> {
    let mode = fs::metadata(path).map(|metadata| metadata.mode()).unwrap_or_default();
    if mode & 0o077 != 0 {
        let path = path.display();
        return Err(RunError::config(format!("{path} can be read by others (mode {:o})", mode & 0o777))
            .with_hint(format!("run `chmod 600 {path}`")));
    }
    read_limited(path)
}

#[cfg(test)]
mod tests;
