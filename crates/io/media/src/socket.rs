use crate::MediaError;
use crate::ports::Lease;
use socket2::{Domain, Protocol, Type};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the kernel holds for one port, each way. (It counts the memory of a datagram, which is some four times a voice
/// packet.) A second of voice: what has waited longer than that is of no use to anybody.
const BUFFER_BYTES: usize = 48 << 10;
/// "Expedited forwarding" (RFC 3246), which is what RFC 4594, section 4.1, gives to telephony; Wi-Fi's access category
/// for voice follows from it (RFC 8325).
const EXPEDITED: u32 = 46 << 2;

/// One port of one side.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) socket: UdpSocket,
    /// Both ports of a side share a pair.
    pub(crate) lease: Arc<Lease>,
    /// Datagrams that the kernel would not send.
    pub(crate) unsent: AtomicU64,
}

impl Port {
    pub(crate) fn open(address: SocketAddr, lease: Arc<Lease>) -> Result<Self, MediaError> {
        let failed = |error: io::Error| MediaError::Socket { address, reason: error.to_string() };
        let protocol = Some(Protocol::UDP);
        let handle =
            socket2::Socket::new(Domain::for_address(address), Type::DGRAM, protocol).map_err(failed)?;
        handle.set_nonblocking(true).map_err(failed)?;
        // Otherwise "any" IPv6 address would take the port of IPv4, too, and write its addresses in another form.
        if address.is_ipv6() {
            handle.set_only_v6(true).map_err(failed)?;
        }
        handle.bind(&address.into()).map_err(failed)?;
        // None of these is a reason to have no call.
        let _ = handle.set_recv_buffer_size(BUFFER_BYTES);
        let _ = handle.set_send_buffer_size(BUFFER_BYTES);
        let _ = match address {
            SocketAddr::V4(_) => handle.set_tos_v4(EXPEDITED),
            SocketAddr::V6(_) => handle.set_tclass_v6(EXPEDITED),
        };
        Ok(Self { socket: handle.into(), lease, unsent: AtomicU64::new(0) })
    }

    pub(crate) fn send(&self, datagram: &[u8], to: SocketAddr) {
        if self.socket.send_to(datagram, to).is_err() {
            self.unsent.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many datagrams the kernel has dropped because nobody fetched them in time.
    pub(crate) fn dropped(&self) -> u64 {
        u64::from(drops(self.socket.as_fd()).unwrap_or_default())
    }
}

/// `SO_MEMINFO` (socket(7)): its ninth value is the number of drops (`SK_MEMINFO_DROPS`).
#[expect(unsafe_code, reason = "no safe crate of ours has this option")]
fn drops(fd: BorrowedFd<'_>) -> Option<u32> {
    const DROPS: usize = 8;
    let mut values = [0_u32; DROPS + 1];
    let mut length = libc::socklen_t::try_from(size_of_val(&values)).ok()?;
    // SAFETY: the descriptor is open as long as it is borrowed; both pointers are to variables on our stack, and the
    // kernel writes no more than the length that it is given, which is the size of the first one.
    let status = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            values.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    (status == 0 && usize::try_from(length) == Ok(size_of_val(&values))).then_some(values[DROPS])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::Ports;

    fn port() -> Port {
        let address = "127.0.0.1".parse().unwrap();
        let lease = Arc::new(
            Ports::new(40_000, 41_000, u64::from(std::process::id())).unwrap().allocate(address).unwrap(),
        );
        Port::open((address, 0).into(), lease).unwrap()
    }

    #[test]
    fn counts_what_the_kernel_drops() {
        let port = port();
        assert_eq!(port.dropped(), 0);
        let to = port.socket.local_addr().unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..2_000 {
            sender.send_to(&[0x80; 172], to).unwrap();
        }
        let mut kept = 0;
        while port.socket.recv(&mut [0; 2_048]).is_ok() {
            kept += 1;
        }
        assert!((20..1_000).contains(&kept), "{kept}");
        assert_eq!(port.dropped() + kept, 2_000);
    }

    #[test]
    fn what_cannot_be_sent_is_counted_and_lost() {
        let port = port();
        port.send(&[1; 100], "255.255.255.255:9".parse().unwrap());
        port.send(&[1; 70_000], port.socket.local_addr().unwrap());
        assert_eq!(port.unsent.load(Ordering::Relaxed), 2);
    }
}
