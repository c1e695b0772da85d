//! A page with figures: one file, without scripts, light or dark as the reader likes.

use crate::words::{codec_name, part_notes, rated, round};
use crate::{csv, figures, table};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use guestright_capture::{Part, Report, StreamReport};
use guestright_error::RunError;
use guestright_figure::escape;
use std::fmt::Write;

/// More streams are in the table only; the table says so.
const FIGURES_MAX: usize = 40;
/// The most bytes of the table of seconds that are put into the page.
const CSV_MAX: usize = 4 << 20;
/// The columns of the table, by their places in that of the terminal: what a call was worth comes first, so that a
/// telephone shows it too.
const COLUMNS: [(usize, &str); 11] = [
    (0, "#"),
    (9, "R"),
    (10, "MOS"),
    (5, "lost"),
    (2, "codec"),
    (1, "from → to"),
    (3, "time"),
    (4, "packets"),
    (6, "buffer"),
    (7, "burst"),
    (8, "jitter"),
];

const STYLE: &str = "<style>\
:root{color-scheme:light dark;--ink:#1b1f24;--ground:#fff;--soft:#5b636d;--line:#d9dde2;--card:#f6f7f9}\
@media (prefers-color-scheme:dark){:root{--ink:#e8eaed;--ground:#15181c;--soft:#a4abb3;--line:#343a42;--card:#1d2126}}\
body{margin:0 auto;padding:1.5rem;max-width:76rem;color:var(--ink);background:var(--ground);\
font:15px/1.5 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}\
h1{font-size:1.5rem;margin:0 0 .25rem;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:2.2rem 0 .3rem}p,ul{margin:.3rem 0}\
.soft{color:var(--soft)}.wide{overflow-x:auto}\
table{border-collapse:collapse;width:100%;margin:.8rem 0;font-variant-numeric:tabular-nums}\
th,td{padding:.35rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}\
th{font-weight:600}.words{text-align:left}\
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,34rem),1fr));gap:1rem;margin:.8rem 0}\
figure{margin:0;padding:.4rem;background:var(--card);border:1px solid var(--line);border-radius:.5rem}\
figure svg{display:block;width:100%;height:auto}\
dt{font-weight:600;margin-top:.5rem}dd{margin:0}code{font-size:.92em}\
@media (max-width:40rem){body{padding:.8rem}th,td{padding:.35rem .4rem}}\
@media print{body{max-width:none}figure{break-inside:avoid}}\
</style>";

const TERMS: &str = "<details><summary>What the words mean</summary><dl>\
<dt>R</dt><dd>The rating of a connection by ITU-T G.107 (06/2015), 0 to 100; 70 and more is acceptable. \
R = Ro − Is − Id − Ie-eff + A.</dd>\
<dt>MOS</dt><dd>The mean opinion score that goes with R: 1 is bad, 4.5 the best that can be reached.</dd>\
<dt>≤</dt><dd>At most. One capture tells when packets passed one place, and so no one-way delay; what is printed then \
is what a listener hears, as if there were no delay.</dd>\
<dt>lost</dt><dd>Packets that never passed the place of the capture, by their sequence numbers.</dd>\
<dt>buffer</dt><dd>Of the packets that came, those that come too late or too early for the receiver's dejitter buffer.</dd>\
<dt>burst</dt><dd>How much longer runs of losses are than losses by chance would be.</dd>\
<dt>jitter</dt><dd>RFC 3550, section 6.4.1: how much the time between packets changes on their way.</dd>\
</dl></details>";

/// # Errors
/// A figure that cannot be drawn, which is our mistake.
pub fn page(name: &str, report: &Report, notes: &[String]) -> Result<String, RunError> {
    let mut out = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n");
    // Nothing on the page may be fetched or run, whatever a capture holds.
    out.push_str("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n");
    let _ = writeln!(out, "<title>Voice quality: {}</title>\n{STYLE}\n</head>\n<body>\n<main>", escape(name));
    head(name, report, notes, &mut out);
    summary(report, &mut out);
    let shown = report.streams.iter().enumerate().take(FIGURES_MAX);
    for (index, stream) in shown {
        for (number, part) in stream.parts.iter().enumerate() {
            let label = table::label(index, number, stream.parts.len());
            section(&label, stream, part, &mut out)?;
        }
    }
    if report.streams.len() > FIGURES_MAX {
        let _ = writeln!(out, "<p class=\"soft\">Only the first {FIGURES_MAX} streams have figures.</p>");
    }
    out.push_str(TERMS);
    out.push_str("\n</main>\n</body>\n</html>\n");
    Ok(out)
}

fn head(name: &str, report: &Report, notes: &[String], out: &mut String) {
    let counts = &report.counts;
    let _ = writeln!(out, "<h1>Voice quality: {}</h1>", escape(name));
    let when = counts.first.zip(counts.last).map_or_else(String::new, |(first, last)| {
        format!("{first}, {} s, ", round(last.since(first).as_seconds()))
    });
    let _ = writeln!(out, "<p class=\"soft\">{when}{} packets</p>", counts.packets);
    list(notes, out);
}

fn list(notes: &[String], out: &mut String) {
    if notes.is_empty() {
        return;
    }
    out.push_str("<ul>\n");
    for note in notes {
        let _ = writeln!(out, "<li>{}</li>", escape(note));
    }
    out.push_str("</ul>\n");
}

fn summary(report: &Report, out: &mut String) {
    out.push_str("<div class=\"wide\"><table>\n<thead><tr>");
    let class = |column: usize| if column <= 2 { " class=\"words\"" } else { "" };
    for (column, name) in COLUMNS {
        let _ = write!(out, "<th scope=\"col\"{}>{name}</th>", class(column));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (index, stream) in report.streams.iter().enumerate() {
        for (number, part) in stream.parts.iter().enumerate() {
            let label = table::label(index, number, stream.parts.len());
            let row = table::row(&label, stream, part, &stream.judgement(part));
            out.push_str("<tr>");
            for (column, _) in COLUMNS {
                let text = escape(&row[column].replace("->", "→"));
                let text = if column == 0 { format!("<a href=\"#s{text}\">{text}</a>") } else { text };
                let _ = write!(out, "<td{}>{text}</td>", class(column));
            }
            out.push_str("</tr>\n");
        }
    }
    out.push_str("</tbody></table></div>\n");
    seconds(report, out);
}

/// The table of all seconds, within the page: whoever is sent the page has it.
fn seconds(report: &Report, out: &mut String) {
    let text = csv::table(report);
    if text.len() > CSV_MAX {
        let _ = writeln!(
            out,
            "<p class=\"soft\">A line for each second would be {} bytes, too many for this page: \
             <code>guestright mos --csv FILE</code>.</p>",
            text.len()
        );
        return;
    }
    let _ = writeln!(
        out,
        "<p><a download=\"voice-quality.csv\" href=\"data:text/csv;charset=utf-8;base64,{}\">A line for each second</a> \
         (CSV, in this page)</p>",
        STANDARD.encode(text)
    );
}

fn section(label: &str, stream: &StreamReport, part: &Part, out: &mut String) -> Result<(), RunError> {
    let flow = &stream.info.flow;
    let judgement = stream.judgement(part);
    let _ = writeln!(
        out,
        "<section id=\"s{label}\">\n<h2>{label}: {} → {}, {}</h2>\n<p class=\"soft\">SSRC {:08x}, first packet {}</p>",
        flow.from,
        flow.to,
        escape(&codec_name(part)),
        flow.ssrc,
        part.start
    );
    if let Ok(rated) = rated(stream, &judgement) {
        let opinion = rated.opinion;
        let _ = writeln!(
            out,
            "<p><strong>R {}, MOS {}</strong>, {}<br><code>{}</code></p>",
            rated.r(),
            rated.mos(),
            opinion.satisfaction,
            escape(&table::parts_line(&opinion.worst, &opinion.best))
        );
    }
    list(&part_notes(stream, part, &judgement), out);
    if part.rows.is_empty() {
        out.push_str("<p class=\"soft\">No figures: its seconds were too many to be kept.</p>\n");
    } else {
        let (flat, curves): (Vec<_>, Vec<_>) =
            figures::of(stream, part).into_iter().partition(figures::is_zero);
        out.push_str("<div class=\"figures\">\n");
        for chart in &curves {
            let _ = writeln!(out, "<figure>\n{}</figure>", chart.svg().map_err(RunError::bug)?);
        }
        out.push_str("</div>\n");
        for chart in &flat {
            let (title, unit) = (escape(&chart.title), escape(&chart.y.label));
            let _ = writeln!(out, "<p class=\"soft\">{title}: 0 {unit} in every second; no figure.</p>");
        }
    }
    out.push_str("</section>\n");
    Ok(())
}
