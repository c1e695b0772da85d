//! Claims of a plan, judged.

use guestright_experiment::{ClaimError, ClaimInfo, Judged, Part as Judgement, Scored};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;

/// What a paper says, as a plan has it.
#[pyclass(frozen, get_all, module = "guestright._lab")]
pub(crate) struct Claim {
    id: String,
    text: String,
    source: String,
    /// Whether nothing is published to judge by.
    is_prediction: bool,
    /// Whether it was used to choose a setting.
    is_fitted: bool,
}

/// What became of a claim.
#[pyclass(frozen, get_all, module = "guestright._lab")]
pub(crate) struct Verdict {
    id: String,
    /// `reproduces`, `does not reproduce`, `cannot be computed` or `prediction`.
    judged: &'static str,
    /// Whether ours is what the paper says.
    holds: bool,
    /// Whether a confidence interval reaches across the edge.
    unclear: bool,
    /// The share of its numbers that are outside.
    outside: f64,
    /// What would confirm it.
    wanted: String,
    reason: String,
    numbers: Vec<Number>,
}

/// One number of a claim.
#[pyclass(frozen, get_all, from_py_object, module = "guestright._lab")]
#[derive(Clone)]
pub(crate) struct Number {
    quantity: String,
    unit: String,
    case: String,
    point: String,
    ours: Option<f64>,
    published: Option<f64>,
    holds: bool,
}

impl From<ClaimInfo> for Claim {
    fn from(info: ClaimInfo) -> Self {
        let ClaimInfo { id, text, source, is_prediction, is_fitted } = info;
        Self { id, text, source, is_prediction, is_fitted }
    }
}

impl From<Scored> for Verdict {
    fn from(scored: Scored) -> Self {
        let verdict = scored.verdict;
        Self {
            id: verdict.id,
            judged: verdict.judged.words(),
            holds: verdict.judged == Judged::Reproduces,
            unclear: verdict.unclear,
            outside: scored.outside,
            wanted: verdict.wanted,
            reason: verdict.reason,
            numbers: verdict.parts.into_iter().map(Number::from).collect(),
        }
    }
}

impl From<Judgement> for Number {
    fn from(part: Judgement) -> Self {
        Self {
            quantity: part.quantity,
            unit: part.unit,
            case: part.case,
            point: part.point,
            ours: part.ours,
            published: part.published,
            holds: part.judged == Judged::Reproduces,
        }
    }
}

#[pymethods]
impl Claim {
    fn __repr__(&self) -> String {
        format!("<Claim {}: {}>", self.id, self.text)
    }
}

#[pymethods]
impl Verdict {
    fn __repr__(&self) -> String {
        format!("<Verdict {}: {}>", self.id, self.judged)
    }
}

pub(crate) fn claim_error(error: &ClaimError) -> PyErr {
    match error {
        ClaimError::Unknown { .. } => PyKeyError::new_err(error.to_string()),
        ClaimError::Compared { .. } => PyValueError::new_err(error.to_string()),
    }
}
