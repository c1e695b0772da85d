//! Stations that always have something to send, beside Bianchi's model: the `saturation` testbed.

use crate::radio::{Amendment, Radio, RadioSettings};
use crate::sums::{jain, mean};
use crate::whole::nanos;
use guestright_engine::{Instant, Nanos, Pool, Queue, Streams};
use guestright_experiment::{MetricInfo, Outcome, SettingError, SettingInfo, Settings, Testbed, settings};
use guestright_units::Seed;
use guestright_wlan::bianchi::{Prediction, Saturation as Cell};
use guestright_wlan::{Msdu, Output, Rate, StationId, Stats, Wlan};

/// Stations of one cell send packets to their access point, and never run out of them.
#[derive(Clone, Copy, Debug)]
pub struct Saturation;

settings! {
    /// The settings of the testbed.
    struct SaturationSettings {
        /// Stations that send; the access point only receives.
        stations: u16 = integer("stations", "", 2, (1, 200)),
        /// Rates of the stations where they are not all at `radio.rate_mbps`: one for each, in Mb/s, as in `"11 11 1"`.
        /// With `radio.ack_rate_mbps = 0` each is acknowledged at the rate that the standard has for its own.
        rates_mbps: String = text("rates_mbps", ""),
        /// Length of an IP packet.
        packet_bytes: u32 = integer("packet_bytes", "bytes", 60, (1, 2_296)),
        /// How long is measured.
        length_s: f64 = float("length_s", "s", 20.0, (0.1, 3_600.0)),
        /// How long before that the stations send.
        warmup_s: f64 = float("warmup_s", "s", 1.0, (0.0, 600.0)),
        radio: RadioSettings,
    }
}

const METRICS: [MetricInfo; 12] = [
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
    MetricInfo::new("least_kbps", "kb/s", "Bits of IP packets of the station that delivered least."),
    MetricInfo::new("most_kbps", "kb/s", "Bits of IP packets of the station that delivered most."),
    MetricInfo::new(
        "slowest_kbps",
        "kb/s",
        "Bits of IP packets of a station at the lowest rate among them, on average.",
    ),
];

/// The name of the setting that lists rates.
const RATES: &str = "rates_mbps";
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
        note_stations(&mut outcome, &counts, length, &settings)?;
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

/// What single stations delivered.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn note_stations(
    outcome: &mut Outcome,
    counts: &[Counts],
    length: Nanos,
    settings: &SaturationSettings,
) -> Result<(), SettingError> {
    let kbps = |counts: &Counts| {
        counts.delivered as f64 * f64::from(settings.packet_bytes) * 8.0 / 1e3 / length.as_seconds()
    };
    let rates = station_rates(settings, &Radio::from_settings(&settings.radio)?)?;
    let lowest = rates.iter().min_by_key(|rate| rate.kbps());
    let slowest = counts.iter().zip(&rates).filter(|(_, rate)| Some(*rate) == lowest);
    outcome.set("least_kbps", counts.iter().map(kbps).reduce(f64::min));
    outcome.set("most_kbps", counts.iter().map(kbps).reduce(f64::max));
    outcome.set("slowest_kbps", mean(slowest.map(|(counts, _)| kbps(counts))));
    Ok(())
}

/// The rate of each station, in their order.
fn station_rates(settings: &SaturationSettings, radio: &Radio) -> Result<Vec<Rate>, SettingError> {
    let count = usize::from(settings.stations);
    if settings.rates_mbps.trim().is_empty() {
        return Ok(vec![radio.rules().0.data_rate; count]);
    }
    let rate = |word: &str| {
        let mbps = word.parse::<f64>().ok().filter(|mbps| (1.0..=54.0).contains(mbps));
        let unknown = || SettingError::unfit(RATES, format!("`{word}` is no rate from 1 to 54 Mb/s"));
        radio.rate(RATES, mbps.ok_or_else(unknown)?)
    };
    let words: Vec<&str> = settings.rates_mbps.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    if words.len() != count {
        let reason = format!("it has {} rates for {count} `stations`; give each station one", words.len());
        return Err(SettingError::unfit(RATES, reason));
    }
    words.into_iter().map(rate).collect()
}

/// What the model says, where it holds: all at one rate, basic access, no errors, no gaps, no beacons.
fn predicted(settings: &SaturationSettings) -> Result<Option<Prediction>, SettingError> {
    let radio = Radio::from_settings(&settings.radio)?;
    let RadioSettings { gap_us, beacon_ms, bit_error_rate, frame_loss, .. } = settings.radio;
    let RadioSettings { rts_threshold, fragmentation_threshold, standard, .. } = settings.radio;
    let is_plain = gap_us <= 0.0 && beacon_ms <= 0.0 && bit_error_rate + frame_loss <= 0.0;
    let is_basic = rts_threshold == 0 && fragmentation_threshold == 0 && standard != Amendment::GBesideB;
    let rates = station_rates(settings, &radio)?;
    let is_alike = rates.iter().all(|rate| *rate == radio.rules().0.data_rate);
    if !is_plain || !is_basic || !is_alike {
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
        let radio = Radio::from_settings(&settings.radio)?;
        let rates = station_rates(settings, &radio)?;
        let layout = radio.layout(1, false, settings.stations).at_rates(&rates);
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

    /// Times of a packet of 1500 bytes at 11 and at 1 Mb/s: DIFS 50, preamble 192, 1536 bytes, SIFS 10, ACK at 2 and at
    /// 1 Mb/s. Two stations that succeed equally often send one packet each in the sum of both and what backoff and
    /// collisions take: each carries the same, less than the slow one alone could.
    ///
    /// Source: M. Heusse, F. Rousseau, G. Berger-Sabbatel and A. Duda, Performance anomaly of 802.11b, INFOCOM 2003,
    /// section III. Written down anew, with the mean backoff of CWmin 31; the constants of its print may differ.
    fn heusse_kbps(fast: u32) -> (f64, f64) {
        let data = |mbps: f64| 192.0 + 1_536.0 * 8.0 / mbps;
        let (t_fast, t_slow) =
            (50.0 + data(11.0) + 10.0 + 192.0 + 112.0 / 2.0, 50.0 + data(1.0) + 10.0 + 192.0 + 112.0);
        let n = f64::from(fast + 1);
        // Collisions, as the paper takes them, and the contention of n stations, slots of 20 µs.
        let collisions = 1.0 - (1.0 - 1.0 / 32.0_f64).powf(n - 1.0);
        let contention = 20.0 * (1.0 + collisions) / (2.0 * n) * 31.0;
        // A collision of two is as long as the longer of their packets.
        let jam = 2.0 / n * t_slow + (1.0 - 2.0 / n) * t_fast;
        let cycle = t_slow + f64::from(fast) * t_fast + n * contention + collisions * jam * n;
        let alone = 1_500.0 * 8.0 / (t_fast + 310.0) * 1e3;
        (1_500.0 * 8.0 / cycle * 1e3, alone)
    }

    #[test]
    fn one_slow_station_takes_the_others_down_to_its_own_rate() {
        for fast in [1_u32, 3, 9] {
            let rates = "11 ".repeat(fast as usize) + "1";
            let settings = Settings::new()
                .with("stations", i64::from(fast) + 1)
                .with("rates_mbps", rates.as_str())
                .with("packet_bytes", 1_500)
                .with("radio.ack_rate_mbps", 0)
                .with("length_s", 200.0);
            let outcome = run(settings, 4);
            let (each, alone) = heusse_kbps(fast);
            let names = ["least_kbps", "most_kbps", "slowest_kbps"];
            let [least, most, slowest] = names.map(|name| metric(&outcome, name));
            // All stations carry alike, and near what the equations say; a fast one alone would carry far more.
            assert!(most / least < 1.25, "{fast}: {least} to {most} kb/s");
            for got in [least, most, slowest] {
                assert!((got / each - 1.0).abs() < 0.15, "{fast}: {got}, by the equations {each} kb/s");
                assert!(f64::from(fast + 1) * got < 0.75 * alone, "{fast}: {got} of {alone} kb/s");
            }
            assert_eq!(outcome.metrics["bianchi_frames_per_s"], None);
        }
    }

    #[test]
    fn every_station_has_a_rate_of_the_standard() {
        for (rates, want) in [
            ("11", "it has 1 rates for 2 `stations`"),
            ("11 fast", "`fast` is no rate"),
            ("11 54", "the standard that is set has no rate of 54 Mb/s"),
            ("11 1e9", "is no rate from 1 to 54"),
        ] {
            let settings =
                Settings::new().with("rates_mbps", rates).complete(SaturationSettings::SETTINGS).unwrap();
            let error = Saturation.check(&settings).unwrap_err();
            assert!(error.setting() == RATES && error.to_string().contains(want), "{error}");
        }
        let named = run(Settings::new().with("rates_mbps", "11 11").with("length_s", 2.0), 7);
        assert_eq!(named, run(Settings::new().with("length_s", 2.0), 7));
    }

    #[test]
    fn a_station_needs_room_for_the_next_packet() {
        let settings =
            Settings::new().with("radio.queue_max", 1).complete(SaturationSettings::SETTINGS).unwrap();
        assert_eq!(Saturation.check(&settings).unwrap_err().setting(), "radio.queue_max");
    }
}
