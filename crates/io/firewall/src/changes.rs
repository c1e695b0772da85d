//! Word of the kernel that the network has changed.

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::FirewallError;

/// What is heard of: links, neighbours (another computer behind the same address), IPv4 addresses, IPv4 routes
/// (`RTMGRP_LINK`, `RTMGRP_NEIGH`, `RTMGRP_IPV4_IFADDR` and `RTMGRP_IPV4_ROUTE` in linux/rtnetlink.h).
const GROUPS: u32 = 0x1 | 0x4 | 0x10 | 0x40;

/// A thread that hears when links, neighbours, addresses or routes of this network namespace change (rtnetlink(7)).
/// It needs no privilege, and ends when this is dropped.
///
/// What exactly has changed is not told: whoever wants to know looks. So nothing that gets lost, or that comes in
/// another form in a later kernel, can mislead anybody.
#[derive(Debug)]
pub struct Changes {
    bell: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Changes {
    /// Begins to listen in the network namespace of the calling thread. `tell` is called in the other thread, once for
    /// all changes that have come together, and should not take long.
    ///
    /// # Errors
    /// The kernel has no such socket for us, or no thread can be had.
    pub fn watch(on_change: impl Fn() + Send + 'static) -> Result<Self, FirewallError> {
        let failed = |error: io::Error| FirewallError::Changes { reason: error.to_string() };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        // NETLINK_ROUTE is protocol 0, for which there is no name.
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None);
        let socket = socket.map_err(|error| failed(error.into()))?;
        bind(&socket, &SocketAddrNetlink::new(0, GROUPS)).map_err(|error| failed(error.into()))?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let bell = Arc::new(bell.map_err(|error| failed(error.into()))?);
        let thread_bell = Arc::clone(&bell);
        let work = move || {
            while wait(&socket, &thread_bell) {
                if drain(&socket) {
                    on_change();
                }
            }
        };
        let thread = std::thread::Builder::new().name("changes".to_owned()).spawn(work).map_err(failed)?;
        Ok(Self { bell, thread: Some(thread) })
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        let _ = rustix::io::write(&*self.bell, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            // A panic has been printed already; here is nobody to do more about it.
            let _ = thread.join();
        }
    }
}

/// Waits for something to hear; false when it is time to end.
fn wait(socket: &OwnedFd, bell: &OwnedFd) -> bool {
    let mut wanted = [PollFd::new(socket, PollFlags::IN), PollFd::new(bell, PollFlags::IN)];
    match poll(&mut wanted, None) {
        Ok(_) => wanted[1].revents().is_empty(),
        Err(Errno::INTR) => true,
        Err(error) => {
            tracing::warn!(%error, "changes of the network are not heard of any more");
            false
        }
    }
}

/// Forgets what has been heard; whether there was anything.
fn drain(socket: &OwnedFd) -> bool {
    // Messages are cut off, since they are not read; and a kernel that had too many to tell us (`ENOBUFS`) has told us
    // enough.
    let mut any = false;
    let mut buffer = [0; 16];
    loop {
        match recv(socket, &mut buffer, RecvFlags::DONTWAIT) {
            Ok(_) | Err(Errno::NOBUFS) => any = true,
            Err(Errno::INTR) => {}
            Err(_) => return any,
        }
    }
}
