//! A claim and its verdict as HTML.

use super::html::table;
use super::numbers::{interval, or_dash, ours, sign, spread};
use crate::evaluate::{Judged, Part, Verdict};
use maud::{Markup, html};

/// With more numbers than this, their table scrolls within its frame.
const LONG: usize = 8;

/// The verdict's word with its colour and sign.
pub(super) fn badge(judged: Judged) -> Markup {
    let words = judged.words();
    html! { span class={ "verdict " (words.replace(' ', "-")) } { (sign(judged)) " " (words) } }
}

pub(super) fn claim(claim: &Verdict, id: &str) -> Markup {
    html! {
        details.claim {
            summary {
                (badge(claim.judged))
                @if claim.fitted { " " span.tag { "used to fit" } }
                @if claim.unclear { " " span.tag { "not sure at 95 %" } }
                " " (claim.text)
            }
            // A browser opens what is folded around the place that a link leads to.
            div id=(id) {
                "\n" p.soft { (about(claim)) "." } "\n"
                @if !claim.parts.is_empty() { (parts(&claim.parts)) }
                @for line in claim.reason.lines() { "\n" p { (line) } }
            }
        }
        "\n"
    }
}

/// What a claim is and what it is judged by, in a line without its full stop.
fn about(claim: &Verdict) -> String {
    let mut words = vec![format!("Claim {}", claim.id)];
    if !claim.source.is_empty() {
        words.push(claim.source.clone());
    }
    if claim.judged != Judged::Prediction {
        words.push(format!("expected: {}", claim.wanted));
    }
    match claim.parts.first() {
        Some(first) if claim.parts.iter().all(|part| part.quantity == first.quantity) => {
            words.push(format!("measured: {}, {}", quantity(first), claim.by));
        }
        _ => words.push(format!("measured: {}", claim.by)),
    }
    words.join("; ").trim_end_matches('.').to_owned()
}

/// What a number is, with its unit.
fn quantity(part: &Part) -> String {
    if part.unit.is_empty() { part.quantity.clone() } else { format!("{} ({})", part.quantity, part.unit) }
}

fn parts(parts: &[Part]) -> Markup {
    let named = parts.iter().any(|part| part.quantity != parts[0].quantity);
    let published = parts.iter().any(|part| part.published.is_some());
    let point = parts.iter().any(|part| !part.point.is_empty());
    let several = parts.iter().any(|part| part.judged != parts[0].judged);
    let head = html! {
        @if named { th { "Number" } }
        th { "Case" }
        @if point { th { "Point" } }
        @if published { th.number { "Published" } }
        th.number { "Measured" } th { "95 % interval" } th { "By seed" }
        @if several { th { "Verdict" } }
    };
    let rows = html! {
        @for part in parts {
            "\n"
            tr {
                @if named { td { (quantity(part)) } }
                td { (part.case) }
                @if point { td { (part.point) } }
                @if published { td.number.published { (or_dash(part.published)) } }
                td.number { (ours(part)) }
                td { (interval(&part.estimate)) }
                td { (spread(&part.estimate)) }
                @if several { td { (badge(part.judged)) } }
            }
        }
    };
    table(if parts.len() > LONG { "wide" } else { "scroll" }, &head, &rows)
}
