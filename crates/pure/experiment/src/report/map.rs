//! Maps in a report.

use super::Files;
use super::figure::picture;
use super::files::part_links;
use super::html::{paragraphs, table};
use crate::evaluate::{Evaluation, Held, MapNumbers, WhereHeld};
use maud::{Markup, html};
use std::fmt::Write;

pub(super) fn html(map: &MapNumbers, id: &str, files: &Files) -> Markup {
    let svg = map.svg();
    let drawn = svg.is_ok().then_some(map.id.as_str());
    let words = if map.claim.is_some() { "Every cell of this map" } else { "Every seed of this map" };
    html! {
        figure id={ (id) "-map-" (map.id) } {
            (picture(svg))
            figcaption {
                @if let (Some(claim), Some(held)) = (&map.claim, &map.where_held) {
                    p {
                        "Claim " a href={ "#" (id) "-claim-" (claim) } { (claim) }
                        ": " (map.what) "; expected: " (map.wanted) ". In each cell is the number that decides."
                    }
                    p { strong { (held.words()) } }
                }
                (paragraphs(&map.note))
            }
            "\n"
            details.rows {
                summary { "The rows behind this map" }
                p { (part_links(&map.csv(), &map.id, words, drawn, files)) } "\n"
                @if let Some(held) = &map.where_held { (by_axis(held)) }
            }
        }
        "\n"
    }
}

fn by_axis(held: &WhereHeld) -> Markup {
    let head = html! {
        th { "Axis" } th { "Value" } th.number { "Holds" } th.number { "Does not hold" }
        th.number { "Cannot be computed" }
    };
    let rows = html! {
        @for (axis, values) in &held.by_axis {
            @for (value, Held { holds, fails, unknown }) in values {
                "\n"
                tr {
                    td { (axis) }
                    td { (value) }
                    @for count in [holds, fails, unknown] { td.number { (count) } }
                }
            }
        }
    };
    table("wide", &head, &rows)
}

pub(super) fn text(evaluation: &Evaluation, out: &mut String) {
    if evaluation.maps.is_empty() {
        return;
    }
    out.push_str("\nMaps\n");
    for map in &evaluation.maps {
        let _ = writeln!(out, "  {} ({})", map.title, map.id);
        match (&map.claim, &map.where_held) {
            (Some(claim), Some(held)) => {
                let _ = writeln!(out, "      claim {claim}: {}", held.words());
            }
            _ => {
                let _ = writeln!(out, "      {}", map.description());
            }
        }
    }
}
