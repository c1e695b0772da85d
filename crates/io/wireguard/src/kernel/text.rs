//! What `wg` and `ip` read, and what `wg` writes (wg(8)).

use super::KernelSettings;
use crate::{Peer, Status};
use guestright_tunnel::wireguard::PublicKey;
use guestright_units::{Bytes, UnixSeconds};
use std::fmt::Write as _;
use zeroize::Zeroizing;

/// What `wg setconf` reads: our own end.
pub(super) fn interface(settings: &KernelSettings) -> Zeroizing<String> {
    // Room for everything at once: a text that grows leaves copies of the secret behind.
    let mut text = Zeroizing::new(String::with_capacity(256));
    text.push_str("[Interface]\nPrivateKey = ");
    text.push_str(&settings.private_key.to_base64());
    text.push('\n');
    if let Some(port) = settings.listen_port {
        writeln!(text, "ListenPort = {port}").expect("a String takes everything");
    }
    if let Some(mark) = settings.mark {
        writeln!(text, "FwMark = {mark:#x}").expect("a String takes everything");
    }
    text
}

/// What `ip -batch` reads: addresses and MTU, then up.
pub(super) fn addresses(settings: &KernelSettings) -> String {
    let name = &settings.interface;
    let mut text = format!("link set dev {name} mtu {}\n", settings.mtu);
    for network in &settings.addresses {
        writeln!(text, "address add {network} dev {name}").expect("a String takes everything");
    }
    text + &format!("link set dev {name} up\n")
}

/// The arguments of `wg set` for a peer, and what it reads: the preshared key. An empty one means none.
pub(super) fn set_peer(interface: &str, peer: &Peer) -> (Vec<String>, Zeroizing<String>) {
    let mut arguments: Vec<String> =
        ["set", interface, "peer", &peer.public_key.to_string(), "preshared-key", "/dev/stdin"]
            .map(str::to_owned)
            .into();
    let networks: Vec<String> = peer.allowed_ips.iter().map(ToString::to_string).collect();
    arguments.extend(["allowed-ips".to_owned(), networks.join(",")]);
    if let Some(address) = peer.address {
        arguments.extend(["endpoint".to_owned(), address.to_string()]);
    }
    let keepalive = peer.keepalive_s.map_or("off".to_owned(), |seconds| seconds.to_string());
    arguments.extend(["persistent-keepalive".to_owned(), keepalive]);
    let secret = peer.preshared_key.as_ref().map_or_else(Zeroizing::default, |key| key.to_base64());
    (arguments, secret)
}

/// What `wg show INTERFACE dump` says: a line for our end, then one for each peer, with tabs between
/// key, preshared key, endpoint, allowed networks, latest handshake, received, sent, keep-alive.
///
/// # Errors
/// The line, from 1, and what is wrong with it.
pub(super) fn parse_dump(dump: &str) -> Result<Vec<Status>, (usize, &'static str)> {
    let mut peers = Vec::new();
    for (line, text) in (1..).zip(dump.lines()).skip(1) {
        peers.push(parse_peer(text).map_err(|reason| (line, reason))?);
    }
    Ok(peers)
}

fn parse_peer(line: &str) -> Result<Status, &'static str> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [key, _preshared, endpoint, _allowed, handshake, received, sent, _keepalive] = fields[..] else {
        return Err("expected 8 fields with tabs between them");
    };
    let public_key: PublicKey = key.parse()?;
    let address = match endpoint {
        "(none)" => None,
        address => Some(address.parse().map_err(|_| "an endpoint is no address and port")?),
    };
    let number = |text: &str| text.parse::<u64>().map_err(|_| "expected a number");
    let agreed = Some(number(handshake)?).filter(|seconds| *seconds > 0);
    Ok(Status {
        public_key,
        address,
        agreed: agreed.map(|seconds| UnixSeconds(seconds).time()),
        received: Bytes(number(received)?),
        sent: Bytes(number(sent)?),
    })
}

/// Bytes of datagrams both ways.
pub(super) fn transferred(status: &Status) -> u64 {
    status.received.0.saturating_add(status.sent.0)
}

/// Packets both ways of an interface in `/proc/net/dev` (proc(5)): the second number behind its name, and the tenth.
pub(super) fn packets(devices: &str, interface: &str) -> Option<u64> {
    let mut lines = devices.lines().filter_map(|line| line.split_once(':'));
    let (_, numbers) = lines.find(|(name, _)| name.trim() == interface)?;
    let mut numbers = numbers.split_whitespace().map(|number| number.parse::<u64>().ok());
    let (received, sent) = (numbers.nth(1)??, numbers.nth(7)??);
    received.checked_add(sent)
}

#[cfg(test)]
mod tests;
