//! Many datagrams with one system call.
#![expect(
    unsafe_code,
    reason = "no safe crate of ours sends to many addresses, or receives from many, at once"
)]

use std::mem::MaybeUninit;
use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd as _;

/// What one call takes at most (`UIO_MAXIOV` in the kernel).
const CALL_MAX: usize = 1_024;

/// Datagrams to send, each to an address of its own.
#[derive(Default)]
pub(crate) struct Outgoing {
    addresses: Vec<libc::sockaddr_in>,
    parts: Vec<libc::iovec>,
}

impl Outgoing {
    /// `datagram` has to live until [`Outgoing::send`]; see there.
    pub(crate) fn push(&mut self, to: SocketAddrV4, datagram: &[u8]) {
        self.addresses.push(libc::sockaddr_in {
            sin_family: libc::sa_family_t::try_from(libc::AF_INET).expect("AF_INET is 2"),
            sin_port: to.port().to_be(),
            sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(to.ip().octets()) },
            sin_zero: [0; 8],
        });
        self.parts
            .push(libc::iovec { iov_base: datagram.as_ptr().cast_mut().cast(), iov_len: datagram.len() });
    }

    /// Sends all of them: how many the kernel took.
    ///
    /// # Safety
    /// All slices that were pushed must still be there.
    pub(crate) unsafe fn send(&mut self, socket: &UdpSocket) -> usize {
        let mut headers: Vec<libc::mmsghdr> = self
            .addresses
            .iter_mut()
            .zip(&mut self.parts)
            .map(|(address, part)| {
                // SAFETY: all zeros is a valid header: null pointers with zero lengths.
                let mut header: libc::mmsghdr = unsafe { MaybeUninit::zeroed().assume_init() };
                header.msg_hdr.msg_name = std::ptr::from_mut(address).cast();
                header.msg_hdr.msg_namelen =
                    libc::socklen_t::try_from(size_of::<libc::sockaddr_in>()).expect("16");
                header.msg_hdr.msg_iov = part;
                header.msg_hdr.msg_iovlen = 1;
                header
            })
            .collect();
        let mut taken = 0;
        for chunk in headers.chunks_mut(CALL_MAX) {
            let count = libc::c_uint::try_from(chunk.len()).expect("at most CALL_MAX");
            // SAFETY: the headers point to `self`'s addresses and parts, which live until the end of this function, and
            // these to the slices, which live by our own contract. The kernel only reads them.
            let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), chunk.as_mut_ptr(), count, 0) };
            taken += usize::try_from(sent).unwrap_or(0);
        }
        self.addresses.clear();
        self.parts.clear();
        taken
    }
}

/// Buffers for what comes in.
pub(crate) struct Incoming {
    buffers: Vec<[u8; 256]>,
    parts: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

impl Incoming {
    pub(crate) fn new(count: usize) -> Self {
        let mut buffers = vec![[0_u8; 256]; count];
        let mut parts: Vec<_> = buffers
            .iter_mut()
            .map(|buffer| libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() })
            .collect();
        let headers = parts
            .iter_mut()
            .map(|part| {
                // SAFETY: all zeros is a valid header: null pointers with zero lengths.
                let mut header: libc::mmsghdr = unsafe { MaybeUninit::zeroed().assume_init() };
                header.msg_hdr.msg_iov = part;
                header.msg_hdr.msg_iovlen = 1;
                header
            })
            .collect();
        Self { buffers, parts, headers }
    }

    /// Receives what there is, without waiting.
    pub(crate) fn receive(&mut self, socket: &UdpSocket) -> impl Iterator<Item = &[u8]> {
        debug_assert_eq!(self.parts.len(), self.buffers.len());
        let count = libc::c_uint::try_from(self.headers.len()).expect("a few hundred");
        // SAFETY: each header points to its part and each part to its buffer with the right length. None of the three
        // vectors is changed after `new`, so nothing has moved.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                count,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        let received = usize::try_from(received).unwrap_or(0);
        let lengths =
            self.headers[..received].iter().map(|header| usize::try_from(header.msg_len).unwrap_or(0));
        self.buffers.iter().zip(lengths).map(|(buffer, length)| &buffer[..length.min(buffer.len())])
    }
}

/// Makes the receive buffer as large as the kernel lets us, so that not the measuring loses packets.
pub(crate) fn enlarge(socket: &UdpSocket) {
    let bytes: libc::c_int = 64 << 20;
    for option in [libc::SO_RCVBUF, libc::SO_RCVBUFFORCE, libc::SO_SNDBUF, libc::SO_SNDBUFFORCE] {
        let length = libc::socklen_t::try_from(size_of::<libc::c_int>()).expect("4");
        // SAFETY: the socket is open; the pointer is to a variable of the given length, which the kernel only reads.
        // Whether it may be so large is up to the kernel.
        unsafe {
            libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const bytes).cast(), length)
        };
    }
}

/// How many datagrams a socket has dropped (`SO_MEMINFO`, `SK_MEMINFO_DROPS`).
pub(crate) fn drops(socket: &UdpSocket) -> u64 {
    let mut values = [0_u32; 9];
    let mut length = libc::socklen_t::try_from(size_of_val(&values)).expect("36");
    let pointer = values.as_mut_ptr().cast();
    // SAFETY: the socket is open; both pointers are to our own variables, and the length is the first one's.
    unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO, pointer, &raw mut length)
    };
    u64::from(values[8])
}
