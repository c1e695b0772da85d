//! The course of runs of traffic between two computers, as text and in a file.

use guestright_error::{OrFail as _, RunError};
use guestright_traffic::figures::{SecondSums, csv_header, csv_row, table};
use guestright_traffic::{CallRow, Outcome, Plan};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::net::SocketAddr;
use std::path::Path;

/// Seconds of which some calls are missing; older ones are printed as they are.
const OPEN_MAX: usize = 8;

/// What of it is wanted.
#[derive(Clone, Copy, Debug)]
pub struct CourseOptions<'a> {
    /// An object at the end and nothing else.
    pub json: bool,
    /// A line for each second.
    pub seconds: bool,
    /// A file with a line for each call and second.
    pub csv: Option<&'a Path>,
}

/// The course and the end of runs. What its methods return is to be printed at once.
#[derive(Debug)]
pub struct Course {
    json: bool,
    seconds: bool,
    csv: Option<BufWriter<File>>,
    run: u32,
    peer: Option<SocketAddr>,
    calls: u16,
    open: BTreeMap<u64, SecondSums>,
}

impl Course {
    /// Of no run yet; the file is begun.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(options: &CourseOptions<'_>) -> Result<Self, RunError> {
        let csv = match options.csv {
            None => None,
            Some(path) => {
                let file = File::create(path).or_config(|| format!("write {}", path.display()))?;
                let mut file = BufWriter::new(file);
                writeln!(file, "{}", csv_header()).or_user(|| format!("write {}", path.display()))?;
                Some(file)
            }
        };
        let (json, seconds) = (options.json, options.seconds);
        Ok(Self { json, seconds, csv, run: 0, peer: None, calls: 0, open: BTreeMap::new() })
    }

    /// A run with `peer` begins.
    pub fn started(&mut self, peer: SocketAddr, plan: &Plan) -> String {
        self.run += 1;
        self.calls = plan.calls;
        self.peer = Some(peer);
        self.open.clear();
        if self.json {
            return String::new();
        }
        let (calls, seconds) = (plan.calls, plan.duration().as_seconds());
        let codec = plan.traffic.codec();
        format!("{calls} calls of {codec} with {peer} for {seconds} s\n")
    }

    /// A second of a call is over.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn row(&mut self, row: &CallRow) -> Result<String, RunError> {
        if let Some(file) = &mut self.csv {
            writeln!(file, "{}", csv_row(self.run, row)).or_user(|| "write the CSV file".to_owned())?;
        }
        if !self.seconds {
            return Ok(String::new());
        }
        let sums = self.open.entry(row.row.index).or_default();
        sums.add(&row.row);
        let is_whole = sums.calls() == self.calls || self.open.len() > OPEN_MAX;
        Ok(if is_whole { self.oldest() } else { String::new() })
    }

    fn oldest(&mut self) -> String {
        let oldest = self.open.pop_first();
        oldest.map_or_else(String::new, |(second, sums)| format!("{second:>5} s  {sums}\n"))
    }

    /// A run has ended; `dropped` datagrams were thrown away here.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finished(&mut self, outcome: &Outcome, dropped: u64) -> Result<String, RunError> {
        let mut text = String::new();
        while !self.open.is_empty() {
            text += &self.oldest();
        }
        if let Some(file) = &mut self.csv {
            file.flush().or_user(|| "write the CSV file".to_owned())?;
        }
        if self.json {
            let (run, peer) = (self.run, self.peer.map(|peer| peer.to_string()));
            let value = json!({ "run": run, "peer": peer, "dropped_here": dropped, "outcome": outcome });
            let _ = writeln!(text, "{value}");
        } else {
            text += &table(outcome, dropped);
        }
        Ok(text)
    }
}
