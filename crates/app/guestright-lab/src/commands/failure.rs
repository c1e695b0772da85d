//! What the bench could not do, with what to do about it.

use guestright_bench::{BenchError, Kind};
use guestright_cli::failure::Failure;

/// The same as a failure of this program.
pub(super) fn failure(error: BenchError) -> Failure {
    let hint = hint(&error);
    let failure = match error.kind() {
        Kind::Config => Failure::config(error),
        Kind::Network => Failure::network(error),
        Kind::Request | Kind::Bug => user(error),
    };
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// An error of input or output as it is: whoever does not read to the end makes no failure of it.
fn user(error: BenchError) -> Failure {
    if let BenchError::Io(error) = error {
        return Failure::user(error);
    }
    Failure::user(error)
}

fn hint(error: &BenchError) -> Option<String> {
    let hint = match error {
        BenchError::NoSandbox(_) => "`guestright doctor` says what else this computer needs",
        BenchError::OutsideSandbox => "run a plan with `--on netns`",
        BenchError::NotOnSockets { .. } => "run it on the simulator",
        BenchError::Refused { .. } => "change these settings, or run it on the simulator",
        BenchError::Platform { want, .. } => {
            return Some(format!("say --on {want}, and `on = [\"{want}\"]` in the plan"));
        }
        BenchError::WorkerEnded { .. } => "its last words are above; the same command goes on from here",
        BenchError::Panicked { .. } => "please report it with the plan",
        BenchError::Listen { .. } => "another address with --bind, or end what listens there",
        BenchError::Unreachable { .. } => {
            "start `guestright-lab advise --listen` there, and let TCP and UDP through to it"
        }
        BenchError::Busy { .. } => "try again later",
        BenchError::OutOfTurn { .. } | BenchError::Version { .. } => {
            "run the same version of guestright at both ends"
        }
        BenchError::Setting(_)
        | BenchError::Links(_)
        | BenchError::Namespaces(_)
        | BenchError::Emulator(_)
        | BenchError::Quic(_)
        | BenchError::Files(_)
        | BenchError::Json(_)
        | BenchError::Io(_)
        | BenchError::Doing { .. }
        | BenchError::Run(_)
        | BenchError::NotQuiet { .. }
        | BenchError::NoConnection { .. }
        | BenchError::Socket(_)
        | BenchError::NoWay { .. } => return None,
    };
    Some(hint.to_owned())
}
