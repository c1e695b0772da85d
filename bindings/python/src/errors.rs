//! Our errors as Python's exceptions.

use guestright_experiment as experiment;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(guestright._lab, PlanError, PyValueError, "A plan has mistakes, or cannot be run here.");
create_exception!(guestright._lab, SettingError, PyValueError, "A testbed refuses a setting.");
create_exception!(
    guestright._lab,
    RefusedError,
    PyValueError,
    "Something signed is refused; `kind` says how."
);

/// What to do about a mistake.
const MISTAKE_HINT: &str = "hint: mend the lines above; guestright.testbeds() has every setting and metric, and \
    docs/adding-an-experiment.md how plans are written. Testbeds that measure a computer itself (`cost`) are those of \
    the program `guestright-lab` alone";

/// Why a plan is refused: the text as the program has it, and `mistakes` as (line, column, problem) for programs.
pub(crate) fn plan_error(py: Python<'_>, error: &experiment::PlanError, name: &str, text: &str) -> PyErr {
    let raised = PlanError::new_err(format!("{}\n{MISTAKE_HINT}", error.pointed(name, text)));
    let mistakes: Vec<(usize, usize, String)> = error
        .mistakes
        .iter()
        .map(|mistake| (mistake.line, mistake.column, mistake.problem.to_string()))
        .collect();
    with_attribute(py, raised, "mistakes", mistakes)
}

pub(crate) fn setting_error(py: Python<'_>, error: &experiment::SettingError) -> PyErr {
    with_attribute(py, SettingError::new_err(error.to_string()), "setting", error.setting())
}

/// A refusal under the short name that the program counts it by.
pub(crate) fn refused(py: Python<'_>, error: &impl std::fmt::Display, kind: &str) -> PyErr {
    with_attribute(py, RefusedError::new_err(error.to_string()), "kind", kind)
}

fn with_attribute<'py>(py: Python<'py>, error: PyErr, name: &str, value: impl IntoPyObject<'py>) -> PyErr {
    match error.value(py).setattr(name, value) {
        Ok(()) => error,
        Err(other) => other,
    }
}
