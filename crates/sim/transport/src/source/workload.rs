//! Arrivals of all flows as text, so that other simulators run on the same ones.
//!
//! ```text
//! # guestright workload 1: flow seconds
//! 0 0.020000000
//! 1 1.370412345
//! ```
//!
//! One line for each packet: the number of its flow, a space, and when it is spoken, in decimal seconds with up to nine
//! digits behind the point (so nanoseconds are exact). Lines that are empty or begin with `#` mean nothing. Lines of one
//! flow are in the order of time; flows may be mixed in any order.

use guestright_engine::Instant;
use std::collections::BTreeMap;
use std::fmt::Write;
use thiserror::Error;

/// A packet is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arrival {
    pub at: Instant,
    pub flow: u32,
}

/// All packets that are spoken in a run, in the order of time, and of flows where times are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    arrivals: Vec<Arrival>,
}

/// A text that is no workload.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum WorkloadError {
    /// Not two fields.
    #[error("line {line} has {got} fields, want 2: the flow and the time in seconds")]
    Fields {
        /// The line, from 1.
        line: usize,
        /// How many it has.
        got: usize,
    },
    /// A flow that is not a number, or is too large.
    #[error("line {line}: the flow is {got:?}, want a number from 0 to {max}")]
    Flow {
        /// The line, from 1.
        line: usize,
        /// What is there, its first 40 characters.
        got: String,
        max: u32,
    },
    /// A time that is none.
    #[error(
        "line {line}: the time is {got:?}, want seconds from 0 to {max} with up to 9 digits behind the point"
    )]
    Time {
        /// The line, from 1.
        line: usize,
        /// What is there, its first 40 characters.
        got: String,
        /// The latest, in seconds.
        max: u64,
    },
    /// A flow that goes back in time.
    #[error("line {line}: flow {flow} speaks before its line above")]
    Backwards {
        /// The line, from 1.
        line: usize,
        flow: u32,
    },
    /// More packets than a run can hold.
    #[error("more than {max} packets, at line {line}")]
    Packets {
        /// The line, from 1.
        line: usize,
        max: usize,
    },
}

const HEADER: &str = "# guestright workload 1: flow seconds";
const NANOS: u64 = 1_000_000_000;

impl Workload {
    /// The largest number of a flow.
    pub const FLOW_MAX: u32 = (1 << 20) - 1;
    /// The most packets.
    pub const PACKETS_MAX: usize = 1 << 24;
    /// The latest time, in seconds: a day.
    pub const SECONDS_MAX: u64 = 86_400;

    /// Of the times of each flow, the first flow having number 0. None: there are more than [`Workload::PACKETS_MAX`]
    /// packets or flows than [`Workload::FLOW_MAX`] allows, or one is later than [`Workload::SECONDS_MAX`].
    #[must_use]
    pub fn of_flows(flows: &[Vec<Instant>]) -> Option<Self> {
        let mut arrivals = Vec::new();
        for (flow, times) in (0..).zip(flows) {
            if flow > Self::FLOW_MAX || arrivals.len() + times.len() > Self::PACKETS_MAX {
                return None;
            }
            arrivals.extend(times.iter().map(|at| Arrival { at: *at, flow }));
        }
        arrivals.sort_unstable();
        let is_late = |last: &Arrival| last.at.0 > Self::SECONDS_MAX * NANOS;
        if arrivals.last().is_some_and(is_late) { None } else { Some(Self { arrivals }) }
    }

    /// All of them, in order.
    #[must_use]
    pub fn arrivals(&self) -> &[Arrival] {
        &self.arrivals
    }

    /// The times of each of the first `count` flows; none of a flow that never speaks.
    #[must_use]
    pub fn flows(&self, count: u32) -> Vec<Vec<Instant>> {
        let mut flows = vec![Vec::new(); count as usize];
        for arrival in &self.arrivals {
            if let Some(times) = flows.get_mut(arrival.flow as usize) {
                times.push(arrival.at);
            }
        }
        flows
    }

    #[must_use]
    pub fn emit(&self) -> String {
        let mut text = String::from(HEADER);
        text.push('\n');
        for Arrival { at, flow } in &self.arrivals {
            writeln!(text, "{flow} {}.{:09}", at.0 / NANOS, at.0 % NANOS).expect("a string takes all text");
        }
        text
    }

    /// Of text.
    ///
    /// # Errors
    ///
    /// At the first line that is wrong.
    pub fn parse(text: &str) -> Result<Self, WorkloadError> {
        let mut arrivals = Vec::new();
        let mut latest: BTreeMap<u32, Instant> = BTreeMap::new();
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let arrival = parse_line(line, content)?;
            if arrivals.len() == Self::PACKETS_MAX {
                return Err(WorkloadError::Packets { line, max: Self::PACKETS_MAX });
            }
            let last = latest.insert(arrival.flow, arrival.at);
            if last.is_some_and(|last| arrival.at < last) {
                return Err(WorkloadError::Backwards { line, flow: arrival.flow });
            }
            arrivals.push(arrival);
        }
        arrivals.sort_unstable();
        Ok(Self { arrivals })
    }
}

fn parse_line(line: usize, content: &str) -> Result<Arrival, WorkloadError> {
    let mut fields = content.split_ascii_whitespace();
    let (Some(flow), Some(seconds), None) = (fields.next(), fields.next(), fields.next()) else {
        return Err(WorkloadError::Fields { line, got: content.split_ascii_whitespace().count() });
    };
    let flow =
        decimal(flow).and_then(|flow| u32::try_from(flow).ok()).filter(|flow| *flow <= Workload::FLOW_MAX);
    let Some(flow) = flow else {
        let got = shortened(content.split_ascii_whitespace().next().unwrap_or_default());
        return Err(WorkloadError::Flow { line, got, max: Workload::FLOW_MAX });
    };
    let at = parse_seconds(seconds).ok_or_else(|| WorkloadError::Time {
        line,
        got: shortened(seconds),
        max: Workload::SECONDS_MAX,
    })?;
    Ok(Arrival { at, flow })
}

fn parse_seconds(text: &str) -> Option<Instant> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if fraction.len() > 9 {
        return None;
    }
    let missing = u32::try_from(9 - fraction.len()).ok()?;
    let nanos = decimal(whole)?.checked_mul(NANOS)?.checked_add(decimal(fraction)? * 10_u64.pow(missing))?;
    (nanos <= Workload::SECONDS_MAX * NANOS).then_some(Instant(nanos))
}

/// A number of digits alone: no sign, no blanks.
fn decimal(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}
