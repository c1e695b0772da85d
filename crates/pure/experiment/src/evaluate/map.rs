//! The cells of a map, its picture, and where a claim holds.

use super::judge::Judged;
use super::moved::{Move, judge_moved};
use super::sample::Curves;
use crate::plan::{Claim, Coordinates, Dimension, Map, Mapped, Quantity};
use crate::statistics::Estimate;
use crate::value::Value;
use guestright_figure::{FigureError, Fill, HeatCell, HeatMap, Labels, Panel, short};
use serde::{Deserialize, Serialize};

/// A map: a number or a verdict for each pair of values of two axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MapNumbers {
    /// Its id; fit to name a file.
    pub id: String,
    pub title: String,
    /// The name of the x axis, with its unit.
    pub x_label: String,
    /// The name of the y axis, with its unit.
    pub y_label: String,
    /// The values of the x axis, from the left.
    pub xs: Vec<String>,
    /// The values of the y axis, from the bottom.
    pub ys: Vec<String>,
    /// What is drawn: the quantity with its unit, or what the claim says.
    pub what: String,
    /// The claim's id, if it is a claim.
    pub claim: Option<String>,
    /// What would confirm the claim, in words; empty if it is a number.
    pub wanted: String,
    /// How many rectangles stand side by side; 0 if nothing is said.
    pub columns: usize,
    pub panels: Vec<MapPanel>,
    /// Where the claim holds, if it is one.
    pub where_held: Option<WhereHeld>,
    /// A word about it.
    pub note: String,
}

/// One rectangle of a map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MapPanel {
    /// What is the same in all of its cells; may be empty.
    pub title: String,
    /// Row by row from the bottom, from the left.
    pub cells: Vec<MapCell>,
}

/// One cell of a map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MapCell {
    /// Where it is: `first.rate_mbps = 2, first.buffer = 50`.
    pub point: String,
    /// Whether the sweep has no such point: the cell is blank and counts nowhere.
    pub absent: bool,
    /// What is printed in it.
    pub text: String,
    /// Ours; of a claim with several numbers, the one that decides: least inside of what is wanted, or farthest outside.
    /// Of an order, the step from one number to the next.
    pub number: Option<f64>,
    /// What the seeds say; nothing where the cell is a claim's.
    pub estimate: Option<Estimate>,
    /// What became of the claim; nothing where the cell is a number's.
    pub judged: Option<Judged>,
    /// Whether a confidence interval reaches across the edge of the claim's band.
    pub unclear: bool,
    /// Why, in words.
    pub reason: String,
}

/// In how many cells a claim holds, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhereHeld {
    /// All cells, however they were judged.
    pub all: Held,
    /// In how many cells the verdict is not sure at 95 %.
    pub unclear: usize,
    /// The same for each value of each axis of the map: the axis, and its values.
    pub by_axis: Vec<(String, Vec<(String, Held)>)>,
}

/// A count of cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Where the claim holds.
    pub holds: usize,
    /// Where it does not.
    pub fails: usize,
    /// Where nobody can say.
    pub unknown: usize,
}

impl Held {
    pub const fn cells(self) -> usize {
        self.holds + self.fails + self.unknown
    }

    const fn add(&mut self, judged: Judged) {
        match judged {
            Judged::Reproduces => self.holds += 1,
            Judged::DoesNotReproduce => self.fails += 1,
            Judged::CannotBeComputed | Judged::Prediction => self.unknown += 1,
        }
    }
}

/// Where a cell is, value by value: x, y, then what tells the panels apart.
type CellPosition = Vec<(Dimension, Option<Value>, usize)>;

pub(super) fn numbers(curves: &Curves<'_>, map: &Map) -> MapNumbers {
    let plan = curves.plan;
    let (xs, ys) = (values(curves, map, map.x), values(curves, map, map.y));
    let mut panels = Vec::new();
    let mut held: Vec<(CellPosition, Judged, bool)> = Vec::new();
    for around in panel_positions(curves, map) {
        let mut cells = Vec::new();
        for y in &ys {
            for x in &xs {
                let mut position: CellPosition = vec![
                    (Dimension::Axis(map.x), Some(x.clone()), 0),
                    (Dimension::Axis(map.y), Some(y.clone()), 0),
                ];
                position.extend(around.iter().cloned());
                let cell = cell(curves, map, &position);
                held.extend(cell.judged.map(|judged| (position, judged, cell.unclear)));
                cells.push(cell);
            }
        }
        panels.push(MapPanel { title: words(curves, &around), cells });
    }
    let claim = match &map.of {
        Mapped::Claim(index) => Some(&plan.claims[*index]),
        Mapped::Number { .. } => None,
    };
    let first = map.panels.first().map_or(0, |panel| dimension_values(curves, map, *panel).len());
    let names = |values: &[Value]| values.iter().map(ToString::to_string).collect();
    MapNumbers {
        id: map.id.clone(),
        title: map.title.clone(),
        x_label: map.x_label.clone(),
        y_label: map.y_label.clone(),
        xs: names(&xs),
        ys: names(&ys),
        what: what(curves, map),
        claim: claim.map(|claim| claim.id.clone()),
        wanted: claim.map(|claim| super::judge::wanted(&claim.test)).unwrap_or_default(),
        columns: if map.panels.len() > 1 { first } else { 0 },
        panels,
        where_held: claim.map(|_| where_held(curves, &held)),
        note: map.note.clone(),
    }
}

fn what(curves: &Curves<'_>, map: &Map) -> String {
    match &map.of {
        Mapped::Claim(index) => curves.plan.claims[*index].text.clone(),
        Mapped::Number { of, .. } => match curves.unit(*of) {
            "" => curves.name(*of).to_owned(),
            unit => format!("{} ({unit})", curves.name(*of)),
        },
    }
}

/// The cases that a map is about.
fn cases(curves: &Curves<'_>, map: &Map) -> Vec<usize> {
    match &map.of {
        Mapped::Number { cases, .. } => cases.clone(),
        Mapped::Claim(index) => curves.plan.claims[*index].terms.iter().map(|term| term.case).collect(),
    }
}

/// The values of an axis, in the order in which the cases have them; numbers from the least to the most.
fn values(curves: &Curves<'_>, map: &Map, axis: usize) -> Vec<Value> {
    let mut values: Vec<Value> = Vec::new();
    for case in cases(curves, map) {
        for value in &curves.plan.grid.cases[case].values[axis] {
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
    }
    if values.iter().all(|value| value.number().is_some()) {
        values.sort_by(|a, b| a.number().unwrap_or(0.0).total_cmp(&b.number().unwrap_or(0.0)));
    }
    values
}

/// The values of what tells panels apart: an axis's, or the cases.
fn dimension_values(curves: &Curves<'_>, map: &Map, panel: Dimension) -> CellPosition {
    match panel {
        Dimension::Case => cases(curves, map).into_iter().map(|case| (panel, None, case)).collect(),
        Dimension::Axis(axis) => {
            values(curves, map, axis).into_iter().map(|value| (panel, Some(value), 0)).collect()
        }
    }
}

/// A place for each panel: the first dimension goes from left to right, the second down.
fn panel_positions(curves: &Curves<'_>, map: &Map) -> Vec<CellPosition> {
    let mut positions: Vec<CellPosition> = vec![Vec::new()];
    for panel in map.panels.iter().rev() {
        let values = dimension_values(curves, map, *panel);
        let longer = |position: &CellPosition| {
            let before = |value: &(Dimension, Option<Value>, usize)| {
                std::iter::once(value.clone()).chain(position.iter().cloned()).collect::<CellPosition>()
            };
            values.iter().map(before).collect::<Vec<_>>()
        };
        positions = positions.iter().flat_map(longer).collect();
    }
    positions
}

fn words(curves: &Curves<'_>, position: &CellPosition) -> String {
    let word = |(dimension, value, case): &(Dimension, Option<Value>, usize)| match (dimension, value) {
        (Dimension::Axis(axis), Some(value)) => format!("{} = {value}", curves.plan.axes[*axis].info.name),
        _ => curves.plan.grid.cases[*case].title.clone(),
    };
    position.iter().map(word).collect::<Vec<_>>().join(", ")
}

fn cell(curves: &Curves<'_>, map: &Map, position: &CellPosition) -> MapCell {
    let point = words(curves, position);
    let by_case =
        position.iter().find(|(dimension, ..)| *dimension == Dimension::Case).map(|(.., case)| *case);
    let cases = by_case.map_or_else(|| cases(curves, map), |case| vec![case]);
    let has = |case: &usize| {
        position.iter().all(|(dimension, value, _)| match (dimension, value) {
            (Dimension::Axis(axis), Some(value)) => {
                curves.plan.grid.cases[*case].values[*axis].contains(value)
            }
            _ => true,
        })
    };
    if !cases.iter().all(has) {
        let reason = "the case has no such point".to_owned();
        let (text, number, estimate, judged) = (String::new(), None, None, None);
        return MapCell { point, absent: true, text, number, estimate, judged, unclear: false, reason };
    }
    match &map.of {
        Mapped::Number { of, cases, at } => {
            number_cell(curves, *of, by_case.or(cases.first().copied()).unwrap_or(0), at, position, point)
        }
        Mapped::Claim(index) => claim_cell(curves, &curves.plan.claims[*index], position, point),
    }
}

fn number_cell(
    curves: &Curves<'_>,
    of: Quantity,
    case: usize,
    at: &Coordinates,
    position: &CellPosition,
    point: String,
) -> MapCell {
    let mut at = at.clone();
    for (dimension, value, _) in position {
        if let Dimension::Axis(axis) = dimension {
            at[*axis].clone_from(value);
        }
    }
    let estimate = curves.estimate(of, case, &at);
    let number = if curves.is_axis_position(of) { estimate.curve } else { estimate.mean };
    MapCell {
        point,
        absent: false,
        text: number.map(short).unwrap_or_default(),
        number,
        judged: None,
        unclear: false,
        reason: if number.is_some() { String::new() } else { estimate.why.clone().unwrap_or_default() },
        estimate: Some(estimate),
    }
}

fn claim_cell(curves: &Curves<'_>, claim: &Claim, position: &CellPosition, point: String) -> MapCell {
    let moves = position.iter().filter_map(|(dimension, value, _)| match (dimension, value) {
        (Dimension::Axis(axis), Some(value)) => Some(Move::Axis(*axis, value.clone())),
        _ => None,
    });
    let moved = judge_moved(curves, claim, &moves.collect::<Vec<_>>());
    let number = moved.deciding().and_then(|subject| subject.number);
    MapCell {
        point,
        absent: false,
        text: number.map(short).unwrap_or_default(),
        number,
        estimate: None,
        judged: Some(moved.verdict.judged),
        unclear: moved.verdict.unclear,
        reason: moved.verdict.reason,
    }
}

fn where_held(curves: &Curves<'_>, cells: &[(CellPosition, Judged, bool)]) -> WhereHeld {
    let mut all = Held::default();
    let mut by_axis: Vec<(String, Vec<(String, Held)>)> = Vec::new();
    for (position, judged, _) in cells {
        all.add(*judged);
        for (index, (dimension, value, _)) in position.iter().enumerate() {
            let (Dimension::Axis(axis), Some(value)) = (dimension, value) else { continue };
            if by_axis.len() <= index {
                by_axis.push((curves.plan.axes[*axis].info.name.to_owned(), Vec::new()));
            }
            let (values, value) = (&mut by_axis[index].1, value.to_string());
            if !values.iter().any(|(other, _)| *other == value) {
                values.push((value.clone(), Held::default()));
            }
            if let Some((_, held)) = values.iter_mut().find(|(other, _)| *other == value) {
                held.add(*judged);
            }
        }
    }
    WhereHeld { all, unclear: cells.iter().filter(|cell| cell.2).count(), by_axis }
}

impl WhereHeld {
    /// In a sentence or two: the share of the cells, and values with which it holds everywhere or nowhere.
    pub fn words(&self) -> String {
        let Held { holds, unknown, .. } = self.all;
        let cells = self.all.cells();
        let percent = (100 * holds + cells / 2).checked_div(cells).unwrap_or(0);
        let mut out = format!("Holds in {holds} of {cells} cells ({percent} %)");
        if unknown > 0 {
            out.push_str(&format!(", in {unknown} it cannot be computed"));
        }
        if self.unclear > 0 {
            out.push_str(&format!(", in {} it is not sure at 95 %", self.unclear));
        }
        out.push('.');
        if holds == 0 || holds == cells {
            return out;
        }
        let sentence = |word: &str, which: fn(&Held) -> bool| {
            let of_axis = |(axis, values): &(String, Vec<(String, Held)>)| {
                let names = values.iter().filter(|(_, held)| which(held)).map(|(value, _)| value.as_str());
                let names: Vec<&str> = names.collect();
                let some = !names.is_empty() && values.len() > 1;
                some.then(|| format!("{axis} = {}", names.join(", ")))
            };
            let axes: Vec<String> = self.by_axis.iter().filter_map(of_axis).collect();
            if axes.is_empty() { String::new() } else { format!(" {word} with {}.", axes.join("; with ")) }
        };
        out.push_str(&sentence("Everywhere", |held| held.holds == held.cells()));
        out.push_str(&sentence("Nowhere", |held| held.holds == 0));
        out
    }
}

impl MapNumbers {
    /// Its picture, as the text of an SVG element.
    ///
    /// # Errors
    ///
    /// When there is nothing to draw.
    pub fn svg(&self) -> Result<String, FigureError> {
        self.heat_map().svg()
    }

    /// Its picture: numbers by colour and printed, verdicts by colour and sign.
    pub fn heat_map(&self) -> HeatMap {
        let cell = |cell: &MapCell| HeatCell {
            fill: match (cell.judged, cell.number) {
                _ if cell.absent => Fill::Blank,
                (Some(Judged::Reproduces), _) => Fill::Holds,
                (Some(Judged::DoesNotReproduce), _) => Fill::Fails,
                (Some(Judged::CannotBeComputed), _) | (None | Some(Judged::Prediction), None) => {
                    Fill::Unknown
                }
                (None | Some(Judged::Prediction), Some(number)) => Fill::Number(number),
            },
            text: cell.text.clone(),
            about: about(cell),
            unsure: cell.unclear,
        };
        let panel = |panel: &MapPanel| Panel {
            title: panel.title.clone(),
            cells: panel.cells.iter().map(cell).collect(),
        };
        let labels =
            |label: &str, names: &[String]| Labels { label: label.to_owned(), names: names.to_vec() };
        HeatMap {
            title: self.title.clone(),
            description: self.description(),
            x: labels(&self.x_label, &self.xs),
            y: labels(&self.y_label, &self.ys),
            of: if self.claim.is_some() { String::new() } else { self.what.clone() },
            panels: self.panels.iter().map(panel).collect(),
            columns: self.columns,
            range: None,
        }
    }

    /// What it shows, in a sentence or two.
    pub fn description(&self) -> String {
        if let Some(held) = &self.where_held {
            return format!("{} {}", self.what, held.words());
        }
        let cells = self.panels.iter().flat_map(|panel| &panel.cells);
        let known: Vec<(f64, &MapCell)> = cells.filter_map(|cell| Some((cell.number?, cell))).collect();
        let least = known.iter().min_by(|a, b| a.0.total_cmp(&b.0));
        let most = known.iter().rev().max_by(|a, b| a.0.total_cmp(&b.0));
        match (least, most) {
            (Some((least, low)), Some((most, high))) => format!(
                "{}: from {} at {} to {} at {}.",
                self.what,
                short(*least),
                low.point,
                short(*most),
                high.point
            ),
            _ => format!("{}: no number is known.", self.what),
        }
    }

    /// Its numbers, a line for each cell and seed; of a claim, a line for each cell.
    pub fn csv(&self) -> String {
        let head: &[&str] = if self.claim.is_some() {
            &["point", "verdict", "number", "sure", "reason"]
        } else {
            &["point", "replication", "number"]
        };
        let mut text = crate::results::csv_line(head.iter().map(|head| (*head).to_owned()));
        let number = |number: Option<f64>| number.map(|number| format!("{number:?}")).unwrap_or_default();
        for cell in self.panels.iter().flat_map(|panel| &panel.cells) {
            if let Some(judged) = cell.judged {
                let sure = (!cell.unclear).to_string();
                let fields = [
                    cell.point.clone(),
                    judged.words().to_owned(),
                    number(cell.number),
                    sure,
                    cell.reason.clone(),
                ];
                text.push_str(&crate::results::csv_line(fields.into_iter()));
            }
            for (replication, value) in
                cell.estimate.iter().flat_map(|estimate| estimate.values.iter().enumerate())
            {
                let fields = [cell.point.clone(), replication.to_string(), number(*value)];
                text.push_str(&crate::results::csv_line(fields.into_iter()));
            }
        }
        text
    }
}

/// A cell in words, for the pointer.
fn about(cell: &MapCell) -> String {
    let mut words = vec![cell.point.clone()];
    words.extend(cell.judged.map(|judged| judged.words().to_owned()));
    if !cell.text.is_empty() {
        words.push(cell.text.clone());
    }
    if let Some((low, high)) = cell.estimate.as_ref().and_then(|estimate| estimate.interval) {
        words.push(format!("95 % {} … {}", short(low), short(high)));
    }
    words.extend(cell.reason.lines().take(3).map(str::to_owned));
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn held(holds: usize, fails: usize, unknown: usize) -> Held {
        Held { holds, fails, unknown }
    }

    fn axis(name: &str, values: &[(&str, Held)]) -> (String, Vec<(String, Held)>) {
        (name.to_owned(), values.iter().map(|(value, held)| ((*value).to_owned(), *held)).collect())
    }

    #[test]
    fn a_prediction_counts_as_unknown() {
        let mut all = Held::default();
        for judged in [
            Judged::Reproduces,
            Judged::Reproduces,
            Judged::Reproduces,
            Judged::DoesNotReproduce,
            Judged::DoesNotReproduce,
            Judged::CannotBeComputed,
            Judged::Prediction,
        ] {
            all.add(judged);
        }
        assert_eq!((all, all.cells()), (held(3, 2, 2), 7));
    }

    #[test]
    fn shares_are_rounded_to_the_nearest_percent() {
        #[rustfmt::skip]
        let cases = [
            (held(0, 0, 0), 0, "Holds in 0 of 0 cells (0 %)."),
            (held(0, 3, 0), 0, "Holds in 0 of 3 cells (0 %)."),
            (held(1, 2, 0), 0, "Holds in 1 of 3 cells (33 %)."),
            (held(2, 1, 0), 0, "Holds in 2 of 3 cells (67 %)."),
            (held(1, 7, 0), 0, "Holds in 1 of 8 cells (13 %)."),
            (held(3, 0, 0), 2, "Holds in 3 of 3 cells (100 %), in 2 it is not sure at 95 %."),
            (held(1, 0, 1), 0, "Holds in 1 of 2 cells (50 %), in 1 it cannot be computed."),
            (held(1, 1, 2), 1, "Holds in 1 of 4 cells (25 %), in 2 it cannot be computed, in 1 it is not sure at 95 %."),
        ];
        for (all, unclear, want) in cases {
            assert_eq!(WhereHeld { all, unclear, by_axis: Vec::new() }.words(), want);
        }
    }

    #[test]
    fn an_axis_is_named_where_a_value_of_it_decides() {
        let rate = axis("rate", &[("1", held(2, 0, 0)), ("2", held(2, 0, 0)), ("3", held(0, 1, 1))]);
        let mixed = axis("delay", &[("10", held(2, 1, 0)), ("20", held(2, 0, 1))]);
        let single = axis("loss", &[("0", held(4, 1, 1))]);
        let size = axis("size", &[("a", held(4, 0, 0)), ("b", held(0, 2, 0))]);
        let by_axis = vec![rate, mixed, single, size];
        let words = WhereHeld { all: held(4, 1, 1), unclear: 0, by_axis: by_axis.clone() }.words();
        assert_eq!(
            words,
            "Holds in 4 of 6 cells (67 %), in 1 it cannot be computed. Everywhere with rate = 1, 2; with size = a. \
             Nowhere with rate = 3; with size = b."
        );
        let all = WhereHeld { all: held(6, 0, 0), unclear: 0, by_axis };
        assert_eq!(
            all.words(),
            "Holds in 6 of 6 cells (100 %).",
            "where it holds everywhere no axis decides"
        );
    }
}
