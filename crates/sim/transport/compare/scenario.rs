//! The runs of `path.tcl`, and what both simulators are given for them: arrivals, errors, starts.

use super::agents::{Agent, BYTES};
use guestright_engine::{Instant, Nanos, Streams};
use guestright_transport::{Errors, LinkNumber, Source, SourceSettings};
use guestright_units::Seed;
use rand::Rng;

/// How long a run is.
pub(crate) const END: Instant = Instant(60_000_000_000);
/// Flows start at random within this (paper C, section 4.2, does not say).
const SPREAD: Nanos = Nanos::from_seconds(2);
/// Packets of a link whose errors are drawn; none has as many in a run: a call makes 3000 at most.
const PACKETS_MAX: u64 = 10_000;

/// What is on the path, whatever carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Load {
    pub(crate) flows: u32,
    /// File transfers beside them.
    pub(crate) bulk: u32,
    /// How many of a million packets the calls' last links lose, there and back.
    pub(crate) per_million: u32,
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Case {
    /// What carries the calls.
    pub(crate) agent: Agent,
    /// What is carried.
    pub(crate) load: Load,
}

/// A load in full.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    /// When each flow speaks.
    pub(crate) arrivals: Vec<Vec<Instant>>,
    /// Which packets the last link of each flow loses: there, and back.
    pub(crate) errors: Vec<[Vec<u64>; 2]>,
    /// When each file transfer starts.
    pub(crate) starts: Vec<Instant>,
}

/// Every run that is compared.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    // Queues alone: the number of drops must be the same.
    for flows in [80, 120] {
        for seed in 1..=3 {
            let load = Load { flows, bulk: 0, per_million: 0, seed };
            cases.push(Case { agent: Agent::Udp, load });
        }
    }
    // Calls and transfers together are one state or the other for a minute, as chance will have it: many seeds.
    for (bulk, seeds) in [(0, 3), (20, 7)] {
        for flows in [20, 40, 60, 80, 100, 120] {
            for agent in Agent::ALL {
                for seed in 1..=seeds {
                    cases.push(Case { agent, load: Load { flows, bulk, per_million: 10_000, seed } });
                }
            }
        }
    }
    cases
}

impl Load {
    /// Draws it all.
    ///
    /// # Errors
    ///
    /// If the source or the errors cannot be.
    pub(crate) fn draw(&self) -> Result<Drawn, String> {
        let streams = Streams::new(Seed::from_number(self.seed));
        let mut drawn = Drawn { arrivals: Vec::new(), errors: Vec::new(), starts: Vec::new() };
        for flow in 0..u64::from(self.flows) {
            let mut chance = streams.stream("source", flow);
            let start = Instant::START + Nanos(chance.next_u64() % SPREAD.0);
            let source = Source::new(SourceSettings::paper_c(BYTES), start, END, &mut chance);
            drawn.arrivals.push(source.map_err(|error| error.to_string())?.collect());
            let errors = ["there", "back"].map(|way| self.errors(&streams, way, flow));
            let [there, back] = errors;
            drawn.errors.push([there?, back?]);
        }
        let mut chance = streams.stream("bulk", 0);
        drawn.starts = (0..self.bulk).map(|_| Instant::START + Nanos(chance.next_u64() % SPREAD.0)).collect();
        Ok(drawn)
    }

    fn errors(&self, streams: &Streams, way: &str, flow: u64) -> Result<Vec<u64>, String> {
        let errors = Errors::Bernoulli { per_million: self.per_million };
        if errors.is_none() {
            return Ok(Vec::new());
        }
        let model = errors.model(LinkNumber(0), streams.stream(way, flow));
        let mut model = model.map_err(|error| error.to_string())?;
        Ok((0..PACKETS_MAX).filter(|_| model.loses()).collect())
    }
}
