//! `guestright-lab tunnel esp`: one end of a pair of ESP associations with keys that both ends know beforehand.

pub(super) mod raw;
pub(super) mod reservation;
pub(super) mod settings;

use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_cli::signals::Signals;
use guestright_tun::{Device, DeviceSettings, Pump, Socket, SocketSettings};
use guestright_tunnel::encapsulation::Encapsulation;
use guestright_tunnel::esp_settings::EspSettings;
use guestright_tunnel::{Endpoint, EspEndpoint};
use rand::RngExt;
use raw::RawRelay;
use reservation::Reservation;
use settings::EndSettings;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use zeroize::Zeroizing;

/// How often more sequence numbers are reserved, if they are needed.
const RESERVE_EVERY: Duration = Duration::from_millis(100);

/// Run one end of an ESP tunnel with fixed keys, until Ctrl-C
///
/// For the laboratory: who has the keys of today can read what was carried yesterday. The interface gets the addresses
/// and the MTU of the file; routes beyond the networks of its own addresses are not set. The file beside it with the
/// next sequence number belongs to the keys: with an older copy of it, numbers would be used twice.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab tunnel esp-keys --suite aes-128-gcm one.toml two.toml
  guestright-lab tunnel esp --config one.toml")]
pub(crate) struct Esp {
    /// The settings file of this end, as `guestright-lab tunnel esp-keys` writes it
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Print the commands that make a Linux kernel this end, keys included, and stop
    #[arg(long)]
    kernel_commands: bool,
    /// Hand packets over one by one, for measurements
    #[arg(long)]
    without_offload: bool,
}

/// What the packets go through: a UDP socket, with a relay to a raw socket behind it where there is no UDP.
struct Way {
    socket: Socket,
    peer: Option<std::net::SocketAddr>,
    relay: Option<RawRelay>,
}

impl Esp {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        let end = EndSettings::read(&self.config)?;
        let esp = EspSettings::try_from(&end.esp).map_err(Failure::config)?;
        if self.kernel_commands {
            let ends = end.kernel_ends()?;
            write!(out, "{}", *guestright_tunnel::esp_settings::xfrm_commands(&esp, &ends))?;
            return Ok(());
        }
        let mut reservation =
            Reservation::open(&end.sequence_file(&self.config), esp.outbound.extended_sequence)?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::network)?;
        runtime.block_on(async {
            let mut signals = Signals::register().map_err(Failure::network)?;
            let device = Device::open(&self.device(&end)).map_err(Failure::network)?;
            let way = self.way(&end, &esp)?;
            let seed = Zeroizing::new(guestright_clock::rng().random());
            let endpoint = Arc::new(EspEndpoint::new(&esp, way.peer, reservation.first(), &seed));
            endpoint.set_sequence_limit(reservation.last());
            let name = device.name().to_owned();
            let (suite, mode, address) = (esp.suite(), esp.mode.name(), end.listen);
            let (lost, mut is_lost) = mpsc::unbounded_channel();
            let shared = Arc::clone(&endpoint);
            let pump = Pump::start(device, way.socket, shared, move |error| _ = lost.send(error));
            let pump = pump.map_err(Failure::network)?;
            let encapsulation = esp.encapsulation.name();
            writeln!(out, "{name} is up: {suite}, {mode}, {encapsulation}, {address}; Ctrl-C ends it")?;
            out.flush()?;
            let mut clock = tokio::time::interval(RESERVE_EVERY);
            loop {
                tokio::select! {
                    () = signals.recv() => break,
                    _ = is_lost.recv() => break,
                    _ = clock.tick() => look_after(&endpoint, &mut reservation),
                }
            }
            let stopped = pump.stop().map_err(Failure::network);
            drop(way.relay);
            reservation.give_back(endpoint.next_sequence());
            summary(out, &endpoint)?;
            stopped
        })
    }

    fn device(&self, end: &EndSettings) -> DeviceSettings {
        DeviceSettings {
            addresses: end.addresses.iter().map(|network| (network.address(), network.prefix())).collect(),
            offload: !self.without_offload,
            ..DeviceSettings::new(&end.interface, end.mtu)
        }
    }

    fn way(&self, end: &EndSettings, esp: &EspSettings) -> Result<Way, Failure> {
        let offload = !self.without_offload;
        match esp.encapsulation {
            Encapsulation::Udp => {
                let settings = SocketSettings { bind: end.listen, offload, ..SocketSettings::default() };
                let socket = Socket::open(&settings).map_err(Failure::network)?;
                Ok(Way { socket, peer: end.peer, relay: None })
            }
            Encapsulation::Raw => {
                let bind = (std::net::Ipv4Addr::LOCALHOST, 0).into();
                let settings = SocketSettings { bind, offload, ..SocketSettings::default() };
                let socket = Socket::open(&settings).map_err(Failure::network)?;
                let inside = socket.address().map_err(Failure::network)?;
                let relay = RawRelay::start(end.raw_addresses()?, inside)?;
                Ok(Way { socket, peer: Some(relay.address()), relay: Some(relay) })
            }
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
        Err(error) => tracing::error!("no sequence numbers could be reserved: {error:#}"),
    }
}

fn summary(out: &mut Output, endpoint: &EspEndpoint) -> Outcome {
    let counters = endpoint.counters();
    writeln!(out, "{} packets in, {} out", counters.received, counters.sent)?;
    for (reason, count) in counters.drops() {
        writeln!(out, "{count} dropped: {}", reason.name())?;
    }
    for (kind, count) in endpoint.drops().iter().filter(|(_, count)| *count > 0) {
        writeln!(out, "{count} of what came in: {}", kind.name())?;
    }
    Ok(())
}
