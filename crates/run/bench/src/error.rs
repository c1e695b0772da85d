//! Why something was not measured.

use guestright_emulator::EmulatorError;
use guestright_error::{Fault, Kind};
use guestright_experiment::SettingError;
use guestright_netns::NetnsError;
use guestright_quic_io::QuicIoError;
use guestright_results::ResultsError;
use guestright_transport::SettingsError;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum BenchError {
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Links(#[from] SettingsError),
    #[error(transparent)]
    Namespaces(#[from] NetnsError),
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    #[error(transparent)]
    Quic(#[from] QuicIoError),
    #[error(transparent)]
    Files(#[from] ResultsError),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("{doing}: {source}")]
    Doing { doing: String, source: Box<BenchError> },
    /// This computer makes no sandboxes.
    #[error(transparent)]
    NoSandbox(NetnsError),
    #[error("this is a part of `guestright-lab run --on netns`, which calls it")]
    OutsideSandbox,
    #[error("{plan}: the testbed {got} is not on real sockets; {} are", want.join(" and "))]
    NotOnSockets { plan: String, got: &'static str, want: [&'static str; 2] },
    #[error("{plan} cannot be run on real sockets here\n{}", refusals.join("\n"))]
    Refused { plan: String, refusals: Vec<String> },
    #[error("{plan}: the testbed {testbed} is not for --on {platform}")]
    Platform { plan: String, testbed: &'static str, platform: &'static str, want: &'static str },
    #[error("the process that makes runs on real sockets has ended ({status})")]
    WorkerEnded { status: String },
    /// What the process that makes runs said of one.
    #[error("{0}")]
    Run(String),
    #[error("the path did not fall quiet within {within:?}")]
    NotQuiet { within: Duration },
    #[error("no connection came about through the path in {within:?}")]
    NoConnection { within: Duration },
    #[error("{what}")]
    Panicked { what: &'static str },
    #[error("open a UDP socket: {0}")]
    Socket(io::Error),
    #[error("there is no way to {peer}: {source}")]
    NoWay { peer: SocketAddr, source: io::Error },
    #[error("listen at {address}: {source}")]
    Listen { address: String, source: io::Error },
    #[error("talk to TCP {peer}: {source}")]
    Unreachable { peer: SocketAddr, source: io::Error },
    #[error("{peer} is measuring with somebody else")]
    Busy { peer: SocketAddr },
    #[error("the other end said {answer} out of turn")]
    OutOfTurn { answer: String },
    #[error("the other end speaks version {got} of this measurement, this one {want}")]
    Version { got: u32, want: u32 },
}

impl Fault for BenchError {
    fn kind(&self) -> Kind {
        match self {
            Self::Doing { source, .. } => source.kind(),
            Self::Files(_) | Self::NotOnSockets { .. } | Self::Refused { .. } | Self::Platform { .. } => {
                Kind::Config
            }
            Self::Panicked { .. } => Kind::Bug,
            Self::Emulator(_)
            | Self::NoSandbox(_)
            | Self::WorkerEnded { .. }
            | Self::Run(_)
            | Self::NotQuiet { .. }
            | Self::NoConnection { .. }
            | Self::Socket(_)
            | Self::NoWay { .. }
            | Self::Listen { .. }
            | Self::Unreachable { .. }
            | Self::Busy { .. }
            | Self::OutOfTurn { .. } => Kind::Network,
            Self::Setting(_)
            | Self::Links(_)
            | Self::Namespaces(_)
            | Self::Quic(_)
            | Self::Json(_)
            | Self::Io(_)
            | Self::OutsideSandbox
            | Self::Version { .. } => Kind::User,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Doing { source, .. } => return source.hint(),
            Self::NoSandbox(_) => "`guestright doctor` says what else this computer needs",
            Self::OutsideSandbox => "run a plan with `--on netns`",
            Self::NotOnSockets { .. } => "run it on the simulator",
            Self::Refused { .. } => "change these settings, or run it on the simulator",
            Self::Platform { want, .. } => {
                return Some(format!("say --on {want}, and `on = [\"{want}\"]` in the plan"));
            }
            Self::WorkerEnded { .. } => "its last words are above; the same command goes on from here",
            Self::Panicked { .. } => "please report it with the plan",
            Self::Listen { .. } => "another address with --bind, or end what listens there",
            Self::Unreachable { .. } => {
                "start `guestright-lab advise --listen` there, and let TCP and UDP through to it"
            }
            Self::Busy { .. } => "try again later",
            Self::OutOfTurn { .. } | Self::Version { .. } => {
                "run the same version of guestright at both ends"
            }
            Self::Setting(_)
            | Self::Links(_)
            | Self::Namespaces(_)
            | Self::Emulator(_)
            | Self::Quic(_)
            | Self::Files(_)
            | Self::Json(_)
            | Self::Io(_)
            | Self::Run(_)
            | Self::NotQuiet { .. }
            | Self::NoConnection { .. }
            | Self::Socket(_)
            | Self::NoWay { .. } => return None,
        };
        Some(hint.to_owned())
    }

    fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Says what was being done when it failed.
pub(crate) trait Doing<T> {
    fn doing(self, what: impl Into<String>) -> Result<T, BenchError>;
}

impl<T, E: Into<BenchError>> Doing<T> for Result<T, E> {
    fn doing(self, what: impl Into<String>) -> Result<T, BenchError> {
        self.map_err(|error| BenchError::Doing { doing: what.into(), source: Box::new(error.into()) })
    }
}

impl From<rustix::io::Errno> for BenchError {
    fn from(error: rustix::io::Errno) -> Self {
        Self::Io(error.into())
    }
}
