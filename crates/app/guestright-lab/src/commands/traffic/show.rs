//! What `guestright-lab traffic` prints.

use guestright_cli::failure::Failure;
use guestright_cli::output::Output;
use guestright_error::{OrFail as _, RunError};
use guestright_traffic::figures::{SecondSums, csv_header, csv_row, table};
use guestright_traffic::{CallRow, Outcome, Plan};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::path::Path;

/// Seconds of which some calls are missing; older ones are printed as they are.
const OPEN_MAX: usize = 8;

pub(super) struct ShowOptions<'a> {
    /// An object at the end and nothing else.
    pub(super) json: bool,
    /// A line for each second.
    pub(super) seconds: bool,
    /// A file with a line for each call and second.
    pub(super) csv: Option<&'a Path>,
}

/// Prints the course and the end of runs.
pub(super) struct Show {
    json: bool,
    seconds: bool,
    csv: Option<BufWriter<File>>,
    run: u32,
    peer: Option<SocketAddr>,
    calls: u16,
    open: BTreeMap<u64, SecondSums>,
}

impl Show {
    pub(super) fn new(options: &ShowOptions) -> Result<Self, Failure> {
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

    pub(super) fn started(
        &mut self,
        peer: SocketAddr,
        plan: &Plan,
        out: &mut Output,
    ) -> Result<(), RunError> {
        self.run += 1;
        self.calls = plan.calls;
        self.peer = Some(peer);
        self.open.clear();
        if !self.json {
            let (calls, seconds) = (plan.calls, plan.duration().as_seconds());
            let codec = plan.traffic.codec();
            writeln!(out, "{calls} calls of {codec} with {peer} for {seconds} s")?;
            out.flush()?;
        }
        Ok(())
    }

    pub(super) fn row(&mut self, row: &CallRow, out: &mut Output) -> Result<(), RunError> {
        if let Some(file) = &mut self.csv {
            writeln!(file, "{}", csv_row(self.run, row)).or_user(|| "write the CSV file".to_owned())?;
        }
        if !self.seconds {
            return Ok(());
        }
        let sums = self.open.entry(row.row.index).or_default();
        sums.add(&row.row);
        if sums.calls() == self.calls || self.open.len() > OPEN_MAX {
            self.print_oldest(out)?;
        }
        Ok(())
    }

    fn print_oldest(&mut self, out: &mut Output) -> Result<(), RunError> {
        if let Some((second, sums)) = self.open.pop_first() {
            writeln!(out, "{second:>5} s  {sums}")?;
            out.flush()?;
        }
        Ok(())
    }

    pub(super) fn finished(
        &mut self,
        outcome: &Outcome,
        dropped: u64,
        out: &mut Output,
    ) -> Result<(), RunError> {
        while !self.open.is_empty() {
            self.print_oldest(out)?;
        }
        if let Some(file) = &mut self.csv {
            file.flush().or_user(|| "write the CSV file".to_owned())?;
        }
        if self.json {
            let (run, peer) = (self.run, self.peer.map(|peer| peer.to_string()));
            writeln!(
                out,
                "{}",
                json!({ "run": run, "peer": peer, "dropped_here": dropped, "outcome": outcome })
            )?;
        } else {
            write!(out, "{}", table(outcome, dropped))?;
        }
        out.flush()?;
        Ok(())
    }
}
