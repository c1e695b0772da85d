//! What the runs of a plan gave, and their text form.

mod columns;
mod csv;

pub use columns::{Cells, Column};
pub(crate) use csv::line as csv_line;

use crate::plan::{Plan, Run};
use crate::testbed::Outcome;
use thiserror::Error;

/// One row: what one run gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// A number for each of the plan's metrics, in their order; nothing where it was not measured.
    pub numbers: Vec<Option<f64>>,
    /// How many packets were simulated.
    pub packets: u64,
    /// How many events were handled.
    pub events: u64,
}

/// The rows of a plan, in the order of its runs, however they came.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    pub(crate) rows: Vec<Option<Row>>,
}

/// Why rows are not those of a plan.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ResultsError {
    /// The testbed measured something that it does not declare.
    #[error("the testbed `{testbed}` gave the metric `{metric}`, which it does not declare")]
    Metric {
        testbed: &'static str,
        /// The metric's.
        metric: &'static str,
    },
    /// The plan has no such run.
    #[error("there is no run {got}; the plan has {want}")]
    Index {
        /// The place that was given.
        got: usize,
        /// How many runs there are.
        want: usize,
    },
    /// The columns are not the plan's.
    #[error(
        "line 1: the columns are `{got}`, but the plan's are `{want}`; were the rows written by another version?"
    )]
    Columns {
        /// The header that was read.
        got: String,
        /// The header that the plan has.
        want: String,
    },
    /// It is not the JSON of an evaluation.
    #[error("not an evaluation: {0}; was it written by another version?")]
    Json(String),
    /// A line that is not a row.
    #[error("line {line}: {reason}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

/// Rows that were read again, and what was not used of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Adopted {
    /// The rows that belong to runs of the plan.
    pub results: Results,
    /// How many rows belong to no run of the plan, for example because the sweep has changed.
    pub strangers: usize,
}

impl Row {
    /// What a run gave, with its numbers in the order of the plan's metrics.
    ///
    /// # Errors
    ///
    /// When the testbed gave a metric that it does not declare.
    pub fn new(plan: &Plan, outcome: &Outcome) -> Result<Self, ResultsError> {
        let declared = |name: &str| plan.metrics().iter().any(|metric| metric.name == name);
        if let Some(metric) = outcome.metrics.keys().find(|name| !declared(name)) {
            return Err(ResultsError::Metric { testbed: plan.testbed().name(), metric });
        }
        let number =
            |name| outcome.metrics.get(name).copied().flatten().filter(|number: &f64| number.is_finite());
        let numbers = plan.metrics().iter().map(|metric| number(metric.name)).collect();
        Ok(Self { numbers, packets: outcome.packets, events: outcome.events })
    }
}

impl Results {
    /// No rows yet.
    pub fn new(plan: &Plan) -> Self {
        Self { rows: vec![None; plan.run_count()] }
    }

    /// Notes what a run gave.
    ///
    /// # Errors
    ///
    /// When the testbed gave a metric that it does not declare, or the run is not one of the plan's.
    pub fn record(&mut self, plan: &Plan, run: &Run, outcome: &Outcome) -> Result<(), ResultsError> {
        self.insert(run.index, Row::new(plan, outcome)?)
    }

    /// Puts a row in its place.
    ///
    /// # Errors
    ///
    /// When the plan has no such run.
    pub fn insert(&mut self, index: usize, row: Row) -> Result<(), ResultsError> {
        let want = self.rows.len();
        let slot = self.rows.get_mut(index).ok_or(ResultsError::Index { got: index, want })?;
        *slot = Some(row);
        Ok(())
    }

    /// The row of a run, if it is there.
    pub fn get(&self, index: usize) -> Option<&Row> {
        self.rows.get(index)?.as_ref()
    }

    /// A place for each run of the plan, in their order.
    pub fn rows(&self) -> &[Option<Row>] {
        &self.rows
    }

    /// How many runs have no row.
    pub fn missing(&self) -> usize {
        self.rows.iter().filter(|row| row.is_none()).count()
    }

    /// All packets that were simulated.
    pub fn packets(&self) -> u64 {
        self.rows.iter().flatten().map(|row| row.packets).fold(0, u64::saturating_add)
    }

    /// All events that were handled.
    pub fn events(&self) -> u64 {
        self.rows.iter().flatten().map(|row| row.events).fold(0, u64::saturating_add)
    }
}
