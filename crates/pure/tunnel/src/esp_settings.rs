//! A pair of ESP associations with keys that both ends know beforehand: what a settings file says, and what it means.

mod hex;
mod xfrm;

pub use hex::HexKey;
pub use xfrm::{XfrmEnds, xfrm_commands};

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::encapsulation::Encapsulation;
use crate::esp::{
    InboundSa, KeyError, Keys, Lifetime, OutboundSa, PACKET_LEN_MAX, SaParameters, Suite, WINDOW_DEFAULT,
    WINDOW_MAX, WINDOW_MIN,
};
use crate::l2tp::Stack;
use crate::overhead::Mode;
use crate::wireguard::Network;

/// Which suites are acceptable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Only suites that are still advised.
    #[default]
    Modern,
    /// The papers' suites as well: for the laboratory.
    LegacyPaper,
}

/// One end of a pair of associations, as it stands in a TOML file. Unknown keys are refused.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EspSettingsFile {
    /// Which suites are acceptable.
    #[serde(default)]
    pub profile: Profile,
    /// The suite of both directions.
    pub suite: Suite,
    /// What packets are put into.
    pub mode: Mode,
    /// How ESP packets travel.
    pub encapsulation: Encapsulation,
    /// Whether sequence numbers have 64 bits.
    #[serde(default)]
    pub extended_sequence: bool,
    /// How many numbers the anti-replay window holds.
    #[serde(default = "default_window")]
    pub window: u32,
    /// Where inner packets of the peer may come from, such as `10.9.0.2/32`; from anywhere if there is none.
    #[serde(default)]
    pub peer_networks: Vec<String>,
    /// What the associations may carry.
    #[serde(default)]
    pub lifetime: Lifetime,
    /// What we send.
    pub outbound: DirectionFile,
    /// What we receive.
    pub inbound: DirectionFile,
    /// The session's numbers, in the mode `l2tp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2tp: Option<L2tpFile>,
}

/// One direction of a pair.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectionFile {
    /// The association's index, 256 or more.
    pub spi: u32,
    /// The encryption key in hexadecimal, with the salt of 4 bytes behind it where the suite has one.
    pub encryption_key: HexKey,
    /// The authentication key in hexadecimal; left out where the suite has none.
    #[serde(default, skip_serializing_if = "HexKey::is_empty")]
    pub authentication_key: HexKey,
}

/// The numbers of an L2TP session, each not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L2tpFile {
    /// The peer's number for the tunnel.
    pub tunnel_out: u16,
    /// The peer's number for the session.
    pub session_out: u16,
    /// Our number for the tunnel.
    pub tunnel_in: u16,
    /// Our number for the session.
    pub session_in: u16,
    /// Whether messages have the length field, as paper A counts them.
    #[serde(default = "yes")]
    pub with_length: bool,
    /// Our address and the peer's as both see them, for UDP's checksum; without them there is none. Leave them out
    /// behind NAT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<(Ipv4Addr, Ipv4Addr)>,
}

fn default_window() -> u32 {
    WINDOW_DEFAULT
}

fn yes() -> bool {
    true
}

/// Settings that can be used.
#[derive(Clone, Debug)]
pub struct EspSettings {
    /// What packets are put into: [`Mode::Tunnel`] or [`Mode::L2tp`].
    pub mode: Mode,
    /// How ESP packets travel.
    pub encapsulation: Encapsulation,
    /// How many numbers the anti-replay window holds.
    pub window: u32,
    /// Where inner packets of the peer may come from; from anywhere if empty.
    pub peer_networks: Vec<Network>,
    /// What we send.
    pub outbound: SaParameters,
    /// What we receive.
    pub inbound: SaParameters,
    /// The stack below ESP, in [`Mode::L2tp`].
    pub stack: Option<Stack>,
}

/// Why settings cannot be used. No message holds a key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EspSettingsError {
    /// A suite that is only for repeating the papers.
    #[error(
        "{0} is a suite of the papers and no longer safe: say profile = \"legacy-paper\" if that is what you want"
    )]
    LegacySuite(Suite),
    /// Transport mode carries the packets of two computers, not those of a tunnel's interface.
    #[error("mode \"transport\" has no tunnel: say \"tunnel\" or \"l2tp\"")]
    Transport,
    /// A number of an association that is reserved (RFC 4303, section 2.1).
    #[error("{direction}.spi is {got}; it has to be 256 or more")]
    Spi {
        /// "outbound" or "inbound".
        direction: &'static str,
        /// What the settings say.
        got: u32,
    },
    /// A key that the suite cannot use.
    #[error("{direction}: {error}")]
    Key {
        /// "outbound" or "inbound".
        direction: &'static str,
        /// What is wrong with it.
        error: KeyError,
    },
    /// Both directions have one key, and would use its nonces twice.
    #[error("both directions have the same encryption key: each needs one of its own")]
    SameKey,
    /// A window that is too small or too large.
    #[error("window is {0}; it has to be between {WINDOW_MIN} and {WINDOW_MAX}")]
    Window(u32),
    /// A peer's network cannot be read.
    #[error("peer_networks has {0:?}, which is no network such as 10.9.0.2/32")]
    Network(String),
    /// The mode and the table of the session do not go together.
    #[error("a table [l2tp] belongs to mode = \"l2tp\", and to no other")]
    L2tp,
    /// A number of the session is 0, which L2TP keeps for itself (RFC 2661, section 3.1).
    #[error("a number in the table [l2tp] is 0")]
    L2tpNumber,
}

impl TryFrom<&EspSettingsFile> for EspSettings {
    type Error = EspSettingsError;

    fn try_from(file: &EspSettingsFile) -> Result<Self, EspSettingsError> {
        if file.suite.is_legacy() && file.profile != Profile::LegacyPaper {
            return Err(EspSettingsError::LegacySuite(file.suite));
        }
        if file.mode == Mode::Transport {
            return Err(EspSettingsError::Transport);
        }
        if !(WINDOW_MIN..=WINDOW_MAX).contains(&file.window) {
            return Err(EspSettingsError::Window(file.window));
        }
        let outbound = file.parameters("outbound", &file.outbound)?;
        let inbound = file.parameters("inbound", &file.inbound)?;
        // Salt or not: the nonce is a counter in both directions.
        if outbound.keys.encryption() == inbound.keys.encryption() {
            return Err(EspSettingsError::SameKey);
        }
        let network = |text: &String| {
            text.parse().map_err(|_| EspSettingsError::Network(text.chars().take(60).collect()))
        };
        Ok(Self {
            mode: file.mode,
            encapsulation: file.encapsulation,
            window: file.window,
            peer_networks: file.peer_networks.iter().map(network).collect::<Result<_, _>>()?,
            outbound,
            inbound,
            stack: file.stack()?,
        })
    }
}

impl EspSettingsFile {
    fn parameters(
        &self,
        direction: &'static str,
        file: &DirectionFile,
    ) -> Result<SaParameters, EspSettingsError> {
        if file.spi < 256 {
            return Err(EspSettingsError::Spi { direction, got: file.spi });
        }
        let keys = Keys::new(self.suite, file.encryption_key.bytes(), file.authentication_key.bytes());
        let keys = keys.map_err(|error| EspSettingsError::Key { direction, error })?;
        Ok(SaParameters {
            spi: file.spi,
            keys,
            extended_sequence: self.extended_sequence,
            lifetime: self.lifetime,
            packet_len_max: PACKET_LEN_MAX - self.encapsulation.header_len(),
        })
    }

    fn stack(&self) -> Result<Option<Stack>, EspSettingsError> {
        let Some(l2tp) = self.l2tp else {
            return if self.mode == Mode::L2tp { Err(EspSettingsError::L2tp) } else { Ok(None) };
        };
        if self.mode != Mode::L2tp {
            return Err(EspSettingsError::L2tp);
        }
        if [l2tp.tunnel_out, l2tp.session_out, l2tp.tunnel_in, l2tp.session_in].contains(&0) {
            return Err(EspSettingsError::L2tpNumber);
        }
        Ok(Some(Stack {
            tunnel_out: l2tp.tunnel_out,
            session_out: l2tp.session_out,
            tunnel_in: l2tp.tunnel_in,
            session_in: l2tp.session_in,
            with_length: l2tp.with_length,
            addresses: l2tp.addresses,
        }))
    }

    /// The other end's settings: what we send is what it receives.
    #[must_use]
    pub fn mirrored(&self) -> Self {
        let l2tp = self.l2tp.map(|l2tp| L2tpFile {
            tunnel_out: l2tp.tunnel_in,
            session_out: l2tp.session_in,
            tunnel_in: l2tp.tunnel_out,
            session_in: l2tp.session_out,
            with_length: l2tp.with_length,
            addresses: l2tp.addresses.map(|(ours, peers)| (peers, ours)),
        });
        Self { outbound: self.inbound.clone(), inbound: self.outbound.clone(), l2tp, ..self.clone() }
    }
}

impl EspSettings {
    /// The half that seals, see [`OutboundSa::new`].
    #[must_use]
    pub fn outbound_sa(&self, first_sequence: u64, iv_seed: &Zeroizing<[u8; 32]>) -> OutboundSa {
        OutboundSa::new(&self.outbound, first_sequence, iv_seed)
    }

    /// The half that opens.
    #[must_use]
    pub fn inbound_sa(&self) -> InboundSa {
        InboundSa::new(&self.inbound, self.window)
    }

    /// The suite of both directions.
    #[must_use]
    pub fn suite(&self) -> Suite {
        self.outbound.keys.suite()
    }
}

#[cfg(test)]
mod tests;
