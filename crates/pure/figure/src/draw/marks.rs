//! Lines, points, bars, bands and errors.

use super::Frame;
use super::coincide::Below;
use crate::chart::{Chart, Marks, Series, Threshold, Work};
use crate::number::{escape, pixels, short};
use crate::scale::Scaled;
use crate::thin::{scatter, thin};
use std::fmt::Write;

/// With more points than this, each is not given words of its own.
const WORDS_MAX: usize = 200;
/// How far names must be from each other, in pixels.
const LABEL: f64 = 12.0;

/// What of a series is not drawn, so that the one below it is seen.
#[derive(Clone, Copy, Debug)]
struct Gaps<'a> {
    /// An attribute of the line, or nothing.
    dashes: &'a str,
    /// Which marks are drawn: those of every so many points, from which on.
    every: usize,
    first: usize,
}

impl Gaps<'_> {
    const NONE: Self = Self { dashes: "", every: 1, first: 0 };
}

pub(super) fn draw(
    chart: &Chart,
    below: &[Option<Below>],
    x: &Scaled,
    y: &Scaled,
    frame: Frame,
    out: &mut String,
) {
    let Frame { left, right, .. } = frame;
    let wide = right - left;
    let mut areas = String::new();
    for (index, band) in chart.bands.iter().enumerate() {
        area(index % Chart::SERIES_MAX, &band.points, x, y, &mut areas);
    }
    for (index, series) in chart.series.iter().enumerate() {
        area(colour(index, series), &series.band, x, y, &mut areas);
    }
    // Areas end at the frame; a mark on the frame is drawn whole.
    if !areas.is_empty() {
        clip(frame, 0.0, out);
        out.push_str(&areas);
        out.push_str("</svg>\n");
    }
    clip(frame, 5.0, out);
    let bars = chart.series.iter().filter(|series| series.marks == Marks::Bars).count();
    let mut bar = 0;
    let above = |base: usize| below.iter().flatten().filter(|one| one.index == base && one.whole).count();
    for ((index, series), below) in chart.series.iter().enumerate().zip(below) {
        let index = colour(index, series);
        let dashes = below.map(Below::dashes).unwrap_or_default();
        let gaps = match below {
            Some(one) if one.whole => {
                let every = above(one.index) + 1;
                Gaps { dashes: &dashes, every, first: one.rank % every }
            }
            Some(_) => Gaps { dashes: &dashes, ..Gaps::NONE },
            None => Gaps::NONE,
        };
        match series.marks {
            Marks::Bars => {
                draw_bars(index, series, (bar, bars), x, y, out);
                bar += 1;
            }
            Marks::Line => line(index, series, gaps, (x, y), wide, out),
            Marks::Step => line(index, series, gaps, (x, y), wide, out),
            Marks::Points => points(index, series, gaps, (x, y), out),
            Marks::LineAndPoints => {
                line(index, series, gaps, (x, y), wide, out);
                points(index, series, gaps, (x, y), out);
            }
        }
        errors(index, series, x, y, out);
    }
    out.push_str("</svg>\n");
    thresholds(chart, y, frame, out);
}

/// Opens a coordinate system of its own, which cuts off what is farther outside than this; it needs no name that could
/// be there twice in a page.
fn clip(frame: Frame, outside: f64, out: &mut String) {
    let _ = writeln!(
        out,
        "<svg x=\"{l}\" y=\"{t}\" width=\"{w}\" height=\"{h}\" viewBox=\"{l} {t} {w} {h}\" overflow=\"hidden\">",
        l = pixels(frame.left - outside),
        t = pixels(frame.top - outside),
        w = pixels(frame.right - frame.left + 2.0 * outside),
        h = pixels(frame.bottom - frame.top + 2.0 * outside)
    );
}

/// Lines across, with names above them; a name that would lie on the one above it goes below its own line.
fn thresholds(chart: &Chart, y: &Scaled, frame: Frame, out: &mut String) {
    let Frame { left, right, top, bottom } = frame;
    let position_of = |threshold: &Threshold| {
        Some((y.position(threshold.y).filter(|at| (top..=bottom).contains(at))?, threshold.name.clone()))
    };
    let mut lines: Vec<(f64, String)> = chart.thresholds.iter().filter_map(position_of).collect();
    lines.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut before = f64::NEG_INFINITY;
    for (at, name) in lines {
        let above = at - 4.0;
        let line = if above >= before + LABEL { above } else { (at + LABEL).max(before + LABEL) };
        before = line;
        let _ = writeln!(
            out,
            "<path class=\"gf-limit\" d=\"M{} {}H{}\"/><text class=\"gf-soft gf-halo\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            pixels(left),
            pixels(at),
            pixels(right),
            pixels(right - 4.0),
            pixels(line),
            escape(&name)
        );
    }
}

/// Which colour and shape a series has.
pub(super) fn colour(index: usize, series: &Series) -> usize {
    series.colour.unwrap_or(index) % Chart::SERIES_MAX
}

fn dashed(work: Work) -> &'static str {
    match work {
        Work::Ours => "",
        Work::Published => " gf-hollow-line",
    }
}

fn line(
    index: usize,
    series: &Series,
    gaps: Gaps<'_>,
    (x, y): (&Scaled, &Scaled),
    wide: f64,
    out: &mut String,
) {
    let step = series.marks == Marks::Step;
    let at = |point: &crate::Point| Some((x.position(point.x)?, y.position(point.y)?));
    let mut path = String::new();
    let mut before: Option<(f64, f64)> = None;
    for point in thin(series.points.iter().map(at).collect(), wide) {
        match (before, point) {
            (None, Some((x, y))) => {
                let _ = write!(path, "M{} {}", pixels(x), pixels(y));
            }
            (Some(_), Some((x, y))) if step => {
                let _ = write!(path, "H{}V{}", pixels(x), pixels(y));
            }
            (Some(_), Some((x, y))) => {
                let _ = write!(path, "L{} {}", pixels(x), pixels(y));
            }
            // A lone point between two gaps is seen by its round end.
            (Some(_), None) => path.push_str("h0"),
            (None, None) => {}
        }
        before = point;
    }
    if before.is_some() {
        path.push_str("h0");
    }
    if !path.is_empty() {
        let (dashed, dashes) = (dashed(series.work), gaps.dashes);
        let _ = writeln!(out, "<path class=\"gf-{index} gf-line{dashed}\"{dashes} d=\"{path}\"/>");
    }
}

fn points(index: usize, series: &Series, gaps: Gaps<'_>, (x, y): (&Scaled, &Scaled), out: &mut String) {
    if series.points.len() <= WORDS_MAX {
        for point in series.points.iter().skip(gaps.first).step_by(gaps.every) {
            let (Some(at_x), Some(at_y)) = (x.position(point.x), y.position(point.y)) else { continue };
            let words = format!("{}: {}, {}", series.name, short(point.x), short(point.y));
            let _ = writeln!(
                out,
                "<g><title>{}</title>{}</g>",
                escape(&words),
                shape(index, series.work, (at_x, at_y)).trim_end()
            );
        }
        return;
    }
    let at = |point: &crate::Point| Some((x.position(point.x)?, y.position(point.y)?));
    let mut path = String::new();
    for (x, y) in scatter(series.points.iter().filter_map(at).collect()) {
        let _ = write!(path, "M{} {}h0", pixels(x), pixels(y));
    }
    let _ = writeln!(out, "<path class=\"gf-{index} gf-line gf-dots\" d=\"{path}\"/>");
}

/// A mark for a series: each has a shape of its own.
pub(super) fn shape(index: usize, work: Work, (x, y): (f64, f64)) -> String {
    let class = match work {
        Work::Ours => "gf-dot",
        Work::Published => "gf-hollow",
    };
    let p = |dx: f64, dy: f64| format!("{} {}", pixels(x + dx), pixels(y + dy));
    let path = match index % 4 {
        0 => {
            let (x, y) = (pixels(x), pixels(y));
            return format!("<circle class=\"gf-{index} {class}\" cx=\"{x}\" cy=\"{y}\" r=\"3.6\"/>\n");
        }
        1 => format!("M{}L{}L{}Z", p(0.0, -4.6), p(4.4, 3.4), p(-4.4, 3.4)),
        2 => format!("M{}h6.6v6.6h-6.6Z", p(-3.3, -3.3)),
        _ => format!("M{}L{}L{}L{}Z", p(0.0, -4.8), p(4.8, 0.0), p(0.0, 4.8), p(-4.8, 0.0)),
    };
    format!("<path class=\"gf-{index} {class}\" d=\"{path}\"/>\n")
}

fn draw_bars(
    index: usize,
    series: &Series,
    (bar, bars): (usize, usize),
    x: &Scaled,
    y: &Scaled,
    out: &mut String,
) {
    // The space of one bar group: the smallest distance between two places.
    let mut positions: Vec<f64> = series.points.iter().filter_map(|point| x.position(point.x)).collect();
    positions.sort_by(f64::total_cmp);
    let gaps = positions.windows(2).map(|two| two[1] - two[0]).filter(|gap| *gap > 0.01);
    let edges = (x.position(x.to).unwrap_or(0.0) - x.position(x.from).unwrap_or(0.0)).abs();
    let one = x.position(x.from + 1.0).map_or(40.0, |at| (at - x.position(x.from).unwrap_or(at)).abs());
    let gap =
        gaps.fold(f64::INFINITY, f64::min).min(if positions.len() < 2 { one.min(edges) } else { edges });
    let count = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    let (group, all) = (gap * 0.8, count(bars.max(1)));
    let wide = (group / all).max(0.5);
    // On a logarithmic axis bars stand on its lower end.
    let ground = y.position(0.0).or_else(|| y.position(y.from)).unwrap_or(0.0);
    let class = if series.work == Work::Ours { "gf-dot" } else { "gf-hollow" };
    for point in &series.points {
        let (Some(middle), Some(top)) = (x.position(point.x), y.position(point.y)) else { continue };
        let left = middle - group / 2.0 + wide * count(bar);
        let words = escape(&format!("{}: {}, {}", series.name, short(point.x), short(point.y)));
        let _ = writeln!(
            out,
            "<rect class=\"gf-{index} {class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{words}</title></rect>",
            pixels(left),
            pixels(top.min(ground)),
            pixels((wide - 1.0).max(0.5)),
            pixels((top - ground).abs())
        );
    }
}

fn errors(index: usize, series: &Series, x: &Scaled, y: &Scaled, out: &mut String) {
    let mut path = String::new();
    for point in &series.points {
        let Some((low, high)) = point.error else { continue };
        let (Some(x), Some(low), Some(high)) = (x.position(point.x), y.position(low), y.position(high))
        else {
            continue;
        };
        let _ = write!(path, "M{} {}h6m-3 0V{}m-3 0h6", pixels(x - 3.0), pixels(low), pixels(high));
    }
    if !path.is_empty() {
        let _ = writeln!(out, "<path class=\"gf-{index} gf-line gf-error\" d=\"{path}\"/>");
    }
}

fn area(index: usize, points: &[(f64, f64, f64)], x: &Scaled, y: &Scaled, out: &mut String) {
    let at = |&(value, low, high): &(f64, f64, f64)| {
        Some((x.position(value)?, y.position(low)?, y.position(high)?))
    };
    let positions: Vec<Option<(f64, f64, f64)>> = points.iter().map(at).collect();
    for run in positions.split(Option::is_none) {
        let run: Vec<(f64, f64, f64)> = run.iter().copied().flatten().collect();
        let Some(first) = run.first() else { continue };
        let mut path = format!("M{} {}", pixels(first.0), pixels(first.2));
        for (x, _, high) in &run[1..] {
            let _ = write!(path, "L{} {}", pixels(*x), pixels(*high));
        }
        for (x, low, _) in run.iter().rev() {
            let _ = write!(path, "L{} {}", pixels(*x), pixels(*low));
        }
        let _ = writeln!(out, "<path class=\"gf-band gf-{index}\" d=\"{path}Z\"/>");
    }
}
