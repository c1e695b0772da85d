//! The settings file of one end.

use guestright_error::{OrFail as _, RunError};
use guestright_tun::DeviceSettings;
use guestright_tunnel::esp_settings::{EspSettingsFile, XfrmEnds};
use guestright_tunnel::wireguard::Network;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// More than any such file needs.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// The file as it is written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndFile {
    /// The name of the interface that is made.
    pub interface: String,
    /// Its addresses, each with the length of the network around it.
    pub addresses: Vec<String>,
    /// The largest packet inside.
    #[serde(default = "default_mtu")]
    pub mtu: u16,
    /// Our address and port; with raw encapsulation the port is not used.
    pub listen: SocketAddr,
    /// The peer's; left out, the peer has to begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<SocketAddr>,
    /// Where the next sequence number is kept; beside this file if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence_file: Option<PathBuf>,
    /// The associations.
    pub esp: EspSettingsFile,
}

fn default_mtu() -> u16 {
    DeviceSettings::ESP_MTU
}

/// The file, understood.
#[derive(Debug)]
pub struct EndSettings {
    pub interface: String,
    pub addresses: Vec<Network>,
    pub mtu: u16,
    pub listen: SocketAddr,
    pub peer: Option<SocketAddr>,
    sequence_file: Option<PathBuf>,
    pub esp: EspSettingsFile,
}

impl EndSettings {
    /// # Errors
    /// The file cannot be read or understood.
    pub fn read(path: &Path) -> Result<Self, RunError> {
        let shown = path.display();
        let read = || {
            let length = std::fs::metadata(path).or_config(|| format!("read {shown}"))?.len();
            if length > FILE_BYTES_MAX {
                let what = format!("{shown} has {length} bytes, which is too much for settings");
                return Err(RunError::config(what));
            }
            let text = std::fs::read_to_string(path).or_config(|| format!("read {shown}"))?;
            Self::parse(&Zeroizing::new(text)).or_config(|| format!("understand {shown}"))
        };
        read().map_err(|error| error.with_hint("`guestright-lab tunnel esp-keys` writes such files"))
    }

    fn parse(text: &str) -> Result<Self, RunError> {
        // The parser's own words would quote the line, which may hold a key.
        let file: EndFile = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(0, |span| text[..span.start].lines().count().max(1));
            RunError::config(format!("near line {line}: {}", error.message()))
        })?;
        let network = |text: &String| -> Result<Network, RunError> {
            text.parse()
                .map_err(|want| RunError::config(format!("addresses has {text:?}, which is not {want}")))
        };
        Ok(Self {
            interface: file.interface,
            addresses: file.addresses.iter().map(network).collect::<Result<_, _>>()?,
            mtu: file.mtu,
            listen: file.listen,
            peer: file.peer,
            sequence_file: file.sequence_file,
            esp: file.esp,
        })
    }

    /// Where the next sequence number is kept.
    pub fn sequence_file(&self, settings: &Path) -> PathBuf {
        match &self.sequence_file {
            Some(path) => settings.parent().unwrap_or(Path::new(".")).join(path),
            None => sequence_file_of(settings),
        }
    }

    /// Our address and the peer's, for a raw socket: there is nothing in a raw packet to find a peer by.
    ///
    /// # Errors
    /// They are not both known, or not of IPv4.
    pub fn raw_addresses(&self) -> Result<(Ipv4Addr, Ipv4Addr), RunError> {
        let addresses = (self.listen.ip(), self.peer.map(|peer| peer.ip()));
        let (IpAddr::V4(ours), Some(IpAddr::V4(peers))) = addresses else {
            return Err(RunError::config("encapsulation = \"raw\" needs IPv4 addresses of both ends")
                .with_hint("say listen = \"192.0.2.1:0\" and peer = \"192.0.2.2:0\""));
        };
        Ok((ours, peers))
    }

    /// What the kernel has to know to be this end.
    ///
    /// # Errors
    /// Something of it is not in the file.
    pub fn kernel_ends(&self) -> Result<XfrmEnds, RunError> {
        let (local, peer) = self.raw_addresses()?;
        let missing = |what: &str| RunError::config(format!("the kernel's commands need {what}"));
        let network = self.addresses.first().ok_or_else(|| missing("an address in `addresses`"))?;
        let peers = self.esp.peer_networks.first().and_then(|text| text.parse().ok());
        Ok(XfrmEnds {
            local,
            peer,
            local_port: self.listen.port(),
            peer_port: self.peer.map_or(0, |peer| peer.port()),
            local_network: Network::host(network.address()),
            peer_network: peers.ok_or_else(|| missing("a network in `esp.peer_networks`"))?,
        })
    }
}

/// `one.toml` has its number in `one.sequence`.
pub fn sequence_file_of(settings: &Path) -> PathBuf {
    settings.with_extension("sequence")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_quotes_a_key() {
        let text = "interface = \"esp0\"\naddresses = []\nlisten = \"0.0.0.0:1\"\n[esp]\nsuite = \"aes-128-gcm\"\n\
                    mode = \"tunnel\"\nencapsulation = \"udp\"\n[esp.outbound]\nspi = 4097\n\
                    encryption_key = \"00112233445566778899aabbccddeeffZ\"\n";
        let error = EndSettings::parse(text).expect_err("that is no key").sentence();
        assert!(!error.contains("00112233"), "{error}");
        assert!(error.contains("line 10"), "{error}");
    }
}
