//! What a person's computer can be: a guest, and a telephone.

use super::super::computer::sound;
use super::super::page::Page;
use super::{Certified, CertifiedKey, Look, PATIENCE, certificate_of, clock, tunnels};
use guestright_cli::failure::Failure;
use guestright_cli::files::MemberArgs;
use guestright_host::PROTOCOL_PORT;
use guestright_host::examine::Finding;
use guestright_tunnel::wireguard::Config;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

impl<'a> CertifiedKey<'a> {
    fn of(member: &'a MemberArgs) -> Self {
        Self { key: member.key(), certificate: member.certificate(), state: None }
    }
}

pub(in crate::commands::doctor) fn guest(
    member: &MemberArgs,
    page: &mut Page<'_, '_>,
) -> Result<(), Failure> {
    page.add(Finding::of("clock", true, clock()))?;
    certificate_of(CertifiedKey::of(member), Certified::Member, page)?;
    page.add(Finding::of("way home", false, way_home(member.key())))?;
    tunnels(page)?;
    let route = guestright_portmap::default_route();
    let to_do = "join the network first, or name the access point to `guestright visit`".to_owned();
    let look = route.as_ref().map(|route| format!("{} on {}", route.gateway, route.interface));
    page.add(Finding::of("network", true, look.map_err(|error| (error.to_string(), to_do))))?;
    if let Ok(route) = route {
        page.trying("the access point of this network")?;
        let address = SocketAddr::from((route.gateway, PROTOCOL_PORT));
        let look = TcpStream::connect_timeout(&address, PATIENCE).map(|_| format!("{address} answers"));
        let to_do = "this network has no access point of guestright, or it is busy".to_owned();
        let look = look.map_err(|error| (format!("{address} does not answer: {error}"), to_do));
        page.add(Finding::of("access point here", false, look))?;
    }
    Ok(())
}

pub(in crate::commands::doctor) fn telephone(
    member: &MemberArgs,
    page: &mut Page<'_, '_>,
) -> Result<(), Failure> {
    page.add(Finding::of("clock", true, clock()))?;
    certificate_of(CertifiedKey::of(member), Certified::Member, page)?;
    page.add(Finding::of("way home", true, way_home(member.key())))?;
    sound(page)
}

/// The configuration beside the key.
fn way_home(key: &Path) -> Look {
    let path = key.with_extension("conf");
    let to_do = || "`guestright team member add NAME --qr` makes it, if the team has a gateway".to_owned();
    let read = guestright_keys::read_to_limit(&path, Config::LEN_MAX).map_err(|error| error.to_string());
    let text = read.and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is no text".to_owned()));
    let config = text.and_then(|text| Config::parse(&text).map_err(|error| error.to_string()));
    let config = config.map_err(|error| (format!("{}: {error}", path.display()), to_do()))?;
    let endpoint = config.peers.first().and_then(|peer| peer.endpoint.as_ref());
    let none = || (format!("{} names no home", path.display()), to_do());
    endpoint.map(|endpoint| format!("{}, to {endpoint}", path.display())).ok_or_else(none)
}
