use crate::EmulatorError;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use tun_rs::{DeviceBuilder, SyncDevice};

/// One end of the emulated network: a TUN interface of the network in which it was opened, for as long as this value
/// lives. It has no addresses and is down until somebody sets it up.
pub struct Device {
    name: String,
    tun: SyncDevice,
}

impl Device {
    /// Makes an interface in the network of the calling thread. The kernel hands over packets no longer than its MTU,
    /// with all checksums made: there is no offload.
    ///
    /// # Errors
    /// If we may not make one, there is no `/dev/net/tun`, or the name is taken.
    pub fn open(name: &str) -> Result<Self, EmulatorError> {
        let failed = |error: io::Error| EmulatorError::Device {
            name: name.to_owned(),
            reason: error.to_string(),
            hint: hint(&error),
        };
        let builder = DeviceBuilder::new().name(name.to_owned()).enable(false).offload(false);
        let tun = builder.build_sync().map_err(failed)?;
        tun.set_nonblocking(true).map_err(failed)?;
        Ok(Self { name: name.to_owned(), tun })
    }

    /// The interface's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A packet that the kernel sends, if there is one.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.tun.recv(buffer)
    }

    /// Gives the kernel a packet.
    pub(crate) fn write(&self, packet: &[u8]) -> io::Result<usize> {
        self.tun.send(packet)
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

fn hint(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => "; run as root, or with the capability CAP_NET_ADMIN",
        Some(libc::EBUSY | libc::EINVAL) => "; is there an interface of that name already?",
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => "; is /dev/net/tun there? (`modprobe tun`)",
        _ => "",
    }
}
