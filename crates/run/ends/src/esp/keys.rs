//! Settings files of two ends that belong together, with fresh keys.

use super::reservation;
use super::settings::{EndFile, sequence_file_of};
use guestright_error::{OrFail as _, RunError};
use guestright_tun::DeviceSettings;
use guestright_tunnel::encapsulation::{Encapsulation, PORT};
use guestright_tunnel::esp::{Lifetime, Suite, WINDOW_DEFAULT};
use guestright_tunnel::esp_settings::{
    DirectionFile, EspSettings, EspSettingsFile, HexKey, L2tpFile, Profile,
};
use guestright_tunnel::overhead::Mode;
use guestright_tunnel::wireguard::Network;
use rand::RngExt;
use std::fs::OpenOptions;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use zeroize::Zeroizing;

/// What both ends have in common, and where each is: the first end's comes first.
#[derive(Clone, Debug)]
pub struct Pair {
    pub suite: Suite,
    /// Whether the papers' suites are allowed, which are no longer safe.
    pub legacy_paper: bool,
    pub mode: Mode,
    pub encapsulation: Encapsulation,
    pub extended_sequence: bool,
    /// The name of the interface that is made.
    pub interface: String,
    pub addresses: [Option<SocketAddr>; 2],
    /// The addresses inside, with the length of the network around both.
    pub inner: [Network; 2],
}

impl Pair {
    /// The settings of both ends.
    ///
    /// # Errors
    /// What would be refused when it is used.
    pub fn make(&self) -> Result<[EndFile; 2], RunError> {
        let esp = self.associations();
        EspSettings::try_from(&esp).map_err(|error| {
            RunError::user(error).with_hint("--legacy-paper allows the papers' suites, for the laboratory")
        })?;
        let ([one, two], [inner_one, inner_two]) = (self.addresses, self.inner);
        Ok([
            self.end(one, two, [inner_one, inner_two], esp.mirrored().mirrored()),
            self.end(two, one, [inner_two, inner_one], esp.mirrored()),
        ])
    }

    fn end(
        &self,
        ours: Option<SocketAddr>,
        peer: Option<SocketAddr>,
        [inner, other]: [Network; 2],
        mut esp: EspSettingsFile,
    ) -> EndFile {
        esp.peer_networks = vec![Network::host(other.address()).to_string()];
        EndFile {
            interface: self.interface.clone(),
            addresses: vec![inner.to_string()],
            mtu: DeviceSettings::ESP_MTU,
            listen: ours.unwrap_or(SocketAddr::new(IpAddr::from([0, 0, 0, 0]), PORT)),
            peer,
            sequence_file: None,
            esp,
        }
    }

    fn associations(&self) -> EspSettingsFile {
        let profile = if self.legacy_paper { Profile::LegacyPaper } else { Profile::Modern };
        let number = || guestright_clock::rng().random_range(1..=u16::MAX);
        EspSettingsFile {
            profile,
            suite: self.suite,
            mode: self.mode,
            encapsulation: self.encapsulation,
            extended_sequence: self.extended_sequence,
            window: WINDOW_DEFAULT,
            peer_networks: Vec::new(),
            lifetime: Lifetime::default(),
            outbound: direction(self.suite),
            inbound: direction(self.suite),
            l2tp: (self.mode == Mode::L2tp).then(|| L2tpFile {
                tunnel_out: number(),
                session_out: number(),
                tunnel_in: number(),
                session_in: number(),
                with_length: true,
                addresses: self.checksum_addresses(),
            }),
        }
    }

    /// Without NAT both ends know the addresses that UDP's checksum goes over.
    fn checksum_addresses(&self) -> Option<(Ipv4Addr, Ipv4Addr)> {
        let [one, two] = self.addresses;
        match (self.encapsulation, one?.ip(), two?.ip()) {
            (Encapsulation::Raw, IpAddr::V4(one), IpAddr::V4(two)) => Some((one, two)),
            (Encapsulation::Raw | Encapsulation::Udp, _, _) => None,
        }
    }
}

fn direction(suite: Suite) -> DirectionFile {
    let key = |length: usize| {
        let mut bytes = Zeroizing::new(vec![0; length]);
        guestright_clock::rng().fill(&mut bytes[..]);
        HexKey::new(&bytes)
    };
    DirectionFile {
        // 0 to 255 are reserved (RFC 4303, section 2.1).
        spi: guestright_clock::rng().random_range(256..=u32::MAX),
        encryption_key: key(suite.encryption_key_len()),
        authentication_key: key(suite.authentication_key_len()),
    }
}

/// Overwrites nothing: the keys in a file may be in use.
///
/// # Errors
/// One of its files is there already, or cannot be written.
pub fn write_new(path: &Path, file: &EndFile) -> Result<(), RunError> {
    let shown = path.display();
    let text = Zeroizing::new(toml::to_string(file).or_user(|| "write settings as TOML".to_owned())?);
    let sequence = sequence_file_of(path);
    if sequence.exists() {
        let what = format!("{} is there already: it belongs to keys that are in use", sequence.display());
        return Err(RunError::user(what));
    }
    let mut new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let new = new.as_mut().map_err(|error| RunError::user(format!("make {shown}: {error}")))?;
    new.write_all(text.as_bytes()).and_then(|()| new.sync_all()).or_user(|| format!("write {shown}"))?;
    reservation::begin(&sequence).map_err(RunError::user)
}
