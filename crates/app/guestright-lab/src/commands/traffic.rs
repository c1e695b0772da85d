//! `guestright-lab traffic`: arguments, and the two ends.

use anyhow::anyhow;
use guestright_bench::course::{Course, CourseOptions};
use guestright_bench::traffic::{self, TrafficError};
use guestright_bench::wire::Wire;
use guestright_cli::address::resolve;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_cli::signals;
use guestright_error::{OrFail as _, RunError};
use guestright_traffic::{
    Caller, CallerEvent, ClockSource, Listener, ListenerConfig, ListenerEvent, Phases, Plan, Traffic as Kind,
};
use guestright_units::{Micros, Seed};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// The port of a listener.
const PORT: u16 = 7276;

/// Parallel voice calls between two computers: what was lost, how late it came, and how good a call would have been
///
/// One computer listens, the other sends; both send and both measure. The figures are for each direction and each
/// call, by the formula of the paper and by ITU-T G.107. Loss and delay are those of the network; the dejitter buffer
/// holds 120 ms and plays from half of it on.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab traffic listen                       # on one computer
  guestright-lab traffic send 192.0.2.7 --calls 7     # on the other: 7 calls of G.729 for 90 s")]
pub(crate) struct Traffic {
    #[command(subcommand)]
    command: TrafficCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TrafficCommand {
    Listen(Listen),
    Send(Send),
}

/// Let other computers measure the way to this one
///
/// It sends voice only to who has shown that it receives there, and as much as it receives. Anybody who reaches the
/// port may measure, one at a time; --from names the only one who may.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab traffic listen
  guestright-lab traffic listen --bind 192.0.2.7:7276 --from 192.0.2.8 --runs 1 --csv received.csv")]
struct Listen {
    /// The UDP address to listen at
    #[arg(long, value_name = "ADDRESS", default_value_t = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), PORT))]
    bind: SocketAddr,
    /// The only address that may begin a run
    #[arg(long, value_name = "ADDRESS")]
    from: Option<IpAddr>,
    /// End after so many runs
    #[arg(long, value_name = "N")]
    runs: Option<u32>,
    /// The most calls in a run
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u16).range(1..=2000))]
    calls_max: u16,
    /// The longest run, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    duration_max: u64,
    #[command(flatten)]
    common: Common,
}

/// Measure the way to a computer that listens
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab traffic send 192.0.2.7 --calls 7
  guestright-lab traffic send [2001:db8::7]:7276 --codec g711 --duration 20 --phases even --json")]
struct Send {
    /// Who listens: a name or an address, with a port if it is not 7276
    #[arg(value_name = "HOST[:PORT]")]
    peer: String,
    /// How many calls at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=2000))]
    calls: u16,
    /// What each call sends, 50 packets a second: 20 octets of voice (g729) or 160 (g711)
    #[arg(long, value_enum, default_value_t = CodecName::G729)]
    codec: CodecName,
    /// How long, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 90.0)]
    duration: f64,
    /// When within 20 ms the packets of each call leave
    #[arg(long, value_enum, default_value_t = PhasesName::Random)]
    phases: PhasesName,
    /// Makes random phases the same as in another run
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    common: Common,
}

/// What both ends have.
#[derive(Debug, clap::Args)]
struct Common {
    /// How the delay in one direction is known: by exchanges with the other end (the error is at most half of the
    /// fastest round trip, whatever the two directions are like), because both ends share one clock, or because both
    /// clocks are kept right to within --clock-error-ms
    #[arg(long, value_enum, default_value_t = ClockName::Exchange)]
    clock: ClockName,
    /// The errors of both clocks together, for `--clock stated`: chronyc or ntpq tell them
    #[arg(long, value_name = "MS", required_if_eq("clock", "stated"))]
    clock_error_ms: Option<f64>,
    /// Print one JSON object for each run instead of text
    #[arg(long)]
    json: bool,
    /// Write a line for each call and second to this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print no line for each second
    #[arg(long)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum CodecName {
    G729,
    G711,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum PhasesName {
    Random,
    Even,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ClockName {
    Exchange,
    Shared,
    Stated,
}

impl Traffic {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        match self.command {
            TrafficCommand::Listen(command) => command.run(out),
            TrafficCommand::Send(command) => command.run(out),
        }
    }
}

impl Common {
    fn source(&self) -> Result<ClockSource, Failure> {
        Ok(match (self.clock, self.clock_error_ms) {
            (ClockName::Exchange, None) => ClockSource::Exchange,
            (ClockName::Shared, None) => ClockSource::Shared,
            (ClockName::Stated, Some(ms)) => ClockSource::Stated(micros(ms / 1e3, "--clock-error-ms")?),
            (ClockName::Exchange | ClockName::Shared, Some(_)) | (ClockName::Stated, None) => {
                return Err(Failure::user(anyhow!(
                    "--clock-error-ms goes with --clock stated, and only with it"
                )));
            }
        })
    }

    fn course(&self) -> Result<Course, RunError> {
        let (json, seconds, csv) = (self.json, !self.json && !self.quiet, self.csv.as_deref());
        Course::new(&CourseOptions { json, seconds, csv })
    }
}

impl Listen {
    fn run(self, out: &mut Output) -> Outcome {
        let config = ListenerConfig {
            calls_max: self.calls_max,
            duration_max: Micros::from_seconds(self.duration_max),
            from: self.from.map(|address| address.to_canonical()),
            runs_max: self.runs,
        };
        let mut listener = Listener::new(config, self.common.source()?, &guestright_clock::seed());
        let mut course = self.common.course()?;
        let mut wire = Wire::listen(self.bind)
            .map_err(|error| Failure::from(error).hint("another address with --bind"))?;
        stop_at_signals(&wire)?;
        if !self.common.json {
            writeln!(out, "listening at {}", wire.address()?)?;
            out.flush()?;
        }
        traffic::listen(&mut listener, &mut wire, |event, dropped| match event {
            ListenerEvent::Started { peer, plan } => print(out, &course.started(peer, &plan)),
            ListenerEvent::Row(row) => print(out, &course.row(&row)?),
            ListenerEvent::Finished(outcome) => print(out, &course.finished(&outcome, dropped)?),
            ListenerEvent::Refused { peer, reason } => {
                tracing::debug!(%peer, ?reason, "refused a run");
                Ok(())
            }
        })?;
        Ok(())
    }
}

impl Send {
    fn run(self, out: &mut Output) -> Outcome {
        let traffic = match self.codec {
            CodecName::G729 => Kind::G729,
            CodecName::G711 => Kind::G711,
        };
        let phases = match self.phases {
            PhasesName::Random => Phases::Random,
            PhasesName::Even => Phases::Even,
        };
        let plan = Plan::lasting(self.calls, traffic, phases, micros(self.duration, "--duration")?)
            .or_user(|| "this cannot be carried out".to_owned())?;
        let peer = resolve(&self.peer, PORT)?;
        let mut course = self.common.course()?;
        let mut wire = Wire::connect(peer)?;
        stop_at_signals(&wire)?;
        // The run's number must be new even when phases are to be the same.
        let seed = self.seed.map_or_else(guestright_clock::seed, Seed::from_number);
        let mut caller = Caller::new(plan, self.common.source()?, &seed, wire.now());
        traffic::call(&mut caller, &mut wire, peer, |event, dropped| match event {
            CallerEvent::Started => print(out, &course.started(peer, &plan)),
            CallerEvent::Row(row) => print(out, &course.row(&row)?),
            CallerEvent::Finished(outcome) => print(out, &course.finished(&outcome, dropped)?),
            CallerEvent::Refused(_) | CallerEvent::NoAnswer => Ok(()),
        })
        .map_err(|error| {
            let is_stopped = matches!(error, TrafficError::Stopped { .. });
            if is_stopped { Failure::interrupted(error) } else { Failure::from(error) }
        })
    }
}

fn print(out: &mut Output, text: &str) -> Result<(), RunError> {
    write!(out, "{text}")?;
    out.flush()?;
    Ok(())
}

/// Signals are inputs.
fn stop_at_signals(wire: &Wire) -> Outcome {
    let stop = wire.stop_handle();
    signals::watch(move || stop.stop()).map_err(Failure::network)
}

/// Seconds from the command line.
fn micros(seconds: f64, option: &str) -> Result<Micros, Failure> {
    let duration = Duration::try_from_secs_f64(seconds).ok();
    let micros = duration.and_then(|duration| u64::try_from(duration.as_micros()).ok());
    micros.map(Micros).ok_or_else(|| Failure::user(anyhow!("{option} cannot be {seconds}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_numbers_of_seconds() {
        assert_eq!(micros(0.5, "x").unwrap(), Micros(500_000));
        for wrong in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert!(micros(wrong, "x").is_err());
        }
    }
}
