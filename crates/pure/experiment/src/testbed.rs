use crate::settings::{SettingError, SettingInfo, Settings};
use guestright_units::Seed;
use std::collections::BTreeMap;
use std::fmt;

/// Something that can be measured: settings in, numbers out.
///
/// A run is a pure function of its settings and its seed.
pub trait Testbed: Sync {
    /// Its name in plans: `voice`.
    fn name(&self) -> &'static str;

    /// What it is, in a sentence or two.
    fn describe(&self) -> &'static str;

    /// Every setting that it has.
    fn settings(&self) -> &'static [SettingInfo];

    /// Every number that it measures.
    fn metrics(&self) -> &'static [MetricInfo];

    /// Whether settings fit together. They come completed ([`Settings::complete`]): what one setting says of itself is
    /// already checked.
    ///
    /// # Errors
    ///
    /// When they do not; the error names the setting, so that the plan's line can be found.
    fn check(&self, settings: &Settings) -> Result<(), SettingError>;

    /// Makes one run. The settings come completed and checked.
    ///
    /// # Errors
    ///
    /// As [`Testbed::check`].
    fn run(&self, settings: &Settings, seed: Seed) -> Result<Outcome, SettingError>;
}

impl fmt::Debug for dyn Testbed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Testbed({})", self.name())
    }
}

/// What a testbed says of a number that it measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricInfo {
    /// Its name: `latency_ms`.
    pub name: &'static str,
    /// Its unit: `ms`; empty if it has none.
    pub unit: &'static str,
    pub about: &'static str,
}

impl MetricInfo {
    /// A metric with its unit and a sentence about it.
    pub const fn new(name: &'static str, unit: &'static str, about: &'static str) -> Self {
        Self { name, unit, about }
    }
}

/// What one run gave: a number for each metric, `None` where it could not be measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// A number for each metric of the testbed.
    pub metrics: BTreeMap<&'static str, Option<f64>>,
    /// How many packets were simulated.
    pub packets: u64,
    /// How many events were handled.
    pub events: u64,
}

impl Outcome {
    /// Notes a metric; a number that is not finite counts as not measured.
    pub fn set(&mut self, metric: &'static str, value: impl Into<Option<f64>>) {
        self.metrics.insert(metric, value.into().filter(|number| number.is_finite()));
    }

    /// This outcome with one more metric.
    #[must_use]
    pub fn with(mut self, metric: &'static str, value: impl Into<Option<f64>>) -> Self {
        self.set(metric, value);
        self
    }
}
