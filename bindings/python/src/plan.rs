//! Plans: their texts, what they have, and their runs.

use crate::claims::{Claim, claim_error};
use crate::errors::{PlanError, plan_error, setting_error};
use crate::sweep;
use crate::table::Table;
use crate::testbed::{Metric, dictionary, settings_of};
use guestright_experiment::{
    self as experiment, Platform, Results, Row, Run, Settings, Value, claim_infos, runs_of_claims,
};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// What makes a plan again.
type NewArguments<'py> = (&'py str, &'py str, bool, Option<u32>, Bound<'py, PyDict>);

/// An experiment that was read and is sensible.
#[derive(Clone)]
#[pyclass(frozen, module = "guestright._lab")]
pub(crate) struct Plan {
    /// Where the text is from, as errors name it.
    source: String,
    text: String,
    seeds: Option<u32>,
    /// What lies over the plan's own settings.
    over: Settings,
    plan: Arc<experiment::Plan>,
    /// Made when they are first asked for: there may be 200,000.
    runs: OnceLock<Arc<Vec<Run>>>,
}

/// The plans that the package brings: their names and texts.
#[pyfunction]
pub(crate) fn built_in() -> Vec<(&'static str, &'static str)> {
    guestright_plans::BUILT_IN.to_vec()
}

#[pymethods]
impl Plan {
    /// Reads the text of a plan; `source` is what errors call it.
    #[new]
    #[pyo3(signature = (source, text, quick = false, seeds = None, settings = None))]
    fn new(
        py: Python<'_>,
        source: String,
        text: String,
        quick: bool,
        seeds: Option<u32>,
        settings: Option<BTreeMap<String, Bound<'_, PyAny>>>,
    ) -> PyResult<Self> {
        let plan = py.detach(|| experiment::Plan::parse(&text, guestright_world::testbeds()));
        let plan = plan.map_err(|error| plan_error(py, &error, &source, &text))?;
        if !plan.on().contains(&Platform::Sim) {
            return Err(PlanError::new_err(format!(
                "{source} is not made for sim\nhint: add \"sim\" to its `on`"
            )));
        }
        let plan = if quick { plan.quick() } else { plan };
        let plan = Self::with(source, text, seeds, plan)?;
        settings.map_or(Ok(plan.clone()), |settings| plan.with_settings(py, settings))
    }

    /// For pickle: what [`Plan::new`] takes.
    fn __getnewargs__<'py>(&'py self, py: Python<'py>) -> PyResult<NewArguments<'py>> {
        let over = dictionary(py, self.over.iter())?;
        Ok((&self.source, &self.text, self.plan.is_quick(), self.seeds, over))
    }

    /// The same plan with what its table `quick` says.
    fn quick(&self) -> PyResult<Self> {
        let quick = Self::with(self.source.clone(), self.text.clone(), self.seeds, self.plan.quick())?;
        Ok(Self { over: self.over.clone(), ..quick })
    }

    /// The same plan with another number of runs of every point.
    fn with_seeds(&self, seeds: u32) -> PyResult<Self> {
        let other = Self::with(self.source.clone(), self.text.clone(), Some(seeds), (*self.plan).clone())?;
        Ok(Self { over: self.over.clone(), ..other })
    }

    /// The same plan with these settings at every point, whatever it says of them itself.
    fn with_settings(&self, py: Python<'_>, settings: BTreeMap<String, Bound<'_, PyAny>>) -> PyResult<Self> {
        let given = settings_of(settings)?;
        let mut over = self.over.clone();
        for (name, value) in given.iter() {
            over.set(name, value.clone());
        }
        let plan =
            py.detach(|| self.plan.with_settings(&given)).map_err(|error| setting_error(py, &error))?;
        Ok(Self { over, plan: Arc::new(plan), runs: OnceLock::new(), ..self.clone() })
    }

    /// What lies over the plan's own settings.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dictionary(py, self.over.iter())
    }

    /// Its claims, in their order.
    #[getter]
    fn claims(&self) -> Vec<Claim> {
        claim_infos(&self.plan).into_iter().map(Claim::from).collect()
    }

    /// The runs that these claims need.
    fn runs_of(&self, claims: Vec<String>) -> PyResult<Vec<usize>> {
        runs_of_claims(&self.plan, &claims).map_err(|error| claim_error(&error))
    }

    #[getter]
    fn name(&self) -> &str {
        self.plan.name()
    }

    #[getter]
    fn source(&self) -> &str {
        &self.source
    }

    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    #[getter]
    fn title(&self) -> &str {
        self.plan.title()
    }

    #[getter]
    fn question(&self) -> &str {
        self.plan.question()
    }

    #[getter]
    fn testbed(&self) -> &'static str {
        self.plan.testbed().name()
    }

    #[getter]
    fn digest(&self) -> String {
        self.plan.digest()
    }

    #[getter]
    fn seeds(&self) -> u32 {
        self.plan.seeds()
    }

    #[getter]
    fn is_quick(&self) -> bool {
        self.plan.is_quick()
    }

    #[getter]
    fn run_count(&self) -> usize {
        self.plan.run_count()
    }

    #[getter]
    fn axes(&self) -> Vec<&'static str> {
        self.plan.axes().collect()
    }

    #[getter]
    fn cases(&self) -> Vec<&str> {
        self.plan.cases().collect()
    }

    #[getter]
    fn metrics(&self) -> Vec<Metric> {
        self.plan.metrics().iter().map(Metric::new).collect()
    }

    /// What a run is: its case, its point, its replication, its key, and every setting of its testbed.
    fn describe<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyDict>> {
        let run = self.run_at(index)?;
        let about = PyDict::new(py);
        about.set_item("run", run.index)?;
        about.set_item("case", &run.case)?;
        let point: Vec<(&str, &Value)> = self.plan.axes().zip(&run.point).collect();
        about.set_item("point", dictionary(py, point.into_iter())?)?;
        about.set_item("replication", run.replication)?;
        about.set_item("key", self.plan.key(run).to_string())?;
        about.set_item("settings", dictionary(py, run.settings.iter())?)?;
        Ok(about)
    }

    /// Makes one run: a table of one row.
    fn run(&self, py: Python<'_>, index: usize) -> PyResult<Table> {
        self.run_at(index)?;
        self.sweep(py, Some(vec![index]), Some(1), None)
    }

    /// Makes runs: all of them, or those of `indices`, so many at a time.
    #[pyo3(signature = (indices = None, *, threads = None, progress = None))]
    fn sweep(
        &self,
        py: Python<'_>,
        indices: Option<Vec<usize>>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Table> {
        let indices = indices
            .map_or_else(|| Ok((0..self.plan.run_count()).collect()), |indices| self.known(indices))?;
        let results = sweep::make(py, &self.plan, &self.runs(), indices, threads, progress.as_ref())?;
        Table::new(py, Arc::clone(&self.plan), results)
    }

    /// The table of rows that were made elsewhere, by their keys: of a part of a sweep, of several, or of the program's.
    fn adopt(
        &self,
        py: Python<'_>,
        keys: Vec<String>,
        numbers: BTreeMap<String, Vec<Option<f64>>>,
        packets: Vec<u64>,
        events: Vec<u64>,
    ) -> PyResult<Table> {
        let mut columns = Vec::new();
        for metric in self.plan.metrics() {
            let column = numbers.get(metric.name).filter(|column| column.len() == keys.len());
            columns.push(column.ok_or_else(|| missing(metric.name))?);
        }
        if packets.len() != keys.len() || events.len() != keys.len() {
            return Err(missing("simulated_packets"));
        }
        let rows: BTreeMap<&str, usize> = keys.iter().map(String::as_str).zip(0..).collect();
        let mut results = Results::new(&self.plan);
        for run in self.runs().iter() {
            if let Some(row) = rows.get(self.plan.key(run).to_string().as_str()) {
                let numbers = columns.iter().map(|column| column[*row]).collect();
                let row = Row { numbers, packets: packets[*row], events: events[*row] };
                results.insert(run.index, row).map_err(|error| PyValueError::new_err(error.to_string()))?;
            }
        }
        Table::new(py, Arc::clone(&self.plan), results)
    }

    /// The table of a text of comma-separated values, as the program's rows.csv and [`Table::to_csv`] have it.
    fn read_csv(&self, py: Python<'_>, text: &str) -> PyResult<Table> {
        let adopted =
            Results::from_csv(&self.plan, text).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Table::new(py, Arc::clone(&self.plan), adopted.results)
    }

    fn __repr__(&self) -> String {
        let quick = if self.plan.is_quick() { ", quick" } else { "" };
        format!("<Plan {}: {} runs{quick}>", self.plan.name(), self.plan.run_count())
    }
}

impl Plan {
    fn with(source: String, text: String, seeds: Option<u32>, plan: experiment::Plan) -> PyResult<Self> {
        let plan = match seeds {
            None => plan,
            Some(number) if number == 0 || number > experiment::Plan::SEEDS_MAX => {
                let max = experiment::Plan::SEEDS_MAX;
                return Err(PyValueError::new_err(format!(
                    "seeds is {number}; a whole number from 1 to {max} is wanted"
                )));
            }
            Some(number) => plan.with_seeds(number).ok_or_else(|| {
                let max = experiment::Plan::RUNS_MAX;
                PlanError::new_err(format!(
                    "{source} would have more than {max} runs\nhint: give fewer seeds"
                ))
            })?,
        };
        let over = Settings::new();
        Ok(Self { source, text, seeds, over, plan: Arc::new(plan), runs: OnceLock::new() })
    }

    fn runs(&self) -> Arc<Vec<Run>> {
        Arc::clone(self.runs.get_or_init(|| Arc::new(self.plan.runs())))
    }

    fn run_at(&self, index: usize) -> PyResult<&Run> {
        let runs = self.runs.get_or_init(|| Arc::new(self.plan.runs()));
        runs.get(index).ok_or_else(|| self.unknown(index))
    }

    /// Each index once.
    fn known(&self, mut indices: Vec<usize>) -> PyResult<Vec<usize>> {
        indices.sort_unstable();
        indices.dedup();
        match indices.last().filter(|last| **last >= self.plan.run_count()) {
            Some(last) => Err(self.unknown(*last)),
            None => Ok(indices),
        }
    }

    fn unknown(&self, index: usize) -> PyErr {
        PyIndexError::new_err(format!(
            "there is no run {index}; {} has {}",
            self.plan.name(),
            self.plan.run_count()
        ))
    }
}

fn missing(column: &str) -> PyErr {
    PyValueError::new_err(format!("the column `{column}` is not there, or not as long as `key`"))
}
