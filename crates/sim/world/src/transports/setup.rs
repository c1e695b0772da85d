//! The same run elsewhere: what another platform than the simulator needs of the settings, and the row of what it measured.

use super::arrivals;
use super::config::{Config, model_of};
use super::metrics::{self, Measured, Meter};
use super::settings::TransportsSettings;
use crate::whole::millionfold;
use guestright_engine::{Instant, Nanos, Streams};
use guestright_experiment::{Outcome, SettingError, Settings};
use guestright_transport::SourceSettings;
use guestright_transport::path::{PathConfig, PathReport, Watch};
use guestright_units::Micros;

/// A run of the testbed, to be made on real sockets for example.
#[derive(Clone, Debug)]
pub struct Setup {
    config: Config,
    settings: TransportsSettings,
}

/// What happened to a packet; times are from the beginning of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// A packet with speech has crossed the network.
    Crossed {
        /// Of which call.
        flow: u32,
        sent: Instant,
        /// When it arrived.
        at: Instant,
        /// Whether it brought what had not come before.
        fresh: bool,
    },
    /// The application has got a packet.
    Delivered {
        /// Of which call.
        flow: u32,
        /// Its number in the call, from 0.
        number: u32,
        made: Instant,
        /// When it was heard.
        at: Instant,
    },
}

impl Setup {
    /// Of the completed settings.
    ///
    /// # Errors
    ///
    /// When they do not fit together.
    pub fn new(settings: &Settings) -> Result<Self, SettingError> {
        let settings = TransportsSettings::read(settings)?;
        if settings.warmup_s > 0.0 {
            let reason = "only the simulator leaves the first part of a run out; take it away";
            return Err(SettingError::unfit("warmup_s", reason));
        }
        if settings.source_file.is_some() {
            let reason = "only the simulator takes arrivals from a file; take it away";
            return Err(SettingError::unfit(arrivals::SETTING, reason));
        }
        Ok(Self { config: Config::new(&settings)?, settings })
    }

    #[must_use]
    pub const fn path(&self) -> &PathConfig {
        &self.config.path
    }

    #[must_use]
    pub const fn source(&self) -> &SourceSettings {
        &self.config.source
    }

    /// How many calls there are.
    #[must_use]
    pub const fn flows(&self) -> u32 {
        self.config.flows
    }

    /// How many file transfers there are.
    #[must_use]
    pub const fn bulk(&self) -> u32 {
        self.config.bulk
    }

    /// How long it lasts.
    #[must_use]
    pub const fn duration(&self) -> Nanos {
        self.config.duration
    }

    /// When each call speaks: as in the simulator, of the same chance.
    ///
    /// # Errors
    ///
    /// When the source cannot be.
    pub fn arrivals(&self, streams: &Streams) -> Result<Vec<Vec<Instant>>, SettingError> {
        (0..self.config.flows).map(|flow| self.config.arrivals(flow, streams)).collect()
    }

    /// When each file transfer starts: as in the simulator, of the same chance.
    #[must_use]
    pub fn starts(&self, streams: &Streams) -> Vec<Instant> {
        (0..self.config.bulk).map(|number| self.config.transfer_start(number, streams)).collect()
    }

    /// The row of what was measured. `watched` comes in the order of time.
    ///
    /// # Errors
    ///
    /// None: what could be wrong, [`Setup::new`] has found.
    pub fn row(
        &self,
        report: &PathReport,
        watched: impl IntoIterator<Item = Watched>,
    ) -> Result<Outcome, SettingError> {
        let threshold = Micros(millionfold(self.settings.threshold_ms) / 1_000);
        let mut meter = Meter::new(self.config.flows, threshold, Instant::START);
        for one in watched {
            match one {
                Watched::Crossed { flow, sent, at, fresh } => meter.crossed(flow, sent, at, fresh),
                Watched::Delivered { flow, number, made, at } => meter.delivered(flow, number, made, at),
            }
        }
        Ok(metrics::outcome(&Measured {
            report,
            meter,
            index: self.settings.real_time_index(),
            packet_bytes: self.config.source.packet_bytes,
            packet_ms: self.config.source.packets_last(1).as_millis(),
            duration: self.config.duration,
            model: model_of(&self.settings),
            ack_every: f64::from(self.settings.tcp_ack_every),
        }))
    }
}
