//! What the commands that run a loop have in common: no more privileges than they need, a runtime, and a stop at a
//! signal.

use guestright_cli::failure::Failure;
use guestright_cli::output::Output;
use guestright_cli::signals::{Reloads, Signals};
use guestright_error::RunError;
use guestright_host::{Requests, Reread, Stop, daemon, notify, stop};
use guestright_privileges::{Needs, confine};
use std::io::Write;

/// The first port that every user may listen at (ip(7)).
pub(crate) const FIRST_FREE_PORT: u16 = 1_024;

/// Gives up everything but `needs`, runs a loop on this thread, asks it to stop at SIGTERM or SIGINT or when the terminal
/// is closed, and waits for its end.
///
/// # Errors
/// The system refuses to take privileges, a runtime or the signals, or the loop fails.
#[cfg(feature = "computer")]
pub(crate) fn run(needs: Needs, run: impl AsyncFnOnce(Stop) -> Result<(), RunError>) -> Result<(), Failure> {
    on_this_thread(needs, async || {
        let signals = Signals::register().map_err(Failure::network)?;
        Ok(run(stop_at(signals)).await?)
    })
}

/// The same for a loop that outlives its terminal and takes SIGHUP by itself.
///
/// # Errors
/// The same.
#[cfg(feature = "computer")]
pub(crate) fn run_in_background(
    needs: Needs,
    run: impl AsyncFnOnce(Stop) -> Result<(), RunError>,
) -> Result<(), Failure> {
    on_this_thread(needs, async || {
        let signals = Signals::register_daemon().map_err(Failure::network)?;
        Ok(run(stop_at(signals)).await?)
    })
}

/// The same for a loop that outlives its terminal: at SIGHUP it is asked to read its settings again.
///
/// # Errors
/// The same.
pub(crate) fn run_daemon<S>(
    needs: Needs,
    reread: impl Reread<Settings = S> + 'static,
    run: impl AsyncFnOnce(Requests<S>) -> Result<(), RunError>,
) -> Result<(), Failure> {
    on_this_thread(needs, async || {
        let signals = Signals::register_daemon().map_err(Failure::network)?;
        let mut reloads = Reloads::register().map_err(Failure::network)?;
        let (requests, reloader) = daemon::requests(stop_at(signals), reread);
        tokio::spawn(async move {
            loop {
                reloads.recv().await;
                reloader.request();
            }
        });
        Ok(run(requests).await?)
    })
}

fn on_this_thread(needs: Needs, run: impl AsyncFnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    // Before the first of the runtime's threads, which inherit what is left.
    confine(needs).map_err(Failure::network)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(Failure::network)?.block_on(run())
}

fn stop_at(mut signals: Signals) -> Stop {
    let (stopper, stop) = stop();
    tokio::spawn(async move {
        loop {
            signals.recv().await;
            notify::notify(notify::STOPPING);
            stopper.request();
        }
    });
    stop
}

/// What a loop says when it serves, as a sentence or as a line of JSON. systemd is notified of it.
pub(crate) struct ServingLine<'a, 'b> {
    out: &'a mut Output<'b>,
    json: bool,
    line: Vec<u8>,
}

impl<'a, 'b> ServingLine<'a, 'b> {
    pub(crate) fn new(json: bool, out: &'a mut Output<'b>) -> Self {
        Self { out, json, line: Vec::new() }
    }
}

impl Write for ServingLine<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.line.extend_from_slice(bytes);
        while let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.line.drain(..=end).collect();
            let sentence = String::from_utf8_lossy(&line[..end]);
            let shown = if self.json {
                serde_json::json!({ "event": "serving", "sentence": sentence }).to_string()
            } else {
                sentence.to_string()
            };
            Write::write_all(self.out, format!("{shown}\n").as_bytes())?;
            notify::serving(&sentence);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Write::flush(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_a_line_or_an_object() {
        for (json, want) in
            [(false, "it serves\n"), (true, "{\"event\":\"serving\",\"sentence\":\"it serves\"}\n")]
        {
            let mut bytes = Vec::new();
            let mut out = Output::new(&mut bytes);
            let mut line = ServingLine::new(json, &mut out);
            // In pieces, as formatting does it.
            for piece in ["it ", "serves", "\n"] {
                line.write_all(piece.as_bytes()).unwrap();
            }
            assert_eq!(String::from_utf8(bytes).unwrap(), want);
        }
    }
}
