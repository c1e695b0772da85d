//! The page.

use super::claims::is_open;
use super::files::{all_rows, part_links};
use super::numbers::{cases, count, from_curve, interval, or_dash, spread};
use super::style::STYLE;
use super::verdict::{badge, claim};
use super::{Files, Provenance};
use super::{assumption, claims, figure, map};
use crate::evaluate::{
    Cell, Evaluation, Judged, MeasureNumbers, PaperText, SettingLine, Standing, TableNumbers, Verdict,
};
use crate::plan::Platform;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const ALL: [Judged; 4] =
    [Judged::Reproduces, Judged::DoesNotReproduce, Judged::CannotBeComputed, Judged::Prediction];

/// How many numbers made from curves a page prints; more are in the JSON beside it only.
const MEASURES_MAX: usize = 2_000;

/// With more rows than this, a table scrolls within its frame.
const ROWS_OPEN: usize = 40;

/// With more lines than this, the list of what does not fit is folded.
const UNFIT_OPEN: usize = 12;

pub(super) fn page(evaluations: &[Evaluation], provenance: &Provenance) -> String {
    let title = title(evaluations, provenance);
    let none = Files::default();
    // Beside the text where there is room, above it and folded away where there is none.
    let list = contents(evaluations);
    let page = html! {
        (DOCTYPE) "\n"
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            "\n"
            body {
                nav.side { p { "Contents" } (list) }
                nav.top { details { summary { "Contents" } (list) } }
                main {
                    "\n" h1 #top { (title) } "\n"
                    (of_papers(evaluations, &title))
                    (facts(&provenance.head))
                    (claims::table(evaluations))
                    (summary(evaluations))
                    @for (index, evaluation) in evaluations.iter().enumerate() {
                        (plan(evaluation, &prefix(index), provenance.files.get(index).unwrap_or(&none)))
                    }
                    h2 #provenance { "How this report came about" }
                    (facts(&provenance.facts))
                }
            }
        }
        "\n"
    };
    page.into_string()
}

/// The papers that the experiments are of, each once.
fn papers(evaluations: &[Evaluation]) -> Vec<&PaperText> {
    let mut papers: Vec<&PaperText> = Vec::new();
    for paper in evaluations.iter().filter_map(|one| one.paper.as_ref()) {
        if !papers.contains(&paper) {
            papers.push(paper);
        }
    }
    papers
}

/// What is above everything.
fn title(evaluations: &[Evaluation], provenance: &Provenance) -> String {
    if !provenance.title.is_empty() {
        return provenance.title.clone();
    }
    match (evaluations, papers(evaluations).as_slice()) {
        (all, [paper]) if all.iter().all(|one| one.paper.is_some()) => {
            format!("{}: {}", paper.name, paper.title)
        }
        ([one], _) => heading(one),
        _ => "Laboratory report".to_owned(),
    }
}

/// Who wrote the papers, and what the title does not say of them.
fn of_papers(evaluations: &[Evaluation], title: &str) -> Markup {
    let words = |paper: &PaperText| {
        let name = format!("{}: {}", paper.name, paper.title);
        let name = if name == title { String::new() } else { name };
        let words = [name.as_str(), paper.authors.as_str(), paper.published.as_str()]
            .map(|word| word.trim_end_matches('.'));
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        words.join(". ")
    };
    html! {
        @for paper in papers(evaluations) {
            @let words = words(paper);
            @if !words.is_empty() { p.lead { (words) "." } "\n" }
        }
    }
}

fn facts(facts: &[(String, String)]) -> Markup {
    html! {
        @if !facts.is_empty() {
            dl { @for (name, value) in facts { "\n" dt { (name) } dd { (value) } } }
            "\n"
        }
    }
}

/// What the ids of a plan begin with; the same plan may be there twice.
pub(super) fn prefix(index: usize) -> String {
    format!("p{}", index + 1)
}

fn contents(evaluations: &[Evaluation]) -> Markup {
    html! {
        ol {
            "\n" li { a href="#top" { "Top" } }
            @if evaluations.iter().any(|one| !one.claims.is_empty()) { "\n" li { a href="#claims" { "Claims" } } }
            @for (index, evaluation) in evaluations.iter().enumerate() {
                "\n" li { (contents_of(evaluation, &prefix(index))) }
            }
            "\n" li { a href="#provenance" { "How this report came about" } }
        }
        "\n"
    }
}

fn contents_of(evaluation: &Evaluation, id: &str) -> Markup {
    let maps = evaluation.maps.iter().map(|map| ("map", &map.id, &map.title));
    let figures = evaluation.figures.iter().map(|figure| ("figure", &figure.id, &figure.title));
    let tables = evaluation.tables.iter().map(|table| ("table", &table.id, &table.title));
    html! {
        a href={ "#" (id) } { (heading(evaluation)) }
        ol {
            @if !evaluation.claims.is_empty() {
                "\n" li { a href={ "#" (id) "-claims" } { "Claims one by one" } }
            }
            @if !evaluation.assumptions.is_empty() {
                "\n" li { a href={ "#" (id) "-assumptions" } { "Assumptions" } }
            }
            @for (kind, name, title) in maps.chain(figures).chain(tables) {
                "\n" li { a href={ "#" (id) "-" (kind) "-" (name) } { (title) } }
            }
        }
    }
}

pub(super) fn heading(evaluation: &Evaluation) -> String {
    let platform = evaluation.platform;
    let platform = if platform == Platform::Sim { String::new() } else { format!(" ({})", platform.name()) };
    format!("{}{platform}", evaluation.title)
}

fn summary(evaluations: &[Evaluation]) -> Markup {
    let all = || evaluations.iter().enumerate().map(|(index, one)| (one, prefix(index)));
    let open: Vec<Markup> = all().flat_map(|(one, id)| unfit(one, &id)).collect();
    let head = html! {
        th { "Experiment" } @for judged in ALL { th { (badge(judged)) } } th.number { "Runs" }
    };
    let rows = html! {
        @for (evaluation, id) in all() {
            "\n"
            tr {
                td { a href={ "#" (id) } { (heading(evaluation)) } @if evaluation.quick { small { "quick" } } }
                @for judged in ALL { td.number { (count(evaluation, judged)) } }
                td.number {
                    (evaluation.runs) @if evaluation.missing > 0 { small { (evaluation.missing) " missing" } }
                }
            }
        }
    };
    html! {
        @if evaluations.len() > 1 || evaluations.iter().any(|one| one.quick || one.missing > 0) {
            (table("scroll", &head, &rows)) "\n"
        }
        @if !open.is_empty() {
            details.fold open[open.len() <= UNFIT_OPEN] {
                summary { "What does not fit (" (open.len()) ")" }
                ul { @for line in &open { "\n" (line) } }
            }
            "\n"
        }
        (assumption::summary(evaluations))
        p.soft {
            "A claim reproduces if what was measured is within the band that the plan states; the band was written down \
             with the claim. Intervals are Student's, at 95 %, over the seeds; \u{201c}by seed\u{201d} is what single seeds \
             gave. What was used to fit a setting confirms only the fit."
        }
        "\n"
    }
}

/// The claims that do not reproduce or cannot be computed, a line of a list for each.
fn unfit(evaluation: &Evaluation, id: &str) -> Vec<Markup> {
    let line = |claim: &Verdict| {
        let failing = claim.parts.iter().filter(|part| is_open(part.judged)).count();
        html! {
            li {
                (badge(claim.judged)) " " (heading(evaluation)) ": "
                a href={ "#" (id) "-claim-" (claim.id) } { (claim.text) }
                small {
                    @if claim.parts.len() > 1 { (failing) " of " (claim.parts.len()) " numbers; " }
                    (claim.reason.lines().next().unwrap_or_default())
                }
            }
        }
    };
    evaluation.claims.iter().filter(|claim| is_open(claim.judged)).map(line).collect()
}

fn plan(evaluation: &Evaluation, id: &str, files: &Files) -> Markup {
    html! {
        section {
            "\n" h2 id=(id) { (heading(evaluation)) } "\n"
            (paragraphs(&evaluation.question))
            p.soft { (what_ran(evaluation)) "." } "\n"
            (all_rows(files, &evaluation.name))
            @if !evaluation.claims.is_empty() {
                details.fold {
                    summary { "Claims one by one (" (evaluation.claims.len()) ")" }
                    div id={ (id) "-claims" } {
                        @for one in &evaluation.claims { "\n" (claim(one, &format!("{id}-claim-{}", one.id))) }
                    }
                }
                "\n"
            }
            @for one in &evaluation.maps { (map::html(one, id, files)) }
            (assumption::html(evaluation, id))
            @for note in &evaluation.notes {
                h3 { (note.title) } "\n"
                (paragraphs(&note.text))
            }
            @if !evaluation.figures.is_empty() {
                div.figures { @for one in &evaluation.figures { "\n" (figure::html(one, id, files)) } }
                "\n"
            }
            @for one in &evaluation.tables {
                h3 id={ (id) "-table-" (one.id) } { (one.title) } "\n"
                (grid(one))
                (paragraphs(&one.note))
                p.soft { (part_links(&one.csv(), &one.id, "This table", None, files)) } "\n"
            }
            (measures(&evaluation.measures, evaluation))
            (fits(evaluation))
            (settings(evaluation))
        }
        "\n"
    }
}

/// What ran, where and how much of it, in a line without its full stop.
fn what_ran(evaluation: &Evaluation) -> String {
    let mut words = vec![
        format!("Plan {}", evaluation.name),
        format!("testbed {} on {}", evaluation.testbed, evaluation.platform.name()),
        format!("{} runs, {} for each point", evaluation.runs, evaluation.seeds),
        format!("{} packets, {} events", evaluation.packets, evaluation.events),
    ];
    if evaluation.quick {
        words.push("the quick version".to_owned());
    }
    if evaluation.missing > 0 {
        words.push(format!("{} runs are missing", evaluation.missing));
    }
    if !evaluation.source.is_empty() {
        words.push(format!("published figures: {}", evaluation.source));
    }
    words.join("; ").trim_end_matches('.').to_owned()
}

pub(super) fn paragraphs(text: &str) -> Markup {
    html! {
        @for paragraph in text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
            p { (paragraph) } "\n"
        }
    }
}

/// A table within a frame that scrolls.
pub(super) fn table(frame: &str, head: &Markup, rows: &Markup) -> Markup {
    html! { div class=(frame) { table { thead { tr { (head) } } tbody { (rows) } } } }
}

fn grid(numbers: &TableNumbers) -> Markup {
    let class = |cell: &Cell| match (cell.number.is_some(), cell.published) {
        (true, true) => Some("number published"),
        (true, false) => Some("number"),
        (false, true) => Some("published"),
        (false, false) => None,
    };
    let head = html! { @for head in &numbers.head { th { (head) } } };
    let rows = html! {
        @for row in &numbers.rows {
            "\n"
            tr {
                @for cell in row {
                    td class=[class(cell)] { (cell.text) @if !cell.spread.is_empty() { small { (cell.spread) } } }
                }
            }
        }
    };
    let frame = if numbers.rows.len() > ROWS_OPEN { "wide" } else { "scroll" };
    html! { (table(frame, &head, &rows)) "\n" }
}

fn measures(measures: &[MeasureNumbers], evaluation: &Evaluation) -> Markup {
    let got: usize = measures.iter().map(|measure| measure.numbers.len()).sum();
    if got > MEASURES_MAX {
        return html! {
            p.soft { (got) " numbers were made from the curves, too many for this page." } "\n"
        };
    }
    let title = |name: &str| {
        let case = evaluation.cases.iter().find(|case| case.name == name);
        case.map_or("", |case| case.title.as_str())
    };
    let point = |at: &std::collections::BTreeMap<String, crate::value::Value>| {
        at.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
    };
    let head = html! {
        th { "Number" } th { "Case" } th { "Point" } th.number { "Mean of the seeds" } th { "95 % interval" }
        th { "By seed" } th.number { "From the mean curve" }
    };
    let rows = html! {
        @for (measure, number) in measures.iter().flat_map(|one| one.numbers.iter().map(move |number| (one, number))) {
            @let estimate = &number.estimate;
            "\n"
            tr {
                td { (measure.title) @if !measure.unit.is_empty() { " (" (measure.unit) ")" } }
                td { (title(&number.case)) }
                td { (point(&number.at)) }
                td.number { (or_dash(estimate.mean)) }
                td { (interval(estimate)) }
                td { (spread(estimate)) }
                td.number { (from_curve(estimate)) small { (estimate.why.as_deref().unwrap_or_default()) } }
            }
        }
    };
    html! {
        @if got > 0 {
            details.rows { summary { "Every number made from the curves" } (table("wide", &head, &rows)) } "\n"
        }
    }
}

fn fits(evaluation: &Evaluation) -> Markup {
    if evaluation.fits.is_empty() && !evaluation.claims.iter().any(|claim| claim.fitted) {
        return Markup::default();
    }
    let named = |which: &dyn Fn(&Verdict) -> bool| {
        let claims = evaluation.claims.iter().filter(|claim| which(claim));
        claims.map(|claim| claim.id.as_str()).collect::<Vec<_>>().join(", ")
    };
    let is_prediction = |claim: &Verdict| claim.judged == Judged::Prediction;
    let lists = [
        ("Claims used to fit", named(&|claim| claim.fitted && !is_prediction(claim))),
        ("Claims not used to fit", named(&|claim| !claim.fitted && !is_prediction(claim))),
        ("Predictions", named(&is_prediction)),
    ];
    let settings = |settings: &[(String, String)]| {
        settings.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
    };
    html! {
        h3 { "What was fitted, and what is prediction" }
        ul {
            @for fit in &evaluation.fits {
                "\n"
                li {
                    strong { (settings(&fit.settings)) } ": " (fit.how.trim())
                    small { @if !fit.on.is_empty() { "used: " (fit.on.join(", ")) } }
                }
            }
            @for (words, claims) in lists.iter().filter(|(_, claims)| !claims.is_empty()) {
                "\n" li { (words) ": " (claims) }
            }
        }
        "\n"
    }
}

fn settings(evaluation: &Evaluation) -> Markup {
    let (usual, given): (Vec<_>, Vec<_>) =
        evaluation.settings.iter().partition(|line| line.standing == Standing::Default);
    let given: Vec<&SettingLine> = given.into_iter().filter(|line| line.by_case.is_empty()).collect();
    html! {
        details.fold {
            summary { "Settings (" (evaluation.settings.len()) ")" } "\n"
            (paragraphs(&evaluation.about))
            @if let Some(cases) = cases(evaluation) { (grid(&cases)) }
            (setting_table(&given))
            @if !usual.is_empty() {
                details.rows {
                    summary { (usual.len()) " settings at the testbed's defaults" }
                    (setting_table(&usual))
                }
                "\n"
            }
        }
        "\n"
    }
}

fn setting_table(lines: &[&SettingLine]) -> Markup {
    let standing = |line: &SettingLine| match line.standing {
        Standing::Swept => "swept",
        Standing::Case => "by case",
        Standing::Set => "plan",
        Standing::Default => "default",
    };
    let head = html! { th { "Setting" } th { "Value" } th { "Unit" } th { "From" } th { "Meaning" } };
    let rows = html! {
        @for line in lines {
            "\n"
            tr {
                td { (line.name) }
                td { (line.value) }
                td { (line.unit) }
                td { (standing(line)) @if line.fitted { ", fitted" } }
                td { (line.about) }
            }
        }
    };
    html! { @if !lines.is_empty() { (table("scroll", &head, &rows)) "\n" } }
}
