//! Rows of `path.tcl`, and whether two simulators agree on them.

#[path = "../../wlan/compare/finding.rs"]
mod finding;

use super::agents::Agent;
use super::scenario::{Case, Load};
pub(crate) use finding::Finding;
use std::collections::BTreeMap;

/// Whose figures ours are compared with.
pub(crate) const JUDGE: &str = "ns-2";

/// How far apart the two may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    /// Of goodput: relative.
    pub(crate) goodput: f64,
    /// Of Jain's index: absolute.
    pub(crate) jain: f64,
    /// Of the index of real-time performance: absolute.
    pub(crate) index: f64,
    /// Of the share of transmissions that is lost: absolute.
    pub(crate) loss: f64,
}

impl Tolerance {
    /// What this project demands.
    pub(crate) const DEMANDED: Self = Self { goodput: 0.015, jain: 0.03, index: 0.015, loss: 0.01 };
}

/// What was counted in one run: the columns of `path.tcl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Packets of speech that applications made.
    pub(crate) made: u64,
    /// Packets that callers sent, SYNs among them.
    pub(crate) sent: u64,
    /// Packets of speech that applications heard.
    pub(crate) delivered: u64,
    /// Those of them that came more than the threshold after the one before.
    pub(crate) late: u64,
    /// The sum of squares of what each call heard.
    pub(crate) delivered_squares: u64,
    /// Packets that were sent again.
    pub(crate) again: u64,
    /// Retransmission timeouts.
    pub(crate) timeouts: u64,
    /// Packets of calls that R1 dropped.
    pub(crate) first_drops: u64,
    /// Packets of calls that R2 dropped.
    pub(crate) second_drops: u64,
    /// Packets of calls that were lost on the last links.
    pub(crate) lost: u64,
    /// Packets on the way back that were lost there.
    pub(crate) acks_lost: u64,
    /// Packets that file transfers got through.
    pub(crate) bulk_delivered: u64,
    /// Packets of file transfers that R2 dropped.
    pub(crate) bulk_drops: u64,
}

/// With transfers beside calls a run is a matter of luck, and the means of a few are apart by more than is demanded in the
/// same simulator too. So many standard errors of the difference are allowed there, if that is more: chance alone is
/// beyond it once in 370 times.
const ERRORS_ALLOWED: f64 = 3.0;

pub(crate) type Measured = BTreeMap<Case, Counts>;

/// Reads rows: `agent,flows,bulk,per_million,seed` and [`Counts`]. Lines that begin with `#` are passed over.
///
/// # Errors
///
/// Says which line is no row.
pub(crate) fn parse(text: &str) -> Result<Measured, String> {
    let rows = (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#') && !line.is_empty());
    rows.map(|(number, line)| row(line).ok_or_else(|| format!("line {number} is no row: {line:?}"))).collect()
}

fn row(line: &str) -> Option<(Case, Counts)> {
    let (agent, numbers) = line.split_once(',')?;
    let numbers: Vec<u64> = numbers.split(',').map(|text| text.parse().ok()).collect::<Option<_>>()?;
    let [flows, bulk, per_million, seed, counts @ ..] = &numbers[..] else { return None };
    let counts: [u64; 13] = counts.try_into().ok()?;
    let [made, sent, delivered, late, delivered_squares, again, timeouts, counts @ ..] = counts;
    let [first_drops, second_drops, lost, acks_lost, bulk_delivered, bulk_drops] = counts;
    let small = |number: &u64| u32::try_from(*number).ok();
    let load =
        Load { flows: small(flows)?, bulk: small(bulk)?, per_million: small(per_million)?, seed: *seed };
    let case = Case { agent: Agent::named(agent)?, load };
    let counts = Counts {
        made,
        sent,
        delivered,
        late,
        delivered_squares,
        again,
        timeouts,
        first_drops,
        second_drops,
        lost,
        acks_lost,
        bulk_delivered,
        bulk_drops,
    };
    Some((case, counts))
}

/// One row, as `path.tcl` prints it.
pub(crate) fn emit(case: &Case, counts: &Counts) -> String {
    let Case { agent, load: Load { flows, bulk, per_million, seed } } = case;
    let Counts {
        made,
        sent,
        delivered,
        late,
        delivered_squares,
        again,
        timeouts,
        first_drops,
        second_drops,
        ..
    } = counts;
    let Counts { lost, acks_lost, bulk_delivered, bulk_drops, .. } = counts;
    format!(
        "{agent},{flows},{bulk},{per_million},{seed},{made},{sent},{delivered},{late},{delivered_squares},{again},{timeouts},\
         {first_drops},{second_drops},{lost},{acks_lost},{bulk_delivered},{bulk_drops}"
    )
}

/// What is judged of a run.
#[derive(Clone, Copy, Debug)]
enum Measure {
    Delivered,
    Jain,
    Index,
    Loss,
    BulkDelivered,
}

impl Measure {
    fn of(self, case: &Case, run: &Counts) -> f64 {
        match self {
            Self::Delivered => real(run.delivered),
            Self::Jain => {
                real(run.delivered).powi(2) / (f64::from(case.load.flows) * real(run.delivered_squares))
            }
            Self::Index => real(run.delivered - run.late) / real(run.sent),
            Self::Loss => real(run.first_drops + run.second_drops + run.lost) / real(run.sent),
            Self::BulkDelivered => real(run.bulk_delivered),
        }
    }
}

/// The mean of some runs, and the square of its standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let count = real(values.len() as u64);
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, if values.len() < 2 { f64::INFINITY } else { squares / (count - 1.0) / count })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts are below 2^53, and squares of them need no more digits"
)]
const fn real(count: u64) -> f64 {
    count as f64
}

/// Compares all loads that both have.
pub(crate) fn compare(theirs: &Measured, ours: &Measured, tolerance: &Tolerance) -> Vec<Finding> {
    let mut groups: BTreeMap<Case, Vec<&Case>> = BTreeMap::new();
    for case in theirs.keys().filter(|case| ours.contains_key(case)) {
        let load = Load { seed: 0, ..case.load };
        groups.entry(Case { load, ..*case }).or_default().push(case);
    }
    let mut findings = Vec::new();
    for (group, cases) in &groups {
        let Load { flows, bulk, per_million, .. } = group.load;
        let name = format!(
            "{:7} {flows:3} calls, {bulk:2} transfers, {per_million:5} ppm: ",
            group.agent.to_string()
        );
        if per_million == 0 && group.agent == Agent::Udp {
            for case in cases {
                let drops = |run: &Counts| real(run.first_drops + run.second_drops);
                let what = format!("{name}drops, seed {}", case.load.seed);
                findings.push(Finding::absolute(JUDGE, what, drops(&theirs[case]), drops(&ours[case]), 0.0));
            }
            continue;
        }
        let label = |what: &str| format!("{name}{what}");
        let mut judge = |what: &str, measure: Measure, is_relative: bool, allowed: f64| {
            let of = |measured: &Measured| {
                let values: Vec<f64> = cases.iter().map(|case| measure.of(case, &measured[case])).collect();
                mean(&values)
            };
            let ((theirs, their_error), (ours, our_error)) = (of(theirs), of(ours));
            let finding = if is_relative { Finding::relative } else { Finding::absolute };
            let mut finding = finding(JUDGE, label(what), theirs, ours, allowed);
            if bulk > 0 {
                let error = (their_error + our_error).sqrt() / if is_relative { theirs } else { 1.0 };
                finding.allowed = allowed.max(ERRORS_ALLOWED * error);
            }
            findings.push(finding);
        };
        judge("packets heard", Measure::Delivered, true, tolerance.goodput);
        judge("Jain", Measure::Jain, false, tolerance.jain);
        judge("index", Measure::Index, false, tolerance.index);
        judge("loss", Measure::Loss, false, tolerance.loss);
        if bulk > 0 {
            judge("transfers heard", Measure::BulkDelivered, true, tolerance.goodput);
        }
    }
    findings
}

/// A table of everything that was measured, agreed on or not.
pub(crate) fn table(theirs: &Measured, ours: &Measured) -> String {
    let mut text = format!(
        "{:7} {:>5} {:>5} {:>6} {:>4} | {:>15} | {:>15} | {:>11} | {:>13} | {:>13} | {:>11} | {:>11}\n",
        "", "calls", "bulk", "ppm", "seed", "sent", "heard", "late", "again", "drops", "lost", "bulk"
    );
    for (case, theirs) in theirs {
        let Some(ours) = ours.get(case) else { continue };
        let Case { agent, load: Load { flows, bulk, per_million, seed } } = case;
        let pair =
            |width: usize, of: fn(&Counts) -> u64| format!("{:>width$} {:>width$}", of(theirs), of(ours));
        let drops = |run: &Counts| run.first_drops + run.second_drops;
        text += &format!(
            "{agent:7} {flows:5} {bulk:5} {per_million:6} {seed:4} | {} | {} | {} | {} | {} | {} | {}\n",
            pair(7, |run| run.sent),
            pair(7, |run| run.delivered),
            pair(5, |run| run.late),
            pair(6, |run| run.again),
            pair(6, drops),
            pair(5, |run| run.lost),
            pair(5, |run| run.bulk_delivered),
        );
    }
    text
}
