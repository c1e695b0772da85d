//! Why plans were not run to their end.

use crate::error::BenchError;
use guestright_error::{Fault, Kind, RunError};
use guestright_experiment::{Plan, SettingError};
use std::path::PathBuf;
use thiserror::Error;

/// Why a batch of plans cannot be run, or ended before its report.
#[derive(Debug, Error)]
pub enum BatchError {
    #[error(transparent)]
    Bench(#[from] BenchError),
    #[error(transparent)]
    Run(#[from] RunError),
    /// Somebody asked it to stop. What was made until then is kept.
    #[error("{0}")]
    Stopped(String),
    #[error("two of the plans have the name {name}")]
    SameName { name: String },
    #[error("{plan} is not made for {platform}")]
    NotMadeFor { plan: String, platform: &'static str },
    /// What is measured on this computer is not shared with others.
    #[error("{plan}: shards are simulated, and this plan is for {platform}")]
    ShardOf { plan: String, platform: &'static str },
    #[error("{plan} would have more than {} runs", Plan::RUNS_MAX)]
    TooManyRuns { plan: String },
    #[error(
        "{} has the finished results of the whole plan, with {had} seeds; {now} would replace them",
        folder.display()
    )]
    WouldReplace { folder: PathBuf, had: usize, now: String },
    /// What was kept of the plan's runs is of no use, and runs are not to be made twice.
    #[error("{plan} cannot go on: {why}")]
    CannotGoOn { plan: String, why: String },
    #[error("{} has no finished runs to go on with", folder.display())]
    NothingToGoOn { folder: PathBuf },
    /// The testbed refuses the settings of a run.
    #[error("{run}")]
    Refused { run: String, source: SettingError },
    /// A run on real sockets failed.
    #[error("{run}")]
    OnSockets { run: String, source: BenchError },
    #[error("{run} ended in a panic")]
    Panicked { run: String },
}

impl Fault for BatchError {
    fn kind(&self) -> Kind {
        match self {
            Self::Bench(error) | Self::OnSockets { source: error, .. } => error.kind(),
            Self::Run(error) => error.kind(),
            Self::SameName { .. } | Self::NotMadeFor { .. } | Self::ShardOf { .. } | Self::Refused { .. } => {
                Kind::Config
            }
            Self::Stopped(_)
            | Self::TooManyRuns { .. }
            | Self::WouldReplace { .. }
            | Self::CannotGoOn { .. }
            | Self::NothingToGoOn { .. }
            | Self::Panicked { .. } => Kind::User,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Bench(error) | Self::OnSockets { source: error, .. } => return error.hint(),
            Self::Run(error) => return error.hint(),
            Self::Refused { .. } => return None,
            Self::NotMadeFor { platform, .. } => return Some(format!("add \"{platform}\" to its `on`")),
            Self::Stopped(_) => "the same command goes on from there",
            Self::SameName { .. } => "give one of them another `name`, or run them one by one",
            Self::ShardOf { .. } => "leave --shard out, or say --on sim",
            Self::TooManyRuns { .. } => "give a smaller number with --seeds",
            Self::WouldReplace { .. } => "give another folder with --out, or replace them with --fresh",
            Self::CannotGoOn { .. } | Self::NothingToGoOn { .. } => "leave --resume out to make all runs",
            Self::Panicked { .. } => "this is a mistake of the simulator: please report it with the plan",
        };
        Some(hint.to_owned())
    }

    fn is_broken_pipe(&self) -> bool {
        match self {
            Self::Bench(error) | Self::OnSockets { source: error, .. } => error.is_broken_pipe(),
            Self::Run(error) => error.is_broken_pipe(),
            Self::Stopped(_)
            | Self::SameName { .. }
            | Self::NotMadeFor { .. }
            | Self::ShardOf { .. }
            | Self::TooManyRuns { .. }
            | Self::WouldReplace { .. }
            | Self::CannotGoOn { .. }
            | Self::NothingToGoOn { .. }
            | Self::Refused { .. }
            | Self::Panicked { .. } => false,
        }
    }
}
