//! The subcommands of a person's computer, which a household's router can do without.

use super::{ask, call, demo, lab, mos, setup, team, tunnel, up, visit};
use clap::CommandFactory as _;
use guestright_cli::completions::{Completions, Manual};
use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use std::ffi::OsString;
use tracing::level_filters::LevelFilter;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    #[command(display_order = 1)]
    Demo(demo::Demo),
    #[command(display_order = 2)]
    Setup(Box<setup::Setup>),
    #[command(display_order = 3)]
    Team(team::Team),
    #[command(display_order = 6)]
    Visit(visit::Visit),
    #[command(display_order = 6)]
    Ask(ask::Ask),
    #[command(display_order = 7)]
    Up(up::Up),
    #[command(display_order = 8)]
    Down(up::Down),
    #[command(display_order = 10)]
    Portal(up::Portal),
    #[command(display_order = 11)]
    Call(Box<call::Call>),
    #[command(display_order = 13)]
    Tunnel(tunnel::Tunnel),
    #[command(display_order = 14)]
    Mos(mos::Mos),
    #[command(display_order = 15)]
    Lab(lab::Lab),
    #[command(display_order = 17)]
    Completions(Completions),
    #[command(display_order = 18)]
    Manual(Manual),
}

impl Command {
    /// `log` is how much this program logs.
    pub(crate) fn run(self, log: LevelFilter, out: &mut Output) -> Outcome {
        match self {
            Self::Demo(command) => command.run(out),
            Self::Setup(command) => command.run(out),
            Self::Team(command) => command.run(out),
            Self::Visit(command) => command.run(out),
            Self::Ask(command) => command.run(out),
            Self::Up(command) => command.run(log, out),
            Self::Down(command) => command.run(out),
            Self::Portal(command) => command.run(out),
            Self::Call(command) => command.run(out),
            Self::Tunnel(command) => command.run(log_arguments(log)),
            Self::Mos(command) => command.run(out),
            Self::Lab(command) => command.run(log_arguments(log)),
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
