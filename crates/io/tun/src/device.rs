use crate::TunError;
use guestright_command::system_command;
use guestright_tunnel::Datagrams;
use std::io::{self, IoSlice, Write as _};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::Stdio;
use tun_rs::{DeviceBuilder, SyncDevice};

/// What sealing may add to a packet.
const OVERHEAD_MAX: usize = 80;
/// Packets that the kernel holds for us while we are busy. The usual 500 lose some of a burst of small ones.
const QUEUE_LENGTH: u32 = 1_000;

/// What an interface is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSettings {
    /// Its name, 1 to 15 letters. There may be no interface of that name yet.
    pub name: String,
    /// Its addresses, each with the length of the network around it.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Its MTU in bytes: the largest inner packet. For larger ones the kernel sends ICMP.
    pub mtu: u16,
    /// Whether large segments are taken from and given to the kernel. Off is slower, and for measurements.
    pub offload: bool,
}

/// A TUN interface, which is there as long as this value is.
pub struct Device {
    name: String,
    tun: SyncDevice,
    udp: bool,
}

impl DeviceSettings {
    /// What WireGuard's interfaces have: 1,500 less 20 or 40 for IP, 8 for UDP and 32 of its own.
    pub const WIREGUARD_MTU: u16 = 1_420;
    /// What leaves room for every suite of ESP in UDP.
    pub const ESP_MTU: u16 = 1_400;

    /// An interface without addresses, with offload.
    #[must_use]
    pub fn new(name: &str, mtu: u16) -> Self {
        Self { name: name.to_owned(), addresses: Vec::new(), mtu, offload: true }
    }

    fn check(&self) -> Result<(), TunError> {
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let name = &self.name;
        if name.is_empty() || name.len() > 15 || !name.bytes().all(letter) || name.starts_with(['-', '.']) {
            return Err(TunError::Name { got: name.clone() });
        }
        // 65,535 less what sealing and the outer headers add at most.
        if !(576..=65_475).contains(&self.mtu) {
            return Err(TunError::Mtu { got: self.mtu });
        }
        Ok(())
    }
}

impl Device {
    /// Makes the interface, gives it its addresses, and brings it up.
    ///
    /// # Errors
    /// If the settings cannot be, there is an interface of that name, we may not make one, or `ip` fails. Then there
    /// is no interface.
    pub fn open(settings: &DeviceSettings) -> Result<Self, TunError> {
        settings.check()?;
        let name = settings.name.clone();
        let failed = |error: io::Error| TunError::Device {
            name: name.clone(),
            reason: error.to_string(),
            hint: hint(&error),
        };
        let tun = DeviceBuilder::new()
            .name(name.clone())
            .enable(false)
            .offload(settings.offload)
            .build_sync()
            .map_err(failed)?;
        tun.set_nonblocking(true).map_err(failed)?;
        let device = Self { udp: settings.offload && tun.udp_gso(), tun, name };
        device.configure(settings)?;
        Ok(device)
    }

    /// The interface's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether what is read and written begins with the kernel's header for large segments.
    pub(crate) fn offload(&self) -> bool {
        self.tun.tcp_gso()
    }

    /// Whether the kernel takes segments of UDP.
    pub(crate) fn udp_offload(&self) -> bool {
        self.udp
    }

    /// One packet or segment, if there is one.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.tun.recv(buffer)
    }

    /// One packet or segment, in pieces.
    pub(crate) fn write(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        self.tun.send_vectored(pieces)
    }

    fn configure(&self, settings: &DeviceSettings) -> Result<(), TunError> {
        let name = &self.name;
        let mut commands = format!("link set dev {name} mtu {}\n", settings.mtu);
        for (address, length) in &settings.addresses {
            commands += &format!("address add {address}/{length} dev {name}\n");
        }
        commands += &format!("link set dev {name} up\n");
        ip_batch(&commands)?;
        // A segment that is sealed into more than one run of datagrams can take needs a second call for the rest.
        let run = Datagrams::RUN_BYTES_MAX / (usize::from(settings.mtu) + OVERHEAD_MAX);
        let packets = run.clamp(1, Datagrams::RUN_MAX);
        let wishes = [format!("gso_max_segs {packets}"), format!("txqueuelen {QUEUE_LENGTH}")];
        for wish in wishes {
            // An old `ip`, or kernel: then it is slower.
            if let Err(error) = ip_batch(&format!("link set dev {name} {wish}\n")) {
                tracing::debug!(%error, wish, "the interface stays as it was");
            }
        }
        Ok(())
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({})", self.name)
    }
}

fn ip_batch(commands: &str) -> Result<(), TunError> {
    let failed =
        |reason: String| TunError::Configure { command: commands.trim().replace('\n', "; "), reason };
    let mut child = system_command("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("{error}; it is in the package iproute2")))?;
    // If `ip` ends before it has read everything, its exit status says why.
    let _ = child.stdin.take().expect("stdin is a pipe").write_all(commands.as_bytes());
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

fn hint(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => "; run as root, or with the capability CAP_NET_ADMIN",
        Some(libc::EBUSY | libc::EINVAL) => "; is there an interface of that name already?",
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => "; is /dev/net/tun there? (`modprobe tun`)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sizes_that_cannot_be_are_refused_before_anything_is_made() {
        for name in ["", "0123456789abcdef", "a b", "a/b", "..", "-batch", "a\nb"] {
            let error = Device::open(&DeviceSettings::new(name, 1_420)).unwrap_err();
            assert_eq!(error, TunError::Name { got: name.to_owned() });
        }
        for got in [0, 575, 65_476] {
            assert_eq!(Device::open(&DeviceSettings::new("gr0", got)).unwrap_err(), TunError::Mtu { got });
        }
    }
}
