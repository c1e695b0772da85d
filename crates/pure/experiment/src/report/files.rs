//! Files within a page and beside it.

use super::Files;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};

/// The most bytes of rows that are put into the page for one figure or table; larger ones are in their file only.
const PART_MAX: usize = 1 << 19;
/// The same for all rows of an experiment.
const ALL_MAX: usize = 1 << 20;

/// A link to a part of the rows within the page, and to what is beside it; `picture` is the name of a figure's file.
pub(super) fn part_links(csv: &str, name: &str, words: &str, picture: Option<&str>, files: &Files) -> Markup {
    html! {
        (download(csv, name, words, PART_MAX))
        @if let Some(picture) = picture.filter(|_| !files.figures.is_empty()) {
            "; the picture as "
            a href={ (files.figures) "/" (picture) ".svg" } { "SVG" } " and "
            a href={ (files.figures) "/" (picture) ".png" } { "PNG" } " (beside this page)"
        }
    }
}

/// Links to all rows of an experiment: within the page, and beside it.
pub(super) fn all_rows(files: &Files, name: &str) -> Markup {
    let beside: Vec<(&str, &str)> = [("CSV", files.csv.as_str()), ("Parquet", files.parquet.as_str())]
        .into_iter()
        .filter(|(_, link)| !link.is_empty())
        .collect();
    html! {
        @if !files.rows.is_empty() || !beside.is_empty() {
            p {
                @if !files.rows.is_empty() {
                    (download(&files.rows, &format!("{name}-rows"), "All rows", ALL_MAX))
                    @if !beside.is_empty() { "; " }
                } @else {
                    "All rows: "
                }
                @for (index, (format, link)) in beside.iter().enumerate() {
                    @if index > 0 { " and " }
                    a href=(link) { (format) }
                }
                @if !beside.is_empty() { " beside this page" }
            }
            "\n"
        }
    }
}

/// A link to what is within the page, or how much there would be.
pub(super) fn download(csv: &str, name: &str, words: &str, bytes_max: usize) -> Markup {
    html! {
        @if csv.len() <= bytes_max {
            a download={ (name) ".csv" } href={ "data:text/csv;charset=utf-8;base64," (STANDARD.encode(csv)) } {
                (words)
            }
            " (CSV, in this page)"
        } @else {
            (words) ": " (csv.len()) " bytes, too many for this page"
        }
    }
}
