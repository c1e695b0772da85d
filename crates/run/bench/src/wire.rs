//! A UDP socket and a clock, for voice between two computers.
//!
//! One thread only receives, so that each datagram gets its time at once. The other sends, and sleeps until the next
//! packet is due: on a channel, whose timeout the kernel keeps within some 0.1 ms.

use crate::error::BenchError;
use guestright_clock::Clock;
use guestright_units::Time;
use rustix::net::sockopt::set_socket_recv_buffer_size;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

/// Datagrams that wait between the threads: more than a second of the most calls that there can be.
const WAITING_MAX: usize = 131_072;
/// What the kernel is asked to hold; it may give less.
const KERNEL_BYTES: usize = 4 << 20;
/// The longest datagram of ours is shorter.
const DATAGRAM_MAX: usize = 2_048;
/// Datagrams that are taken at once, before something is sent again.
const BATCH_MAX: usize = 64;
/// How often the receiving thread looks whether it is over.
const LOOK: Duration = Duration::from_millis(200);

/// What comes in.
#[derive(Debug)]
pub enum Input {
    Datagram {
        bytes: Vec<u8>,
        from: SocketAddr,
        arrival: Time,
    },
    /// Somebody wants us to end.
    Stop,
}

/// A UDP socket with a thread that receives.
#[derive(Debug)]
pub struct Wire {
    socket: Arc<UdpSocket>,
    clock: Clock,
    inputs: Receiver<Input>,
    stop: Stop,
    over: Arc<AtomicBool>,
    /// Datagrams that this program lost: arrived and not waited for, or not let out.
    dropped: Arc<AtomicU64>,
}

/// With it another thread says that a wire's owner is to end.
#[derive(Clone, Debug)]
pub struct Stop(SyncSender<Input>);

impl Stop {
    /// Puts [`Input::Stop`] behind what has come in. Whether the wire is still there.
    #[must_use]
    pub fn stop(&self) -> bool {
        self.0.send(Input::Stop).is_ok()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl Wire {
    /// A socket that takes datagrams from anybody.
    pub fn listen(address: SocketAddr) -> Result<Self, BenchError> {
        let socket = UdpSocket::bind(address)
            .map_err(|source| BenchError::Listen { address: format!("UDP {address}"), source })?;
        Self::start(socket)
    }

    /// A socket that takes datagrams from one peer only.
    pub fn connect(peer: SocketAddr) -> Result<Self, BenchError> {
        let any: IpAddr =
            if peer.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind((any, 0)).map_err(BenchError::Socket)?;
        let connected = socket.connect(peer);
        connected.map_err(|source| BenchError::NoWay { peer, source })?;
        Self::start(socket)
    }

    fn start(socket: UdpSocket) -> Result<Self, BenchError> {
        socket.set_read_timeout(Some(LOOK))?;
        if let Err(error) = set_socket_recv_buffer_size(&socket, KERNEL_BYTES) {
            tracing::warn!(%error, "the kernel's buffer for datagrams stays small");
        }
        let (sender, inputs) = sync_channel(WAITING_MAX);
        let wire = Self {
            socket: Arc::new(socket),
            clock: Clock::start(),
            stop: Stop(sender.clone()),
            inputs,
            over: Arc::default(),
            dropped: Arc::default(),
        };
        let receiving = Receiving {
            socket: Arc::clone(&wire.socket),
            clock: wire.clock.clone(),
            over: Arc::clone(&wire.over),
            dropped: Arc::clone(&wire.dropped),
            inputs: sender,
        };
        thread::Builder::new().name("receive".into()).spawn(move || receiving.run())?;
        Ok(wire)
    }

    /// For the thread that hears signals.
    #[must_use]
    pub fn stop_handle(&self) -> Stop {
        self.stop.clone()
    }

    /// The address that it listens at.
    pub fn address(&self) -> Result<SocketAddr, BenchError> {
        Ok(self.socket.local_addr()?)
    }

    pub fn now(&mut self) -> Time {
        self.clock.now()
    }

    /// Sends to the peer.
    pub fn send(&self, bytes: &[u8]) {
        self.sent(self.socket.send(bytes));
    }

    /// Sends to somebody.
    pub fn send_to(&self, bytes: &[u8], to: SocketAddr) {
        self.sent(self.socket.send_to(bytes, to));
    }

    fn sent(&self, result: std::io::Result<usize>) {
        match result {
            Ok(_) => {}
            // Nobody listens there, as an earlier datagram learnt. The machine notices by the silence.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            Err(error) => {
                tracing::debug!(%error, "a datagram did not leave");
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Datagrams that were lost in this computer.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until a time, or for what comes before it.
    pub fn wait(&mut self, until: Option<Time>, idle: Duration) -> Vec<Input> {
        let longest = until.map_or(idle, |time| self.clock.until(time).min(idle));
        let first = self.inputs.recv_timeout(longest).ok();
        first.into_iter().chain(self.inputs.try_iter().take(BATCH_MAX - 1)).collect()
    }
}

/// The thread that receives.
struct Receiving {
    socket: Arc<UdpSocket>,
    clock: Clock,
    over: Arc<AtomicBool>,
    dropped: Arc<AtomicU64>,
    inputs: SyncSender<Input>,
}

impl Receiving {
    fn run(mut self) {
        let mut buffer = [0; DATAGRAM_MAX];
        while !self.over.load(Ordering::Relaxed) {
            // Errors are timeouts, or that nobody listens at the other end: the machine notices by the silence.
            let Ok((len, from)) = self.socket.recv_from(&mut buffer) else { continue };
            let arrival = self.clock.now();
            let from = SocketAddr::new(from.ip().to_canonical(), from.port());
            let bytes = buffer[..len].to_vec();
            match self.inputs.try_send(Input::Datagram { bytes, from, arrival }) {
                Ok(()) => {}
                Err(TrySendError::Full(_)) => {
                    self.dropped.fetch_add(1, Ordering::Relaxed);
                }
                Err(TrySendError::Disconnected(_)) => return,
            }
        }
    }
}
