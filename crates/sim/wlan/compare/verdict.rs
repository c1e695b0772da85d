//! Rows of measurements, and whether two simulators agree on them.

#[path = "finding.rs"]
mod finding;

pub(crate) use finding::Finding;
use std::collections::BTreeMap;

/// How far apart the two may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    /// Of the packets per second that get through at most: relative.
    pub(crate) saturation: f64,
    /// Of the share of packets that is lost above capacity: absolute.
    pub(crate) loss: f64,
    /// Of the mean delay above capacity: relative.
    pub(crate) delay: f64,
}

impl Tolerance {
    /// What this project demands.
    pub(crate) const DEMANDED: Self = Self { saturation: 0.01, loss: 0.005, delay: 0.03 };
}

/// A cell carries as many calls as lose at most this share of their packets.
pub(crate) const LOSS_MAX: f64 = 0.01;

/// Which scenario: name, channels, length of IP packets.
pub(crate) type Case = (String, u32, u32);

/// What was counted in one run; the columns of the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Packets that were made within the time that is measured.
    pub(crate) offered: u64,
    /// Those of them that arrived, whenever that was.
    pub(crate) delivered: u64,
    /// Packets that arrived within the time that is measured, whenever they were made.
    pub(crate) arrived: u64,
    /// The mean delay of those delivered, in nanoseconds.
    pub(crate) delay_ns: u64,
    /// The mean difference between the delays of two packets of a stream one after the other, in nanoseconds.
    pub(crate) variation_ns: u64,
}

/// All runs of one case with one number of calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    /// By the number of the run.
    pub(crate) runs: BTreeMap<u32, Counts>,
}

impl Sample {
    /// The share of packets that was lost.
    pub(crate) fn loss(&self) -> f64 {
        1.0 - self.sum(|run| run.delivered) / self.sum(|run| run.offered)
    }

    /// Packets that arrived in a second.
    pub(crate) fn throughput(&self, seconds: f64) -> f64 {
        self.sum(|run| run.arrived) / (seconds * real(self.runs.len() as u64))
    }

    /// Mean delay in milliseconds.
    pub(crate) fn delay_ms(&self) -> f64 {
        self.weighted(|run| run.delay_ns)
    }

    /// Mean variation of delay in milliseconds.
    pub(crate) fn variation_ms(&self) -> f64 {
        self.weighted(|run| run.variation_ns)
    }

    fn sum(&self, of: impl Fn(&Counts) -> u64) -> f64 {
        real(self.runs.values().map(of).sum())
    }

    fn weighted(&self, of: impl Fn(&Counts) -> u64) -> f64 {
        let total: f64 = self.runs.values().map(|run| real(of(run)) * real(run.delivered)).sum();
        total / self.sum(|run| run.delivered) / 1e6
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn real(count: u64) -> f64 {
    count as f64
}

/// What one simulator measured: by case and number of calls.
pub(crate) type Measured = BTreeMap<Case, BTreeMap<u32, Sample>>;

/// Reads rows: scenario, channels, bytes, calls, run, and [`Counts`]. Lines that begin with `#` are passed over.
///
/// # Errors
///
/// Says which line is no row.
pub(crate) fn parse(text: &str) -> Result<Measured, String> {
    let mut measured = Measured::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        let wrong = || format!("line {number} is no row: {line:?}");
        let fields: Vec<&str> = line.split(',').collect();
        let [scenario, channels, bytes, calls, run, counts @ ..] = &fields[..] else { return Err(wrong()) };
        let number = |text: &&str| text.parse::<u64>().map_err(|_| wrong());
        let small = |text: &&str| text.parse::<u32>().map_err(|_| wrong());
        let counts = counts.iter().map(number).collect::<Result<Vec<_>, _>>()?;
        let [offered, delivered, arrived, delay_ns, variation_ns] = counts[..] else { return Err(wrong()) };
        let case = ((*scenario).to_owned(), small(channels)?, small(bytes)?);
        let sample = measured.entry(case).or_default().entry(small(calls)?).or_default();
        sample.runs.insert(small(run)?, Counts { offered, delivered, arrived, delay_ns, variation_ns });
    }
    Ok(measured)
}

/// The largest number of calls up to which none lost more than [`LOSS_MAX`]; 0 if already the first does.
pub(crate) fn capacity(samples: &BTreeMap<u32, Sample>) -> u32 {
    let kept = samples.iter().take_while(|(_, sample)| sample.loss() <= LOSS_MAX);
    kept.last().map_or(0, |(calls, _)| *calls)
}

/// How a difference is judged: [`Finding::absolute`] or [`Finding::relative`].
type Judge = fn(&'static str, String, f64, f64, f64) -> Finding;

/// Compares one case; `seconds` is how long each run measured.
pub(crate) fn compare(
    case: &Case,
    theirs: &BTreeMap<u32, Sample>,
    ours: &BTreeMap<u32, Sample>,
    seconds: f64,
    tolerance: &Tolerance,
) -> Vec<Finding> {
    let (scenario, channels, bytes) = case;
    let name = format!("{scenario}, {channels} channel(s), {bytes} B");
    let mut findings = Vec::new();
    let mut find = |judge: Judge, what: String, theirs: f64, ours: f64, allowed: f64| {
        findings.push(judge("ns-3", format!("{name}: {what}"), theirs, ours, allowed));
    };
    let capacities = (capacity(theirs), capacity(ours));
    let (their_capacity, our_capacity) = (f64::from(capacities.0), f64::from(capacities.1));
    find(Finding::absolute, "capacity".to_owned(), their_capacity, our_capacity, 0.0);
    if let (Some((_, theirs)), Some((_, ours))) = (theirs.last_key_value(), ours.last_key_value()) {
        let (theirs, ours) = (theirs.throughput(seconds), ours.throughput(seconds));
        find(Finding::relative, "packets/s at most".to_owned(), theirs, ours, tolerance.saturation);
    }
    for (calls, theirs) in theirs.range(capacities.0 + 1..) {
        let Some(ours) = ours.get(calls) else { continue };
        find(Finding::absolute, format!("loss of {calls}"), theirs.loss(), ours.loss(), tolerance.loss);
        let (delay, our_delay) = (theirs.delay_ms(), ours.delay_ms());
        find(Finding::relative, format!("delay of {calls}, ms"), delay, our_delay, tolerance.delay);
    }
    findings
}

/// A table of everything that was measured, agreed on or not.
pub(crate) fn table(theirs: &Measured, ours: &Measured, seconds: f64) -> String {
    let mut text = format!(
        "{:12} {:>8} {:>5} {:>5} {:>4} | {:>8} {:>8} | {:>7} {:>7} | {:>8} {:>8} | {:>8} {:>8}\n",
        "", "", "", "", "", "packets", "per s", "loss", "", "delay", "ms", "varies", "ms"
    );
    text += &format!(
        "{:12} {:>8} {:>5} {:>5} {:>4} | {:>8} {:>8} | {:>7} {:>7} | {:>8} {:>8} | {:>8} {:>8}\n",
        "scenario",
        "channels",
        "bytes",
        "calls",
        "runs",
        "ns-3",
        "ours",
        "ns-3",
        "ours",
        "ns-3",
        "ours",
        "ns-3",
        "ours"
    );
    for (case, samples) in theirs {
        for (calls, theirs) in samples {
            let Some(ours) = ours.get(case).and_then(|samples| samples.get(calls)) else { continue };
            text += &format!(
                "{:12} {:8} {:5} {calls:5} {:4} | {:8.1} {:8.1} | {:7.4} {:7.4} | {:8.3} {:8.3} | {:8.3} {:8.3}\n",
                case.0,
                case.1,
                case.2,
                theirs.runs.len(),
                theirs.throughput(seconds),
                ours.throughput(seconds),
                theirs.loss(),
                ours.loss(),
                theirs.delay_ms(),
                ours.delay_ms(),
                theirs.variation_ms(),
                ours.variation_ms(),
            );
        }
    }
    text
}
