mod text;
mod tool;

use crate::{Peer, Status, WireGuardError};
use guestright_tunnel::wireguard::{Network, PrivateKey, PublicKey};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Seconds of a keep-alive that is set for a moment, because the kernel sends one at once when it is.
const NUDGE_S: u16 = 25;

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
        let kernel =
            Self { interface, public: settings.private_key.public(), peers: Mutex::new(BTreeMap::new()) };
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
        peer.address = now.and_then(|status| status.address).or(peer.address);
        self.remove_peer(key)?;
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

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PublicKey, Peer>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        if let Err(error) = tool::run("ip", &["link", "delete", "dev", &self.interface], "") {
            tracing::warn!(%error, "the interface stays");
        }
    }
}
