//! Many packets by one system call, each with its time.

use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// So many packets are fetched at once.
pub const BATCH: usize = 32;
/// Room for the time of a packet among what the kernel tells besides: a header of 16 bytes, and a `timespec`.
const CONTROL: usize = 64;

/// One packet, from its IP header on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// When the kernel received it, or sent it: nanoseconds since the Unix epoch. `None` if it does not say.
    pub at_ns: Option<u64>,
    /// As much of it as was copied.
    pub bytes: &'a [u8],
    /// How many bytes it had.
    pub length: u32,
}

/// Memory for a batch.
pub(crate) struct Room {
    snap: usize,
    bytes: Box<[u8]>,
    control: Box<[Control]>,
}

/// Aligned as `cmsghdr` has to be.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

/// Of one packet: its time, the bytes that were copied, the bytes it had.
pub(crate) type Received = (Option<u64>, usize, u32);

impl std::fmt::Debug for Room {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Room").field("snap", &self.snap).finish_non_exhaustive()
    }
}

impl Room {
    pub(crate) fn new(snap: usize) -> Self {
        let control = vec![Control([0; CONTROL]); BATCH].into();
        Self { snap, bytes: vec![0; snap * BATCH].into(), control }
    }

    pub(crate) fn bytes(&self, index: usize, copied: usize) -> &[u8] {
        &self.bytes[index * self.snap..][..copied.min(self.snap)]
    }

    /// Fetches what is there, without waiting.
    #[expect(unsafe_code, reason = "no safe crate of ours has recvmmsg with times")]
    pub(crate) fn fetch(&mut self, socket: BorrowedFd<'_>) -> io::Result<Vec<Received>> {
        let mut slices: Vec<libc::iovec> = self
            .bytes
            .chunks_exact_mut(self.snap)
            .map(|piece| libc::iovec { iov_base: piece.as_mut_ptr().cast(), iov_len: piece.len() })
            .collect();
        let mut messages: Vec<libc::mmsghdr> = Vec::with_capacity(BATCH);
        for (slice, control) in slices.iter_mut().zip(self.control.iter_mut()) {
            // SAFETY: the structure has integers and pointers only, for which zeros are values; musl has padding in it,
            // so that it cannot be written out field by field.
            let mut message: libc::mmsghdr = unsafe { zeroed() };
            message.msg_hdr.msg_iov = slice;
            message.msg_hdr.msg_iovlen = 1;
            message.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            #[allow(clippy::useless_conversion, reason = "the field is wider in some C libraries")]
            {
                message.msg_hdr.msg_controllen = CONTROL.try_into().unwrap_or_default();
            }
            messages.push(message);
        }
        let want = libc::c_uint::try_from(messages.len()).unwrap_or_default();
        let flags = (libc::MSG_DONTWAIT | libc::MSG_TRUNC) as _;
        // SAFETY: the descriptor is open as long as it is borrowed. Every pointer in `messages` is to memory of `slices`,
        // `self.bytes` and `self.control`, which live longer than the call and are lent to nobody else; the lengths beside
        // them are theirs. Without a time limit the last argument is null.
        let count = unsafe {
            libc::recvmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), want, flags, std::ptr::null_mut())
        };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        Ok(messages[..count].iter().map(|message| received(message, self.snap)).collect())
    }
}

fn received(message: &libc::mmsghdr, snap: usize) -> Received {
    // With MSG_TRUNC this is the length of the packet, also if it had no room (packet(7)).
    let length = message.msg_len;
    (time(&message.msg_hdr), snap.min(length as usize), length)
}

/// `SCM_TIMESTAMPNS` (socket(7)): a `timespec` of the wall clock.
#[expect(unsafe_code, reason = "control messages are read by libc's macros")]
fn time(header: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel has filled the control buffer of this header and set its length; the macro reads the first
    // header only if the length has room for one.
    let mut control = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !control.is_null() {
        // SAFETY: neither macro returns a pointer to a header that does not lie within the buffer, which is aligned.
        let about = unsafe { &*control };
        if about.cmsg_level == libc::SOL_SOCKET && about.cmsg_type == libc::SCM_TIMESTAMPNS {
            let mut time = MaybeUninit::<libc::timespec>::uninit();
            // SAFETY: the kernel writes a whole `timespec` behind a header of this type, maybe not aligned for one, so
            // it is copied byte by byte into memory of that size, and has no values that are none.
            let time = unsafe {
                let from = libc::CMSG_DATA(control);
                from.copy_to_nonoverlapping(time.as_mut_ptr().cast(), size_of::<libc::timespec>());
                time.assume_init()
            };
            let seconds = u64::try_from(time.tv_sec).ok()?;
            return seconds.checked_mul(1_000_000_000)?.checked_add(u64::try_from(time.tv_nsec).ok()?);
        }
        // SAFETY: as above.
        control = unsafe { libc::CMSG_NXTHDR(header, control) };
    }
    None
}
