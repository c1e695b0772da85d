//! Figures in a report.

use super::Files;
use super::files::part_links;
use super::html::table;
use super::numbers::{figure_row, or_dash};
use crate::evaluate::FigureNumbers;
use guestright_figure::FigureError;
use maud::{Markup, PreEscaped, html};

pub(super) fn html(figure: &FigureNumbers, id: &str, files: &Files) -> Markup {
    let svg = figure.svg();
    let drawn = svg.is_ok().then_some(figure.id.as_str());
    html! {
        figure id={ (id) "-figure-" (figure.id) } {
            (picture(svg))
            figcaption { (caption(figure)) } "\n"
            details.rows {
                summary { "The rows behind this figure" }
                p { (part_links(&figure.csv(), &figure.id, "Every seed of this figure", drawn, files)) } "\n"
                (points(figure))
            }
        }
        "\n"
    }
}

/// A picture, or why there is none.
pub(super) fn picture(svg: Result<String, FigureError>) -> Markup {
    html! {
        div.picture {
            @match svg {
                Ok(svg) => { (PreEscaped(svg)) }
                Err(error) => { p { (error) } }
            }
        }
        "\n"
    }
}

fn points(figure: &FigureNumbers) -> Markup {
    let ends = |point: &[f64]| {
        let ends = point.get(2..).unwrap_or_default();
        ends.iter().map(|end| or_dash(Some(*end))).collect::<Vec<_>>().join(" … ")
    };
    let head = html! {
        th { "Series" }
        th.number { @if figure.x_label.is_empty() { "x" } @else { (figure.x_label) } }
        th.number { (figure.y_label) }
        th { "95 % interval" } th { "By seed" } th { "Seeds" }
    };
    let rows = html! {
        @for series in &figure.series {
            @for point in &series.points {
                @let [x, y, interval, spread, seeds] = figure_row(point);
                "\n"
                tr {
                    td { (series.name) }
                    @for number in [x, y] { td.number { (number) } }
                    @for words in [interval, spread, seeds] { td { (words) } }
                }
            }
        }
        @for series in &figure.published {
            @for point in &series.points {
                "\n"
                tr {
                    td.published { (series.name) }
                    @for index in [0, 1] { td.number.published { (or_dash(point.get(index).copied())) } }
                    td { (ends(point)) }
                    td {}
                    td { "published" }
                }
            }
        }
    };
    table("wide", &head, &rows)
}

/// The plan's note, and what the marks mean that are there.
fn caption(figure: &FigureNumbers) -> String {
    let points = || figure.series.iter().flat_map(|series| &series.points);
    let has = |ends: Option<(f64, f64)>| ends.is_some_and(|(low, high)| low < high);
    let band = match figure.band.as_str() {
        "interval" if points().any(|point| has(point.estimate.interval)) => "95 % interval of the mean.",
        "range" if points().any(|point| has(point.estimate.range)) => {
            "from the least to the most of the seeds."
        }
        _ => "",
    };
    let mark = if figure.x_names.is_empty() { "Shaded" } else { "Whiskers" };
    let band = if band.is_empty() { String::new() } else { format!("{mark}: {band}") };
    let theirs = if figure.published.is_empty() { "" } else { "Hollow and dashed: published." };
    let words = [figure.note.trim(), &band, theirs];
    words.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" ")
}
