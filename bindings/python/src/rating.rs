//! The E-model: how good a call is expected to be.

use guestright_quality::{Band, Codec, Inputs, Rating as Rated, rate};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// A rating with the parts that it is made of, under the names of ITU-T G.107.
#[pyclass(frozen, module = "guestright._lab")]
pub(crate) struct Rating(Rated);

#[pymethods]
impl Rating {
    #[getter]
    fn r(&self) -> f64 {
        self.0.r
    }

    #[getter]
    fn mos(&self) -> f64 {
        self.0.mos
    }

    #[getter]
    fn ro(&self) -> f64 {
        self.0.ro
    }

    #[getter(is_)]
    fn simultaneous(&self) -> f64 {
        self.0.simultaneous.sum
    }

    #[getter(id_)]
    fn delay(&self) -> f64 {
        self.0.delay.sum
    }

    #[getter]
    fn ie_eff(&self) -> f64 {
        self.0.ie_eff
    }

    /// How users would like it, in words (ITU-T G.109).
    #[getter]
    fn satisfaction(&self) -> &'static str {
        self.0.satisfaction().words()
    }

    /// Inputs outside the ranges that the standard permits, each with a sentence.
    #[getter]
    fn outside(&self) -> Vec<String> {
        self.0.outside.iter().map(ToString::to_string).collect()
    }

    fn __repr__(&self) -> String {
        format!("Rating(r={:.1}, mos={:.2})", self.0.r, self.0.mos)
    }
}

/// Rates a connection. What is not given has the standard's default; `inputs` are the others of its Table 3, by our names.
#[pyfunction]
#[pyo3(signature = (codec = None, *, delay_ms = 0.0, loss = 0.0, burst_ratio = 1.0, **inputs))]
pub(crate) fn emodel(
    codec: Option<&str>,
    delay_ms: f64,
    loss: f64,
    burst_ratio: f64,
    inputs: Option<BTreeMap<String, f64>>,
) -> PyResult<Rating> {
    let mut all = Inputs {
        ta_ms: delay_ms,
        t_ms: delay_ms,
        ppl_percent: loss * 100.0,
        burst_r: burst_ratio,
        ..Inputs::default()
    };
    // The echo's way back is as long as the way there.
    all.tr_ms = 2.0 * delay_ms;
    if let Some(codec) = codec {
        (all.ie, all.bpl) = impairment(codec, loss)?;
    }
    for (name, value) in inputs.unwrap_or_default() {
        let input = input_of(&mut all, &name).ok_or_else(|| {
            PyTypeError::new_err(format!(
                "emodel() has no input `{name}`; those of G.107 are in its documentation"
            ))
        })?;
        *input = value;
    }
    rate(all).map(Rating).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The names of all codecs, and whether the E-model's figures for each are published.
#[pyfunction]
pub(crate) fn codecs() -> BTreeMap<&'static str, bool> {
    let facts = Codec::ALL.iter().map(|codec| codec.facts());
    facts.map(|facts| (facts.name, facts.ie.is_some() && facts.band == Band::Narrow)).collect()
}

/// A codec's Ie and Bpl.
fn impairment(codec: &str, loss: f64) -> PyResult<(f64, f64)> {
    let codec: Codec = codec.parse().map_err(|error| PyValueError::new_err(format!("{error}")))?;
    let facts = codec.facts();
    if facts.band != Band::Narrow {
        let name = facts.name;
        return Err(PyValueError::new_err(format!(
            "{name} is a wideband codec, whose figures are on another scale (G.107.1)"
        )));
    }
    let published = |figure: Option<guestright_quality::Cited>, what: &str| {
        let missing = || {
            PyValueError::new_err(format!("no {what} of {} is published; give it as an input", facts.name))
        };
        figure.map(|figure| figure.value).ok_or_else(missing)
    };
    let ie = published(facts.ie, "Ie")?;
    // Without loss it has no effect.
    let bpl = if loss == 0.0 {
        facts.bpl.map_or(Inputs::default().bpl, |bpl| bpl.value)
    } else {
        published(facts.bpl, "Bpl")?
    };
    Ok((ie, bpl))
}

fn input_of<'a>(inputs: &'a mut Inputs, name: &str) -> Option<&'a mut f64> {
    Some(match name {
        "slr_db" => &mut inputs.slr_db,
        "rlr_db" => &mut inputs.rlr_db,
        "stmr_db" => &mut inputs.stmr_db,
        "ds_db" => &mut inputs.ds_db,
        "dr_db" => &mut inputs.dr_db,
        "telr_db" => &mut inputs.telr_db,
        "wepl_db" => &mut inputs.wepl_db,
        "t_ms" => &mut inputs.t_ms,
        "tr_ms" => &mut inputs.tr_ms,
        "ta_ms" => &mut inputs.ta_ms,
        "st" => &mut inputs.st,
        "mt_ms" => &mut inputs.mt_ms,
        "qdu" => &mut inputs.qdu,
        "ie" => &mut inputs.ie,
        "bpl" => &mut inputs.bpl,
        "nc_dbm0p" => &mut inputs.nc_dbm0p,
        "nfor_dbmp" => &mut inputs.nfor_dbmp,
        "ps_dba" => &mut inputs.ps_dba,
        "pr_dba" => &mut inputs.pr_dba,
        "a" => &mut inputs.a,
        _ => return None,
    })
}
