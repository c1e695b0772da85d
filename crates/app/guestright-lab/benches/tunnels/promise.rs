//! What we promised, beside what was measured. Never a reason to fail: noise is not a defect.

use crate::measure::Calls;
use crate::path::{Suite, Way};
use crate::plan::{Condition, Plan};
use crate::report::{Report, calls_of};
use crate::sample::Spread;

const OUR_ESP: Way = Way::OurEsp(Suite::AesGcm);

/// (ours, theirs, how many times as fast). `seg` is the condition that counts.
const BULK: [(Way, Way, f64); 4] = [
    (OUR_ESP, Way::Boringtun, 4.0),
    (OUR_ESP, Way::WireGuardGo, 2.0),
    (Way::OurWireGuard, Way::Boringtun, 2.5),
    (Way::OurWireGuard, Way::WireGuardGo, 1.0),
];

pub(crate) fn lines(report: &Report, plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    if plan.conditions.contains(&Condition::Seg) {
        for (ours, theirs, want) in BULK {
            let promise = format!("{} >= {want} x {} in bulk", ours.name(), theirs.name());
            let got = report.bulk_ratio(Condition::Seg, ours, theirs);
            lines.push(verdict(&promise, got, |value| value >= want, "x"));
        }
    }
    for ours in [OUR_ESP, Way::OurWireGuard] {
        if let Some(&(rate, _)) = plan.rates.first() {
            let figure = |calls: &Calls| calls.p50_us;
            let promise = format!("{}: p50 at {rate}/s <= the best of the others", ours.name());
            lines.push(beside_the_best(report, plan, (ours, rate), figure, &promise));
        }
        for &(rate, _) in &plan.rates {
            let figure = |calls: &Calls| calls.processes_us;
            let promise = format!("{}: processor time at {rate}/s <= the best of the others", ours.name());
            lines.push(beside_the_best(report, plan, (ours, rate), figure, &promise));
        }
    }
    lines
}

/// The best is the peer with the smallest median; then repetition by repetition.
fn beside_the_best(
    report: &Report,
    plan: &Plan,
    (ours, rate): (Way, u32),
    figure: fn(&Calls) -> f64,
    promise: &str,
) -> String {
    let median = |way: Way| {
        let spread = report.spread(way, |visit| calls_of(visit, rate).map(figure))?;
        Some((way, spread.median))
    };
    let peers = plan.ways.iter().copied().filter(|way| way.is_peer());
    let Some((best, _)) = peers.filter_map(median).min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return format!("not measured:    {promise}");
    };
    let got = report.paired((ours, best), |visit| calls_of(visit, rate).map(figure), |a, b| a / b);
    verdict(promise, got, |value| value <= 1.0, &format!("x {}", best.name()))
}

/// Holds by the median, or does not in any repetition, or something between.
fn verdict(promise: &str, got: Option<Spread>, holds: impl Fn(f64) -> bool, unit: &str) -> String {
    let Some(got) = got else { return format!("not measured:    {promise}") };
    let word = if holds(got.median) {
        "holds:         "
    } else if holds(got.min) || holds(got.max) {
        "within noise:  "
    } else {
        "does not hold: "
    };
    format!("{word} {promise} (measured {} {unit})", got.text(2))
}
