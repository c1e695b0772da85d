//! One end of a pair of ESP associations with keys that both ends know beforehand.

pub mod keys;
mod raw;
mod reservation;
pub mod settings;

use guestright_error::RunError;
use guestright_tun::{Device, DeviceSettings, Pump, Socket, SocketSettings};
use guestright_tunnel::EspEndpoint;
use guestright_tunnel::encapsulation::Encapsulation;
use guestright_tunnel::esp_settings::EspSettings;
use rand::RngExt;
use raw::RawRelay;
use reservation::Reservation;
use settings::EndSettings;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use zeroize::Zeroizing;

/// How often more sequence numbers are reserved, if they are needed.
const RESERVE_EVERY: Duration = Duration::from_millis(100);

/// An end that carries packets. [`run`](Self::run) it, then [`stop`](Self::stop) it: what was reserved and not used is
/// given back then.
#[derive(Debug)]
pub struct EspEnd {
    name: String,
    endpoint: Arc<EspEndpoint>,
    reservation: Reservation,
    pump: Pump,
    relay: Option<RawRelay>,
    is_lost: mpsc::UnboundedReceiver<guestright_tun::TunError>,
}

/// What the packets go through: a UDP socket, with a relay to a raw socket behind it where there is no UDP.
struct Way {
    socket: Socket,
    peer: Option<std::net::SocketAddr>,
    relay: Option<RawRelay>,
}

impl EspEnd {
    /// Makes the interface and starts. `config` is where the settings were read, for the file beside it. Without
    /// `offload` packets are handed over one by one.
    ///
    /// # Errors
    /// The sequence numbers, the interface or a socket cannot be had.
    pub fn start(
        end: &EndSettings,
        esp: &EspSettings,
        config: &Path,
        offload: bool,
    ) -> Result<Self, RunError> {
        let reservation = Reservation::open(&end.sequence_file(config), esp.outbound.extended_sequence)?;
        let device = Device::open(&device(end, offload)).map_err(RunError::network)?;
        let way = way(end, esp, offload)?;
        let seed = Zeroizing::new(guestright_clock::rng().random());
        let endpoint = Arc::new(EspEndpoint::new(esp, way.peer, reservation.first(), &seed));
        endpoint.set_sequence_limit(reservation.last());
        let name = device.name().to_owned();
        let (lost, is_lost) = mpsc::unbounded_channel();
        let shared = Arc::clone(&endpoint);
        let pump = Pump::start(device, way.socket, shared, move |error| _ = lost.send(error));
        let pump = pump.map_err(RunError::network)?;
        Ok(Self { name, endpoint, reservation, pump, relay: way.relay, is_lost })
    }

    /// The name of its interface.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Looks after sequence numbers until the interface or the socket is gone; ended by dropping.
    pub async fn run(&mut self) {
        let mut clock = tokio::time::interval(RESERVE_EVERY);
        loop {
            tokio::select! {
                _ = self.is_lost.recv() => return,
                _ = clock.tick() => look_after(&self.endpoint, &mut self.reservation),
            }
        }
    }

    /// Stops; what was counted is in the endpoint. The second is whether it stopped in order.
    pub fn stop(self) -> (Arc<EspEndpoint>, Result<(), RunError>) {
        let stopped = self.pump.stop().map_err(RunError::network);
        drop(self.relay);
        self.reservation.give_back(self.endpoint.next_sequence());
        (self.endpoint, stopped)
    }
}

fn device(end: &EndSettings, offload: bool) -> DeviceSettings {
    DeviceSettings {
        addresses: end.addresses.iter().map(|network| (network.address(), network.prefix())).collect(),
        offload,
        ..DeviceSettings::new(&end.interface, end.mtu)
    }
}

fn way(end: &EndSettings, esp: &EspSettings, offload: bool) -> Result<Way, RunError> {
    match esp.encapsulation {
        Encapsulation::Udp => {
            let settings = SocketSettings { bind: end.listen, offload, ..SocketSettings::default() };
            let socket = Socket::open(&settings).map_err(RunError::network)?;
            Ok(Way { socket, peer: end.peer, relay: None })
        }
        Encapsulation::Raw => {
            let bind = (std::net::Ipv4Addr::LOCALHOST, 0).into();
            let settings = SocketSettings { bind, offload, ..SocketSettings::default() };
            let socket = Socket::open(&settings).map_err(RunError::network)?;
            let inside = socket.address().map_err(RunError::network)?;
            let relay = RawRelay::start(end.raw_addresses()?, inside)?;
            Ok(Way { socket, peer: Some(relay.address()), relay: Some(relay) })
        }
    }
}

fn look_after(endpoint: &EspEndpoint, reservation: &mut Reservation) {
    if let Some(event) = endpoint.poll_event() {
        tracing::warn!(?event, "the lifetime of the associations: make new keys");
    }
    let Some(next) = endpoint.next_sequence() else { return };
    match reservation.keep_ahead(next) {
        Ok(last) => endpoint.set_sequence_limit(last),
        // What is reserved is still used; then nothing is sent until the disk takes more.
        Err(error) => {
            tracing::error!(name: "sequence_numbers", "no sequence numbers could be reserved: {}", error.sentence())
        }
    }
}
