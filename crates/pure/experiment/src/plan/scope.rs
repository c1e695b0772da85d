//! The names that the later parts of a plan may use.

use super::error::Problem;
use super::grid::{Axis, Case, Grid, Grids};
use super::measure::{Measure, MeasureKind};
use super::read::{At, Reader, Table, shown};
use crate::near::nearest;
use crate::testbed::Testbed;
use crate::value::Value;

/// The most places that lists in one `at` make.
const COMBINATIONS_MAX: usize = 1_000;

/// Something with a number at every place of its own dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// What a testbed measures, by its place among the metrics.
    Metric(usize),
    /// What the plan makes of it, by its place among the measures.
    Measure(usize),
}

/// For each axis its value, or nothing if it is not fixed.
pub(crate) type Coordinates = Vec<Option<Value>>;

/// Where claims are judged that do not say otherwise: a case, and values of axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Base {
    pub(super) case: Option<usize>,
    pub(super) at: Coordinates,
    /// Whether it was wrong: who relies on it is not to blame.
    pub(super) spoiled: bool,
}

#[derive(Debug)]
pub(super) struct Scope<'g> {
    pub(super) reader: &'g Reader<'g>,
    pub(super) testbed: &'static dyn Testbed,
    pub(super) grids: &'g Grids,
    pub(super) measures: Vec<Measure>,
    pub(super) base: Base,
}

impl<'g> Scope<'g> {
    pub(super) fn new(testbed: &'static dyn Testbed, grids: &'g Grids, reader: &'g Reader<'g>) -> Self {
        let base = Base { at: vec![None; grids.axes.len()], ..Base::default() };
        Self { reader, testbed, grids, measures: Vec::new(), base }
    }

    /// Reads `[base]`.
    pub(super) fn read_base(&self, head: &mut Table<'_>) -> Base {
        let before = self.reader.count();
        let Some(mut table) = head.table("base") else {
            return Base { case: None, at: self.nowhere(), spoiled: before < self.reader.count() };
        };
        let case = table.text("case", 100).and_then(|name| self.case(&name));
        let at = self.read_at(&mut table).unwrap_or_else(|| self.nowhere());
        table.close();
        Base { case, at, spoiled: before < self.reader.count() }
    }

    pub(super) fn axes(&self) -> &'g [Axis] {
        &self.grids.axes
    }

    pub(super) fn cases(&self) -> &'g [Case] {
        &self.grids.full.cases
    }

    pub(super) fn nowhere(&self) -> Coordinates {
        vec![None; self.axes().len()]
    }

    pub(super) fn quantity(&self, name: &At<String>) -> Option<Quantity> {
        if let Some(index) = self.measures.iter().position(|measure| measure.id == name.value) {
            return Some(Quantity::Measure(index));
        }
        let metrics = self.testbed.metrics();
        if let Some(index) = metrics.iter().position(|metric| metric.name == name.value) {
            return Some(Quantity::Metric(index));
        }
        if self.reader.is_spoiled(&name.value) {
            return None;
        }
        let names = metrics.iter().map(|metric| metric.name);
        let names = names.chain(self.measures.iter().map(|measure| measure.id.as_str()));
        let meant = nearest(&name.value, names).map(str::to_owned);
        let what = "metric or measure";
        self.reader.mistake(name.at, Problem::UnknownName { what, name: shown(&name.value), meant });
        None
    }

    /// Which axes a quantity has a value for each value of.
    pub(super) fn dimensions(&self, of: Quantity) -> Vec<bool> {
        match of {
            Quantity::Metric(_) => vec![true; self.axes().len()],
            Quantity::Measure(index) => self.measures[index].dimensions.clone(),
        }
    }

    pub(super) fn unit(&self, of: Quantity) -> &str {
        match of {
            Quantity::Metric(index) => self.testbed.metrics()[index].unit,
            Quantity::Measure(index) => &self.measures[index].unit,
        }
    }

    pub(super) fn has_case(&self, of: Quantity, case: usize) -> bool {
        match of {
            Quantity::Metric(_) => true,
            Quantity::Measure(index) => self.measures[index].cases.contains(&case),
        }
    }

    /// Whether a number is, at its root, a place on an axis that was taken from a curve.
    pub(super) fn is_axis_position(&self, of: Quantity) -> bool {
        let Quantity::Measure(index) = of else { return false };
        match &self.measures[index].kind {
            MeasureKind::Along { curve, .. } => curve.is_axis_position(),
            MeasureKind::Relation { of, .. } => self.is_axis_position(*of),
        }
    }

    pub(super) fn axis(&self, name: &At<String>) -> Option<usize> {
        self.reader.find("axis", name, self.axes().iter().map(|axis| axis.info.name))
    }

    pub(super) fn case(&self, name: &At<String>) -> Option<usize> {
        self.reader.find("case", name, self.cases().iter().map(|case| case.name.as_str()))
    }

    /// `cases`, if they are given and all exist.
    pub(super) fn read_cases(&self, table: &mut Table<'_>) -> Option<Vec<usize>> {
        let names = table.names("cases", super::Plan::CASES_MAX)?;
        let mut cases = Vec::new();
        for name in &names {
            if let Some(case) = self.case(name) {
                if cases.contains(&case) {
                    self.reader.unfit(name.at, format!("the case `{}` is named twice", name.value));
                }
                cases.push(case);
            }
        }
        Some(cases)
    }

    /// What `case` or `cases` names, if either is given; nothing if that is wrong.
    pub(super) fn one_or_more(
        &self,
        case: Option<At<String>>,
        cases: Option<Vec<usize>>,
    ) -> Option<Option<Vec<usize>>> {
        match (case, cases) {
            (Some(case), None) => Some(Some(vec![self.case(&case)?])),
            (None, cases) => Some(cases),
            (Some(case), Some(_)) => {
                self.reader.unfit(case.at, "`case` and `cases` are both there; leave one of them out");
                None
            }
        }
    }

    /// `at`: axes with the values at which they are held; nothing if it is wrong.
    pub(super) fn read_at(&self, table: &mut Table<'_>) -> Option<Coordinates> {
        self.read_at_key(table, "at")
    }

    /// The same under another name.
    pub(super) fn read_at_key(&self, table: &mut Table<'_>, key: &'static str) -> Option<Coordinates> {
        let mut at = self.nowhere();
        let before = self.reader.count();
        let Some(table) = table.table(key) else { return (before == self.reader.count()).then_some(at) };
        for (name, node) in flat(&table) {
            let Some(axis) = self.axis(&name) else { continue };
            let Some(value) = self.reader.value(&name.value, node) else { continue };
            at[axis] = self.axis_value(axis, &value);
        }
        (before == self.reader.count()).then_some(at)
    }

    /// `at` whose values may be lists: every combination of them, the first axis varying slowest; and how many of them
    /// are lists of several.
    pub(super) fn read_combinations(&self, table: &mut Table<'_>) -> Option<(Vec<Coordinates>, usize)> {
        let mut combinations = vec![self.nowhere()];
        let mut lists = 0;
        let before = self.reader.count();
        let Some(table) = table.table("at") else {
            return (before == self.reader.count()).then_some((combinations, lists));
        };
        for (name, node) in flat(&table) {
            let Some(axis) = self.axis(&name) else { continue };
            let values = if matches!(node.get_ref(), toml::de::DeValue::Array(_)) {
                self.reader.list(&name.value, node, ("values", super::Plan::VALUES_MAX), |node| {
                    self.reader.value(&name.value, node)
                })
            } else {
                self.reader.value(&name.value, node).map(|value| vec![value])
            };
            let Some(values) = values else { continue };
            if values.is_empty() {
                self.reader
                    .unfit(node.span().start, format!("`{}` is an empty list; give it values", name.value));
            }
            lists += usize::from(values.len() > 1);
            let values: Vec<Value> = values.iter().filter_map(|value| self.axis_value(axis, value)).collect();
            let at_value = |coordinates: &Coordinates, value: &Value| {
                let mut extended = coordinates.clone();
                extended[axis] = Some(value.clone());
                extended
            };
            let got = combinations.len().saturating_mul(values.len());
            if got > COMBINATIONS_MAX {
                let problem = Problem::TooMany { what: "places", got, max: COMBINATIONS_MAX };
                self.reader.mistake(node.span().start, problem);
                return None;
            }
            combinations = combinations
                .iter()
                .flat_map(|coordinates| values.iter().map(|value| at_value(coordinates, value)))
                .collect();
        }
        (before == self.reader.count()).then_some((combinations, lists))
    }

    /// A value as the axis has it; a mistake if no case has it.
    pub(super) fn axis_value(&self, axis: usize, value: &At<Value>) -> Option<Value> {
        let info = self.axes()[axis].info;
        let accepted = match info.accept(&value.value) {
            Ok(accepted) => accepted,
            Err(error) => {
                self.reader.mistake(value.at, Problem::Setting(error));
                return None;
            }
        };
        let swept = |grid: &Grid| grid.cases.iter().any(|case| case.values[axis].contains(&accepted));
        if let Some(of) = self.absent(swept) {
            let reason = format!("{of} has no point with {} = {accepted}", info.name);
            self.reader.unfit(value.at, reason);
            return None;
        }
        Some(accepted)
    }

    /// Which of the two sweeps something is not true of, if there is one.
    pub(super) fn absent(&self, is_there: impl Fn(&Grid) -> bool) -> Option<&'static str> {
        if !is_there(&self.grids.full) {
            return Some("the sweep");
        }
        (!is_there(&self.grids.quick)).then_some("the sweep of [quick]")
    }

    /// A mistake if a case has no point there, in full or quickly.
    pub(super) fn check_point(&self, case: usize, coordinates: &Coordinates, at: usize) -> bool {
        for (axis, value) in coordinates.iter().enumerate() {
            let Some(value) = value else { continue };
            if let Some(of) = self.absent(|grid| grid.cases[case].values[axis].contains(value)) {
                let (case, name) = (&self.cases()[case].name, self.axes()[axis].info.name);
                self.reader
                    .unfit(at, format!("in the case `{case}` {of} has no point with {name} = {value}"));
                return false;
            }
        }
        true
    }

    /// A mistake if an axis has values that are not numbers.
    pub(super) fn check_numeric(&self, axis: usize, at: usize) -> bool {
        let numeric = self.is_numeric(axis);
        if !numeric {
            self.reader.unfit(at, format!("the values of `{}` are not numbers", self.axes()[axis].info.name));
        }
        numeric
    }

    pub(super) fn is_numeric(&self, axis: usize) -> bool {
        let grids = [&self.grids.full, &self.grids.quick];
        let mut values = grids.into_iter().flat_map(|grid| &grid.cases).flat_map(|case| &case.values[axis]);
        values.all(|value| value.number().is_some())
    }

    /// Names the axes of a quantity that are still open; a mistake if there are any.
    pub(super) fn check_closed(&self, of: Quantity, closed: impl Fn(usize) -> bool, at: usize) -> bool {
        let open = self.dimensions(of).into_iter().enumerate().filter(|(axis, has)| *has && !closed(*axis));
        let names: Vec<_> = open.map(|(axis, _)| format!("`{}`", self.axes()[axis].info.name)).collect();
        if names.is_empty() {
            return true;
        }
        let reason = format!("it has a value for every value of {}; say which with `at`", names.join(", "));
        self.reader.unfit(at, reason);
        false
    }
}

/// The entries of a table; tables in it are joined with dots.
fn flat<'a>(table: &Table<'a>) -> Vec<(At<String>, &'a toml::Spanned<toml::de::DeValue<'a>>)> {
    let mut leaves = Vec::new();
    super::grid::flatten(table, "", &mut leaves);
    leaves
}
