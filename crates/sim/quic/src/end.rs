use crate::clock::{from_quinn, to_quinn};
use crate::identifiers::{NoTokens, Numbered, Repeated};
use crate::null::NullCrypto;
use bytes::BytesMut;
use guestright_engine::Instant;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, Event,
    NoneTokenLog, NoneTokenStore, ServerConfig, Side, TransportConfig, ValidationTokenConfig,
};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// Answers of an endpoint without a connection (refusals, resets) that may wait to be sent.
const ANSWERS_MAX: usize = 16;

/// A QUIC endpoint with at most one connection.
pub(crate) struct End {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// What it sends with: of the client only, the server's is in its endpoint.
    transport: Arc<TransportConfig>,
    first_id: u64,
    timeout: Option<Instant>,
    answers: VecDeque<Vec<u8>>,
    buffer: Vec<u8>,
}

impl End {
    /// `seed` is for packet numbers to skip and for greasing, the only chance quinn draws.
    pub(crate) fn new(
        side: Side,
        transport: Arc<TransportConfig>,
        mtu_discovery: bool,
        seed: [u8; 32],
    ) -> Self {
        let first_id = if side.is_client() { 1 << 32 } else { 2 << 32 };
        let mut config = EndpointConfig::new(Arc::new(Repeated));
        config.rng_seed(Some(seed)).cid_generator(move || Box::new(Numbered::new(first_id)));
        let server = side.is_server().then(|| Arc::new(server(Arc::clone(&transport))));
        Self {
            endpoint: Endpoint::new(Arc::new(config), server, mtu_discovery, None),
            connection: None,
            transport,
            first_id,
            timeout: None,
            answers: VecDeque::new(),
            buffer: Vec::new(),
        }
    }

    pub(crate) fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref().map(|(_, connection)| connection)
    }

    pub(crate) fn connection_mut(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }

    /// Opens the connection, as the client.
    pub(crate) fn connect(&mut self, now: Instant) {
        let first = Numbered::new(self.first_id | 3 << 33).next_id();
        let mut config = ClientConfig::new(Arc::new(NullCrypto));
        config
            .transport_config(Arc::clone(&self.transport))
            .token_store(Arc::new(NoneTokenStore))
            .initial_dst_cid_provider(Arc::new(move || first));
        let opened = self.endpoint.connect(to_quinn(now), config, address(Side::Server), "voice");
        self.connection = Some(opened.expect("version 1, a port, and 2^64 connection ids"));
        self.settle();
    }

    /// A datagram came; `marked`: with the mark of congestion.
    pub(crate) fn handle(&mut self, now: Instant, from: Side, datagram: BytesMut, marked: bool) {
        let now = to_quinn(now);
        let ecn = if marked { EcnCodepoint::Ce } else { EcnCodepoint::Ect0 };
        self.buffer.clear();
        match self.endpoint.handle(now, address(from), None, Some(ecn), datagram, &mut self.buffer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((own, connection)) = &mut self.connection
                    && *own == handle
                {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) if self.connection.is_none() => {
                match self.endpoint.accept(incoming, now, &mut self.buffer, None) {
                    Ok(accepted) => self.connection = Some(accepted),
                    Err(refused) => self.answer(refused.response.map(|answer| answer.size)),
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.endpoint.ignore(incoming),
            Some(DatagramEvent::Response(answer)) => self.answer(Some(answer.size)),
            None => {}
        }
        self.settle();
    }

    fn answer(&mut self, size: Option<usize>) {
        if let Some(answer) = size.and_then(|size| self.buffer.get(..size))
            && self.answers.len() < ANSWERS_MAX
        {
            self.answers.push_back(answer.to_vec());
        }
    }

    pub(crate) const fn timeout(&self) -> Option<Instant> {
        self.timeout
    }

    pub(crate) fn time_out(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(to_quinn(now));
        }
        self.settle();
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.connection_mut()?.poll()
    }

    /// A datagram to send.
    pub(crate) fn transmit(&mut self, now: Instant) -> Option<BytesMut> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(BytesMut::from(&answer[..]));
        }
        let (_, connection) = self.connection.as_mut()?;
        self.buffer.clear();
        let sent = connection.poll_transmit(to_quinn(now), 1, &mut self.buffer);
        let datagram = sent.map(|sent| BytesMut::from(&self.buffer[..sent.size]));
        self.settle();
        datagram
    }

    /// Lets endpoint and connection tell each other what they have to, and asks for the next timeout.
    pub(crate) fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else {
            return;
        };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        self.timeout = connection.poll_timeout().map(from_quinn);
    }
}

fn server(transport: Arc<TransportConfig>) -> ServerConfig {
    let mut tokens = ValidationTokenConfig::default();
    tokens.sent(0).log(Arc::new(NoneTokenLog));
    let mut config = ServerConfig::new(Arc::new(NullCrypto), Arc::new(NoTokens));
    config
        .transport_config(transport)
        .validation_token_config(tokens)
        .time_source(Arc::new(NoTokens))
        .max_incoming(1)
        .migration(false);
    config
}

/// Addresses that packets never see: 192.0.2.0/24 is for documentation (RFC 5737).
const fn address(side: Side) -> SocketAddr {
    let host = match side {
        Side::Client => 1,
        Side::Server => 2,
    };
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, host)), 4_433)
}
