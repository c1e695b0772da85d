//! What the commands that run a loop have in common: a runtime, and a stop at a signal.

use guestright_cli::failure::Failure;
use guestright_cli::signals::Signals;
use guestright_error::RunError;
use guestright_host::{Stop, stop};

/// Runs a loop on this thread, asks it to stop at SIGTERM or SIGINT, and waits for its end.
///
/// # Errors
/// The system refuses a runtime or the signals, or the loop fails.
pub(crate) fn run(run: impl AsyncFnOnce(Stop) -> Result<(), RunError>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::network)?;
    runtime.block_on(async {
        let mut signals = Signals::register().map_err(Failure::network)?;
        let (stopper, stop) = stop();
        tokio::spawn(async move {
            loop {
                signals.recv().await;
                stopper.request();
            }
        });
        Ok(run(stop).await?)
    })
}
