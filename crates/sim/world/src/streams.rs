//! Voice streams from a mobile station through an access point and a tunnel to a gateway: the `streams` testbed (paper B,
//! Figure 1).

mod measured;
mod network;
mod wired;

use crate::overhead::{Wrapping, WrappingSettings};
use crate::radio::{Radio, RadioSettings};
use crate::whole::{millionfold, nanos};
use guestright_engine::{Instant, Nanos, Streams as Chance};
use guestright_experiment::{MetricInfo, Outcome, SettingError, SettingInfo, Settings, Testbed, settings};
use guestright_units::Seed;
use network::{Config, Network};
use rand::RngExt;
use wired::{Machine, Wire};

/// One-way streams of RTP packets; a generator sends them into the mobile station and takes them from the gateway.
#[derive(Clone, Copy, Debug)]
pub struct Streams;

/// The most packets of a run: the latency of each is kept.
const PACKETS_MAX: u64 = 5_000_000;

/// When streams start within an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phases {
    Random,
    Even,
}

const PHASES: [(&str, Phases); 2] = [("random", Phases::Random), ("even", Phases::Even)];

settings! {
    /// The settings of the testbed.
    struct StreamsSettings {
        /// One-way streams; 1 to 30 in the paper.
        streams: u64 = integer("streams", "", 20, (1, 200)),
        /// Length of an IP packet: 60 is G.729 with two frames of 10 ms, 200 is G.711 with 20 ms.
        packet_bytes: u32 = integer("packet_bytes", "bytes", 60, (41, 1_500)),
        /// Time between two packets of a stream.
        interval_ms: f64 = float("interval_ms", "ms", 20.0, (1.0, 1_000.0)),
        /// How long the generator sends.
        length_s: f64 = float("length_s", "s", 10.0, (0.1, 3_600.0)),
        /// What is sent before this is not measured.
        warmup_s: f64 = float("warmup_s", "s", 0.0, (0.0, 3_600.0)),
        /// Streams start at random within the interval, or evenly spread over it.
        phases: Phases = choice("phases", "random", PHASES),
        /// What the mobile station takes for each packet; adds no queue.
        host_delay_us: f64 = float("host.delay_us", "µs", 388.0, (0.0, 1e6)),
        /// What the gateway takes for each packet; adds no queue.
        gateway_delay_us: f64 = float("gateway.delay_us", "µs", 388.0, (0.0, 1e6)),
        /// Encrypting a packet at the mobile station, one at a time.
        host_crypto_us: f64 = float("host.crypto_us", "µs", 8.0, (0.0, 1e6)),
        /// The same for each byte of the packet in the tunnel.
        host_crypto_byte_us: f64 = float("host.crypto_byte_us", "µs", 0.07, (0.0, 1e3)),
        /// Decrypting a packet at the gateway, one at a time.
        gateway_crypto_us: f64 = float("gateway.crypto_us", "µs", 4.0, (0.0, 1e6)),
        /// The same for each byte of the packet in the tunnel.
        gateway_crypto_byte_us: f64 = float("gateway.crypto_byte_us", "µs", 0.035, (0.0, 1e3)),
        /// Ethernet between access point and gateway, store and forward.
        wire_rate_mbps: f64 = float("wire.rate_mbps", "Mb/s", 10.0, (0.1, 10_000.0)),
        /// Ethernet between the generator and the two ends.
        generator_rate_mbps: f64 = float("generator.rate_mbps", "Mb/s", 100.0, (0.1, 10_000.0)),
        /// What the access point takes for each packet; adds no queue.
        access_point_delay_us: f64 = float("access_point.delay_us", "µs", 0.0, (0.0, 1e6)),
        wrapping: WrappingSettings,
        radio: RadioSettings,
    }
}

impl Testbed for Streams {
    fn name(&self) -> &'static str {
        "streams"
    }

    fn describe(&self) -> &'static str {
        "A generator sends voice streams into a mobile station; they go over 802.11 to an access point, over Ethernet to \
         a gateway, in a tunnel if so set, and back to the generator, which measures."
    }

    fn settings(&self) -> &'static [SettingInfo] {
        StreamsSettings::SETTINGS
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        &measured::METRICS
    }

    fn check(&self, settings: &Settings) -> Result<(), SettingError> {
        let chance = Chance::new(Seed::from_number(0));
        Network::new(config(&StreamsSettings::read(settings)?, &chance)?, &chance).map(drop)
    }

    fn run(&self, settings: &Settings, seed: Seed) -> Result<Outcome, SettingError> {
        let chance = Chance::new(seed);
        Ok(Network::new(config(&StreamsSettings::read(settings)?, &chance)?, &chance)?.run())
    }
}

fn config(settings: &StreamsSettings, chance: &Chance) -> Result<Config, SettingError> {
    let packet_bytes = settings.packet_bytes;
    let wrapping = Wrapping::from_settings(&settings.wrapping)?;
    let wire_len = wrapping.wire_len(usize::try_from(packet_bytes).expect("the setting has limits"));
    let wire_bytes = u32::try_from(wire_len).expect("a tunnel adds little");
    if wire_bytes > 1_500 {
        let reason =
            format!("it leaves the tunnel with {wire_bytes}, and Ethernet carries 1500; make it shorter");
        return Err(SettingError::unfit("packet_bytes", reason));
    }
    let interval = nanos(settings.interval_ms * 1e6);
    let length = nanos(settings.length_s * 1e9);
    let warmup = nanos(settings.warmup_s * 1e9);
    if warmup >= length {
        let reason = "nothing is left to be measured; make it shorter than `length_s`";
        return Err(SettingError::unfit("warmup_s", reason));
    }
    let rounds = length.0 / interval.0;
    let packets = settings.streams * rounds;
    if packets > PACKETS_MAX {
        let reason = format!("it makes {packets} packets; at most {PACKETS_MAX} are measured");
        return Err(SettingError::unfit("length_s", reason));
    }
    let machine = |delay_us: f64, crypto_us: f64, crypto_byte_us: f64| {
        let crypto = nanos((crypto_us + crypto_byte_us * f64::from(wire_bytes)) * 1e3);
        let crypto = if wrapping == Wrapping::None { Nanos(0) } else { crypto };
        Machine::new(nanos(delay_us * 1e3), crypto)
    };
    let generator = Wire::new(millionfold(settings.generator_rate_mbps), packet_bytes);
    Ok(Config {
        streams: phases(settings, interval, chance),
        packet_bytes,
        wire_bytes,
        interval,
        rounds: u32::try_from(rounds).expect("there are at most as many as packets"),
        warmup,
        length,
        into_host: generator,
        host: machine(settings.host_delay_us, settings.host_crypto_us, settings.host_crypto_byte_us),
        access_point: nanos(settings.access_point_delay_us * 1e3),
        into_gateway: Wire::new(millionfold(settings.wire_rate_mbps), wire_bytes),
        gateway: machine(
            settings.gateway_delay_us,
            settings.gateway_crypto_us,
            settings.gateway_crypto_byte_us,
        ),
        back: generator,
        radio: Radio::from_settings(&settings.radio)?,
    })
}

/// When each stream starts; sorted, so that packets are generated in this order in every interval.
fn phases(settings: &StreamsSettings, interval: Nanos, chance: &Chance) -> Vec<Instant> {
    let phase = |number: u64| match settings.phases {
        Phases::Random => chance.stream("phase", number).random_range(0..interval.0),
        Phases::Even => interval.0 * number / settings.streams,
    };
    let mut phases: Vec<Instant> = (0..settings.streams).map(phase).map(Instant).collect();
    phases.sort_unstable();
    phases
}

#[cfg(test)]
mod tests;
