use crate::error::QuicIoError;
use crate::gate::Gate;
use crate::key::{self, ServerKey};
use crate::packet::{self, PACKET_BYTES_MAX};
use crate::settings::{Clock, VoiceSettings};
use guestright_quinn_control::Carriage;
use guestright_units::Time;
use quinn::{
    Connection, ConnectionError, Endpoint, EndpointConfig, Incoming, RecvStream, ServerConfig, TokioRuntime,
    VarInt,
};
use std::future::Future;
use std::net::{SocketAddr, UdpSocket};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Calls that are listened to at once.
const CALLS_MAX: usize = 10_000;
/// Voice packets that are written down.
const RECEIVED_MAX: usize = 50_000_000;
/// How long callers have to hang up themselves when the receiver is about to.
const GRACE: Duration = Duration::from_secs(1);
/// Voice packets between a call's task and the one that writes them down.
const WAITING_MAX: usize = 4_096;

/// A voice packet that was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReceivedPacket {
    pub call: u32,
    /// Which packet of it.
    pub number: u32,
    /// When the application got it.
    pub at: Time,
}

/// Listens to calls.
pub struct VoiceReceiver {
    endpoint: Endpoint,
    key: ServerKey,
    carriage: Carriage,
    clock: Clock,
}

impl VoiceReceiver {
    /// On `socket`, which is bound. To be called inside a tokio runtime with time and I/O.
    ///
    /// # Errors
    /// If a setting cannot be, keys cannot be made, or the socket cannot be used.
    pub fn new(socket: UdpSocket, settings: &VoiceSettings, clock: Clock) -> Result<Self, QuicIoError> {
        settings.check()?;
        let (crypto, key) = key::server()?;
        let mut config = ServerConfig::with_crypto(crypto);
        // Nobody waits for this gate: a receiver sends acknowledgements.
        config.transport_config(Arc::new(settings.transport(&Arc::new(Gate::default()))));
        let endpoint = Endpoint::new(EndpointConfig::default(), Some(config), socket, Arc::new(TokioRuntime))
            .map_err(|reason| QuicIoError::Socket { reason })?;
        Ok(Self { endpoint, key, carriage: settings.carriage, clock })
    }

    /// What senders must know to call it.
    #[must_use]
    pub const fn key(&self) -> ServerKey {
        self.key
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn local_addr(&self) -> Result<SocketAddr, QuicIoError> {
        self.endpoint.local_addr().map_err(|reason| QuicIoError::Socket { reason })
    }

    /// Listens until `end`, then hangs up: at once if all callers have, otherwise a second later. Gives what was heard, in the order in which it was.
    pub async fn run(self, end: impl Future<Output = ()>) -> Vec<ReceivedPacket> {
        let mut end = pin!(end);
        let mut calls = JoinSet::new();
        let (to_notes, mut notes) = mpsc::channel(WAITING_MAX);
        let mut received = Vec::new();
        loop {
            tokio::select! {
                () = &mut end => break,
                Some(note) = notes.recv() => {
                    if received.len() < RECEIVED_MAX {
                        received.push(note);
                    }
                }
                Some(_) = calls.join_next() => {}
                Some(incoming) = self.endpoint.accept() => {
                    if calls.len() < CALLS_MAX {
                        let (clock, to_notes) = (Arc::clone(&self.clock), to_notes.clone());
                        calls.spawn(listen(incoming, self.carriage, Ear { clock, to_notes }));
                    } else {
                        incoming.refuse();
                    }
                }
            }
        }
        // Callers that have hung up may have said more than was read.
        let mut grace = pin!(tokio::time::sleep(GRACE));
        loop {
            tokio::select! {
                () = &mut grace => break,
                Some(note) = notes.recv(), if received.len() < RECEIVED_MAX => received.push(note),
                call = calls.join_next() => {
                    if call.is_none() {
                        break;
                    }
                }
            }
        }
        self.endpoint.close(VarInt::from_u32(0), b"");
        calls.shutdown().await;
        while received.len() < RECEIVED_MAX
            && let Ok(note) = notes.try_recv()
        {
            received.push(note);
        }
        received
    }
}

impl std::fmt::Debug for VoiceReceiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VoiceReceiver")
            .field("key", &self.key)
            .field("carriage", &self.carriage)
            .finish_non_exhaustive()
    }
}

/// Notes what is heard.
#[derive(Clone)]
struct Ear {
    clock: Clock,
    to_notes: mpsc::Sender<ReceivedPacket>,
}

impl Ear {
    /// What is no voice packet is not noted: nobody but our senders speaks this protocol.
    async fn hear(&self, packet: &[u8]) {
        let at = (self.clock)();
        if let Some((call, number)) = packet::read(packet) {
            // An error is that the receiver has stopped listening.
            let _ = self.to_notes.send(ReceivedPacket { call, number, at }).await;
        }
    }
}

/// Listens to a call until it is over, in whichever way: the sender knows how.
async fn listen(incoming: Incoming, carriage: Carriage, ear: Ear) {
    let Ok(connection) = incoming.await else {
        return;
    };
    let _over: Result<(), ConnectionError> = match carriage {
        Carriage::Datagrams => datagrams(&connection, &ear).await,
        Carriage::Stream => one_stream(&connection, &ear).await,
        Carriage::StreamPerPacket => streams(&connection, &ear).await,
    };
}

async fn datagrams(connection: &Connection, ear: &Ear) -> Result<(), ConnectionError> {
    loop {
        ear.hear(&connection.read_datagram().await?).await;
    }
}

async fn one_stream(connection: &Connection, ear: &Ear) -> Result<(), ConnectionError> {
    let mut stream = connection.accept_uni().await?;
    let mut buffer = Vec::new();
    while let Ok(Some(chunk)) = stream.read_chunk(usize::MAX, true).await {
        buffer.extend_from_slice(&chunk.bytes);
        while let Some(packet) = packet::pop(&mut buffer) {
            ear.hear(&packet).await;
        }
    }
    // Hanging up is the sender's to do: it waits for what it has sent to be acknowledged.
    Err(connection.closed().await)
}

async fn streams(connection: &Connection, ear: &Ear) -> Result<(), ConnectionError> {
    // As many as quinn lets the sender have open.
    let mut packets = JoinSet::new();
    loop {
        tokio::select! {
            stream = connection.accept_uni() => {
                packets.spawn(one_packet(stream?, ear.clone()));
            }
            Some(_) = packets.join_next() => {}
        }
    }
}

async fn one_packet(mut stream: RecvStream, ear: Ear) {
    let most = usize::try_from(PACKET_BYTES_MAX).unwrap_or(usize::MAX);
    if let Ok(packet) = stream.read_to_end(most).await {
        ear.hear(&packet).await;
    }
}
