//! How much the household gives, where that was set on its page and not in its settings file.
//!
//! The file beside the state has both: what was set, and what the settings file had in its place then. Whoever changes the settings
//! file later has the last word.

use super::private;
use guestright_error::RunError;
use guestright_roaming::home::CreditConfig;
use guestright_units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// No limit is higher: 10^15 bytes.
pub const MAX: u64 = 1_000_000_000_000_000;

/// What a person sets, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    pub allowance_bytes_per_day: u64,
    pub founding_bytes: u64,
    pub lend_bytes_max: u64,
    pub hold: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    set: Limits,
    /// What the settings file had.
    instead_of: Limits,
}

impl Limits {
    /// Those of a configuration.
    pub fn of(config: &CreditConfig) -> Self {
        Self {
            allowance_bytes_per_day: config.allowance.per_day.0,
            founding_bytes: config.allowance.founding.0,
            lend_bytes_max: config.holds.overdraft.total.0,
            hold: config.holds.takes_part,
        }
    }

    /// The configuration with these.
    pub fn applied_to(self, mut config: CreditConfig) -> CreditConfig {
        config.allowance.per_day = Bytes(self.allowance_bytes_per_day);
        config.allowance.founding = Bytes(self.founding_bytes);
        config.holds.overdraft.total = Bytes(self.lend_bytes_max);
        config.holds.takes_part = self.hold;
        config
    }

    /// Whether all of them can be.
    pub fn are_possible(&self) -> bool {
        [self.allowance_bytes_per_day, self.founding_bytes, self.lend_bytes_max].iter().all(|it| *it <= MAX)
    }
}

fn file(state: &Path) -> PathBuf {
    state.join("limits.json")
}

/// What is in force at the home with this state directory, by the configuration of its settings file.
///
/// # Errors
/// What was set on the page cannot be read. It may be less than what the settings file has, so nothing is in force then.
pub fn in_force(state: &Path, of_settings: CreditConfig) -> Result<CreditConfig, RunError> {
    let kept = read(&file(state))?.filter(|kept| kept.stands_for(&of_settings));
    Ok(kept.map_or(of_settings, |kept| kept.set.applied_to(of_settings)))
}

/// The home goes by these settings from now on: limits that they have superseded are forgotten, and do not count again when home.toml
/// is changed back. Settings that are refused after all supersede nothing, so this comes last.
pub(super) fn settle(state: &Path, of_settings: Option<CreditConfig>) -> Option<CreditConfig> {
    let file = file(state);
    let forget = || match (read(&file)?, of_settings) {
        (Some(kept), Some(of_settings)) if !kept.stands_for(&of_settings) => {
            private::remove(&file).map(|()| true)
        }
        _ => Ok(false),
    };
    match forget() {
        Ok(true) => {
            tracing::info!(file = %file.display(), "home.toml has other limits than when others were set on the page: those of home.toml count");
        }
        Ok(false) => {}
        Err(error) => tracing::warn!(%error, "limits that home.toml has superseded cannot be forgotten"),
    }
    of_settings
}

fn read(file: &Path) -> Result<Option<Kept>, RunError> {
    let Some(bytes) = private::read_if_there(file)? else { return Ok(None) };
    let kept = serde_json::from_slice(&bytes).ok().filter(|kept: &Kept| kept.set.are_possible());
    let damaged = || {
        RunError::config(format!("{} has no limits in it", file.display())).with_hint(
            "it was written by the household's page; remove it, and those of home.toml count again",
        )
    };
    kept.map(Some).ok_or_else(damaged)
}

impl Kept {
    /// Whether the settings file still has what these were set instead of.
    fn stands_for(&self, of_settings: &CreditConfig) -> bool {
        self.instead_of == Limits::of(of_settings)
    }
}

/// Makes durable what is in force from now on.
///
/// # Errors
/// It cannot be written.
#[cfg(any(feature = "page", test))]
pub(super) fn keep(state: &Path, set: Limits, of_settings: &CreditConfig) -> Result<(), RunError> {
    let kept = Kept { set, instead_of: Limits::of(of_settings) };
    let text = serde_json::to_vec_pretty(&kept).map_err(RunError::bug)?;
    private::replace(&file(state), &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: Limits =
        Limits { allowance_bytes_per_day: 1, founding_bytes: 2, lend_bytes_max: 3, hold: false };

    #[test]
    fn what_was_set_counts_until_the_settings_file_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let of_settings = CreditConfig::default();
        assert_eq!(in_force(folder.path(), of_settings).unwrap(), of_settings);
        keep(folder.path(), SET, &of_settings).unwrap();
        let found = in_force(folder.path(), of_settings).unwrap();
        assert_eq!(Limits::of(&found), SET);
        assert_ne!(found, of_settings);
        let mut later = of_settings;
        later.allowance.per_day = Bytes(7);
        assert_eq!(in_force(folder.path(), later).unwrap(), later);
        assert_eq!(in_force(folder.path(), of_settings).unwrap(), found, "a look changes nothing");
    }

    #[test]
    fn what_was_superseded_does_not_come_back_once_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let of_settings = CreditConfig::default();
        keep(folder.path(), SET, &of_settings).unwrap();
        let mut later = of_settings;
        later.allowance.per_day = Bytes(7);
        let in_force = |config| in_force(folder.path(), config).unwrap();
        assert_eq!(in_force(later), later);
        settle(folder.path(), Some(of_settings));
        assert_eq!(Limits::of(&in_force(of_settings)), SET, "they were refused after all");
        settle(folder.path(), None);
        assert_eq!(Limits::of(&in_force(of_settings)), SET, "a policy of the papers has none");
        settle(folder.path(), Some(later));
        assert_eq!(in_force(of_settings), of_settings);
    }

    #[test]
    fn damaged_limits_are_never_taken_for_none() {
        let folder = tempfile::tempdir().unwrap();
        let too_much = Limits { lend_bytes_max: MAX + 1, ..SET };
        keep(folder.path(), too_much, &CreditConfig::default()).unwrap();
        let impossible = std::fs::read_to_string(file(folder.path())).unwrap();
        for damaged in ["", "{}", "[]", &impossible] {
            std::fs::write(file(folder.path()), damaged).unwrap();
            let error = in_force(folder.path(), CreditConfig::default()).unwrap_err().to_string();
            assert!(error.contains("limits.json"), "{error}");
        }
    }
}
