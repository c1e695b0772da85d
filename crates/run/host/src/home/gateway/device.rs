//! WireGuard itself: the kernel's, or ours between a TUN device and a socket.

use super::memory::Memory;
use super::{Backend, Settings};
use crate::gateway_files::{GatewayFiles, Member};
use guestright_command::system_command;
use guestright_error::{OrFail as _, RunError};
use guestright_tun::Pump;
use guestright_tunnel::wireguard::{Network, PublicKey};
use guestright_units::Bytes;
use guestright_wireguard::{Kernel, KernelSettings, Peer, Status, Support, Tunnel};
use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::Arc;

/// For who has a kernel without WireGuard, and no more than that.
const KERNEL_ALONE: &str = "load the kernel's module wireguard and install wireguard-tools; other builds of guestright have a \
                            WireGuard of their own (feature userspace)";

/// A running WireGuard. Its device is gone when this is dropped.
#[derive(Debug)]
pub(super) struct Device {
    tunnel: Tunnel,
    /// What carries the packets if the kernel does not.
    pump: Option<Pump>,
}

impl Device {
    /// Makes the device. It answers nobody until [`admit`](Self::admit).
    pub(super) fn open(settings: &Settings, files: &GatewayFiles) -> Result<Self, RunError> {
        match settings.backend {
            Backend::Userspace => Self::userspace(settings, files),
            Backend::Kernel => Self::kernel(settings, files),
            Backend::Auto => match Kernel::probe() {
                Support::Yes => Self::kernel(settings, files),
                Support::No(reason) => {
                    tracing::info!(reason, "the kernel does not do WireGuard for us; this program does");
                    Self::userspace(settings, files)
                }
            },
        }
    }

    /// Lets the members in; those that are remembered are where they were.
    pub(super) fn admit(&self, members: &[Member], memory: &Memory) -> Result<(), RunError> {
        members.iter().try_for_each(|member| {
            let mut peer = peer(member);
            peer.address = memory.endpoint(&member.public_key);
            self.tunnel.set_peer(&peer).map_err(RunError::network)
        })
    }

    fn kernel(settings: &Settings, files: &GatewayFiles) -> Result<Self, RunError> {
        clean_up(settings, files)?;
        let network = Network::new(files.address().into(), files.network.1);
        let kernel = Kernel::open(&KernelSettings {
            interface: settings.interface.clone(),
            private_key: files.private_key()?,
            addresses: network.into_iter().collect(),
            mtu: files.file.mtu,
            listen_port: Some(files.file.port),
            mark: None,
        });
        let hint = if cfg!(feature = "userspace") {
            "leave out `backend`, or set it to \"userspace\", if the kernel has no WireGuard"
        } else {
            KERNEL_ALONE
        };
        let kernel = kernel.map_err(|error| RunError::network(error).with_hint(hint))?;
        Ok(Self { tunnel: Tunnel::Kernel(Arc::new(kernel)), pump: None })
    }

    #[cfg(not(feature = "userspace"))]
    fn userspace(_: &Settings, _: &GatewayFiles) -> Result<Self, RunError> {
        Err(RunError::config("this program was built without a WireGuard of its own").with_hint(KERNEL_ALONE))
    }

    #[cfg(feature = "userspace")]
    fn userspace(settings: &Settings, files: &GatewayFiles) -> Result<Self, RunError> {
        use guestright_tun::DeviceSettings;
        use guestright_tunnel::Endpoint;
        use guestright_wireguard::{Userspace, UserspaceSettings};

        let end = Arc::new(Userspace::new(&files.private_key()?, UserspaceSettings::default()));
        let mut device = DeviceSettings::new(&settings.interface, files.file.mtu);
        device.addresses.push((files.address().into(), files.network.1));
        let hint = "a home with a gateway needs root, or the capability NET_ADMIN and /dev/net/tun";
        let device = guestright_tun::Device::open(&device)
            .map_err(|error| RunError::network(error).with_hint(hint))?;
        let socket = socket(files.file.port)?;
        let lost = |error| tracing::error!(%error, "the gateway's tunnel has ended; stop the home and start it again");
        let pump = Pump::start(device, socket, Arc::clone(&end) as Arc<dyn Endpoint>, lost);
        Ok(Self { tunnel: Tunnel::Userspace(end), pump: Some(pump.map_err(RunError::network)?) })
    }

    /// Begins a handshake with a member that was remembered.
    pub(super) fn begin_handshake(&self, key: &PublicKey) {
        if let Err(error) = self.tunnel.initiate(key) {
            tracing::debug!(%error, "no handshake with a member was begun");
        }
        if let Some(pump) = &self.pump {
            pump.kick();
        }
    }

    /// Lets these members in and no others. Nobody who stays notices.
    pub(super) fn set_members(&self, members: &[Member]) -> Result<(), RunError> {
        let wanted: BTreeSet<PublicKey> = members.iter().map(|member| member.public_key).collect();
        for status in self.tunnel.status().map_err(RunError::network)? {
            if !wanted.contains(&status.public_key) {
                self.tunnel.remove_peer(&status.public_key).map_err(RunError::network)?;
            }
        }
        members.iter().try_for_each(|member| self.tunnel.set_peer(&peer(member)).map_err(RunError::network))
    }

    /// How it stands with each member.
    pub(super) fn peers(&self) -> Vec<Status> {
        self.tunnel.status().unwrap_or_else(|error| {
            tracing::warn!(%error, "WireGuard does not say where members are");
            Vec::new()
        })
    }

    /// What was authentic of a member's tunnel, both ways, at most; nothing if that cannot be known now.
    pub(super) fn carried_for(&self, key: &PublicKey) -> Option<Bytes> {
        self.tunnel.carried_for(key).ok()?
    }

    /// Who carries the packets.
    pub(super) fn backend(&self) -> &'static str {
        match self.tunnel {
            Tunnel::Userspace(_) => "userspace",
            Tunnel::Kernel(_) => "kernel",
        }
    }

    /// Packets that WireGuard dropped, by reason. The kernel does not say.
    pub(super) fn drops(&self) -> Vec<(String, u64)> {
        let counters = self.tunnel.counters();
        let drops = counters.iter().flat_map(|counters| counters.drops());
        drops.map(|(reason, count)| (reason.name().to_owned(), count)).collect()
    }
}

/// Removes the kernel's device that a killed home has left behind: it is ours if it has our key. Says whether there was
/// one. (A device of our own ends with the program.)
pub(super) fn clean_up(settings: &Settings, files: &GatewayFiles) -> Result<bool, RunError> {
    let interface = settings.interface.as_str();
    let shown = system_command("wg").args(["show", interface, "public-key"]).stdin(Stdio::null()).output();
    let Some(key) = shown.ok().filter(|shown| shown.status.success()) else { return Ok(false) };
    if String::from_utf8_lossy(&key.stdout).trim() != files.private_key()?.public().to_string() {
        return Ok(false);
    }
    let removed =
        system_command("ip").args(["link", "delete", "dev", interface]).stdin(Stdio::null()).output();
    let removed = removed.or_network(|| format!("remove the device {interface}"))?;
    if removed.status.success() {
        return Ok(true);
    }
    let reason = String::from_utf8_lossy(&removed.stderr).trim().to_owned();
    Err(RunError::network(format!("the device {interface} could not be removed: {reason}")))
}

fn peer(member: &Member) -> Peer {
    let mut peer = Peer::new(member.public_key);
    peer.preshared_key = Some(member.preshared_key.clone());
    peer.allowed_ips.push(Network::host(member.address.into()));
    peer
}

/// IPv6 and IPv4 at once where there is IPv6, else IPv4.
#[cfg(feature = "userspace")]
fn socket(port: u16) -> Result<guestright_tun::Socket, RunError> {
    use guestright_tun::{Socket, SocketSettings};
    use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

    let open = |bind: SocketAddr| Socket::open(&SocketSettings { bind, ..SocketSettings::default() });
    open((Ipv6Addr::UNSPECIFIED, port).into())
        .or_else(|_| open((Ipv4Addr::UNSPECIFIED, port).into()))
        .map_err(|error| {
            RunError::network(error)
                .with_hint("is another WireGuard running at this port? `ss -lun` shows what listens")
        })
}
