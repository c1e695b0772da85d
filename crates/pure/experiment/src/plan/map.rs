//! What is drawn over two axes: a number, or a claim judged at every cell.

use super::claim::Claim;
use super::error::Problem;
use super::read::{At, Table};
use super::scope::{Coordinates, Quantity, Scope};
use super::table::Dimension;
use guestright_figure::HeatMap;

const MAPS_MAX: usize = 60;
/// Rectangles side by side, and rows of them.
const PANELS_MAX: usize = 2;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Map {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) x: usize,
    pub(crate) y: usize,
    /// What tells the rectangles apart; the first goes from left to right.
    pub(crate) panels: Vec<Dimension>,
    pub(crate) of: Mapped,
    pub(crate) x_label: String,
    pub(crate) y_label: String,
    pub(crate) note: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mapped {
    /// A number, in a case (if the panels are not the cases) and with the other axes held.
    Number { of: Quantity, cases: Vec<usize>, at: Coordinates },
    /// A claim, by its place among the claims.
    Claim(usize),
}

pub(super) fn read(
    head: &mut Table<'_>,
    scope: &Scope<'_>,
    claims: &[Claim],
    figures: &[super::Figure],
) -> Vec<Map> {
    let mut maps = Vec::new();
    let mut ids: Vec<At<String>> = Vec::new();
    for mut table in head.tables("map", ("maps", MAPS_MAX)) {
        let id = table.want_name("id");
        let map = read_one(&mut table, id.as_ref(), scope, claims);
        table.close();
        let Some(id) = id else { continue };
        let (at, name) = (id.at, id.value.clone());
        if scope.reader.is_new("map", &mut ids, id) && figures.iter().any(|figure| figure.id == name) {
            scope
                .reader
                .unfit(at, format!("`{name}` is a figure's id, and both name a file; give the map another"));
        }
        maps.extend(map);
    }
    maps
}

fn read_one(
    table: &mut Table<'_>,
    id: Option<&At<String>>,
    scope: &Scope<'_>,
    claims: &[Claim],
) -> Option<Map> {
    let title = table.want_text("title", 400);
    let (x, y) = (table.want_text("x", 100), table.want_text("y", 100));
    let x_axis = x.as_ref().and_then(|name| scope.axis(name));
    let y_axis = y.as_ref().and_then(|name| scope.axis(name));
    let is_there = table.node("panel").is_some();
    let names = table.names("panel", PANELS_MAX);
    let lost = is_there && names.is_none();
    let names = names.unwrap_or_default();
    let panels: Option<Vec<Dimension>> = names.iter().map(|name| Dimension::find(name, scope)).collect();
    let x_label = table.text("x_label", 200);
    let y_label = table.text("y_label", 200);
    let note = table.text("note", 4_000).map(|note| note.value).unwrap_or_default();
    let mapped = read_mapped(table, scope, claims);
    let (x, y, x_axis, y_axis, panels) = (x?, y?, x_axis?, y_axis?, panels?);
    let mut open = vec![(Dimension::Axis(x_axis), x.at), (Dimension::Axis(y_axis), y.at)];
    for (dimension, at) in panels.iter().zip(&names).map(|(panel, name)| (*panel, name.at)) {
        open.push((dimension, at));
    }
    for (index, (dimension, at)) in open.iter().enumerate() {
        if open[..index].iter().any(|(other, _)| other == dimension) {
            scope.reader.unfit(*at, "it is drawn already; name another axis");
            return None;
        }
    }
    let (of, offset) = mapped.filter(|_| !lost)?;
    let of = complete(of, offset, &open, scope)?;
    check(&of, &open, claims, scope)?;
    check_size(&of, &open, claims, scope)?;
    Some(Map {
        id: id?.value.clone(),
        title: title?.value,
        x: x_axis,
        y: y_axis,
        panels,
        of,
        x_label: x_label.map_or_else(|| Dimension::Axis(x_axis).label(scope), |label| label.value),
        y_label: y_label.map_or_else(|| Dimension::Axis(y_axis).label(scope), |label| label.value),
        note,
    })
}

/// `of` with `case` or `cases` and `at`, or `claim`; and where it stands.
fn read_mapped(table: &mut Table<'_>, scope: &Scope<'_>, claims: &[Claim]) -> Option<(Mapped, usize)> {
    let (of, claim) = (table.text("of", 100), table.text("claim", 100));
    let case = table.text("case", 100);
    let cases = scope.read_cases(table);
    let at_is_there = table.node("at").map(|node| node.span().start);
    let at = scope.read_at(table);
    match (of, claim) {
        (Some(of), None) => {
            let quantity = scope.quantity(&of)?;
            let cases = scope.one_or_more(case, cases)?.unwrap_or_default();
            Some((Mapped::Number { of: quantity, cases, at: at? }, of.at))
        }
        (None, Some(claim)) => {
            let own = [case.map(|case| case.at), at_is_there].into_iter().flatten().next();
            if let Some(at) = own {
                scope.reader.unfit(at, "the claim says where it is; `case`, `cases` and `at` go with `of`");
                return None;
            }
            let index = scope.reader.find("claim", &claim, claims.iter().map(|claim| claim.id.as_str()))?;
            Some((Mapped::Claim(index), claim.at))
        }
        (Some(_), Some(claim)) => {
            scope.reader.unfit(claim.at, "`of` and `claim` are both there; make it two maps");
            None
        }
        (None, None) => {
            table.missing("of", "`of` (a metric or a measure) or `claim` (the id of one)");
            None
        }
    }
}

/// Fills in what a number's map does not say: the base, or the only case.
fn complete(of: Mapped, offset: usize, open: &[(Dimension, usize)], scope: &Scope<'_>) -> Option<Mapped> {
    let Mapped::Number { of, mut cases, mut at } = of else { return Some(of) };
    let by_case = open.iter().any(|(dimension, _)| *dimension == Dimension::Case);
    if cases.is_empty() {
        let all = (0..scope.cases().len()).filter(|case| scope.has_case(of, *case));
        cases = if by_case {
            all.collect()
        } else {
            scope.base.case.map_or_else(|| all.collect(), |case| vec![case])
        };
    }
    if !by_case && cases.len() != 1 {
        scope.reader.unfit(offset, "which case? Name one with `case`, or make `case` a panel");
        return None;
    }
    if let Some(case) = cases.iter().find(|case| !scope.has_case(of, **case)) {
        scope.reader.unfit(offset, format!("it does not exist in the case `{}`", scope.cases()[*case].name));
        return None;
    }
    let dimensions = scope.dimensions(of);
    for (axis, value) in at.iter_mut().enumerate() {
        let drawn = open.iter().any(|(dimension, _)| *dimension == Dimension::Axis(axis));
        if drawn && value.is_some() {
            let name = scope.axes()[axis].info.name;
            scope.reader.unfit(offset, format!("`{name}` is drawn; it cannot be held as well"));
            return None;
        }
        if !drawn && dimensions[axis] && value.is_none() {
            value.clone_from(&scope.base.at[axis]);
        }
    }
    let closed = |axis: usize| {
        at[axis].is_some() || open.iter().any(|(dimension, _)| *dimension == Dimension::Axis(axis))
    };
    scope.check_closed(of, closed, offset).then_some(())?;
    for case in &cases {
        scope.check_point(*case, &at, offset).then_some(())?;
    }
    Some(Mapped::Number { of, cases, at })
}

/// Whether what is drawn has values for the axes that are drawn.
fn check(of: &Mapped, open: &[(Dimension, usize)], claims: &[Claim], scope: &Scope<'_>) -> Option<()> {
    for (dimension, at) in open {
        match (of, dimension) {
            (Mapped::Number { of, .. }, Dimension::Axis(axis)) => {
                if !scope.dimensions(*of)[*axis] {
                    let name = scope.axes()[*axis].info.name;
                    scope
                        .reader
                        .unfit(*at, format!("it has no values along `{name}`: it was made from them"));
                    return None;
                }
            }
            (Mapped::Number { .. }, Dimension::Case) => {}
            (Mapped::Claim(_), Dimension::Case) => {
                scope.reader.unfit(*at, "a claim says which cases it is about; they cannot be panels");
                return None;
            }
            (Mapped::Claim(index), Dimension::Axis(axis)) => {
                if let Err(reason) = claims[*index].can_move(*axis, scope) {
                    scope.reader.unfit(*at, reason);
                    return None;
                }
            }
        }
    }
    Some(())
}

fn check_size(of: &Mapped, open: &[(Dimension, usize)], claims: &[Claim], scope: &Scope<'_>) -> Option<()> {
    let cases = match of {
        Mapped::Number { cases, .. } => cases.clone(),
        Mapped::Claim(index) => claims[*index].terms.iter().map(|term| term.case).collect(),
    };
    let length = |dimension: &Dimension| match dimension {
        Dimension::Case => cases.len(),
        Dimension::Axis(axis) => {
            cases.iter().map(|case| scope.cases()[*case].values[*axis].len()).max().unwrap_or(0)
        }
    };
    let got = open.iter().map(|(dimension, _)| length(dimension)).fold(1, usize::saturating_mul);
    if got > HeatMap::CELLS_MAX {
        scope.reader.mistake(open[0].1, Problem::TooMany { what: "cells", got, max: HeatMap::CELLS_MAX });
        return None;
    }
    Some(())
}
