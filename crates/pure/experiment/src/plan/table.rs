//! What is printed in rows and columns.

use super::error::Problem;
use super::figure::with_unit;
use super::grid::flatten;
use super::read::{At, Table};
use super::scope::{Coordinates, Quantity, Scope};
use crate::value::Value;
use std::collections::BTreeMap;
use toml::de::DeValue;

const TABLES_MAX: usize = 60;
const COLUMNS_MAX: usize = 40;

/// What rows, columns or points are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dimension {
    Case,
    Axis(usize),
}

impl Dimension {
    pub(super) fn find(name: &At<String>, scope: &Scope<'_>) -> Option<Self> {
        let axes = scope.axes().iter().map(|axis| axis.info.name);
        match scope.reader.find("axis", name, ["case"].into_iter().chain(axes))? {
            0 => Some(Self::Case),
            index => Some(Self::Axis(index - 1)),
        }
    }

    pub(super) fn label(self, scope: &Scope<'_>) -> String {
        match self {
            Self::Case => String::new(),
            Self::Axis(axis) => {
                let info = scope.axes()[axis].info;
                with_unit(info.name, info.unit)
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableLayout {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) rows: Vec<Dimension>,
    pub(crate) columns_by: Option<Dimension>,
    pub(crate) cases: Vec<usize>,
    pub(crate) at: Coordinates,
    pub(crate) columns: Vec<Column>,
    pub(crate) note: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    pub(crate) title: String,
    pub(crate) what: What,
    pub(crate) show: Show,
    pub(crate) decimals: Option<usize>,
    pub(crate) at: Coordinates,
    pub(crate) case: Option<usize>,
    /// Settings with the values that they need to have for the column to mean something in a row.
    pub(crate) when: Vec<(String, Vec<Value>)>,
    /// By the names of the rows.
    pub(crate) published: BTreeMap<String, f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    Of(Quantity),
    Setting(String),
}

/// What a cell says beside its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Show {
    Value,
    Interval,
    Spread,
}

pub(super) fn read(head: &mut Table<'_>, scope: &Scope<'_>) -> Vec<TableLayout> {
    let mut tables = Vec::new();
    let mut ids: Vec<At<String>> = Vec::new();
    for mut table in head.tables("table", ("tables", TABLES_MAX)) {
        let id = table.want_name("id");
        let layout = read_one(&mut table, id.as_ref(), scope);
        table.close();
        let Some(id) = id else { continue };
        scope.reader.is_new("table", &mut ids, id);
        tables.extend(layout);
    }
    tables
}

fn read_one(table: &mut Table<'_>, id: Option<&At<String>>, scope: &Scope<'_>) -> Option<TableLayout> {
    let title = table.want_text("title", 200);
    if table.node("rows").is_none() {
        table.missing("rows", "\"case\", an axis, or a list of them");
    }
    let names = table.names("rows", 5).unwrap_or_default();
    let rows: Option<Vec<Dimension>> = names.iter().map(|name| Dimension::find(name, scope)).collect();
    let by = table.text("columns", 100);
    let columns_by = by.as_ref().and_then(|name| Dimension::find(name, scope));
    let cases = scope.read_cases(table);
    let at = scope.read_at(table);
    let note = table.text("note", 4_000).map(|note| note.value).unwrap_or_default();
    let (Some(rows), Some(at)) = (rows.filter(|rows| !rows.is_empty()), at) else {
        table.node("column");
        return None;
    };
    let mut layout = TableLayout {
        id: String::new(),
        title: String::new(),
        rows,
        columns_by,
        cases: cases.unwrap_or_else(|| (0..scope.cases().len()).collect()),
        at,
        columns: Vec::new(),
        note,
    };
    for case in &layout.cases {
        scope.check_point(*case, &layout.at, table.at);
    }
    for mut column in table.tables("column", ("columns", COLUMNS_MAX)) {
        let read = read_column(&mut column, &layout, scope);
        column.close();
        layout.columns.extend(read);
    }
    if layout.columns.is_empty() && scope.reader.is_well() {
        table.missing("column", "at least one [[table.column]]");
    }
    Some(TableLayout { id: id?.value.clone(), title: title?.value, ..layout })
}

fn read_column(table: &mut Table<'_>, layout: &TableLayout, scope: &Scope<'_>) -> Option<Column> {
    let title = table.text("title", 200).map(|title| title.value);
    let of = table.text("of", 100);
    let setting = table.text("setting", 100);
    let shows = [Show::Value, Show::Interval, Show::Spread];
    let show = table.choice("show", &["value", "interval", "spread"]);
    let decimals = table.whole("decimals", (0, 9));
    let at = scope.read_at(table).unwrap_or_else(|| layout.at.clone());
    let case = table.text("case", 100);
    let case = case.and_then(|name| scope.case(&name));
    let when = read_when(table, scope);
    let published = read_published(table, layout, scope);
    let (what, usual) = match (of, setting) {
        (Some(name), None) => {
            if !when.is_empty() {
                scope.reader.unfit(
                    name.at,
                    "`when` goes with `setting`; a number says itself where it does not exist",
                );
                return None;
            }
            let of = scope.quantity(&name)?;
            let fixed = |axis: usize| {
                let by = Dimension::Axis(axis);
                layout.rows.contains(&by)
                    || layout.columns_by == Some(by)
                    || at[axis].is_some()
                    || layout.at[axis].is_some()
            };
            scope.check_closed(of, fixed, name.at);
            let by_case =
                layout.rows.contains(&Dimension::Case) || layout.columns_by == Some(Dimension::Case);
            if !by_case && case.is_none() && layout.cases.len() != 1 {
                scope.reader.unfit(name.at, "it has a value for every case; say which with `case`");
            }
            (What::Of(of), name.value)
        }
        (None, Some(name)) => {
            let names = scope.testbed.settings().iter().map(|info| info.name);
            scope.reader.find("setting", &name, names)?;
            (What::Setting(name.value.clone()), name.value)
        }
        (Some(_), Some(name)) => {
            scope.reader.unfit(name.at, "`of` and `setting` are both there; leave one of them out");
            return None;
        }
        (None, None) => {
            table.missing("of", "a metric or a measure (or `setting`, a setting)");
            return None;
        }
    };
    Some(Column {
        title: title.unwrap_or(usual),
        what,
        show: show.map_or(Show::Value, |show| shows[show.value]),
        decimals: decimals.and_then(|decimals| usize::try_from(decimals.value).ok()),
        at,
        case,
        when,
        published,
    })
}

/// Settings with the values that they need to have: one, or a list.
fn read_when(table: &mut Table<'_>, scope: &Scope<'_>) -> Vec<(String, Vec<Value>)> {
    let Some(below) = table.table("when") else { return Vec::new() };
    let mut leaves = Vec::new();
    flatten(&below, "", &mut leaves);
    let mut when = Vec::new();
    for (name, node) in leaves {
        let infos = scope.testbed.settings();
        let Some(index) = scope.reader.find("setting", &name, infos.iter().map(|info| info.name)) else {
            continue;
        };
        let values = if matches!(node.get_ref(), DeValue::Array(_)) {
            let most = super::Plan::VALUES_MAX;
            scope.reader.list("when", node, ("values", most), |node| scope.reader.value("when", node))
        } else {
            scope.reader.value("when", node).map(|value| vec![value])
        };
        let accept = |value: At<Value>| match infos[index].accept(&value.value) {
            Ok(accepted) => Some(accepted),
            Err(error) => {
                scope.reader.mistake(value.at, Problem::Setting(error));
                None
            }
        };
        let values = values.unwrap_or_default().into_iter().filter_map(accept).collect();
        when.push((name.value, values));
    }
    when
}

/// A table from names of rows to numbers, or a list of pairs.
fn read_published(table: &mut Table<'_>, layout: &TableLayout, scope: &Scope<'_>) -> BTreeMap<String, f64> {
    let mut published = BTreeMap::new();
    let Some(node) = table.node("published") else { return published };
    let at = node.span().start;
    if layout.columns_by.is_some() {
        scope
            .reader
            .unfit(at, "a table with `columns` has several numbers in a row; published ones go into a claim");
        return published;
    }
    let mut pairs: Vec<(At<String>, f64)> = Vec::new();
    if let DeValue::Table(_) = node.get_ref() {
        let Some(below) = table.table("published") else { return published };
        for (name, node) in below.entries() {
            pairs.extend(scope.reader.number(&name.value, node).map(|number| (name, number.value)));
        }
    } else {
        let read = scope.reader.list("published", node, ("pairs", super::Plan::VALUES_MAX), |node| {
            let at = node.span().start;
            let pair = scope
                .reader
                .list("published", node, ("two values", 2), |node| scope.reader.value("published", node))?;
            let number = pair.get(1).and_then(|value| value.value.number());
            if let ([name, _], Some(number)) = (pair.as_slice(), number) {
                return Some((At { value: name.value.to_string(), at: name.at }, number));
            }
            scope.reader.unfit(at, "a published number is a pair [row, number]");
            None
        });
        pairs.extend(read.unwrap_or_default());
    }
    let names = row_names(layout, scope);
    for (name, number) in pairs {
        if !names.contains(&name.value) {
            let meant =
                crate::near::nearest(&name.value, names.iter().map(String::as_str)).map(str::to_owned);
            scope.reader.mistake(name.at, Problem::UnknownName { what: "row", name: name.value, meant });
            continue;
        }
        published.insert(name.value, number);
    }
    published
}

/// The names of the rows, in full and quickly.
fn row_names(layout: &TableLayout, scope: &Scope<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for grid in [&scope.grids.full, &scope.grids.quick] {
        for case in &layout.cases {
            let mut rows = vec![Vec::new()];
            for dimension in &layout.rows {
                let labels: Vec<String> = match dimension {
                    Dimension::Case => vec![grid.cases[*case].name.clone()],
                    Dimension::Axis(axis) => {
                        grid.cases[*case].values[*axis].iter().map(Value::to_string).collect()
                    }
                };
                let longer = |row: &Vec<String>| {
                    labels.iter().map(|label| [row.clone(), vec![label.clone()]].concat()).collect::<Vec<_>>()
                };
                rows = rows.iter().flat_map(longer).take(super::Plan::VALUES_MAX).collect();
            }
            names.extend(rows.into_iter().map(|row| row.join(" / ")));
        }
    }
    names
}
