//! `guestright demo`: the whole community on this computer, in network namespaces.

mod cast;
mod chain;
mod internet;
mod report;
mod stock;
mod story;
mod telephone;
mod town;

use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_cli::signals::Signals;
use guestright_netns::Sandbox;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::process::ExitStatus;
use std::time::Duration;

/// Show the whole community on this computer: three households, an Internet, members, a newcomer, a free-rider
///
/// Everything is real: the programs, the kernel's packet filter and queues, the sockets, the receipts. It happens in
/// namespaces of its own, so nothing of it is on your network, and the kernel clears it away whatever happens.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright demo
  guestright demo --keep
  guestright demo --json")]
pub(crate) struct Demo {
    /// Leave the town running afterwards, until Ctrl-C
    #[arg(long)]
    keep: bool,
    /// Print the result as JSON, and nothing else
    #[arg(long)]
    json: bool,
    /// How often receipts are asked for, in milliseconds; at home it is 5000
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(500..=10_000))]
    interval_ms: u64,
    /// Be the web server of the demo's Internet (the demo calls this itself)
    #[arg(long, hide = true, value_name = "ADDRESS:PORT")]
    internet: Option<SocketAddr>,
}

/// Tells the town the number of the process outside, for those who want to look around.
const OUTSIDE: &str = "GUESTRIGHT_DEMO_OUTSIDE";
/// How long the town has to close down after Ctrl-C.
const PATIENCE: Duration = Duration::from_secs(5);

impl Demo {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Failure::network)?;
        if let Some(address) = self.internet {
            return runtime.block_on(internet::serve(address, out));
        }
        if Sandbox::inside() {
            Sandbox::prepare().map_err(Failure::network)?;
            let outside = std::env::var(OUTSIDE).unwrap_or_default();
            return runtime.block_on(story::run(&self, &outside, out));
        }
        let mode = Sandbox::probe().map_err(|error| {
            Failure::network(error).hint("`guestright doctor` says what else this computer needs")
        })?;
        let program = std::env::current_exe().map_err(Failure::network)?;
        let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
        let mut command = Sandbox::command(mode, &program, arguments);
        command.env(OUTSIDE, std::process::id().to_string());
        let status = runtime.block_on(watch(command.into())).map_err(Failure::network)?;
        // The town has said what went wrong.
        if status.success() { Ok(()) } else { std::process::exit(status.code().unwrap_or(1)) }
    }
}

/// Waits for the town. A signal from the keyboard reaches the town too; one that did not is passed on.
async fn watch(mut command: tokio::process::Command) -> std::io::Result<ExitStatus> {
    let mut signals = Signals::register()?;
    let mut town = command.kill_on_drop(true).spawn()?;
    tokio::select! {
        status = town.wait() => return status,
        () = signals.recv() => {}
    }
    if let Some(first) = town.id().and_then(first_process) {
        // If it has ended meanwhile there is nobody to tell.
        let _ = kill_process(first, Signal::INT);
    }
    if let Ok(status) = tokio::time::timeout(PATIENCE, town.wait()).await {
        return status;
    }
    town.kill().await?;
    town.wait().await
}

/// The town's first process: the only child of `unshare` (proc(5), `/proc/PID/task/TID/children`).
fn first_process(unshare: u32) -> Option<Pid> {
    let children = std::fs::read_to_string(format!("/proc/{unshare}/task/{unshare}/children")).ok()?;
    Pid::from_raw(children.split_whitespace().next()?.parse().ok()?)
}
