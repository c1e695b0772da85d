//! A policy to be tried: `[policy]` and `[credit]` of `home.toml` in a file of their own.

use super::{CreditSettings, HomeSettings, PolicyKind, PolicySettings, read};
use guestright_cli::failure::Failure;
use guestright_error::RunError;
use guestright_host::home::limits::{self, Limits};
use guestright_roaming::home;
use serde::{Deserialize, Serialize};
use std::path::Path;
use toml::Table;

/// What decides whom a home serves.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PolicyFile {
    policy: PolicySettings,
    credit: CreditSettings,
}

impl PolicyFile {
    /// Reads such a file. What it leaves out is as in the home's settings.
    ///
    /// # Errors
    /// It cannot be read, or has something else in it.
    pub(crate) fn read(path: &Path, home: &HomeSettings) -> Result<Self, Failure> {
        read::<Self>(path)?;
        let mut merged = Table::try_from(home.policy_in_force()).map_err(Failure::bug)?;
        for (name, section) in read::<Table>(path)? {
            match (merged.get_mut(&name).and_then(|known| known.as_table_mut()), section) {
                (Some(known), toml::Value::Table(section)) => known.extend(section),
                (_, section) => drop(merged.insert(name, section)),
            }
        }
        merged.try_into().map_err(Failure::bug)
    }

    /// What the home's machine is told.
    pub(crate) fn machine(&self) -> home::Config {
        home::Config {
            credit: (self.policy.kind == PolicyKind::Credit).then(|| self.credit.for_loop()),
            judge: self.policy.judge(),
            ..home::Config::default()
        }
    }
}

impl HomeSettings {
    /// By what it decides now.
    pub(crate) fn policy_in_force(&self) -> PolicyFile {
        PolicyFile { policy: self.policy.clone(), credit: self.credit.clone() }
    }

    /// With the limits that were set on the page of the home with this state directory.
    ///
    /// # Errors
    /// They cannot be read.
    pub(crate) fn with_limits_of_page(mut self, state: &Path) -> Result<Self, RunError> {
        self.credit = Limits::of(&limits::in_force(state, self.credit.for_loop())?).into();
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_units::Bytes;

    fn home(sections: &str) -> HomeSettings {
        toml::from_str(&format!("key = \"k\"\ncertificate = \"c\"\n{sections}")).unwrap()
    }

    fn read_text(text: &str, home: &HomeSettings) -> Result<PolicyFile, Failure> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("other.toml");
        std::fs::write(&path, text).unwrap();
        PolicyFile::read(&path, home)
    }

    #[test]
    fn what_the_file_leaves_out_is_as_in_the_settings() {
        let home = home("[credit]\nallowance_bytes_per_day = 7\nlend_bytes_max = 8\n");
        let credit = read_text("[credit]\nlend_bytes_max = 9\n", &home).unwrap().machine().credit.unwrap();
        assert_eq!((credit.allowance.per_day, credit.holds.overdraft.total), (Bytes(7), Bytes(9)));
        assert!(read_text("[policy]\nkind = \"netflow\"\n", &home).unwrap().machine().credit.is_none());
    }

    #[test]
    fn a_mistake_is_named_with_its_line_and_what_could_stand_there() {
        let wrong = "[credit]\nhold = true\nallowance_bytes = 5\n";
        let refused = read_text(wrong, &home("")).unwrap_err().to_string();
        assert!(refused.contains("line 3") && refused.contains("`allowance_bytes_per_day`"), "{refused}");
        let refused = read_text("[gateway]\n", &home("")).unwrap_err().to_string();
        assert!(refused.contains("line 1") && refused.contains("gateway"), "{refused}");
    }
}
