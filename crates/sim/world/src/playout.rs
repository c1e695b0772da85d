//! When packets are played: the `playout` testbed (paper D, section 3.1).

mod measured;

use guestright_experiment::{MetricInfo, Outcome, SettingError, SettingInfo, Settings, Testbed, settings};
use guestright_playout::{Algorithm, Call, Family, Rules, Talk};
use guestright_units::{Micros, Seed};
use measured::{Config, METRICS, Over};

/// One call's packets, and a policy that says when each talkspurt is played.
#[derive(Clone, Copy, Debug)]
pub struct Playout;

/// The value of `knob` that stands for the authors' own.
const AS_PUBLISHED: f64 = -1.0;

const ALGORITHMS: [(&str, Over); 9] = [
    ("fixed", Over::Policy(Algorithm::Fixed)),
    ("ramjee-1", Over::Policy(Algorithm::Ramjee1)),
    ("ramjee-4", Over::Policy(Algorithm::Ramjee4)),
    ("moon", Over::Policy(Algorithm::Moon)),
    ("histogram", Over::Policy(Algorithm::Histogram)),
    ("paper-a", Over::Policy(Algorithm::PaperA)),
    ("boat", Over::Policy(Algorithm::Boat)),
    ("pgpfone", Over::Policy(Algorithm::PgpFone)),
    ("bound", Over::Bound),
];

/// `None`: each of them.
const FAMILIES: [(&str, Option<Family>); 11] = [
    ("clean", Some(Family::Clean)),
    ("gamma", Some(Family::Gamma)),
    ("spikes", Some(Family::Spikes)),
    ("steps", Some(Family::Steps)),
    ("moderate", Some(Family::Moderate)),
    ("international", Some(Family::International)),
    ("spiky-loss", Some(Family::SpikyLoss)),
    ("bursty-loss", Some(Family::BurstyLoss)),
    ("simple-loss", Some(Family::SimpleLoss)),
    ("limited-bandwidth", Some(Family::LimitedBandwidth)),
    ("all", None),
];

/// Whether playing waits for a first packet that comes too late.
const FIRST: [(&str, bool); 2] = [("waits", true), ("drops", false)];

settings! {
    /// The settings of the testbed.
    struct PlayoutSettings {
        /// Which policy; `bound` is the least mean delay in hindsight.
        algorithm: Over = choice("algorithm", "histogram", ALGORITHMS),
        /// The policy's one number: fixed: hold in ms; ramjee: deviations; moon and histogram: quantile; boat:
        /// round trips above t0; pgpfone: times its own hold; bound: late packets in %. -1 is the authors' own.
        knob: f64 = float("knob", "", AS_PUBLISHED, (AS_PUBLISHED, 10_000.0)),
        /// What the network does; from moderate on, Signal's network profiles. `all`: each of the ten, and the
        /// mean.
        family: Option<Family> = choice("family", "gamma", FAMILIES),
        /// The shortest time there and back. moderate, international and spiky-loss have their own.
        round_trip_ms: f64 = float("round_trip_ms", "ms", 80.0, (0.0, 2_000.0)),
        /// The mean jitter, in gamma, spikes and steps.
        jitter_ms: f64 = float("jitter_ms", "ms", 10.0, (0.0, 500.0)),
        /// How long the call lasts.
        length_s: u64 = integer("length_s", "s", 120, (1, 3_600)),
        /// Sound in a packet.
        packet_ms: u64 = integer("packet_ms", "ms", 20, (5, 100)),
        /// The mean talkspurt; 1.004 in ITU-T P.59.
        talkspurt_s: f64 = float("talkspurt_s", "s", 1.004, (0.02, 60.0)),
        /// The mean pause; 1.587 in ITU-T P.59.
        pause_s: f64 = float("pause_s", "s", 1.587, (0.04, 60.0)),
        /// How much faster the sender's clock runs.
        skew_ppm: i32 = integer("skew_ppm", "ppm", 0, (-1_000, 1_000)),
        /// The longest that may be added to the delay of the fastest packet of the last 10 s.
        delay_max_ms: u64 = integer("delay_max_ms", "ms", 1_000, (20, 5_000)),
        /// A first packet too late for the policy's wish is played when it comes, and the talkspurt after it; or
        /// dropped.
        waits_for_first: bool = choice("first", "waits", FIRST),
        /// The late loss at which `delay_at_ms` is taken: the knob is chosen in hindsight. 0: not looked for.
        late_percent: f64 = float("late_percent", "%", 1.0, (0.0, 50.0)),
        /// Whether the bound for as many late packets is computed.
        compare: bool = bool("compare", true),
        /// A message of BoAT's handshake with IP and UDP headers: looks like sound at 850 B/s (34 + 4 + 16 bytes,
        /// section 3.2).
        handshake_bytes: u32 = integer("handshake_bytes", "bytes", 82, (28, 1_500)),
    }
}

impl Testbed for Playout {
    fn name(&self) -> &'static str {
        "playout"
    }

    fn describe(&self) -> &'static str {
        "One direction of a call: talkspurts over a network with jitter and loss. A policy that sees only what has \
         arrived says when each talkspurt is played; hindsight says how much sooner it could have been."
    }

    fn settings(&self) -> &'static [SettingInfo] {
        PlayoutSettings::SETTINGS
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        &METRICS
    }

    fn check(&self, settings: &Settings) -> Result<(), SettingError> {
        config(&PlayoutSettings::read(settings)?).map(drop)
    }

    fn run(&self, settings: &Settings, seed: Seed) -> Result<Outcome, SettingError> {
        Ok(measured::run(&config(&PlayoutSettings::read(settings)?)?, seed))
    }
}

fn config(settings: &PlayoutSettings) -> Result<Config, SettingError> {
    let span = |ms: f64| micros(ms * 1e3);
    let talk = |seconds: f64| micros(seconds * 1e6);
    Ok(Config {
        over: settings.algorithm,
        knob: knob(settings.algorithm, settings.knob)?,
        families: settings.family.map_or_else(|| Family::ALL.to_vec(), |family| vec![family]),
        call: Call {
            family: Family::Clean,
            round_trip: span(settings.round_trip_ms),
            jitter: span(settings.jitter_ms),
            length: Micros::from_seconds(settings.length_s),
            interval: Micros::from_millis(settings.packet_ms),
            talk: Talk { talkspurt: talk(settings.talkspurt_s), pause: talk(settings.pause_s) },
            skew_ppm: settings.skew_ppm,
        },
        rules: Rules {
            delay_max: Micros::from_millis(settings.delay_max_ms),
            waits_for_first: settings.waits_for_first,
        },
        late_percent: settings.late_percent,
        compares: settings.compare,
        handshake_bytes: settings.handshake_bytes,
    })
}

/// The number that is meant.
fn knob(over: Over, knob: f64) -> Result<f64, SettingError> {
    let is_own = knob <= AS_PUBLISHED;
    let (most, what) = match over {
        Over::Bound if is_own => return Ok(1.0),
        Over::Bound => (50.0, "late packets in %"),
        Over::Policy(algorithm) if is_own => return Ok(algorithm.knob().usual),
        Over::Policy(Algorithm::Moon | Algorithm::Histogram) => (1.0, "a quantile"),
        Over::Policy(Algorithm::PaperA) => {
            return Err(SettingError::unfit("knob", "paper A's buffer has none; give -1"));
        }
        Over::Policy(algorithm) => {
            let grid = algorithm.knob().grid;
            (grid.last().copied().unwrap_or(1.0) * 10.0, algorithm.knob().name)
        }
    };
    if (0.0..=most).contains(&knob) {
        Ok(knob)
    } else {
        Err(SettingError::unfit("knob", format!("it is {what}, from 0 to {most}; or -1, the authors' own")))
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "settings have limits")]
fn micros(micros: f64) -> Micros {
    Micros((micros + 0.5) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(settings: Settings, seed: u64) -> Outcome {
        let settings = settings.complete(PlayoutSettings::SETTINGS).unwrap();
        Playout.check(&settings).unwrap();
        Playout.run(&settings, Seed::from_number(seed)).unwrap()
    }

    fn metric(outcome: &Outcome, name: &str) -> f64 {
        outcome.metrics[name].unwrap_or_else(|| panic!("{name} was not measured"))
    }

    #[test]
    fn policies_and_families_have_the_names_of_their_settings() {
        let policies = ALGORITHMS.iter().filter_map(|(word, over)| match over {
            Over::Policy(algorithm) => Some((*word, *algorithm)),
            Over::Bound => None,
        });
        assert!(policies.eq(Algorithm::ALL.map(|algorithm| (algorithm.name(), algorithm))));
        let families = FAMILIES.iter().filter_map(|(word, family)| Some((*word, (*family)?)));
        assert!(families.eq(Family::ALL.map(|family| (family.name(), family))));
    }

    #[test]
    fn every_metric_of_every_algorithm_is_there() {
        for algorithm in Algorithm::ALL {
            let outcome = run(Settings::new().with("algorithm", algorithm.name()), 1);
            for info in &METRICS {
                assert!(outcome.metrics.contains_key(info.name), "{algorithm:?} {}", info.name);
            }
            assert!(metric(&outcome, "above_bound_ms") >= 0.0, "{algorithm:?}");
            assert_eq!(outcome, run(Settings::new().with("algorithm", algorithm.name()), 1));
        }
    }

    /// Without jitter a packet is on its way for half of the round trip, and BoAT holds it for one more.
    #[test]
    fn boat_takes_one_and_a_half_round_trips_where_everybody_else_takes_a_half() {
        let clean = |algorithm: &str| {
            let settings = Settings::new().with("algorithm", algorithm).with("family", "clean");
            metric(&run(settings.with("round_trip_ms", 200.0), 2), "delay_mean_ms")
        };
        assert!((300.0..306.0).contains(&clean("boat")), "{}", clean("boat"));
        assert!((100.0..106.0).contains(&clean("ramjee-4")), "{}", clean("ramjee-4"));
        assert!((100.0..103.0).contains(&clean("bound")), "{}", clean("bound"));
    }

    #[test]
    fn the_bound_falls_as_more_may_be_late() {
        let at = |knob: f64| {
            let outcome = run(Settings::new().with("algorithm", "bound").with("knob", knob), 3);
            (metric(&outcome, "late_pct"), metric(&outcome, "delay_mean_ms"))
        };
        let points = [0.0, 1.0, 2.0, 5.0, 10.0].map(at);
        assert!(points.is_sorted_by(|one, next| one.0 < next.0 && one.1 > next.1), "{points:?}");
        assert_eq!(points[0].0, 0.0);
    }

    #[test]
    fn all_families_are_the_mean_of_each() {
        let of = |family: &str| {
            let settings = Settings::new().with("family", family).with("length_s", 30);
            metric(&run(settings, 4), "late_pct")
        };
        let each: f64 = Family::ALL.iter().map(|family| of(family.name())).sum();
        assert!((of("all") - each / 10.0).abs() < 1e-9);
    }

    #[test]
    fn a_number_that_is_none_is_refused() {
        for (algorithm, knob) in [("moon", 2.0), ("paper-a", 1.0), ("bound", 51.0), ("ramjee-1", 301.0)] {
            let settings = Settings::new().with("algorithm", algorithm).with("knob", knob);
            let error = Playout.check(&settings.complete(PlayoutSettings::SETTINGS).unwrap()).unwrap_err();
            assert_eq!(error.setting(), "knob");
        }
    }
}
