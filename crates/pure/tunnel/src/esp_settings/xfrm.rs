//! The same associations for a Linux kernel, as commands of `ip`: so that a kernel can be the other end.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use zeroize::Zeroizing;

use super::EspSettings;
use super::hex::to_hex;
use crate::encapsulation::Encapsulation;
use crate::esp::{Keys, SaParameters, Suite};
use crate::overhead::Mode;
use crate::wireguard::Network;

/// Where the two ends are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XfrmEnds {
    /// The kernel's address.
    pub local: Ipv4Addr,
    /// The peer's address.
    pub peer: Ipv4Addr,
    /// The kernel's port, with UDP encapsulation. Some socket has to be bound to it with `UDP_ENCAP_ESPINUDP` (udp(7)).
    pub local_port: u16,
    /// The peer's port, with UDP encapsulation.
    pub peer_port: u16,
    /// What is behind the kernel, in tunnel mode.
    pub local_network: Network,
    /// What is behind the peer, in tunnel mode.
    pub peer_network: Network,
}

/// The largest anti-replay window that Linux takes (`XFRMA_REPLAY_ESN_MAX`, in words of 32 bits: 128).
const KERNEL_WINDOW_MAX: u32 = 4096;

/// One line per command: a kernel that obeys them stands in the place of whoever has these settings. Holds the keys.
#[must_use]
pub fn xfrm_commands(settings: &EspSettings, ends: &XfrmEnds) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(2_048));
    let (local, peer) = (ends.local, ends.peer);
    let ports = (ends.local_port, ends.peer_port);
    state(&mut text, settings, &settings.outbound, (local, peer), ports);
    state(&mut text, settings, &settings.inbound, (peer, local), (ports.1, ports.0));
    let mode = mode(settings);
    let (outward, inward) = match settings.mode {
        Mode::Tunnel => {
            let (here, there) = (ends.local_network, ends.peer_network);
            (format!("src {here} dst {there}"), format!("src {there} dst {here}"))
        }
        Mode::Transport | Mode::L2tp => {
            let ports = if settings.mode == Mode::L2tp { " proto udp sport 1701 dport 1701" } else { "" };
            (format!("src {local} dst {peer}{ports}"), format!("src {peer} dst {local}{ports}"))
        }
    };
    let (there, here) = (format!("src {local} dst {peer}"), format!("src {peer} dst {local}"));
    push(
        &mut text,
        format_args!("ip xfrm policy add {outward} dir out tmpl {there} proto esp mode {mode}\n"),
    );
    push(&mut text, format_args!("ip xfrm policy add {inward} dir in tmpl {here} proto esp mode {mode}\n"));
    if settings.mode == Mode::Tunnel {
        push(
            &mut text,
            format_args!("ip xfrm policy add {inward} dir fwd tmpl {here} proto esp mode {mode}\n"),
        );
    }
    text
}

fn mode(settings: &EspSettings) -> &'static str {
    if settings.mode == Mode::Tunnel { "tunnel" } else { "transport" }
}

fn state(
    text: &mut String,
    settings: &EspSettings,
    sa: &SaParameters,
    (from, to): (Ipv4Addr, Ipv4Addr),
    (source_port, destination_port): (u16, u16),
) {
    let (spi, mode) = (sa.spi, mode(settings));
    push(text, format_args!("ip xfrm state add src {from} dst {to} proto esp spi {spi:#010x} mode {mode}"));
    if settings.encapsulation == Encapsulation::Udp {
        push(text, format_args!(" encap espinudp {source_port} {destination_port} 0.0.0.0"));
    }
    push(text, format_args!(" replay-window {}", settings.window.min(KERNEL_WINDOW_MAX)));
    if sa.extended_sequence {
        text.push_str(" flag esn");
    }
    algorithms(text, &sa.keys);
    text.push('\n');
}

fn algorithms(text: &mut String, keys: &Keys) {
    let encryption = to_hex(keys.encryption());
    let authentication = to_hex(keys.authentication());
    let (cipher, hash) = match keys.suite() {
        Suite::TripleDesCbcHmacSha1 => ("cbc(des3_ede)", "hmac(sha1)"),
        Suite::Aes128CbcHmacMd5 => ("cbc(aes)", "hmac(md5)"),
        Suite::Aes128CbcHmacSha1 => ("cbc(aes)", "hmac(sha1)"),
        Suite::Aes128Gcm | Suite::Aes256Gcm => {
            return push(text, format_args!(" aead 'rfc4106(gcm(aes))' 0x{} 128", *encryption));
        }
        Suite::ChaCha20Poly1305 => {
            return push(text, format_args!(" aead 'rfc7539esp(chacha20,poly1305)' 0x{} 128", *encryption));
        }
    };
    push(
        text,
        format_args!(" enc '{cipher}' 0x{} auth-trunc '{hash}' 0x{} 96", *encryption, *authentication),
    );
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("a string takes all");
}
