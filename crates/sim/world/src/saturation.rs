//! Stations that always have something to send, beside Bianchi's model: the `saturation` testbed.

use crate::radio::{Amendment, Radio, RadioSettings};
use crate::sums::jain;
use crate::whole::nanos;
use guestright_engine::{Instant, Nanos, Pool, Queue, Streams};
use guestright_experiment::{MetricInfo, Outcome, SettingError, SettingInfo, Settings, Testbed, settings};
use guestright_units::Seed;
use guestright_wlan::bianchi::{Prediction, Saturation as Cell};
use guestright_wlan::{Msdu, Output, StationId, Stats, Wlan};

/// Stations of one cell send packets to their access point, and never run out of them.
#[derive(Clone, Copy, Debug)]
pub struct Saturation;

settings! {
    /// The settings of the testbed.
    struct SaturationSettings {
        /// Stations that send; the access point only receives.
        stations: u16 = integer("stations", "", 2, (1, 200)),
        /// Length of an IP packet.
        packet_bytes: u32 = integer("packet_bytes", "bytes", 60, (1, 2_296)),
        /// How long is measured.
        length_s: f64 = float("length_s", "s", 20.0, (0.1, 3_600.0)),
        /// How long before that the stations send.
        warmup_s: f64 = float("warmup_s", "s", 1.0, (0.0, 600.0)),
        radio: RadioSettings,
    }
}

const METRICS: [MetricInfo; 9] = [
    MetricInfo::new("frames_per_s", "1/s", "Packets that were delivered, of all stations together."),
    MetricInfo::new(
        "bianchi_frames_per_s",
        "1/s",
        "The same by Bianchi's model; not measured where it does not hold.",
    ),
    MetricInfo::new("over_bianchi", "", "The first over the second, minus 1."),
    MetricInfo::new("throughput_kbps", "kb/s", "Bits of IP packets."),
    MetricInfo::new(
        "collision_share",
        "",
        "Accesses of a station that were collisions, over all of its accesses.",
    ),
    MetricInfo::new("bianchi_collision_share", "", "The same by Bianchi's model."),
    MetricInfo::new("retry_drops", "", "Packets that were given up after the last attempt."),
    MetricInfo::new("fairness", "", "Jain's index over what the stations delivered."),
    MetricInfo::new("frame_us", "µs", "Mean time from one delivered packet to the next."),
];

/// Packets that each station keeps: one is on its way, the next is there when it ends.
const KEPT: usize = 2;

impl Testbed for Saturation {
    fn name(&self) -> &'static str {
        "saturation"
    }

    fn describe(&self) -> &'static str {
        "Stations of one 802.11 cell that always have a packet for their access point, and what Bianchi's model says of \
         them."
    }

    fn settings(&self) -> &'static [SettingInfo] {
        SaturationSettings::SETTINGS
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        &METRICS
    }

    fn check(&self, settings: &Settings) -> Result<(), SettingError> {
        let settings = SaturationSettings::read(settings)?;
        if settings.radio.queue_max < 2 {
            let reason = "a station keeps two packets, so that it never runs out of them; make it 2 or more";
            return Err(SettingError::unfit("radio.queue_max", reason));
        }
        Network::new(&settings, Seed::from_number(0)).map(drop)
    }

    fn run(&self, settings: &Settings, seed: Seed) -> Result<Outcome, SettingError> {
        let settings = SaturationSettings::read(settings)?;
        let mut network = Network::new(&settings, seed)?;
        let warmup = Instant::START + nanos(settings.warmup_s * 1e9);
        let length = nanos(settings.length_s * 1e9);
        network.run(warmup);
        let before = network.stats();
        network.run(warmup + length);
        let counts = network.since(&before);
        let mut outcome = Outcome { packets: network.packets, events: network.events, ..Outcome::default() };
        note(&mut outcome, &counts, length, settings.packet_bytes);
        let predicted = predicted(&settings)?;
        outcome.set("bianchi_frames_per_s", predicted.map(|predicted| predicted.frames_per_second));
        outcome.set("bianchi_collision_share", predicted.map(|predicted| predicted.collision));
        let measured = outcome.metrics["frames_per_s"];
        let over = measured.zip(predicted).map(|(measured, model)| measured / model.frames_per_second - 1.0);
        outcome.set("over_bianchi", over);
        Ok(outcome)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn note(outcome: &mut Outcome, counts: &[Counts], length: Nanos, packet_bytes: u32) {
    let delivered: Vec<f64> = counts.iter().map(|counts| counts.delivered as f64).collect();
    let total = |count: fn(&Counts) -> u64| counts.iter().map(count).sum::<u64>() as f64;
    let frames = delivered.iter().sum::<f64>() / length.as_seconds();
    outcome.set("frames_per_s", frames);
    outcome.set("throughput_kbps", frames * f64::from(packet_bytes) * 8.0 / 1e3);
    outcome.set("frame_us", 1e6 / frames);
    outcome.set("collision_share", total(|counts| counts.collisions) / total(|counts| counts.accesses));
    outcome.set("retry_drops", total(|counts| counts.given_up));
    outcome.set("fairness", jain(&delivered));
}

/// What the model says, where it holds: basic access, no errors, no gaps, no beacons.
fn predicted(settings: &SaturationSettings) -> Result<Option<Prediction>, SettingError> {
    let radio = Radio::from_settings(&settings.radio)?;
    let RadioSettings { gap_us, beacon_ms, bit_error_rate, frame_loss, .. } = settings.radio;
    let RadioSettings { rts_threshold, fragmentation_threshold, standard, .. } = settings.radio;
    let is_plain = gap_us <= 0.0 && beacon_ms <= 0.0 && bit_error_rate + frame_loss <= 0.0;
    let is_basic = rts_threshold == 0 && fragmentation_threshold == 0 && standard != Amendment::GBesideB;
    if !is_plain || !is_basic {
        return Ok(None);
    }
    let (phy, mac) = radio.rules();
    let cell = Cell::new(phy, mac, settings.stations.into(), settings.packet_bytes);
    Ok(Some(cell.predict()))
}

/// What one station did.
#[derive(Clone, Copy, Debug)]
struct Counts {
    delivered: u64,
    accesses: u64,
    collisions: u64,
    given_up: u64,
}

struct Network {
    queue: Queue<guestright_wlan::Event>,
    pool: Pool<()>,
    wlan: Wlan,
    stations: Vec<StationId>,
    access_point: StationId,
    packet_bytes: u32,
    packets: u64,
    events: u64,
}

impl Network {
    fn new(settings: &SaturationSettings, seed: Seed) -> Result<Self, SettingError> {
        let layout = Radio::from_settings(&settings.radio)?.layout(1, false, settings.stations);
        let cell = &layout.cells()[0];
        let mut network = Self {
            wlan: layout.wlan(&Streams::new(seed))?,
            queue: Queue::new(),
            pool: Pool::new(),
            stations: cell.laptops.clone(),
            access_point: cell.access_point,
            packet_bytes: settings.packet_bytes,
            packets: 0,
            events: 0,
        };
        network.wlan.start(&mut network.queue);
        for station in network.stations.clone() {
            for _ in 0..KEPT {
                network.send(station);
            }
        }
        Ok(network)
    }

    fn send(&mut self, station: StationId) {
        let key = self.pool.insert(());
        let msdu = Msdu { key, bytes: self.packet_bytes, to: self.access_point };
        self.packets += 1;
        if !self.wlan.enqueue(station, msdu, &mut self.queue) {
            self.pool.remove(key);
        }
    }

    /// Runs on to a point in time.
    fn run(&mut self, until: Instant) {
        while self.queue.next_at().is_some_and(|at| at <= until) {
            let Some((_, event)) = self.queue.pop() else { return };
            self.events += 1;
            self.wlan.handle(event, &mut self.queue);
            while let Some(output) = self.wlan.poll_output() {
                let (Output::Delivered { from: station, msdu, .. } | Output::Dropped { station, msdu, .. }) =
                    output;
                self.pool.remove(msdu.key);
                self.send(station);
            }
        }
    }

    fn stats(&self) -> Vec<Stats> {
        self.stations.iter().map(|station| *self.wlan.stats(*station)).collect()
    }

    fn since(&self, before: &[Stats]) -> Vec<Counts> {
        let counts = |(now, before): (Stats, &Stats)| Counts {
            delivered: now.delivered - before.delivered,
            accesses: now.accesses - before.accesses,
            collisions: now.collisions - before.collisions,
            given_up: now.retry_limit - before.retry_limit,
        };
        self.stats().into_iter().zip(before).map(counts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(settings: Settings, seed: u64) -> Outcome {
        let settings = settings.complete(SaturationSettings::SETTINGS).unwrap();
        Saturation.check(&settings).unwrap();
        Saturation.run(&settings, Seed::from_number(seed)).unwrap()
    }

    fn metric(outcome: &Outcome, name: &str) -> f64 {
        outcome.metrics[name].expect(name)
    }

    /// DIFS 50, 15.5 slots of 20, 192 + ⌈88 · 8 / 11⌉ = 256, SIFS 10, 192 + ⌈112 / 11⌉ = 203: 829 µs.
    #[test]
    fn one_station_sends_as_often_as_the_sum_of_its_parts_fits() {
        let outcome = run(Settings::new().with("stations", 1).with("length_s", 100.0), 1);
        assert!((metric(&outcome, "frame_us") / 829.0 - 1.0).abs() < 1e-3, "{outcome:?}");
        assert!(metric(&outcome, "over_bianchi").abs() < 1e-3, "{outcome:?}");
        assert_eq!(metric(&outcome, "collision_share"), 0.0);
    }

    /// The model is known to be some per cent optimistic for short frames (its doubts are listed beside it).
    #[test]
    fn several_stations_are_near_the_model_and_share_fairly() {
        for stations in [2, 5, 10] {
            let outcome = run(Settings::new().with("stations", stations).with("length_s", 30.0), 2);
            assert!(metric(&outcome, "over_bianchi").abs() < 0.05, "{stations}: {outcome:?}");
            let (collisions, model) =
                (metric(&outcome, "collision_share"), metric(&outcome, "bianchi_collision_share"));
            assert!((collisions - model).abs() < 0.03, "{stations}: {collisions}, not {model}");
            assert!(metric(&outcome, "fairness") > 0.99, "{stations}: {outcome:?}");
        }
    }

    #[test]
    fn where_the_model_does_not_hold_nothing_is_said() {
        let outcome = run(Settings::new().with("radio.gap_us", 50.0).with("length_s", 1.0), 1);
        assert_eq!(outcome.metrics["bianchi_frames_per_s"], None);
        assert_eq!(outcome.metrics["over_bianchi"], None);
        assert!(metric(&outcome, "frames_per_s") > 1_000.0);
    }

    #[test]
    fn a_run_is_what_its_settings_and_its_seed_make_it() {
        let settings = Settings::new().with("stations", 5).with("length_s", 2.0);
        assert_eq!(run(settings.clone(), 7), run(settings.clone(), 7));
        assert_ne!(run(settings.clone(), 7), run(settings, 8));
        let got: Vec<_> = run(Settings::new().with("length_s", 0.1), 1).metrics.into_keys().collect();
        let mut want: Vec<_> = METRICS.iter().map(|metric| metric.name).collect();
        want.sort_unstable();
        assert_eq!(got, want);
    }

    #[test]
    fn a_station_needs_room_for_the_next_packet() {
        let settings =
            Settings::new().with("radio.queue_max", 1).complete(SaturationSettings::SETTINGS).unwrap();
        assert_eq!(Saturation.check(&settings).unwrap_err().setting(), "radio.queue_max");
    }
}
