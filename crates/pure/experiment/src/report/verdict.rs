//! A claim and its verdict as HTML.

use super::html::table;
use super::numbers::{interval, or_dash, ours, sign, spread};
use crate::evaluate::{Judged, Part, Verdict};
use maud::{Markup, html};

/// With more numbers than this, they are folded away.
const OPEN_MAX: usize = 8;

/// The verdict's word with its colour and sign.
pub(super) fn badge(judged: Judged) -> Markup {
    let words = judged.words();
    html! { span class={ "verdict " (words.replace(' ', "-")) } { (sign(judged)) " " (words) } }
}

pub(super) fn claim(claim: &Verdict, id: &str) -> Markup {
    html! {
        div.claim id=(id) {
            p {
                (badge(claim.judged))
                @if claim.fitted { " " span.tag { "used to fit" } }
                @if claim.unclear { " " span.tag { "not sure at 95 %" } }
            }
            "\n" p { strong { (claim.text) } }
            "\n" p.soft { (about(claim)) "." } "\n"
            @if claim.parts.len() > OPEN_MAX {
                details.rows { summary { (claim.parts.len()) " numbers" } (parts(&claim.parts)) }
            } @else if !claim.parts.is_empty() {
                (parts(&claim.parts))
            }
            @for line in claim.reason.lines() { "\n" p { (line) } }
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
        words.push(format!("wanted: {}", claim.wanted));
    }
    match claim.parts.first() {
        Some(first) if claim.parts.iter().all(|part| part.quantity == first.quantity) => {
            words.push(format!("ours: {}, {}", quantity(first), claim.by));
        }
        _ => words.push(format!("ours: {}", claim.by)),
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
        th.number { "Ours" } th { "95 % interval" } th { "Seeds" }
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
    table("scroll", &head, &rows)
}
