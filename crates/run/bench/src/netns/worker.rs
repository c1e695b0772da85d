//! The process that makes runs, in a sandbox, and how it is spoken to: a line of JSON for each run, and one for each answer.

use super::emulated::{self, Measured};
use super::request::Request;
use super::{figures, router};
use crate::error::BenchError;
use guestright_emulator::{Lateness, Urgency, tcp};
use guestright_experiment::Settings;
use guestright_netns::Sandbox;
use guestright_transport::path::FlowReport;
use guestright_units::Seed;
use guestright_world::transports;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::time::Duration;

/// The testbeds of which runs can be made on real sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Bed {
    Transports,
    Tcp,
}

impl Bed {
    /// By its name, if it is one of them.
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            transports::NAME => Some(Self::Transports),
            guestright_world::tcp::NAME => Some(Self::Tcp),
            _ => None,
        }
    }
}

/// A run that is wanted.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) testbed: Bed,
    pub(super) settings: Settings,
    pub(super) seed: [u8; 32],
}

/// What became of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Measured(Box<Row>),
    Failed(String),
}

/// What one run gave.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) metrics: BTreeMap<String, Option<f64>>,
    /// Packets that arrived behind a link between routers.
    pub(super) packets: u64,
    /// Packets that kernels sent.
    pub(super) events: u64,
    pub(super) note: Note,
}

/// How a run went that no metric tells.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Note {
    /// How late the emulator handed packets over, in µs.
    pub(super) emulator: Late,
    /// How late packets of calls were made, in µs.
    pub(super) voice: Option<Late>,
    /// Whether the kernel gave both threads a fixed priority.
    pub(super) urgent: bool,
    /// The calls' congestion control, as the kernel names it.
    pub(super) congestion: Option<String>,
    /// Packets that were no flow's, that a device would not take, and that were not what had been sent.
    pub(super) strangers: u64,
    pub(super) refused: u64,
    pub(super) garbled: u64,
    pub(super) totals: Totals,
}

/// Spans in µs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Late {
    pub(super) p50_us: u64,
    pub(super) p99_us: u64,
    pub(super) max_us: u64,
}

/// Packets of all calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Totals {
    pub(super) made: u64,
    /// Thrown away unsent.
    pub(super) thrown: u64,
    /// Unsent at the end.
    pub(super) waiting: u64,
    /// Transmissions, and of these those of what had been sent before.
    pub(super) sent: u64,
    pub(super) again: u64,
    pub(super) arrived: u64,
    pub(super) dropped: u64,
    /// Lost by errors of the sinks' links.
    pub(super) errors: u64,
    pub(super) on_the_way: u64,
    pub(super) delivered: u64,
}

/// The worker: makes the runs that are ordered, line by line, until no more orders come. Only in a sandbox.
///
/// # Errors
/// [`BenchError::OutsideSandbox`], or if orders cannot be read or answers not be written.
pub fn serve(orders: impl BufRead, answers: &mut impl Write) -> Result<(), BenchError> {
    if !Sandbox::inside() {
        return Err(BenchError::OutsideSandbox);
    }
    Sandbox::prepare()?;
    for line in orders.lines() {
        let order: Order = serde_json::from_str(&line?)?;
        let answer = match make(&order) {
            Ok(row) => Answer::Measured(Box::new(row)),
            Err(error) => Answer::Failed(error.to_string()),
        };
        writeln!(answers, "{}", serde_json::to_string(&answer)?)?;
        answers.flush()?;
    }
    Ok(())
}

fn make(order: &Order) -> Result<Row, BenchError> {
    let (outcome, note) = match order.testbed {
        Bed::Transports => {
            let request = Request::read(&order.settings, &tcp::offered()?)?;
            let measured = emulated::run(&request, &Seed(order.seed))?;
            (figures::outcome(&request, &measured)?, note(&measured))
        }
        Bed::Tcp => {
            let request = router::Request::read(&order.settings, Seed(order.seed))?;
            let measured = router::run(&request)?;
            let note = Note {
                emulator: late(&measured.account.lateness),
                urgent: measured.account.urgency == Some(Urgency::Fixed),
                strangers: measured.strangers,
                refused: measured.account.refused,
                ..Note::default()
            };
            let mut outcome = request.setup.outcome(&measured.report);
            if !measured.counts_timeouts {
                outcome.set("timeouts", None);
            }
            (outcome, note)
        }
    };
    Ok(Row {
        metrics: outcome.metrics.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect(),
        packets: outcome.packets,
        events: outcome.events,
        note,
    })
}

fn note(measured: &Measured) -> Note {
    let sum = |of: fn(&FlowReport) -> u64| figures::sum(&measured.report.calls, of);
    Note {
        emulator: late(&measured.account.lateness),
        voice: Some(late(&measured.voice.lateness)),
        urgent: measured.account.urgency == Some(Urgency::Fixed) && measured.voice.urgency == Urgency::Fixed,
        congestion: measured.voice.congestion.clone(),
        strangers: measured.strangers,
        refused: measured.account.refused,
        garbled: measured.voice.garbled,
        totals: Totals {
            made: sum(|call| call.made),
            thrown: sum(|call| call.thrown),
            waiting: measured.waiting.iter().sum(),
            sent: sum(|call| call.sent),
            again: sum(|call| call.again),
            arrived: sum(|call| call.arrived),
            dropped: sum(|call| call.dropped_access + call.dropped_first + call.dropped_second),
            errors: sum(|call| call.errors),
            on_the_way: sum(FlowReport::on_the_way),
            delivered: sum(|call| call.delivered),
        },
    }
}

fn late(lateness: &Lateness) -> Late {
    let micros = |span: Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
    let quantile = |per_mille| lateness.quantile(per_mille).map_or(0, micros);
    Late { p50_us: quantile(500), p99_us: quantile(990), max_us: micros(lateness.max()) }
}
