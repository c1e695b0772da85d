//! Every claim in a line, and the choice of those that are shown. It works without a script.

use super::html::{heading, prefix};
use super::numbers::{interval, or_dash, ours, sign};
use super::verdict::badge;
use crate::evaluate::{Evaluation, Judged, Part, Tally, Verdict};
use maud::{Markup, html};

/// With more numbers than this, a line counts them; the card has them.
const SHOWN_MAX: usize = 3;

/// What the reader can choose, with the count that decides whether it is offered.
const CHOICES: [(Judged, &str); 4] = [
    (Judged::Reproduces, "reproduced"),
    (Judged::DoesNotReproduce, "not reproduced"),
    (Judged::CannotBeComputed, "cannot be computed"),
    (Judged::Prediction, "predicted"),
];

/// All claims of all evaluations, an experiment after the other.
pub(super) fn table(evaluations: &[Evaluation]) -> Markup {
    let with_claims = || evaluations.iter().enumerate().filter(|(_, one)| !one.claims.is_empty());
    let head = html! {
        tr {
            th { "Claim" } th { "Published or expected" } th { "Measured" } th { "95 % interval" } th { "Verdict" }
        }
    };
    html! {
        @if with_claims().next().is_some() {
            section.claims {
                h2 #claims { "Claims" } "\n"
                p { (Tally::of(evaluations).words()) "." } "\n"
                (filter(evaluations)) "\n"
                div.scroll {
                    table {
                        thead { (head) }
                        @for (index, evaluation) in with_claims() {
                            "\n"
                            tbody {
                                @if with_claims().count() > 1 {
                                    tr.of { th colspan="5" { a href={ "#" (prefix(index)) } { (heading(evaluation)) } } }
                                }
                                @for claim in &evaluation.claims { "\n" (line(claim, &prefix(index))) }
                            }
                        }
                    }
                }
            }
            "\n"
        }
    }
}

/// Which claims are shown: radio buttons that the style sheet looks at.
fn filter(evaluations: &[Evaluation]) -> Markup {
    let count = |judged| evaluations.iter().map(|one| one.count(judged)).sum::<usize>();
    let all: usize = evaluations.iter().map(|one| one.claims.len()).sum();
    let offered = || CHOICES.iter().filter(|(judged, _)| count(*judged) > 0);
    html! {
        @if offered().count() > 1 {
            fieldset.filter {
                legend { "Show" }
                input #show-all type="radio" name="show" checked;
                label for="show-all" { "all " (all) }
                @for (judged, words) in offered() {
                    @let id = format!("show-{}", class(*judged));
                    input id=(id) type="radio" name="show";
                    label for=(id) { (sign(*judged)) " " (count(*judged)) " " (words) }
                }
            }
        }
    }
}

/// The verdict as a part of a class's name; the style sheet knows all four.
fn class(judged: Judged) -> String {
    judged.words().replace(' ', "-")
}

fn line(claim: &Verdict, id: &str) -> Markup {
    html! {
        tr class={ "is-" (class(claim.judged)) } {
            td.what title=(claim.text) {
                div { (sign(claim.judged)) " " a href={ "#" (id) "-claim-" (claim.id) } { (claim.text) } }
            }
            td { (expected(claim)) }
            td { (measured(claim)) }
            td { (intervals(claim)) }
            td {
                (badge(claim.judged))
                @if claim.fitted { " " span.tag { "used to fit" } }
                @if claim.unclear { " " span.tag { "not sure at 95 %" } }
            }
        }
    }
}

/// What is published; where no number is, or there are many, what the plan expects.
fn expected(claim: &Verdict) -> String {
    let published = || claim.parts.iter().filter(|part| part.published.is_some()).count();
    if claim.parts.len() <= SHOWN_MAX && published() > 0 {
        return each(&claim.parts, |part| or_dash(part.published));
    }
    if claim.judged == Judged::Prediction { "–".to_owned() } else { claim.wanted.clone() }
}

fn measured(claim: &Verdict) -> String {
    let parts = &claim.parts;
    let Some(first) = parts.first() else { return "–".to_owned() };
    if parts.len() > SHOWN_MAX {
        let open = parts.iter().filter(|part| is_open(part.judged)).count();
        let open = if open > 0 { format!(", {open} outside") } else { String::new() };
        return format!("{} numbers{open}", parts.len());
    }
    let unit = if parts.iter().all(|part| part.unit == first.unit) { first.unit.as_str() } else { "" };
    format!("{} {unit}", each(parts, ours)).trim_end().to_owned()
}

fn intervals(claim: &Verdict) -> String {
    let some = claim.parts.iter().any(|part| part.estimate.interval.is_some());
    if claim.parts.len() > SHOWN_MAX || !some {
        return String::new();
    }
    each(&claim.parts, |part| {
        Some(interval(&part.estimate)).filter(|text| !text.is_empty()).unwrap_or("–".to_owned())
    })
}

fn each(parts: &[Part], words: impl Fn(&Part) -> String) -> String {
    parts.iter().map(words).collect::<Vec<_>>().join("; ")
}

pub(super) const fn is_open(judged: Judged) -> bool {
    matches!(judged, Judged::DoesNotReproduce | Judged::CannotBeComputed)
}
