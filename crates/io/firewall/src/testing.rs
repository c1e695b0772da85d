//! What tests of settings have in common.

use crate::FirewallError;
use std::fmt::Debug;

/// That a check refused the settings, for the one of this name.
pub(crate) fn assert_refuses(checked: Result<(), FirewallError>, setting: &str, settings: &impl Debug) {
    let Err(FirewallError::Setting { name, .. }) = checked else {
        panic!("accepted a bad {setting}: {settings:?}");
    };
    assert_eq!(name, setting, "{settings:?}");
}
