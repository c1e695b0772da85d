//! The subcommands: those of a household's router here, and those of a person's computer in [`computer`].

mod ap;
#[cfg(feature = "computer")]
mod computer;
mod doctor;
mod home;
mod receipt;
#[cfg(feature = "overview")]
mod status;
mod validity;

// Those of `computer`.
#[cfg(feature = "computer")]
mod ask;
#[cfg(feature = "computer")]
mod call;
#[cfg(feature = "computer")]
mod demo;
#[cfg(feature = "computer")]
mod lab;
#[cfg(feature = "computer")]
mod mos;
#[cfg(feature = "computer")]
mod setup;
#[cfg(feature = "computer")]
mod team;
#[cfg(feature = "computer")]
mod tunnel;
#[cfg(feature = "computer")]
mod up;
#[cfg(feature = "computer")]
mod visit;

use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use tracing::level_filters::LevelFilter;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    #[command(display_order = 4)]
    Ap(ap::Ap),
    #[command(display_order = 5)]
    Home(home::Home),
    #[cfg(feature = "overview")]
    #[command(display_order = 9)]
    Status(status::Status),
    #[command(display_order = 12)]
    Receipt(receipt::Receipt),
    #[command(display_order = 16)]
    Doctor(doctor::Doctor),
    #[cfg(feature = "computer")]
    #[command(flatten)]
    Computer(computer::Command),
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
    #[cfg_attr(not(feature = "computer"), expect(unused_variables, reason = "for programs that it starts"))]
    pub(crate) fn run(self, log: LevelFilter, out: &mut Output) -> Outcome {
        match self {
            Self::Ap(command) => command.run(out),
            Self::Home(command) => command.run(out),
            #[cfg(feature = "overview")]
            Self::Status(command) => command.run(out),
            Self::Receipt(command) => command.run(out),
            Self::Doctor(command) => command.run(out),
            #[cfg(feature = "computer")]
            Self::Computer(command) => command.run(log, out),
        }
    }
}
