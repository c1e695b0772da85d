//! A plan with other values for settings that its source does not give.

use super::grid::completed;
use super::{Case, Grid, Plan};
use crate::settings::{SettingError, SettingInfo, Settings};
use crate::value::Value;

impl Plan {
    /// The same plan, with these settings at every point, whatever it says of them itself: how its claims do if what was
    /// assumed is something else.
    ///
    /// An axis may be among them. Its points keep their names then, and all of them have that value: only claims that do not
    /// compare several of its values mean anything ([`crate::runs_of_claims`] refuses the others).
    ///
    /// # Errors
    ///
    /// The testbed has no such setting, does not allow its value or refuses a point, or cases of the plan differ in it.
    pub fn with_settings(&self, given: &Settings) -> Result<Self, SettingError> {
        let infos = self.testbed.settings();
        let mut over = self.over.clone();
        for (name, value) in given.iter() {
            let Some(info) = infos.iter().find(|info| info.name == name) else {
                return Err(unknown(name, value, infos));
            };
            refuse_what_cases_vary(&self.grid, name)?;
            over.set(name, info.accept(value)?);
        }
        let plan = Self { over, ..self.clone() };
        plan.check_points()?;
        Ok(plan)
    }

    /// Asks the testbed about every point, in full and quickly; of a quick plan the full one is never run.
    fn check_points(&self) -> Result<(), SettingError> {
        self.check_grid(&self.grid)?;
        if self.is_quick { Ok(()) } else { self.check_grid(&self.quick_grid) }
    }

    fn check_grid(&self, grid: &Grid) -> Result<(), SettingError> {
        // Points that differ in axes with another value alone are the same.
        let mut last = Settings::new();
        for case in &grid.cases {
            for point in 0..case.points() {
                let settings = self.settings_at(case, &case.point(point));
                if settings != last {
                    self.testbed.check(&settings)?;
                    last = settings;
                }
            }
        }
        Ok(())
    }

    /// All settings of a point.
    pub(super) fn settings_at(&self, case: &Case, values: &[Value]) -> Settings {
        let settings = completed(case, &self.axes, values, self.testbed.settings());
        let mut settings = settings.expect("parsing checked every point");
        for (name, value) in self.over.iter() {
            settings.set(name, value.clone());
        }
        settings
    }
}

fn unknown(name: &str, value: &Value, infos: &[SettingInfo]) -> SettingError {
    let one = Settings::new().with(name, value.clone());
    match one.complete(infos) {
        Err(error) => error,
        Ok(_) => SettingError::Unknown { setting: name.to_owned(), meant: None },
    }
}

fn refuse_what_cases_vary(grid: &Grid, name: &str) -> Result<(), SettingError> {
    let mut values = grid.cases.iter().map(|case| (case, case.settings.get(name)));
    let Some((first, value)) = values.next() else { return Ok(()) };
    values.find(|(_, other)| *other != value).map_or(Ok(()), |(other, _)| {
        let reason = format!(
            "the cases `{}` and `{}` of the plan differ in it, so it cannot be given one value for all",
            first.name, other.name
        );
        Err(SettingError::unfit(name, reason))
    })
}
