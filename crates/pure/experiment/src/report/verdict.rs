//! A claim and its verdict as HTML.

use super::numbers::{interval, or_dash, ours, sign, spread};
use crate::evaluate::{Judged, Part, Verdict};
use guestright_figure::escape;
use std::fmt::Write;

/// With more numbers than this, they are folded away.
const OPEN_MAX: usize = 8;

/// The verdict's word with its colour and sign.
pub(super) fn badge(judged: Judged) -> String {
    let class = judged.words().replace(' ', "-");
    format!("<span class=\"verdict {class}\">{} {}</span>", sign(judged), judged.words())
}

pub(super) fn claim(claim: &Verdict, id: &str, out: &mut String) {
    let _ = write!(out, "<div class=\"claim\" id=\"{id}\"><p>{}", badge(claim.judged));
    if claim.fitted {
        out.push_str(" <span class=\"tag\">used to fit</span>");
    }
    if claim.unclear {
        out.push_str(" <span class=\"tag\">not sure at 95 %</span>");
    }
    let _ = writeln!(out, "</p>\n<p><strong>{}</strong></p>", escape(&claim.text));
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
    let _ = writeln!(out, "<p class=\"soft\">{}.</p>", escape(words.join("; ").trim_end_matches('.')));
    if !claim.parts.is_empty() {
        if claim.parts.len() > OPEN_MAX {
            let _ = writeln!(out, "<details class=\"rows\"><summary>{} numbers</summary>", claim.parts.len());
        }
        parts(&claim.parts, out);
        if claim.parts.len() > OPEN_MAX {
            out.push_str("</details>\n");
        }
    }
    for line in claim.reason.lines() {
        let _ = writeln!(out, "<p>{}</p>", escape(line));
    }
    out.push_str("</div>\n");
}

/// What a number is, with its unit.
fn quantity(part: &Part) -> String {
    if part.unit.is_empty() { part.quantity.clone() } else { format!("{} ({})", part.quantity, part.unit) }
}

fn parts(parts: &[Part], out: &mut String) {
    let named = parts.iter().any(|part| part.quantity != parts[0].quantity);
    let published = parts.iter().any(|part| part.published.is_some());
    let point = parts.iter().any(|part| !part.point.is_empty());
    let several = parts.iter().any(|part| part.judged != parts[0].judged);
    out.push_str("<div class=\"scroll\"><table><thead><tr>");
    let columns = [("<th>Number</th>", named), ("<th>Case</th>", true), ("<th>Point</th>", point)];
    for (head, shown) in columns.into_iter().chain([("<th class=\"number\">Published</th>", published)]) {
        if shown {
            out.push_str(head);
        }
    }
    out.push_str("<th class=\"number\">Ours</th><th>95 % interval</th><th>Seeds</th>");
    out.push_str(if several { "<th>Verdict</th></tr></thead><tbody>\n" } else { "</tr></thead><tbody>\n" });
    for part in parts {
        out.push_str("<tr>");
        if named {
            let _ = write!(out, "<td>{}</td>", escape(&quantity(part)));
        }
        let _ = write!(out, "<td>{}</td>", escape(&part.case));
        if point {
            let _ = write!(out, "<td>{}</td>", escape(&part.point));
        }
        if published {
            let _ = write!(out, "<td class=\"number published\">{}</td>", or_dash(part.published));
        }
        let _ = write!(
            out,
            "<td class=\"number\">{}</td><td>{}</td><td>{}</td>",
            ours(part),
            interval(&part.estimate),
            spread(&part.estimate)
        );
        if several {
            let _ = write!(out, "<td>{}</td>", badge(part.judged));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}
