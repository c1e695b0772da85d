//! The numbers of a figure, and its picture.

use super::sample::Curves;
use crate::plan::{Coordinates, Dimension, Figure, Quantity, Shown};
use crate::statistics::{Estimate, number};
use crate::value::Value;
use guestright_figure::{Axis, Chart, FigureError, Marks, Point, Range, Scale, Series, Threshold, Work};
use serde::{Deserialize, Serialize};

/// A figure: what is drawn, with every seed's numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureNumbers {
    /// Its id; fit to name a file.
    pub id: String,
    pub title: String,
    /// The name of the x axis, with its unit.
    pub x_label: String,
    /// The name of the y axis, with its unit.
    pub y_label: String,
    /// Whether the x axis is logarithmic.
    pub x_log: bool,
    /// Whether the y axis is.
    pub y_log: bool,
    /// Ends of the x axis, where the plan gives them.
    pub x_range: (Option<f64>, Option<f64>),
    /// Ends of the y axis.
    pub y_range: (Option<f64>, Option<f64>),
    /// Names for x = 0, 1, 2 …, if x is not a number.
    pub x_names: Vec<String>,
    /// What is drawn around the curves: `interval`, `range` or `none`.
    pub band: String,
    pub series: Vec<FigureSeries>,
    pub published: Vec<PublishedSeries>,
    /// Lines across: name and height.
    pub thresholds: Vec<(String, f64)>,
    /// A word about it.
    pub note: String,
}

/// One of our curves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureSeries {
    /// Its name in the legend.
    pub name: String,
    /// The case, if it is one case's.
    pub case: Option<String>,
    /// What is drawn.
    pub quantity: String,
    /// Its points, from the left.
    pub points: Vec<FigurePoint>,
}

/// One point of a curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigurePoint {
    pub x: f64,
    /// Where, as the plan says it.
    pub label: String,
    /// What the seeds say.
    pub estimate: Estimate,
}

/// Published points or a published curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedSeries {
    /// Its name in the legend.
    pub name: String,
    /// The place of the series with the same colour.
    pub like: Option<usize>,
    /// `[x, y]` or `[x, y, low, high]`.
    pub points: Vec<Vec<f64>>,
    /// Whether a line goes through them.
    pub line: bool,
}

pub(super) fn numbers(curves: &Curves<'_>, figure: &Figure) -> FigureNumbers {
    let mut series: Vec<FigureSeries> = Vec::new();
    let names = x_names(curves, figure);
    // Which case a series is of, to give published points its colour.
    let mut cases: Vec<usize> = Vec::new();
    let groups: Vec<Vec<usize>> = match figure.x {
        Dimension::Case => vec![figure.cases.clone()],
        Dimension::Axis(_) => figure.cases.iter().map(|case| vec![*case]).collect(),
    };
    for group in &groups {
        for of in &figure.y {
            for fixed in fixed_combinations(curves, figure, *of, group) {
                let points = points(curves, figure, *of, group, &fixed, &names);
                let name = series_name(curves, figure, *of, group, &fixed);
                let case = (group.len() == 1).then(|| curves.plan.grid.cases[group[0]].name.clone());
                let quantity = curves.name(*of).to_owned();
                series.push(FigureSeries { name, case, quantity, points });
                cases.push(group[0]);
            }
        }
    }
    let like = |case: Option<usize>| cases.iter().position(|of| Some(*of) == case);
    let published = figure.published.iter().map(|published| PublishedSeries {
        name: published.name.clone(),
        like: like(published.case),
        points: published.points.clone(),
        line: published.line,
    });
    FigureNumbers {
        id: figure.id.clone(),
        title: figure.title.clone(),
        x_label: figure.x_label.clone(),
        y_label: figure.y_label.clone(),
        x_log: figure.x_log,
        y_log: figure.y_log,
        x_range: figure.x_range,
        y_range: figure.y_range,
        x_names: names,
        band: match figure.band {
            Shown::Interval => "interval",
            Shown::Range => "range",
            Shown::Nothing => "none",
        }
        .to_owned(),
        published: published.collect(),
        series,
        thresholds: figure.thresholds.iter().map(|limit| (limit.name.clone(), limit.y)).collect(),
        note: figure.note.clone(),
    }
}

/// Names of the places on the x axis, if they are not numbers.
fn x_names(curves: &Curves<'_>, figure: &Figure) -> Vec<String> {
    let grid = &curves.plan.grid;
    let mut names: Vec<String> = Vec::new();
    for case in &figure.cases {
        match figure.x {
            Dimension::Case => names.push(grid.cases[*case].title.clone()),
            Dimension::Axis(_) if figure.x_of.is_some() => {}
            Dimension::Axis(axis) => {
                for value in &grid.cases[*case].values[axis] {
                    let name = value.to_string();
                    if value.number().is_none() && !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
        }
    }
    names
}

/// The places of the axes that are neither drawn nor fixed: a series for each.
fn fixed_combinations(
    curves: &Curves<'_>,
    figure: &Figure,
    of: Quantity,
    group: &[usize],
) -> Vec<Coordinates> {
    let mut dimensions = curves.dimensions(of);
    if let Dimension::Axis(axis) = figure.x {
        dimensions[axis] = false;
    }
    let mut combinations: Vec<Coordinates> = Vec::new();
    for case in group {
        for coordinates in curves.combinations(*case, &dimensions, &figure.at) {
            if !combinations.contains(&coordinates) {
                combinations.push(coordinates);
            }
        }
    }
    combinations
}

fn points(
    curves: &Curves<'_>,
    figure: &Figure,
    of: Quantity,
    group: &[usize],
    fixed: &Coordinates,
    names: &[String],
) -> Vec<FigurePoint> {
    let mut points = Vec::new();
    for (index, case) in group.iter().enumerate() {
        let Dimension::Axis(axis) = figure.x else {
            let label = curves.plan.grid.cases[*case].name.clone();
            let estimate = curves.estimate(of, *case, fixed);
            points.push(FigurePoint { x: number(index), label, estimate });
            continue;
        };
        for value in &curves.plan.grid.cases[*case].values[axis] {
            let label = value.to_string();
            let named = || names.iter().position(|name| *name == label).map(number);
            let mut at = fixed.clone();
            at[axis] = Some(value.clone());
            let x = match figure.x_of {
                Some(of) => curves.estimate(of, *case, &at).mean,
                None => value.number().or_else(named),
            };
            let Some(x) = x else { continue };
            points.push(FigurePoint { x, label, estimate: curves.estimate(of, *case, &at) });
        }
    }
    // Along another quantity a curve may go back.
    if figure.x_of.is_none() {
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    points
}

fn series_name(
    curves: &Curves<'_>,
    figure: &Figure,
    of: Quantity,
    group: &[usize],
    fixed: &Coordinates,
) -> String {
    let mut words: Vec<String> = Vec::new();
    let cases = &curves.plan.grid.cases;
    if group.len() == 1 && (figure.cases.len() > 1 || figure.y.len() == 1) {
        words.push(cases[group[0]].title.clone());
    }
    if figure.y.len() > 1 {
        words.push(curves.name(of).to_owned());
    }
    let axes = curves.plan.axes.iter().zip(fixed).zip(&figure.at);
    for ((axis, value), held) in axes {
        if let (Some(value), None) = (value, held) {
            words.push(if matches!(value, Value::Text(_)) {
                value.to_string()
            } else {
                format!("{} = {value}{}", axis.info.name, unit(axis.info.unit))
            });
        }
    }
    if words.is_empty() { "ours".to_owned() } else { words.join(", ") }
}

fn unit(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" {unit}") }
}

impl FigureNumbers {
    /// Its picture, as the text of an SVG element.
    ///
    /// # Errors
    ///
    /// When there is nothing to draw.
    pub fn svg(&self) -> Result<String, FigureError> {
        self.chart().svg()
    }

    /// Its picture: ours with lines and bands, theirs hollow on top.
    pub fn chart(&self) -> Chart {
        let ours = self.series.iter().enumerate().map(|(index, series)| self.our_series(index, series));
        let published = self.published.iter().enumerate().map(|(index, published)| Series {
            name: published.name.clone(),
            marks: if published.line { Marks::LineAndPoints } else { Marks::Points },
            work: Work::Published,
            colour: Some(published.like.unwrap_or((self.series.len() + index) % Chart::SERIES_MAX)),
            points: published.points.iter().filter_map(|point| published_point(point)).collect(),
            ..Series::default()
        });
        let range = |(from, to): (Option<f64>, Option<f64>), ends: Option<(f64, f64)>, usual: Range| {
            let (low, high) = ends.unwrap_or((0.0, 1.0));
            match (from, to) {
                (Some(from), Some(to)) => Range::From(from, to),
                (Some(from), None) if from < high => Range::From(from, high),
                (None, Some(to)) if low < to => Range::From(low, to),
                _ => usual,
            }
        };
        let scale = |log: bool| if log { Scale::Log } else { Scale::Linear };
        Chart {
            title: self.title.clone(),
            description: self.description(),
            x: Axis {
                label: self.x_label.clone(),
                scale: scale(self.x_log),
                range: range(self.x_range, self.ends(|point| vec![point.x]), Range::Numbers),
                names: self.x_names.clone(),
            },
            y: Axis {
                label: self.y_label.clone(),
                scale: scale(self.y_log),
                range: range(
                    self.y_range,
                    self.ends(|point| {
                        point.estimate.range.map_or_else(Vec::new, |(low, high)| vec![low, high])
                    }),
                    if self.y_log { Range::Numbers } else { Range::Zero },
                ),
                names: Vec::new(),
            },
            series: ours.chain(published).collect(),
            thresholds: self
                .thresholds
                .iter()
                .map(|(name, y)| Threshold { name: name.clone(), y: *y })
                .collect(),
            height: 360,
            ..Chart::default()
        }
    }

    fn our_series(&self, index: usize, series: &FigureSeries) -> Series {
        let around = |point: &FigurePoint| match self.band.as_str() {
            "interval" => point.estimate.interval,
            "range" => point.estimate.range,
            _ => None,
        };
        let bars = !self.x_names.is_empty();
        let point = |point: &FigurePoint| {
            let y = point.estimate.curve.or(point.estimate.mean).unwrap_or(f64::NAN);
            Point { x: point.x, y, error: if bars { around(point) } else { None } }
        };
        let band = |point: &FigurePoint| {
            let (low, high) = around(point).unwrap_or((f64::NAN, f64::NAN));
            (point.x, low, high)
        };
        Series {
            name: series.name.clone(),
            marks: if bars { Marks::Bars } else { Marks::LineAndPoints },
            colour: Some(index),
            points: series.points.iter().map(point).collect(),
            band: if bars { Vec::new() } else { series.points.iter().map(band).collect() },
            ..Series::default()
        }
    }

    /// The least and the most of some numbers of our points.
    fn ends(&self, of: impl Fn(&FigurePoint) -> Vec<f64>) -> Option<(f64, f64)> {
        let numbers = self.series.iter().flat_map(|series| &series.points).flat_map(of);
        numbers.fold(None, |ends: Option<(f64, f64)>, number| {
            let (low, high) = ends.unwrap_or((number, number));
            Some((low.min(number), high.max(number)))
        })
    }

    fn description(&self) -> String {
        let one = |series: &FigureSeries| {
            let (first, last) = (series.points.first(), series.points.last());
            let describe = |point: Option<&FigurePoint>| {
                let y = point.and_then(|point| point.estimate.curve);
                let x = point.map(|point| point.label.clone()).unwrap_or_default();
                y.map_or_else(
                    || format!("not known at {x}"),
                    |y| format!("{} at {x}", guestright_figure::short(y)),
                )
            };
            format!("{}: from {} to {}.", series.name, describe(first), describe(last))
        };
        self.series.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    /// Its numbers, a line for each series, point and seed.
    pub fn csv(&self) -> String {
        let head = ["series", "quantity", "x", "replication", "y"].map(str::to_owned);
        let mut text = crate::results::csv_line(head.into_iter());
        for series in &self.series {
            for point in &series.points {
                for (replication, y) in point.estimate.values.iter().enumerate() {
                    let y = y.map(|y| format!("{y:?}")).unwrap_or_default();
                    let front = [series.name.clone(), series.quantity.clone(), point.label.clone()];
                    let fields = front.into_iter().chain([replication.to_string(), y]);
                    text.push_str(&crate::results::csv_line(fields));
                }
            }
        }
        text
    }
}

fn published_point(point: &[f64]) -> Option<Point> {
    match point {
        [x, y] => Some(Point::new(*x, *y)),
        [x, y, low, high] => Some(Point::between(*x, *y, *low, *high)),
        _ => None,
    }
}
