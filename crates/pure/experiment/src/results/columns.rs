//! Rows as typed columns, which is how tables in files and in memory have them.

use super::{Results, Row};
use crate::plan::{Plan, Run};
use crate::value::Value;
use data_encoding::HEXLOWER;

/// A column of a plan's rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: String,
    /// Its cells, from the first row to the last.
    pub cells: Cells,
}

/// The cells of a column, all of one kind; `None` is an empty one.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// True or false.
    Bool(Vec<Option<bool>>),
    /// Whole numbers.
    Integer(Vec<Option<i64>>),
    /// Whole numbers that are never negative.
    Unsigned(Vec<Option<u64>>),
    Float(Vec<Option<f64>>),
    Text(Vec<Option<String>>),
}

impl Cells {
    /// How many cells there are, empty ones included.
    pub fn len(&self) -> usize {
        match self {
            Self::Bool(cells) => cells.len(),
            Self::Integer(cells) => cells.len(),
            Self::Unsigned(cells) => cells.len(),
            Self::Float(cells) => cells.len(),
            Self::Text(cells) => cells.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Results {
    /// The columns of a plan's rows, with a cell for each run that was made, in the order of the runs.
    ///
    /// They are those of the CSV file (run, case, the axes, replication, key, the metrics, packets, events), and the seed
    /// behind the replication. An axis has the same kind whichever runs were made, so that parts of a sweep fit together.
    pub fn columns(&self, plan: &Plan) -> Vec<Column> {
        let runs = plan.runs();
        let rows: Vec<(&Run, &Row)> =
            runs.iter().filter_map(|run| Some((run, self.get(run.index)?))).collect();
        let each = |name: &str, cells: Cells| Column { name: name.to_owned(), cells };
        let text = |value: &dyn Fn(&Run) -> String| {
            Cells::Text(rows.iter().map(|(run, _)| Some(value(run))).collect())
        };
        let mut columns = vec![
            each("run", Cells::Unsigned(rows.iter().map(|(run, _)| Some(run.index as u64)).collect())),
            each("case", text(&|run| run.case.clone())),
        ];
        for (index, axis) in plan.axes().enumerate() {
            let all = runs.iter().filter_map(|run| run.point.get(index)).collect::<Vec<_>>();
            let values: Vec<Option<&Value>> = rows.iter().map(|(run, _)| run.point.get(index)).collect();
            columns.push(each(axis, typed(&all, &values)));
        }
        let replications = rows.iter().map(|(run, _)| Some(u64::from(run.replication))).collect();
        columns.push(each("replication", Cells::Unsigned(replications)));
        columns.push(each("seed", text(&|run| HEXLOWER.encode(&run.seed.0))));
        columns.push(each("key", text(&|run| plan.key(run).to_string())));
        for (index, metric) in plan.metrics().iter().enumerate() {
            let cells = rows.iter().map(|(_, row)| row.numbers.get(index).copied().flatten()).collect();
            columns.push(each(metric.name, Cells::Float(cells)));
        }
        let count = |value: &dyn Fn(&Row) -> u64| {
            Cells::Unsigned(rows.iter().map(|(_, row)| Some(value(row))).collect())
        };
        columns.push(each("simulated_packets", count(&|row| row.packets)));
        columns.push(each("simulated_events", count(&|row| row.events)));
        columns
    }
}

impl Plan {
    /// What is said of a table of its rows, by name: the plan's and the program's; no time and no computer.
    pub fn about(&self) -> [(&'static str, String); 7] {
        let units = self.metrics().iter().filter(|metric| !metric.unit.is_empty());
        let units: Vec<String> = units.map(|metric| format!("{} {}", metric.name, metric.unit)).collect();
        [
            ("guestright", env!("CARGO_PKG_VERSION").to_owned()),
            ("plan", self.name().to_owned()),
            ("title", self.title().to_owned()),
            ("testbed", self.testbed().name().to_owned()),
            ("plan_digest", self.digest()),
            ("quick", self.is_quick().to_string()),
            ("units", units.join(", ")),
        ]
    }
}

/// Values of an axis in the kind that all of the sweep have; as text if they are of several.
fn typed(all: &[&Value], values: &[Option<&Value>]) -> Cells {
    let is = |fits: fn(&Value) -> bool| all.iter().all(|value| fits(value));
    if is(|value| matches!(value, Value::Bool(_))) {
        let value = |value: &Option<&Value>| if let Some(Value::Bool(it)) = value { Some(*it) } else { None };
        return Cells::Bool(values.iter().map(value).collect());
    }
    if is(|value| matches!(value, Value::Integer(_))) {
        let value =
            |value: &Option<&Value>| if let Some(Value::Integer(it)) = value { Some(*it) } else { None };
        return Cells::Integer(values.iter().map(value).collect());
    }
    if is(|value| value.number().is_some()) {
        return Cells::Float(values.iter().map(|value| value.and_then(Value::number)).collect());
    }
    Cells::Text(values.iter().map(|value| value.map(ToString::to_string)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(all: &[Value], made: &[Value]) -> Cells {
        typed(&all.iter().collect::<Vec<_>>(), &made.iter().map(Some).collect::<Vec<_>>())
    }

    #[test]
    fn an_axis_is_a_column_of_its_kind() {
        let cells = |values: &[Value]| cells(values, values);
        assert_eq!(cells(&[true.into(), false.into()]), Cells::Bool(vec![Some(true), Some(false)]));
        assert_eq!(cells(&[1.into(), 2.into()]), Cells::Integer(vec![Some(1), Some(2)]));
        assert_eq!(cells(&[1.into(), 2.5.into()]), Cells::Float(vec![Some(1.0), Some(2.5)]));
        let words = ["none", "7"].map(|word| Some(word.to_owned()));
        assert_eq!(cells(&["none".into(), 7.into()]), Cells::Text(words.into()));
    }

    #[test]
    fn a_part_of_a_sweep_has_the_kinds_of_the_whole() {
        let all = [Value::from("none"), 7.into()];
        assert_eq!(cells(&all, &all[1..]), Cells::Text(vec![Some("7".to_owned())]));
    }
}
