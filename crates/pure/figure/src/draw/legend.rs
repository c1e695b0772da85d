//! Which mark is which series.

use super::coincide::Below;
use super::marks::{colour, shape};
use super::width_of;
use crate::chart::{Chart, Marks, Work};
use crate::number::{escape, pixels};
use std::fmt::Write;

const LINE: f64 = 18.0;

/// One name of the legend, and its place.
pub(super) struct Label {
    x: f64,
    y: f64,
    text: String,
    key: Key,
}

enum Key {
    Series(usize, Marks, Work, Option<Below>),
    Band(usize),
}

pub(super) fn lay_out(chart: &Chart, below: &[Option<Below>], width: f64) -> Vec<Label> {
    let series =
        chart.series.iter().zip(below).enumerate().filter(|(_, (series, _))| !series.name.is_empty());
    let series = series.map(|(index, (series, below))| {
        let name = format!("{}{}", series.name, below.map(|below| below.words(chart)).unwrap_or_default());
        (name, Key::Series(colour(index, series), series.marks, series.work, *below))
    });
    let bands = chart.bands.iter().enumerate().map(|(index, band)| (band.name.clone(), Key::Band(index)));
    let named = series.chain(bands).filter(|(name, _)| !name.is_empty());
    let (mut x, mut y) = (14.0, if chart.title.is_empty() { 18.0 } else { 38.0 });
    let mut labels = Vec::new();
    for (name, key) in named {
        let wide = 30.0 + width_of(&name) + 16.0;
        if x > 14.0 && x + wide > width - 8.0 {
            (x, y) = (14.0, y + LINE);
        }
        labels.push(Label { x, y, text: escape(&name), key });
        x += wide;
    }
    labels
}

pub(super) fn height(labels: &[Label]) -> f64 {
    match (labels.first(), labels.last()) {
        (Some(first), Some(last)) => last.y - first.y + LINE + 4.0,
        _ => 0.0,
    }
}

pub(super) fn draw(labels: &[Label], out: &mut String) {
    for Label { x, y, text, key } in labels {
        let middle = y - 4.0;
        match key {
            Key::Band(index) => {
                let (at, top) = (pixels(*x), pixels(middle - 5.0));
                let _ = writeln!(
                    out,
                    "<rect class=\"gf-band gf-{}\" x=\"{at}\" y=\"{top}\" width=\"22\" height=\"10\"/>",
                    index % Chart::SERIES_MAX
                );
            }
            Key::Series(index, Marks::Bars, work, _) => {
                let (at, top) = (pixels(x + 4.0), pixels(middle - 6.0));
                let class = if *work == Work::Ours { "gf-dot" } else { "gf-hollow" };
                let _ = writeln!(
                    out,
                    "<rect class=\"gf-{index} {class}\" x=\"{at}\" y=\"{top}\" width=\"12\" height=\"12\"/>"
                );
            }
            Key::Series(index, marks, work, below) => {
                if *marks != Marks::Points {
                    let dashed = if *work == Work::Ours { "" } else { " gf-hollow-line" };
                    let dashes = below.map(Below::dashes).unwrap_or_default();
                    let (at, middle) = (pixels(*x), pixels(middle));
                    let _ = writeln!(
                        out,
                        "<path class=\"gf-{index} gf-line{dashed}\"{dashes} d=\"M{at} {middle}h22\"/>"
                    );
                }
                if matches!(marks, Marks::Points | Marks::LineAndPoints) {
                    out.push_str(&shape(*index, *work, (x + 11.0, middle)));
                }
            }
        }
        let _ = writeln!(out, "<text x=\"{}\" y=\"{}\">{text}</text>", pixels(x + 28.0), pixels(*y));
    }
}
