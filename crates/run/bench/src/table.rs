//! The rows of a plan as a table of typed columns.

use guestright_error::RunError;
use guestright_experiment::{Cells, Plan, Results, Row};
use guestright_results::Table;
use std::collections::BTreeMap;

/// The table of a plan's rows ([`Results::columns`]), with what is said of them ([`Plan::about`]).
pub fn table(plan: &Plan, results: &Results) -> Table {
    let about = plan.about().map(|(key, text)| (key.to_owned(), text)).into();
    Table { about, columns: results.columns(plan) }
}

/// The rows of a plan that a table has: those of its runs, by their keys.
///
/// # Errors
/// A column is not there, or holds something else.
pub fn results(plan: &Plan, table: &Table) -> Result<Results, RunError> {
    let column = |name: &str| {
        table.cells(name).ok_or_else(|| RunError::config(format!("there is no column `{name}`")))
    };
    let Cells::Text(keys) = column("key")? else {
        return Err(RunError::config("the column `key` is no text"));
    };
    let rows: BTreeMap<&str, usize> =
        keys.iter().enumerate().filter_map(|(row, key)| Some((key.as_deref()?, row))).collect();
    let metrics = plan.metrics().iter().map(|metric| match column(metric.name)? {
        Cells::Float(cells) => Ok(cells.as_slice()),
        Cells::Bool(_) | Cells::Integer(_) | Cells::Unsigned(_) | Cells::Text(_) => {
            Err(RunError::config(format!("the column `{}` has no numbers", metric.name)))
        }
    });
    let metrics: Vec<&[Option<f64>]> = metrics.collect::<Result<_, _>>()?;
    let count = |name: &str| match column(name)? {
        Cells::Unsigned(cells) => Ok(cells.as_slice()),
        Cells::Bool(_) | Cells::Integer(_) | Cells::Float(_) | Cells::Text(_) => {
            Err(RunError::config(format!("the column `{name}` counts nothing")))
        }
    };
    let (packets, events) = (count("simulated_packets")?, count("simulated_events")?);
    let mut results = Results::new(plan);
    for run in plan.runs() {
        if let Some(row) = rows.get(plan.key(&run).to_string().as_str()) {
            let numbers = metrics.iter().map(|cells| cells[*row]).collect();
            let (packets, events) = (packets[*row].unwrap_or(0), events[*row].unwrap_or(0));
            let row = Row { numbers, packets, events };
            results.insert(run.index, row).map_err(RunError::config)?;
        }
    }
    Ok(results)
}

pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
