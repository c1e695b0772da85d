//! Rows as Arrow tables by the C data interface, and what is made of them.
//!
//! Source: <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.

use crate::claims::{Verdict, claim_error};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array as _, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator,
    StringArray, StructArray, UInt64Array,
};
use arrow_schema::{ArrowError, Field, Schema};
use guestright_experiment::{self as experiment, Cells, Plan, Platform, Results, evaluate, judge_claims};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::Arc;

/// Rows of a plan: one for each run that was made, in the order of the runs.
#[pyclass(frozen, module = "guestright._lab")]
pub(crate) struct Table {
    plan: Arc<Plan>,
    results: Results,
    batch: RecordBatch,
}

impl Table {
    pub(crate) fn new(py: Python<'_>, plan: Arc<Plan>, results: Results) -> PyResult<Self> {
        let batch = py.detach(|| batch(&plan, &results)).map_err(|error| arrow_error(&error))?;
        Ok(Self { plan, results, batch })
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The cells of a column.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let columns = self.results.columns(&self.plan);
        let column = columns.into_iter().find(|column| column.name == name);
        let column = column.ok_or_else(|| PyKeyError::new_err(format!("there is no column `{name}`")))?;
        match column.cells {
            Cells::Bool(cells) => PyList::new(py, cells),
            Cells::Integer(cells) => PyList::new(py, cells),
            Cells::Unsigned(cells) => PyList::new(py, cells),
            Cells::Float(cells) => PyList::new(py, cells),
            Cells::Text(cells) => PyList::new(py, cells),
        }
    }

    /// The bytes of the program's rows.csv.
    fn to_csv(&self) -> String {
        self.results.csv(&self.plan)
    }

    /// Measures, figures, and a verdict for each claim of the plan.
    fn evaluate(&self, py: Python<'_>) -> Evaluation {
        Evaluation(py.detach(|| evaluate(&self.plan, &self.results, Platform::Sim)))
    }

    /// A verdict for each of these claims; the rows of [`crate::plan::Plan::runs_of`] are enough.
    fn verdicts(&self, py: Python<'_>, claims: Vec<String>) -> PyResult<Vec<Verdict>> {
        let scored = py.detach(|| judge_claims(&self.plan, &self.results, &claims));
        let scored = scored.map_err(|error| claim_error(&error))?;
        Ok(scored.into_iter().map(Verdict::from).collect())
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        let (rows, columns) = (self.batch.num_rows(), self.batch.num_columns());
        format!("<Table of {}: {rows} rows, {columns} columns>", self.plan.name())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema =
            FFI_ArrowSchema::try_from(self.batch.schema().as_ref()).map_err(|error| arrow_error(&error))?;
        capsule(py, schema, c"arrow_schema")
    }

    /// Consumers that want another schema cast by themselves, as the interface lets them.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        let array = FFI_ArrowArray::new(&StructArray::from(self.batch.clone()).to_data());
        Ok((self.__arrow_c_schema__(py)?, capsule(py, array, c"arrow_array")?))
    }

    /// As [`Table::__arrow_c_array__`], as a stream of one batch.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let reader = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        capsule(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }
}

/// What was found, judged by the plan's claims.
#[pyclass(frozen, module = "guestright._lab")]
pub(crate) struct Evaluation(experiment::Evaluation);

#[pymethods]
impl Evaluation {
    /// Whether every verdict could be computed.
    #[getter]
    fn is_complete(&self) -> bool {
        self.0.is_complete()
    }

    /// The ids of the figures.
    #[getter]
    fn figures(&self) -> Vec<&str> {
        self.0.figures.iter().map(|figure| figure.id.as_str()).collect()
    }

    /// A figure as SVG.
    fn svg(&self, figure: &str) -> PyResult<String> {
        let found = self.0.figures.iter().find(|one| one.id == figure);
        let found = found.ok_or_else(|| PyKeyError::new_err(format!("there is no figure `{figure}`")))?;
        found.svg().map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// As the program prints it.
    fn text(&self) -> String {
        self.0.text()
    }

    /// Its tables, with at most so many rows each.
    #[pyo3(signature = (rows_max = 100))]
    fn tables_text(&self, rows_max: usize) -> String {
        self.0.tables_text(rows_max)
    }

    /// The program's evaluation.json.
    fn json(&self) -> String {
        self.0.json()
    }

    fn __repr__(&self) -> String {
        format!("<Evaluation of {}: {} claims>", self.0.name, self.0.claims.len())
    }
}

fn batch(plan: &Plan, results: &Results) -> Result<RecordBatch, ArrowError> {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for column in results.columns(plan) {
        let array: ArrayRef = match column.cells {
            Cells::Bool(cells) => Arc::new(BooleanArray::from(cells)),
            Cells::Integer(cells) => Arc::new(Int64Array::from(cells)),
            Cells::Unsigned(cells) => Arc::new(UInt64Array::from(cells)),
            Cells::Float(cells) => Arc::new(Float64Array::from(cells)),
            Cells::Text(cells) => Arc::new(StringArray::from(cells)),
        };
        fields.push(Field::new(column.name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let about: HashMap<String, String> = plan.about().map(|(key, text)| (key.to_owned(), text)).into();
    RecordBatch::try_new(Arc::new(Schema::new_with_metadata(fields, about)), arrays)
}

fn capsule<'py, T: Send + 'static>(
    py: Python<'py>,
    value: T,
    name: &'static CStr,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, value, name)
}

fn arrow_error(error: &ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
