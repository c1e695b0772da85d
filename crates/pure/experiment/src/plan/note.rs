//! What was fitted, and what is said in words.

use super::claim::Claim;
use super::read::{At, Table, shown};
use super::scope::{Coordinates, Quantity, Scope};

const NOTES_MAX: usize = 60;
const TEXT_MAX: usize = 8_000;

/// Settings that were chosen so that claims come out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fit {
    pub(crate) settings: Vec<String>,
    pub(crate) how: String,
    pub(crate) on: Vec<String>,
}

/// Something to say, with numbers from the results in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Note {
    pub(crate) title: String,
    pub(crate) pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    Text(String),
    Number { of: Quantity, case: usize, at: Coordinates },
}

/// Reads `[[fit]]`; the claims that were used become fitted.
pub(super) fn read_fits(head: &mut Table<'_>, scope: &Scope<'_>, claims: &mut [Claim]) -> Vec<Fit> {
    let mut fits = Vec::new();
    for mut table in head.tables("fit", ("fits", NOTES_MAX)) {
        if table.node("settings").is_none() {
            table.missing("settings", "the settings that were chosen");
        }
        let settings = table.names("settings", 60).unwrap_or_default();
        let how = table.want_text("how", TEXT_MAX);
        let on = table.names("on", 100).unwrap_or_default();
        table.close();
        for name in &settings {
            scope.reader.find("setting", name, scope.testbed.settings().iter().map(|info| info.name));
        }
        for name in &on {
            if let Some(index) =
                scope.reader.find("claim", name, claims.iter().map(|claim| claim.id.as_str()))
            {
                claims[index].fitted = true;
            }
        }
        let Some(how) = how else { continue };
        let values = |names: Vec<At<String>>| names.into_iter().map(|name| name.value).collect();
        fits.push(Fit { settings: values(settings), how: how.value, on: values(on) });
    }
    fits
}

pub(super) fn read_notes(head: &mut Table<'_>, scope: &Scope<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    for mut table in head.tables("note", ("notes", NOTES_MAX)) {
        let title = table.want_text("title", 200);
        let text = table.want_text("text", TEXT_MAX);
        table.close();
        let pieces = text.and_then(|text| read_pieces(&text, scope));
        if let (Some(title), Some(pieces)) = (title, pieces) {
            notes.push(Note { title: title.value, pieces });
        }
    }
    notes
}

/// Splits a text at `{…}`.
fn read_pieces(text: &At<String>, scope: &Scope<'_>) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = text.value.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        let Some((inside, after)) = after.split_once('}') else {
            scope.reader.unfit(text.at, "the text has a `{` without a `}`");
            return None;
        };
        pieces.push(Piece::Text(before.to_owned()));
        pieces.push(read_number(inside, text.at, scope)?);
        rest = after;
    }
    pieces.push(Piece::Text(rest.to_owned()));
    Some(pieces)
}

/// `of case=NAME axis=VALUE`
fn read_number(inside: &str, at: usize, scope: &Scope<'_>) -> Option<Piece> {
    let at = scope.reader.offset_of(&format!("{{{inside}}}"), at);
    let form = shown(&format!("{{{inside}}}"));
    let located = |value: &str| At { value: value.to_owned(), at };
    let mut words = inside.split_whitespace();
    let of = scope.quantity(&located(words.next().unwrap_or_default()))?;
    let mut case = if scope.cases().len() == 1 { Some(0) } else { scope.base.case };
    let base = scope.dimensions(of).into_iter().zip(&scope.base.at);
    let mut coordinates: Coordinates = base.map(|(has, value)| value.clone().filter(|_| has)).collect();
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            scope.reader.unfit(at, format!("`{form}` is not of the form {{of case=NAME axis=VALUE}}"));
            return None;
        };
        if key == "case" {
            case = Some(scope.case(&located(value))?);
            continue;
        }
        let axis = scope.axis(&located(key))?;
        let value = At { value: parse(value), at };
        coordinates[axis] = Some(scope.axis_value(axis, &value)?);
    }
    let Some(case) = case else {
        scope.reader.unfit(at, format!("`{form}` does not say which case"));
        return None;
    };
    if !scope.has_case(of, case) {
        scope.reader.unfit(at, format!("`{form}` does not exist in this case"));
        return None;
    }
    let closed = scope.check_closed(of, |axis| coordinates[axis].is_some(), at);
    (closed && scope.check_point(case, &coordinates, at)).then_some(Piece::Number {
        of,
        case,
        at: coordinates,
    })
}

/// A value as a word.
fn parse(word: &str) -> crate::value::Value {
    let whole = word.parse().ok().filter(|number: &i64| number.unsigned_abs() <= 1 << 53);
    if let Some(number) = whole {
        return number.into();
    }
    match word.parse::<f64>() {
        Ok(number) if number.is_finite() => number.into(),
        _ => match word {
            "true" => true.into(),
            "false" => false.into(),
            _ => word.into(),
        },
    }
}
