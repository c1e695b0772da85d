//! Messages to and from the access point, over one connection or in datagrams.

use super::Transport;
use guestright_channel::MessageReader;
use guestright_error::{OrFail as _, RunError};
use guestright_roaming::message::{MESSAGE_MAX, message_len};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpSocket, TcpStream, UdpSocket};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Where the access point is.
#[derive(Clone, Debug)]
pub(super) struct Destination {
    access_point: SocketAddr,
    interface: String,
}

/// The way to the access point.
#[derive(Debug)]
pub(super) enum Line {
    Connection {
        read: MessageReader<OwnedReadHalf>,
        write: OwnedWriteHalf,
        /// Where datagrams go if the connection is closed before the first answer; nothing from then on.
        fallback: Option<Destination>,
    },
    Datagrams {
        socket: UdpSocket,
        buffer: Vec<u8>,
    },
}

impl Line {
    /// Opens the way. If no connection comes about, or it is closed before the first answer, datagrams are tried:
    /// connections may be exhausted by others, and then the oldest one without a session gives way.
    ///
    /// It stays on the access point's interface: a tunnel of another program's may want everything for itself, and
    /// would have the messages that pay for it.
    pub(super) async fn open(
        access_point: SocketAddr,
        interface: &str,
        transport: Transport,
    ) -> Result<Self, RunError> {
        let destination = Destination { access_point, interface: interface.to_owned() };
        if transport == Transport::Tcp {
            let connecting = tokio::time::timeout(CONNECT_TIMEOUT, connect(access_point, interface)).await;
            match connecting {
                Ok(Ok(stream)) => {
                    let measure = |bytes: &[u8]| message_len(bytes).map_err(|error| error.to_string());
                    let (read, write) = stream.into_split();
                    return Ok(Self::Connection {
                        read: MessageReader::new(read, measure, MESSAGE_MAX),
                        write,
                        fallback: Some(destination),
                    });
                }
                Ok(Err(error)) => {
                    tracing::info!(%error, "no connection to the access point; trying datagrams")
                }
                Err(_) => tracing::info!("no connection to the access point in time; trying datagrams"),
            }
        }
        Self::open_datagrams(&destination).await
    }

    async fn open_datagrams(destination: &Destination) -> Result<Self, RunError> {
        let Destination { access_point, interface } = destination;
        let open = async {
            let socket = UdpSocket::bind("0.0.0.0:0").await?;
            stay_on(interface, socket.bind_device(Some(interface.as_bytes())));
            socket.connect(access_point).await?;
            Ok::<_, std::io::Error>(socket)
        };
        let socket = open.await.or_network(|| format!("reach {access_point}"))?;
        Ok(Self::Datagrams { socket, buffer: vec![0; 65_536] })
    }

    /// The next message of the access point. Whoever stops waiting for it loses nothing.
    pub(super) async fn receive(&mut self) -> Result<Vec<u8>, RunError> {
        self.receive_or(Self::open_datagrams).await
    }

    /// The same, with what opens the way for datagrams.
    async fn receive_or(
        &mut self,
        open: impl AsyncFn(&Destination) -> Result<Self, RunError>,
    ) -> Result<Vec<u8>, RunError> {
        loop {
            match self {
                Self::Connection { read, fallback, .. } => {
                    let closed = match read.receive().await {
                        Ok(Some(message)) => {
                            *fallback = None;
                            return Ok(message);
                        }
                        Ok(None) => RunError::network("the access point closed the connection"),
                        Err(error) => RunError::network(error),
                    };
                    // What was sent is lost with the connection; the machine repeats it until there is an answer.
                    let Some(destination) = fallback else { return Err(closed) };
                    tracing::info!("the connection was closed before the first answer; trying datagrams");
                    // Nothing has changed until the other way is open: this may be given up at the await.
                    let datagrams = open(destination).await?;
                    *self = datagrams;
                }
                Self::Datagrams { socket, buffer } => {
                    let length = socket.recv(buffer).await;
                    let length = length.or_network(|| "is there a guestright access point?".to_owned())?;
                    return Ok(buffer[..length].to_vec());
                }
            }
        }
    }

    /// Sends a message. A datagram may get lost; the machine repeats what matters.
    pub(super) async fn send(&mut self, message: &[u8]) -> Result<(), RunError> {
        match self {
            Self::Connection { write, fallback, .. } => {
                let sent = write.write_all(message).await;
                // Whoever receives next finds the connection closed, and tries datagrams.
                if fallback.is_some() {
                    Ok(())
                } else {
                    sent.or_network(|| "send to the access point".to_owned())
                }
            }
            Self::Datagrams { socket, .. } => {
                let _ = socket.send(message).await;
                Ok(())
            }
        }
    }
}

async fn connect(access_point: SocketAddr, interface: &str) -> std::io::Result<TcpStream> {
    let socket = if access_point.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    stay_on(interface, socket.bind_device(Some(interface.as_bytes())));
    socket.connect(access_point).await
}

/// Kernels before 5.7 let only root do it. Without it there is a way as long as no tunnel takes it.
fn stay_on(interface: &str, outcome: std::io::Result<()>) {
    if let Err(error) = outcome {
        tracing::debug!(%error, interface, "messages to the access point are not held to its interface");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use tokio::net::TcpListener;
    use tokio::sync::Notify;

    /// An access point that closes every connection, and where it takes datagrams.
    async fn full_access_point() -> (UdpSocket, SocketAddr) {
        // A port that is free for one protocol may be somebody's for the other. Those are kept meanwhile, so that each attempt has
        // another one.
        let mut taken = Vec::new();
        while taken.len() < 16 {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let Ok(socket) = UdpSocket::bind(address).await else {
                taken.push(listener);
                continue;
            };
            tokio::spawn(async move { while listener.accept().await.is_ok() {} });
            return (socket, address);
        }
        panic!("no port is free for both protocols: {taken:?}");
    }

    #[tokio::test]
    async fn datagrams_are_tried_again_by_whoever_gave_up_while_they_were_opened() {
        let (access_point, address) = full_access_point().await;
        let mut line = Line::open(address, "lo", Transport::Tcp).await.unwrap();
        let begun = Notify::new();
        let never = async |_: &Destination| {
            begun.notify_one();
            pending().await
        };
        tokio::select! {
            received = line.receive_or(never) => panic!("{received:?}"),
            () = begun.notified() => {}
        }
        let opened = Notify::new();
        let open = async |destination: &Destination| {
            let line = Line::open_datagrams(destination).await;
            opened.notify_one();
            line
        };
        tokio::select! {
            received = line.receive_or(open) => panic!("{received:?}"),
            () = opened.notified() => {}
        }
        line.send(b"question").await.unwrap();
        let mut buffer = [0; 16];
        let (length, from) = access_point.recv_from(&mut buffer).await.unwrap();
        assert_eq!(&buffer[..length], b"question");
        access_point.send_to(b"answer", from).await.unwrap();
        assert_eq!(line.receive().await.unwrap(), b"answer");
    }
}
