//! Figures of a stream's course.

use crate::words::rated;
use guestright_capture::{Part, RowLine, StreamReport};
use guestright_figure::{Axis, Band, Chart, Marks, Point, Range, Series, Threshold};

const WIDTH: u32 = 760;

/// MOS, loss, jitter and delay, second by second; those of which something is known.
pub(crate) fn of(stream: &StreamReport, part: &Part) -> Vec<Chart> {
    let mut charts = vec![loss(part)];
    charts.extend(score(stream, part));
    if part.clock_rate.is_some() {
        charts.push(jitter(part));
    }
    charts.extend(delay(part));
    charts.sort_by_key(|chart| !chart.title.starts_with("MOS"));
    charts
}

/// Whether all that is known of it is 0, so that there is nothing to see.
pub(crate) fn is_zero(chart: &Chart) -> bool {
    let points = || chart.series.iter().flat_map(|series| &series.points).filter(|point| point.y.is_finite());
    let bands = chart.bands.iter().flat_map(|band| &band.points);
    let mut ends = bands.flat_map(|(_, low, high)| [*low, *high]).filter(|end| end.is_finite());
    points().next().is_some() && points().all(|point| point.y == 0.0) && ends.all(|end| end == 0.0)
}

fn time() -> Axis {
    Axis { label: "seconds since the first packet".into(), range: Range::Zero, ..Axis::default() }
}

fn series(name: &str, marks: Marks, points: Vec<Point>) -> Series {
    Series { name: name.into(), marks, points, ..Series::default() }
}

/// A second as a step: its value from its start to its end.
fn steps(part: &Part, value: impl Fn(&RowLine) -> Option<f64>) -> Vec<Point> {
    let mut points = Vec::new();
    for row in &part.rows {
        let y = value(row).unwrap_or(f64::NAN);
        points.push(Point::new(row.start_s, y));
        points.push(Point::new(row.start_s + row.length_s, y));
    }
    points
}

fn score(stream: &StreamReport, part: &Part) -> Option<Chart> {
    let scores: Vec<_> = part.rows.iter().map(|row| stream.row_judgement(part, row)).collect();
    let found: Vec<_> =
        part.rows.iter().zip(&scores).map(|(row, judgement)| (row, rated(stream, judgement).ok())).collect();
    let some = found.iter().filter_map(|(_, rated)| rated.as_ref()).collect::<Vec<_>>();
    let first = some.first()?;
    let name = if first.at_most { "at most: the delay is not known" } else { "MOS" };
    let mut points = Vec::new();
    let mut band = Vec::new();
    for (row, rated) in &found {
        let mos = rated.as_ref().map(|rated| rated.opinion.mos);
        let y = mos.map_or(f64::NAN, |mos| if first.at_most { mos.high } else { mos.middle() });
        let (low, high) = mos.map_or((f64::NAN, f64::NAN), |mos| (mos.low, mos.high));
        for x in [row.start_s, row.start_s + row.length_s] {
            points.push(Point::new(x, y));
            band.push((x, low, high));
        }
    }
    let wide = some.iter().any(|rated| rated.opinion.mos.width() > 0.005);
    let bands =
        if wide { vec![Band { name: "by what the delay may be".into(), points: band }] } else { vec![] };
    let worst = some.iter().map(|rated| rated.opinion.mos.low).fold(f64::INFINITY, f64::min);
    Some(Chart {
        title: "MOS".into(),
        description: format!("Mean opinion score for each second, 1 to 4.5; at worst {worst:.2}."),
        x: time(),
        y: Axis { label: "MOS".into(), range: Range::From(1.0, 4.6), ..Axis::default() },
        series: vec![series(name, Marks::Line, points)],
        bands,
        thresholds: vec![Threshold { name: "3.6, acceptable".into(), y: 3.6 }],
        width: WIDTH,
        height: 260,
    })
}

fn loss(part: &Part) -> Chart {
    #[expect(clippy::cast_precision_loss, reason = "packets of a second")]
    let share =
        |some: u64, row: &RowLine| (row.expected > 0).then(|| some as f64 * 100.0 / row.expected as f64);
    let mut shown = vec![series("lost in the network", Marks::Line, steps(part, |row| share(row.lost, row)))];
    if part.clock_rate.is_some() {
        let discarded = |row: &RowLine| share(row.unplayed.saturating_sub(row.lost), row);
        shown.push(series("discarded by the buffer", Marks::Line, steps(part, discarded)));
    }
    let network = &part.summary.network;
    Chart {
        title: "Loss".into(),
        description: format!(
            "Per cent of the packets of each second; {} of {} in all.",
            network.lost, network.expected
        ),
        x: time(),
        y: Axis { label: "%".into(), range: Range::AtLeast(0.0, 1.0), ..Axis::default() },
        series: shown,
        width: WIDTH,
        height: 220,
        ..Chart::default()
    }
}

fn jitter(part: &Part) -> Chart {
    Chart {
        title: "Jitter".into(),
        description: "Interarrival jitter of RFC 3550 at the end of each second, in milliseconds.".into(),
        x: time(),
        y: Axis { label: "ms".into(), range: Range::AtLeast(0.0, 1.0), ..Axis::default() },
        series: vec![series("interarrival jitter, RFC 3550", Marks::Line, steps(part, |row| row.jitter_ms))],
        width: WIDTH,
        height: 220,
        ..Chart::default()
    }
}

fn delay(part: &Part) -> Option<Chart> {
    part.rows.iter().find_map(|row| row.delay_ms)?;
    let middle = |row: &RowLine| row.delay_ms.map(|delay| delay.middle());
    let ends = |row: &RowLine| {
        let (low, high) = row.delay_ms.map_or((f64::NAN, f64::NAN), |delay| (delay.low, delay.high));
        [(row.start_s, low, high), (row.start_s + row.length_s, low, high)]
    };
    Some(Chart {
        title: "One-way delay".into(),
        description: "Mean one-way delay of each second, in milliseconds, with the clocks' error.".into(),
        x: time(),
        y: Axis { label: "ms".into(), range: Range::Zero, ..Axis::default() },
        series: vec![series("mean", Marks::Line, steps(part, middle))],
        bands: vec![Band {
            name: "error of the clocks".into(),
            points: part.rows.iter().flat_map(ends).collect(),
        }],
        width: WIDTH,
        height: 220,
        ..Chart::default()
    })
}
