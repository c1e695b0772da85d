//! What the commands that run a loop have in common: no more privileges than they need, a runtime, and a stop at a
//! signal.

use guestright_cli::failure::Failure;
use guestright_cli::signals::Signals;
use guestright_error::RunError;
use guestright_host::{Stop, stop};
use guestright_privileges::{Needs, confine};

/// The first port that every user may listen at (ip(7)).
pub(crate) const FIRST_FREE_PORT: u16 = 1_024;

/// Gives up everything but `needs`, runs a loop on this thread, asks it to stop at SIGTERM or SIGINT, and waits for its
/// end.
///
/// # Errors
/// The system refuses to take privileges, a runtime or the signals, or the loop fails.
pub(crate) fn run(needs: Needs, run: impl AsyncFnOnce(Stop) -> Result<(), RunError>) -> Result<(), Failure> {
    // Before the first of the runtime's threads, which inherit what is left.
    confine(needs).map_err(Failure::network)?;
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
