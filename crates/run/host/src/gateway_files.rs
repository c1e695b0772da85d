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

use anyhow::{Context, anyhow};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guestright_cli::failure::Failure;
use guestright_directory::{Address, AddressError, Host, HostName, LINK_PORT};
use guestright_identity::{Certificate, Delegation, KeyId, SecretKey};
use guestright_tunnel::wireguard::{self, HostPort, Network, PresharedKey, PrivateKey, PublicKey};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use zeroize::{Zeroize, Zeroizing};

/// The gateway's directory, in the team's.
pub(crate) const DIRECTORY: &str = "gateway";
/// WireGuard's usual port.
pub(crate) const PORT: u16 = 51_820;
/// What fits into 1,500 bytes after WireGuard over IPv6 (80 bytes), as stock programs have it.
pub(crate) const MTU: u16 = 1_420;
/// Seconds; what WireGuard's authors suggest behind a NAT.
pub(crate) const KEEPALIVE: u16 = 25;
/// A file of ours is not longer.
const FILE_MAX: u64 = 64 * 1024;
/// No gateway has more members.
const MEMBERS_MAX: usize = wireguard::Config::PEERS_MAX;

/// `gateway.toml`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GatewayFile {
    /// Where members find the gateway: `host:port`.
    pub(crate) endpoint: String,
    /// The UDP port that it listens at; another one than in `endpoint` behind a NAT that translates it.
    #[serde(default = "default_port")]
    pub(crate) port: u16,
    /// The network of its members, `address/length`. The first address is the gateway's own.
    pub(crate) network: String,
    /// Whom members ask for names; the gateway, if nobody is named.
    #[serde(default)]
    pub(crate) dns: Vec<IpAddr>,
    #[serde(default = "default_mtu")]
    pub(crate) mtu: u16,
    #[serde(default = "default_keepalive")]
    pub(crate) keepalive_seconds: u16,
}

/// `NAME.toml`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PeerFile {
    /// The member's WireGuard key.
    pub(crate) public_key: String,
    /// The secret that it shares with the gateway.
    pub(crate) preshared_key: String,
    /// Its address in the network.
    pub(crate) address: Ipv4Addr,
    /// The name of its key in the team.
    pub(crate) key_id: String,
    /// SHA-256 of its certificate.
    pub(crate) certificate: String,
    /// Since when it is let in no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) revoked: Option<String>,
    /// What it lets its home sign: a [`Delegation`] in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delegation: Option<String>,
}

/// Where other homes find the home whose gateway has this endpoint: on the same computer, at the port of links.
pub(crate) fn link_address(endpoint: &HostPort) -> Result<Address, AddressError> {
    let host = match &endpoint.host {
        wireguard::Host::Address(IpAddr::V4(address)) => Host::V4(*address),
        wireguard::Host::Address(IpAddr::V6(address)) => Host::V6(*address),
        wireguard::Host::Name(name) => Host::Name(HostName::new(name)?),
    };
    Address::new(host, LINK_PORT)
}

/// A gateway's directory, its settings read and checked.
#[derive(Debug)]
pub(crate) struct GatewayFiles {
    path: PathBuf,
    pub(crate) endpoint: HostPort,
    pub(crate) file: GatewayFile,
    /// The network's first address and its prefix length.
    pub(crate) network: (Ipv4Addr, u8),
}

/// A member as the gateway sees it.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) public_key: PublicKey,
    pub(crate) preshared_key: PresharedKey,
    pub(crate) address: Ipv4Addr,
    pub(crate) key_id: String,
    pub(crate) is_revoked: bool,
    pub(crate) delegate: Option<Delegate>,
}

/// What a home needs to sign for a member: the member's word, and the key that may.
#[derive(Clone, Debug)]
pub(crate) struct Delegate {
    pub(crate) delegation: Delegation,
    pub(crate) key: SecretKey,
    pub(crate) certificate: Certificate,
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
    fn text(&self) -> anyhow::Result<String> {
        let text = toml::to_string(self)?;
        Ok(format!(
            "# Made by `guestright team gateway init`; `guestright home` reads this directory.\n{text}"
        ))
    }
}

impl GatewayFiles {
    /// Makes a gateway's directory: settings and a fresh key.
    pub(crate) fn create(path: &Path, file: &GatewayFile, key: &PrivateKey) -> Result<Self, Failure> {
        let this = Self::check(path.to_owned(), file.clone())?;
        guestright_cli::files::state_directory(path)?;
        let text = Zeroizing::new(format!("{}\n", key.to_base64().as_str()));
        create_private(&this.key_path(), text.as_bytes()).map_err(|failure| {
            failure.hint("this team has a gateway; its settings are in gateway.toml beside that file")
        })?;
        create_private(&path.join("gateway.toml"), file.text()?.as_bytes())?;
        Ok(this)
    }

    /// Opens a gateway's directory.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let settings = path.join("gateway.toml");
        let text = read_limited(&settings)
            .map_err(|failure| failure.hint("make a gateway with `guestright team gateway init`"))?;
        let parsed = toml::from_str(&text).with_context(|| format!("understand {}", settings.display()));
        Self::check(path.to_owned(), parsed.map_err(Failure::config)?)
    }

    fn check(path: PathBuf, file: GatewayFile) -> Result<Self, Failure> {
        let wrong = |what: &str, want: &str| Failure::config(anyhow!("gateway.toml: `{what}` is {want}"));
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

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The gateway's own address in its network: the first that a computer can have.
    pub(crate) fn address(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.network.0.to_bits() + 1)
    }

    /// Whom members ask for names.
    pub(crate) fn dns(&self) -> Vec<IpAddr> {
        if self.file.dns.is_empty() { vec![self.address().into()] } else { self.file.dns.clone() }
    }

    fn key_path(&self) -> PathBuf {
        self.path.join("gateway.key")
    }

    fn peer_path(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.toml"))
    }

    /// The gateway's WireGuard key.
    pub(crate) fn private_key(&self) -> Result<PrivateKey, Failure> {
        let path = self.key_path();
        let text = Zeroizing::new(read_secret(&path)?);
        text.trim().parse().map_err(|want| Failure::config(anyhow!("{} is not {want}", path.display())))
    }

    /// Nobody else takes an address until the lock is dropped.
    pub(crate) fn lock(&self) -> Result<File, Failure> {
        let path = self.path.join("gateway.toml");
        let lock = || {
            let file = File::open(&path)?;
            file.lock()?;
            Ok::<_, std::io::Error>(file)
        };
        lock().with_context(|| format!("lock {}", path.display())).map_err(Failure::config)
    }

    /// The names of members with a file here, in order.
    pub(crate) fn names(&self) -> Result<Vec<String>, Failure> {
        let mut names = Vec::new();
        for path in self.entries("toml")? {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if name != "gateway" {
                names.push(name);
            }
        }
        if names.len() > MEMBERS_MAX {
            let here = self.path.display();
            return Err(Failure::config(anyhow!(
                "{here} has {} members, at most {MEMBERS_MAX} are served",
                names.len()
            )));
        }
        names.sort();
        Ok(names)
    }

    fn entries(&self, extension: &str) -> Result<Vec<PathBuf>, Failure> {
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
        list().with_context(|| format!("read {}", self.path.display())).map_err(Failure::config)
    }

    /// The file of a member.
    pub(crate) fn peer_file(&self, name: &str) -> Result<Option<PeerFile>, Failure> {
        let path = self.peer_path(name);
        if !path.exists() {
            return Ok(None);
        }
        let text = Zeroizing::new(read_secret(&path)?);
        // An error of the parser would show the line, which may be a secret.
        let parsed = toml::from_str(&text).map_err(|error: toml::de::Error| {
            Failure::config(anyhow!("{}: {}", path.display(), error.message()))
        });
        parsed.map(Some)
    }

    /// Writes the file of a member in place of the one that is there.
    pub(crate) fn write_peer(&self, name: &str, peer: &PeerFile) -> Result<(), Failure> {
        let text = Zeroizing::new(toml::to_string(peer)?);
        replace_private(&self.peer_path(name), text.as_bytes())
    }

    /// Writes the file of a new member.
    pub(crate) fn create_peer(&self, name: &str, peer: &PeerFile) -> Result<(), Failure> {
        let text = Zeroizing::new(toml::to_string(peer)?);
        create_private(&self.peer_path(name), text.as_bytes())
    }

    /// Where a member's word on where its home is lies: what others find it by.
    pub(crate) fn record_path(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.record"))
    }

    /// Where the key and certificate of a member's delegate are.
    pub(crate) fn delegate_paths(&self, name: &str) -> (PathBuf, PathBuf) {
        (self.path.join(format!("{name}.key")), self.path.join(format!("{name}.cert")))
    }

    /// An address that nobody has, from the bottom up. Addresses of revoked members stay theirs.
    pub(crate) fn free_address(&self) -> Result<Ipv4Addr, Failure> {
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
            Failure::config(anyhow!("every address of {} is taken", self.file.network))
                .hint("remove the files of members that are gone from the gateway's directory")
        })
    }

    /// Every member, read and checked.
    pub(crate) fn members(&self) -> Result<Vec<Member>, Failure> {
        let mut members = Vec::new();
        let (mut addresses, mut keys) = (BTreeSet::from([self.address()]), BTreeSet::new());
        for name in self.names()? {
            let Some(file) = self.peer_file(&name)? else { continue };
            let member = self.member(name, file)?;
            if !addresses.insert(member.address) || !keys.insert(member.public_key) {
                let path = self.peer_path(&member.name);
                return Err(Failure::config(anyhow!(
                    "{}: its address or key is another member's",
                    path.display()
                )));
            }
            members.push(member);
        }
        Ok(members)
    }

    fn member(&self, name: String, file: PeerFile) -> Result<Member, Failure> {
        let path = self.peer_path(&name);
        let wrong =
            |what: &str, want: &str| Failure::config(anyhow!("{}: `{what}` is {want}", path.display()));
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

    fn delegate(&self, name: &str, text: &str) -> Result<Delegate, Failure> {
        let path = self.peer_path(name);
        let read = || {
            let bytes = STANDARD.decode(text).map_err(|error| anyhow!("{error}"))?;
            Ok::<_, anyhow::Error>(Delegation::parse(&bytes)?)
        };
        let delegation = read()
            .with_context(|| format!("read the delegation in {}", path.display()))
            .map_err(Failure::config)?;
        let (key, certificate) = self.delegate_paths(name);
        let secret = guestright_keys::read_secret(&key, || None).map_err(Failure::config)?;
        let certificate = guestright_keys::read_certificate(&certificate).map_err(Failure::config)?;
        if delegation.delegate() != secret.public() || certificate.subject() != secret.public() {
            let path = key.display();
            return Err(Failure::config(anyhow!("{path} is not the key that {name} has delegated to")));
        }
        Ok(Delegate { delegation, key: secret, certificate })
    }
}

impl PeerFile {
    /// Notes the member's word.
    pub(crate) fn set_delegation(&mut self, delegation: &Delegation) {
        self.delegation = Some(STANDARD.encode(delegation.as_bytes()));
    }
}

/// How a key's name is written in `NAME.toml`.
pub(crate) fn key_name(id: KeyId) -> String {
    id.to_string()
}

/// A network for members: private addresses, with room for a gateway and a member.
pub(crate) fn parse_network(text: &str) -> Result<(Ipv4Addr, u8), &'static str> {
    const WANT: &str = "a private IPv4 network such as 10.73.5.0/24, with a length from 16 to 30";
    let network: Network = text.parse().map_err(|_| WANT)?;
    let IpAddr::V4(address) = network.address() else { return Err(WANT) };
    let fits = text.contains('/') && network.first() == network && (16..=30).contains(&network.prefix());
    let shared = address.octets()[0] == 100 && address.octets()[1] & 0xc0 == 64; // RFC 6598.
    if fits && (address.is_private() || shared) { Ok((address, network.prefix())) } else { Err(WANT) }
}

/// The address in a file of an IKEv2 or L2TP member.
fn ike_address(path: &Path) -> Result<Option<Ipv4Addr>, Failure> {
    let text = Zeroizing::new(read_secret(path)?);
    let table: toml::Table = toml::from_str(&text).map_err(|error: toml::de::Error| {
        Failure::config(anyhow!("{}: {}", path.display(), error.message()))
    })?;
    Ok(table.get("address").and_then(|value| value.as_str()).and_then(|text| text.parse().ok()))
}

/// Makes a file that its owner alone can read; it must not be there.
pub(crate) fn create_private(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let create = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    create().with_context(|| format!("make {}", path.display())).map_err(Failure::config)
}

/// Writes a file that its owner alone can read, all of it or nothing.
pub(crate) fn replace_private(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    let write = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    write().with_context(|| format!("write {}", path.display())).map_err(Failure::config)
}

fn read_limited(path: &Path) -> Result<String, Failure> {
    let bytes = guestright_keys::read_to_limit(path, usize::try_from(FILE_MAX).unwrap_or(usize::MAX));
    let text = String::from_utf8(bytes.map_err(Failure::config)?);
    text.map_err(|_| Failure::config(anyhow!("{} is not text", path.display())))
}

/// Reads a file with a secret in it, which nobody else may be able to read.
pub(crate) fn read_secret(path: &Path) -> Result<String, Failure> {
    let mode = fs::metadata(path).map(|metadata| metadata.mode()).unwrap_or_default();
    if mode & 0o077 != 0 {
        let path = path.display();
        return Err(Failure::config(anyhow!("{path} can be read by others (mode {:o})", mode & 0o777))
            .hint(format!("run `chmod 600 {path}`")));
    }
    read_limited(path)
}

#[cfg(test)]
mod tests;
