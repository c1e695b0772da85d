//! What each role needs: its files, its rights, its ports, what other programs have to do for it.

#[cfg(feature = "computer")]
pub(super) mod computer;
#[cfg(feature = "hostapd")]
mod phones;

use super::page::Page;
use super::{access_point_tools, iproute, nftables};
use crate::control;
use crate::gateway_files::GatewayFiles;
use crate::settings::{self, ApSettings, HomeSettings, beside};
use guestright_channel::Credentials;
use guestright_cli::failure::Failure;
use guestright_cli::files::PassphraseArgs;
use guestright_host::examine::{
    self, Finding, Look, PATIENCE, Port, blocked_devices, clock, dhcp, dns, fault, ports_are_free, rights,
    uplink,
};
use guestright_host::{HOME_PORT, HomeAddress, access_point, home, renewal};
use guestright_identity::Role as Certified;
#[cfg(feature = "ikev2")]
use guestright_strongswan::Installation;
use serde::de::DeserializeOwned;
use std::net::TcpStream;
use std::path::{Path, PathBuf};

/// What a computer can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Role {
    /// An access point: `guestright ap`
    Ap,
    /// A team's home: `guestright home`
    Home,
    /// A guest: `guestright visit`
    #[cfg(feature = "computer")]
    Visit,
    /// A telephone: `guestright call`
    #[cfg(feature = "computer")]
    Call,
}

impl Role {
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Self::Ap => "an access point",
            Self::Home => "a team's home",
            #[cfg(feature = "computer")]
            Self::Visit => "a guest",
            #[cfg(feature = "computer")]
            Self::Call => "a telephone",
        }
    }
}

fn settings_file(given: Option<&Path>, name: &str) -> PathBuf {
    given.map_or_else(|| settings::usual(name), Path::to_owned)
}

/// The settings, as in the file and as a loop is told; nothing if something is wrong with them, which is on the page then.
fn settings_of<S: DeserializeOwned, L>(
    path: &Path,
    for_loop: impl FnOnce(&S, &Path) -> Result<L, Failure>,
    page: &mut Page<'_, '_>,
) -> Result<Option<(S, L)>, Failure> {
    let read = settings::read::<S>(path);
    let read = read.and_then(|settings| Ok((for_loop(&settings, path)?, settings)));
    let look = read.as_ref().map(|_| path.display().to_string()).map_err(in_words);
    page.add(Finding::of("settings", true, look))?;
    Ok(read.ok().map(|(for_loop, settings)| (settings, for_loop)))
}

// An access point.

pub(super) fn access_point(config: Option<&Path>, page: &mut Page<'_, '_>) -> Result<(), Failure> {
    let path = &settings_file(config, "ap.toml");
    page.add(Finding::of("clock", true, clock()))?;
    page.add(Finding::of("rights", true, rights()))?;
    access_point_tools(page)?;
    let Some((settings, for_loop)) = settings_of(path, ApSettings::for_loop, page)? else { return Ok(()) };
    let [key, certificate] = [&settings.key, &settings.certificate].map(|file| beside(path, file));
    let files = CertifiedKey { key: &key, certificate: &certificate, state: Some(&for_loop.state) };
    certificate_of(files, Certified::AccessPoint, page)?;
    page.add(blocked_devices(access_point::blocked_devices(&for_loop.state)))?;
    let runs = control::ask(&access_point::socket(&for_loop.state), "status");
    let runs = matches!(runs, Ok(Some(_)));
    let rules = for_loop.rules().map_err(|error| fault(&error));
    let address = rules.as_ref().ok().map(|rules| rules.access_point);
    let checked =
        rules.map(|rules| format!("guests on {} at {}", rules.visitor_interface, rules.access_point));
    page.add(Finding::of("interfaces", true, checked))?;
    if let Some(address) = address {
        let ports = [Port::tcp(address.into(), settings.port), Port::udp(address.into(), settings.port)];
        page.add(Finding::of("ports", true, ports_are_free(&ports, runs)))?;
        page.add(Finding::of("DHCP for guests", true, dhcp(&for_loop.visitor_interface)))?;
        page.add(Finding::of("DNS for guests", true, dns(address)))?;
    }
    #[cfg(feature = "hostapd")]
    if let Some(settings) = &for_loop.phones {
        phones::examine(settings, runs, page)?;
    }
    page.trying("the team's home")?;
    page.add(Finding::of("the team's home", false, reachable(&settings.home)))
}

// A home.

pub(super) fn team_home(config: Option<&Path>, page: &mut Page<'_, '_>) -> Result<(), Failure> {
    let path = &settings_file(config, "home.toml");
    page.add(Finding::of("clock", true, clock()))?;
    let Some((settings, for_loop)) = settings_of(path, HomeSettings::for_loop, page)? else { return Ok(()) };
    let [key, certificate] = [&settings.key, &settings.certificate].map(|file| beside(path, file));
    let files = CertifiedKey { key: &key, certificate: &certificate, state: Some(&for_loop.state) };
    certificate_of(files, Certified::Home, page)?;
    if let Some(list) = &for_loop.revocations {
        let look = guestright_keys::read_revocations(list);
        let look = look.map(|list| format!("{} keys are revoked", list.revoked().len()));
        let to_do = "copy the list that `guestright team member revoke` writes, or leave `revocations` out"
            .to_owned();
        page.add(Finding::of("revocation list", true, look.map_err(|error| (error.to_string(), to_do))))?;
    }
    page.add(blocked_devices(home::blocked_devices(&for_loop.state)))?;
    let runs = matches!(control::ask(&home::socket(&for_loop.state), "status"), Ok(Some(_)));
    let mut ports = vec![Port { address: for_loop.listen, is_tcp: true }];
    ports.extend(for_loop.links.as_ref().map(|links| Port { address: links.listen, is_tcp: true }));
    if let Some(gateway) = &for_loop.gateway {
        ports.push(Port { address: for_loop.protocol_listen, is_tcp: true });
        let files = GatewayFiles::open(&gateway.directory);
        ports.extend(files.as_ref().ok().map(|files| Port::udp([0, 0, 0, 0].into(), files.file.port)));
        let look = files.and_then(|files| Ok((files.members()?.len(), files.endpoint.to_string())));
        let look = look.map(|(count, endpoint)| format!("{count} members come in at {endpoint}"));
        page.add(Finding::of("gateway", true, look.map_err(|error| fault(&error))))?;
        page.add(Finding::of("uplink", true, uplink(&gateway.uplink_interface)))?;
        tunnels(page)?;
        #[cfg(feature = "ikev2")]
        if gateway.ikev2.is_some() {
            let look = Installation::find().map(|found| found.charon.display().to_string());
            let to_do = "install strongSwan as README.md says, or leave [gateway.ikev2] out".to_owned();
            page.add(Finding::of("strongSwan", true, look.map_err(|error| (error.to_string(), to_do))))?;
        }
    }
    page.add(Finding::of("ports", true, ports_are_free(&ports, runs)))?;
    #[cfg(feature = "port-mapping")]
    super::router(page)?;
    Ok(())
}

/// What both ends of a tunnel need.
fn tunnels(page: &mut Page<'_, '_>) -> Result<(), Failure> {
    page.add(Finding::of("rights", true, rights()))?;
    page.add(nftables())?;
    page.add(iproute())?;
    let kernel = examine::wireguard_of_kernel();
    let has_kernel = kernel.is_ok();
    page.add(Finding::of("WireGuard of the kernel", false, kernel))?;
    page.add(Finding::of("TUN device", !has_kernel, examine::tun_device()))
}

// What several of them need.

/// The files of a key with its certificate.
struct CertifiedKey<'a> {
    key: &'a Path,
    certificate: &'a Path,
    /// Where its program keeps a renewed one that it could not put in the certificate's place, if that is known.
    state: Option<&'a Path>,
}

/// Whether key and certificate belong together and are for this role, and for how long.
fn certificate_of(
    CertifiedKey { key, certificate, state }: CertifiedKey<'_>,
    role: Certified,
    page: &mut Page<'_, '_>,
) -> Result<(), Failure> {
    let what = "key and certificate";
    // A key with a passphrase is asked for it by the program itself; nobody is asked here.
    let read = PassphraseArgs::default().credentials_without_asking(key, certificate);
    let Credentials { certificate, .. } = match (read, state) {
        (Ok(credentials), Some(state)) => renewal::latest(credentials, state),
        (Ok(credentials), None) => credentials,
        (Err(failure), _) => return page.add(Finding::of(what, true, Err(in_words(&failure)))),
    };
    let findings = examine::certificate(what, &certificate, role);
    findings.into_iter().try_for_each(|finding| page.add(finding))
}

fn reachable(home: &HomeAddress) -> Look {
    let to_do =
        "start it: guestright home; until then guests are served as `when_home_is_away` says".to_owned();
    let address = guestright_cli::address::resolve(&home.to_string(), HOME_PORT)
        .map_err(|failure| (failure.what(), to_do.clone()))?;
    let look = TcpStream::connect_timeout(&address, PATIENCE).map(|_| format!("{home} answers"));
    look.map_err(|error| (format!("{home} does not answer: {error}"), to_do))
}

fn in_words(failure: &Failure) -> (String, String) {
    let to_do = failure.what_to_do().unwrap_or("correct what is named").to_owned();
    (failure.what(), to_do)
}
