//! The text of a picture.

mod coincide;
mod heat;
mod legend;
mod marks;

use crate::chart::{Chart, Marks, Work};
use crate::error::FigureError;
use crate::number::{escape, pixels};
use crate::scale::{NoScale, Scaled};
use std::fmt::Write;

pub(crate) use heat::heat;

/// Ours from here on: every class begins with `gf-`. Colours: Okabe and Ito's, which the colour-blind can tell apart,
/// <https://jfly.uni-koeln.de/color/>; darker or lighter where the ground asks for it.
const STYLE: &str = "<style>\
.gf{font:12px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;color:#1b1f24}\
.gf text{fill:currentColor}.gf .gf-head{font-size:15px;font-weight:600}.gf .gf-title{font-size:13px;font-weight:600}\
.gf .gf-soft{opacity:.72}.gf .gf-halo{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}.gf .gf-grid{stroke:currentColor;stroke-opacity:.13}.gf .gf-axis{stroke:currentColor;stroke-opacity:.55;fill:none}\
.gf .gf-limit{stroke:currentColor;stroke-opacity:.6;stroke-dasharray:2 4}\
.gf .gf-line{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}.gf .gf-error{stroke-width:1.2}.gf .gf-dots{stroke-width:3.4}\
.gf .gf-dot{stroke:none}.gf .gf-hollow{fill:none;stroke-width:1.5}.gf .gf-hollow-line{stroke-dasharray:6 4}\
.gf .gf-band{fill-opacity:.18;stroke:none}\
.gf-0{stroke:#0072b2;fill:#0072b2}.gf-1{stroke:#d55e00;fill:#d55e00}.gf-2{stroke:#007a5a;fill:#007a5a}\
.gf-3{stroke:#b0568f;fill:#b0568f}.gf-4{stroke:#8a6d00;fill:#8a6d00}.gf-5{stroke:#2a8fc7;fill:#2a8fc7}\
.gf-6{stroke:#555b63;fill:#555b63}.gf-7{stroke:#000;fill:#000}\
@media (prefers-color-scheme:dark){.gf{color:#e8eaed}.gf .gf-halo{stroke:#14171b}\
.gf-0{stroke:#5ab4ee;fill:#5ab4ee}.gf-1{stroke:#ff9b4a;fill:#ff9b4a}.gf-2{stroke:#35c79c;fill:#35c79c}\
.gf-3{stroke:#e39cc8;fill:#e39cc8}.gf-4{stroke:#e6cf4e;fill:#e6cf4e}.gf-5{stroke:#9fd6f7;fill:#9fd6f7}\
.gf-6{stroke:#a9b0b8;fill:#a9b0b8}.gf-7{stroke:#fff;fill:#fff}}\
</style>";

/// The plot's place in the picture, in pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

pub(crate) fn open(title: &str, description: &str, width: f64, height: f64) -> String {
    let (width, height) = (pixels(width), pixels(height));
    let (title, description) = (escape(title), escape(description));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"gf\" role=\"img\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" aria-label=\"{title}\">\n\
         <title>{title}</title>\n<desc>{description}</desc>\n{STYLE}\n"
    )
}

/// Draws a chart with its upper left corner at a place.
pub(crate) fn chart(chart: &Chart, at: (f64, f64), out: &mut String) -> Result<(), FigureError> {
    for work in [Work::Ours, Work::Published] {
        let got = chart.series.iter().filter(|series| series.work == work).count();
        if got > Chart::SERIES_MAX {
            return Err(FigureError::Series { chart: chart.title.clone(), got, max: Chart::SERIES_MAX });
        }
    }
    let (width, height) = chart.size();
    let alone = vec![None; chart.series.len()];
    let mut labels = legend::lay_out(chart, &alone, width);
    let mut frame = frame(chart, &labels, (width, height));
    let numbers = chart.series.iter().flat_map(|series| &series.points).map(|point| point.x);
    let numbers = numbers.chain(areas(chart).map(|point| point.0));
    let x = Scaled::fit(&chart.x, numbers, frame.left, frame.right)
        .map_err(|error| no_scale(chart, "x", &error))?;
    let fit_y = |frame: Frame| {
        Scaled::fit(&chart.y, heights(chart), frame.bottom, frame.top)
            .map_err(|error| no_scale(chart, "y", &error))
    };
    let mut y = fit_y(frame)?;
    let below = coincide::coincident(chart, &x, &y);
    if below.iter().any(Option::is_some) {
        // The legend has more words now, and may need more lines.
        labels = legend::lay_out(chart, &below, width);
        frame = self::frame(chart, &labels, (width, height));
        y = fit_y(frame)?;
    }
    let _ = writeln!(out, "<g transform=\"translate({} {})\">", pixels(at.0), pixels(at.1));
    if !chart.title.is_empty() {
        let _ = writeln!(out, "<text class=\"gf-title\" x=\"14\" y=\"20\">{}</text>", escape(&chart.title));
    }
    axes(chart, &x, &y, frame, out);
    legend::draw(&labels, out);
    marks::draw(chart, &below, &x, &y, frame, out);
    out.push_str("</g>\n");
    Ok(())
}

/// Where the plot is, below its legend.
fn frame(chart: &Chart, labels: &[legend::Label], (width, height): (f64, f64)) -> Frame {
    Frame {
        left: 64.0,
        right: width - 16.0,
        top: if chart.title.is_empty() { 12.0 } else { 30.0 } + legend::height(labels),
        bottom: height - if chart.x.label.is_empty() { 28.0 } else { 46.0 },
    }
}

/// The points of every area.
fn areas(chart: &Chart) -> impl Iterator<Item = &(f64, f64, f64)> {
    let own = chart.series.iter().flat_map(|series| &series.band);
    chart.bands.iter().flat_map(|band| &band.points).chain(own)
}

/// Every height that the chart shows.
fn heights(chart: &Chart) -> impl Iterator<Item = f64> + '_ {
    let points = chart.series.iter().flat_map(|series| {
        let ground = (series.marks == Marks::Bars).then_some(0.0);
        let ends = |point: &crate::Point| {
            let (low, high) = point.error.unwrap_or((point.y, point.y));
            [point.y, low, high]
        };
        series.points.iter().flat_map(ends).chain(ground)
    });
    let bands = areas(chart).flat_map(|(_, low, high)| [*low, *high]);
    points.chain(bands).chain(chart.thresholds.iter().map(|threshold| threshold.y))
}

fn no_scale(chart: &Chart, axis: &'static str, error: &NoScale) -> FigureError {
    let chart = chart.title.clone();
    match *error {
        NoScale::Empty => FigureError::Empty { chart, axis },
        NoScale::Range(from, to) => FigureError::Range { chart, axis, from, to },
    }
}

fn axes(chart: &Chart, x: &Scaled, y: &Scaled, frame: Frame, out: &mut String) {
    let Frame { left, right, top, bottom } = frame;
    for (at, text) in y.ticks(&chart.y.names) {
        let _ = writeln!(
            out,
            "<path class=\"gf-grid\" d=\"M{} {at}H{}\"/><text class=\"gf-soft\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            pixels(left),
            pixels(right),
            pixels(left - 7.0),
            pixels(at + 4.0),
            escape(&text),
            at = pixels(at),
        );
    }
    let ticks = x.ticks(&chart.x.names);
    // Long names would run into each other: every second, third … is said.
    let longest = ticks.iter().map(|tick| width_of(&tick.1)).fold(0.0, f64::max);
    let room = (right - left) / f64::from(u32::try_from(ticks.len().max(1)).unwrap_or(u32::MAX));
    let mut every = 1;
    while longest + 8.0 > room * f64::from(every) && every < 64 {
        every += 1;
    }
    for (at, text) in ticks.iter().step_by(every as usize) {
        let _ = writeln!(
            out,
            "<path class=\"gf-axis\" d=\"M{at} {}v5\"/><text class=\"gf-soft\" x=\"{at}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            pixels(bottom),
            pixels(bottom + 18.0),
            escape(text),
            at = pixels(*at),
        );
    }
    let _ = writeln!(
        out,
        "<path class=\"gf-axis\" d=\"M{left} {}V{bottom}H{}\"/>",
        pixels(top),
        pixels(right),
        left = pixels(left),
        bottom = pixels(bottom),
    );
    if !chart.x.label.is_empty() {
        let (middle, below) = (pixels(f64::midpoint(left, right)), pixels(bottom + 37.0));
        let label = escape(&chart.x.label);
        let _ = writeln!(out, "<text x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\">{label}</text>");
    }
    if !chart.y.label.is_empty() {
        let (middle, label) = (pixels(f64::midpoint(top, bottom)), escape(&chart.y.label));
        let _ = writeln!(
            out,
            "<text transform=\"translate(15 {middle}) rotate(-90)\" text-anchor=\"middle\">{label}</text>"
        );
    }
}

/// About how wide a text is, in pixels.
pub(crate) fn width_of(text: &str) -> f64 {
    f64::from(u32::try_from(text.chars().count()).unwrap_or(u32::MAX)) * 7.1
}
