use crate::receipts::{Offsets, Suite, SuiteCost};
use guestright_engine::Nanos;
use guestright_experiment::{SettingError, settings};

const SUITES: [(&str, Option<Suite>); 7] = [
    ("none", None),
    ("rsa-1024", Some(Suite::Rsa1024)),
    ("rsa-2048", Some(Suite::Rsa2048)),
    ("ecdsa-160", Some(Suite::Ecdsa160)),
    ("ecdsa-224", Some(Suite::Ecdsa224)),
    ("ed25519", Some(Suite::Ed25519)),
    ("p256", Some(Suite::P256)),
];

/// A [`Mode`] without its offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModeKind {
    Emulated,
    Protocol,
}

const MODES: [(&str, ModeKind); 2] = [("emulated", ModeKind::Emulated), ("protocol", ModeKind::Protocol)];

const OFFSETS: [(&str, Offsets); 2] = [("random", Offsets::Random), ("even", Offsets::Even)];

// Three groups, because `lab list` shows `receipts.mode` in their midst and the testbed `tcp` has no such setting.

settings! {
    /// How receipts are signed.
    pub(crate) struct SuiteSettings {
        /// How receipts are signed, with the times of paper A's Table 1; those of ed25519 and p256 are estimates.
        suite: Option<Suite> = choice("receipts.suite", "none", SUITES),
    }
}

settings! {
    /// When receipts are verified, and how long that takes.
    pub(crate) struct VerificationSettings {
        /// How often each session signs a receipt.
        interval_s: f64 = float("receipts.interval_s", "s", 5.0, (0.1, 3_600.0)),
        /// When a session's first verification is due in mode `emulated`: at random, or evenly spread over the
        /// interval.
        offsets: Offsets = choice("receipts.offsets", "random", OFFSETS),
        /// What a verification takes on the access point's processor; 0 is what the suite takes.
        verify_ms: f64 = float("receipts.verify_ms", "ms", 0.0, (0.0, 100_000.0)),
    }
}

settings! {
    /// The settings of receipts.
    pub(crate) struct ReceiptsSettings {
        signing: SuiteSettings,
        /// Verifications at regular intervals, as paper A emulated them, or the real machines with their messages.
        mode: ModeKind = choice("receipts.mode", "emulated", MODES),
        verification: VerificationSettings,
        /// What signing the terms takes on the access point's processor in mode `protocol`; 0 is what the suite
        /// takes.
        sign_ms: f64 = float("receipts.sign_ms", "ms", 0.0, (0.0, 100_000.0)),
        /// How long a visitor takes to sign a receipt, in mode `protocol`.
        visitor_sign_ms: f64 = float("receipts.visitor_sign_ms", "ms", 0.0, (0.0, 100_000.0)),
        /// How long a visitor has to sign in mode `protocol`; never more than half of the interval.
        deadline_s: f64 = float("receipts.deadline_s", "s", 2.5, (0.01, 3_600.0)),
    }
}

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
    pub(crate) fn from_settings(settings: &ReceiptsSettings) -> Result<Option<Self>, SettingError> {
        let ReceiptsSettings { signing, verification, .. } = settings;
        let Some(mut cost) = cost(signing, verification) else {
            return if settings.mode == ModeKind::Protocol {
                Err(SettingError::unfit("receipts.suite", "mode `protocol` needs a suite"))
            } else {
                Ok(None)
            };
        };
        if settings.sign_ms > 0.0 {
            cost.sign_ms = settings.sign_ms;
        }
        let interval = seconds(verification.interval_s);
        Ok(Some(Self {
            mode: match settings.mode {
                ModeKind::Emulated => Mode::Emulated(verification.offsets),
                ModeKind::Protocol => Mode::Protocol,
            },
            interval,
            cost,
            visitor_sign: seconds(settings.visitor_sign_ms / 1e3),
            deadline: seconds(settings.deadline_s).min(Nanos(interval.0 / 2)),
        }))
    }
}

/// What the suite takes, with the verification's time as it is set; `None` if there are no receipts.
pub(crate) fn cost(signing: &SuiteSettings, verification: &VerificationSettings) -> Option<SuiteCost> {
    let cost = signing.suite?.cost();
    let verify_ms = verification.verify_ms;
    Some(if verify_ms > 0.0 { SuiteCost { verify_ms, ..cost } } else { cost })
}

/// Whole microseconds, as the machines count, in nanoseconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "limited by the settings")]
fn seconds(seconds: f64) -> Nanos {
    Nanos::from_micros((seconds * 1e6 + 0.5) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_experiment::Settings;

    fn receipts(settings: Settings) -> Result<Option<Receipts>, SettingError> {
        let settings = settings.complete(ReceiptsSettings::SETTINGS).unwrap();
        Receipts::from_settings(&ReceiptsSettings::read(&settings).unwrap())
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
