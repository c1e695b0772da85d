//! When calls speak, by a file that goes with the plan.

use super::settings::TransportsSettings;
use guestright_engine::Instant;
use guestright_experiment::SettingError;
use guestright_transport::Workload;

/// The setting.
pub(super) const SETTING: &str = "source.file";

/// The times of each call, if the settings name a file.
///
/// # Errors
///
/// It is no workload, with the name and the line; or it has a call that the settings do not have.
pub(super) fn of_file(settings: &TransportsSettings) -> Result<Option<Vec<Vec<Instant>>>, SettingError> {
    let Some(file) = &settings.source_file else { return Ok(None) };
    let unfit = |reason: String| SettingError::unfit(SETTING, reason);
    let workload = Workload::parse(&file.text).map_err(|error| unfit(format!("{}: {error}", file.name)))?;
    let last = workload.arrivals().iter().map(|arrival| arrival.flow).max();
    match last {
        None => Err(unfit(format!("{} has no packet", file.name))),
        Some(last) if last >= settings.flows => Err(unfit(format!(
            "{} has a call {last}, and `flows` is {}; make that {} or more",
            file.name,
            settings.flows,
            last + 1
        ))),
        Some(_) => Ok(Some(workload.flows(settings.flows))),
    }
}
