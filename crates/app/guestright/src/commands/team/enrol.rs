//! A member's way home: its WireGuard configuration, its place at the gateway, and its word to its home.

use super::record;
use crate::gateway_files::{self, GatewayFiles, PeerFile, create_private, key_name};
use crate::qr::Code;
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_identity::{
    AccessPoints, Certificate, Delegation, DelegationTerms, PublicKey, Role, SecretKey,
};
use guestright_tunnel::wireguard::{Config, Interface, Network, Peer, PresharedKey, PrivateKey};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::IsTerminal;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// How long a member's word to its home holds: ten years, in seconds.
const DELEGATION_LIFE: u64 = 3_650 * 86_400;

/// The tunnel of a new member.
#[derive(Debug, clap::Args)]
pub(super) struct TunnelArgs {
    /// Give it a way home too: print a WireGuard configuration and its QR code for stock apps, write NAME.conf
    #[arg(long)]
    qr: bool,
    #[command(flatten)]
    images: Images,
    /// For how many bytes a day its home may sign in its place, where it has nothing but the tunnel
    #[arg(long, value_name = "BYTES", default_value_t = 1_000_000_000, requires = "qr")]
    bytes_per_day: u64,
    /// The teams at whose access points the home may sign; otherwise at all. To be given for each team
    #[arg(long, value_name = "TEAM", requires = "qr")]
    only_at: Vec<TeamId>,
    /// Its home may not sign in its place
    #[arg(long, requires = "qr", conflicts_with = "only_at")]
    no_delegation: bool,
}

/// Files to draw the QR code into.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Images {
    /// Draw the QR code into a new SVG file as well
    #[arg(long, value_name = "FILE")]
    qr_svg: Option<PathBuf>,
    /// Draw the QR code into a new PNG file as well
    #[arg(long, value_name = "FILE")]
    qr_png: Option<PathBuf>,
}

/// Show a member's WireGuard configuration and its QR code again
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright team member show alice --dir family --qr-png alice.png")]
pub(super) struct Show {
    /// The name under which it was added
    #[arg(value_parser = super::name::normal)]
    name: String,
    /// The team's directory
    #[arg(long, default_value = "team")]
    dir: PathBuf,
    #[command(flatten)]
    images: Images,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A place at the gateway that a new member will have. Nobody else takes it while this exists.
#[derive(Debug)]
pub(super) struct Reservation {
    files: GatewayFiles,
    address: Ipv4Addr,
    _lock: fs::File,
}

/// What a member was given. Not `Debug`: it holds the member's secret.
pub(super) struct Tunnel {
    pub(super) config: Zeroizing<String>,
    pub(super) path: PathBuf,
    pub(super) address: Ipv4Addr,
    pub(super) delegates: bool,
    /// Whether others can find its home, and so call it.
    pub(super) is_found: bool,
}

/// A new member that gets a tunnel.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewMember<'a> {
    pub(super) dir: &'a Path,
    pub(super) name: &'a str,
    pub(super) team: &'a SecretKey,
    pub(super) key: &'a SecretKey,
    pub(super) certificate: &'a Certificate,
}

impl TunnelArgs {
    /// Whether a way home was asked for.
    pub(super) fn is_wanted(&self) -> bool {
        self.qr
    }

    /// A phone has one.
    pub(super) fn want(&mut self) {
        self.qr = true;
    }

    /// For a device that takes the place of another one: with a tunnel if that has one, on the same terms.
    pub(super) fn again(dir: &Path, name: &str, images: Images) -> Result<Self, Failure> {
        let none = Self { qr: false, images, bytes_per_day: 0, only_at: Vec::new(), no_delegation: false };
        let peer = super::gateway(dir)?.map(|files| files.peer_file(name)).transpose()?.flatten();
        let Some(peer) = peer else { return Ok(none) };
        none.images.check()?;
        let terms = peer.delegation()?.map(|delegation| delegation.terms().clone());
        let only_at = match terms.as_ref().map(|terms| &terms.access_points) {
            Some(AccessPoints::Of(teams)) => teams.iter().copied().collect(),
            Some(AccessPoints::Any) | None => Vec::new(),
        };
        let bytes_per_day = terms.as_ref().map_or(0, |terms| terms.bytes_per_day.0);
        Ok(Self { qr: true, only_at, bytes_per_day, no_delegation: terms.is_none(), ..none })
    }

    /// What else than a tunnel was asked for.
    pub(super) fn into_images(self) -> Images {
        self.images
    }

    /// Finds a place for `name`, if it gets a tunnel; before anything is written.
    pub(super) fn reserve(&self, dir: &Path, name: &str, role: Role) -> Result<Option<Reservation>, Failure> {
        if !self.qr {
            let image = self.images.qr_svg.is_some() || self.images.qr_png.is_some();
            let wrong =
                || Failure::user(anyhow!("--qr-svg and --qr-png draw what --qr makes")).hint("add --qr");
            return if image { Err(wrong()) } else { Ok(None) };
        }
        if role != Role::Member {
            return Err(Failure::user(anyhow!("only a member roams; {name} is to be a {role}"))
                .hint("leave out --qr"));
        }
        let files = GatewayFiles::open(&dir.join(gateway_files::DIRECTORY))?;
        let lock = files.lock()?;
        let config = config_path(dir, name);
        if config.exists() || files.peer_file(name)?.is_some() {
            let config = config.display();
            return Err(Failure::config(anyhow!(
                "{name} has a tunnel already: {config}, or its file in gateway/"
            ))
            .hint("every name is given once; choose another"));
        }
        self.images.check()?;
        let address = files.free_address()?;
        Ok(Some(Reservation { files, address, _lock: lock }))
    }

    /// Writes the member's configuration, and its file at the gateway.
    pub(super) fn enrol(&self, reservation: Reservation, member: NewMember<'_>) -> Result<Tunnel, Failure> {
        let Reservation { files, address, _lock: lock } = reservation;
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
        if !self.no_delegation {
            peer.set_delegation(&self.delegate(&files, member)?);
        }
        let config = configuration(&files, private_key, preshared_key, address)?.emit();
        let path = config_path(member.dir, member.name);
        create_private(&path, config.as_bytes())?;
        files.create_peer(member.name, &peer)?;
        let home = record::home(member.dir)?;
        if let Some(home) = &home {
            record::write(&files, home, &[], member.name, member.key, member.certificate)?;
        }
        files.hand_over()?;
        drop(lock);
        Ok(Tunnel { config, path, address, delegates: !self.no_delegation, is_found: home.is_some() })
    }

    /// Makes the key that the home signs with, certifies it, and lets the member say so.
    fn delegate(&self, files: &GatewayFiles, member: NewMember<'_>) -> Result<Delegation, Failure> {
        let mut rng = guestright_clock::rng();
        let key = SecretKey::generate(member.team.public().suite(), &mut rng);
        let (not_before, not_after) = (member.certificate.not_before(), member.certificate.not_after());
        let certificate = Certificate::issue(member.team, key.public(), Role::Member, not_before, not_after);
        let access_points = match self.only_at.as_slice() {
            [] => AccessPoints::Any,
            teams => AccessPoints::Of(teams.iter().copied().collect()),
        };
        let bytes_per_day = Bytes(self.bytes_per_day);
        let terms = DelegationTerms { bytes_per_day, not_before, not_after, access_points };
        let delegation = delegate_again(member.key, key.public(), terms, not_before)?;
        let (key_path, certificate_path) = files.delegate_paths(member.name);
        guestright_keys::write_secret(&key_path, &key, None, &mut rng).map_err(Failure::config)?;
        guestright_keys::write_certificate(&certificate_path, &certificate).map_err(Failure::config)?;
        Ok(delegation)
    }

    /// Where the QR code was asked for.
    pub(super) fn images(&self) -> &Images {
        &self.images
    }
}

/// A member's word, for as long as a delegate's certificate may be renewed: that ends it, and the team can at any time.
pub(super) fn delegate_again(
    member: &SecretKey,
    delegate: &PublicKey,
    terms: DelegationTerms,
    not_before: UnixSeconds,
) -> Result<Delegation, Failure> {
    let terms = DelegationTerms { not_before, not_after: not_before.plus(DELEGATION_LIFE), ..terms };
    Delegation::issue(member, delegate, terms).map_err(Failure::user)
}

/// How a certificate is written in a member's file at the gateway.
pub(super) fn digest_of(certificate: &Certificate) -> String {
    certificate.digest().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether somebody has a way home: its configuration is here, and its file at the gateway.
pub(super) fn has_tunnel(dir: &Path, name: &str) -> Result<bool, Failure> {
    let peer = super::gateway(dir)?.map(|files| files.peer_file(name)).transpose()?.flatten();
    Ok(config_path(dir, name).exists() && peer.is_some())
}

/// What a stock app is told: everything goes home, IPv6 too, so that nothing goes past the tunnel.
fn configuration(
    files: &GatewayFiles,
    private_key: PrivateKey,
    preshared_key: PresharedKey,
    address: Ipv4Addr,
) -> Result<Config, Failure> {
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

impl Images {
    /// Refuses files that are there.
    fn check(&self) -> Result<(), Failure> {
        let taken = [&self.qr_svg, &self.qr_png].into_iter().flatten().find(|path| path.exists());
        let refuse = |path: &PathBuf| Failure::config(anyhow!("{} exists already", path.display()));
        taken.map_or(Ok(()), |path| Err(refuse(path).hint("name another file")))
    }

    /// Draws the files that were asked for; only their owner can read them.
    fn draw(&self, code: &Code) -> Outcome {
        if let Some(path) = &self.qr_svg {
            create_private(path, code.svg().as_bytes())?;
        }
        if let Some(path) = &self.qr_png {
            create_private(path, &code.png())?;
        }
        Ok(())
    }
}

impl Tunnel {
    /// What JSON output says of it.
    pub(super) fn json(&self) -> Value {
        json!({ "address": self.address, "path": self.path, "configuration": self.config.as_str(),
            "delegation": self.delegates, "record": self.is_found })
    }

    /// Prints configuration and code.
    pub(super) fn print(&self, out: &mut Output) -> Outcome {
        writeln!(out, "\n{}", self.config.as_str())?;
        code(&self.config)?.print(std::io::stdout().is_terminal(), out)?;
        let path = self.path.display();
        writeln!(
            out,
            "scan this with the WireGuard app, or give it {path}: whoever has it comes home as this member"
        )?;
        if self.delegates {
            writeln!(out, "where it has nothing but the app, its home signs for it, within its delegation")?;
        }
        if !self.is_found {
            writeln!(
                out,
                "nobody can call it yet: once the team has a home, `guestright team member record` lets others find it"
            )?;
        }
        Ok(())
    }

    /// Draws the code into files.
    pub(super) fn draw(&self, images: &Images) -> Outcome {
        images.draw(&code(&self.config)?)
    }
}

fn code(config: &str) -> Result<Code, Failure> {
    Code::new(config).map_err(Failure::config)
}

impl Show {
    pub(super) fn of(name: &str, dir: &Path, images: Images, json: bool) -> Self {
        Self { name: name.to_owned(), dir: dir.to_path_buf(), images, json }
    }

    pub(super) fn run(self, out: &mut Output) -> Outcome {
        let path = config_path(&self.dir, &self.name);
        if !path.exists() {
            return Err(Failure::config(anyhow!("{} is not there", path.display()))
                .hint("a member gets a tunnel with `guestright team member add NAME --qr`"));
        }
        self.images.check()?;
        let config = Zeroizing::new(gateway_files::read_secret(&path)?);
        let read = Config::parse(&config)
            .map_err(|error| Failure::config(anyhow!("{}: {error}", path.display())))?;
        let own = read.interface.addresses.first().map(Network::address);
        let Some(IpAddr::V4(address)) = own else {
            return Err(Failure::config(anyhow!("{} has no IPv4 `Address`", path.display())));
        };
        let files = GatewayFiles::open(&self.dir.join(gateway_files::DIRECTORY))?;
        let delegates = files.peer_file(&self.name)?.is_some_and(|peer| peer.delegation.is_some());
        let is_found = files.record_path(&self.name).exists();
        let tunnel = Tunnel { config, path, address, delegates, is_found };
        if self.json {
            writeln!(out, "{}", tunnel.json())?;
        } else {
            tunnel.print(out)?;
        }
        tunnel.draw(&self.images)
    }
}

/// Lets a member in no more. Says whether it had a place.
pub(super) fn revoke(dir: &Path, name: &str, since: &str) -> Result<bool, Failure> {
    let Some(files) = super::gateway(dir)? else { return Ok(false) };
    let _lock = files.lock()?;
    let Some(mut peer) = files.peer_file(name)? else { return Ok(false) };
    peer.revoked.get_or_insert_with(|| since.to_owned());
    files.write_peer(name, &peer)?;
    files.hand_over()?;
    Ok(true)
}

/// The addresses of members with a place, by name. Without a gateway there are none.
pub(super) fn addresses(dir: &Path) -> Result<BTreeMap<String, Ipv4Addr>, Failure> {
    let Some(files) = super::gateway(dir)? else { return Ok(BTreeMap::new()) };
    let mut found = BTreeMap::new();
    for name in files.names()? {
        if let Some(peer) = files.peer_file(&name)? {
            found.insert(name, peer.address);
        }
    }
    Ok(found)
}

fn config_path(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.conf"))
}
