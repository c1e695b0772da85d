//! The cells of a table.

use super::sample::Curves;
use crate::plan::{Column, Coordinates, Dimension, Quantity, Show, TableLayout, What};
use crate::statistics::{Bound, Estimate};
use crate::value::Value;
use guestright_figure::short;
use serde::{Deserialize, Serialize};

/// A table with everything filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableNumbers {
    /// Its id; fit to name a file.
    pub id: String,
    pub title: String,
    /// The names of its columns.
    pub head: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
    /// A word about it.
    pub note: String,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// How sure it is, or how it is spread; empty if nothing is said.
    pub spread: String,
    /// The number, if it is one.
    pub number: Option<f64>,
    /// Whether the number is published rather than ours.
    pub published: bool,
    /// What the seeds say, if the number is made of theirs; its curve is the number that is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
}

impl Cell {
    /// Whether it names its row, or a setting, rather than a number.
    pub(crate) const fn is_label(&self) -> bool {
        self.number.is_none() && self.estimate.is_none() && !self.published
    }
}

/// What a row or a column stands for.
#[derive(Clone, Debug, PartialEq)]
struct Header {
    case: Option<usize>,
    at: Coordinates,
    labels: Vec<String>,
}

pub(super) fn numbers(curves: &Curves<'_>, table: &TableLayout) -> TableNumbers {
    let empty = Header { case: None, at: table.at.clone(), labels: Vec::new() };
    let rows = all_headers(curves, table, &table.rows, &empty);
    let by: Vec<Header> = match table.columns_by {
        Some(dimension) => all_headers(curves, table, &[dimension], &empty),
        None => vec![empty],
    };
    let mut head: Vec<String> = table.rows.iter().map(|dimension| title(curves, *dimension)).collect();
    for column in &table.columns {
        let repeated = matches!(column.what, What::Of(_));
        for header in by.iter().take(if repeated { by.len() } else { 1 }) {
            let named = repeated && table.columns_by.is_some();
            head.push(match (named, table.columns.len()) {
                (true, 1) => header.labels.join(", "),
                (true, _) => format!("{}, {}", column.title, header.labels.join(", ")),
                (false, _) => column.title.clone(),
            });
        }
        if !column.published.is_empty() {
            head.push(format!("{}, published", column.title));
        }
    }
    let row = |header: &Header| {
        let mut cells: Vec<Cell> =
            header.labels.iter().map(|label| Cell { text: label.clone(), ..Cell::default() }).collect();
        for column in &table.columns {
            cells.extend(cells_of(curves, table, column, header, &by));
        }
        cells
    };
    TableNumbers {
        id: table.id.clone(),
        title: table.title.clone(),
        head,
        rows: rows.iter().map(row).collect(),
        note: table.note.clone(),
    }
}

fn title(curves: &Curves<'_>, dimension: Dimension) -> String {
    match dimension {
        Dimension::Case => "Case".to_owned(),
        Dimension::Axis(axis) => {
            let info = curves.plan.axes[axis].info;
            if info.unit.is_empty() { info.name.to_owned() } else { format!("{} ({})", info.name, info.unit) }
        }
    }
}

/// Every combination of the dimensions, in the order of the plan.
fn all_headers(
    curves: &Curves<'_>,
    table: &TableLayout,
    dimensions: &[Dimension],
    empty: &Header,
) -> Vec<Header> {
    let cases = &curves.plan.grid.cases;
    let mut headers = vec![empty.clone()];
    for dimension in dimensions {
        let mut longer = Vec::new();
        for header in &headers {
            match dimension {
                Dimension::Case => {
                    for case in &table.cases {
                        let mut labels = header.labels.clone();
                        labels.push(cases[*case].title.clone());
                        longer.push(Header { case: Some(*case), labels, ..header.clone() });
                    }
                }
                Dimension::Axis(axis) => {
                    for value in axis_values(curves, table, header.case, *axis) {
                        let (mut labels, mut at) = (header.labels.clone(), header.at.clone());
                        labels.push(value.to_string());
                        at[*axis] = Some(value);
                        longer.push(Header { case: header.case, at, labels });
                    }
                }
            }
        }
        headers = longer;
    }
    headers
}

/// The values that an axis has in a case, or in any case of the table.
fn axis_values(curves: &Curves<'_>, table: &TableLayout, case: Option<usize>, axis: usize) -> Vec<Value> {
    let cases = case.map_or_else(|| table.cases.clone(), |case| vec![case]);
    let mut values: Vec<Value> = Vec::new();
    for case in cases {
        for value in &curves.plan.grid.cases[case].values[axis] {
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
    }
    if values.iter().all(|value| value.number().is_some()) {
        let number = |value: &Value| value.number().unwrap_or(0.0);
        values.sort_by(|a, b| number(a).total_cmp(&number(b)));
    }
    values
}

fn cells_of(
    curves: &Curves<'_>,
    table: &TableLayout,
    column: &Column,
    row: &Header,
    by: &[Header],
) -> Vec<Cell> {
    let only = (table.cases.len() == 1).then(|| table.cases[0]);
    let mut cells = Vec::new();
    match &column.what {
        What::Setting(name) => {
            let case = row.case.or(column.case).or(only);
            let cell = setting(curves, name, case, row);
            cells.push(if is_meant(curves, column, case, row) { cell } else { nothing() });
        }
        What::Of(of) => {
            for header in by {
                let case = column.case.or(row.case).or(header.case).or(only);
                let fixed = row.at.iter().zip(&header.at).zip(&column.at);
                let at: Coordinates = fixed
                    .map(|((row, outer), own)| own.clone().or_else(|| row.clone()).or_else(|| outer.clone()))
                    .collect();
                cells.push(case.map_or_else(Cell::default, |case| number(curves, column, *of, case, at)));
            }
        }
    }
    if !column.published.is_empty() {
        let key = row_key(curves, table, row);
        let published = column.published.get(&key).copied();
        let text = published.map(|number| format_number(number, column.decimals)).unwrap_or_default();
        cells.push(Cell { text, number: published, published: true, ..Cell::default() });
    }
    cells
}

/// A row's name in the plan: the case's name and the values of the axes.
fn row_key(curves: &Curves<'_>, table: &TableLayout, row: &Header) -> String {
    let part = |(dimension, label): (&Dimension, &String)| match (dimension, row.case) {
        (Dimension::Case, Some(case)) => curves.plan.grid.cases[case].name.clone(),
        _ => label.clone(),
    };
    table.rows.iter().zip(&row.labels).map(part).collect::<Vec<_>>().join(" / ")
}

/// What a cell says where its column means nothing.
fn nothing() -> Cell {
    Cell { text: "–".to_owned(), ..Cell::default() }
}

/// Whether the settings that the column depends on have the values that it asks for.
fn is_meant(curves: &Curves<'_>, column: &Column, case: Option<usize>, row: &Header) -> bool {
    column.when.iter().all(|(name, wanted)| {
        let value = value_of(curves, name, case, row);
        value.is_none_or(|value| wanted.contains(&value))
    })
}

fn setting(curves: &Curves<'_>, name: &str, case: Option<usize>, row: &Header) -> Cell {
    let value = value_of(curves, name, case, row);
    let number = value.as_ref().and_then(Value::number);
    Cell { text: value.map(|value| value.to_string()).unwrap_or_default(), number, ..Cell::default() }
}

/// A setting's value in a row, if it has one there.
fn value_of(curves: &Curves<'_>, name: &str, case: Option<usize>, row: &Header) -> Option<Value> {
    let plan = curves.plan;
    let axis = plan.axes.iter().position(|axis| axis.info.name == name);
    let swept = axis.and_then(|axis| row.at[axis].clone());
    let set = case.and_then(|case| plan.grid.cases[case].settings.get(name).cloned());
    let usual = || plan.testbed.settings().iter().find(|info| info.name == name).map(|info| info.default());
    swept.or(set).or_else(|| usual().filter(|_| case.is_some() && axis.is_none()))
}

fn number(curves: &Curves<'_>, column: &Column, of: Quantity, case: usize, mut at: Coordinates) -> Cell {
    if !curves.has_case(of, case) {
        return nothing();
    }
    for (value, has) in at.iter_mut().zip(curves.dimensions(of)) {
        if !has {
            *value = None;
        }
    }
    let estimate = curves.estimate(of, case, &at);
    let is_axis_position = curves.is_axis_position(of);
    let (number, beyond) = if is_axis_position {
        (estimate.curve, estimate.curve_beyond)
    } else {
        (estimate.mean, estimate.beyond > 0)
    };
    let Some(value) = number.filter(|_| estimate.missing == 0) else {
        let why = if estimate.missing > 0 {
            format!("{} runs missing", estimate.missing)
        } else {
            estimate.why.clone().unwrap_or_default()
        };
        let text = "–".to_owned();
        return Cell { text, spread: why, estimate: Some(estimate), ..Cell::default() };
    };
    let sign = match if is_axis_position { estimate.curve_bound } else { estimate.bound } {
        Some(Bound::AtLeast) if beyond => "≥ ",
        Some(Bound::AtMost) if beyond => "≤ ",
        _ => "",
    };
    let text = format!("{sign}{}", format_number(value, column.decimals));
    let bound = if beyond { "a bound: the sweep ends here".to_owned() } else { String::new() };
    let next = estimate.fails_at.filter(|_| is_axis_position).map(|next| format!("{} fails", short(next)));
    let notes = [spread(&estimate, column), bound, next.unwrap_or_default()];
    let spread = notes.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join("; ");
    Cell { text, spread, number, published: false, estimate: Some(estimate) }
}

fn spread(estimate: &Estimate, column: &Column) -> String {
    let formatted = |number| format_number(number, column.decimals);
    match column.show {
        Show::Value => String::new(),
        Show::Interval => estimate
            .interval
            .map(|(low, high)| format!("{} … {}", formatted(low), formatted(high)))
            .unwrap_or_default(),
        Show::Spread => {
            let Some((least, most)) = estimate.range else { return String::new() };
            let mode = estimate.mode.map(|mode| format!(", mostly {}", formatted(mode))).unwrap_or_default();
            let mean = estimate.mean.map(|mean| format!(", mean {}", short(mean))).unwrap_or_default();
            let count = estimate.count();
            if count == 1 {
                return "1 seed".to_owned();
            }
            if least.to_bits() == most.to_bits() {
                return format!("in all {count} seeds");
            }
            format!("{} … {} in {count} seeds{mode}{mean}", formatted(least), formatted(most))
        }
    }
}

fn format_number(number: f64, decimals: Option<usize>) -> String {
    match decimals {
        Some(decimals) => format!("{number:.decimals$}"),
        None => short(number),
    }
}

impl TableNumbers {
    /// Its numbers as comma-separated values.
    pub fn csv(&self) -> String {
        let mut text = crate::results::csv_line(self.head.iter().cloned());
        for row in &self.rows {
            // Full digits where there is a number; a bound is none.
            let cell = |cell: &Cell| {
                let number = cell.number.filter(|_| !cell.text.starts_with(['≤', '≥']));
                number.map_or_else(|| cell.text.clone(), |number| format!("{number:?}"))
            };
            text.push_str(&crate::results::csv_line(row.iter().map(cell)));
        }
        text
    }
}
