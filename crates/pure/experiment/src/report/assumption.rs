//! What was assumed, and how much it matters.

use super::html::{paragraphs, table};
use super::numbers::{or_dash, sign};
use crate::evaluate::{AssumptionNumbers, Effect, Evaluation};
use guestright_figure::short;
use maud::{Markup, html};
use std::collections::BTreeSet;
use std::fmt::Write;

pub(super) fn html(evaluation: &Evaluation, id: &str) -> Markup {
    html! {
        @if !evaluation.assumptions.is_empty() {
            h3 id={ (id) "-assumptions" } { "What was assumed, and how much it matters" }
            @for one in &evaluation.assumptions { (assumption(one, id)) "\n" }
        }
    }
}

fn assumption(one: &AssumptionNumbers, id: &str) -> Markup {
    let settings: Vec<String> =
        one.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    html! {
        details.claim {
            summary { (one.text) small { (outcome(one)) } } "\n"
            @if !settings.is_empty() { p.soft { (settings.join("; ")) "." } "\n" }
            (paragraphs(&one.why))
            @if !one.effects.is_empty() { (effects(one, id)) }
            @if !one.untouched.is_empty() && !one.varied.is_empty() {
                p.soft { "Does not bear on, or is said by: " (one.untouched.join(", ")) "." }
            }
        }
    }
}

fn effects(one: &AssumptionNumbers, id: &str) -> Markup {
    let head = html! {
        th { "Claim" } @for value in &one.values { th.number { (value) } } th { "Least … most" } th { "Verdict" }
    };
    let rows = html! {
        @for effect in &one.effects {
            "\n"
            tr {
                td { a href={ "#" (id) "-claim-" (effect.claim) } { (effect.claim) } small { (effect.text) } }
                @for (index, of) in effect.of.iter().enumerate() {
                    td.number title=(of) {
                        @if index == effect.base { strong { (cell(effect, index)) } } @else { (cell(effect, index)) }
                    }
                }
                td { (range(effect)) }
                td { (verdict(one, effect)) }
            }
        }
    };
    html! { (table("scroll", &head, &rows)) "\n" }
}

/// `0.93 ✓`
fn cell(effect: &Effect, index: usize) -> String {
    let unsure = if effect.unclear[index] { "≈" } else { "" };
    format!("{}\u{a0}{unsure}{}", or_dash(effect.numbers[index]), sign(effect.judged[index]))
}

/// How far ours goes, with its unit.
fn range(effect: &Effect) -> String {
    let Some((least, most)) = effect.range else { return "–".to_owned() };
    format!("{}\u{a0}… {} {}", short(least), short(most), effect.unit).trim_end().to_owned()
}

/// Where the verdict is another.
fn verdict(one: &AssumptionNumbers, effect: &Effect) -> String {
    let base = effect.judged[effect.base];
    let others = effect.judged.iter().zip(&one.values).filter(|(judged, _)| **judged != base);
    let others: Vec<String> =
        others.map(|(judged, value)| format!("{} at {value}", judged.words())).collect();
    if others.is_empty() {
        return format!("stays: {}", base.words());
    }
    format!("{}; {}", base.words(), others.join("; "))
}

/// What became of the claims, in a sentence.
fn outcome(one: &AssumptionNumbers) -> String {
    if one.varied.is_empty() {
        return "Not varied.".to_owned();
    }
    let (changing, all) = (one.changing().count(), one.effects.len());
    let tried = one.values.join(", ");
    let ids: Vec<&str> = one.changing().map(|effect| effect.claim.as_str()).collect();
    let which = if ids.is_empty() { String::new() } else { format!(": {}", ids.join(", ")) };
    let of = if one.varied == "case" { String::new() } else { format!("{} = ", one.varied) };
    format!("Varied: {of}{tried}. {changing} of {all} verdicts change{which}. {}", survival(one))
        .trim_end()
        .to_owned()
}

/// How many of the claims that reproduce as assumed do so otherwise.
fn survival(one: &AssumptionNumbers) -> String {
    let (well, with) = one.surviving();
    let bases: BTreeSet<usize> = one.effects.iter().map(|effect| effect.base).collect();
    let others = with.iter().zip(&one.values).enumerate().filter(|(index, _)| !bases.contains(index));
    let others: Vec<String> = others.map(|(_, (count, value))| format!("{count} with {value}")).collect();
    if well == 0 || others.is_empty() {
        return String::new();
    }
    format!("Of {well} that reproduce as assumed, there are left: {}.", others.join(", "))
}

/// Every assumption of every experiment in a line, for those who look for what a finding hangs on.
pub(super) fn summary(evaluations: &[Evaluation]) -> Markup {
    let changing = |one: &AssumptionNumbers| one.changing().count();
    let head = html! {
        th { "Experiment" } th { "Assumption" } th { "Verdicts that stay" } th { "Verdicts that change" }
        th { "Reproduce as assumed, and otherwise" }
    };
    let rows = html! {
        @for (index, evaluation) in evaluations.iter().enumerate() {
            @for one in &evaluation.assumptions {
                "\n"
                tr {
                    td { a href={ "#p" (index + 1) "-assumptions" } { (evaluation.title) } }
                    td { (one.text) }
                    td.number { (one.effects.len() - changing(one)) }
                    td.number { (changing(one)) }
                    td { (survival(one)) }
                }
            }
        }
    };
    html! {
        @if evaluations.iter().any(|evaluation| !evaluation.assumptions.is_empty()) {
            h3 { "What was assumed" }
            details.rows {
                summary { "Every assumption, and what becomes of the verdicts without it" }
                (table("wide", &head, &rows))
            }
            "\n"
        }
    }
}

pub(super) fn text(evaluation: &Evaluation, out: &mut String) {
    if evaluation.assumptions.is_empty() {
        return;
    }
    out.push_str("\nAssumptions\n");
    for one in &evaluation.assumptions {
        let _ = writeln!(out, "  {}\n      {}", one.text.trim(), outcome(one));
        for effect in one.changing() {
            let cells = (0..effect.numbers.len())
                .map(|index| format!("{}: {}", one.values[index], cell(effect, index)));
            let cells: Vec<String> = cells.collect();
            let _ = writeln!(out, "      {}: {}", effect.claim, cells.join("; "));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::Judged;

    const YES: Judged = Judged::Reproduces;
    const NO: Judged = Judged::DoesNotReproduce;

    fn effect(claim: &str, base: usize, judged: [Judged; 3]) -> Effect {
        Effect {
            claim: claim.to_owned(),
            text: String::new(),
            base,
            of: vec![String::new(); 3],
            unit: "ms".to_owned(),
            numbers: vec![Some(1.0), None, Some(3.0)],
            changes: judged.iter().any(|other| *other != judged[base]),
            judged: judged.to_vec(),
            unclear: vec![false, false, true],
            range: Some((1.0, 3.0)),
        }
    }

    fn assumption(varied: &str, effects: Vec<Effect>) -> AssumptionNumbers {
        AssumptionNumbers {
            text: String::new(),
            why: String::new(),
            settings: Vec::new(),
            varied: varied.to_owned(),
            values: ["1", "2", "3"].map(str::to_owned).to_vec(),
            effects,
            untouched: Vec::new(),
        }
    }

    #[test]
    fn an_outcome_counts_what_changes_and_what_is_left() {
        let some = vec![
            effect("a", 0, [YES, NO, YES]),
            effect("b", 0, [YES, YES, YES]),
            effect("c", 0, [NO, NO, YES]),
        ];
        let one = assumption("delay_ms", some);
        assert_eq!(one.surviving(), (2, vec![2, 1, 2]), "c does not reproduce as assumed");
        assert_eq!(
            outcome(&one),
            "Varied: delay_ms = 1, 2, 3. 2 of 3 verdicts change: a, c. Of 2 that reproduce as assumed, there are left: \
             1 with 2, 2 with 3."
        );
        let stays = assumption("case", vec![effect("c", 1, [NO, NO, NO])]);
        assert_eq!(outcome(&stays), "Varied: 1, 2, 3. 0 of 1 verdicts change.");
        assert_eq!(outcome(&assumption("", Vec::new())), "Not varied.");
    }

    #[test]
    fn a_cell_has_its_sign_and_says_if_it_is_not_sure() {
        let one = effect("a", 0, [YES, Judged::CannotBeComputed, NO]);
        assert_eq!([0, 1, 2].map(|index| cell(&one, index)), ["1\u{a0}✓", "–\u{a0}?", "3\u{a0}≈✗"]);
        assert_eq!(range(&one), "1\u{a0}… 3 ms");
        assert_eq!(range(&Effect { range: None, ..one.clone() }), "–");
        assert_eq!(range(&Effect { unit: String::new(), ..one.clone() }), "1\u{a0}… 3");
        let of = assumption("case", Vec::new());
        assert_eq!(verdict(&of, &one), "reproduces; cannot be computed at 2; does not reproduce at 3");
        assert_eq!(verdict(&of, &effect("a", 1, [NO, NO, NO])), "stays: does not reproduce");
        let evil = AssumptionNumbers { values: ["<i>", "&", "'"].map(str::to_owned).to_vec(), ..of };
        let one = effect("a", 1, [NO, YES, NO]);
        assert_eq!(verdict(&evil, &one), "reproduces; does not reproduce at <i>; does not reproduce at '");
        let page = effects(&AssumptionNumbers { effects: vec![one], ..evil }, "p1").into_string();
        assert!(
            page.contains("<td>reproduces; does not reproduce at &lt;i&gt;; does not reproduce at '</td>"),
            "{page}"
        );
        assert!(page.contains("<th class=\"number\">&amp;</th>"), "{page}");
    }
}
