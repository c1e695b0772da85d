//! Bulk TCP through the paper's router: the `tcp` testbed (paper A, sections 4.1 and 6, Figure 3).

mod measured;
mod network;
mod wires;

pub use network::{FlowReport, Receipts, Report};
pub use wires::{Carried, WireEvent, Wires, WiresReport};

use crate::cpu::{CpuSettings, config_from_settings};
use crate::overhead::{Wrapping, WrappingSettings};
use crate::receipts::{SuiteSettings, VerificationSettings, cost};
use crate::whole::{millionfold, nanos};
use guestright_congestion::{RecoveryKind, RecoverySettings, RenoSettings};
use guestright_engine::{Instant, Streams};
use guestright_experiment::{MetricInfo, Outcome, SettingError, SettingInfo, Settings, Testbed, settings};
use guestright_transport::{LinkSettings, QueueLimit, ReceiverSettings, SenderSettings};
use guestright_tunnel::encapsulation::Encapsulation;
use guestright_tunnel::esp::Suite;
use guestright_tunnel::overhead::Mode;
use guestright_units::Seed;
use network::{Config, Network};
use rand::RngExt;
use wires::Between;

/// The testbed's name.
pub const NAME: &str = "tcp";

/// Hosts on the inside of a router send as much as they can to hosts on its outside; the first is the reference host.
#[derive(Clone, Copy, Debug)]
pub struct Tcp;

/// A [`Between`] without the router's processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BetweenKind {
    Router,
    OneSwitch,
    TwoSwitches,
}

const BETWEEN: [(&str, BetweenKind); 3] = [
    ("router", BetweenKind::Router),
    ("one-switch", BetweenKind::OneSwitch),
    ("two-switches", BetweenKind::TwoSwitches),
];

const RECOVERIES: [(&str, RecoveryKind); 3] =
    [("reno", RecoveryKind::Reno), ("newreno", RecoveryKind::NewReno), ("sack", RecoveryKind::Sack)];

settings! {
    /// The settings of the testbed.
    struct TcpSettings {
        /// Parallel transfers, each with hosts of its own; 1 to 7 in the paper.
        flows: u16 = integer("flows", "", 7, (1, 64)),
        /// How much each transfer carries; 100 MB in the paper.
        bytes: u64 = integer("bytes", "bytes", 100_000_000, (1_000, 100_000_000_000)),
        /// What is between the hosts: the router, with a switch on each side; one switch that blocks nothing; or
        /// two switches and a cable that all flows share. The paper does not say which of the two its reference is.
        between: BetweenKind = choice("between", "router", BETWEEN),
        signing: SuiteSettings,
        verification: VerificationSettings,
        /// The longest IP packet that goes into a tunnel; 1410 is common for L2TP in IPsec. The paper does not say.
        tunnel_mtu: u32 = integer("tunnel_mtu", "bytes", 1_410, (576, 1_500)),
        /// Rate of every cable.
        link_rate_mbps: f64 = float("link.rate_mbps", "Mb/s", 100.0, (0.1, 10_000.0)),
        /// Propagation delay of every cable; 0.5 µs are 100 m.
        link_delay_us: f64 = float("link.delay_us", "µs", 0.5, (0.0, 1e6)),
        /// What waits for a cable, in hosts and in ports of switches; more is dropped.
        link_queue_max: u32 = integer("link.queue_max", "packets", 1_000, (1, 100_000)),
        /// How losses are repaired. Linux 2.6.8 had selective acknowledgements where the other end had them too.
        tcp_recovery: RecoveryKind = choice("tcp.recovery", "newreno", RECOVERIES),
        /// The receiver's window; 64 KiB is the most without window scaling.
        tcp_window_bytes: u32 = integer("tcp.window_bytes", "bytes", 65_535, (1_460, 1 << 30)),
        /// How long a receiver waits for a second segment before it acknowledges one; Linux has 40.
        tcp_ack_delay_ms: f64 = float("tcp.ack_delay_ms", "ms", 40.0, (0.0, 500.0)),
        /// Each transfer starts at random within this.
        start_spread_ms: f64 = float("start.spread_ms", "ms", 100.0, (0.0, 60_000.0)),
        /// When a run is broken off; what is not finished then counts with what it has carried.
        until_s: f64 = float("until_s", "s", 50_000.0, (1.0, 1e6)),
        /// Timers and first window of Linux 2.6.8; otherwise those of the RFCs.
        tcp_linux: bool = bool("tcp.linux", true),
        wrapping: WrappingSettings,
        cpu: CpuSettings,
    }
}

/// Header bytes of IPv4 and TCP, and those of timestamps (RFC 7323).
const HEADERS: u32 = 40;
const TIMESTAMPS: u32 = 12;
const ETHERNET_MTU: u32 = 1_500;

impl Testbed for Tcp {
    fn name(&self) -> &'static str {
        NAME
    }

    fn describe(&self) -> &'static str {
        "Parallel bulk transfers over 100 Mb/s Ethernet and a router whose one processor translates addresses, is the \
         tunnel's end and verifies receipts; acknowledgements take the same way back."
    }

    fn settings(&self) -> &'static [SettingInfo] {
        TcpSettings::SETTINGS
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        &measured::METRICS
    }

    fn check(&self, settings: &Settings) -> Result<(), SettingError> {
        let config = config(&TcpSettings::read(settings)?, &[(Instant::START, Instant::START)])?;
        Network::new(&config).map(drop)
    }

    fn run(&self, settings: &Settings, seed: Seed) -> Result<Outcome, SettingError> {
        let settings = TcpSettings::read(settings)?;
        let config = config(&settings, &starts(&settings, seed))?;
        Ok(measured::outcome(&Network::new(&config)?.run()))
    }
}

/// A run of the testbed for whoever has other ends than the simulator's TCP: what is between them, when what begins, and
/// how a row is made of what came out.
#[derive(Clone, Debug)]
pub struct Setup {
    settings: TcpSettings,
    config: Config,
    suite: String,
}

/// A tunnel between a host and the router, and how it is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EspTunnel {
    pub suite: Suite,
    pub mode: Mode,
    pub encapsulation: Encapsulation,
}

impl Setup {
    /// Of completed settings. The seed draws when transfers begin and receipts are due, as for the simulator.
    ///
    /// # Errors
    /// Settings that do not go together.
    pub fn new(settings: &Settings, seed: Seed) -> Result<Self, SettingError> {
        let suite = settings.text("receipts.suite")?.to_owned();
        let settings = TcpSettings::read(settings)?;
        let config = config(&settings, &starts(&settings, seed))?;
        Ok(Self { settings, config, suite })
    }

    /// Cables, switches and router, with nothing on them.
    ///
    /// # Errors
    /// Links that cannot be.
    pub fn wires<T>(&self) -> Result<Wires<T>, SettingError> {
        let Config { between, wrapping, link, .. } = self.config;
        Wires::new(self.settings.flows.into(), between, wrapping, link)
    }

    /// For each transfer, when it starts, and when its first receipt is due.
    #[must_use]
    pub fn starts(&self) -> &[(Instant, Instant)] {
        &self.config.starts
    }

    /// How much each transfer carries, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.config.bytes
    }

    /// When a run is broken off.
    #[must_use]
    pub fn until(&self) -> Instant {
        self.config.until
    }

    /// Payload of a full segment beside time stamps, in bytes.
    #[must_use]
    pub fn segment_bytes(&self) -> u32 {
        self.config.sender.recovery.segment
    }

    /// What a router verifies, and by which suite's name, if it does.
    #[must_use]
    pub fn receipts(&self) -> Option<(Receipts, &str)> {
        Some((self.config.receipts?, &self.suite))
    }

    /// The tunnel, if it is one of ESP with real lengths.
    #[must_use]
    pub fn tunnel(&self) -> Option<EspTunnel> {
        let Wrapping::Esp { suite, mode, encapsulation, l2tp_length: true } = self.config.wrapping else {
            return None;
        };
        Some(EspTunnel { suite, mode, encapsulation })
    }

    /// How long an IP packet of so many bytes is in the tunnel.
    #[must_use]
    pub fn wire_len(&self, packet_len: usize) -> usize {
        self.config.wrapping.wire_len(packet_len)
    }

    /// Whether packets go through any tunnel.
    #[must_use]
    pub fn has_tunnel(&self) -> bool {
        self.config.wrapping != Wrapping::None
    }

    /// The row.
    #[must_use]
    pub fn outcome(&self, report: &Report) -> Outcome {
        measured::outcome(report)
    }
}

/// When each flow starts, and when its first receipt is due.
fn starts(settings: &TcpSettings, seed: Seed) -> Vec<(Instant, Instant)> {
    let streams = Streams::new(seed);
    let spread = nanos(settings.start_spread_ms * 1e6);
    let VerificationSettings { interval_s, offsets, .. } = settings.verification;
    let receipts = offsets.first(nanos(interval_s * 1e9), settings.flows, 0, &streams);
    let start = |flow: u16| Instant(streams.stream("start", u64::from(flow)).random_range(0..=spread.0));
    (0..settings.flows).map(start).zip(receipts).collect()
}

fn config(settings: &TcpSettings, starts: &[(Instant, Instant)]) -> Result<Config, SettingError> {
    let wrapping = Wrapping::from_settings(&settings.wrapping)?;
    let between = match settings.between {
        BetweenKind::OneSwitch => Between::OneSwitch,
        BetweenKind::TwoSwitches => Between::TwoSwitches,
        BetweenKind::Router => Between::Router(config_from_settings(&settings.cpu)),
    };
    if !matches!(between, Between::Router(_)) && wrapping != Wrapping::None {
        let reason =
            "there is no router that could be its end; set `between` to \"router\", or `tunnel` to \"none\"";
        return Err(SettingError::unfit("tunnel", reason));
    }
    let segment = segment(settings, wrapping)?;
    let (sender, reno, receiver) = tcp(settings, segment);
    let ethernet = LinkSettings::ethernet(millionfold(settings.link_rate_mbps));
    let link = LinkSettings {
        delay: nanos(settings.link_delay_us * 1e3),
        queue_max: QueueLimit::Packets(settings.link_queue_max),
        ..ethernet
    };
    Ok(Config {
        bytes: settings.bytes,
        between,
        wrapping,
        receipts: receipts(settings, between)?,
        link,
        sender,
        reno,
        receiver,
        starts: starts.to_vec(),
        until: Instant::START + nanos(settings.until_s * 1e9),
    })
}

/// Payload of a full segment: what the tunnel, or Ethernet, leaves room for.
fn segment(settings: &TcpSettings, wrapping: Wrapping) -> Result<u32, SettingError> {
    let mtu = if wrapping == Wrapping::None { ETHERNET_MTU } else { settings.tunnel_mtu };
    let wire = wrapping.wire_len(usize::try_from(mtu).expect("the setting has limits"));
    if u32::try_from(wire).is_ok_and(|wire| wire > ETHERNET_MTU) {
        let reason = format!(
            "packets of {mtu} bytes leave the tunnel with {wire}, and Ethernet carries {ETHERNET_MTU}; make it smaller"
        );
        return Err(SettingError::unfit("tunnel_mtu", reason));
    }
    Ok(mtu - HEADERS - TIMESTAMPS)
}

fn tcp(settings: &TcpSettings, segment: u32) -> (SenderSettings, RenoSettings, ReceiverSettings) {
    let (sender, reno, receiver) = if settings.tcp_linux {
        (
            SenderSettings::linux_2_6_8(segment),
            RenoSettings::linux_2_6_8(segment),
            ReceiverSettings::linux_2_6_8(),
        )
    } else {
        (
            SenderSettings { timestamps: true, ..SenderSettings::rfc(segment) },
            RenoSettings::rfc5681(segment),
            ReceiverSettings { timestamps: true, ..ReceiverSettings::rfc5681() },
        )
    };
    let recovery = RecoverySettings::new(settings.tcp_recovery, segment);
    let delay = nanos(settings.tcp_ack_delay_ms * 1e6);
    let sack = settings.tcp_recovery == RecoveryKind::Sack;
    let receiver = ReceiverSettings { window: settings.tcp_window_bytes, delay, sack, ..receiver };
    (SenderSettings { recovery, ..sender }, reno, receiver)
}

/// What the router verifies, and how often for each host.
fn receipts(settings: &TcpSettings, between: Between) -> Result<Option<Receipts>, SettingError> {
    let Some(cost) = cost(&settings.signing, &settings.verification) else { return Ok(None) };
    let Between::Router(cpu) = between else {
        let reason = "there is no router that could verify receipts; set `between` to \"router\", or the suite to \"none\"";
        return Err(SettingError::unfit("receipts.suite", reason));
    };
    let interval = nanos(settings.verification.interval_s * 1e9);
    Ok(cpu.map(|(_, costs)| Receipts { cost: costs.verification(cost.verify_ms), interval }))
}

#[cfg(test)]
mod tests;
