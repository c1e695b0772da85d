//! A testbed that takes no time, for tests.

use guestright_experiment::{MetricInfo, Outcome, Plan, SettingError, SettingInfo, Settings, Testbed};
use guestright_units::Seed;

/// Loss that grows with the number of calls, and a little chance.
struct Fake;

impl Testbed for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn describe(&self) -> &'static str {
        "No network at all."
    }

    fn settings(&self) -> &'static [SettingInfo] {
        const SETTINGS: &[SettingInfo] = &[
            SettingInfo::integer("calls", "", 1, (1, 100), "How many calls."),
            SettingInfo::float("share", "", 0.01, (0.0, 1.0), "How much each call loses."),
        ];
        SETTINGS
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        const METRICS: &[MetricInfo] = &[
            MetricInfo::new("loss", "", "The share of packets lost."),
            MetricInfo::new("delay", "ms", "One way."),
        ];
        METRICS
    }

    fn check(&self, settings: &Settings) -> Result<(), SettingError> {
        let calls = settings.integer("calls")?;
        if calls == 13 { Err(SettingError::unfit("calls", "13 is bad luck")) } else { Ok(()) }
    }

    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn run(&self, settings: &Settings, seed: Seed) -> Result<Outcome, SettingError> {
        let (calls, share) = (settings.integer("calls")?, settings.float("share")?);
        assert_ne!(calls, 99, "as a test wants it");
        let chance = f64::from(seed.0[0]) / 25_600.0;
        let outcome = Outcome { packets: 10 * calls.unsigned_abs(), events: 7, ..Outcome::default() };
        // What nobody measured: the delay of many calls.
        let delay = (calls < 4).then_some(10.0 + chance / 3.0);
        Ok(outcome.with("loss", calls as f64 * share + chance).with("delay", delay))
    }
}

/// All testbeds of tests.
pub(crate) const TESTBEDS: &[&dyn Testbed] = &[&Fake];

/// The text of a plan: two cases, five points, four seeds, and whatever is added.
pub(crate) fn text(more: &str) -> String {
    format!(
        r#"
name = "fake-plan"
title = "Loss by the number of calls"
question = "How many calls are too many?"
testbed = "fake"
seeds = 4

[sweep]
calls = [1, 2, 3, 4, 5]

[quick]
seeds = 2

[[case]]
name = "good"
settings = {{ share = 0.01 }}

[[case]]
name = "bad"
settings = {{ share = 0.07 }}

{more}"#
    )
}

pub(crate) fn plan(more: &str) -> Plan {
    Plan::parse(&text(more), TESTBEDS).unwrap_or_else(|error| panic!("{error}"))
}
