//! Voice over transports: the `transports` testbed (paper C, and today).

mod arrivals;
mod carriers;
mod config;
mod metrics;
#[cfg(feature = "quic")]
mod quic;
pub mod settings;
mod setup;

pub use metrics::METRICS;
pub use setup::{Setup, Watched};

use crate::whole::millionfold;
use config::{Config, model_of};
use guestright_engine::{Instant, Nanos, Streams};
use guestright_experiment::{MetricInfo, Outcome, SettingError, SettingInfo, Settings, Testbed};
use guestright_units::{Micros, Seed};
use metrics::{Measured, Meter};
use settings::TransportsSettings;

/// Calls over one transport cross two bottlenecks and a link with errors, with file transfers beside them.
#[derive(Clone, Copy, Debug)]
pub struct Transports;

/// The testbed's name in plans.
pub const NAME: &str = "transports";

impl Testbed for Transports {
    fn name(&self) -> &'static str {
        NAME
    }

    fn describe(&self) -> &'static str {
        "Calls with speech and silence over UDP, a TCP, TFRC or QUIC, through two bottlenecks and links with errors, \
         with file transfers beside them; acknowledgements take the same way back."
    }

    fn settings(&self) -> &'static [SettingInfo] {
        TransportsSettings::SETTINGS
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        &METRICS
    }

    fn check(&self, settings: &Settings) -> Result<(), SettingError> {
        let config = Config::new(&TransportsSettings::read(settings)?)?;
        // One flow of each kind, to see whether they can be.
        Config { flows: 1, bulk: config.bulk.min(1), duration: Nanos(1), ..config }
            .build(&Streams::new(Seed::from_number(0)), ())
            .map(drop)
    }

    fn run(&self, settings: &Settings, seed: Seed) -> Result<Outcome, SettingError> {
        let settings = TransportsSettings::read(settings)?;
        let config = Config::new(&settings)?;
        let threshold = Micros(millionfold(settings.threshold_ms) / 1_000);
        let begin = Instant::START + config.warmup;
        let mut path = config.build(&Streams::new(seed), Meter::new(config.flows, threshold, begin))?;
        // What is made just when the measuring begins counts.
        let before = (config.warmup.0 > 0).then(|| {
            path.run(Instant(begin.0 - 1));
            path.report()
        });
        path.run(Instant::START + config.duration);
        let report = before.map_or(path.report(), |before| path.report().since(&before));
        Ok(metrics::outcome(&Measured {
            report: &report,
            meter: path.into_watch(),
            index: settings.real_time_index(),
            packet_bytes: config.source.packet_bytes,
            packet_ms: config.source.packets_last(1).as_millis(),
            duration: Nanos(config.duration.0 - config.warmup.0),
            model: model_of(&settings),
            ack_every: f64::from(settings.tcp_ack_every),
        }))
    }
}

#[cfg(test)]
mod tests;
