use guestright_experiment::{SettingError, SettingInfo, Settings};
use guestright_tunnel::encapsulation::Encapsulation;
use guestright_tunnel::esp::Suite;
use guestright_tunnel::l2tp::HEADER_LEN_SHORT;
use guestright_tunnel::overhead::{self, Layer, Mode, total};

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
    /// WireGuard.
    WireGuard,
}

/// The settings that make a [`Wrapping`].
pub(crate) const SETTINGS: [SettingInfo; 6] = [
    SettingInfo::choice("tunnel", "none", &["none", "esp", "wireguard"], "What packets are put into."),
    SettingInfo::choice(
        "esp.suite",
        "3des-cbc+hmac-sha1-96",
        &[
            "3des-cbc+hmac-sha1-96",
            "aes-128-cbc+hmac-md5-96",
            "aes-128-cbc+hmac-sha1-96",
            "aes-128-gcm",
            "aes-256-gcm",
            "chacha20-poly1305",
        ],
        "ESP's suite; the first is paper B's, the second paper A's.",
    ),
    SettingInfo::choice(
        "esp.mode",
        "tunnel",
        &["tunnel", "transport", "l2tp"],
        "ESP around the whole packet, behind its IP header, or around PPP in L2TP in UDP as in paper A.",
    ),
    SettingInfo::choice(
        "esp.encapsulation",
        "raw",
        &["raw", "udp"],
        "ESP right behind the IP header, or in UDP to pass NAT (RFC 3948).",
    ),
    SettingInfo::choice(
        "esp.sizes",
        "rfc",
        &["rfc", "as-computed", "paper-d"],
        "Lengths of RFC 4303; or those that give paper B's Table 2: 8 bytes less, as if there were no vector; or those that \
         give paper D's Table 1: blocks of 32 bytes and a header of 10, in transport mode.",
    ),
    SettingInfo::bool(
        "l2tp.length",
        true,
        "Whether L2TP's header has the optional length field; paper A's 152 bytes need it.",
    ),
];

impl Wrapping {
    /// What the settings say.
    pub(crate) fn from_settings(settings: &Settings) -> Result<Self, SettingError> {
        match settings.text("tunnel")? {
            "none" => return Ok(Self::None),
            "wireguard" => return Ok(Self::WireGuard),
            _ => {}
        }
        let suite = settings.text("esp.suite")?;
        let suite = suite.parse().map_err(|error| SettingError::unfit("esp.suite", format!("{error}")))?;
        let mode = match settings.text("esp.mode")? {
            "tunnel" => Mode::Tunnel,
            "transport" => Mode::Transport,
            _ => Mode::L2tp,
        };
        let encapsulation = if settings.text("esp.encapsulation")? == "udp" {
            Encapsulation::Udp
        } else {
            Encapsulation::Raw
        };
        let sizes = settings.text("esp.sizes")?;
        let reason = match (sizes, suite, mode, encapsulation) {
            ("rfc", ..) => {
                let l2tp_length = settings.bool("l2tp.length")?;
                return Ok(Self::Esp { suite, mode, encapsulation, l2tp_length });
            }
            ("as-computed", Suite::TripleDesCbcHmacSha1, Mode::Tunnel, Encapsulation::Raw) => {
                return Ok(Self::EspAsComputed);
            }
            ("paper-d", Suite::Aes128CbcHmacMd5, Mode::Transport, Encapsulation::Raw) => {
                return Ok(Self::EspOfPaperD);
            }
            ("paper-d", ..) => {
                "paper D's lengths are known for an HMAC-MD5 suite in transport mode, raw, only; use \"rfc\""
            }
            _ => {
                "paper B's lengths are known for 3des-cbc+hmac-sha1-96 in tunnel mode, raw, only; use \"rfc\""
            }
        };
        Err(SettingError::unfit("esp.sizes", reason))
    }

    /// The parts of the IPv4 packet that leaves, when one of `packet_len` bytes goes in.
    pub(crate) fn layers(self, packet_len: usize) -> Vec<Layer> {
        match self {
            Self::None => vec![Layer { name: "packet", len: packet_len }],
            Self::WireGuard => overhead::wireguard_layers(packet_len),
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
