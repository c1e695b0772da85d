//! Pictures of numbers that a script has.

use guestright_figure::{
    Axis, Chart, Fill, HeatCell, HeatMap, Labels, Marks, Panel, Point, Range, Series, short,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Bars from 0, those of several series side by side, as SVG.
///
/// # Errors
/// There is nothing to draw.
#[pyfunction]
pub(crate) fn bars(
    title: String,
    description: String,
    x: (String, Vec<String>),
    y_label: String,
    series: Vec<(String, Vec<f64>)>,
) -> PyResult<String> {
    let bars = |(name, numbers): (String, Vec<f64>)| Series {
        name,
        marks: Marks::Bars,
        points: numbers.into_iter().zip(0_u32..).map(|(y, x)| Point::new(f64::from(x), y)).collect(),
        ..Series::default()
    };
    let chart = Chart {
        title,
        description,
        x: Axis { label: x.0, names: x.1, ..Axis::default() },
        y: Axis { label: y_label, range: Range::Zero, ..Axis::default() },
        series: series.into_iter().map(bars).collect(),
        ..Chart::default()
    };
    chart.svg().map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Numbers from 0 to 1 as coloured cells, row by row from the bottom, as SVG; those that are None are left blank.
///
/// # Errors
/// There is nothing to draw, too much, or not a number for each cell.
#[pyfunction]
pub(crate) fn heat_map(
    title: String,
    description: String,
    x: (String, Vec<String>),
    y: (String, Vec<String>),
    of: String,
    cells: Vec<Option<f64>>,
) -> PyResult<String> {
    let cell = |number: Option<f64>| HeatCell {
        fill: number.map_or(Fill::Blank, Fill::Number),
        text: number.map(short).unwrap_or_default(),
        ..HeatCell::default()
    };
    let map = HeatMap {
        title,
        description,
        x: Labels { label: x.0, names: x.1 },
        y: Labels { label: y.0, names: y.1 },
        of,
        range: Some((0.0, 1.0)),
        panels: vec![Panel { title: String::new(), cells: cells.into_iter().map(cell).collect() }],
        columns: 1,
    };
    map.svg().map_err(|error| PyValueError::new_err(error.to_string()))
}
