//! Maps in a report.

use super::html::{paragraphs, row_links};
use crate::evaluate::{Evaluation, Held, MapNumbers};
use guestright_figure::escape;
use std::fmt::Write;

pub(super) fn html(map: &MapNumbers, id: &str, rows: &str, out: &mut String) {
    let name = escape(&map.id);
    let _ = writeln!(out, "<figure id=\"{id}-map-{name}\"><div class=\"picture\">");
    match map.svg() {
        Ok(svg) => out.push_str(&svg),
        Err(error) => {
            let _ = writeln!(out, "<p>{}</p>", escape(&error.to_string()));
        }
    }
    out.push_str("</div><figcaption>");
    if let (Some(claim), Some(held)) = (&map.claim, &map.where_held) {
        let link = format!("<a href=\"#{id}-claim-{0}\">{0}</a>", escape(claim));
        let wanted = escape(&map.wanted);
        let _ = write!(
            out,
            "<p>Claim {link}: {}; wanted: {wanted}. In each cell is the number that decides.</p>",
            escape(&map.what)
        );
        let _ = write!(out, "<p><strong>{}</strong></p>", escape(&held.words()));
    }
    paragraphs(&map.note, out);
    out.push_str("</figcaption>\n<details class=\"rows\"><summary>The rows behind this map</summary>\n<p>");
    let words = if map.claim.is_some() { "Every cell of this map" } else { "Every seed of this map" };
    row_links(&map.csv(), &map.id, words, rows, out);
    out.push_str("</p>\n");
    if let Some(held) = &map.where_held {
        out.push_str("<div class=\"wide\"><table><thead><tr><th>Axis</th><th>Value</th><th class=\"number\">Holds</th><th class=\"number\">Does not hold</th><th class=\"number\">Cannot be computed</th></tr></thead><tbody>\n");
        for (axis, values) in &held.by_axis {
            for (value, Held { holds, fails, unknown }) in values {
                let _ = writeln!(
                    out,
                    "<tr><td>{}</td><td>{}</td><td class=\"number\">{holds}</td><td class=\"number\">{fails}</td><td class=\"number\">{unknown}</td></tr>",
                    escape(axis),
                    escape(value)
                );
            }
        }
        out.push_str("</tbody></table></div>\n");
    }
    out.push_str("</details></figure>\n");
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
