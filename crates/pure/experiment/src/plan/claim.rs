//! What the paper says, and what would confirm it.

use super::error::Problem;
use super::read::{At, Reader, Table};
use super::scope::{Coordinates, Quantity, Scope};
use crate::value::Value;
use toml::de::DeValue;

const CLAIMS_MAX: usize = 300;
const TERMS_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Claim {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) source: String,
    pub(crate) terms: Vec<Term>,
    /// One number for each value of this axis between two ends, instead of one.
    pub(crate) along: Option<Along>,
    pub(crate) test: Test,
    /// Which of our numbers is meant, if it is not the usual one.
    pub(crate) by: By,
    pub(crate) fitted: bool,
}

/// The values of an axis that a claim goes along.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Along {
    pub(crate) axis: usize,
    pub(crate) from: f64,
    pub(crate) to: f64,
}

/// One number that a claim is about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    pub(crate) of: Quantity,
    pub(crate) case: usize,
    pub(crate) at: Coordinates,
    pub(crate) published: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Test {
    Within(f64),
    WithinPercent(f64),
    Band(Band),
    Order(Order, f64),
    Prediction,
}

/// An interval that may be open at either end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Band {
    pub(crate) low: Option<End>,
    pub(crate) high: Option<End>,
}

/// An end of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct End {
    pub(crate) value: f64,
    /// Whether the end itself is outside.
    pub(crate) is_open: bool,
}

impl Band {
    /// Both ends are inside.
    pub(crate) const fn closed(low: f64, high: f64) -> Self {
        Self {
            low: Some(End { value: low, is_open: false }),
            high: Some(End { value: high, is_open: false }),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Increasing,
    Decreasing,
    NonDecreasing,
    NonIncreasing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Mean,
    Curve,
    Median,
    Mode,
    Every,
}

impl Claim {
    /// Whether it can be judged with another value of an axis, or why not.
    pub(super) fn can_move(&self, axis: usize, scope: &Scope<'_>) -> Result<(), String> {
        let (id, name) = (&self.id, scope.axes()[axis].info.name);
        if self.along.is_some_and(|along| along.axis == axis) {
            return Err(format!("the claim `{id}` goes along `{name}`; it cannot be moved on it"));
        }
        let values: Vec<&Option<Value>> = self
            .terms
            .iter()
            .filter(|term| scope.dimensions(term.of)[axis])
            .map(|term| &term.at[axis])
            .collect();
        if values.is_empty() {
            return Err(format!("no number of the claim `{id}` depends on `{name}`"));
        }
        if values.windows(2).any(|two| two[0] != two[1]) {
            return Err(format!(
                "the claim `{id}` is about several values of `{name}`; it cannot be moved on it"
            ));
        }
        Ok(())
    }
}

pub(super) fn read(head: &mut Table<'_>, scope: &Scope<'_>) -> Vec<Claim> {
    let mut claims = Vec::new();
    let mut ids: Vec<At<String>> = Vec::new();
    for mut table in head.tables("claim", ("claims", CLAIMS_MAX)) {
        let id = table.want_name("id");
        let claim = read_one(&mut table, id.as_ref(), scope);
        table.close();
        let Some(id) = id else { continue };
        if claim.is_none() {
            scope.reader.spoil(&id.value);
        }
        scope.reader.is_new("claim", &mut ids, id);
        claims.extend(claim);
    }
    claims
}

fn read_one(table: &mut Table<'_>, id: Option<&At<String>>, scope: &Scope<'_>) -> Option<Claim> {
    let text = table.want_text("text", 1_000);
    let source = table.text("source", 400).map(|source| source.value).unwrap_or_default();
    let fitted = table.flag("fitted").is_some_and(|flag| flag.value);
    let along = read_along(table, scope);
    let (mut terms, lists) = read_terms(table, along, scope).unzip();
    let published = read_published(table);
    let by = [By::Mean, By::Curve, By::Median, By::Mode, By::Every];
    let words = ["mean", "curve", "median", "mode", "every"];
    let by = table.choice("by", &words).map(|word| by[word.value]);
    let test = read_test(table, published.as_ref().map(|published| published.at));
    let (id, text, test) = (id?, text?, test?);
    let terms = terms.as_mut()?;
    if let Some(published) = published {
        set_published(terms, &published, along.is_some(), scope.reader)?;
    }
    if let Test::Order(..) = test
        && along.is_none()
    {
        if terms.len() < 2 {
            scope.reader.unfit(
                table.at,
                "an order is one of several numbers; give `cases`, `along`, `terms`, or a list in `at`",
            );
        }
        if lists.is_some_and(|lists| lists > 1) {
            scope.reader.unfit(table.at, "an order is along one list; two of them have no order");
        }
    }
    let usual = if scope.is_axis_position(terms.first()?.of) { By::Curve } else { By::Mean };
    Some(Claim {
        id: id.value.clone(),
        text: text.value,
        source,
        terms: terms.clone(),
        along,
        test,
        by: by.unwrap_or(usual),
        fitted,
    })
}

fn set_published(
    terms: &mut [Term],
    published: &At<Vec<f64>>,
    along: bool,
    reader: &Reader<'_>,
) -> Option<()> {
    if let [one] = published.value.as_slice() {
        terms.iter_mut().for_each(|term| term.published = Some(*one));
        return Some(());
    }
    if along {
        reader.unfit(published.at, "with `along`, `published` is one number for all");
        return None;
    }
    if terms.len() != published.value.len() {
        let (got, want) = (published.value.len(), terms.len());
        reader.unfit(published.at, format!("{got} published numbers for {want} of ours"));
        return None;
    }
    for (term, number) in terms.iter_mut().zip(&published.value) {
        term.published = Some(*number);
    }
    Some(())
}

fn read_along(table: &mut Table<'_>, scope: &Scope<'_>) -> Option<Along> {
    let name = table.text("along", 100);
    let (from, to) = (table.number("from"), table.number("to"));
    let Some(name) = name else {
        if let Some(end) = from.or(to) {
            scope.reader.unfit(end.at, "`from` and `to` are ends of `along`, which is not there");
        }
        return None;
    };
    let axis = scope.axis(&name)?;
    if !scope.check_numeric(axis, name.at) {
        return None;
    }
    let from = from.map_or(f64::NEG_INFINITY, |end| end.value);
    let to = to.map_or(f64::INFINITY, |end| end.value);
    let inside = |case: &super::Case| {
        case.values[axis].iter().any(|value| value.number().is_some_and(|x| (from..=to).contains(&x)))
    };
    if let Some(sweep) = scope.absent(|grid| grid.cases.iter().all(inside)) {
        scope.reader.unfit(name.at, format!("{sweep} has no point between `from` and `to`"));
        return None;
    }
    Some(Along { axis, from, to })
}

fn read_terms(table: &mut Table<'_>, along: Option<Along>, scope: &Scope<'_>) -> Option<(Vec<Term>, usize)> {
    let mut terms = Vec::new();
    let tables = table.tables("terms", ("terms", TERMS_MAX));
    if tables.is_empty() {
        return read_term(table, along, scope);
    }
    for mut term in tables {
        let read = read_term(&mut term, along, scope);
        term.close();
        terms.push(read);
    }
    let terms: Option<Vec<(Vec<Term>, usize)>> = terms.into_iter().collect();
    let terms: Vec<Vec<Term>> = terms?.into_iter().map(|(terms, _)| terms).collect();
    // Terms that are written one by one are one list, however each was written.
    Some((terms.concat(), 1))
}

/// `of`, `case` or `cases`, `at`: one number for each case and place; and how many lists there are.
fn read_term(table: &mut Table<'_>, along: Option<Along>, scope: &Scope<'_>) -> Option<(Vec<Term>, usize)> {
    let name = table.want_text("of", 100);
    let of = name.as_ref().and_then(|name| scope.quantity(name));
    let case = table.text("case", 100);
    let cases = scope.read_cases(table);
    let combinations = scope.read_combinations(table);
    let (name, of, (mut combinations, lists)) = (name?, of?, combinations?);
    let says_cases = case.is_some() || cases.is_some();
    let cases = match scope.one_or_more(case, cases)? {
        Some(cases) => cases,
        None => match scope.base.case.filter(|case| scope.has_case(of, *case)) {
            Some(base) => vec![base],
            None => (0..scope.cases().len()).filter(|case| scope.has_case(of, *case)).collect(),
        },
    };
    let lists = lists + usize::from(cases.len() > 1);
    let dimensions = scope.dimensions(of);
    for (axis, has) in dimensions.iter().enumerate() {
        if *has && along.is_none_or(|along| along.axis != axis) {
            for at in combinations.iter_mut().filter(|at| at[axis].is_none()) {
                at[axis].clone_from(&scope.base.at[axis]);
            }
        }
    }
    let at = &combinations[0];
    let is_open = at.iter().zip(&dimensions).any(|(value, has)| *has && value.is_none());
    if scope.base.spoiled && (is_open || !says_cases) {
        return None;
    }
    let fixed = |axis: usize| at[axis].is_some() || along.is_some_and(|along| along.axis == axis);
    if !scope.check_closed(of, fixed, name.at) {
        return None;
    }
    if let Some(Along { axis, .. }) = along
        && !scope.dimensions(of)[axis]
    {
        let axis = scope.axes()[axis].info.name;
        scope.reader.unfit(name.at, format!("it has no curve along `{axis}`: it was made from one"));
        return None;
    }
    for case in &cases {
        if !scope.has_case(of, *case) {
            let case = &scope.cases()[*case].name;
            scope.reader.unfit(name.at, format!("`{}` does not exist in the case `{case}`", name.value));
            return None;
        }
        if !combinations.iter().all(|at| scope.check_point(*case, at, name.at)) {
            return None;
        }
    }
    let got = cases.len().saturating_mul(combinations.len());
    if got > TERMS_MAX {
        scope.reader.mistake(name.at, Problem::TooMany { what: "terms", got, max: TERMS_MAX });
        return None;
    }
    let term = |case: usize, at: &Coordinates| Term { of, case, at: at.clone(), published: None };
    let terms = cases.iter().flat_map(|case| combinations.iter().map(|at| term(*case, at)));
    Some((terms.collect(), lists))
}

/// A number, or a list of them.
fn read_published(table: &mut Table<'_>) -> Option<At<Vec<f64>>> {
    let node = table.node("published")?;
    let at = node.span().start;
    if let DeValue::Array(_) = node.get_ref() {
        let value = table.reader.list("published", node, ("numbers", TERMS_MAX), |node| {
            table.reader.number("published", node).map(|number| number.value)
        })?;
        if value.is_empty() {
            table.reader.unfit(at, "`published` is an empty list");
            return None;
        }
        return Some(At { value, at });
    }
    table.reader.number("published", node).map(|number| At { value: vec![number.value], at })
}

/// Exactly one way to judge.
fn read_test(table: &mut Table<'_>, published: Option<usize>) -> Option<Test> {
    let before = table.reader.count();
    let within = table.number("within");
    let percent = table.number("within_percent");
    for tolerance in [&within, &percent].into_iter().flatten() {
        if tolerance.value < 0.0 {
            table.reader.unfit(tolerance.at, "a tolerance is not below 0");
            return None;
        }
        if published.is_none() {
            table.reader.unfit(tolerance.at, "near what? `published` is not there");
            return None;
        }
    }
    let band = read_band(table);
    let words = ["increasing", "decreasing", "non-decreasing", "non-increasing"];
    let orders = [Order::Increasing, Order::Decreasing, Order::NonDecreasing, Order::NonIncreasing];
    let order = table.choice("order", &words).map(|word| orders[word.value]);
    let slack = table.number("slack");
    if let Some(slack) = &slack
        && (slack.value < 0.0 || order.is_none())
    {
        table.reader.unfit(slack.at, "`slack` goes with `order` and is not below 0");
    }
    let prediction = table.flag("prediction").is_some_and(|flag| flag.value);
    let ways = [
        within.map(|number| Test::Within(number.value)),
        percent.map(|number| Test::WithinPercent(number.value)),
        band.map(Test::Band),
        order.map(|order| Test::Order(order, slack.map_or(0.0, |slack| slack.value))),
        prediction.then_some(Test::Prediction),
    ];
    let mut ways = ways.into_iter().flatten();
    match (ways.next(), ways.next()) {
        (Some(test), None) => Some(test),
        (Some(_), Some(_)) => {
            table.reader.unfit(table.at, "the claim is judged in two ways; make it two claims");
            None
        }
        (None, _) if before < table.reader.count() => None,
        (None, _) => {
            let ways = "`within`, `within_percent`, `between`, `at_least`, `at_most`, `above`, `below`, `order` or `prediction = true`";
            table.missing("within", format!("a way to judge it ({ways})"));
            None
        }
    }
}

fn read_band(table: &mut Table<'_>) -> Option<Band> {
    let between = table.node("between").and_then(|node| {
        let ends = table
            .reader
            .list("between", node, ("numbers", 2), |node| table.reader.number("between", node))?;
        if let [low, high] = ends.as_slice()
            && low.value <= high.value
        {
            return Some(Band::closed(low.value, high.value));
        }
        table.reader.unfit(node.span().start, "`between` is [low, high]");
        None
    });
    let mut end = |inside, outside| {
        let (inside, outside) = (table.number(inside), table.number(outside));
        if let (Some(_), Some(outside)) = (&inside, &outside) {
            table.reader.unfit(outside.at, "there are two ends on the same side; leave one of them out");
        }
        let end = |is_open| move |end: At<f64>| End { value: end.value, is_open };
        inside.map(end(false)).or(outside.map(end(true)))
    };
    let band = Band { low: end("at_least", "above"), high: end("at_most", "below") };
    match between {
        Some(between) => {
            if band != Band::default() {
                table.reader.unfit(table.at, "`between` has both ends already; leave the others out");
            }
            Some(between)
        }
        None => (band != Band::default()).then_some(band),
    }
}
