//! A verdict for each claim.

use super::sample::Curves;
use crate::plan::{
    Along, Band, By, Claim, Coordinates, Curve, End, MeasureKind, Order, Quantity, Term, Test,
};
use crate::statistics::{Bound, Estimate};
use guestright_figure::short;
use serde::{Deserialize, Serialize};

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judged {
    /// Ours is within the band.
    Reproduces,
    /// Nothing is published to judge by.
    Prediction,
    /// Ours is outside the band.
    DoesNotReproduce,
    /// Runs are missing, nothing was measured, or the sweep ends too early.
    CannotBeComputed,
}

impl Judged {
    pub const fn words(self) -> &'static str {
        match self {
            Self::Reproduces => "reproduces",
            Self::DoesNotReproduce => "does not reproduce",
            Self::CannotBeComputed => "cannot be computed",
            Self::Prediction => "prediction",
        }
    }
}

/// A claim, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The claim's id.
    pub id: String,
    /// What the paper says.
    pub text: String,
    pub source: String,
    /// What would confirm it, in words.
    pub wanted: String,
    /// Which of our numbers is meant, in words.
    pub by: String,
    /// What became of it.
    pub judged: Judged,
    /// Whether the claim was used to choose a setting: it then confirms only the fit.
    pub fitted: bool,
    /// Whether a confidence interval reaches across the edge of its band.
    pub unclear: bool,
    /// The numbers that it is about.
    pub parts: Vec<Part>,
    /// Why, in words; several reasons have a line each.
    pub reason: String,
}

/// One number of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    pub quantity: String,
    pub unit: String,
    pub case: String,
    /// The point, in words: `calls = 6`; empty if it has none.
    pub point: String,
    /// Ours, as the claim means it.
    pub ours: Option<f64>,
    /// Whether ours is only a bound: `at least`, `at most`, or `a bound` if nobody knows; empty if it is not.
    #[serde(default)]
    pub bound: String,
    /// What the seeds say.
    pub estimate: Estimate,
    pub published: Option<f64>,
    /// What became of it.
    pub judged: Judged,
    /// Whether its confidence interval reaches across the edge of the band.
    pub unclear: bool,
    /// How far outside, or why there is no number.
    pub reason: String,
}

pub(super) fn judge(curves: &Curves<'_>, claim: &Claim) -> Verdict {
    judge_groups(curves, claim).0
}

/// The verdict, and which of its numbers an order goes through, one after the other.
pub(super) fn judge_groups(curves: &Curves<'_>, claim: &Claim) -> (Verdict, Vec<Vec<usize>>) {
    let mut parts: Vec<Part> = Vec::new();
    // Numbers that are in an order with each other.
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for term in &claim.terms {
        let first = parts.len();
        for at in coordinates_along(curves, claim, term) {
            parts.push(part(curves, claim, term, &at));
        }
        groups.push((first..parts.len()).collect());
    }
    if claim.along.is_none() {
        groups = vec![(0..parts.len()).collect()];
    }
    let mut reasons: Vec<String> = Vec::new();
    if let Test::Order(order, slack) = &claim.test {
        for group in &groups {
            check_order(&mut parts, group, *order, *slack, claim.by, &mut reasons);
        }
    }
    let several = parts.len() > 1;
    for part in parts.iter().filter(|part| !part.reason.is_empty()) {
        reasons.push(if several {
            format!("{}: {}", point_of(part), part.reason)
        } else {
            part.reason.clone()
        });
    }
    if parts.is_empty() {
        reasons.push("the sweep has no point there".to_owned());
    }
    let worst = parts.iter().map(|part| part.judged).max().unwrap_or(Judged::CannotBeComputed);
    let verdict = Verdict {
        id: claim.id.clone(),
        text: claim.text.clone(),
        source: claim.source.clone(),
        wanted: wanted(&claim.test),
        by: by_words(claim.by).to_owned(),
        judged: worst,
        fitted: claim.fitted,
        unclear: parts.iter().any(|part| part.unclear),
        reason: reasons.join("\n"),
        parts,
    };
    (verdict, groups)
}

fn coordinates_along(curves: &Curves<'_>, claim: &Claim, term: &Term) -> Vec<Coordinates> {
    let Some(Along { axis, from, to }) = claim.along else { return vec![term.at.clone()] };
    let values = curves.plan.grid.cases[term.case].values[axis].iter();
    let mut inside: Vec<_> = values
        .filter_map(|value| Some((value.number()?, value)))
        .filter(|(x, _)| (from..=to).contains(x))
        .collect();
    inside.sort_by(|a, b| a.0.total_cmp(&b.0));
    let at_value = |(_, value): (f64, &crate::value::Value)| {
        let mut at = term.at.clone();
        at[axis] = Some(value.clone());
        at
    };
    inside.into_iter().map(at_value).collect()
}

fn part(curves: &Curves<'_>, claim: &Claim, term: &Term, at: &Coordinates) -> Part {
    let estimate = curves.estimate(term.of, term.case, at);
    let named = super::named(curves.plan, at);
    let point: Vec<String> = named.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let mut part = Part {
        quantity: curves.name(term.of).to_owned(),
        unit: curves.unit(term.of).to_owned(),
        case: curves.plan.grid.cases[term.case].title.clone(),
        point: point.join(", "),
        ours: chosen(&estimate, claim.by),
        bound: match bound(&estimate, claim.by) {
            None => String::new(),
            Some(bound) => bound.map_or("a bound", Bound::words).to_owned(),
        },
        published: term.published,
        judged: Judged::Prediction,
        unclear: false,
        reason: String::new(),
        estimate,
    };
    if let Some(reason) = uncomputable(curves, term.of, claim, &part) {
        part.judged = Judged::CannotBeComputed;
        part.reason = reason;
        return part;
    }
    match band(&claim.test, term.published) {
        Some(band) => hold_against(&mut part, band, claim.by),
        // Orders are checked when all their numbers are there.
        None if matches!(claim.test, Test::Order(..)) => part.judged = Judged::Reproduces,
        None => {}
    }
    warn_of_bounds(curves, term.of, claim.by, &mut part);
    warn_of_gaps(&mut part);
    part
}

fn chosen(estimate: &Estimate, by: By) -> Option<f64> {
    match by {
        By::Mean | By::Every => estimate.mean,
        By::Curve => estimate.curve,
        By::Median => estimate.median,
        By::Mode => estimate.mode,
    }
}

/// Whether a number is only a bound, and which way it goes, if that is known.
fn bound(estimate: &Estimate, by: By) -> Option<Option<Bound>> {
    match by {
        By::Curve => estimate.curve_beyond.then_some(estimate.curve_bound),
        By::Mean | By::Median | By::Mode | By::Every => (estimate.beyond > 0).then_some(estimate.bound),
    }
}

/// Why a number cannot be judged, if it cannot.
fn uncomputable(curves: &Curves<'_>, of: Quantity, claim: &Claim, part: &Part) -> Option<String> {
    let (estimate, ours) = (&part.estimate, part.ours);
    if estimate.missing > 0 {
        return Some(format!("{} runs are missing", estimate.missing));
    }
    if ours.is_none() {
        let all_differ = claim.by == By::Mode && estimate.mean.is_some();
        let usual =
            if all_differ { "no value is more frequent than the others" } else { "there is no number" };
        return Some(estimate.why.clone().filter(|_| !all_differ).unwrap_or_else(|| usual.to_owned()));
    }
    if claim.by == By::Every && estimate.count() < estimate.values.len() {
        let (got, want) = (estimate.count(), estimate.values.len());
        return Some(format!("only {got} of {want} seeds have a number"));
    }
    let way = bound(estimate, claim.by)?;
    if claim.test == Test::Prediction || is_enough(claim, part, way) {
        return None;
    }
    Some(if is_late(curves, of, way) {
        "the condition fails at the edge of the sweep already; extend the sweep there".to_owned()
    } else {
        "the sweep ends before the condition fails; make it longer".to_owned()
    })
}

/// Whether a bound is one because not even the first point holds.
fn is_late(curves: &Curves<'_>, of: Quantity, way: Option<Bound>) -> bool {
    let Quantity::Measure(index) = of else { return false };
    match curves.plan.measures[index].kind {
        MeasureKind::Along { curve: Curve::Largest(..), .. } => way == Some(Bound::AtMost),
        MeasureKind::Along { curve: Curve::Smallest(..), .. } => way == Some(Bound::AtLeast),
        MeasureKind::Along { .. } | MeasureKind::Relation { .. } => false,
    }
}

/// Whether a bound says as much as the number would: the number can only be farther inside, or farther outside.
fn is_enough(claim: &Claim, part: &Part, way: Option<Bound>) -> bool {
    let (Some(_), Some(ours), Some(band)) = (way, part.ours, band(&claim.test, part.published)) else {
        return false;
    };
    if claim.by == By::Every {
        return numbers_of_seeds(&part.estimate).any(|(way, number)| is_surely_outside(way, band, number))
            || numbers_of_seeds(&part.estimate).all(|(way, number)| is_surely_inside(way, band, number));
    }
    // The most frequent of several bounds says nothing about the others.
    let averaged = claim.by != By::Mode;
    (is_surely_outside(way, band, ours) && averaged) || is_surely_inside(way, band, ours)
}

/// The number of each seed that has one, and which way it goes if it is only a bound.
fn numbers_of_seeds(estimate: &Estimate) -> impl Iterator<Item = (Option<Bound>, f64)> {
    let way = |seed: usize| estimate.bound.filter(|_| estimate.bounded.get(seed) == Some(&true));
    estimate.values.iter().enumerate().filter_map(move |(seed, value)| Some((way(seed), (*value)?)))
}

/// Whether a number is outside, and any other would be that it may stand for if it is a bound.
fn is_surely_outside(way: Option<Bound>, band: Band, number: f64) -> bool {
    match way {
        None => outside(band, number).is_some(),
        Some(Bound::AtLeast) => is_over(band, number),
        Some(Bound::AtMost) => is_under(band, number),
    }
}

/// The same for inside.
fn is_surely_inside(way: Option<Bound>, band: Band, number: f64) -> bool {
    let is_open = match way {
        None => true,
        Some(Bound::AtLeast) => band.high.is_none(),
        Some(Bound::AtMost) => band.low.is_none(),
    };
    outside(band, number).is_none() && is_open
}

fn warn_of_bounds(curves: &Curves<'_>, of: Quantity, by: By, part: &mut Part) {
    let estimate = &part.estimate;
    if !(estimate.beyond > 0 || estimate.curve_beyond) || !curves.is_axis_position(of) {
        return;
    }
    let way = bound(estimate, by).unwrap_or(estimate.curve_bound.or(estimate.bound));
    let words = if is_late(curves, of, way) {
        "a bound: the condition fails at the edge of the sweep already"
    } else {
        "a bound: the sweep ends before the condition fails"
    };
    part.reason = if part.reason.is_empty() { words.to_owned() } else { format!("{}; {words}", part.reason) };
}

/// A mean of some seeds is not that of all.
fn warn_of_gaps(part: &mut Part) {
    let (got, want) = (part.estimate.count(), part.estimate.values.len());
    if got < want {
        let words = format!("{} of {want} seeds have no number", want - got);
        part.reason = if part.reason.is_empty() { words } else { format!("{}; {words}", part.reason) };
    }
}

pub(super) fn band(test: &Test, published: Option<f64>) -> Option<Band> {
    let around = |tolerance: f64| {
        let published = published?;
        // What is printed is decimal: 0.3 and 0.1 more is to contain 0.4.
        let edge = 1e-9 * (published.abs() + tolerance);
        let (low, high) = (published - tolerance - edge, published + tolerance + edge);
        Some(Band::closed(low, high))
    };
    match test {
        Test::Within(tolerance) => around(*tolerance),
        Test::WithinPercent(percent) => around(published?.abs() * percent / 100.0),
        Test::Band(band) => Some(*band),
        Test::Order(..) | Test::Prediction => None,
    }
}

/// How far a number is outside: below 0 if it is under the band, above if over; 0 if it is on an open end.
fn outside(band: Band, number: f64) -> Option<f64> {
    let end = if is_under(band, number) {
        band.low
    } else if is_over(band, number) {
        band.high
    } else {
        None
    };
    end.map(|end| number - end.value)
}

fn is_under(band: Band, number: f64) -> bool {
    band.low.is_some_and(|low| number < low.value || (low.is_open && number <= low.value))
}

fn is_over(band: Band, number: f64) -> bool {
    band.high.is_some_and(|high| number > high.value || (high.is_open && number >= high.value))
}

fn hold_against(part: &mut Part, band: Band, by: By) {
    let Some(ours) = part.ours else { return };
    let far = if by == By::Every {
        let numbers = numbers_of_seeds(&part.estimate);
        let surely = numbers.filter(|(way, number)| is_surely_outside(*way, band, *number));
        let far: Vec<f64> = surely.filter_map(|(_, number)| outside(band, number)).collect();
        if !far.is_empty() {
            part.reason = format!("{} of {} seeds are outside", far.len(), part.estimate.count());
        }
        far.into_iter().max_by(|a, b| a.abs().total_cmp(&b.abs()))
    } else {
        outside(band, ours)
    };
    part.judged = if far.is_some() { Judged::DoesNotReproduce } else { Judged::Reproduces };
    if let Some(far) = far {
        let side = if far < 0.0 { "too low" } else { "too high" };
        let expected = format!("expected {}", band_words(band));
        let by_how_much = match far.abs() {
            far if far < 1e-6 => "on the edge".to_owned(),
            far => format!("{} {side}", short(far)),
        };
        part.reason = if part.reason.is_empty() {
            format!("measured {}, {expected}: {by_how_much}", short(ours))
        } else {
            format!("{}, {expected}: the farthest is {by_how_much}", part.reason)
        };
    }
    // Who asks for every seed has the spread in the verdict already.
    if by != By::Every
        && let Some((low, high)) = part.estimate.interval
    {
        // The interval is the mean's; it counts if another mean would have given another verdict.
        let inside = |number| outside(band, number).is_none();
        part.unclear = inside(low) != inside(high) || inside(low) != far.is_none();
        if part.unclear {
            let words = format!(
                "the 95 % interval, {} to {}, reaches across the edge of {}",
                short(low),
                short(high),
                band_words(band)
            );
            part.reason = if part.reason.is_empty() { words } else { format!("{}; {words}", part.reason) };
        }
    }
}

fn check_order(
    parts: &mut [Part],
    group: &[usize],
    order: Order,
    slack: f64,
    by: By,
    reasons: &mut Vec<String>,
) {
    for two in group.windows(2) {
        let [first, second] = two else { continue };
        let (a, b) = (&parts[*first], &parts[*second]);
        let (Some(ours), Some(next)) = (a.ours, b.ours) else { continue };
        if [a, b].iter().any(|part| part.judged == Judged::CannotBeComputed) {
            continue;
        }
        let rises = matches!(order, Order::Increasing | Order::NonDecreasing);
        let strict = matches!(order, Order::Increasing | Order::Decreasing);
        // How far the second is on the right side of the first.
        let step = |a: f64, b: f64| if rises { b - a } else { a - b };
        let holds = |step: f64| if strict { step > -slack } else { step >= -slack };
        let pairs: Vec<Option<f64>> =
            a.estimate.values.iter().zip(&b.estimate.values).map(|(a, b)| Some(step((*a)?, (*b)?))).collect();
        let well = if by == By::Every {
            pairs.iter().flatten().all(|step| holds(*step))
        } else {
            holds(step(ours, next))
        };
        let names = format!("{} and {}", point_of(a), point_of(b));
        if !well {
            reasons.push(format!(
                "{names}: measured {}, then {}; expected {}",
                short(ours),
                short(next),
                order_words(order)
            ));
            parts[*second].judged = Judged::DoesNotReproduce;
        }
        let interval = Estimate::of(pairs).interval;
        if let Some((low, high)) = interval
            && by != By::Every
            && (holds(low) != holds(high) || holds(low) != well)
        {
            let (low, high) = if rises { (low, high) } else { (-high, -low) };
            let words = "the 95 % interval of the paired difference";
            reasons.push(format!("{names}: {words}, {} to {}, allows both orders", short(low), short(high)));
            parts[*second].unclear = true;
        }
    }
}

pub(super) fn point_of(part: &Part) -> String {
    if part.point.is_empty() { part.case.clone() } else { format!("{}, {}", part.case, part.point) }
}

pub(super) fn wanted(test: &Test) -> String {
    match test {
        Test::Within(tolerance) => format!("within ±{} of what is published", short(*tolerance)),
        Test::WithinPercent(percent) => format!("within ±{} % of what is published", short(*percent)),
        Test::Band(band) => band_words(*band),
        Test::Order(order, slack) if *slack > 0.0 => {
            format!("{}, give or take {}", order_words(*order), short(*slack))
        }
        Test::Order(order, _) => order_words(*order).to_owned(),
        Test::Prediction => "nothing is published".to_owned(),
    }
}

fn band_words(band: Band) -> String {
    let words = |closed: &str, open: &str, end: End| {
        format!("{} {}", if end.is_open { open } else { closed }, short(end.value))
    };
    match (band.low, band.high) {
        (Some(End { value: low, is_open: false }), Some(End { value: high, is_open: false })) => {
            format!("{} to {}", short(low), short(high))
        }
        (low, high) => {
            let low = low.map(|low| words("at least", "above", low));
            let high = high.map(|high| words("at most", "below", high));
            low.into_iter().chain(high).collect::<Vec<_>>().join(" and ")
        }
    }
}

const fn order_words(order: Order) -> &'static str {
    match order {
        Order::Increasing => "increasing",
        Order::Decreasing => "decreasing",
        Order::NonDecreasing => "non-decreasing",
        Order::NonIncreasing => "non-increasing",
    }
}

const fn by_words(by: By) -> &'static str {
    match by {
        By::Mean => "the mean of the seeds",
        By::Curve => "taken from the mean curve",
        By::Median => "the median of the seeds",
        By::Mode => "the most frequent of the seeds",
        By::Every => "every seed",
    }
}
