//! Bulk TCP through the paper's router: the `tcp` testbed (paper A, sections 4.1 and 6, Figure 3).

mod measured;
mod network;

use crate::cpu::{CPU, config_from_settings};
use crate::joined::joined;
use crate::overhead::{WRAPPING, Wrapping};
use crate::receipts::{Offsets, RECEIPTS, cost};
use crate::whole::{millionfold, nanos};
use guestright_congestion::{RecoveryKind, RecoverySettings, RenoSettings};
use guestright_engine::{Instant, Streams};
use guestright_experiment::{MetricInfo, Outcome, SettingError, SettingInfo, Settings, Testbed};
use guestright_transport::{LinkSettings, QueueLimit, ReceiverSettings, SenderSettings};
use guestright_units::Seed;
use network::{Between, Config, Network, Receipts};
use rand::RngExt;

/// Hosts on the inside of a router send as much as they can to hosts on its outside; the first is the reference host.
#[derive(Clone, Copy, Debug)]
pub struct Tcp;

const OWN: [SettingInfo; 17] = [
    SettingInfo::integer(
        "flows",
        "",
        7,
        (1, 64),
        "Parallel transfers, each with hosts of its own; 1 to 7 in the paper.",
    ),
    SettingInfo::integer(
        "bytes",
        "bytes",
        100_000_000,
        (1_000, 100_000_000_000),
        "How much each transfer carries; 100 MB in the paper.",
    ),
    SettingInfo::choice(
        "between",
        "router",
        &["router", "one-switch", "two-switches"],
        "What is between the hosts: the router, with a switch on each side; one switch that blocks nothing; or two \
         switches and a cable that all flows share. The paper does not say which of the two its reference is.",
    ),
    RECEIPTS[0], // Suite.
    RECEIPTS[2], // Interval.
    RECEIPTS[3], // Offsets.
    RECEIPTS[4], // Verification.
    SettingInfo::integer(
        "tunnel_mtu",
        "bytes",
        1_410,
        (576, 1_500),
        "The longest IP packet that goes into a tunnel; 1410 is common for L2TP in IPsec. The paper does not say.",
    ),
    SettingInfo::float("link.rate_mbps", "Mb/s", 100.0, (0.1, 10_000.0), "Rate of every cable."),
    SettingInfo::float(
        "link.delay_us",
        "µs",
        0.5,
        (0.0, 1e6),
        "Propagation delay of every cable; 0.5 µs are 100 m.",
    ),
    SettingInfo::integer(
        "link.queue_max",
        "packets",
        1_000,
        (1, 100_000),
        "What waits for a cable, in hosts and in ports of switches; more is dropped.",
    ),
    SettingInfo::choice(
        "tcp.recovery",
        "newreno",
        &["reno", "newreno"],
        "How losses are repaired. Linux 2.6.8 also had selective acknowledgements, which are not modelled.",
    ),
    SettingInfo::integer(
        "tcp.window_bytes",
        "bytes",
        65_535,
        (1_460, 1 << 30),
        "The receiver's window; 64 KiB is the most without window scaling.",
    ),
    SettingInfo::float(
        "tcp.ack_delay_ms",
        "ms",
        40.0,
        (0.0, 500.0),
        "How long a receiver waits for a second segment before it acknowledges one; Linux has 40.",
    ),
    SettingInfo::float(
        "start.spread_ms",
        "ms",
        100.0,
        (0.0, 60_000.0),
        "Each transfer starts at random within this.",
    ),
    SettingInfo::float(
        "until_s",
        "s",
        50_000.0,
        (1.0, 1e6),
        "When a run is broken off; what is not finished then counts with what it has carried.",
    ),
    SettingInfo::bool(
        "tcp.linux",
        true,
        "Timers and first window of Linux 2.6.8; otherwise those of the RFCs.",
    ),
];

const SETTINGS: [SettingInfo; OWN.len() + WRAPPING.len() + CPU.len()] = joined(&[&OWN, &WRAPPING, &CPU]);

/// Header bytes of IPv4 and TCP, and those of timestamps (RFC 7323).
const HEADERS: i64 = 40;
const TIMESTAMPS: i64 = 12;
const ETHERNET_MTU: i64 = 1_500;

impl Testbed for Tcp {
    fn name(&self) -> &'static str {
        "tcp"
    }

    fn describe(&self) -> &'static str {
        "Parallel bulk transfers over 100 Mb/s Ethernet and a router whose one processor translates addresses, is the \
         tunnel's end and verifies receipts; acknowledgements take the same way back."
    }

    fn settings(&self) -> &'static [SettingInfo] {
        &SETTINGS
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        &measured::METRICS
    }

    fn check(&self, settings: &Settings) -> Result<(), SettingError> {
        let config = config(settings, &[(Instant::START, Instant::START)])?;
        Network::new(&config).map(drop)
    }

    fn run(&self, settings: &Settings, seed: Seed) -> Result<Outcome, SettingError> {
        let starts = starts(settings, seed)?;
        let config = config(settings, &starts)?;
        Ok(measured::outcome(&Network::new(&config)?.run()))
    }
}

/// When each flow starts, and when its first receipt is due.
fn starts(settings: &Settings, seed: Seed) -> Result<Vec<(Instant, Instant)>, SettingError> {
    let streams = Streams::new(seed);
    let spread = nanos(settings.float("start.spread_ms")? * 1e6);
    let interval = nanos(settings.float("receipts.interval_s")? * 1e9);
    let offsets = if settings.text("receipts.offsets")? == "even" { Offsets::Even } else { Offsets::Random };
    let flows: u16 = settings.whole("flows")?;
    let receipts = offsets.first(interval, flows, 0, &streams);
    let start = |flow: u16| Instant(streams.stream("start", u64::from(flow)).random_range(0..=spread.0));
    Ok((0..flows).map(start).zip(receipts).collect())
}

fn config(settings: &Settings, starts: &[(Instant, Instant)]) -> Result<Config, SettingError> {
    let wrapping = Wrapping::from_settings(settings)?;
    let between = match settings.text("between")? {
        "one-switch" => Between::OneSwitch,
        "two-switches" => Between::TwoSwitches,
        _ => Between::Router(config_from_settings(settings)?),
    };
    if !matches!(between, Between::Router(_)) && wrapping != Wrapping::None {
        let reason =
            "there is no router that could be its end; set `between` to \"router\", or `tunnel` to \"none\"";
        return Err(SettingError::unfit("tunnel", reason));
    }
    let segment = segment(settings, wrapping)?;
    let (sender, reno, receiver) = tcp(settings, segment)?;
    let ethernet = LinkSettings::ethernet(millionfold(settings.float("link.rate_mbps")?));
    let link = LinkSettings {
        delay: nanos(settings.float("link.delay_us")? * 1e3),
        queue_max: QueueLimit::Packets(settings.whole("link.queue_max")?),
        ..ethernet
    };
    Ok(Config {
        bytes: settings.whole("bytes")?,
        between,
        wrapping,
        receipts: receipts(settings, between)?,
        link,
        sender,
        reno,
        receiver,
        starts: starts.to_vec(),
        until: Instant::START + nanos(settings.float("until_s")? * 1e9),
    })
}

/// Payload of a full segment: what the tunnel, or Ethernet, leaves room for.
fn segment(settings: &Settings, wrapping: Wrapping) -> Result<u32, SettingError> {
    let mtu = if wrapping == Wrapping::None { ETHERNET_MTU } else { settings.integer("tunnel_mtu")? };
    let wire = wrapping.wire_len(usize::try_from(mtu).expect("the setting has limits"));
    if i64::try_from(wire).is_ok_and(|wire| wire > ETHERNET_MTU) {
        let reason = format!(
            "packets of {mtu} bytes leave the tunnel with {wire}, and Ethernet carries {ETHERNET_MTU}; make it smaller"
        );
        return Err(SettingError::unfit("tunnel_mtu", reason));
    }
    Ok(u32::try_from(mtu - HEADERS - TIMESTAMPS).expect("the setting has limits"))
}

fn tcp(
    settings: &Settings,
    segment: u32,
) -> Result<(SenderSettings, RenoSettings, ReceiverSettings), SettingError> {
    let linux = settings.bool("tcp.linux")?;
    let kind =
        if settings.text("tcp.recovery")? == "reno" { RecoveryKind::Reno } else { RecoveryKind::NewReno };
    let (sender, reno) = if linux {
        (SenderSettings::linux_2_6_8(segment), RenoSettings::linux_2_6_8(segment))
    } else {
        (SenderSettings { timestamps: true, ..SenderSettings::rfc(segment) }, RenoSettings::rfc5681(segment))
    };
    let sender = SenderSettings { recovery: RecoverySettings::new(kind, segment), ..sender };
    let receiver = if linux {
        ReceiverSettings::linux_2_6_8()
    } else {
        ReceiverSettings { timestamps: true, ..ReceiverSettings::rfc5681() }
    };
    let delay = nanos(settings.float("tcp.ack_delay_ms")? * 1e6);
    Ok((sender, reno, ReceiverSettings { window: settings.whole("tcp.window_bytes")?, delay, ..receiver }))
}

/// What the router verifies, and how often for each host.
fn receipts(settings: &Settings, between: Between) -> Result<Option<Receipts>, SettingError> {
    let Some(cost) = cost(settings)? else { return Ok(None) };
    let Between::Router(cpu) = between else {
        let reason = "there is no router that could verify receipts; set `between` to \"router\", or the suite to \"none\"";
        return Err(SettingError::unfit("receipts.suite", reason));
    };
    let interval = nanos(settings.float("receipts.interval_s")? * 1e9);
    Ok(cpu.map(|(_, costs)| Receipts { cost: costs.verification(cost.verify_ms), interval }))
}

#[cfg(test)]
mod tests;
