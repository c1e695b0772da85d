//! Somebody in the middle of a call, who passes on what he likes.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Whose datagram it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    Caller,
    Callee,
}

/// Passes on what one side says to the other, changed.
#[derive(Debug)]
pub(crate) struct Middle {
    pub(crate) address: SocketAddr,
    passed: Arc<AtomicU64>,
    changed: Arc<AtomicU64>,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Middle {
    /// Between whoever calls [`Middle::address`] and `callee`. `change` says whether it has changed the datagram.
    pub(crate) fn before(
        callee: SocketAddr,
        mut change: impl FnMut(From, &mut [u8]) -> bool + Send + 'static,
    ) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let address = socket.local_addr().unwrap();
        let (passed, changed) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let stopping = Arc::new(AtomicBool::new(false));
        let (ours, counted, stop) = (passed.clone(), changed.clone(), stopping.clone());
        let thread = std::thread::spawn(move || {
            let mut caller = None;
            let mut buffer = [0; 2_048];
            while !stop.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
                let datagram = &mut buffer[..length];
                let (who, to) = if from == callee {
                    (From::Callee, caller)
                } else {
                    caller = Some(from);
                    (From::Caller, Some(callee))
                };
                counted.fetch_add(u64::from(change(who, datagram)), Ordering::Relaxed);
                ours.fetch_add(1, Ordering::Relaxed);
                if let Some(to) = to {
                    let _ = socket.send_to(datagram, to);
                }
            }
        });
        Self { address, passed, changed, stopping, thread: Some(thread) }
    }

    pub(crate) fn passed(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }

    pub(crate) fn changed(&self) -> u64 {
        self.changed.load(Ordering::Relaxed)
    }
}

impl Drop for Middle {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
