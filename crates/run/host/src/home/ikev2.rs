//! Members that come home by IKEv2 or L2TP: a strongSwan of our own beside WireGuard (`io/strongswan`).
//!
//! Its members have addresses of the gateway's network, so the gateway's firewall serves them too.

use super::gateway::{self, Gateway, OtherWays};
use crate::gateway_files::{GatewayFiles, read_secret};
use crate::ike_files;
use guestright_error::{OrFail as _, RunError};
use guestright_identity::RevocationList;
use guestright_strongswan::{
    Certificate, DataPlane, Gateway as Strongswan, L2tp, Member, Peer, Profile, Secret,
    Settings as Configuration, Status, StrongswanError, kernel_has_esp,
};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::oneshot;
use zeroize::Zeroizing;

/// Clients of IKEv2.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which suites are offered.
    pub profile: Profile,
    /// What encrypts packets; otherwise the kernel if it can, else strongSwan.
    pub data_plane: Option<DataPlane>,
    /// For clients that log in by name and password.
    pub certificate: Option<CertificateFiles>,
    /// A file with the secret that all share who come by IKEv1, on its first line.
    pub team_secret: Option<PathBuf>,
    #[cfg(not(feature = "ikev2"))]
    pub absent: crate::absent::Absent,
}

/// The gateway's X.509 certificate, with its issuers' after it, and its key.
#[derive(Clone, Debug)]
pub struct CertificateFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Clients of L2TP in IPsec.
#[derive(Clone, Debug, Default)]
pub struct L2tpSettings {
    /// The address that clients call; otherwise the first of the uplink.
    pub listen: Option<Ipv4Addr>,
}

/// The way in through strongSwan. charon ends when it is dropped.
#[derive(Clone, Debug)]
pub(super) struct Ikev2 {
    strongswan: Arc<Strongswan>,
    #[cfg(not(feature = "ikev2"))]
    _absent: crate::absent::Absent,
}

/// What the gateway's firewall has to know of it.
pub(super) fn other_ways(settings: &gateway::Settings) -> OtherWays {
    let Some(ikev2) = &settings.ikev2 else { return OtherWays::default() };
    let devices = match (data_plane(ikev2.data_plane), &settings.l2tp) {
        // kernel-libipsec's TUN device, and pppd's.
        (DataPlane::Kernel, Some(_)) => vec!["ppp*".to_owned()],
        (DataPlane::Kernel, None) => Vec::new(),
        (DataPlane::Userspace | DataPlane::Probe, _) => vec!["ipsec*".to_owned()],
    };
    OtherWays {
        kernel_ipsec: devices.iter().all(|device| device != "ipsec*"),
        devices,
        home_port: None,
        page_port: None,
        voice: None,
    }
}

impl Ikev2 {
    /// Starts it if it is wanted. The gateway is there already, and with it the address that charon answers from.
    pub(super) fn start(
        settings: &gateway::Settings,
        state: &Path,
        gateway: &Gateway,
        revoked: Option<&RevocationList>,
    ) -> Result<Option<Self>, RunError> {
        let Some(ikev2) = &settings.ikev2 else {
            let alone = || RunError::config("[gateway.l2tp] needs [gateway.ikev2] with a team_secret");
            return if settings.l2tp.is_some() { Err(alone()) } else { Ok(None) };
        };
        let files = gateway.files();
        // A program that has another directory for its own needs the whole path.
        let state = std::path::absolute(state).or_config(|| format!("find {}", state.display()))?;
        let configuration = Configuration {
            directory: state.join("strongswan"),
            identity: ike_files::identity(files),
            members: members(files, revoked)?,
            resolvers: files.dns(),
            profile: ikev2.profile,
            data_plane: data_plane(ikev2.data_plane),
            certificate: ikev2.certificate.as_ref().map(certificate).transpose()?,
            team_secret: ikev2.team_secret.as_deref().map(first_line).transpose()?,
            l2tp: l2tp(settings, gateway)?,
        };
        let strongswan = Strongswan::start(configuration).map_err(RunError::network)?;
        Ok(Some(Self {
            strongswan: Arc::new(strongswan),
            #[cfg(not(feature = "ikev2"))]
            _absent: ikev2.absent,
        }))
    }

    /// Reads the members' files again. What comes of it is logged: charon may be being started at the moment.
    pub(super) fn reload(
        &self,
        files: &GatewayFiles,
        revoked: Option<&RevocationList>,
    ) -> Result<usize, RunError> {
        let members = members(files, revoked)?;
        let (count, strongswan) = (members.len(), Arc::clone(&self.strongswan));
        let changed = std::thread::Builder::new().name("ikev2-members".to_owned()).spawn(move || {
            if let Err(error) = strongswan.set_members(members) {
                tracing::error!(%error, "IKEv2 members could not be changed");
            }
        });
        changed.map(|_| count).map_err(RunError::network)
    }

    /// Who is there. It may take seconds while charon is started again.
    pub(super) fn peers(&self) -> Result<Status, StrongswanError> {
        self.strongswan.status()
    }

    fn status(&self) -> Value {
        match self.strongswan.status() {
            Ok(status) => json!({
                "data_plane": status.data_plane.to_string(),
                "charon": status.charon,
                "l2tp": status.l2tp,
                "restarts": status.restarts,
                "peers": status.peers.iter().map(peer).collect::<Vec<_>>(),
            }),
            Err(error) => json!({ "error": error.to_string() }),
        }
    }
}

/// Adds what strongSwan says to an answer and gives it. It may take a while, so a thread of its own waits.
pub(super) fn answer(mut status: Value, ikev2: Option<Ikev2>, reply: oneshot::Sender<Value>) {
    let Some(ikev2) = ikev2 else { return drop(reply.send(status)) };
    let asked = std::thread::Builder::new().name("ikev2-status".to_owned()).spawn(move || {
        status["ikev2"] = ikev2.status();
        // Whoever asked may have gone.
        let _ = reply.send(status);
    });
    if let Err(error) = asked {
        tracing::warn!(%error, "strongSwan could not be asked for its status");
    }
}

fn peer(peer: &Peer) -> Value {
    json!({
        "name": peer.name,
        "from": peer.from.map(|from| std::net::SocketAddr::new(from, peer.port).to_string()),
        "address": peer.addresses.first(),
        "version": peer.version,
        "suite": peer.suite,
        "seconds": peer.seconds,
        "received": peer.received_bytes,
        "sent": peer.sent_bytes,
    })
}

/// What was wanted, or the kernel if it can and else strongSwan.
fn data_plane(wanted: Option<DataPlane>) -> DataPlane {
    wanted.unwrap_or_else(|| if kernel_has_esp() { DataPlane::Kernel } else { DataPlane::Userspace })
}

/// Who is let in.
fn members(files: &GatewayFiles, revoked: Option<&RevocationList>) -> Result<Vec<Member>, RunError> {
    let mut taken: Vec<_> =
        files.members()?.into_iter().map(|member| (member.address, member.name)).collect();
    let mut members = Vec::new();
    for (name, file) in ike_files::read_all(files)? {
        let path = ike_files::path(files, &name);
        let wrong = |what: String| RunError::config(format!("{}: {what}", path.display()));
        let (first, prefix) = files.network;
        let inside = (file.address.to_bits() ^ first.to_bits()) >> (32 - u32::from(prefix)) == 0;
        if !inside || file.address == files.address() {
            return Err(wrong(format!("`address` is to be a member's in {}", files.file.network)));
        }
        if let Some((_, other)) = taken.iter().find(|(address, _)| *address == file.address) {
            return Err(wrong(format!("`address` is that of {other}")));
        }
        let is_listed =
            revoked.is_some_and(|list| list.revoked().keys().any(|key| key.to_string() == file.key_id));
        if file.revoked.is_some() || is_listed {
            continue;
        }
        let secret = Secret::new(&file.secret).map_err(|error| wrong(error.to_string()))?;
        // Whoever had another's address would call and be called in that one's name.
        taken.push((file.address, name.clone()));
        members.push(Member { name, address: file.address, secret });
    }
    Ok(members)
}

fn certificate(files: &CertificateFiles) -> Result<Certificate, RunError> {
    let certificate = std::fs::read(&files.certificate);
    let certificate = certificate.or_config(|| format!("read {}", files.certificate.display()))?;
    let key = read_secret(&files.key)?;
    Ok(Certificate { certificate, key: Zeroizing::new(key.into_bytes()) })
}

fn first_line(path: &Path) -> Result<Secret, RunError> {
    let text = Zeroizing::new(read_secret(path)?);
    let secret = Secret::new(text.lines().next().unwrap_or_default());
    secret.or_config(|| format!("read {}", path.display()))
}

fn l2tp(settings: &gateway::Settings, gateway: &Gateway) -> Result<Option<L2tp>, RunError> {
    let Some(l2tp) = &settings.l2tp else { return Ok(None) };
    let uplink = &settings.uplink_interface;
    let found = guestright_firewall::interface_address(uplink).map_err(RunError::network)?;
    let listen = l2tp.listen.or(found.map(|(address, _)| address)).ok_or_else(|| {
        RunError::config(format!("{uplink} has no IPv4 address")).with_hint("set `listen` in [gateway.l2tp]")
    })?;
    let (_, gateway) = gateway.network();
    Ok(Some(L2tp { listen, gateway }))
}
