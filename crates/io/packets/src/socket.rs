//! A packet socket (packet(7)).

use crate::PacketsError;
use crate::filter;
use crate::receive::{Packet, Received, Room};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use socket2::{Domain, SockAddr, SockAddrStorage, Socket, Type};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// So much of each packet is copied: a jumbo frame, and SIP messages of a usual length.
pub const SNAP_MAX: u32 = 9_216;
/// Both directions of both IP versions.
const ALL_PROTOCOLS: u16 = 0x0003;
/// ARPHRD_LOOPBACK (linux/if_arp.h).
const LOOPBACK: u16 = 772;

/// The IP packets with UDP that pass one interface.
///
/// Call [`Packets::wait`], then [`Packets::fetch`]; after each fetch [`Packets::drops`], before what was fetched is looked
/// at: a gap that the kernel made lies in what comes after.
#[derive(Debug)]
pub struct Packets {
    interface: String,
    socket: Socket,
    bell: Arc<OwnedFd>,
    room: Room,
    received: Vec<Received>,
    /// When the kernel was last asked for its drops.
    asked_ns: u64,
}

/// Packets that the kernel had no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drops {
    pub count: u64,
    /// They were dropped after this time, nanoseconds since the Unix epoch.
    pub from_ns: u64,
    /// And before this one.
    pub to_ns: u64,
}

/// Ends a wait, from any thread.
#[derive(Clone, Debug)]
pub struct Bell(Arc<OwnedFd>);

impl Bell {
    pub fn ring(&self) {
        // It cannot be full: a counter of 64 bits.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// There are packets.
    Packets,
    /// The bell rang.
    Bell,
    /// Nothing happened in that time.
    Timeout,
}

impl Packets {
    /// Watches an interface. The kernel keeps `buffer_bytes` of what was not fetched yet, or as much as it permits.
    ///
    /// # Errors
    /// No such interface, no privilege, or the system refuses.
    pub fn open(interface: &str, buffer_bytes: usize) -> Result<Self, PacketsError> {
        let failed = |what| move |error: io::Error| PacketsError::new(what, interface, error);
        // Without a protocol nothing is received, until it is bound.
        let socket =
            Socket::new(Domain::PACKET, Type::DGRAM, None).map_err(failed("open a packet socket"))?;
        let index = rustix::net::netdevice::name_to_index(&socket, interface)
            .map_err(|_| PacketsError::NoInterface { got: interface.to_owned() })?;
        socket.set_nonblocking(true).map_err(failed("use a packet socket"))?;
        let snap = SNAP_MAX;
        // Packets of the loopback interface leave and come in.
        let once =
            hardware_type(&socket, index).map_err(failed("ask for the kind of interface"))? == LOOPBACK;
        socket.attach_filter(&filter::udp(snap, once)).map_err(failed("filter packets"))?;
        set_option(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1).map_err(failed("ask for times"))?;
        let bytes = libc::c_int::try_from(buffer_bytes).unwrap_or(libc::c_int::MAX);
        // Beyond the system's limit with CAP_NET_ADMIN only. Less room is no reason not to watch: drops are counted.
        if set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes).is_err() {
            let _ = socket.set_recv_buffer_size(buffer_bytes);
        }
        bind(&socket, index, ALL_PROTOCOLS).map_err(failed("watch"))?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| failed("make a bell")(error.into()))?;
        let (room, received) = (Room::new(snap as usize), Vec::new());
        let interface = interface.to_owned();
        Ok(Self { interface, socket, bell: Arc::new(bell), room, received, asked_ns: now_ns() })
    }

    /// What ends a wait.
    pub fn bell(&self) -> Bell {
        Bell(Arc::clone(&self.bell))
    }

    /// Waits until there is something to fetch, the bell rings, or the time is over.
    ///
    /// # Errors
    /// The interface went away, or the system refuses.
    pub fn wait(&self, longest: Duration) -> Result<Woken, PacketsError> {
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(&*self.bell, PollFlags::IN)];
        let timeout = Timespec {
            tv_sec: longest.as_secs().cast_signed(),
            tv_nsec: longest.subsec_nanos().cast_signed().into(),
        };
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(PacketsError::new("wait", &self.interface, error.into())),
        }
        if fds[1].revents().contains(PollFlags::IN) {
            let _ = rustix::io::read(&*self.bell, &mut [0; 8]);
            return Ok(Woken::Bell);
        }
        Ok(if fds[0].revents().is_empty() { Woken::Timeout } else { Woken::Packets })
    }

    /// Fetches what is there, [`crate::BATCH`] packets at most: how many.
    ///
    /// # Errors
    /// The interface went away, or the system refuses.
    pub fn fetch(&mut self) -> Result<usize, PacketsError> {
        self.received.clear();
        match self.room.fetch(self.socket.as_fd()) {
            Ok(received) => self.received = received,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) => return Err(PacketsError::new("receive", &self.interface, error)),
        }
        Ok(self.received.len())
    }

    /// What was fetched last.
    pub fn fetched(&self) -> impl Iterator<Item = Packet<'_>> {
        self.received.iter().enumerate().map(|(index, (at_ns, copied, length))| Packet {
            at_ns: *at_ns,
            bytes: self.room.bytes(index, *copied),
            length: *length,
        })
    }

    /// The packets that the kernel had no room for since it was asked last, if there were any.
    ///
    /// # Errors
    /// The system does not say.
    pub fn drops(&mut self) -> Result<Option<Drops>, PacketsError> {
        let count = statistics(&self.socket)
            .map_err(|error| PacketsError::new("count drops", &self.interface, error))?;
        let from_ns = std::mem::replace(&mut self.asked_ns, now_ns());
        Ok((count > 0).then_some(Drops { count, from_ns, to_ns: self.asked_ns }))
    }
}

/// The time now by the clock that the times of packets are of: nanoseconds since the Unix epoch.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or_default()
}

fn bind(socket: &Socket, index: u32, protocol: u16) -> io::Result<()> {
    socket.bind(&address(index, protocol))
}

/// The kind of an interface, as a socket that is bound to it tells. No protocol: nothing is received yet.
fn hardware_type(socket: &Socket, index: u32) -> io::Result<u16> {
    bind(socket, index, 0)?;
    let bound = socket.local_addr()?;
    Ok(link_address(&bound).sll_hatype)
}

#[expect(unsafe_code, reason = "socket2 knows addresses of this family as bytes only")]
fn address(index: u32, protocol: u16) -> SockAddr {
    let mut storage = SockAddrStorage::zeroed();
    // SAFETY: `sockaddr_ll` is one of the addresses that a `sockaddr_storage` has room and alignment for.
    let link = unsafe { storage.view_as::<libc::sockaddr_ll>() };
    #[expect(clippy::cast_possible_truncation, reason = "the number of a family, 17")]
    let family = libc::AF_PACKET as libc::sa_family_t;
    link.sll_family = family;
    link.sll_protocol = protocol.to_be();
    link.sll_ifindex = index.cast_signed();
    let length = libc::socklen_t::try_from(size_of::<libc::sockaddr_ll>()).unwrap_or_default();
    // SAFETY: the storage has an address of this family and length.
    unsafe { SockAddr::new(storage, length) }
}

#[expect(unsafe_code, reason = "socket2 knows addresses of this family as bytes only")]
fn link_address(address: &SockAddr) -> libc::sockaddr_ll {
    // SAFETY: whatever address it is, a `sockaddr_storage` is behind the pointer; it is larger than a `sockaddr_ll`, and
    // that has integers only.
    unsafe { address.as_ptr().cast::<libc::sockaddr_ll>().read() }
}

#[expect(unsafe_code, reason = "no safe crate of ours has these options")]
fn set_option(socket: &Socket, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of_val(&value)).unwrap_or_default();
    // SAFETY: the descriptor is open; the pointer is to a variable on our stack, and the length is its own.
    let status =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), length) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `PACKET_STATISTICS` (packet(7)): what was dropped since it was asked last.
#[expect(unsafe_code, reason = "no safe crate of ours has this option")]
fn statistics(socket: &Socket) -> io::Result<u64> {
    let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut length = libc::socklen_t::try_from(size_of_val(&stats)).unwrap_or_default();
    // SAFETY: the descriptor is open; both pointers are to variables on our stack, and the kernel writes no more than the
    // length that it is given, which is the size of the first one.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut stats).cast(),
            &raw mut length,
        )
    };
    if status == 0 { Ok(u64::from(stats.tp_drops)) } else { Err(io::Error::last_os_error()) }
}
