//! Numbers made from curves.

use super::error::Problem;
use super::read::{At, Table};
use super::scope::{Coordinates, Quantity, Scope};
use crate::value::Value;

/// The most measures of a plan.
const MEASURES_MAX: usize = 200;

const KINDS: [&str; 12] = [
    "largest",
    "smallest",
    "crossing",
    "at",
    "max",
    "min",
    "mean",
    "argmax",
    "argmin",
    "ratio",
    "difference",
    "change",
];

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measure {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) unit: String,
    pub(crate) about: String,
    /// The cases that it is made for.
    pub(crate) cases: Vec<usize>,
    /// For each axis whether it has a value for each of the axis's.
    pub(crate) dimensions: Vec<bool>,
    pub(crate) kind: MeasureKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MeasureKind {
    /// One number from a curve along an axis.
    Along { of: Quantity, over: usize, curve: Curve },
    /// One number from two.
    Relation { how: Relation, of: Quantity, to: Quantity, to_case: Option<usize>, to_at: Coordinates },
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Curve {
    /// The largest x up to which it holds everywhere; what it is if nothing holds.
    Largest(Condition, Option<f64>),
    /// The smallest x from which on it holds everywhere.
    Smallest(Condition, Option<f64>),
    /// The first x where the straight lines between the points cross this height.
    Crossing(f64),
    /// The value at an x.
    At(Value),
    /// Of the values between two x.
    Over { pick: Pick, from: f64, to: f64 },
}

impl Curve {
    /// Whether the number is a place on the axis.
    pub(crate) const fn is_axis_position(&self) -> bool {
        match self {
            Self::Largest(..) | Self::Smallest(..) | Self::Crossing(_) => true,
            Self::Over { pick, .. } => matches!(pick, Pick::ArgMax | Pick::ArgMin),
            Self::At(_) => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Condition {
    AtLeast(f64),
    AtMost(f64),
}

impl Condition {
    pub(crate) fn holds(self, y: f64) -> bool {
        match self {
            Self::AtLeast(limit) => y >= limit,
            Self::AtMost(limit) => y <= limit,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    Max,
    Min,
    Mean,
    ArgMax,
    ArgMin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Ratio,
    Difference,
    /// In percent of the second.
    Change,
}

/// Reads `[[measure]]` into the scope; each may use those before it.
pub(super) fn read(head: &mut Table<'_>, scope: &mut Scope<'_>) {
    let mut ids: Vec<At<String>> = Vec::new();
    for mut table in head.tables("measure", ("measures", MEASURES_MAX)) {
        let id = table.want_name("id");
        let measure = read_one(&mut table, id.as_ref(), scope);
        table.close();
        let Some(id) = id else { continue };
        let Some(measure) = measure else {
            scope.reader.spoil(&id.value);
            continue;
        };
        if let Some(first) = ids.iter().find(|other| other.value == id.value) {
            let line = scope.reader.line_column(first.at).0;
            scope.reader.mistake(id.at, Problem::Twice { what: "measure", name: id.value, line });
            continue;
        }
        if scope.testbed.metrics().iter().any(|metric| metric.name == id.value) {
            scope.reader.unfit(
                id.at,
                format!("`{}` is a metric of the testbed; give the measure another id", id.value),
            );
            continue;
        }
        ids.push(id);
        scope.measures.push(measure);
    }
}

fn read_one(table: &mut Table<'_>, id: Option<&At<String>>, scope: &Scope<'_>) -> Option<Measure> {
    let title = table.text("title", 200);
    let unit = table.text("unit", 40);
    let about = table.text("about", 1_000);
    let cases = scope.read_cases(table);
    let of = table.want_text("of", 100).and_then(|name| {
        let quantity = scope.quantity(&name)?;
        Some(At { value: quantity, at: name.at })
    });
    if table.node("kind").is_none() {
        table.missing("kind", format!("one of {}", KINDS.join(", ")));
    }
    let Some(kind) = table.choice("kind", &KINDS) else {
        // Without a kind nobody knows which of these belong.
        for key in
            ["over", "at_least", "at_most", "otherwise", "level", "x", "from", "to", "to_case", "to_at"]
        {
            table.node(key);
        }
        return None;
    };
    let (kind, dimensions, usual_unit) = match KINDS[kind.value] {
        "ratio" => read_relation(table, Relation::Ratio, of.as_ref(), scope)?,
        "difference" => read_relation(table, Relation::Difference, of.as_ref(), scope)?,
        "change" => read_relation(table, Relation::Change, of.as_ref(), scope)?,
        kind => read_along(table, kind, of.as_ref(), scope)?,
    };
    let of = of?;
    let all = (0..scope.cases().len()).filter(|case| scope.has_case(of.value, *case)).collect();
    let cases: Vec<usize> = cases.unwrap_or(all);
    if let Some(case) = cases.iter().find(|case| !scope.has_case(of.value, **case)) {
        scope.reader.unfit(
            of.at,
            format!("what it is made of does not exist in the case `{}`", scope.cases()[*case].name),
        );
    }
    let id = id?.value.clone();
    Some(Measure {
        title: title.map_or_else(|| id.clone(), |title| title.value),
        unit: unit.map_or(usual_unit, |unit| unit.value),
        about: about.map(|about| about.value).unwrap_or_default(),
        id,
        cases,
        dimensions,
        kind,
    })
}

type Read = (MeasureKind, Vec<bool>, String);

fn read_along(
    table: &mut Table<'_>,
    kind: &str,
    of: Option<&At<Quantity>>,
    scope: &Scope<'_>,
) -> Option<Read> {
    let name = table.text("over", 100);
    let over = match &name {
        Some(name) => scope.axis(name),
        None if scope.axes().len() == 1 => Some(0),
        None => {
            table.missing("over", "the axis along which the curve goes");
            None
        }
    };
    let curve = match kind {
        "largest" => read_condition(table).map(|(holds, or)| Curve::Largest(holds, or)),
        "smallest" => read_condition(table).map(|(holds, or)| Curve::Smallest(holds, or)),
        "crossing" => {
            if table.node("level").is_none() {
                table.missing("level", "the height that is crossed");
            }
            table.number("level").map(|level| Curve::Crossing(level.value))
        }
        "at" => {
            let node = table.node("x");
            if node.is_none() {
                table.missing("x", "a value of the axis");
            }
            let value = node.and_then(|node| scope.reader.value("x", node));
            value.and_then(|value| scope.axis_value(over?, &value)).map(Curve::At)
        }
        kind => {
            let pick = match kind {
                "max" => Pick::Max,
                "min" => Pick::Min,
                "mean" => Pick::Mean,
                "argmax" => Pick::ArgMax,
                _ => Pick::ArgMin,
            };
            let (from, to) = (table.number("from"), table.number("to"));
            let from = from.map_or(f64::NEG_INFINITY, |from| from.value);
            let to = to.map_or(f64::INFINITY, |to| to.value);
            Some(Curve::Over { pick, from, to })
        }
    };
    let (of, over, curve) = (of?, over?, curve?);
    let at = name.map_or(table.at, |name| name.at);
    if !matches!(curve, Curve::At(_)) && !scope.check_numeric(over, at) {
        return None;
    }
    if let Curve::Over { from, to, .. } = curve {
        let some = |value: &Value| value.number().is_some_and(|x| (from..=to).contains(&x));
        if let Some(sweep) =
            scope.absent(|grid| grid.cases.iter().all(|case| case.values[over].iter().any(some)))
        {
            scope.reader.unfit(at, format!("{sweep} has no point between `from` and `to`"));
            return None;
        }
    }
    let mut dimensions = scope.dimensions(of.value);
    if !dimensions[over] {
        let name = scope.axes()[over].info.name;
        scope.reader.unfit(of.at, format!("it has no curve along `{name}`: it was made from one"));
        return None;
    }
    dimensions[over] = false;
    let unit = if curve.is_axis_position() { scope.axes()[over].info.unit } else { scope.unit(of.value) };
    Some((MeasureKind::Along { of: of.value, over, curve }, dimensions, unit.to_owned()))
}

fn read_condition(table: &mut Table<'_>) -> Option<(Condition, Option<f64>)> {
    let is_there = table.node("at_least").is_some() || table.node("at_most").is_some();
    let (least, most) = (table.number("at_least"), table.number("at_most"));
    let otherwise = table.number("otherwise").map(|number| number.value);
    match (least, most) {
        (Some(least), None) => Some((Condition::AtLeast(least.value), otherwise)),
        (None, Some(most)) => Some((Condition::AtMost(most.value), otherwise)),
        (Some(_), Some(most)) => {
            table.reader.unfit(most.at, "`at_least` and `at_most` are both there; leave one of them out");
            None
        }
        // One that is there and wrong has been told.
        (None, None) => {
            if !is_there {
                table.missing("at_least", "`at_least` or `at_most`");
            }
            None
        }
    }
}

fn read_relation(
    table: &mut Table<'_>,
    how: Relation,
    of: Option<&At<Quantity>>,
    scope: &Scope<'_>,
) -> Option<Read> {
    let name = table.want_text("to", 100);
    let to = name.as_ref().and_then(|name| scope.quantity(name));
    let to_case = table.text("to_case", 100).map(|name| scope.case(&name).map(|case| (case, name.at)));
    let to_at = scope.read_at_key(table, "to_at");
    let (of, name, to, to_at) = (of?, name?, to?, to_at?);
    let to_case = match to_case {
        Some(case) => Some(case?),
        None => None,
    };
    let dimensions = scope.dimensions(of.value);
    if dimensions != scope.dimensions(to) {
        scope.reader.unfit(name.at, "`of` and `to` do not have values for the same axes");
        return None;
    }
    if let Some((case, at)) = to_case
        && !scope.has_case(to, case)
    {
        scope.reader.unfit(at, format!("`{}` does not exist in this case", name.value));
        return None;
    }
    let foreign = to_at.iter().zip(&dimensions).position(|(value, has)| value.is_some() && !has);
    if let Some(axis) = foreign {
        let axis = scope.axes()[axis].info.name;
        scope
            .reader
            .unfit(name.at, format!("`{}` has no values along `{axis}`: it was made from them", name.value));
        return None;
    }
    let unit = match how {
        Relation::Ratio => "",
        Relation::Difference => scope.unit(of.value),
        Relation::Change => "%",
    };
    let to_case = to_case.map(|(case, _)| case);
    Some((MeasureKind::Relation { how, of: of.value, to, to_case, to_at }, dimensions, unit.to_owned()))
}
