//! What a tunnel adds to each packet, part by part.
//!
//! Everything here is computed from the suite's lengths; `tests/esp/overhead.rs` compares it with packets that were
//! sealed, and `tests/overhead.rs` of `guestright-wireguard` does so for WireGuard.

use crate::encapsulation::Encapsulation;
use crate::esp::{HEADER_LEN, Suite, TRAILER_LEN};
use crate::{ip, l2tp, ppp, udp};

/// What an IPv4 packet is put into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// ESP in tunnel mode: the whole packet, and a new IP header.
    Tunnel,
    /// ESP in transport mode: what stands behind the packet's own IP header.
    Transport,
    /// PPP in L2TP in UDP in ESP in transport mode: paper A's.
    L2tp,
}

impl Mode {
    /// All, in the order of tables.
    pub const ALL: [Self; 3] = [Self::Tunnel, Self::Transport, Self::L2tp];

    /// The name that settings and reports use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tunnel => "tunnel",
            Self::Transport => "transport",
            Self::L2tp => "l2tp",
        }
    }
}

/// A part of a packet on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    /// What it is, for tables: "ESP padding".
    pub name: &'static str,
    /// How many bytes it has.
    pub len: usize,
}

/// The parts of the IPv4 packet that leaves, in their order on the wire, when a packet of `packet_len` bytes goes
/// through ESP. Parts that have no bytes are left out. In [`Mode::Transport`] the packet's own header of 20 bytes is the
/// outer one.
///
/// Paper A's sum (section 6): 60 + 4 PPP + 8 L2TP + 8 UDP + 2 trailer = 82, padded to 96, + 16 vector + 4 sequence number
/// + 4 index + 12 check value = 132, + 20 IP = 152, for `l2tp`, `aes-128-cbc+hmac-md5-96`, raw.
#[must_use]
pub fn layers(suite: Suite, mode: Mode, encapsulation: Encapsulation, packet_len: usize) -> Vec<Layer> {
    let headers = match mode {
        Mode::Tunnel | Mode::Transport => vec![],
        Mode::L2tp => vec![
            Layer { name: "UDP", len: udp::HEADER_LEN },
            Layer { name: "L2TP", len: l2tp::HEADER_LEN_WITH_LENGTH },
            Layer { name: "PPP", len: ppp::HEADER_LEN },
        ],
    };
    let packet = match mode {
        Mode::Tunnel | Mode::L2tp => Layer { name: "packet", len: packet_len },
        Mode::Transport => {
            Layer { name: "packet without IP", len: packet_len.saturating_sub(ip::IPV4_HEADER_LEN) }
        }
    };
    let payload_len = headers.iter().map(|layer| layer.len).sum::<usize>() + packet.len;
    let before = [
        Layer { name: "IP", len: ip::IPV4_HEADER_LEN },
        Layer { name: "UDP encapsulation", len: encapsulation.header_len() },
        Layer { name: "ESP index", len: HEADER_LEN / 2 },
        Layer { name: "ESP sequence number", len: HEADER_LEN / 2 },
        Layer { name: "ESP vector", len: suite.iv_len() },
    ];
    let after = [
        packet,
        Layer { name: "ESP padding", len: suite.padding_len(payload_len) },
        Layer { name: "ESP trailer", len: TRAILER_LEN },
        Layer { name: "ESP check value", len: suite.icv_len() },
    ];
    before.into_iter().chain(headers).chain(after).filter(|layer| layer.len > 0).collect()
}

/// What paper D takes ESP's own header to be, in bytes (section 2.1).
pub const PAPER_D_HEADER_LEN: usize = 10;
/// What its Table 1 pads to, in bytes. The paper does not say so: of all sums of a header, a block and a constant, this is
/// the only one that gives its three figures.
pub const PAPER_D_BLOCK_LEN: usize = 32;

/// The parts of a packet in ESP's transport mode as paper D must have counted them for its Table 1: what is behind the IP
/// header, padded to [`PAPER_D_BLOCK_LEN`]; [`PAPER_D_HEADER_LEN`]; 12 bytes of HMAC-MD5-96.
#[must_use]
pub fn paper_d_layers(packet_len: usize) -> Vec<Layer> {
    let inside_len = packet_len.saturating_sub(ip::IPV4_HEADER_LEN);
    let layers = [
        Layer { name: "IP", len: ip::IPV4_HEADER_LEN },
        Layer { name: "ESP header", len: PAPER_D_HEADER_LEN },
        Layer { name: "packet without IP", len: inside_len },
        Layer { name: "ESP padding", len: inside_len.next_multiple_of(PAPER_D_BLOCK_LEN) - inside_len },
        Layer { name: "ESP check value", len: Suite::Aes128CbcHmacMd5.icv_len() },
    ];
    layers.into_iter().filter(|layer| layer.len > 0).collect()
}

/// Whether a WireGuard end pads what it seals. Both ends may differ: the receiver takes the length from the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Padding {
    /// To a multiple of 16 bytes: WireGuard's paper, section 5.4.6, and Linux.
    Sixteen,
    /// Not at all: the library of `guestright-wireguard`, with which the program seals where the kernel does not.
    Nothing,
}

impl Padding {
    /// How the table names a WireGuard end of this kind.
    #[must_use]
    pub fn suite_name(self) -> &'static str {
        match self {
            Self::Sixteen => "wireguard (its paper)",
            Self::Nothing => "wireguard (our own end)",
        }
    }

    fn padding_len(self, packet_len: usize) -> usize {
        match self {
            Self::Sixteen => packet_len.next_multiple_of(16) - packet_len,
            Self::Nothing => 0,
        }
    }
}

/// The parts of the IPv4 packet that leaves, when a packet of `packet_len` bytes goes through WireGuard (section 5.4.6
/// of its paper): 16 bytes of header, the packet, its padding, 16 bytes of tag.
#[must_use]
pub fn wireguard_layers(packet_len: usize, padding: Padding) -> Vec<Layer> {
    let layers = [
        Layer { name: "IP", len: ip::IPV4_HEADER_LEN },
        Layer { name: "UDP", len: udp::HEADER_LEN },
        Layer { name: "WireGuard type", len: 4 },
        Layer { name: "WireGuard receiver", len: 4 },
        Layer { name: "WireGuard counter", len: 8 },
        Layer { name: "packet", len: packet_len },
        Layer { name: "WireGuard padding", len: padding.padding_len(packet_len) },
        Layer { name: "WireGuard tag", len: 16 },
    ];
    layers.into_iter().filter(|layer| layer.len > 0).collect()
}

/// The length of the IPv4 packet that these parts make, in bytes.
#[must_use]
pub fn total(layers: &[Layer]) -> usize {
    layers.iter().map(|layer| layer.len).sum()
}

/// One line of the table: a way to carry packets, and how long they leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The suite's name, or [`Padding::suite_name`].
    pub suite: &'static str,
    /// The mode's name, or nothing.
    pub mode: &'static str,
    /// The encapsulation's name.
    pub encapsulation: &'static str,
    /// For each packet length that was asked for, the length of the IPv4 packet that leaves.
    pub wire_lens: Vec<usize>,
}

/// What packets of these lengths become, for every suite, mode and encapsulation, and both kinds of WireGuard at the end.
#[must_use]
pub fn table(packet_lens: &[usize]) -> Vec<Row> {
    let mut rows = Vec::new();
    for suite in Suite::ALL {
        for mode in Mode::ALL {
            for encapsulation in Encapsulation::ALL {
                let wire_len = |len: &usize| total(&layers(suite, mode, encapsulation, *len));
                rows.push(Row {
                    suite: suite.name(),
                    mode: mode.name(),
                    encapsulation: encapsulation.name(),
                    wire_lens: packet_lens.iter().map(wire_len).collect(),
                });
            }
        }
    }
    for padding in [Padding::Sixteen, Padding::Nothing] {
        let wire_len = |len: &usize| total(&wireguard_layers(*len, padding));
        let wire_lens = packet_lens.iter().map(wire_len).collect();
        rows.push(Row { suite: padding.suite_name(), mode: "tunnel", encapsulation: "udp", wire_lens });
    }
    rows
}

/// Paper A, section 6: a voice packet of 60 bytes leaves as this many. RFC arithmetic agrees.
pub const PAPER_A_VOICE: (usize, usize) = (60, 152);

/// Paper B's packets with G.729 (60 bytes) and G.711 (200 bytes), and what its Table 2 takes them to be in ESP's tunnel
/// mode with 3DES-CBC and HMAC-SHA1-96.
///
/// The paper prints no such lengths: they are the only ones that give its four upper bounds (24.1, 23.2, 21.5 and 20.7
/// streams). They are 8 bytes short of RFC 2406 and 4303, which is the length of the initialization vector. Its
/// measured figures agree with the RFC's.
pub const PAPER_B_AS_COMPUTED: [(usize, usize); 2] = [(60, 104), (200, 248)];

/// The same packets as RFC 4303 has them, and as they leave here.
pub const PAPER_B_BY_RFC: [(usize, usize); 2] = [(60, 112), (200, 256)];

/// The parts as paper B has counted them: those of [`layers`] without the vector.
#[must_use]
pub fn paper_b_layers(packet_len: usize) -> Vec<Layer> {
    let mut layers = layers(Suite::TripleDesCbcHmacSha1, Mode::Tunnel, Encapsulation::Raw, packet_len);
    layers.retain(|layer| layer.name != "ESP vector");
    layers
}
