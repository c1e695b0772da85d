use crate::TunError;
use guestright_tunnel::Run;
use portable_atomic::AtomicU64;
use quinn_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, Type};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::sync::atomic::Ordering;

/// Bytes that the kernel holds for us and from us: some milliseconds at a gigabit.
const BUFFER_BYTES: usize = 4 << 20;
/// `IP_PMTUDISC_OMIT` (ip(7)): never set "don't fragment", and believe nobody about the path's MTU.
const PATH_MTU_OMIT: libc::c_int = 5;

/// What a socket is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketSettings {
    /// Where to listen; port 0 for any free one. `[::]` is for IPv4 and IPv6.
    pub bind: SocketAddr,
    /// What datagrams are marked with (`SO_MARK` in socket(7)), for rules of routing and firewall.
    pub mark: Option<u32>,
    /// Whether equally long datagrams leave with one call. Off is slower, and for measurements.
    pub offload: bool,
}

/// A UDP socket for a tunnel.
#[derive(Debug)]
pub struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
    v6: bool,
    offload: bool,
    /// Runs that had to be sent one datagram at a time.
    pub(crate) split: AtomicU64,
    /// Datagrams that the kernel would not send.
    pub(crate) unsent: AtomicU64,
}

impl Default for SocketSettings {
    fn default() -> Self {
        Self { bind: (Ipv4Addr::UNSPECIFIED, 0).into(), mark: None, offload: true }
    }
}

impl Socket {
    /// Opens a socket.
    ///
    /// # Errors
    /// If the address is taken or not ours, or the mark is not allowed to us.
    pub fn open(settings: &SocketSettings) -> Result<Self, TunError> {
        let address = settings.bind;
        let failed = |error: io::Error| TunError::Bind { address, reason: error.to_string() };
        let handle = socket2::Socket::new(Domain::for_address(address), Type::DGRAM, None).map_err(failed)?;
        if address.is_ipv6() {
            handle.set_only_v6(false).map_err(failed)?;
        }
        handle.bind(&address.into()).map_err(failed)?;
        if let Some(mark) = settings.mark {
            handle.set_mark(mark).map_err(|error| option("SO_MARK", &error))?;
        }
        // The kernel gives less if that is too much for it; that costs packets under load, nothing else.
        let _ = handle.set_recv_buffer_size(BUFFER_BYTES);
        let _ = handle.set_send_buffer_size(BUFFER_BYTES);
        let socket = UdpSocket::from(handle);
        let state =
            UdpSocketState::new(UdpSockRef::from(&socket)).map_err(|error| option("UDP_GRO", &error))?;
        let socket = Self {
            socket,
            state,
            v6: address.is_ipv6(),
            offload: settings.offload,
            split: AtomicU64::new(0),
            unsent: AtomicU64::new(0),
        };
        socket.undo()?;
        Ok(socket)
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn address(&self) -> Result<SocketAddr, TunError> {
        self.socket.local_addr().map_err(|error| TunError::SocketLost { reason: error.to_string() })
    }

    /// Marks datagrams from now on.
    ///
    /// # Errors
    /// If that is not allowed to us.
    pub fn set_mark(&self, mark: u32) -> Result<(), TunError> {
        socket2::SockRef::from(&self.socket).set_mark(mark).map_err(|error| option("SO_MARK", &error))
    }

    /// What came in, into one buffer each: how many.
    pub(crate) fn receive(
        &self,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> io::Result<usize> {
        self.state.recv(UdpSockRef::from(&self.socket), buffers, metas)
    }

    /// Sends a run; a datagram that cannot be sent is counted and lost, as datagrams are.
    pub(crate) fn send(&self, run: Run<'_>) {
        if !possible(run.to) {
            self.unsent.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let single = run.bytes.len() <= run.segment;
        if single || !self.offload || self.state.max_gso_segments() < 2 {
            run.datagrams().for_each(|datagram| self.send_single(run.to, datagram));
            return;
        }
        // The kernel takes fewer at once if it is an older one.
        for bytes in run.bytes.chunks(run.segment * self.state.max_gso_segments()) {
            // It refuses segments that need fragments, and interfaces that cannot do checksums (udp(7)). Then they
            // go one by one: in fragments, with checksums.
            if self.transmit(run.to, bytes, Some(run.segment)).is_err() {
                self.split.fetch_add(1, Ordering::Relaxed);
                bytes.chunks(run.segment).for_each(|datagram| self.send_single(run.to, datagram));
            }
        }
    }

    fn send_single(&self, to: SocketAddr, datagram: &[u8]) {
        // An error of an earlier datagram (ICMP) may be reported here instead of sending this one.
        if self.transmit(to, datagram, None).is_err() && self.transmit(to, datagram, None).is_err() {
            self.unsent.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn transmit(&self, to: SocketAddr, contents: &[u8], segment: Option<usize>) -> io::Result<()> {
        let segment_size = segment.filter(|segment| *segment < contents.len());
        let transmit =
            Transmit { destination: self.outward(to), ecn: None, contents, segment_size, src_ip: None };
        loop {
            match self.state.try_send(UdpSockRef::from(&self.socket), &transmit) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait_for_room(),
                sent => return sent,
            }
        }
    }

    /// Waits until the kernel has sent some of what it holds for us. It holds 4 MB: that is soon.
    fn wait_for_room(&self) {
        let mut wanted = [PollFd::new(&self.socket, PollFlags::OUT)];
        let _ = poll(&mut wanted, Some(&Timespec { tv_sec: 1, tv_nsec: 0 }));
    }

    /// Takes back what suits QUIC, whose library opens the socket, and not a tunnel.
    ///
    /// QUIC forbids fragments, to find the path's MTU. A tunnel would be a black hole where that is below ours. The
    /// time of arrival and the address of arrival would be told with every datagram, and nobody asks.
    fn undo(&self) -> Result<(), TunError> {
        let v6 = self.v6;
        let fd = self.socket.as_fd();
        if v6 {
            set(fd, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, PATH_MTU_OMIT, "IPV6_MTU_DISCOVER")?;
            set(fd, libc::IPPROTO_IPV6, libc::IPV6_DONTFRAG, 0, "IPV6_DONTFRAG")?;
            set(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 0, "IPV6_RECVPKTINFO")?;
            set(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 0, "IPV6_RECVTCLASS")?;
        } else {
            set(fd, libc::IPPROTO_IP, libc::IP_PKTINFO, 0, "IP_PKTINFO")?;
        }
        // A socket of IPv6 carries IPv4 too, and has both options.
        set(fd, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, PATH_MTU_OMIT, "IP_MTU_DISCOVER")?;
        set(fd, libc::IPPROTO_IP, libc::IP_RECVTOS, 0, "IP_RECVTOS")?;
        set(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 0, "SO_TIMESTAMPNS")
    }

    /// The address in the form that the socket takes: one of IPv6 carries IPv4 in addresses of its own.
    fn outward(&self, to: SocketAddr) -> SocketAddr {
        match to.ip() {
            IpAddr::V4(v4) if self.v6 => (v4.to_ipv6_mapped(), to.port()).into(),
            IpAddr::V4(_) | IpAddr::V6(_) => to,
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Whether a datagram may be sent there. The library gives up segmentation for good when the kernel finds an address
/// impossible, so those stay here.
fn possible(to: SocketAddr) -> bool {
    let aimless = match to {
        SocketAddr::V4(v4) => v4.ip().is_broadcast(),
        SocketAddr::V6(v6) => v6.ip().is_unicast_link_local() && v6.scope_id() == 0,
    };
    to.port() != 0 && !to.ip().is_unspecified() && !to.ip().is_multicast() && !aimless
}

#[expect(unsafe_code, reason = "no safe crate of ours has these options")]
fn set(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
    what: &'static str,
) -> Result<(), TunError> {
    // A c_int has a size that a socklen_t holds.
    let length = libc::socklen_t::try_from(size_of::<libc::c_int>()).unwrap_or_default();
    // SAFETY: the descriptor is open as long as it is borrowed; the pointer is to a c_int on our stack, whose size is
    // given, and the kernel only reads it during the call.
    let status = unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, (&raw const value).cast(), length) };
    if status == 0 { Ok(()) } else { Err(option(what, &io::Error::last_os_error())) }
}

fn option(option: &'static str, error: &io::Error) -> TunError {
    let hint = match error.raw_os_error() {
        Some(libc::EPERM) => "; run as root, or with the capability CAP_NET_ADMIN",
        _ => "",
    };
    TunError::Option { option, reason: error.to_string(), hint }
}

#[cfg(test)]
mod tests;
