//! The subcommands.

mod ap;
mod call;
mod demo;
mod doctor;
mod home;
mod lab;
mod mos;
mod receipt;
mod setup;
mod team;
mod tunnel;
mod up;
mod validity;
mod visit;

use clap::CommandFactory as _;
use guestright_cli::completions::{Completions, Manual};
use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use std::ffi::OsString;
use tracing::level_filters::LevelFilter;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Demo(demo::Demo),
    Setup(Box<setup::Setup>),
    Team(team::Team),
    Ap(ap::Ap),
    Home(home::Home),
    Visit(visit::Visit),
    Up(up::Up),
    Down(up::Down),
    Status(up::Status),
    Portal(up::Portal),
    Call(Box<call::Call>),
    Receipt(receipt::Receipt),
    Tunnel(tunnel::Tunnel),
    Mos(mos::Mos),
    Lab(lab::Lab),
    Doctor(doctor::Doctor),
    Completions(Completions),
    Manual(Manual),
}

impl Command {
    /// How much is logged unless somebody says so: a program that serves others tells its operator whom, and the others speak
    /// when something is wrong.
    pub(crate) fn usual_log(&self) -> LevelFilter {
        let is_access_point = matches!(self, Self::Ap(command) if command.serves());
        let is_home = matches!(self, Self::Home(command) if command.serves());
        if is_access_point || is_home { LevelFilter::INFO } else { LevelFilter::WARN }
    }

    /// `log` is how much this program logs.
    pub(crate) fn run(self, log: LevelFilter, out: &mut Output) -> Outcome {
        match self {
            Self::Demo(command) => command.run(out),
            Self::Setup(command) => command.run(out),
            Self::Team(command) => command.run(out),
            Self::Ap(command) => command.run(out),
            Self::Home(command) => command.run(out),
            Self::Visit(command) => command.run(out),
            Self::Up(command) => command.run(log, out),
            Self::Down(command) => command.run(out),
            Self::Status(command) => command.run(out),
            Self::Portal(command) => command.run(out),
            Self::Call(command) => command.run(out),
            Self::Receipt(command) => command.run(out),
            Self::Tunnel(command) => command.run(log_arguments(log)),
            Self::Mos(command) => command.run(out),
            Self::Lab(command) => command.run(log_arguments(log)),
            Self::Doctor(command) => command.run(out),
            Self::Completions(command) => command.run(crate::Cli::command(), out),
            Self::Manual(command) => command.run(pages(), out),
        }
    }
}

/// The same log for a program that takes over; both log warnings unless they are told otherwise.
fn log_arguments(log: LevelFilter) -> Vec<OsString> {
    if log == LevelFilter::WARN { vec![] } else { vec!["--log".into(), log.to_string().into()] }
}

/// What has a manual page here. `guestright-lab` writes those of what is handed over to it, the first under the same name.
fn pages() -> clap::Command {
    let hide = |command: clap::Command| command.hide(true);
    crate::Cli::command().mut_subcommand("lab", hide).mut_subcommand("tunnel", hide)
}
