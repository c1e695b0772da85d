//! The runs of a plan, in their order.

use super::grid::completed;
use super::{Case, Grid, Plan};
use crate::settings::{SettingError, SettingInfo, Settings};
use crate::value::Value;
use data_encoding::HEXLOWER;
use guestright_units::Seed;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;

/// One run: everything that it depends on, and where it belongs.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its place among the runs of the plan, from 0.
    pub index: usize,
    /// The name of its case.
    pub case: String,
    /// The values of the plan's axes, in their order.
    pub point: Vec<Value>,
    /// Which replication of the point it is, from 0.
    pub replication: u32,
    /// Every setting of the testbed; shared by the runs of a point.
    pub settings: Arc<Settings>,
    /// Its chance; the same for the same replication of every point.
    pub seed: Seed,
    /// See [`Plan::key`].
    pub(crate) key: RunKey,
}

/// What a run depends on, as a number: testbed, settings and seed. Two runs with the same key give the same row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunKey(pub [u8; 16]);

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        HEXLOWER.encode_write(&self.0, f)
    }
}

impl fmt::Debug for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Plan {
    /// Every run, case by case, point by point (the first axis varies slowest), replication by replication.
    pub fn runs(&self) -> Vec<Run> {
        let mut runs = Vec::with_capacity(self.run_count());
        for case in &self.grid.cases {
            for point in 0..case.points() {
                let values = case.point(point);
                let settings = Arc::new(self.settings_at(case, &values));
                let before = self.digest_settings(&settings);
                for replication in 0..self.grid.seeds {
                    let seed = self.seed(replication);
                    let mut digest = before.clone();
                    digest.update(seed.0);
                    runs.push(Run {
                        index: runs.len(),
                        case: case.name.clone(),
                        point: values.clone(),
                        replication,
                        settings: Arc::clone(&settings),
                        seed,
                        key: RunKey(half(&digest.finalize().into())),
                    });
                }
            }
        }
        runs
    }

    /// How many runs there are.
    pub fn run_count(&self) -> usize {
        let points: usize = self.grid.cases.iter().map(super::Case::points).sum();
        points * usize::try_from(self.grid.seeds).unwrap_or(usize::MAX)
    }

    /// The chance of a replication: from the plan's name, its `chance`, and the replication.
    pub fn seed(&self, replication: u32) -> Seed {
        let mut digest = Sha256::new();
        digest.update(b"guestright experiment replication");
        digest.update(self.chance.to_le_bytes());
        digest.update(replication.to_le_bytes());
        digest.update(self.name.as_bytes());
        Seed(digest.finalize().into())
    }

    /// What a run depends on. Rows may be kept as long as their runs have the same key, and the program is the same.
    pub const fn key(&self, run: &Run) -> RunKey {
        run.key
    }

    /// Testbed and settings, ready for a seed.
    fn digest_settings(&self, settings: &Settings) -> Sha256 {
        let mut digest = Sha256::new();
        put(&mut digest, "guestright experiment run");
        put(&mut digest, self.testbed.name());
        for (name, value) in settings.iter() {
            put(&mut digest, name);
            put(&mut digest, value.kind());
            put(&mut digest, &value.to_string());
        }
        // Another file under the same name gives other runs.
        for file in settings.attached(self.testbed.settings()) {
            put(&mut digest, &file.sha256);
        }
        digest
    }

    /// What all runs depend on, in their order, as hexadecimal digits. What does not change a row (texts, figures, claims)
    /// does not change it.
    pub fn digest(&self) -> String {
        let mut digest = Sha256::new();
        put(&mut digest, "guestright experiment plan");
        put(&mut digest, &self.name);
        for run in self.runs() {
            put(&mut digest, &run.case);
            digest.update(run.key.0);
        }
        RunKey(half(&digest.finalize().into())).to_string()
    }
}

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
    fn settings_at(&self, case: &Case, values: &[Value]) -> Settings {
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

/// 128 bits are enough to tell runs apart.
fn half(digest: &[u8; 32]) -> [u8; 16] {
    let (half, _) = digest.split_first_chunk().expect("16 of 32 bytes");
    *half
}

/// Adds a text and where it ends.
fn put(digest: &mut Sha256, text: &str) {
    digest.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
    digest.update(text.as_bytes());
}
