//! What is drawn.

use super::read::{At, Table};
use super::scope::{Coordinates, Quantity, Scope};
use super::table::Dimension;
use guestright_figure::Chart;
use toml::de::DeValue;

const FIGURES_MAX: usize = 60;
const PUBLISHED_MAX: usize = 8;
const POINTS_MAX: usize = 2_000;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) x: Dimension,
    /// What is drawn to the right in place of the axis itself: each curve is that of its points.
    pub(crate) x_of: Option<Quantity>,
    pub(crate) y: Vec<Quantity>,
    pub(crate) cases: Vec<usize>,
    pub(crate) at: Coordinates,
    pub(crate) x_label: String,
    pub(crate) y_label: String,
    pub(crate) x_log: bool,
    pub(crate) y_log: bool,
    pub(crate) x_range: (Option<f64>, Option<f64>),
    pub(crate) y_range: (Option<f64>, Option<f64>),
    pub(crate) band: Shown,
    pub(crate) thresholds: Vec<Limit>,
    pub(crate) published: Vec<Published>,
    pub(crate) note: String,
}

/// What is drawn around a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    Interval,
    Range,
    Nothing,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Limit {
    pub(crate) name: String,
    pub(crate) y: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Published {
    pub(crate) name: String,
    pub(crate) case: Option<usize>,
    pub(crate) points: Vec<Vec<f64>>,
    pub(crate) line: bool,
}

pub(super) fn read(head: &mut Table<'_>, scope: &Scope<'_>) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut ids: Vec<At<String>> = Vec::new();
    for mut table in head.tables("figure", ("figures", FIGURES_MAX)) {
        let id = table.want_name("id");
        let figure = read_one(&mut table, id.as_ref(), scope);
        table.close();
        let Some(id) = id else { continue };
        scope.reader.is_new("figure", &mut ids, id);
        figures.extend(figure);
    }
    figures
}

fn read_one(table: &mut Table<'_>, id: Option<&At<String>>, scope: &Scope<'_>) -> Option<Figure> {
    let title = table.want_text("title", 200);
    let x_name = table.want_text("x", 100);
    let x = x_name.as_ref().and_then(|name| Dimension::find(name, scope));
    let x_of_name = table.text("x_of", 100);
    let x_of = x_of_name.as_ref().and_then(|name| scope.quantity(name));
    if table.node("y").is_none() {
        table.missing("y", "a metric, a measure, or a list of them");
    }
    let y_names = table.names("y", Chart::SERIES_MAX);
    let y: Option<Vec<Quantity>> =
        y_names.as_ref().and_then(|names| names.iter().map(|name| scope.quantity(name)).collect());
    let cases = scope.read_cases(table);
    let at = scope.read_at(table);
    let x_label = table.text("x_label", 200);
    let y_label = table.text("y_label", 200);
    let scales = ["linear", "log"];
    let x_log = table.choice("x_scale", &scales).is_some_and(|scale| scale.value == 1);
    let y_log = table.choice("y_scale", &scales).is_some_and(|scale| scale.value == 1);
    let x_range = read_range(table, ("x_from", "x_to"), x_log);
    let y_range = read_range(table, ("y_from", "y_to"), y_log);
    let bands = [Shown::Interval, Shown::Range, Shown::Nothing];
    let band = table.choice("band", &["interval", "range", "none"]);
    let thresholds = read_thresholds(table);
    let published = read_published(table, scope);
    let note = table.text("note", 4_000).map(|note| note.value).unwrap_or_default();
    let (x_name, y_names, x, y, at) = (x_name?, y_names?, x?, y?, at?);
    if y.is_empty() {
        scope.reader.unfit(table.at, "`y` is an empty list; name what is drawn");
        return None;
    }
    let figure = Figure {
        id: id?.value.clone(),
        title: title?.value,
        x_label: x_label.map_or_else(
            || x_of.map_or_else(|| x.label(scope), |of| label_of(of, scope)),
            |label| label.value,
        ),
        y_label: y_label.map_or_else(|| label_of(y[0], scope), |label| label.value),
        cases: cases.unwrap_or_else(|| {
            (0..scope.cases().len()).filter(|case| y.iter().all(|y| scope.has_case(*y, *case))).collect()
        }),
        x,
        x_of,
        y,
        at,
        x_log,
        y_log,
        x_range,
        y_range,
        band: band.map_or(Shown::Interval, |band| bands[band.value]),
        thresholds,
        published,
        note,
    };
    let is_curve = check_x_of(&figure, x_of_name.as_ref(), scope);
    (is_curve && check(&figure, &x_name, &y_names, scope)).then_some(figure)
}

/// What is drawn to the right has a value at every point that is drawn.
fn check_x_of(figure: &Figure, name: Option<&At<String>>, scope: &Scope<'_>) -> bool {
    let (Some(of), Some(name)) = (figure.x_of, name) else { return name.is_none() };
    let Dimension::Axis(axis) = figure.x else {
        scope.reader.unfit(name.at, "`x_of` needs an axis as `x`, along which its curve goes");
        return false;
    };
    if let Some(case) = figure.cases.iter().find(|case| !scope.has_case(of, **case)) {
        let case = &scope.cases()[*case].name;
        scope.reader.unfit(name.at, format!("`{}` does not exist in the case `{case}`", name.value));
        return false;
    }
    let dimensions = scope.dimensions(of);
    let fits = |y: &Quantity| scope.dimensions(*y) == dimensions;
    if !dimensions[axis] || !figure.y.iter().all(fits) {
        scope.reader.unfit(name.at, format!("`{}` has not the same axes as `y`", name.value));
        return false;
    }
    true
}

fn check(figure: &Figure, x: &At<String>, y: &[At<String>], scope: &Scope<'_>) -> bool {
    for (quantity, name) in figure.y.iter().zip(y) {
        if let Some(case) = figure.cases.iter().find(|case| !scope.has_case(*quantity, **case)) {
            let case = &scope.cases()[*case].name;
            scope.reader.unfit(name.at, format!("`{}` does not exist in the case `{case}`", name.value));
            return false;
        }
        if let Dimension::Axis(axis) = figure.x
            && !scope.dimensions(*quantity)[axis]
        {
            scope.reader.unfit(
                x.at,
                format!("`{}` has no curve along `{}`: it was made from one", name.value, x.value),
            );
            return false;
        }
    }
    for case in &figure.cases {
        if !scope.check_point(*case, &figure.at, x.at) {
            return false;
        }
    }
    let most = [&scope.grids.full, &scope.grids.quick].map(|grid| {
        let series = |quantity: &Quantity| {
            let open = scope.dimensions(*quantity);
            let free = |axis: &usize| {
                open[*axis] && figure.x != Dimension::Axis(*axis) && figure.at[*axis].is_none()
            };
            let of_case = |case: &usize| {
                (0..open.len())
                    .filter(free)
                    .map(|axis| grid.cases[*case].values[axis].len())
                    .product::<usize>()
            };
            let counts = figure.cases.iter().map(of_case);
            if figure.x == Dimension::Case { counts.max().unwrap_or(0) } else { counts.sum() }
        };
        figure.y.iter().map(series).sum::<usize>()
    });
    let got = most.into_iter().max().unwrap_or(0);
    if got > Chart::SERIES_MAX {
        let reason = format!(
            "the figure has {got} series; more than {} cannot be told apart: name `cases`, or hold an axis with `at`",
            Chart::SERIES_MAX
        );
        scope.reader.unfit(x.at, reason);
    }
    got <= Chart::SERIES_MAX
}

fn label_of(of: Quantity, scope: &Scope<'_>) -> String {
    let name = match of {
        Quantity::Metric(index) => scope.testbed.metrics()[index].name,
        Quantity::Measure(index) => &scope.measures[index].title,
    };
    with_unit(name, scope.unit(of))
}

/// `delay (ms)`
pub(super) fn with_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name} ({unit})") }
}

fn read_range(
    table: &mut Table<'_>,
    (from, to): (&'static str, &'static str),
    log: bool,
) -> (Option<f64>, Option<f64>) {
    let (low, high) = (table.number(from), table.number(to));
    if let (Some(low), Some(high)) = (&low, &high)
        && low.value >= high.value
    {
        table.reader.unfit(high.at, format!("`{to}` is not above `{from}`"));
    }
    for end in [&low, &high].into_iter().flatten() {
        if log && end.value <= 0.0 {
            table.reader.unfit(end.at, "a logarithmic axis begins above 0");
        }
    }
    (low.map(|low| low.value), high.map(|high| high.value))
}

fn read_thresholds(table: &mut Table<'_>) -> Vec<Limit> {
    let mut limits = Vec::new();
    for mut table in table.tables("thresholds", ("thresholds", PUBLISHED_MAX)) {
        let name = table.text("name", 100).map(|name| name.value).unwrap_or_default();
        if table.node("y").is_none() {
            table.missing("y", "its height");
        }
        let y = table.number("y");
        table.close();
        limits.extend(y.map(|y| Limit { name, y: y.value }));
    }
    limits
}

fn read_published(table: &mut Table<'_>, scope: &Scope<'_>) -> Vec<Published> {
    let mut all = Vec::new();
    for mut table in table.tables("published", ("published series", PUBLISHED_MAX)) {
        let name = table.want_text("name", 200);
        let case = table.text("case", 100);
        let case = case.and_then(|name| scope.case(&name));
        let line = table.flag("line").is_some_and(|line| line.value);
        let node = table.node("points");
        if node.is_none() {
            table.missing("points", "a list of [x, y] or [x, y, low, high]");
        }
        let points = node.and_then(|node| {
            scope.reader.list("points", node, ("points", POINTS_MAX), |node| {
                let is_list = matches!(node.get_ref(), DeValue::Array(_));
                let point = scope.reader.list("points", node, ("numbers", 4), |node| {
                    scope.reader.number("points", node).map(|number| number.value)
                })?;
                if is_list && point.len() != 2 && point.len() != 4 {
                    scope.reader.unfit(node.span().start, "a point is [x, y] or [x, y, low, high]");
                    return None;
                }
                Some(point)
            })
        });
        table.close();
        if let (Some(name), Some(points)) = (name, points) {
            all.push(Published { name: name.value, case, points, line });
        }
    }
    all
}
