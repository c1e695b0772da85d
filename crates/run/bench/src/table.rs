//! The rows of a plan as a table of typed columns.

use guestright_error::RunError;
use guestright_experiment::{Plan, Results, Row, Run, Value};
use guestright_results::{Cells, Column, Table};
use std::collections::BTreeMap;

/// The table of a plan's rows: one for each run that was made, in the order of the runs.
///
/// The columns are those of the CSV file (run, case, the axes, replication, key, the metrics, packets, events), and the
/// seed behind the replication. What is said about it is the plan's and the program's; no time and no computer.
pub fn table(plan: &Plan, results: &Results) -> Table {
    let runs = plan.runs();
    let rows: Vec<(&Run, &Row)> =
        runs.iter().filter_map(|run| Some((run, results.get(run.index)?))).collect();
    let each = |name: &str, cells: Cells| Column { name: name.to_owned(), cells };
    let text =
        |value: &dyn Fn(&Run) -> String| Cells::Text(rows.iter().map(|(run, _)| Some(value(run))).collect());
    let mut columns = vec![
        each("run", Cells::Unsigned(rows.iter().map(|(run, _)| Some(run.index as u64)).collect())),
        each("case", text(&|run| run.case.clone())),
    ];
    for (index, axis) in plan.axes().enumerate() {
        let values: Vec<Option<&Value>> = rows.iter().map(|(run, _)| run.point.get(index)).collect();
        columns.push(each(axis, typed(&values)));
    }
    let replications = rows.iter().map(|(run, _)| Some(u64::from(run.replication))).collect();
    columns.push(each("replication", Cells::Unsigned(replications)));
    columns.push(each("seed", text(&|run| hexadecimal(&run.seed.0))));
    columns.push(each("key", text(&|run| plan.key(run).to_string())));
    for (index, metric) in plan.metrics().iter().enumerate() {
        let cells = rows.iter().map(|(_, row)| row.numbers.get(index).copied().flatten()).collect();
        columns.push(each(metric.name, Cells::Float(cells)));
    }
    let count =
        |value: &dyn Fn(&Row) -> u64| Cells::Unsigned(rows.iter().map(|(_, row)| Some(value(row))).collect());
    columns.push(each("simulated_packets", count(&|row| row.packets)));
    columns.push(each("simulated_events", count(&|row| row.events)));
    Table { about: about(plan), columns }
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

fn about(plan: &Plan) -> Vec<(String, String)> {
    let units = plan.metrics().iter().filter(|metric| !metric.unit.is_empty());
    let units: Vec<String> = units.map(|metric| format!("{} {}", metric.name, metric.unit)).collect();
    [
        ("guestright", env!("CARGO_PKG_VERSION").to_owned()),
        ("plan", plan.name().to_owned()),
        ("title", plan.title().to_owned()),
        ("testbed", plan.testbed().name().to_owned()),
        ("plan_digest", plan.digest()),
        ("quick", plan.is_quick().to_string()),
        ("units", units.join(", ")),
    ]
    .map(|(key, text)| (key.to_owned(), text))
    .into()
}

/// Values of an axis in the kind that they have; as text if they are of several.
fn typed(values: &[Option<&Value>]) -> Cells {
    let is = |fits: fn(&Value) -> bool| values.iter().flatten().all(|value| fits(value));
    if is(|value| matches!(value, Value::Bool(_))) {
        return Cells::Bool(
            values
                .iter()
                .map(|value| if let Some(Value::Bool(it)) = value { Some(*it) } else { None })
                .collect(),
        );
    }
    if is(|value| matches!(value, Value::Integer(_))) {
        return Cells::Integer(
            values
                .iter()
                .map(|value| if let Some(Value::Integer(it)) = value { Some(*it) } else { None })
                .collect(),
        );
    }
    if is(|value| value.number().is_some()) {
        return Cells::Float(values.iter().map(|value| value.and_then(Value::number)).collect());
    }
    Cells::Text(values.iter().map(|value| value.map(ToString::to_string)).collect())
}

pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_is_a_column_of_its_kind() {
        let cells = |values: &[Value]| typed(&values.iter().map(Some).collect::<Vec<_>>());
        assert_eq!(cells(&[true.into(), false.into()]), Cells::Bool(vec![Some(true), Some(false)]));
        assert_eq!(cells(&[1.into(), 2.into()]), Cells::Integer(vec![Some(1), Some(2)]));
        assert_eq!(cells(&[1.into(), 2.5.into()]), Cells::Float(vec![Some(1.0), Some(2.5)]));
        let words = ["none", "7"].map(|word| Some(word.to_owned()));
        assert_eq!(cells(&["none".into(), 7.into()]), Cells::Text(words.into()));
    }
}
