//! Tables for people and one file for programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Serialize;

use crate::lab::FRAME_MAX;
use crate::limit::Limit;
use crate::measure::{Bulk, Calls, Visit};
use crate::path::Way;
use crate::plan::{Condition, Plan};
use crate::sample::{Spread, cell};
use crate::{own_program, peer, processor, promise, tcp};

/// With so much of the processors used by others, figures say little.
const NOISY_PERCENT: f64 = 20.0;

/// Everything that was measured, and where.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    computer: Computer,
    plan: Plan,
    versions: BTreeMap<&'static str, String>,
    pub(crate) limits: Vec<Limit>,
    pub(crate) visits: Vec<Visit>,
    pub(crate) seconds: f64,
}

#[derive(Debug, Serialize)]
struct Computer {
    kernel: String,
    processor: String,
    processors: usize,
    load: f64,
    /// Of daemons and generators alike.
    nice: i32,
    congestion_control: &'static str,
    mtu: u32,
}

impl Report {
    pub(crate) fn new(plan: &Plan, nice: i32) -> Self {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let computer = Computer {
            kernel: release.trim().to_owned(),
            processor: processor::model(),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            load: processor::load(),
            nice,
            congestion_control: tcp::CONGESTION,
            mtu: 1_500,
        };
        let versions = plan.ways.iter().filter_map(|&way| Some((way.name(), peer::version(way)?))).collect();
        let (limits, visits) = (Vec::new(), Vec::new());
        Self { computer, plan: plan.clone(), versions, limits, visits, seconds: 0.0 }
    }

    pub(crate) fn print_heading(&self) {
        let Computer { kernel, processor, processors, load, nice, congestion_control, mtu } = &self.computer;
        println!("{processors} x {processor}, Linux {kernel}, load {load:.1}");
        println!("nice {nice}, {congestion_control}, MTU {mtu}, {} repetitions", self.plan.repetitions);
        for (name, version) in &self.versions {
            println!("  {name}: {version}");
        }
    }

    pub(crate) fn print(&self) {
        for &condition in &self.plan.conditions {
            self.print_bulk(condition);
        }
        if !self.plan.rates.is_empty() {
            self.print_latency();
            self.print_cost();
        }
        self.print_limits();
        if let Some(busy) = Spread::of(self.visits.iter().map(|visit| visit.busy * 100.0))
            && busy.median > NOISY_PERCENT
        {
            println!("\nothers used {} % of the processors: this is no measurement", busy.text(0));
        }
        println!("\npromises");
        for line in promise::lines(self, &self.plan) {
            println!("  {line}");
        }
        for visit in &self.visits {
            let (name, repetition) = (visit.way.name(), visit.repetition);
            for why in &visit.failed_starts {
                println!("\n{name}, repetition {repetition}, did not start: {why}");
            }
            if let Some(problem) = &visit.problem {
                println!("\n{name}, repetition {repetition}: {problem}");
            }
        }
    }

    fn print_bulk(&self, condition: Condition) {
        let mut rows = vec![words(&[
            "path",
            "Mbit/s",
            "of NAT",
            "of boringtun",
            "us/1400 B",
            "daemons",
            "frame B",
            "sent again",
        ])];
        for &way in &self.plan.ways {
            let bulk =
                |value: fn(&Bulk) -> f64| self.spread(way, |visit| bulk_of(visit, condition).map(value));
            rows.push(vec![
                way.name().to_owned(),
                cell(bulk(|bulk| bulk.mbit), 0),
                cell(self.bulk_ratio(condition, way, Way::Nat), 3),
                cell(self.bulk_ratio(condition, way, Way::Boringtun), 2),
                cell(bulk(|bulk| bulk.computer_us), 1),
                cell(bulk(|bulk| bulk.daemons_us), 1),
                cell(
                    bulk(|bulk| bulk.frame_bytes_mean).map(|spread| Spread { min: 0.0, max: 0.0, ..spread }),
                    0,
                ),
                cell(bulk(|bulk| bulk.retransmitted as f64), 0),
            ]);
        }
        print_table(&format!("bulk transfer, {}: median (smallest-largest)", condition.name()), &rows);
    }

    fn print_latency(&self) {
        let mut rows = vec![words(&[
            "path",
            "p50 us",
            "p99 us",
            "p50 over NAT",
            "p99 over NAT",
            "lost %",
            "packets/s max",
        ])];
        let Some(&(rate, _)) = self.plan.rates.first() else { return };
        for &way in &self.plan.ways {
            let of = |value: fn(&Calls) -> f64| self.spread(way, |visit| calls_of(visit, rate).map(value));
            rows.push(vec![
                way.name().to_owned(),
                cell(of(|calls| calls.p50_us), 0),
                cell(of(|calls| calls.p99_us), 0),
                cell(self.added(way, rate, |calls| calls.p50_us), 0),
                cell(self.added(way, rate, |calls| calls.p99_us), 0),
                cell(of(|calls| calls.loss() * 100.0), 2),
                cell(self.spread(way, Visit::rate_max), 0),
            ]);
        }
        print_table(
            &format!("calls: 60-byte packets, {rate} a second; the highest rate with < 1 % lost"),
            &rows,
        );
    }

    fn print_cost(&self) {
        let mut head = vec!["path".to_owned()];
        for (rate, _) in &self.plan.rates {
            head.extend([format!("{rate}/s: all"), "daemons".to_owned(), "computer".to_owned()]);
        }
        let mut rows = vec![head];
        for &way in &self.plan.ways {
            let mut row = vec![way.name().to_owned()];
            for &(rate, _) in &self.plan.rates {
                let of =
                    |value: fn(&Calls) -> f64| self.spread(way, |visit| calls_of(visit, rate).map(value));
                row.push(cell(of(|calls| calls.processes_us), 1));
                row.push(cell(of(|calls| calls.daemons_us), 1));
                row.push(cell(of(|calls| calls.computer_us), 1));
            }
            rows.push(row);
        }
        print_table(
            "processor time, us for each 60-byte packet: daemons and generators, daemons, computer",
            &rows,
        );
    }

    fn print_limits(&self) {
        let Some(&condition) = self.plan.conditions.first() else { return };
        let mut rows = vec![words(&["cipher alone", "Mbit/s, one core", "path", "Mbit/s", "of the cipher"])];
        for limit in &self.limits {
            for &way in limit.ways.iter().filter(|way| self.plan.ways.contains(way)) {
                let mbit = self.spread(way, |visit| bulk_of(visit, condition).map(|bulk| bulk.mbit));
                let share = mbit.map(|mbit| mbit.median / limit.mbit);
                rows.push(vec![
                    limit.suite.to_owned(),
                    format!("{:.0}", limit.mbit),
                    way.name().to_owned(),
                    mbit.map_or_else(|| "-".to_owned(), |mbit| format!("{:.0}", mbit.median)),
                    share.map_or_else(|| "-".to_owned(), |share| format!("{share:.3}")),
                ]);
            }
        }
        print_table(&format!("openssl speed, 1,408 bytes, and bulk transfer, {}", condition.name()), &rows);
    }

    /// A figure of one path over the repetitions.
    pub(crate) fn spread(&self, way: Way, value: impl Fn(&Visit) -> Option<f64>) -> Option<Spread> {
        Spread::of(self.visits.iter().filter(|visit| visit.way == way).filter_map(value))
    }

    /// Two paths' figures put together, repetition by repetition.
    pub(crate) fn paired(
        &self,
        (a, b): (Way, Way),
        value: impl Fn(&Visit) -> Option<f64>,
        combine: impl Fn(f64, f64) -> f64,
    ) -> Option<Spread> {
        let of = |way: Way, repetition: u32| {
            let visit =
                self.visits.iter().find(|visit| visit.way == way && visit.repetition == repetition)?;
            value(visit)
        };
        let pairs = (1..=self.plan.repetitions)
            .filter_map(|repetition| Some(combine(of(a, repetition)?, of(b, repetition)?)));
        Spread::of(pairs)
    }

    pub(crate) fn bulk_ratio(&self, condition: Condition, way: Way, to: Way) -> Option<Spread> {
        self.paired((way, to), |visit| bulk_of(visit, condition).map(|bulk| bulk.mbit), |a, b| a / b)
    }

    /// How much more than without a tunnel.
    pub(crate) fn added(&self, way: Way, rate: u32, value: fn(&Calls) -> f64) -> Option<Spread> {
        self.paired((way, Way::Nat), |visit| calls_of(visit, rate).map(value), |a, b| a - b)
    }

    /// Paths on which there were frames that no real link carries.
    pub(crate) fn oversize(&self) -> Vec<String> {
        let wrong = |bulk: &&Bulk| bulk.oversize > 0 || bulk.frame_bytes_mean > FRAME_MAX;
        let of = |visit: &Visit| {
            let bulk = visit.bulk.iter().find(wrong)?;
            let Bulk { oversize, frame_bytes_mean, .. } = bulk;
            Some(format!("{} ({oversize} above, {frame_bytes_mean:.0} bytes on average)", visit.way.name()))
        };
        self.visits.iter().filter_map(of).collect()
    }

    /// Writes everything to a file and returns its path.
    pub(crate) fn save(&self, path: Option<&Path>) -> Result<PathBuf> {
        let path = match path {
            Some(path) => path.to_owned(),
            // target/release/deps/tunnels-0123456789abcdef
            None => own_program()?.ancestors().nth(3).context("the target directory")?.join("tunnels.json"),
        };
        let text = serde_json::to_string_pretty(self)?;
        fs::write(&path, text + "\n").with_context(|| format!("write {}", path.display()))?;
        Ok(path)
    }
}

pub(crate) fn bulk_of(visit: &Visit, condition: Condition) -> Option<&Bulk> {
    visit.bulk.iter().find(|bulk| bulk.condition == condition)
}

pub(crate) fn calls_of(visit: &Visit, rate: u32) -> Option<&Calls> {
    visit.calls.iter().find(|calls| calls.rate == rate)
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// The first column to the left, the others to the right.
fn print_table(title: &str, rows: &[Vec<String>]) {
    println!("\n{title}");
    let columns = rows.first().map_or(0, Vec::len);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate();
        let cells =
            cells.map(
                |(column, (cell, &width))| {
                    if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                },
            );
        println!("  {}", cells.collect::<Vec<_>>().join("  "));
    }
}
