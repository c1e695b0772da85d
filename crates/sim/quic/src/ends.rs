use crate::carried::{Inbox, Outbox};
use crate::end::End;
use crate::error::QuicError;
use crate::settings::{Opening, QuicSettings};
use bytes::BytesMut;
use guestright_engine::{Instant, Streams};
use guestright_quinn_control::Carriage;
use guestright_transport::{Ends, Side};
use quinn_proto::{Connection, Event, StreamEvent};
use rand::Rng;
use std::fmt;
use std::sync::Arc;

/// IPv4 and UDP, in bytes.
const HEADERS: usize = 20 + 8;

/// What one call has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuicStats {
    /// When the speaker's end knew that the connection was open.
    pub opened_at: Option<Instant>,
    /// Whether the connection has ended: nothing was heard for the idle timeout, or an end broke the protocol.
    pub is_lost: bool,
    /// Voice packets that were thrown away before they were sent: too many waited, or there was no connection any more.
    pub thrown_away: u64,
    /// Voice packets that no DATAGRAM frame has room for.
    pub too_large: u64,
    /// Bytes that were spoken and never sent: those that may still be thrown away, and those that quinn holds.
    pub unsent_bytes: u64,
    /// QUIC packets that the speaker's end sent, and that it thinks were lost.
    pub packets_sent: u64,
    /// See `packets_sent`.
    pub packets_lost: u64,
    /// How often congestion made the speaker's end send less.
    pub congestion_events: u64,
    /// The congestion window, in bytes of UDP payload.
    pub window: u64,
    /// STREAM frames that the speaker's end sent, again or for the first time.
    pub stream_frames: u64,
    /// DATAGRAM frames that it sent.
    pub datagram_frames: u64,
}

/// A call over QUIC.
pub struct QuicEnds {
    carriage: Carriage,
    header_bytes: u32,
    opening: Opening,
    source: End,
    sink: End,
    outbox: Outbox,
    inbox: Inbox,
    flying: Flying,
    opened_at: Option<Instant>,
    is_lost: bool,
}

impl QuicEnds {
    /// Call `number` of a run.
    ///
    /// # Errors
    ///
    /// A setting that cannot be.
    pub fn new(settings: &QuicSettings, streams: &Streams, number: u64) -> Result<Self, QuicError> {
        settings.check()?;
        let transport = Arc::new(settings.transport());
        let end = |side, name| {
            let mut seed = [0; 32];
            streams.stream(name, number).fill_bytes(&mut seed);
            End::new(side, Arc::clone(&transport), settings.mtu_discovery, seed)
        };
        Ok(Self {
            carriage: settings.carriage,
            header_bytes: settings.header_bytes,
            opening: settings.opening,
            source: end(quinn_proto::Side::Client, "quic source"),
            sink: end(quinn_proto::Side::Server, "quic sink"),
            outbox: Outbox::new(settings.carriage, settings.send_buffer),
            inbox: Inbox::new(settings.carriage),
            flying: Flying::default(),
            opened_at: None,
            is_lost: false,
        })
    }

    /// What the call has done.
    #[must_use]
    pub fn stats(&self) -> QuicStats {
        let quinn = self.source.connection().map(Connection::stats).unwrap_or_default();
        QuicStats {
            opened_at: self.opened_at,
            is_lost: self.is_lost,
            thrown_away: self.outbox.thrown_away,
            too_large: self.outbox.too_large,
            unsent_bytes: self.outbox.unsent_bytes(),
            packets_sent: quinn.path.sent_packets,
            packets_lost: quinn.path.lost_packets,
            congestion_events: quinn.path.congestion_events,
            window: quinn.path.cwnd,
            stream_frames: quinn.frame_tx.stream,
            datagram_frames: quinn.frame_tx.datagram,
        }
    }

    fn open(&mut self, now: Instant) {
        if self.source.connection().is_none() {
            self.source.connect(now);
        }
    }

    fn opens_at(&self) -> Option<Instant> {
        match self.opening {
            Opening::At(at) if self.source.connection().is_none() => Some(at),
            Opening::At(_) | Opening::WithFirstPacket => None,
        }
    }

    fn handle_events(&mut self, now: Instant, side: Side) {
        match side {
            Side::Source => {
                while let Some(event) = self.source.poll_event() {
                    match event {
                        Event::Connected => self.opened_at = Some(now),
                        Event::ConnectionLost { .. } => self.lose(),
                        Event::Stream(_)
                        | Event::DatagramReceived
                        | Event::DatagramsUnblocked
                        | Event::HandshakeDataReady => {}
                    }
                }
            }
            Side::Sink => {
                while let Some(event) = self.sink.poll_event() {
                    self.hear(event);
                }
                // Reading may have made room that the other end is to be told of.
                self.sink.settle();
            }
        }
    }

    fn lose(&mut self) {
        self.is_lost = true;
        self.outbox.give_up();
    }

    fn hear(&mut self, event: Event) {
        let Some(connection) = self.sink.connection_mut() else {
            return;
        };
        match event {
            Event::DatagramReceived => self.inbox.receive_datagrams(connection),
            Event::Stream(StreamEvent::Opened { .. }) => self.inbox.accept(connection),
            Event::Stream(StreamEvent::Readable { id }) => self.inbox.read(connection, id),
            Event::Stream(
                StreamEvent::Writable { .. }
                | StreamEvent::Finished { .. }
                | StreamEvent::Stopped { .. }
                | StreamEvent::Available { .. },
            )
            | Event::ConnectionLost { .. }
            | Event::Connected
            | Event::DatagramsUnblocked
            | Event::HandshakeDataReady => {}
        }
    }
}

impl Ends for QuicEnds {
    fn write(&mut self, now: Instant, number: u32, bytes: u32) {
        if self.opening == Opening::WithFirstPacket {
            self.open(now);
        }
        self.outbox.push(number, bytes.saturating_add(self.header_bytes));
        if self.is_lost {
            self.outbox.give_up();
        }
    }

    fn arrive(&mut self, now: Instant, side: Side, id: u64, marked: bool) {
        let Some(datagram) = self.flying.remove(id) else {
            return;
        };
        match side {
            Side::Source => self.source.handle(now, quinn_proto::Side::Server, datagram, marked),
            Side::Sink => self.sink.handle(now, quinn_proto::Side::Client, datagram, marked),
        }
        self.handle_events(now, side);
    }

    fn drop_datagram(&mut self, id: u64) {
        self.flying.remove(id);
    }

    fn timeout(&self, side: Side) -> Option<Instant> {
        match side {
            Side::Source => self.opens_at().or_else(|| self.source.timeout()),
            Side::Sink => self.sink.timeout(),
        }
    }

    fn time_out(&mut self, now: Instant, side: Side) {
        match side {
            Side::Source => {
                if self.opens_at().is_some_and(|at| at <= now) {
                    self.open(now);
                }
                self.source.time_out(now);
            }
            Side::Sink => self.sink.time_out(now),
        }
        self.handle_events(now, side);
    }

    fn poll_transmit(&mut self, now: Instant, side: Side) -> Option<(u64, u32)> {
        let datagram = match side {
            Side::Source => {
                if self.opened_at.is_some()
                    && !self.is_lost
                    && let Some(connection) = self.source.connection_mut()
                {
                    self.outbox.feed(connection);
                }
                let datagram = self.source.transmit(now)?;
                if let Some(connection) = self.source.connection() {
                    self.outbox.on_transmit(connection, &datagram);
                }
                datagram
            }
            Side::Sink => self.sink.transmit(now)?,
        };
        let bytes = u32::try_from(HEADERS + datagram.len()).unwrap_or(u32::MAX);
        Some((self.flying.keep(datagram), bytes))
    }

    fn poll_delivered(&mut self) -> Option<u32> {
        self.inbox.delivered.pop_front()
    }
}

impl fmt::Debug for QuicEnds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuicEnds")
            .field("carriage", &self.carriage)
            .field("opening", &self.opening)
            .field("outbox", &self.outbox)
            .field("inbox", &self.inbox)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

/// Datagrams that the network carries, by their ids.
#[derive(Default)]
struct Flying {
    datagrams: Vec<Option<BytesMut>>,
    free: Vec<usize>,
}

impl Flying {
    fn keep(&mut self, datagram: BytesMut) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.datagrams.push(None);
            self.datagrams.len() - 1
        });
        self.datagrams[index] = Some(datagram);
        u64::try_from(index).unwrap_or(u64::MAX)
    }

    fn remove(&mut self, id: u64) -> Option<BytesMut> {
        let index = usize::try_from(id).ok()?;
        let datagram = self.datagrams.get_mut(index)?.take()?;
        self.free.push(index);
        Some(datagram)
    }
}
