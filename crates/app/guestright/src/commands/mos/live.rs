//! `guestright mos --live`: what passes an interface now.

use super::Mos;
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_cli::signals;
use guestright_error::RunError;
use guestright_privileges::{Needs, confine};
use guestright_rating::line::lines;
use guestright_rating::live::{Event, Live, LiveConfig, Watched};
use guestright_rating::{json, screen, table, words};
use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;

/// A stream without a packet for so long has ended. Silence suppression leaves out seconds, not half a minute.
const IDLE: Duration = Duration::from_secs(30);
/// Ended streams that the report at the end has in full.
const ENDED_MAX: usize = 1_000;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Live")]
pub(super) struct LiveArgs {
    /// Watch a network interface, until Ctrl-C
    #[arg(long = "live", id = "live", value_name = "INTERFACE", conflicts_with = "files")]
    pub(super) interface: Option<String>,
    /// End after so many seconds
    #[arg(long, value_name = "N", requires = "live", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    seconds: Option<u64>,
    /// Show how things stand this often
    #[arg(long, value_name = "SECONDS", requires = "live", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    every: u64,
    /// What the kernel may keep of packets until they are looked at; what it has no room for is counted as ours
    #[arg(long, value_name = "KB", requires = "live", default_value_t = 8_192, value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    kernel_buffer_kb: u32,
}

impl Mos {
    pub(super) fn watch(&self, interface: &str, out: &mut Output) -> Outcome {
        let live = Live::open(LiveConfig {
            interface: interface.to_owned(),
            survey: self.survey_config(),
            buffer_bytes: usize::try_from(self.live.kernel_buffer_kb).unwrap_or(usize::MAX) << 10,
            interval: Duration::from_secs(self.live.every),
            idle: IDLE,
            ended_max: ENDED_MAX,
            length: self.live.seconds.map(Duration::from_secs),
        })?;
        let files: Vec<&Path> = self.prometheus.as_deref().into_iter().collect();
        confine(Needs::default().with_files(&files)).map_err(Failure::network)?;
        let stop = live.stop();
        let on_signal = move || {
            stop.stop();
            true
        };
        signals::watch(on_signal)
            .map_err(|error| Failure::network(anyhow!(error).context("take signals")))?;
        let on_terminal = std::io::stdout().is_terminal() && !self.json;
        if !on_terminal {
            writeln!(out, "{}", serde_json::json!({ "event": "watching", "interface": interface }))?;
            out.flush()?;
        }
        let watched = live.run(&mut |event| self.show(interface, on_terminal, &event, out))?;
        self.export(&watched.tally, &watched.now)?;
        self.last_report(interface, on_terminal, &watched, out)
    }

    fn show(
        &self,
        interface: &str,
        on_terminal: bool,
        event: &Event<'_>,
        out: &mut Output,
    ) -> Result<(), RunError> {
        match event {
            Event::Looked { report, tally, now } => {
                if on_terminal {
                    write!(out, "{}", screen::look(interface, report, tally, now))?;
                } else {
                    writeln!(out, "{}", screen::look_json(interface, report, tally, now))?;
                }
                self.export(tally, now).map_err(RunError::from)?;
            }
            Event::Ended(line) if !on_terminal => writeln!(out, "{}", screen::ended_json(line))?,
            Event::Ended(_) => {}
        }
        out.flush()
    }

    fn last_report(
        &self,
        interface: &str,
        on_terminal: bool,
        watched: &Watched,
        out: &mut Output,
    ) -> Outcome {
        let report = &watched.report;
        let mut notes = words::file_notes(report, false);
        if watched.left_out > 0 {
            notes.push(format!("{} streams ended earlier, and are in the totals only", watched.left_out));
        }
        if on_terminal {
            write!(out, "\n{}", table::report(interface, report, &notes))?;
            writeln!(out, "\n{}", watched.tally.to_text())?;
        } else {
            let files = [json::report(interface, report, &notes)];
            let summary = watched.tally.to_json();
            let value = serde_json::json!({ "event": "report", "files": files, "summary": summary });
            writeln!(out, "{value}")?;
        }
        let all = report.streams.iter().enumerate();
        let all: Vec<_> = all.flat_map(|(number, stream)| lines(interface, number, stream)).collect();
        self.threshold(&all)
    }
}
