//! Testbeds: what can be set, what is measured, and single runs of them.

use crate::errors::setting_error;
use guestright_experiment::{MetricInfo, SettingInfo, Settings, Value};
use guestright_units::Seed;
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use std::collections::BTreeMap;

/// Something that can be measured in virtual time.
#[pyclass(frozen, module = "guestright._lab")]
pub(crate) struct Testbed(&'static dyn guestright_experiment::Testbed);

/// What a testbed says of one of its settings.
#[pyclass(frozen, get_all, module = "guestright._lab")]
pub(crate) struct Setting {
    name: &'static str,
    unit: &'static str,
    default: Py<PyAny>,
    wanted: String,
    about: &'static str,
}

/// What a testbed says of a number that it measures.
#[pyclass(frozen, get_all, module = "guestright._lab")]
pub(crate) struct Metric {
    name: &'static str,
    unit: &'static str,
    about: &'static str,
}

/// Every testbed.
#[pyfunction]
pub(crate) fn testbeds() -> Vec<Testbed> {
    guestright_world::testbeds().iter().map(|testbed| Testbed(*testbed)).collect()
}

#[pymethods]
impl Testbed {
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name()
    }

    #[getter]
    fn about(&self) -> &'static str {
        self.0.describe()
    }

    #[getter]
    fn settings(&self, py: Python<'_>) -> PyResult<Vec<Setting>> {
        self.0.settings().iter().map(|info| Setting::new(py, info)).collect()
    }

    #[getter]
    fn metrics(&self) -> Vec<Metric> {
        self.0.metrics().iter().map(Metric::new).collect()
    }

    /// One run, with defaults for what is not given.
    #[pyo3(signature = (settings = None, *, seed = 0))]
    fn run(
        &self,
        py: Python<'_>,
        settings: Option<BTreeMap<String, Bound<'_, PyAny>>>,
        seed: u64,
    ) -> PyResult<BTreeMap<&'static str, Option<f64>>> {
        let given = settings_of(settings.unwrap_or_default())?;
        let testbed = self.0;
        let outcome = py.detach(|| {
            let settings = given.complete(testbed.settings())?;
            testbed.check(&settings)?;
            testbed.run(&settings, Seed::from_number(seed))
        });
        outcome.map(|outcome| outcome.metrics).map_err(|error| setting_error(py, &error))
    }

    fn __repr__(&self) -> String {
        format!("<Testbed {}>", self.0.name())
    }
}

impl Setting {
    fn new(py: Python<'_>, info: &SettingInfo) -> PyResult<Self> {
        let default = object_of(py, &info.default())?;
        Ok(Self { name: info.name, unit: info.unit, default, wanted: info.wanted(), about: info.about })
    }
}

#[pymethods]
impl Setting {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<Setting {} = {}>", self.name, self.default.bind(py).repr()?))
    }
}

impl Metric {
    pub(crate) fn new(info: &MetricInfo) -> Self {
        Self { name: info.name, unit: info.unit, about: info.about }
    }
}

#[pymethods]
impl Metric {
    fn __repr__(&self) -> String {
        format!("<Metric {}>", self.name)
    }
}

/// A value of a plan as Python has it.
pub(crate) fn object_of(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    match value {
        Value::Bool(value) => value.into_py_any(py),
        Value::Integer(value) => value.into_py_any(py),
        Value::Float(value) => value.into_py_any(py),
        Value::Text(value) => value.into_py_any(py),
    }
}

/// Settings by their names, as Python has them.
pub(crate) fn settings_of(given: BTreeMap<String, Bound<'_, PyAny>>) -> PyResult<Settings> {
    let mut settings = Settings::new();
    for (name, value) in given {
        settings.set(&name, value_of(&value)?);
    }
    Ok(settings)
}

/// What Python has as a value of a plan. A bool is an int there: it is asked first.
fn value_of(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if object.is_instance_of::<PyBool>() {
        return Ok(Value::Bool(object.extract()?));
    }
    if object.is_instance_of::<PyInt>() {
        return Ok(Value::Integer(object.extract()?));
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(object.extract()?));
    }
    if object.is_instance_of::<PyString>() {
        return Ok(Value::Text(object.extract()?));
    }
    let got = object.get_type().name()?;
    Err(PyTypeError::new_err(format!("a setting is a bool, an int, a float or a str, not a {got}")))
}

/// A dictionary of values, in their order.
pub(crate) fn dictionary<'py, 'a>(
    py: Python<'py>,
    values: impl Iterator<Item = (&'a str, &'a Value)>,
) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    for (name, value) in values {
        dictionary.set_item(name, object_of(py, value)?)?;
    }
    Ok(dictionary)
}
