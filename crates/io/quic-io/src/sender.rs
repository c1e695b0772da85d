use crate::error::QuicIoError;
use crate::gate::Gate;
use crate::key::{self, ServerKey};
use crate::packet;
use crate::settings::{Clock, VoiceSettings};
use bytes::Bytes;
use guestright_quinn_control::Carriage;
use guestright_units::Time;
use quinn::{
    ClientConfig, Connection, ConnectionError, Endpoint, EndpointConfig, SendDatagramError, SendStream,
    TokioRuntime, VarInt, WriteError,
};
use std::collections::VecDeque;
use std::fmt;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// How long the end of a call is waited for at least.
const PATIENCE_MIN: Duration = Duration::from_secs(1);

/// A voice packet to be spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spoken {
    /// When, by the clock.
    pub at: Time,
    pub number: u32,
    /// Its length, [`crate::PACKET_BYTES_MIN`] at least.
    pub bytes: u32,
}

/// A voice packet that was given to QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub number: u32,
    /// When the application spoke it. Later than it was to, by as much as the computer is busy.
    pub spoken_at: Time,
    /// When QUIC took it. It leaves at once unless QUIC paces it.
    pub at: Time,
}

/// What became of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentReport {
    /// What was sent, in order.
    pub sent: Vec<Sent>,
    /// Voice packets that were thrown away because too many waited, or because the connection was lost.
    pub thrown_away: u64,
    /// Voice packets that no DATAGRAM frame has room for.
    pub too_large: u64,
    /// Why the connection ended before the call did; `None`: it did not.
    pub lost: Option<String>,
    /// QUIC packets that were sent.
    pub packets_sent: u64,
    /// QUIC packets that were thought to be lost.
    pub packets_lost: u64,
    /// How often congestion made the sender send less.
    pub congestion_events: u64,
    /// The smoothed round-trip time at the end.
    pub round_trip: Duration,
}

/// Speaks one call.
pub struct VoiceSender {
    endpoint: Endpoint,
    connection: Connection,
    gate: Arc<Gate>,
    settings: VoiceSettings,
    clock: Clock,
    call: u32,
    /// [`Carriage::Stream`]: the one, once something was spoken.
    stream: Option<SendStream>,
    /// Streams that are finished, but not acknowledged.
    unfinished: JoinSet<()>,
    waiting: VecDeque<Waiting>,
    report: SentReport,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    number: u32,
    bytes: u32,
    spoken_at: Time,
}

impl VoiceSender {
    /// Calls the receiver with this key at `peer`, as number `call`, from `socket`, which is bound. To be called inside a
    /// tokio runtime with time and I/O.
    ///
    /// # Errors
    /// If a setting cannot be, the socket cannot be used, or nobody with this key answers before the idle timeout.
    pub async fn connect(
        socket: UdpSocket,
        peer: SocketAddr,
        key: ServerKey,
        settings: &VoiceSettings,
        clock: Clock,
        call: u32,
    ) -> Result<Self, QuicIoError> {
        settings.check()?;
        let gate = Arc::new(Gate::new(settings.carriage != Carriage::Datagrams));
        let mut config = ClientConfig::new(key::client(key)?);
        config.transport_config(Arc::new(settings.transport(&gate)));
        let endpoint = Endpoint::new(EndpointConfig::default(), None, socket, Arc::new(TokioRuntime))
            .map_err(|reason| QuicIoError::Socket { reason })?;
        let refused = |reason: String| QuicIoError::Connect { peer, reason };
        // The name is in the handshake only: the receiver is known by its key.
        let connecting = endpoint.connect_with(config, peer, "voice.invalid");
        let connecting = connecting.map_err(|error| refused(error.to_string()))?;
        let connection = connecting.await.map_err(|error| refused(error.to_string()))?;
        Ok(Self {
            endpoint,
            connection,
            gate,
            settings: *settings,
            clock,
            call,
            stream: None,
            unfinished: JoinSet::new(),
            waiting: VecDeque::new(),
            report: SentReport::default(),
        })
    }

    /// Says everything in `spoken`, which is in the order of time; then waits for it to be acknowledged, an idle timeout
    /// at most, and hangs up.
    pub async fn run(mut self, spoken: &[Spoken]) -> SentReport {
        let closed = self.speak(spoken).await;
        if let Some(reason) = closed {
            self.report.lost = Some(reason.to_string());
            self.report.thrown_away += u64::try_from(self.waiting.len()).unwrap_or(u64::MAX);
        } else {
            self.finish().await;
        }
        let stats = self.connection.stats().path;
        self.report.packets_sent = stats.sent_packets;
        self.report.packets_lost = stats.lost_packets;
        self.report.congestion_events = stats.congestion_events;
        self.report.round_trip = stats.rtt;
        self.connection.close(VarInt::from_u32(0), b"");
        // So that the receiver hears of it. What takes longer is not worth waiting for.
        let _ = tokio::time::timeout(Duration::from_secs(1), self.endpoint.wait_idle()).await;
        self.report
    }

    /// Why the connection ended; `None`: everything was said.
    async fn speak(&mut self, spoken: &[Spoken]) -> Option<ConnectionError> {
        let mut next = spoken.iter().peekable();
        let connection = self.connection.clone();
        let gate = Arc::clone(&self.gate);
        loop {
            if let Err(over) = self.feed().await {
                let unsaid = u64::try_from(next.count()).unwrap_or(u64::MAX);
                self.report.thrown_away += unsaid;
                return Some(over);
            }
            let due = next.peek().map(|spoken| spoken.at);
            if due.is_none() && self.waiting.is_empty() {
                return None;
            }
            let until_due =
                due.map_or(Duration::ZERO, |at| Duration::from_micros(at.since((self.clock)()).0));
            tokio::select! {
                () = tokio::time::sleep(until_due), if due.is_some() => {
                    while let Some(spoken) = next.next_if(|spoken| spoken.at <= (self.clock)()) {
                        self.push(*spoken);
                    }
                }
                () = gate.changed(), if !self.waiting.is_empty() => {}
                Some(_) = self.unfinished.join_next() => {}
                over = connection.closed() => {
                    self.report.thrown_away += u64::try_from(next.count()).unwrap_or(u64::MAX);
                    return Some(over);
                }
            }
        }
    }

    fn push(&mut self, spoken: Spoken) {
        let spoken_at = (self.clock)();
        self.waiting.push_back(Waiting { number: spoken.number, bytes: spoken.bytes, spoken_at });
        while self.waiting.len() > usize::try_from(self.settings.send_buffer).unwrap_or(usize::MAX) {
            self.waiting.pop_front();
            self.report.thrown_away += 1;
        }
    }

    /// Gives quinn what it would send at once.
    async fn feed(&mut self) -> Result<(), ConnectionError> {
        while self.gate.is_open()
            && let Some(packet) = self.waiting.pop_front()
        {
            self.gate.give(packet.bytes.into());
            let is_taken = match self.settings.carriage {
                Carriage::Datagrams => self.as_datagram(packet)?,
                Carriage::Stream => self.on_the_stream(packet).await?,
                Carriage::StreamPerPacket => self.on_a_stream(packet).await?,
            };
            if is_taken {
                let Waiting { number, spoken_at, .. } = packet;
                self.report.sent.push(Sent { number, spoken_at, at: (self.clock)() });
            }
        }
        Ok(())
    }

    fn as_datagram(&mut self, packet: Waiting) -> Result<bool, ConnectionError> {
        let content = packet::write(self.call, packet.number, packet.bytes, false);
        match self.connection.send_datagram(content) {
            Ok(()) => Ok(true),
            Err(SendDatagramError::ConnectionLost(over)) => Err(over),
            Err(
                SendDatagramError::TooLarge
                | SendDatagramError::UnsupportedByPeer
                | SendDatagramError::Disabled,
            ) => {
                self.report.too_large += 1;
                Ok(false)
            }
        }
    }

    async fn on_the_stream(&mut self, packet: Waiting) -> Result<bool, ConnectionError> {
        let content = packet::write(self.call, packet.number, packet.bytes, true);
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none @ None => none.insert(self.connection.open_uni().await?),
        };
        write(stream, content).await
    }

    async fn on_a_stream(&mut self, packet: Waiting) -> Result<bool, ConnectionError> {
        let content = packet::write(self.call, packet.number, packet.bytes, false);
        let mut stream = self.connection.open_uni().await?;
        let is_written = write(&mut stream, content).await?;
        self.end(stream);
        Ok(is_written)
    }

    /// Nothing more comes on this stream; waits aside for its acknowledgement.
    fn end(&mut self, mut stream: SendStream) {
        if stream.finish().is_ok() {
            self.unfinished.spawn(async move {
                // An error is that the connection is lost, which is seen elsewhere.
                let _ = stream.stopped().await;
            });
        }
    }

    /// Waits for everything to be acknowledged: streams for an idle timeout, what is not sent again for some round trips.
    async fn finish(&mut self) {
        if let Some(stream) = self.stream.take() {
            self.end(stream);
        }
        let gate = Arc::clone(&self.gate);
        let connection = self.connection.clone();
        // Loss is known after some round trips. The gate may count an acknowledgement of ours as on its way for ever.
        let patience = (8 * connection.rtt()).max(PATIENCE_MIN);
        let everything = async {
            let streams = async { while self.unfinished.join_next().await.is_some() {} };
            let _ = tokio::time::timeout(self.settings.idle_timeout, streams).await;
            let datagrams = async {
                while !gate.is_idle() {
                    gate.changed().await;
                }
            };
            let _ = tokio::time::timeout(patience, datagrams).await;
        };
        tokio::select! {
            // What took too long is lost, and the receiver's notes say so.
            () = everything => {}
            over = connection.closed() => self.report.lost = Some(over.to_string()),
        }
    }
}

/// Whether it was taken: nobody stops a stream that our receivers read.
async fn write(stream: &mut SendStream, content: Bytes) -> Result<bool, ConnectionError> {
    match stream.write_chunk(content).await {
        Ok(()) => Ok(true),
        Err(WriteError::ConnectionLost(over)) => Err(over),
        Err(WriteError::Stopped(_) | WriteError::ClosedStream | WriteError::ZeroRttRejected) => Ok(false),
    }
}

impl fmt::Debug for VoiceSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VoiceSender")
            .field("call", &self.call)
            .field("settings", &self.settings)
            .field("waiting", &self.waiting.len())
            .field("gate", &self.gate)
            .finish_non_exhaustive()
    }
}
