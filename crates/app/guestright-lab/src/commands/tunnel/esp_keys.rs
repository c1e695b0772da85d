//! `guestright-lab tunnel esp-keys`: two settings files that belong together.

use super::esp::reservation;
use super::esp::settings::{EndFile, sequence_file_of};
use anyhow::{Context, anyhow};
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
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
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Make the keys of an ESP tunnel: one settings file for each end
///
/// The suites of the papers (3des-cbc+hmac-sha1-96, aes-128-cbc+hmac-md5-96, aes-128-cbc+hmac-sha1-96) need
/// --legacy-paper. With two addresses each end knows where the other is; the second may be left to be learnt.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab tunnel esp-keys --suite aes-128-gcm --one 192.0.2.1:4500 --two 198.51.100.2:4500 one.toml two.toml")]
pub(crate) struct EspKeys {
    /// Encryption and authentication
    #[arg(long, value_name = "NAME", default_value = "aes-128-gcm", value_parser = suite())]
    suite: Suite,
    /// Allow the papers' suites, which are no longer safe
    #[arg(long)]
    legacy_paper: bool,
    /// What packets are put into
    #[arg(long, value_enum, default_value_t = ModeName::Tunnel)]
    mode: ModeName,
    /// How ESP packets travel
    #[arg(long, value_enum, default_value_t = EncapsulationName::Udp)]
    encapsulation: EncapsulationName,
    /// Count packets with 64 bits instead of 32
    #[arg(long)]
    extended_sequence: bool,
    /// Where the first end is
    #[arg(long, value_name = "ADDRESS:PORT")]
    one: Option<SocketAddr>,
    /// Where the second end is; left out, the first learns it
    #[arg(long, value_name = "ADDRESS:PORT")]
    two: Option<SocketAddr>,
    /// The first end's address inside, with the length of the network around both
    #[arg(long, value_name = "ADDRESS/LENGTH", default_value = "10.93.0.1/24")]
    inner_one: Network,
    /// The second end's address inside
    #[arg(long, value_name = "ADDRESS/LENGTH", default_value = "10.93.0.2/24")]
    inner_two: Network,
    /// The name of the interface that is made
    #[arg(long, value_name = "NAME", default_value = "esp0")]
    interface: String,
    /// The first end's file
    first: PathBuf,
    /// The second end's file
    second: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeName {
    /// ESP in tunnel mode
    Tunnel,
    /// PPP in L2TP in UDP in ESP in transport mode, as in paper A
    L2tp,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum EncapsulationName {
    /// In UDP datagrams, which pass NAT
    Udp,
    /// Right behind the IP header
    Raw,
}

/// A suite by its name, all of which the help lists.
fn suite() -> impl TypedValueParser<Value = Suite> {
    PossibleValuesParser::new(Suite::ALL.map(Suite::name)).try_map(|name| name.parse::<Suite>())
}

impl EspKeys {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        let esp = self.associations();
        // What would be refused when it is used is refused now.
        EspSettings::try_from(&esp).map_err(|error| {
            Failure::user(error).hint("--legacy-paper allows the papers' suites, for the laboratory")
        })?;
        let ends = [
            (&self.first, self.one, self.two, self.inner_one, self.inner_two, esp.mirrored().mirrored()),
            (&self.second, self.two, self.one, self.inner_two, self.inner_one, esp.mirrored()),
        ];
        for (path, ours, peers, inner, other, mut esp) in ends {
            esp.peer_networks = vec![Network::host(other.address()).to_string()];
            let file = EndFile {
                interface: self.interface.clone(),
                addresses: vec![inner.to_string()],
                mtu: DeviceSettings::ESP_MTU,
                listen: ours.unwrap_or(SocketAddr::new(IpAddr::from([0, 0, 0, 0]), PORT)),
                peer: peers,
                sequence_file: None,
                esp,
            };
            write_new(path, &file).map_err(Failure::user)?;
            writeln!(out, "{} is secret, and so is the key in it", path.display())?;
        }
        Ok(())
    }

    fn associations(&self) -> EspSettingsFile {
        let profile = if self.legacy_paper { Profile::LegacyPaper } else { Profile::Modern };
        let mode = match self.mode {
            ModeName::Tunnel => Mode::Tunnel,
            ModeName::L2tp => Mode::L2tp,
        };
        let encapsulation = match self.encapsulation {
            EncapsulationName::Udp => Encapsulation::Udp,
            EncapsulationName::Raw => Encapsulation::Raw,
        };
        let number = || guestright_clock::rng().random_range(1..=u16::MAX);
        EspSettingsFile {
            profile,
            suite: self.suite,
            mode,
            encapsulation,
            extended_sequence: self.extended_sequence,
            window: WINDOW_DEFAULT,
            peer_networks: Vec::new(),
            lifetime: Lifetime::default(),
            outbound: direction(self.suite),
            inbound: direction(self.suite),
            l2tp: (mode == Mode::L2tp).then(|| L2tpFile {
                tunnel_out: number(),
                session_out: number(),
                tunnel_in: number(),
                session_in: number(),
                with_length: true,
                addresses: self.checksum_addresses(encapsulation),
            }),
        }
    }

    /// Without NAT both ends know the addresses that UDP's checksum goes over.
    fn checksum_addresses(
        &self,
        encapsulation: Encapsulation,
    ) -> Option<(std::net::Ipv4Addr, std::net::Ipv4Addr)> {
        match (encapsulation, self.one?.ip(), self.two?.ip()) {
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
fn write_new(path: &Path, file: &EndFile) -> anyhow::Result<()> {
    let shown = path.display();
    let text = Zeroizing::new(toml::to_string(file).context("write settings as TOML")?);
    let sequence = sequence_file_of(path);
    if sequence.exists() {
        return Err(anyhow!("{} is there already: it belongs to keys that are in use", sequence.display()));
    }
    let mut new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let new = new.as_mut().map_err(|error| anyhow!("make {shown}: {error}"))?;
    new.write_all(text.as_bytes()).and_then(|()| new.sync_all()).with_context(|| format!("write {shown}"))?;
    reservation::begin(&sequence)
}
