//! The sockets that members' telephones speak SIP to: UDP and TCP at one address and port.

use crate::SipError;
use crate::agent::PORT_ATTEMPTS;
use guestright_signalling::{MESSAGE_MAX, Message, Peer};
use socket2::{SockRef, TcpKeepalive};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UdpSocket};
use tokio::sync::mpsc;

/// Messages that wait for the program; more datagrams are dropped, connections wait.
const INPUTS_MAX: usize = 1_024;
/// Messages that wait for one connection.
const OUTPUTS_MAX: usize = 128;
/// Connections in all, and from one address.
const CONNECTIONS_MAX: usize = 512;
const CONNECTIONS_EACH_MAX: usize = 8;
/// A connection has to carry something at least so often.
const IDLE_MAX: Duration = Duration::from_secs(2 * 3_600);
/// How long it may take to connect, and to send a message.
const PATIENCE: Duration = Duration::from_secs(5);
/// What the kernel keeps for us of datagrams that come at once.
const UDP_BUFFER: usize = 1 << 20;

/// By the other end's address, and numbered so that an ended one does not take away the one that came after it.
type Connections = BTreeMap<SocketAddr, (u64, mpsc::Sender<Vec<u8>>)>;

/// Something that has come from telephones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// Bytes that may be a message.
    Message(Peer, Vec<u8>),
    /// A connection has ended, or none could be made: nothing reaches this telephone now.
    Gone(Peer),
}

/// The sockets. They close when this is dropped.
#[derive(Debug)]
pub struct Telephones {
    shared: Arc<Shared>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    local: SocketAddr,
    udp: UdpSocket,
    incoming: mpsc::Sender<Incoming>,
    connections: Mutex<Connections>,
    numbers: std::sync::atomic::AtomicU64,
}

impl Telephones {
    /// Listens at `address`, the gateway's own in its members' network. What comes is received from the queue.
    ///
    /// # Errors
    /// [`SipError::Listen`].
    pub async fn open(address: SocketAddr) -> Result<(Self, mpsc::Receiver<Incoming>), SipError> {
        let refused = |source| SipError::Listen { address, source };
        let (udp, listener) = bind_both(address).await.map_err(refused)?;
        // As much as the kernel lets us.
        let _ = SockRef::from(&udp).set_recv_buffer_size(UDP_BUFFER);
        let local = udp.local_addr().map_err(refused)?;
        let (incoming, received) = mpsc::channel(INPUTS_MAX);
        let (connections, numbers) = (Mutex::default(), std::sync::atomic::AtomicU64::new(0));
        let shared = Arc::new(Shared { local, udp, incoming, connections, numbers });
        let tasks = vec![
            tokio::spawn(Arc::clone(&shared).receive_datagrams()),
            tokio::spawn(Arc::clone(&shared).accept_connections(listener)),
        ];
        Ok((Self { shared, tasks }, received))
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.shared.local
    }

    /// Sends a message, over the connection that there is, or over a new one. What cannot be sent is lost; for
    /// connections that comes as [`Incoming::Gone`].
    pub fn send(&self, peer: Peer, bytes: Vec<u8>) {
        match peer {
            Peer::Udp(to) => {
                if let Err(error) = self.shared.udp.try_send_to(&bytes, to) {
                    tracing::debug!(%error, "a message could not be sent to a telephone");
                }
            }
            Peer::Tcp(to) => Arc::clone(&self.shared).send_over_tcp(to, bytes),
            Peer::Home(_) => {}
        }
    }
}

/// A socket for each protocol at the same address and port. If any port will do, it is one that is free for both.
async fn bind_both(address: SocketAddr) -> io::Result<(UdpSocket, TcpListener)> {
    // They are kept meanwhile, so that each attempt has another port.
    let mut free_for_one = Vec::new();
    loop {
        let udp = UdpSocket::bind(address).await?;
        match TcpListener::bind(udp.local_addr()?).await {
            Ok(listener) => return Ok((udp, listener)),
            Err(error)
                if address.port() == 0
                    && error.kind() == ErrorKind::AddrInUse
                    && free_for_one.len() + 1 < PORT_ATTEMPTS =>
            {
                free_for_one.push(udp);
            }
            Err(error) => return Err(error),
        }
    }
}

impl Drop for Telephones {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
        self.shared.connections().clear();
    }
}

impl Shared {
    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn receive_datagrams(self: Arc<Self>) {
        let mut buffer = vec![0; MESSAGE_MAX + 1];
        loop {
            match self.udp.recv_from(&mut buffer).await {
                // Too long ones are cut, and refused as such.
                Ok((length, from)) => {
                    let _ =
                        self.incoming.try_send(Incoming::Message(Peer::Udp(from), buffer[..length].to_vec()));
                }
                // What the network says of datagrams that we have sent.
                Err(error) => tracing::trace!(%error, "a telephone cannot be reached"),
            }
        }
    }

    async fn accept_connections(self: Arc<Self>, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, from)) => {
                    if self.has_room(from.ip()) {
                        self.accept(stream, from);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "a telephone's connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    fn has_room(&self, address: IpAddr) -> bool {
        let connections = self.connections();
        let same = connections.keys().filter(|other| other.ip() == address).count();
        connections.len() < CONNECTIONS_MAX && same < CONNECTIONS_EACH_MAX
    }

    /// Serves a connection.
    fn accept(self: &Arc<Self>, stream: TcpStream, from: SocketAddr) {
        let (sender, messages) = mpsc::channel(OUTPUTS_MAX);
        let number = self.note(from, sender);
        let this = Arc::clone(self);
        tokio::spawn(async move { this.serve(stream, from, number, messages).await });
    }

    fn note(&self, from: SocketAddr, sender: mpsc::Sender<Vec<u8>>) -> u64 {
        let number = self.numbers.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.connections().insert(from, (number, sender));
        number
    }

    fn send_over_tcp(self: Arc<Self>, to: SocketAddr, bytes: Vec<u8>) {
        let known = self.connections().get(&to).map(|(_, sender)| sender.clone());
        if let Some(sender) = known {
            if sender.try_send(bytes).is_err() {
                // It does not read: it is as good as gone.
                self.connections().remove(&to);
                let _ = self.incoming.try_send(Incoming::Gone(Peer::Tcp(to)));
            }
            return;
        }
        if !self.has_room(to.ip()) {
            let _ = self.incoming.try_send(Incoming::Gone(Peer::Tcp(to)));
            return;
        }
        let (sender, messages) = mpsc::channel(OUTPUTS_MAX);
        let _ = sender.try_send(bytes);
        let number = self.note(to, sender);
        tokio::spawn(async move {
            match tokio::time::timeout(PATIENCE, connect(self.local.ip(), to)).await {
                Ok(Ok(stream)) => self.serve(stream, to, number, messages).await,
                Ok(Err(_)) | Err(_) => self.forget(to, number).await,
            }
        });
    }

    async fn serve(
        &self,
        stream: TcpStream,
        from: SocketAddr,
        number: u64,
        messages: mpsc::Receiver<Vec<u8>>,
    ) {
        let _ = stream.set_nodelay(true);
        let alive =
            TcpKeepalive::new().with_time(Duration::from_secs(60)).with_interval(Duration::from_secs(15));
        let _ = SockRef::from(&stream).set_tcp_keepalive(&alive);
        let (read, write) = stream.into_split();
        tokio::select! {
            () = self.read(read, from) => {}
            () = write_all(write, messages) => {}
        }
        self.forget(from, number).await;
    }

    /// Takes message after message from a stream; ends with it, or with the first thing that is none.
    async fn read(&self, mut stream: OwnedReadHalf, from: SocketAddr) {
        let mut buffer = Vec::with_capacity(4_096);
        loop {
            match Message::measure(&buffer) {
                Ok(Some(length)) if buffer.len() >= length => {
                    let rest = buffer.split_off(length);
                    let message = std::mem::replace(&mut buffer, rest);
                    // Two line ends are a question; it is handed on as one.
                    let message = if message == b"\r\n" && buffer.starts_with(b"\r\n") {
                        buffer.drain(..2);
                        b"\r\n\r\n".to_vec()
                    } else {
                        message
                    };
                    if self.incoming.send(Incoming::Message(Peer::Tcp(from), message)).await.is_err() {
                        return;
                    }
                }
                Ok(_) => match tokio::time::timeout(IDLE_MAX, stream.read_buf(&mut buffer)).await {
                    Ok(Ok(length)) if length > 0 => {}
                    Ok(_) | Err(_) => return,
                },
                Err(error) => return tracing::debug!(%error, "a telephone's connection carries no SIP"),
            }
        }
    }

    async fn forget(&self, from: SocketAddr, number: u64) {
        let is_it = {
            let mut connections = self.connections();
            let is_it = connections.get(&from).is_some_and(|(own, _)| *own == number);
            if is_it {
                connections.remove(&from);
            }
            is_it
        };
        if is_it {
            let _ = self.incoming.send(Incoming::Gone(Peer::Tcp(from))).await;
        }
    }
}

/// Connects from the address that telephones know.
async fn connect(from: IpAddr, to: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = if to.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.bind(SocketAddr::new(from, 0))?;
    socket.connect(to).await
}

async fn write_all(mut stream: OwnedWriteHalf, mut messages: mpsc::Receiver<Vec<u8>>) {
    while let Some(message) = messages.recv().await {
        if !matches!(tokio::time::timeout(PATIENCE, stream.write_all(&message)).await, Ok(Ok(()))) {
            return;
        }
    }
}
