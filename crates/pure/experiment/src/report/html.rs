//! The page.

use super::Provenance;
use super::numbers::{cases, count, figure_row, from_curve, interval, or_dash, spread};
use super::style::STYLE;
use super::verdict::{badge, claim};
use super::{assumption, map};
use crate::evaluate::{
    Evaluation, FigureNumbers, Judged, MeasureNumbers, SettingLine, Standing, TableNumbers,
};
use crate::plan::Platform;
use base64::Engine as _;
use guestright_figure::escape;
use std::fmt::Write;

/// The most bytes of rows that are put into the page for one figure; larger ones are in their file only.
const ROWS_MAX: usize = 1 << 19;

const ALL: [Judged; 4] =
    [Judged::Reproduces, Judged::DoesNotReproduce, Judged::CannotBeComputed, Judged::Prediction];

pub(super) fn page(evaluations: &[Evaluation], provenance: &Provenance) -> String {
    let title = if provenance.title.is_empty() { "Laboratory report" } else { &provenance.title };
    let title = escape(title);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>{title}</title>\n{STYLE}</head>\n<body>\n"
    );
    // Beside the text where there is room, above it and folded away where there is none.
    let list = contents(evaluations);
    let _ = writeln!(out, "<nav class=\"side\"><p>Contents</p>{list}</nav>");
    let _ = writeln!(out, "<nav class=\"top\"><details><summary>Contents</summary>{list}</details></nav>");
    let _ = writeln!(out, "<main>\n<h1 id=\"top\">{title}</h1>");
    summary(evaluations, &mut out);
    for (index, evaluation) in evaluations.iter().enumerate() {
        let rows = provenance.rows.get(index).map_or("", String::as_str);
        plan(evaluation, &prefix(index), rows, &mut out);
    }
    out.push_str("<h2 id=\"provenance\">How this report came about</h2>\n<dl>\n");
    for (name, value) in &provenance.facts {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
    }
    out.push_str("</dl>\n</main>\n</body></html>\n");
    out
}

/// What the ids of a plan begin with; the same plan may be there twice.
fn prefix(index: usize) -> String {
    format!("p{}", index + 1)
}

fn contents(evaluations: &[Evaluation]) -> String {
    let mut out = "<ol>\n<li><a href=\"#top\">Verdicts</a></li>\n".to_owned();
    for (index, evaluation) in evaluations.iter().enumerate() {
        let id = prefix(index);
        let _ = writeln!(out, "<li><a href=\"#{id}\">{}</a><ol>", escape(&heading(evaluation)));
        let figures = evaluation.figures.iter().map(|figure| ("figure", &figure.id, &figure.title));
        let tables = evaluation.tables.iter().map(|table| ("table", &table.id, &table.title));
        if !evaluation.claims.is_empty() {
            let _ = writeln!(out, "<li><a href=\"#{id}-claims\">Claims</a></li>");
        }
        let maps = evaluation.maps.iter().map(|map| ("map", &map.id, &map.title));
        if !evaluation.assumptions.is_empty() {
            let _ = writeln!(out, "<li><a href=\"#{id}-assumptions\">Assumptions</a></li>");
        }
        for (kind, name, title) in maps.chain(figures).chain(tables) {
            let _ = writeln!(out, "<li><a href=\"#{id}-{kind}-{}\">{}</a></li>", escape(name), escape(title));
        }
        out.push_str("</ol></li>\n");
    }
    out.push_str("<li><a href=\"#provenance\">How this report came about</a></li>\n</ol>");
    out
}

fn heading(evaluation: &Evaluation) -> String {
    let platform = evaluation.platform;
    let platform = if platform == Platform::Sim { String::new() } else { format!(" ({})", platform.name()) };
    format!("{}{platform}", evaluation.title)
}

fn summary(evaluations: &[Evaluation], out: &mut String) {
    out.push_str("<div class=\"scroll\"><table><thead><tr><th>Experiment</th>");
    for judged in ALL {
        let _ = write!(out, "<th>{}</th>", badge(judged));
    }
    out.push_str("<th class=\"number\">Runs</th></tr></thead><tbody>\n");
    for (index, evaluation) in evaluations.iter().enumerate() {
        let quick = if evaluation.quick { "<small>quick</small>" } else { "" };
        let heading = escape(&heading(evaluation));
        let _ = write!(out, "<tr><td><a href=\"#{}\">{heading}</a>{quick}</td>", prefix(index));
        for judged in ALL {
            let _ = write!(out, "<td class=\"number\">{}</td>", count(evaluation, judged));
        }
        let missing = match evaluation.missing {
            0 => String::new(),
            missing => format!("<small>{missing} missing</small>"),
        };
        let _ = writeln!(out, "<td class=\"number\">{}{missing}</td></tr>", evaluation.runs);
    }
    out.push_str("</tbody></table></div>\n");
    let open: String =
        evaluations.iter().enumerate().map(|(index, one)| unfit(one, &prefix(index))).collect();
    if !open.is_empty() {
        let _ = write!(out, "<h3>What does not fit</h3>\n<ul>\n{open}</ul>\n");
    }
    assumption::summary(evaluations, out);
    out.push_str(
        "<p class=\"soft\">A claim reproduces if our number is within the band that the plan states; the band was written \
         down with the claim. Intervals are Student's, at 95 %, over the seeds. What was used to fit a setting confirms \
         only the fit.</p>\n",
    );
}

/// The claims that do not reproduce or cannot be computed, a line of a list for each.
fn unfit(evaluation: &Evaluation, id: &str) -> String {
    let mut out = String::new();
    let is_open = |judged| matches!(judged, Judged::DoesNotReproduce | Judged::CannotBeComputed);
    for claim in evaluation.claims.iter().filter(|claim| is_open(claim.judged)) {
        let failing = claim.parts.iter().filter(|part| is_open(part.judged)).count();
        let how_many = match claim.parts.len() {
            0 | 1 => String::new(),
            all => format!("{failing} of {all} numbers; "),
        };
        let reason = escape(claim.reason.lines().next().unwrap_or_default());
        let _ = writeln!(
            out,
            "<li>{} {}: <a href=\"#{id}-claim-{}\">{}</a><small>{how_many}{reason}</small></li>",
            badge(claim.judged),
            escape(&heading(evaluation)),
            escape(&claim.id),
            escape(&claim.text)
        );
    }
    out
}

/// How many numbers made from curves a page prints; more are in the JSON beside it only.
const MEASURES_MAX: usize = 2_000;

fn plan(evaluation: &Evaluation, id: &str, rows: &str, out: &mut String) {
    let _ = writeln!(out, "<section>\n<h2 id=\"{id}\">{}</h2>", escape(&heading(evaluation)));
    paragraphs(&evaluation.question, out);
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
    let _ = writeln!(out, "<p class=\"soft\">{}.</p>", escape(words.join("; ").trim_end_matches('.')));
    if !rows.is_empty() {
        let _ = writeln!(out, "<p><a href=\"{}\">All rows</a> (CSV)</p>", escape(rows));
    }
    if !evaluation.claims.is_empty() {
        let _ = writeln!(out, "<h3 id=\"{id}-claims\">Claims</h3>");
        for one in &evaluation.claims {
            claim(one, &format!("{id}-claim-{}", escape(&one.id)), out);
        }
    }
    evaluation.maps.iter().for_each(|one| map::html(one, id, rows, out));
    assumption::html(evaluation, id, out);
    evaluation.notes.iter().for_each(|note| {
        let _ = writeln!(out, "<h3>{}</h3>", escape(&note.title));
        paragraphs(&note.text, out);
    });
    evaluation.figures.iter().for_each(|one| figure(one, id, rows, out));
    evaluation.tables.iter().for_each(|one| table(one, id, out));
    measures(&evaluation.measures, evaluation, out);
    fits(evaluation, out);
    settings(evaluation, out);
    out.push_str("</section>\n");
}

pub(super) fn paragraphs(text: &str, out: &mut String) {
    for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        let _ = writeln!(out, "<p>{}</p>", escape(paragraph.trim()));
    }
}

fn figure(figure: &FigureNumbers, id: &str, rows: &str, out: &mut String) {
    let name = escape(&figure.id);
    let _ = writeln!(out, "<figure id=\"{id}-figure-{name}\"><div class=\"picture\">");
    match figure.svg() {
        Ok(svg) => out.push_str(&svg),
        Err(error) => {
            let _ = writeln!(out, "<p>{}</p>", escape(&error.to_string()));
        }
    }
    let _ = writeln!(out, "</div><figcaption>{}</figcaption>", escape(&caption(figure)));
    let _ = write!(out, "<details class=\"rows\"><summary>The rows behind this figure</summary>\n<p>");
    row_links(&figure.csv(), &figure.id, "Every seed of this figure", rows, out);
    out.push_str("</p>\n<div class=\"wide\"><table><thead><tr><th>Series</th><th class=\"number\">");
    let head = if figure.x_label.is_empty() { "x" } else { &figure.x_label };
    let _ = write!(out, "{}</th><th class=\"number\">{}</th>", escape(head), escape(&figure.y_label));
    out.push_str("<th>95 % interval</th><th>Spread</th><th>Seeds</th></tr></thead><tbody>\n");
    for series in &figure.series {
        for point in &series.points {
            let [x, y, interval, spread, seeds] = figure_row(point).map(|text| escape(&text));
            let _ = writeln!(
                out,
                "<tr><td>{}</td><td class=\"number\">{x}</td><td class=\"number\">{y}</td><td>{interval}</td><td>{spread}</td><td>{seeds}</td></tr>",
                escape(&series.name)
            );
        }
    }
    for series in &figure.published {
        for point in &series.points {
            let [x, y] = [0, 1].map(|place| or_dash(point.get(place).copied()));
            let around = point.get(2..).filter(|ends| !ends.is_empty());
            let around =
                around.map(|ends| ends.iter().map(|end| or_dash(Some(*end))).collect::<Vec<_>>().join(" … "));
            let _ = writeln!(
                out,
                "<tr><td class=\"published\">{}</td><td class=\"number published\">{x}</td><td class=\"number published\">{y}</td><td>{}</td><td></td><td>published</td></tr>",
                escape(&series.name),
                around.unwrap_or_default()
            );
        }
    }
    out.push_str("</tbody></table></div></details></figure>\n");
}

/// A link to rows within the page, and to all rows beside it.
pub(super) fn row_links(csv: &str, name: &str, words: &str, rows: &str, out: &mut String) {
    if csv.len() <= ROWS_MAX {
        let (name, coded) = (escape(name), base64::engine::general_purpose::STANDARD.encode(csv));
        let _ = write!(
            out,
            "<a download=\"{name}.csv\" href=\"data:text/csv;charset=utf-8;base64,{coded}\">{words}</a> (CSV, in this page)"
        );
    } else {
        let _ = write!(out, "{words}: {} bytes, too many for this page", csv.len());
    }
    if !rows.is_empty() {
        let _ = write!(
            out,
            "; <a href=\"{}\">all rows of the experiment</a> (CSV, beside this page)",
            escape(rows)
        );
    }
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

fn table(table: &TableNumbers, id: &str, out: &mut String) {
    let _ = writeln!(out, "<h3 id=\"{id}-table-{}\">{}</h3>", escape(&table.id), escape(&table.title));
    grid(table, out);
    paragraphs(&table.note, out);
}

fn grid(table: &TableNumbers, out: &mut String) {
    out.push_str("<div class=\"scroll\"><table><thead><tr>");
    for head in &table.head {
        let _ = write!(out, "<th>{}</th>", escape(head));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for cell in row {
            let class = match (cell.number.is_some(), cell.published) {
                (true, true) => " class=\"number published\"",
                (true, false) => " class=\"number\"",
                (false, true) => " class=\"published\"",
                (false, false) => "",
            };
            let _ = write!(out, "<td{class}>{}", escape(&cell.text));
            if !cell.spread.is_empty() {
                let _ = write!(out, "<small>{}</small>", escape(&cell.spread));
            }
            out.push_str("</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

fn measures(measures: &[MeasureNumbers], evaluation: &Evaluation, out: &mut String) {
    let got: usize = measures.iter().map(|measure| measure.numbers.len()).sum();
    if got > MEASURES_MAX {
        let _ = writeln!(
            out,
            "<p class=\"soft\">{got} numbers were made from the curves, too many for this page.</p>"
        );
    }
    if got == 0 || got > MEASURES_MAX {
        return;
    }
    let title = |name: &str| {
        evaluation
            .cases
            .iter()
            .find(|case| case.name == name)
            .map_or_else(String::new, |case| escape(&case.title))
    };
    out.push_str("<details class=\"rows\"><summary>Every number made from the curves</summary>\n<div class=\"wide\"><table><thead><tr>");
    out.push_str("<th>Number</th><th>Case</th><th>Point</th><th class=\"number\">Mean of the seeds</th><th>95 % interval</th><th>Spread</th>");
    out.push_str("<th class=\"number\">From the mean curve</th></tr></thead><tbody>\n");
    for measure in measures {
        for number in &measure.numbers {
            let point: Vec<String> =
                number.at.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            let unit = if measure.unit.is_empty() { String::new() } else { format!(" ({})", measure.unit) };
            let why = number.estimate.why.as_deref().unwrap_or_default();
            let _ = writeln!(
                out,
                "<tr><td>{}{}</td><td>{}</td><td>{}</td><td class=\"number\">{}</td><td>{}</td><td>{}</td><td class=\"number\">{}<small>{}</small></td></tr>",
                escape(&measure.title),
                escape(&unit),
                title(&number.case),
                escape(&point.join(", ")),
                or_dash(number.estimate.mean),
                interval(&number.estimate),
                spread(&number.estimate),
                from_curve(&number.estimate),
                escape(why)
            );
        }
    }
    out.push_str("</tbody></table></div></details>\n");
}

fn fits(evaluation: &Evaluation, out: &mut String) {
    if evaluation.fits.is_empty() && !evaluation.claims.iter().any(|claim| claim.fitted) {
        return;
    }
    out.push_str("<h3>What was fitted, and what is prediction</h3>\n<ul>\n");
    for fit in &evaluation.fits {
        let settings: Vec<_> = fit.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let on = if fit.on.is_empty() { String::new() } else { format!("used: {}", fit.on.join(", ")) };
        let _ = writeln!(
            out,
            "<li><strong>{}</strong>: {}<small>{}</small></li>",
            escape(&settings.join(", ")),
            escape(fit.how.trim()),
            escape(&on)
        );
    }
    let named = |fitted: bool, judged: Option<Judged>| {
        let claims = evaluation.claims.iter().filter(|claim| match judged {
            Some(judged) => claim.judged == judged,
            None => claim.fitted == fitted && claim.judged != Judged::Prediction,
        });
        claims.map(|claim| claim.id.clone()).collect::<Vec<_>>().join(", ")
    };
    for (words, claims) in [
        ("Claims used to fit", named(true, None)),
        ("Claims not used to fit", named(false, None)),
        ("Predictions", named(false, Some(Judged::Prediction))),
    ] {
        if !claims.is_empty() {
            let _ = writeln!(out, "<li>{words}: {}</li>", escape(&claims));
        }
    }
    out.push_str("</ul>\n");
}

fn settings(evaluation: &Evaluation, out: &mut String) {
    let (usual, given): (Vec<_>, Vec<_>) =
        evaluation.settings.iter().partition(|line| line.standing == Standing::Default);
    out.push_str("<h3>Settings</h3>\n");
    paragraphs(&evaluation.about, out);
    if let Some(cases) = cases(evaluation) {
        grid(&cases, out);
    }
    let given: Vec<&SettingLine> = given.into_iter().filter(|line| line.by_case.is_empty()).collect();
    setting_table(&given, out);
    if !usual.is_empty() {
        let _ = writeln!(
            out,
            "<details class=\"rows\"><summary>{} settings at the testbed's defaults</summary>",
            usual.len()
        );
        setting_table(&usual, out);
        out.push_str("</details>\n");
    }
}

fn setting_table(lines: &[&SettingLine], out: &mut String) {
    if lines.is_empty() {
        return;
    }
    out.push_str("<div class=\"scroll\"><table><thead><tr><th>Setting</th><th>Value</th><th>Unit</th><th>From</th><th>Meaning</th></tr></thead><tbody>\n");
    for line in lines {
        let standing = match line.standing {
            Standing::Swept => "swept",
            Standing::Case => "by case",
            Standing::Set => "plan",
            Standing::Default => "default",
        };
        let fitted = if line.fitted { ", fitted" } else { "" };
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{standing}{fitted}</td><td>{}</td></tr>",
            escape(&line.name),
            escape(&line.value),
            escape(&line.unit),
            escape(&line.about)
        );
    }
    out.push_str("</tbody></table></div>\n");
}
