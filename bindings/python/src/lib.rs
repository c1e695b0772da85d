//! The lab for Python: types are converted here, and nothing is decided.
//!
//! In: texts of plans, settings, numbers, bytes and times of Python's. Out: tables by Arrow's C data interface
//! (`table`), ratings, receipts, and the machines of `pure` and `sim` as objects that are given the time. What a user
//! sees of it is in `python/guestright`, with its types in `_lab.pyi`.
//!
//! - Python's lock is released while runs are made (`sweep`), and Ctrl-C is looked for meanwhile.
//! - There is no state but that of objects: any number of plans, sweeps and machines go on beside each other.

mod claims;
mod errors;
mod machines;
mod picture;
mod plan;
mod rating;
mod receipts;
mod roaming;
mod sweep;
mod table;
mod testbed;

use pyo3::prelude::*;

#[pymodule]
fn _lab(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("PlanError", py.get_type::<errors::PlanError>())?;
    module.add("SettingError", py.get_type::<errors::SettingError>())?;
    module.add("RefusedError", py.get_type::<errors::RefusedError>())?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<claims::Claim>()?;
    module.add_class::<claims::Verdict>()?;
    module.add_class::<claims::Number>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<table::Evaluation>()?;
    module.add_class::<testbed::Testbed>()?;
    module.add_class::<testbed::Setting>()?;
    module.add_class::<testbed::Metric>()?;
    module.add_class::<rating::Rating>()?;
    module.add_class::<receipts::Key>()?;
    module.add_class::<receipts::Certificate>()?;
    module.add_class::<receipts::Receipt>()?;
    module.add_class::<machines::Controller>()?;
    module.add_class::<machines::Link>()?;
    module.add_class::<roaming::Home>()?;
    module.add_class::<roaming::AccessPoint>()?;
    module.add_class::<roaming::Visitor>()?;
    module.add_function(wrap_pyfunction!(picture::bars, module)?)?;
    module.add_function(wrap_pyfunction!(picture::heat_map, module)?)?;
    module.add_function(wrap_pyfunction!(plan::built_in, module)?)?;
    module.add_function(wrap_pyfunction!(testbed::testbeds, module)?)?;
    module.add_function(wrap_pyfunction!(rating::emodel, module)?)?;
    module.add_function(wrap_pyfunction!(rating::codecs, module)?)?;
    module.add_function(wrap_pyfunction!(receipts::verify_receipt, module)?)?;
    Ok(())
}
