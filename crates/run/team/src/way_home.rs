//! A member's way home: its WireGuard configuration, its place at the gateway, and its word to its home.

use crate::directory::{gateway, remove};
use crate::home_record;
use crate::life::LIFE_MAX;
use guestright_error::RunError;
use guestright_host::gateway_files::{self, GatewayFiles, PeerFile, key_name};
use guestright_host::ike_files;
use guestright_host::private::create_private;
use guestright_identity::{
    AccessPoints, Certificate, Delegation, DelegationTerms, PublicKey, Role, SecretKey,
};
use guestright_tunnel::wireguard::{Config, Interface, Network, Peer, PresharedKey, PrivateKey};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// For how many bytes a day a home usually may sign in a member's place.
pub const BYTES_PER_DAY: u64 = 1_000_000_000;

/// On what terms a member's home may sign in its place, where it has nothing but the tunnel.
#[derive(Clone, Debug)]
pub struct Terms {
    pub bytes_per_day: u64,
    /// The teams at whose access points it may; of none: at all.
    pub only_at: Vec<TeamId>,
}

/// A tunnel for somebody.
#[derive(Clone, Debug)]
pub struct TunnelWish {
    /// On what terms its home may sign in its place; without any it may not.
    pub terms: Option<Terms>,
}

impl Default for TunnelWish {
    /// Its home may sign at all access points.
    fn default() -> Self {
        Self { terms: Some(Terms { bytes_per_day: BYTES_PER_DAY, only_at: Vec::new() }) }
    }
}

impl TunnelWish {
    /// The tunnel that somebody has, to be given again.
    ///
    /// # Errors
    /// The files at the gateway cannot be read.
    pub(crate) fn of_member(dir: &Path, name: &str) -> Result<Option<Self>, RunError> {
        let peer = gateway(dir)?.map(|files| files.peer_file(name)).transpose()?.flatten();
        let Some(peer) = peer else { return Ok(None) };
        let terms = peer.delegation()?.map(|delegation| delegation.terms().clone());
        let terms = terms.map(|terms| Terms {
            bytes_per_day: terms.bytes_per_day.0,
            only_at: match terms.access_points {
                AccessPoints::Of(teams) => teams.iter().copied().collect(),
                AccessPoints::Any => Vec::new(),
            },
        });
        Ok(Some(Self { terms }))
    }
}

/// A place at the gateway that a new member will have. Nobody else takes it while this exists.
#[derive(Debug)]
pub(crate) struct Reservation {
    files: GatewayFiles,
    address: Ipv4Addr,
    _lock: fs::File,
}

/// What a member was given. Not `Debug`: it holds the member's secret.
#[expect(missing_debug_implementations, reason = "it holds the member's secret")]
pub struct Tunnel {
    pub config: Zeroizing<String>,
    pub path: PathBuf,
    pub address: Ipv4Addr,
    pub delegates: bool,
    /// Whether others can find its home, and so call it.
    pub is_found: bool,
}

/// A new member that gets a tunnel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewMember<'a> {
    pub(crate) dir: &'a Path,
    pub(crate) name: &'a str,
    pub(crate) team: &'a SecretKey,
    pub(crate) key: &'a SecretKey,
    pub(crate) certificate: &'a Certificate,
}

impl Reservation {
    /// Finds a place for `name`, before anything is written.
    ///
    /// # Errors
    /// It is not for a member, the name has a tunnel already, or the gateway has no place left.
    pub(crate) fn new(dir: &Path, name: &str, role: Role) -> Result<Self, RunError> {
        if role != Role::Member {
            return Err(RunError::user(format!("only a member roams; {name} is to be a {role}"))
                .with_hint("leave out --qr"));
        }
        let files = GatewayFiles::open(&dir.join(gateway_files::DIRECTORY))?;
        let lock = files.lock()?;
        let config = config_path(dir, name);
        if config.exists() || files.peer_file(name)?.is_some() {
            let config = config.display();
            return Err(RunError::config(format!(
                "{name} has a tunnel already: {config}, or its file in gateway/"
            ))
            .with_hint("every name is given once; choose another"));
        }
        let address = files.free_address()?;
        Ok(Self { files, address, _lock: lock })
    }

    /// Writes the member's configuration, and its file at the gateway. Without terms its home may not sign for it.
    ///
    /// # Errors
    /// One of them cannot be written.
    pub(crate) fn enrol(self, terms: Option<&Terms>, member: NewMember<'_>) -> Result<Tunnel, RunError> {
        let Self { files, address, _lock: lock } = self;
        let (secret, shared) = (guestright_clock::seed(), guestright_clock::seed());
        let (secret, shared) = (Zeroizing::new(secret.0), Zeroizing::new(shared.0));
        let private_key = PrivateKey::from_random(*secret);
        let preshared_key = PresharedKey::from_bytes(*shared);
        let mut peer = PeerFile {
            public_key: private_key.public().to_string(),
            preshared_key: preshared_key.to_base64().to_string(),
            address,
            key_id: key_name(member.certificate.subject_id()),
            certificate: digest_of(member.certificate),
            revoked: None,
            delegation: None,
        };
        if let Some(terms) = terms {
            peer.set_delegation(&delegate(&files, terms, member)?);
        }
        let config = configuration(&files, private_key, preshared_key, address)?.emit();
        let path = config_path(member.dir, member.name);
        create_private(&path, config.as_bytes())?;
        files.create_peer(member.name, &peer)?;
        let home = home_record::home(member.dir)?;
        if let Some(home) = &home {
            home_record::write(&files, home, &[], member.name, member.key, member.certificate)?;
        }
        files.hand_over()?;
        drop(lock);
        Ok(Tunnel { config, path, address, delegates: terms.is_some(), is_found: home.is_some() })
    }
}

impl Tunnel {
    /// What a member was given when it was added.
    ///
    /// # Errors
    /// It has no tunnel, or a file of it cannot be read.
    pub fn of_member(dir: &Path, name: &str) -> Result<Self, RunError> {
        let path = config_path(dir, name);
        if !path.exists() {
            return Err(RunError::config(format!("{} is not there", path.display()))
                .with_hint("a member gets a tunnel with `guestright team member add NAME --qr`"));
        }
        let config = Zeroizing::new(gateway_files::read_secret(&path)?);
        let wrong = |error| RunError::config(format!("{}: {error}", path.display()));
        let own = Config::parse(&config).map_err(wrong)?.interface.addresses.first().map(Network::address);
        let Some(IpAddr::V4(address)) = own else {
            return Err(RunError::config(format!("{} has no IPv4 `Address`", path.display())));
        };
        let files = GatewayFiles::open(&dir.join(gateway_files::DIRECTORY))?;
        let delegates = files.peer_file(name)?.is_some_and(|peer| peer.delegation.is_some());
        let is_found = files.record_path(name).exists();
        Ok(Self { config, path, address, delegates, is_found })
    }
}

/// Makes the key that the home signs with, certifies it, and lets the member say so.
fn delegate(files: &GatewayFiles, terms: &Terms, member: NewMember<'_>) -> Result<Delegation, RunError> {
    let mut rng = guestright_clock::rng();
    let key = SecretKey::generate(member.team.public().suite(), &mut rng);
    let (not_before, not_after) = (member.certificate.not_before(), member.certificate.not_after());
    let certificate = Certificate::issue(member.team, key.public(), Role::Member, not_before, not_after);
    let access_points = match terms.only_at.as_slice() {
        [] => AccessPoints::Any,
        teams => AccessPoints::Of(teams.iter().copied().collect()),
    };
    let bytes_per_day = Bytes(terms.bytes_per_day);
    let terms = DelegationTerms { bytes_per_day, not_before, not_after, access_points };
    let delegation = delegate_again(member.key, key.public(), terms, not_before)?;
    let (key_path, certificate_path) = files.delegate_paths(member.name);
    guestright_keys::write_secret(&key_path, &key, None, &mut rng).map_err(RunError::config)?;
    guestright_keys::write_certificate(&certificate_path, &certificate).map_err(RunError::config)?;
    Ok(delegation)
}

/// A member's word, for ten years. It ends earlier with the delegate's certificate, if that is not renewed; and the team can
/// end it at any time.
///
/// # Errors
/// The terms cannot be.
pub(crate) fn delegate_again(
    member: &SecretKey,
    delegate: &PublicKey,
    terms: DelegationTerms,
    not_before: UnixSeconds,
) -> Result<Delegation, RunError> {
    let terms = DelegationTerms { not_before, not_after: not_before.plus(LIFE_MAX), ..terms };
    Delegation::issue(member, delegate, terms).map_err(RunError::user)
}

/// How a certificate is written in a member's file at the gateway.
pub(crate) fn digest_of(certificate: &Certificate) -> String {
    data_encoding::HEXLOWER.encode(certificate.digest())
}

/// Whether somebody has a way home: its configuration is here, and its file at the gateway.
pub fn has_tunnel(dir: &Path, name: &str) -> Result<bool, RunError> {
    let peer = gateway(dir)?.map(|files| files.peer_file(name)).transpose()?.flatten();
    Ok(config_path(dir, name).exists() && peer.is_some())
}

/// What a stock app is told: everything goes home, IPv6 too, so that nothing goes past the tunnel.
fn configuration(
    files: &GatewayFiles,
    private_key: PrivateKey,
    preshared_key: PresharedKey,
    address: Ipv4Addr,
) -> Result<Config, RunError> {
    let mut interface = Interface::new(private_key);
    interface.addresses.push(Network::host(address.into()));
    interface.dns = files.dns();
    interface.mtu = Some(files.file.mtu);
    let mut peer = Peer::new(files.private_key()?.public());
    peer.preshared_key = Some(preshared_key);
    let everything = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
    peer.allowed_ips.extend(everything.into_iter().filter_map(|address| Network::new(address, 0)));
    peer.endpoint = Some(files.endpoint.clone());
    peer.persistent_keepalive = (files.file.keepalive_seconds != 0).then_some(files.file.keepalive_seconds);
    let mut config = Config::new(interface);
    config.peers.push(peer);
    Ok(config)
}

/// Renews what the home has of a member. Says whether there is anything.
///
/// # Errors
/// Something of it cannot be read or written.
pub(crate) fn renew_at_gateway(
    dir: &Path,
    files: &GatewayFiles,
    name: &str,
    team: &SecretKey,
    key: Option<&SecretKey>,
    certificate: &Certificate,
) -> Result<bool, RunError> {
    let _lock = files.lock()?;
    let Some(mut peer) = files.peer_file(name)? else { return Ok(false) };
    peer.certificate = digest_of(certificate);
    let (_, delegate_path) = files.delegate_paths(name);
    if peer.delegation.is_some() && delegate_path.exists() {
        let delegate = guestright_keys::read_certificate(&delegate_path).map_err(RunError::config)?;
        let (from, to) = (certificate.not_before(), certificate.not_after());
        let renewed = Certificate::issue(team, delegate.subject(), Role::Member, from, to);
        guestright_keys::write_certificate(&delegate_path, &renewed).map_err(RunError::config)?;
        if let Some(key) = key {
            let terms = peer.delegation()?.map(|delegation| delegation.terms().clone());
            if let Some(terms) = terms {
                peer.set_delegation(&delegate_again(key, delegate.subject(), terms, from)?);
            }
        }
    }
    files.write_peer(name, &peer)?;
    if let (Some(key), Some(home)) = (key, home_record::home(dir)?)
        && files.record_path(name).exists()
    {
        home_record::write(files, &home, &home_record::addresses(files, name)?, name, key, certificate)?;
    }
    Ok(true)
}

/// What a member had at the gateway: all of it goes. Says whether there was anything.
///
/// # Errors
/// Something of it cannot be removed.
pub(crate) fn forget_at_gateway(dir: &Path, name: &str) -> Result<bool, RunError> {
    let Some(files) = gateway(dir)? else { return Ok(false) };
    let _lock = files.lock()?;
    let (key, certificate) = files.delegate_paths(name);
    let peer = files.path().join(format!("{name}.toml"));
    let ike = ike_files::path(&files, name);
    let had = peer.exists() || ike.exists();
    for path in [peer, key, certificate, files.record_path(name), ike] {
        remove(&path)?;
    }
    Ok(had)
}

/// Lets a member in no more. Says whether it had a place.
pub(crate) fn revoke(dir: &Path, name: &str, since: &str) -> Result<bool, RunError> {
    let Some(files) = gateway(dir)? else { return Ok(false) };
    let _lock = files.lock()?;
    let Some(mut peer) = files.peer_file(name)? else { return Ok(false) };
    peer.revoked.get_or_insert_with(|| since.to_owned());
    files.write_peer(name, &peer)?;
    files.hand_over()?;
    Ok(true)
}

/// The addresses of members with a place, by name. Without a gateway there are none.
pub(crate) fn addresses(dir: &Path) -> Result<BTreeMap<String, Ipv4Addr>, RunError> {
    let Some(files) = gateway(dir)? else { return Ok(BTreeMap::new()) };
    let mut found = BTreeMap::new();
    for name in files.names()? {
        if let Some(peer) = files.peer_file(&name)? {
            found.insert(name, peer.address);
        }
    }
    Ok(found)
}

/// Where a member's configuration is.
pub(crate) fn config_path(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.conf"))
}
