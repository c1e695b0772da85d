//! `guestright demo`: the whole community on this computer, in network namespaces.

mod show;

use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_cli::signals::Signals;
use guestright_demo::{Cast, Event, Story, internet};
use guestright_error::RunError;
use guestright_netns::Sandbox;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::Path;
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
/// Where everything of the demo is kept.
const DIRECTORY: &str = "/run/guestright-demo";
/// How long the town has to close down after Ctrl-C.
const PATIENCE: Duration = Duration::from_secs(5);

impl Demo {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Failure::network)?;
        if let Some(address) = self.internet {
            return runtime.block_on(serve(address, out));
        }
        if Sandbox::inside() {
            Sandbox::prepare().map_err(Failure::network)?;
            let outside = std::env::var(OUTSIDE).unwrap_or_default();
            return runtime.block_on(self.tell(&outside, out));
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

    /// Inside the sandbox: the whole story, and what it shows.
    async fn tell(&self, outside: &str, out: &mut Output<'_>) -> Outcome {
        let mut signals = Signals::register().map_err(Failure::network)?;
        if !self.json {
            writeln!(
                out,
                "A town of three households, on this computer's kernel, in namespaces of its own.\n"
            )?;
            out.flush()?;
        }
        let program = std::env::current_exe().map_err(Failure::network)?;
        let mut teller = Teller { out: &mut *out, quiet: self.json, bar: None };
        let mut watch = |event: Event<'_>| teller.event(event);
        let mut story = Story::open(DIRECTORY.into(), program.clone(), self.interval_ms, &mut watch)?;
        tokio::select! {
            result = story.run() => result?,
            () = signals.recv() => {
                return Err(Failure::user(anyhow!("interrupted; the town is gone, and nothing is left of it")));
            }
        }
        let (cast, report) = story.end();
        if self.json {
            writeln!(out, "{}", report.to_json())?;
        } else {
            show::print(&report, out)?;
        }
        out.flush()?;
        if self.keep {
            keep(&cast, &program, outside, out)?;
            signals.recv().await;
        }
        if report.holds() {
            return Ok(());
        }
        Err(Failure::user(anyhow!("the demo does not show what it should")))
    }
}

/// Is the demo's Internet.
async fn serve(address: SocketAddr, out: &mut Output<'_>) -> Outcome {
    let listener = internet::listen(address).await?;
    writeln!(out, "the Internet is at {address}")?;
    out.flush()?;
    Err(internet::serve(listener).await.into())
}

/// Says how to look around while the town goes on. The town's first process is the child of `unshare`, which is the
/// child of the process outside.
fn keep(cast: &Cast, program: &Path, outside: &str, out: &mut Output) -> Outcome {
    let host = cast.namespace("v1")?;
    let (program, directory) = (program.display(), cast.directory().display());
    writeln!(out, "\nThe town goes on until Ctrl-C. To look around, in another terminal:\n")?;
    writeln!(out, "  sudo nsenter --target $(pgrep -P $(pgrep -P {outside})) --all --wd=/ bash")?;
    writeln!(out, "  ip netns exec {host} nft list table inet guestright")?;
    writeln!(out, "  {program} ap status --config {directory}/team1/ap.toml")?;
    writeln!(out, "  {program} home status --config {directory}/team1/home.toml")?;
    Ok(out.flush()?)
}

/// Prints what happens, with a progress bar for downloads when somebody watches.
struct Teller<'a, 'b> {
    out: &'a mut Output<'b>,
    quiet: bool,
    bar: Option<ProgressBar>,
}

impl Teller<'_, '_> {
    fn event(&mut self, event: Event<'_>) -> Result<(), RunError> {
        if self.quiet {
            return Ok(());
        }
        match event {
            Event::Seen { at, text } => {
                writeln!(self.out, "{:>5.1} s  {text}", at.as_secs_f64())?;
                self.out.flush()?;
            }
            Event::Downloading { guest, counted, bytes } => {
                self.bar.get_or_insert_with(|| bar(guest, bytes)).set_position(counted);
            }
            Event::DownloadEnded => self.bar.take().iter().for_each(ProgressBar::finish_and_clear),
        }
        Ok(())
    }
}

fn bar(guest: &str, bytes: u64) -> ProgressBar {
    let watched = std::io::stderr().is_terminal();
    let target = if watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template("         {msg} {bar:30} {bytes:>10} {bytes_per_sec:>12}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(Some(bytes), target).with_style(style);
    bar.set_message(format!("{guest:<9}"));
    bar
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
