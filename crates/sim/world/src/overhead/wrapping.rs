use guestright_experiment::{SettingError, settings};
use guestright_tunnel::encapsulation::Encapsulation;
use guestright_tunnel::esp::Suite;
use guestright_tunnel::l2tp::HEADER_LEN_SHORT;
use guestright_tunnel::overhead::{self, Layer, Mode, Padding, total};

/// What packets are put into on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapping {
    /// Nothing.
    None,
    /// ESP, with the lengths of RFC 4303.
    Esp {
        /// The suite.
        suite: Suite,
        /// What of the packet goes in.
        mode: Mode,
        /// How it travels.
        encapsulation: Encapsulation,
        /// Whether L2TP's header has the optional length field (RFC 2661, section 3.1).
        l2tp_length: bool,
    },
    /// ESP as paper B must have counted it: without the initialization vector.
    EspAsComputed,
    /// ESP as paper D must have counted it: blocks of 32 bytes, a header of 10.
    EspOfPaperD,
    /// WireGuard, padded as its paper and Linux have it.
    WireGuard,
}

/// What tunnel there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tunnel {
    None,
    Esp,
    WireGuard,
}

const TUNNELS: [(&str, Tunnel); 3] =
    [("none", Tunnel::None), ("esp", Tunnel::Esp), ("wireguard", Tunnel::WireGuard)];

const SUITES: [(&str, Suite); 6] = [
    ("3des-cbc+hmac-sha1-96", Suite::TripleDesCbcHmacSha1),
    ("aes-128-cbc+hmac-md5-96", Suite::Aes128CbcHmacMd5),
    ("aes-128-cbc+hmac-sha1-96", Suite::Aes128CbcHmacSha1),
    ("aes-128-gcm", Suite::Aes128Gcm),
    ("aes-256-gcm", Suite::Aes256Gcm),
    ("chacha20-poly1305", Suite::ChaCha20Poly1305),
];

const MODES: [(&str, Mode); 3] =
    [("tunnel", Mode::Tunnel), ("transport", Mode::Transport), ("l2tp", Mode::L2tp)];

const ENCAPSULATIONS: [(&str, Encapsulation); 2] = [("raw", Encapsulation::Raw), ("udp", Encapsulation::Udp)];

/// By whose lengths ESP is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    Rfc,
    PaperB,
    PaperD,
}

const SIZES: [(&str, Sizes); 3] =
    [("rfc", Sizes::Rfc), ("as-computed", Sizes::PaperB), ("paper-d", Sizes::PaperD)];

settings! {
    /// The settings that make a [`Wrapping`].
    pub(crate) struct WrappingSettings {
        /// What packets are put into.
        tunnel: Tunnel = choice("tunnel", "none", TUNNELS),
        /// ESP's suite; the first is paper B's, the second paper A's.
        esp_suite: Suite = choice("esp.suite", "3des-cbc+hmac-sha1-96", SUITES),
        /// ESP around the whole packet, behind its IP header, or around PPP in L2TP in UDP as in paper A.
        esp_mode: Mode = choice("esp.mode", "tunnel", MODES),
        /// ESP right behind the IP header, or in UDP to pass NAT (RFC 3948).
        esp_encapsulation: Encapsulation = choice("esp.encapsulation", "raw", ENCAPSULATIONS),
        /// Lengths of RFC 4303; or those that give paper B's Table 2: 8 bytes less, as if there were no vector; or
        /// those that give paper D's Table 1: blocks of 32 bytes and a header of 10, in transport mode.
        esp_sizes: Sizes = choice("esp.sizes", "rfc", SIZES),
        /// Whether L2TP's header has the optional length field; paper A's 152 bytes need it.
        l2tp_length: bool = bool("l2tp.length", true),
    }
}

impl Wrapping {
    /// What the settings say.
    pub(crate) fn from_settings(settings: &WrappingSettings) -> Result<Self, SettingError> {
        match settings.tunnel {
            Tunnel::None => return Ok(Self::None),
            Tunnel::WireGuard => return Ok(Self::WireGuard),
            Tunnel::Esp => {}
        }
        let (suite, mode, encapsulation) =
            (settings.esp_suite, settings.esp_mode, settings.esp_encapsulation);
        let reason = match (settings.esp_sizes, suite, mode, encapsulation) {
            (Sizes::Rfc, ..) => {
                return Ok(Self::Esp { suite, mode, encapsulation, l2tp_length: settings.l2tp_length });
            }
            (Sizes::PaperB, Suite::TripleDesCbcHmacSha1, Mode::Tunnel, Encapsulation::Raw) => {
                return Ok(Self::EspAsComputed);
            }
            (Sizes::PaperD, Suite::Aes128CbcHmacMd5, Mode::Transport, Encapsulation::Raw) => {
                return Ok(Self::EspOfPaperD);
            }
            (Sizes::PaperD, ..) => {
                "paper D's lengths are known for an HMAC-MD5 suite in transport mode, raw, only; use \"rfc\""
            }
            (Sizes::PaperB, ..) => {
                "paper B's lengths are known for 3des-cbc+hmac-sha1-96 in tunnel mode, raw, only; use \"rfc\""
            }
        };
        Err(SettingError::unfit("esp.sizes", reason))
    }

    /// The parts of the IPv4 packet that leaves, when one of `packet_len` bytes goes in.
    pub(crate) fn layers(self, packet_len: usize) -> Vec<Layer> {
        match self {
            Self::None => vec![Layer { name: "packet", len: packet_len }],
            Self::WireGuard => overhead::wireguard_layers(packet_len, Padding::Sixteen),
            Self::EspAsComputed => overhead::paper_b_layers(packet_len),
            Self::EspOfPaperD => overhead::paper_d_layers(packet_len),
            Self::Esp { suite, mode, encapsulation, l2tp_length } => {
                let mut layers = overhead::layers(suite, mode, encapsulation, packet_len);
                if mode == Mode::L2tp && !l2tp_length {
                    shorten(&mut layers, suite);
                }
                layers
            }
        }
    }

    /// The length of the IPv4 packet that leaves, in bytes.
    pub(crate) fn wire_len(self, packet_len: usize) -> usize {
        total(&self.layers(packet_len))
    }
}

/// Takes the length field out of L2TP's header, and pads anew.
fn shorten(layers: &mut Vec<Layer>, suite: Suite) {
    for layer in layers.iter_mut().filter(|layer| layer.name == "L2TP") {
        layer.len = HEADER_LEN_SHORT;
    }
    let is_payload = |layer: &&Layer| matches!(layer.name, "UDP" | "L2TP" | "PPP" | "packet");
    let payload_len: usize = layers.iter().filter(is_payload).map(|layer| layer.len).sum();
    layers.retain(|layer| layer.name != "ESP padding");
    let padding = Layer { name: "ESP padding", len: suite.padding_len(payload_len) };
    let trailer = layers.iter().position(|layer| layer.name == "ESP trailer").unwrap_or(layers.len());
    if padding.len > 0 {
        layers.insert(trailer, padding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_has_the_name_of_its_setting() {
        assert_eq!(SUITES.map(|(word, _)| word), Suite::ALL.map(Suite::name));
        assert_eq!(SUITES.map(|(_, suite)| suite), Suite::ALL);
    }
}
