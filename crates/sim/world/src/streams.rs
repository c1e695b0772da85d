//! Voice streams from a mobile station through an access point and a tunnel to a gateway: the `streams` testbed (paper B,
//! Figure 1).

mod measured;
mod network;
mod wired;

use crate::joined::joined;
use crate::overhead::{WRAPPING, Wrapping};
use crate::radio::{RADIO, Radio};
use crate::whole::{millionfold, nanos};
use guestright_engine::{Instant, Nanos, Streams as Chance};
use guestright_experiment::{MetricInfo, Outcome, SettingError, SettingInfo, Settings, Testbed};
use guestright_units::Seed;
use network::{Config, Network};
use rand::RngExt;
use wired::{Machine, Wire};

/// One-way streams of RTP packets; a generator sends them into the mobile station and takes them from the gateway.
#[derive(Clone, Copy, Debug)]
pub struct Streams;

/// The most packets of a run: the latency of each is kept.
const PACKETS_MAX: u64 = 5_000_000;

const OWN: [SettingInfo; 14] = [
    SettingInfo::integer("streams", "", 20, (1, 200), "One-way streams; 1 to 30 in the paper."),
    SettingInfo::integer(
        "packet_bytes",
        "bytes",
        60,
        (41, 1_500),
        "Length of an IP packet: 60 is G.729 with two frames of 10 ms, 200 is G.711 with 20 ms.",
    ),
    SettingInfo::float("interval_ms", "ms", 20.0, (1.0, 1_000.0), "Time between two packets of a stream."),
    SettingInfo::float("length_s", "s", 10.0, (0.1, 3_600.0), "How long the generator sends."),
    SettingInfo::choice(
        "phases",
        "random",
        &["random", "even"],
        "Streams start at random within the interval, or evenly spread over it.",
    ),
    SettingInfo::float(
        "host.delay_us",
        "µs",
        388.0,
        (0.0, 1e6),
        "What the mobile station takes for each packet; adds no queue.",
    ),
    SettingInfo::float(
        "gateway.delay_us",
        "µs",
        388.0,
        (0.0, 1e6),
        "What the gateway takes for each packet; adds no queue.",
    ),
    SettingInfo::float(
        "host.crypto_us",
        "µs",
        8.0,
        (0.0, 1e6),
        "Encrypting a packet at the mobile station, one at a time.",
    ),
    SettingInfo::float(
        "host.crypto_byte_us",
        "µs",
        0.07,
        (0.0, 1e3),
        "The same for each byte of the packet in the tunnel.",
    ),
    SettingInfo::float(
        "gateway.crypto_us",
        "µs",
        4.0,
        (0.0, 1e6),
        "Decrypting a packet at the gateway, one at a time.",
    ),
    SettingInfo::float(
        "gateway.crypto_byte_us",
        "µs",
        0.035,
        (0.0, 1e3),
        "The same for each byte of the packet in the tunnel.",
    ),
    SettingInfo::float(
        "wire.rate_mbps",
        "Mb/s",
        10.0,
        (0.1, 10_000.0),
        "Ethernet between access point and gateway, store and forward.",
    ),
    SettingInfo::float(
        "generator.rate_mbps",
        "Mb/s",
        100.0,
        (0.1, 10_000.0),
        "Ethernet between the generator and the two ends.",
    ),
    SettingInfo::float(
        "access_point.delay_us",
        "µs",
        0.0,
        (0.0, 1e6),
        "What the access point takes for each packet; adds no queue.",
    ),
];

const SETTINGS: [SettingInfo; OWN.len() + WRAPPING.len() + RADIO.len()] = joined(&[&OWN, &WRAPPING, &RADIO]);

impl Testbed for Streams {
    fn name(&self) -> &'static str {
        "streams"
    }

    fn describe(&self) -> &'static str {
        "A generator sends voice streams into a mobile station; they go over 802.11 to an access point, over Ethernet to \
         a gateway, in a tunnel if so set, and back to the generator, which measures."
    }

    fn settings(&self) -> &'static [SettingInfo] {
        &SETTINGS
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        &measured::METRICS
    }

    fn check(&self, settings: &Settings) -> Result<(), SettingError> {
        let chance = Chance::new(Seed::from_number(0));
        Network::new(config(settings, &chance)?, &chance).map(drop)
    }

    fn run(&self, settings: &Settings, seed: Seed) -> Result<Outcome, SettingError> {
        let chance = Chance::new(seed);
        Ok(Network::new(config(settings, &chance)?, &chance)?.run())
    }
}

fn config(settings: &Settings, chance: &Chance) -> Result<Config, SettingError> {
    let packet_bytes: u32 = settings.whole("packet_bytes")?;
    let wrapping = Wrapping::from_settings(settings)?;
    let wire_len = wrapping.wire_len(usize::try_from(packet_bytes).expect("the setting has limits"));
    let wire_bytes = u32::try_from(wire_len).expect("a tunnel adds little");
    if wire_bytes > 1_500 {
        let reason =
            format!("it leaves the tunnel with {wire_bytes}, and Ethernet carries 1500; make it shorter");
        return Err(SettingError::unfit("packet_bytes", reason));
    }
    let interval = nanos(settings.float("interval_ms")? * 1e6);
    let length = nanos(settings.float("length_s")? * 1e9);
    let streams: u64 = settings.whole("streams")?;
    let rounds = length.0 / interval.0;
    if streams * rounds > PACKETS_MAX {
        let reason = format!("it makes {} packets; at most {PACKETS_MAX} are measured", streams * rounds);
        return Err(SettingError::unfit("length_s", reason));
    }
    let is_tunnel = wrapping != Wrapping::None;
    let machine = |name: &str| {
        let (packet, byte) = (format!("{name}.crypto_us"), format!("{name}.crypto_byte_us"));
        let crypto_us = settings.float(&packet)? + settings.float(&byte)? * f64::from(wire_bytes);
        let crypto = if is_tunnel { nanos(crypto_us * 1e3) } else { Nanos(0) };
        Ok(Machine::new(nanos(settings.float(&format!("{name}.delay_us"))? * 1e3), crypto))
    };
    let wire = |name: &str, bytes| settings.float(name).map(|mbps| Wire::new(millionfold(mbps), bytes));
    Ok(Config {
        streams: phases(settings, interval, streams, chance)?,
        packet_bytes,
        wire_bytes,
        interval,
        rounds: u32::try_from(rounds).expect("there are at most as many as packets"),
        length,
        into_host: wire("generator.rate_mbps", packet_bytes)?,
        host: machine("host")?,
        access_point: nanos(settings.float("access_point.delay_us")? * 1e3),
        into_gateway: wire("wire.rate_mbps", wire_bytes)?,
        gateway: machine("gateway")?,
        back: wire("generator.rate_mbps", packet_bytes)?,
        radio: Radio::from_settings(settings)?,
    })
}

/// When each stream starts; sorted, so that packets are generated in this order in every interval.
fn phases(
    settings: &Settings,
    interval: Nanos,
    streams: u64,
    chance: &Chance,
) -> Result<Vec<Instant>, SettingError> {
    let is_even = settings.text("phases")? == "even";
    let phase = |number: u64| {
        if is_even {
            interval.0 * number / streams
        } else {
            chance.stream("phase", number).random_range(0..interval.0)
        }
    };
    let mut phases: Vec<Instant> = (0..streams).map(phase).map(Instant).collect();
    phases.sort_unstable();
    Ok(phases)
}

#[cfg(test)]
mod tests;
