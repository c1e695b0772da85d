//! Members that come home by IKEv2 or L2TP: a strongSwan of our own beside WireGuard (`io/strongswan`).
//!
//! Its members have addresses of the gateway's network, so the gateway's firewall serves them too.

use super::gateway::{Gateway, OtherWays};
use crate::gateway_files::{GatewayFiles, read_secret};
use crate::ike_files;
use crate::settings::{self, GatewaySettings, IkeDataPlane, IkeProfile, Ikev2Settings};
use anyhow::{Context, anyhow};
use guestright_cli::failure::Failure;
use guestright_identity::RevocationList;
use guestright_strongswan::{
    Certificate, DataPlane, Gateway as Strongswan, L2tp, Member, Peer, Profile, Secret, Settings,
    kernel_has_esp,
};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::oneshot;
use zeroize::Zeroizing;

/// The way in through strongSwan. charon ends when it is dropped.
#[derive(Clone, Debug)]
pub(super) struct Ikev2 {
    strongswan: Arc<Strongswan>,
}

/// What the gateway's firewall has to know of it.
pub(super) fn other_ways(settings: &GatewaySettings) -> OtherWays {
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
        voice: None,
    }
}

impl Ikev2 {
    /// Starts it if it is wanted. The gateway is there already, and with it the address that charon answers from.
    pub(super) fn start(
        settings: &GatewaySettings,
        path: &Path,
        state: &Path,
        gateway: &Gateway,
        revoked: Option<&RevocationList>,
    ) -> Result<Option<Self>, Failure> {
        let Some(ikev2) = &settings.ikev2 else {
            let alone =
                || Failure::config(anyhow!("[gateway.l2tp] needs [gateway.ikev2] with a team_secret"));
            return if settings.l2tp.is_some() { Err(alone()) } else { Ok(None) };
        };
        let files = gateway.files();
        // A program that has another directory for its own needs the whole path.
        let state = std::path::absolute(state)?;
        let configuration = Settings {
            directory: state.join("strongswan"),
            identity: ike_files::identity(files),
            members: members(files, revoked)?,
            resolvers: files.dns(),
            profile: match ikev2.profile {
                IkeProfile::Modern => Profile::Modern,
                IkeProfile::LegacyPaper => Profile::LegacyPaper,
            },
            data_plane: data_plane(ikev2.data_plane),
            certificate: certificate(ikev2, path)?,
            team_secret: ikev2
                .team_secret
                .as_deref()
                .map(|file| first_line(&settings::beside(path, file)))
                .transpose()?,
            l2tp: l2tp(settings, gateway)?,
        };
        let strongswan = Strongswan::start(configuration).map_err(Failure::network)?;
        Ok(Some(Self { strongswan: Arc::new(strongswan) }))
    }

    /// Reads the members' files again. What comes of it is logged: charon may be being started at the moment.
    pub(super) fn reload(
        &self,
        files: &GatewayFiles,
        revoked: Option<&RevocationList>,
    ) -> Result<usize, Failure> {
        let members = members(files, revoked)?;
        let (count, strongswan) = (members.len(), Arc::clone(&self.strongswan));
        std::thread::spawn(move || {
            if let Err(error) = strongswan.set_members(members) {
                tracing::error!(%error, "IKEv2 members could not be changed");
            }
        });
        Ok(count)
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
    std::thread::spawn(move || {
        status["ikev2"] = ikev2.status();
        // Whoever asked may have gone.
        let _ = reply.send(status);
    });
}

/// Prints what `status` says of it.
pub(super) fn print(ikev2: &Value, out: &mut impl Write) -> std::io::Result<()> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    if let Some(error) = ikev2["error"].as_str() {
        return writeln!(out, "IKEv2        {error}");
    }
    let l2tp = if ikev2["l2tp"] == true { " and L2TP" } else { "" };
    let state = if ikev2["charon"].is_null() { ", being started again" } else { "" };
    let (plane, restarts) = (text(&ikev2["data_plane"]), &ikev2["restarts"]);
    writeln!(out, "IKEv2{l2tp}        packets by {plane}, {restarts} restarts{state}")?;
    for peer in ikev2["peers"].as_array().into_iter().flatten() {
        let (name, address, from) = (text(&peer["name"]), text(&peer["address"]), text(&peer["from"]));
        let (suite, seconds) = (text(&peer["suite"]), &peer["seconds"]);
        writeln!(out, "{name:<20} {address:<15} {from:<22} {suite}, for {seconds} s")?;
    }
    Ok(())
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

fn data_plane(setting: IkeDataPlane) -> DataPlane {
    match setting {
        IkeDataPlane::Auto if kernel_has_esp() => DataPlane::Kernel,
        IkeDataPlane::Kernel => DataPlane::Kernel,
        IkeDataPlane::Auto | IkeDataPlane::Userspace => DataPlane::Userspace,
    }
}

/// Who is let in.
fn members(files: &GatewayFiles, revoked: Option<&RevocationList>) -> Result<Vec<Member>, Failure> {
    let taken: Vec<_> = files.members()?.into_iter().map(|member| (member.address, member.name)).collect();
    let mut members = Vec::new();
    for (name, file) in ike_files::read_all(files)? {
        let path = ike_files::path(files, &name);
        let wrong = |what: String| Failure::config(anyhow!("{}: {what}", path.display()));
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
        members.push(Member { name, address: file.address, secret });
    }
    Ok(members)
}

fn certificate(ikev2: &Ikev2Settings, path: &Path) -> Result<Option<Certificate>, Failure> {
    let (Some(certificate), Some(key)) = (&ikev2.certificate, &ikev2.certificate_key) else {
        let half = ikev2.certificate.is_some() || ikev2.certificate_key.is_some();
        let both = || {
            Failure::config(anyhow!("[gateway.ikev2] needs both certificate and certificate_key, or neither"))
        };
        return if half { Err(both()) } else { Ok(None) };
    };
    let certificate = settings::beside(path, certificate);
    let read = std::fs::read(&certificate).with_context(|| format!("read {}", certificate.display()));
    let key = read_secret(&settings::beside(path, key))?;
    Ok(Some(Certificate {
        certificate: read.map_err(Failure::config)?,
        key: Zeroizing::new(key.into_bytes()),
    }))
}

fn first_line(path: &Path) -> Result<Secret, Failure> {
    let text = Zeroizing::new(read_secret(path)?);
    let secret = Secret::new(text.lines().next().unwrap_or_default());
    secret.with_context(|| format!("read {}", path.display())).map_err(Failure::config)
}

fn l2tp(settings: &GatewaySettings, gateway: &Gateway) -> Result<Option<L2tp>, Failure> {
    let Some(l2tp) = &settings.l2tp else { return Ok(None) };
    let uplink = &settings.uplink_interface;
    let found = guestright_firewall::interface_address(uplink).map_err(Failure::network)?;
    let listen = l2tp.listen.or(found.map(|(address, _)| address)).ok_or_else(|| {
        Failure::config(anyhow!("{uplink} has no IPv4 address")).hint("set `listen` in [gateway.l2tp]")
    })?;
    let (_, gateway) = gateway.network();
    Ok(Some(L2tp { listen, gateway }))
}
