use crate::receipts::{Offsets, Suite, SuiteCost};
use guestright_engine::Nanos;
use guestright_experiment::{SettingError, SettingInfo, Settings};

/// The settings of receipts.
pub(crate) const SETTINGS: [SettingInfo; 8] = [
    SettingInfo::choice(
        "receipts.suite",
        "none",
        &["none", "rsa-1024", "rsa-2048", "ecdsa-160", "ecdsa-224", "ed25519", "p256"],
        "How receipts are signed, with the times of paper A's Table 1; those of ed25519 and p256 are estimates.",
    ),
    SettingInfo::choice(
        "receipts.mode",
        "emulated",
        &["emulated", "protocol"],
        "Verifications at regular intervals, as paper A emulated them, or the real machines with their messages.",
    ),
    SettingInfo::float(
        "receipts.interval_s",
        "s",
        5.0,
        (0.1, 3_600.0),
        "How often each session signs a receipt.",
    ),
    SettingInfo::choice(
        "receipts.offsets",
        "random",
        &["random", "even"],
        "When a session's first verification is due in mode `emulated`: at random, or evenly spread over the interval.",
    ),
    SettingInfo::float(
        "receipts.verify_ms",
        "ms",
        0.0,
        (0.0, 100_000.0),
        "What a verification takes on the access point's processor; 0 is what the suite takes.",
    ),
    SettingInfo::float(
        "receipts.sign_ms",
        "ms",
        0.0,
        (0.0, 100_000.0),
        "What signing the terms takes on the access point's processor in mode `protocol`; 0 is what the suite takes.",
    ),
    SettingInfo::float(
        "receipts.visitor_sign_ms",
        "ms",
        0.0,
        (0.0, 100_000.0),
        "How long a visitor takes to sign a receipt, in mode `protocol`.",
    ),
    SettingInfo::float(
        "receipts.deadline_s",
        "s",
        2.5,
        (0.01, 3_600.0),
        "How long a visitor has to sign in mode `protocol`; never more than half of the interval.",
    ),
];

/// Who asks for receipts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Nobody: verifications are just due.
    Emulated(Offsets),
    /// The machines of `guestright-roaming`.
    Protocol,
}

/// What a plan says of receipts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Receipts {
    /// Who asks.
    pub(crate) mode: Mode,
    /// How often.
    pub(crate) interval: Nanos,
    /// What they cost on the access point, ms.
    pub(crate) cost: SuiteCost,
    /// How long a visitor takes to sign.
    pub(crate) visitor_sign: Nanos,
    /// How long it may take.
    pub(crate) deadline: Nanos,
}

impl Receipts {
    /// What the settings say; `None` if there are no receipts.
    pub(crate) fn from_settings(settings: &Settings) -> Result<Option<Self>, SettingError> {
        let Some(mut cost) = cost(settings)? else {
            return if settings.text("receipts.mode")? == "protocol" {
                Err(SettingError::unfit("receipts.suite", "mode `protocol` needs a suite"))
            } else {
                Ok(None)
            };
        };
        let sign_ms = settings.float("receipts.sign_ms")?;
        if sign_ms > 0.0 {
            cost.sign_ms = sign_ms;
        }
        let offsets =
            if settings.text("receipts.offsets")? == "even" { Offsets::Even } else { Offsets::Random };
        let is_protocol = settings.text("receipts.mode")? == "protocol";
        let interval = seconds(settings.float("receipts.interval_s")?);
        Ok(Some(Self {
            mode: if is_protocol { Mode::Protocol } else { Mode::Emulated(offsets) },
            interval,
            cost,
            visitor_sign: seconds(settings.float("receipts.visitor_sign_ms")? / 1e3),
            deadline: seconds(settings.float("receipts.deadline_s")?).min(Nanos(interval.0 / 2)),
        }))
    }
}

/// What the suite takes, with the verification's time as it is set; `None` if there are no receipts.
pub(crate) fn cost(settings: &Settings) -> Result<Option<SuiteCost>, SettingError> {
    let name = settings.text("receipts.suite")?;
    let verify_ms = settings.float("receipts.verify_ms")?;
    let suite = Suite::NAMES.iter().find(|(known, _)| *known == name);
    Ok(suite.map(|(_, suite)| {
        let cost = suite.cost();
        if verify_ms > 0.0 { SuiteCost { verify_ms, ..cost } } else { cost }
    }))
}

/// Whole microseconds, as the machines count, in nanoseconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "limited by the settings")]
fn seconds(seconds: f64) -> Nanos {
    Nanos::from_micros((seconds * 1e6 + 0.5) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipts(settings: Settings) -> Result<Option<Receipts>, SettingError> {
        Receipts::from_settings(&settings.complete(&SETTINGS).unwrap())
    }

    #[test]
    fn the_deadline_is_within_the_interval() {
        let settings = Settings::new().with("receipts.suite", "ecdsa-160").with("receipts.mode", "protocol");
        let one = receipts(settings.clone().with("receipts.interval_s", 1.0)).unwrap().unwrap();
        assert_eq!((one.interval, one.deadline), (Nanos::from_seconds(1), Nanos::from_millis(500)));
        let five = receipts(settings).unwrap().unwrap();
        assert_eq!(five.deadline, Nanos::from_millis(2_500));
        assert_eq!((five.cost.verify_ms, five.cost.sign_ms), (114.7, 20.3));
    }

    #[test]
    fn a_protocol_without_a_suite_is_refused() {
        assert_eq!(receipts(Settings::new()), Ok(None));
        let error = receipts(Settings::new().with("receipts.mode", "protocol")).unwrap_err();
        assert_eq!(error.setting(), "receipts.suite");
    }
}
