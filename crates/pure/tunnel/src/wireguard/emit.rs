//! The text from its parts.

use super::{Config, Interface, Peer};
use std::fmt::{Display, Write};
use zeroize::Zeroizing;

pub(super) fn emit(config: &Config) -> Zeroizing<String> {
    // Room for everything at once: a text that grows leaves copies of the secrets behind.
    let lines = 8 + config.peers.len() * 8;
    let lists: usize = config.peers.iter().map(|peer| peer.allowed_ips.len()).sum::<usize>()
        + config.interface.addresses.len()
        + config.interface.dns.len()
        + config.interface.search.len();
    let room = lines * 300 + lists * 260;
    let mut text = Zeroizing::new(String::with_capacity(room));
    interface(&mut text, &config.interface);
    for each in &config.peers {
        text.push('\n');
        peer(&mut text, each);
    }
    debug_assert!(text.len() <= room, "{} bytes for room of {room}", text.len());
    text
}

fn interface(text: &mut String, interface: &Interface) {
    text.push_str("[Interface]\n");
    setting(text, "PrivateKey", interface.private_key.to_base64().as_str());
    list(text, "Address", interface.addresses.iter());
    let servers = interface.dns.iter().map(ToString::to_string);
    list(text, "DNS", servers.chain(interface.search.iter().cloned()));
    list(text, "MTU", interface.mtu.iter());
    list(text, "ListenPort", interface.listen_port.iter());
    list(text, "FwMark", interface.fwmark.iter().map(|mark| format!("{mark:#x}")));
}

fn peer(text: &mut String, peer: &Peer) {
    text.push_str("[Peer]\n");
    setting(text, "PublicKey", peer.public_key);
    if let Some(key) = &peer.preshared_key {
        setting(text, "PresharedKey", key.to_base64().as_str());
    }
    list(text, "AllowedIPs", peer.allowed_ips.iter());
    list(text, "Endpoint", peer.endpoint.iter());
    list(text, "PersistentKeepalive", peer.persistent_keepalive.iter());
}

fn setting(text: &mut String, key: &str, value: impl Display) {
    writeln!(text, "{key} = {value}").expect("a String takes everything");
}

/// One line for all values, none for no value.
fn list(text: &mut String, key: &str, values: impl Iterator<Item = impl Display>) {
    let values: Vec<String> = values.map(|value| value.to_string()).collect();
    if !values.is_empty() {
        setting(text, key, values.join(", "));
    }
}
