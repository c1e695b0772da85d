mod text;
mod tool;

use crate::{OUTER_HEADERS, Peer, Status, WireGuardError};
use guestright_tunnel::wireguard::{Network, PrivateKey, PublicKey};
use guestright_units::Bytes;
use portable_atomic::AtomicU64;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Seconds of a keep-alive that is set for a moment, because the kernel sends one at once when it is.
const NUDGE_S: u16 = 25;
/// Interfaces and their counts (proc(5)).
const DEVICES: &str = "/proc/thread-self/net/dev";
/// The shortest message that is counted, a keep-alive (WireGuard paper §5.4.6).
const MESSAGE_MIN: u64 = 32;

/// What the kernel's interface is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSettings {
    /// Its name, 1 to 15 letters. There may be no interface of that name yet.
    pub interface: String,
    pub private_key: PrivateKey,
    pub addresses: Vec<Network>,
    /// Its MTU in bytes.
    pub mtu: u16,
    /// The UDP port; any free one if there is none.
    pub listen_port: Option<u16>,
    /// What datagrams are marked with.
    pub mark: Option<u32>,
}

/// Whether the kernel can carry WireGuard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Support {
    /// It can, and `wg` is there to tell it how.
    Yes,
    /// It cannot, or we may not, or a program is missing: in words.
    No(String),
}

/// The kernel's WireGuard. Its interface goes when this value is dropped.
#[derive(Debug)]
pub struct Kernel {
    interface: String,
    public: PublicKey,
    /// What we have set, to set it again.
    peers: Mutex<BTreeMap<PublicKey, Peer>>,
    /// What the kernel had counted of peers that it forgot for a handshake.
    forgotten: AtomicU64,
}

impl Kernel {
    /// Whether the kernel has WireGuard and lets us use it, found out by making an interface and removing it.
    #[must_use]
    pub fn probe() -> Support {
        const NAME: &str = "gr-wg-probe";
        if let Err(error) = tool::run("wg", &["--version"], "") {
            return Support::No(error.to_string());
        }
        match tool::run("ip", &["link", "add", "dev", NAME, "type", "wireguard"], "") {
            Ok(_) => {
                // If it cannot be removed now, the next probe says that it is there.
                let _ = tool::run("ip", &["link", "delete", "dev", NAME], "");
                Support::Yes
            }
            Err(error) => Support::No(error.to_string()),
        }
    }

    /// Makes the interface without peers and brings it up.
    ///
    /// # Errors
    /// If `ip` or `wg` fails. Then there is no interface.
    pub fn open(settings: &KernelSettings) -> Result<Self, WireGuardError> {
        let interface = settings.interface.clone();
        tool::run("ip", &["link", "add", "dev", &interface, "type", "wireguard"], "")?;
        // From here on, dropping removes the interface.
        let (public, peers) = (settings.private_key.public(), Mutex::new(BTreeMap::new()));
        let kernel = Self { interface, public, peers, forgotten: AtomicU64::new(0) };
        let interface = &kernel.interface;
        tool::run("wg", &["setconf", interface, "/dev/stdin"], &text::interface(settings))?;
        tool::run("ip", &["-batch", "-"], &text::addresses(settings))?;
        Ok(kernel)
    }

    /// The interface's name.
    #[must_use]
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// Adds a peer, or changes one; what is agreed with it stays, and other peers notice nothing.
    ///
    /// # Errors
    /// If it is ourselves, or `wg` fails.
    pub fn set_peer(&self, peer: &Peer) -> Result<(), WireGuardError> {
        let key = peer.public_key;
        if key == self.public {
            return Err(WireGuardError::OwnKey { key });
        }
        let (arguments, input) = text::set_peer(&self.interface, peer);
        let mut peers = self.lock();
        tool::run("wg", &arguments.iter().map(String::as_str).collect::<Vec<_>>(), &input)?;
        peers.insert(key, peer.clone());
        Ok(())
    }

    /// Removes a peer.
    ///
    /// # Errors
    /// If there is none with this key, or `wg` fails.
    pub fn remove_peer(&self, key: &PublicKey) -> Result<(), WireGuardError> {
        let mut peers = self.lock();
        if !peers.contains_key(key) {
            return Err(WireGuardError::NoPeer { key: *key });
        }
        tool::run("wg", &["set", &self.interface, "peer", &key.to_string(), "remove"], "")?;
        peers.remove(key);
        Ok(())
    }

    /// Begins a handshake with the peer. The kernel begins one when it wants to send and has no keys: so the peer is
    /// forgotten and set again, at the address where it is now, and a keep-alive sent.
    ///
    /// # Errors
    /// If there is none with this key, or `wg` fails.
    pub fn initiate(&self, key: &PublicKey) -> Result<(), WireGuardError> {
        let mut peer = self.lock().get(key).cloned().ok_or(WireGuardError::NoPeer { key: *key })?;
        let now = self.status()?.into_iter().find(|status| status.public_key == *key);
        peer.address = now.as_ref().and_then(|status| status.address).or(peer.address);
        self.remove_peer(key)?;
        self.forgotten.fetch_add(now.map_or(0, |status| text::transferred(&status)), Ordering::Relaxed);
        self.set_peer(&Peer { keepalive_s: None, ..peer.clone() })?;
        self.set_peer(&Peer { keepalive_s: Some(peer.keepalive_s.unwrap_or(NUDGE_S)), ..peer.clone() })?;
        self.set_peer(&peer)
    }

    /// How it stands with each peer, in the order of their keys.
    ///
    /// # Errors
    /// If `wg` fails.
    pub fn status(&self) -> Result<Vec<Status>, WireGuardError> {
        let arguments = ["show", &self.interface, "dump"];
        let dump = tool::run("wg", &arguments, "")?;
        let mut peers = text::parse_dump(&dump).map_err(|(line, reason)| WireGuardError::Answer {
            command: tool::line("wg", &arguments),
            line,
            reason,
        })?;
        peers.sort_by_key(|status| status.public_key);
        Ok(peers)
    }

    /// Bytes of the authentic datagrams of all peers and of those to them, as IPv4 packets.
    ///
    /// The kernel adds a datagram to its peer's bytes and to the interface's packets only once its seal or its handshake
    /// holds and it is no repetition (`update_rx_stats` in drivers/net/wireguard/receive.c), and one that it sent when it was
    /// sent. Both are counts of datagrams, also where the packets inside are handled as super-frames. So bytes and 28 for
    /// each packet are what an access point counts, but for what is lost between the two.
    ///
    /// # Errors
    /// If `wg` fails, or the interface is gone.
    pub fn carried(&self) -> Result<Bytes, WireGuardError> {
        let packets = self.packets()?; // First: what comes in between is bytes without its headers, not the reverse.
        let bytes = self.status()?.iter().map(text::transferred).sum::<u64>();
        Ok(with_headers(bytes.saturating_add(self.forgotten.load(Ordering::Relaxed)), packets))
    }

    /// The same of one peer at most; nothing if there is none with this key.
    ///
    /// # Errors
    /// If `wg` fails, or the interface is gone.
    pub fn carried_for(&self, key: &PublicKey) -> Result<Option<Bytes>, WireGuardError> {
        let packets = self.packets()?;
        let status = self.status()?.into_iter().find(|status| status.public_key == *key);
        Ok(status.map(|status| with_headers(text::transferred(&status), packets)))
    }

    /// Datagrams of all peers, both ways.
    fn packets(&self) -> Result<u64, WireGuardError> {
        let devices = std::fs::read_to_string(DEVICES).unwrap_or_default();
        text::packets(&devices, &self.interface).ok_or_else(|| WireGuardError::Failed {
            command: DEVICES.to_owned(),
            reason: format!("there is no interface {}", self.interface),
        })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PublicKey, Peer>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes of so many datagrams at most, as IPv4 packets. No message is shorter than a keep-alive, so there cannot be more.
fn with_headers(bytes: u64, datagrams: u64) -> Bytes {
    Bytes(bytes.saturating_add(OUTER_HEADERS * datagrams.min(bytes / MESSAGE_MIN)))
}

impl Drop for Kernel {
    fn drop(&mut self) {
        if let Err(error) = tool::run("ip", &["link", "delete", "dev", &self.interface], "") {
            tracing::warn!(%error, "the interface stays");
        }
    }
}
