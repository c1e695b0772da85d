//! The visitors' link: messages over UDP and TCP, with limits on what strangers may occupy.

use super::home_contact;
use super::inbox::Door;
use crate::listen::{self, Acceptor};
use guestright_channel::MessageReader;
use guestright_ordered::OrderedMap;
use guestright_roaming::access_point::Path;
use guestright_roaming::message::{HEADER_BLOCK_MAX, MESSAGE_MAX, START_LINE_MAX, message_len};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle};

/// How many connections may be open, and how many of one address.
const CONNECTIONS_MAX: usize = 512;
const CONNECTIONS_PER_ADDRESS_MAX: usize = 8;
/// A connection on which nothing comes for so long is closed. An open session is asked for receipts more often.
const MESSAGE_WITHIN: Duration = Duration::from_secs(120);
/// A connection on which no message has come yet has less time.
const FIRST_MESSAGE_WITHIN: Duration = Duration::from_secs(5);
/// A peer that does not take an answer for so long gets no more.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// What says how long a message is, at its most.
const HEAD_MAX: usize = START_LINE_MAX + HEADER_BLOCK_MAX;
/// How long the last answers may take when the program stops.
const FINISH_MAX: Duration = Duration::from_secs(1);
/// How many answers may wait on one connection.
const ANSWERS_MAX: usize = 32;
/// Paths of datagrams have this bit; the rest is address and port. Paths of connections are counted.
pub(super) const DATAGRAM: Path = 1 << 63;

/// What came from the link.
#[derive(Debug)]
pub(super) enum FromLink {
    Message {
        ip: Ipv4Addr,
        path: Path,
        bytes: Vec<u8>,
    },
    Ended(Path),
    /// A visitor's home answers.
    HomeReached {
        ip: Ipv4Addr,
        path: Path,
        stream: TcpStream,
    },
}

struct Connection {
    ip: Ipv4Addr,
    answers: mpsc::Sender<Vec<u8>>,
    reading: AbortHandle,
    writing: JoinHandle<()>,
}

/// Both sockets of the link.
pub(super) struct Link {
    datagrams: Arc<UdpSocket>,
    listener: Acceptor,
    connections: OrderedMap<Path, Connection>,
    next_path: Path,
    door: Door,
}

impl Link {
    /// Opens both sockets at `address`.
    pub(super) async fn open(address: SocketAddr, door: Door) -> std::io::Result<Self> {
        let datagrams = Arc::new(UdpSocket::bind(address).await?);
        let listener = Acceptor::new(listen::beside_others(address)?);
        let (socket, inward) = (Arc::clone(&datagrams), door.clone());
        tokio::spawn(async move {
            let mut buffer = vec![0; 65_536];
            loop {
                let Ok((length, from)) = socket.recv_from(&mut buffer).await else { continue };
                let IpAddr::V4(ip) = from.ip() else { continue };
                let path = DATAGRAM | u64::from(ip.to_bits()) << 16 | u64::from(from.port());
                let bytes = buffer[..length].to_vec();
                inward.datagram(ip, path, FromLink::Message { ip, path, bytes });
            }
        });
        Ok(Self { datagrams, listener, connections: OrderedMap::new(), next_path: 1, door })
    }

    /// Says which paths belong to sessions: nobody on them waits behind strangers, or gives way to them.
    pub(super) fn set_in_use(&self, paths: Vec<Path>) {
        self.door.set_in_use(paths);
    }

    /// Waits for a connection.
    pub(super) async fn accept(&self) -> (TcpStream, SocketAddr) {
        self.listener.accept().await
    }

    /// Accepts a connection, unless its address has enough. When there are as many as may be, the oldest connection that
    /// no session uses gives way.
    pub(super) fn admit(&mut self, stream: TcpStream, from: SocketAddr) {
        let IpAddr::V4(ip) = from.ip() else { return };
        let same = self.connections.values().filter(|connection| connection.ip == ip).count();
        if same >= CONNECTIONS_PER_ADDRESS_MAX {
            return;
        }
        if self.connections.len() >= CONNECTIONS_MAX {
            let Some(oldest) = self.connections.keys().copied().find(|path| !self.door.is_in_use(*path))
            else {
                return;
            };
            self.end(oldest);
        }
        let path = self.next_path;
        self.next_path += 1;
        self.add(path, ip, stream);
    }

    /// Connects to a visitor's home; what comes of it is [`FromLink::HomeReached`] or [`FromLink::Ended`].
    pub(super) fn contact_home(&mut self, path: Path, home: Ipv4Addr) {
        home_contact::connect(path, home, self.door.clone());
    }

    /// Reads and writes on a connection from now on, under this path.
    pub(super) fn add(&mut self, path: Path, ip: Ipv4Addr, stream: TcpStream) {
        let (read, mut write) = stream.into_split();
        let (answers, mut waiting) = mpsc::channel::<Vec<u8>>(ANSWERS_MAX);
        let door = self.door.clone();
        let reading = tokio::spawn(async move {
            read_messages(read, ip, path, &door).await;
            door.connection(ip, path, FromLink::Ended(path)).await;
        });
        let writing = tokio::spawn(async move {
            while let Some(answer) = waiting.recv().await {
                let written = tokio::time::timeout(ANSWER_MAX, write.write_all(&answer)).await;
                if !matches!(written, Ok(Ok(()))) {
                    return;
                }
            }
        });
        let reading = reading.abort_handle();
        self.connections.insert(path, Connection { ip, answers, reading, writing });
    }

    /// Sends an answer. One that cannot be sent is lost, and asked for again.
    pub(super) fn answer(&self, path: Path, bytes: Vec<u8>) {
        if path & DATAGRAM == 0 {
            if let Some(connection) = self.connections.get(&path) {
                let _ = connection.answers.try_send(bytes);
            }
            return;
        }
        let ip = u32::try_from(path >> 16 & 0xffff_ffff).unwrap_or_default();
        let port = u16::try_from(path & 0xffff).unwrap_or_default();
        let _ = self.datagrams.try_send_to(&bytes, SocketAddr::from((Ipv4Addr::from_bits(ip), port)));
    }

    /// Ends every connection once its last answers are sent, or after a moment.
    pub(super) async fn finish(&mut self) {
        let deadline = tokio::time::Instant::now() + FINISH_MAX;
        for (_, Connection { answers, reading, writing, .. }) in std::mem::take(&mut self.connections) {
            reading.abort();
            drop(answers);
            // Whoever does not take its answer now does not want it.
            let _ = tokio::time::timeout_at(deadline, writing).await;
        }
    }

    /// Forgets a connection that has ended or has to. Answers that wait are still sent.
    pub(super) fn end(&mut self, path: Path) {
        if let Some(connection) = self.connections.remove(&path) {
            connection.reading.abort();
        }
    }
}

async fn read_messages(read: OwnedReadHalf, ip: Ipv4Addr, path: Path, door: &Door) {
    let measure = |bytes: &[u8]| message_len(bytes).map_err(|error| error.to_string());
    let mut reader = MessageReader::new(read, measure, MESSAGE_MAX);
    let mut patience = FIRST_MESSAGE_WITHIN;
    loop {
        match tokio::time::timeout(patience, reader.receive()).await {
            Ok(Ok(Some(bytes))) => {
                patience = MESSAGE_WITHIN;
                if !door.connection(ip, path, FromLink::Message { ip, path, bytes }).await {
                    return;
                }
            }
            Ok(Err(error)) => {
                tracing::trace!(%error, "a connection was ended");
                // The machine counts what is not a message, and says why, for which its beginning is enough.
                let rest = reader.rest();
                let bytes = rest.get(..HEAD_MAX).unwrap_or(rest).to_vec();
                door.connection(ip, path, FromLink::Message { ip, path, bytes }).await;
                return;
            }
            Ok(Ok(None)) | Err(_) => return,
        }
    }
}
