//! The subcommands.

mod ap;
mod call;
mod completions;
mod demo;
mod doctor;
mod home;
mod lab;
mod mos;
mod receipt;
mod team;
mod tunnel;
mod visit;

use guestright_cli::failure::Outcome;
use std::io::Write;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Demo(demo::Demo),
    Team(team::Team),
    Ap(ap::Ap),
    Home(home::Home),
    Visit(visit::Visit),
    Call(Box<call::Call>),
    Receipt(receipt::Receipt),
    Tunnel(tunnel::Tunnel),
    Mos(mos::Mos),
    Lab(lab::Lab),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
    Manual(completions::Manual),
}

impl Command {
    pub(crate) fn run(self, out: &mut impl Write) -> Outcome {
        match self {
            Self::Demo(command) => command.run(out),
            Self::Team(command) => command.run(out),
            Self::Ap(command) => command.run(out),
            Self::Home(command) => command.run(out),
            Self::Visit(command) => command.run(out),
            Self::Call(command) => command.run(out),
            Self::Receipt(command) => command.run(out),
            Self::Tunnel(command) => command.run(out),
            Self::Mos(command) => command.run(out),
            Self::Lab(command) => command.run(out),
            Self::Doctor(command) => command.run(out),
            Self::Completions(command) => command.run(out),
            Self::Manual(command) => command.run(out),
        }
    }
}
